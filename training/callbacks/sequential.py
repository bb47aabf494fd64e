"""Sequential tests of a success rate, which keep their error though evaluated each episode.

Wald's test is fast and needs a margin; an e-process needs none and may go on for longer. Both are
functions of the numbers of successes and failures. Rolling windows, exponential averages and bounds
for a fixed number of episodes, inspected again and again, keep no error at all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

Verdict = Literal["pass", "fail", "undecided"]
_SMALL = 1e-290  # below it doubles lose digits
_TERMS = 10_000


@dataclass(frozen=True)
class Sprt:
    """Wald's sequential probability ratio test of ``p <= p0`` against ``p >= p1``.

    Parameters
    ----------
    p0, p1 : float
    alpha, beta : float
        Probability of a pass at ``p0`` and of a fail at ``p1``, to Wald's approximation; certainly
        at most ``alpha / (1 - beta)`` and ``beta / (1 - alpha)``.

    Notes
    -----
    A. Wald, Sequential Tests of Statistical Hypotheses, Ann. Math. Statist. 16 (1945).
    """

    p0: float
    p1: float
    alpha: float
    beta: float

    def statistic(self, successes: int, failures: int) -> float:
        """Return the log likelihood ratio of ``p1`` to ``p0``."""
        up, down = math.log(self.p1 / self.p0), math.log((1 - self.p1) / (1 - self.p0))
        return successes * up + failures * down

    def bounds(self) -> tuple[float, float]:
        """Return the statistics at or below which the test fails, at or above which it passes."""
        low = math.log(self.beta / (1 - self.alpha))
        return low, math.log((1 - self.beta) / self.alpha)

    def verdict(self, successes: int, failures: int) -> Verdict:
        """Decide after so many episodes."""
        low, high = self.bounds()
        statistic = self.statistic(successes, failures)
        return "pass" if statistic >= high else "fail" if statistic <= low else "undecided"

    def fewest(self) -> int:
        """Return the number of episodes that passes when all of them succeed."""
        return _find_fewest(self)

    def expected(self) -> float:
        """Return Wald's approximation of the mean number of episodes at ``p1``."""
        low, high = self.bounds()
        drift = self.statistic(1, 0) * self.p1 + self.statistic(0, 1) * (1 - self.p1)
        return ((1 - self.beta) * high + self.beta * low) / drift


@dataclass(frozen=True)
class EProcess:
    """One-sided test of ``p <= p0`` by the mixture of all likelihood ratios above ``p0``.

    Parameters
    ----------
    p0 : float
    alpha : float
        Probability of ever passing at any ``p <= p0``, at most.
    futility : bool
        Fail as soon as the confidence sequence of level ``1 - alpha`` lies below ``p0``.

    Notes
    -----
    With ``p`` uniform on (p0, 1)::

        E = B(1+s, 1+f) * (1 - I_p0(1+s, 1+f)) / ((1-p0) * p0**s * (1-p0)**f)

    is a supermartingale that starts at 1, whatever the true ``p <= p0``, so that by Ville's
    inequality it ever reaches ``1 / alpha`` with probability ``alpha`` at most: J. Ville, Etude
    critique de la notion de collectif (1939); H. Robbins, Ann. Math. Statist. 41 (1970).
    """

    p0: float
    alpha: float
    futility: bool = True

    def statistic(self, successes: int, failures: int) -> float:
        """Return ``log E``."""
        a, b, p0 = 1 + successes, 1 + failures, self.p0
        weight = log_beta(a, b) + log_sf(p0, a, b)
        return weight - successes * math.log(p0) - (1 + failures) * math.log1p(-p0)

    def bounds(self) -> tuple[float, float]:
        """Return the statistics that fail (none does) and that pass."""
        return -math.inf, -math.log(self.alpha)

    def verdict(self, successes: int, failures: int) -> Verdict:
        """Decide after so many episodes."""
        if self.statistic(successes, failures) >= self.bounds()[1]:
            return "pass"
        low = successes < self.p0 * (successes + failures)
        excluded = low and log_mixture(self.p0, successes, failures) >= -math.log(self.alpha)
        return "fail" if self.futility and excluded else "undecided"

    def fewest(self) -> int:
        """Return the number of episodes that passes when all of them succeed."""
        return _find_fewest(self)


def _find_fewest(test: Sprt | EProcess) -> int:
    high = 1
    while test.verdict(high, 0) != "pass":
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if test.verdict(middle, 0) == "pass" else (middle, high)
    return high


def log_sf(x: float, a: float, b: float) -> float:
    """Return ``log(1 - I_x(a, b))``, accurate however small it is.

    Parameters
    ----------
    x : float
        Above 0 and below 1.
    a, b : float
        Positive.
    """
    from scipy import special  # takes a while to import, and few commands need it

    tail = float(special.betaincc(a, b, x))
    if tail > 0.5:
        return math.log1p(-float(special.betainc(a, b, x)))
    if tail > _SMALL:
        return math.log(tail)
    # Far above the mean the terms of the series 8.17.8 of the NIST Digital Library of Mathematical
    # Functions fall fast; it is that of I_{1-x}(b, a).
    k = np.arange(_TERMS)
    series = 1.0 + float(np.cumprod((1.0 - x) * (a + b + k) / (b + 1 + k)).sum())
    front = b * math.log1p(-x) + a * math.log(x) - log_beta(a, b) - math.log(b)
    return front + math.log(series)


def log_beta(a: float, b: float) -> float:
    """Return ``log B(a, b)``."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def log_mixture(p: float, successes: int, failures: int) -> float:
    """Return the log of the uniform mixture of all likelihoods over the likelihood at ``p``."""
    likelihood = 0.0
    for count, chance in ((successes, p), (failures, 1.0 - p)):
        if count:
            likelihood += count * math.log(chance) if chance > 0 else -math.inf
    return log_beta(1 + successes, 1 + failures) - likelihood


def confidence_sequence(successes: int, failures: int, alpha: float) -> tuple[float, float]:
    """Compute an interval for the success rate that holds at all times at once.

    Parameters
    ----------
    successes, failures : int
    alpha : float
        Probability that the true rate is ever outside, at most.

    Returns
    -------
    low, high : float
        Ends of ``{p : B(1+s, 1+f) / (p**s * (1-p)**f) < 1/alpha}``, each rounded outwards.

    Notes
    -----
    The mixture is a martingale at the true ``p`` (Ville's inequality, as in :class:`EProcess`). It
    is smallest at ``s / (s + f)`` and grows to both sides, so bisection finds the ends.
    """
    bound = -math.log(alpha)
    centre = successes / max(1, successes + failures)

    def end(outside: float, inside: float) -> float:
        if log_mixture(outside, successes, failures) < bound:
            return outside
        while abs(outside - inside) > 1e-10:
            middle = (outside + inside) / 2
            if log_mixture(middle, successes, failures) < bound:
                inside = middle
            else:
                outside = middle
        return outside

    return end(0.0, centre), end(1.0, centre)


def level(alpha: float, number: int) -> float:
    """Return the error of test ``number`` (1, 2, ...) of a run; those of all sum up to alpha.

    The sum of ``6 / (pi**2 * k**2)`` over all ``k`` is 1.
    """
    return alpha * 6.0 / (math.pi**2 * number**2)
