import math
from fractions import Fraction

import pytest

from training.run import beta


def exact(x, a, b):
    """P(Beta(a, b) <= x) for whole a and b: at least a successes in a + b - 1 trials."""
    n, x = a + b - 1, Fraction(x)
    return sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 5), (40, 3), (60, 60), (1, 120)])
@pytest.mark.parametrize("x", [0.001, 0.2, 0.5, 0.9, 0.999])
def test_cdf_is_the_binomial_tail(x, a, b):
    below = exact(x, a, b)
    assert beta.log_cdf(x, a, b) == pytest.approx(_log(below), rel=1e-10, abs=1e-12)
    assert beta.log_sf(x, a, b) == pytest.approx(_log(1 - below), rel=1e-10, abs=1e-12)


def _log(p):
    """The log of a fraction that may be below the smallest double."""
    shift = p.denominator.bit_length() - p.numerator.bit_length()
    return math.log(p * 2**shift) - shift * math.log(2) if p else -math.inf


def test_arcsine_law():
    for x in (0.01, 0.3, 0.77):
        known = 2 / math.pi * math.asin(math.sqrt(x))
        assert math.exp(beta.log_cdf(x, 0.5, 0.5)) == pytest.approx(known, rel=1e-11)


def test_ends():
    assert beta.log_cdf(0.0, 2, 3) == -math.inf
    assert beta.log_cdf(1.0, 2, 3) == 0.0


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.5, 40.0), (3.7, 0.9), (5000.0, 3000.0)])
def test_quantiles_invert_the_cdf_and_intervals_have_equal_tails(a, b):
    for p in (0.025, 0.5, 0.9):
        assert math.exp(beta.log_cdf(beta.quantile(p, a, b), a, b)) == pytest.approx(p, abs=1e-5)
    low, high = beta.interval(a, b, 0.9)
    assert low == pytest.approx(beta.quantile(0.05, a, b), abs=2e-10)
    assert high == pytest.approx(beta.quantile(0.95, a, b), abs=2e-10)
