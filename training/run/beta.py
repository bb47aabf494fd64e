"""The Beta distribution as far as trackers and gates need it, written out: there is no SciPy here.

The regularised incomplete beta function ``I_x(a, b)`` is the distribution function of Beta(a, b).
It is computed in logarithms, so that tails far below the smallest double are still right.
"""

from __future__ import annotations

import math

_TINY = 1e-300  # takes the place of a zero in Lentz's method
_PRECISION = 1e-12
_WIDTH = 1e-10  # of the last bracket of a quantile


def log_beta(a: float, b: float) -> float:
    """Return ``log B(a, b)``."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def log_cdf(x: float, a: float, b: float) -> float:
    """Return ``log I_x(a, b)``, ``-inf`` at 0.

    Parameters
    ----------
    x : float
        Between 0 and 1.
    a, b : float
        Positive.

    Notes
    -----
    The continued fraction is formula 8.17.22 of the NIST Digital Library of Mathematical Functions;
    it converges fast below the mean, so above it ``I_x(a, b) = 1 - I_{1-x}(b, a)`` is used.
    """
    if x <= 0.0:
        return -math.inf
    if x >= 1.0:
        return 0.0
    if x > (a + 1.0) / (a + b + 2.0):
        return math.log1p(-math.exp(_log_tail(1.0 - x, b, a)))
    return _log_tail(x, a, b)


def log_sf(x: float, a: float, b: float) -> float:
    """Return ``log(1 - I_x(a, b))``, right however small it is."""
    return log_cdf(1.0 - x, b, a)


def _log_tail(x: float, a: float, b: float) -> float:
    """Return ``log I_x(a, b)`` for ``x`` below about the mean."""
    front = a * math.log(x) + b * math.log1p(-x) - log_beta(a, b) - math.log(a)
    return front + math.log(_fraction(x, a, b))


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of ``I_x(a, b)`` by the modified method of Lentz."""
    c, d = 1.0, 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    # About as many rounds as the root of the larger parameter are needed.
    for m in range(1, 1000 + int(10 * math.sqrt(a + b))):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _nonzero(1.0 + term * d)
            c = _nonzero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            return value
    raise ArithmeticError(f"the incomplete beta function did not converge at {x}, {a}, {b}")


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def quantile(p: float, a: float, b: float) -> float:
    """Return the ``x`` with ``I_x(a, b) = p``, to 1e-10, by bisection."""
    low, high = 0.0, 1.0
    target = math.log(p)
    while high - low > _WIDTH:
        middle = (low + high) / 2.0
        if log_cdf(middle, a, b) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def interval(a: float, b: float, level: float = 0.95) -> tuple[float, float]:
    """Return the equal-tailed interval that holds ``level`` of Beta(a, b)."""
    tail = (1.0 - level) / 2.0
    return quantile(tail, a, b), 1.0 - quantile(tail, b, a)
