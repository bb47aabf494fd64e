"""Sequential tests against exact sums, and against certificates that were computed otherwise."""

import math
from fractions import Fraction
from pathlib import Path

import pytest

from tests.processes import run_python
from tests.slow import diagonal, together
from tests.tables import walk
from training.callbacks.sequential import EProcess, Sprt, log_beta, log_sf

ROOT = Path(__file__).resolve().parents[2]
# p0, alpha, successes, failures, statistic, verdict; by the continued fraction of the incomplete
# beta function in logarithms, which took SciPy's place once.
CERTIFICATES = [
    (0.9, 0.05, 0, 0, 0.0, "undecided"),
    (0.9, 0.05, 30, 0, 1.9905144691538967, "undecided"),
    (0.9, 0.01, 500, 20, 12.407874333557324, "pass"),
    (0.9, 0.05, 0, 20000, -9.90353755128308, "fail"),
    (0.5, 0.05, 300, 200, 7.857506338852687, "pass"),
    (0.99, 0.05, 400, 0, 2.6134122512181808, "undecided"),
    (0.99, 0.001, 19000, 1000, -6.696194349167854, "fail"),
    (0.2, 0.05, 1, 3, -0.7985076962177722, "undecided"),
    (0.7, 0.05, 7000, 3000, -3.960452110805363, "undecided"),
    (0.7, 0.05, 14300, 5700, 7.195554140819695, "pass"),
    (0.01, 0.05, 100, 100000, -11.408808185363114, "fail"),
    (0.95, 0.05, 100000, 1000, 2510.748881076837, "pass"),
]


@walk(("p0", "alpha", "successes", "failures", "statistic", "verdict"), CERTIFICATES)
def test_certificates_stay_what_they_were(p0, alpha, successes, failures, statistic, verdict):
    test = EProcess(p0, alpha)
    assert test.statistic(successes, failures) == pytest.approx(statistic, rel=1e-9, abs=1e-9)
    assert test.verdict(successes, failures) == verdict


@walk(("p0", "alpha", "fewest"), [(0.9, 0.05, 43), (0.99, 0.01, 644), (0.5, 0.001, 13)])
def test_fewest_episodes_stay_what_they_were(p0, alpha, fewest):
    assert EProcess(p0, alpha).fewest() == fewest


def exact(x, a, b):
    """P(Beta(a, b) > x) for whole a and b: fewer than a successes in a + b - 1 trials."""
    n, x = a + b - 1, Fraction(x)
    return sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a))


@walk(
    ("x", "a", "b"),
    diagonal(
        [0.001, 0.2, 0.5, 0.9, 0.999],
        together([(1, 1), (2, 5), (40, 3), (60, 60), (1, 120), (100, 300), (7, 2000), (1, 3280)]),
    ),
)
def test_upper_tail_is_the_binomial_one(x, a, b):
    """Down to e**-13,000: the smallest double is e**-745."""
    above = exact(x, a, b)
    shift = above.denominator.bit_length() - above.numerator.bit_length()
    log = math.log(above * 2**shift) - shift * math.log(2)
    assert log_sf(x, a, b) == pytest.approx(log, rel=1e-10, abs=1e-12)


def test_beta_function_of_whole_numbers():
    known = math.factorial(4) * math.factorial(6) / math.factorial(11)
    assert log_beta(5, 7) == pytest.approx(math.log(known), rel=1e-14)


@pytest.mark.slow
def test_commands_that_do_not_need_it_do_not_import_scipy(tiny_config, tmp_path):
    code = (
        "import sys; from training import train, evaluate; "
        f"flags = ['--runs', {str(tmp_path)!r}, '--name', 'run', '--total-steps', '64']; "
        f"status = train.main(['--config', {str(tiny_config)!r}, *flags]); "
        # Numba asks for the version of SciPy, and no more.
        "print(status, *({'scipy.special'} & set(sys.modules)))"
    )
    assert run_python("-c", code).stdout.splitlines()[-1] == "0"


@pytest.mark.parametrize(("alpha", "beta"), [(0.05, 0.05), (0.01, 0.2), (0.2, 0.01)])
def test_walds_test_ends_at_the_logarithms_of_its_two_errors(alpha, beta):
    test = Sprt(0.5, 0.8, alpha, beta)
    low, high = math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)
    said = set()
    for successes in range(30):
        for failures in range(30):
            log_ratio = successes * math.log(0.8 / 0.5) + failures * math.log(0.2 / 0.5)
            expected = (
                "undecided" if low < log_ratio < high else "fail" if log_ratio < 0 else "pass"
            )
            assert test.verdict(successes, failures) == expected
            said.add(expected)
    assert len(said) == 3
