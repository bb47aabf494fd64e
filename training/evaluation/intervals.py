"""Values with their 95 % intervals: over deals or episodes, of shares, and over training seeds.

docs/explanation/statistics.md says which question each answers. A mean over games is the ratio of a
sum and a count, so the percentile bootstrap here is of ratios of two sums; games that share their
deals are drawn together, as whole clusters, and no loop goes over resamples. A bootstrap over
episodes that all ended alike says 100 % to 100 %, however few they were, so that shares of
independent episodes have Wilson's interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np

LEVEL = 0.95
DEVIATIONS = NormalDist().inv_cdf((1 + LEVEL) / 2)
RESAMPLES = 2000
_CHUNK = 4_000_000  # numbers in a block of resampling weights


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval, of 95 % if nothing else is said; NaN of nothing observed."""

    value: float
    low: float
    high: float

    def to_list(self) -> list[float | None]:
        """Return value, low and high; None for what was not observed."""
        return [None if np.isnan(x) else float(x) for x in (self.value, self.low, self.high)]

    @classmethod
    def from_list(cls, values: Sequence[float | None]) -> Self:
        """Read the interval that :meth:`to_list` has written."""
        return cls(*(np.nan if x is None else x for x in values))


class Resamples:
    """Estimates of ``k`` ratios and their values in ``b`` resamples.

    Parameters
    ----------
    numerators, denominators : ndarray, shape (clusters, k)
        Sums within each cluster.
    resamples : int
        b.
    seed : int
        Equal seeds draw equal clusters, so columns of one object can be compared pairwise.
    """

    def __init__(
        self, numerators: np.ndarray, denominators: np.ndarray, resamples: int, seed: int
    ) -> None:
        sums = np.concatenate([numerators, denominators], axis=1).astype(np.float64)
        rng = np.random.default_rng(seed)
        n = len(sums)
        rows = max(1, _CHUNK // n)
        drawn = [
            _draw_counts(rng, n, min(rows, resamples - start)) @ sums
            for start in range(0, resamples, rows)
        ]
        self.estimate = _divide(sums.sum(0, keepdims=True))[0]
        self.replicates = _divide(np.concatenate(drawn))

    def intervals(self) -> list[Interval]:
        """Return the interval of every ratio."""
        return [_make_interval(v, r) for v, r in zip(self.estimate, self.replicates.T, strict=True)]

    def difference(self, a: int, b: int, level: float = LEVEL) -> Interval:
        """Return the interval of ratio ``a`` minus ratio ``b``, clusters paired.

        Parameters
        ----------
        a, b : int
        level : float
            How probable it is that the interval holds the difference.
        """
        gap = self.replicates[:, a] - self.replicates[:, b]
        return _make_interval(self.estimate[a] - self.estimate[b], gap, level)


def _draw_counts(rng: np.random.Generator, n: int, rows: int) -> np.ndarray:
    """Draw ``rows`` resamples; count how often each of ``n`` clusters is in each of them."""
    drawn = rng.integers(n, size=(rows, n))
    drawn += np.arange(rows)[:, None] * n
    return np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _divide(sums: np.ndarray) -> np.ndarray:
    k = sums.shape[1] // 2
    observed = np.where(sums[:, k:] > 0, sums[:, k:], np.nan)
    return sums[:, :k] / observed


def _make_interval(value: float, replicates: np.ndarray, level: float = LEVEL) -> Interval:
    seen = replicates[~np.isnan(replicates)]
    if np.isnan(value) or not seen.size:
        return Interval(np.nan, np.nan, np.nan)
    low, high = np.quantile(seen, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(value), float(low), float(high))


# -- shares ----------------------------------------------------------------------------------------


def wilson(successes: float, trials: float, deviations: float = DEVIATIONS) -> tuple[float, float]:
    """Return the ends of Wilson's score interval of a rate.

    Parameters
    ----------
    successes, trials : float
        Counts, or sums of weights; at least one trial.
    deviations : float
        Standard deviations to each side; by default those of 95 %.
    """
    p, part = successes / trials, deviations**2 / trials
    centre, spread = p + part / 2, math.sqrt(part * (p * (1 - p) + part / 4))
    return (centre - spread) / (1 + part), (centre + spread) / (1 + part)


def share(ends: np.ndarray) -> Interval:
    """Estimate the share of episodes in which something happened, bool (episodes,); NaN of none.

    Numbers from 0 to 1 are parts of a success, such as a win that is shared; their interval is no
    narrower than that of successes that are whole.
    """
    if not len(ends):
        return Interval(math.nan, math.nan, math.nan)
    low, high = wilson(float(ends.sum()), len(ends))
    return Interval(float(ends.sum()) / len(ends), max(0.0, low), min(1.0, high))


# -- over training seeds ---------------------------------------------------------------------------


def over_seeds(
    values: Sequence[float],
    least: float = -math.inf,
    most: float = math.inf,
    shared: Sequence[float] = (),
) -> Interval:
    """Estimate the mean over training seeds with its 95 % interval; NaN bounds for one seed.

    The spread over seeds, by Student's t, does not show what the deals or episodes do to the mean
    that all trainings have been evaluated on: there they err together, so that more seeds do not
    help. With ``shared`` that is added, as one training alone errs: squares of half widths add up.

    If NaN is among the values, the result is NaN.

    Parameters
    ----------
    values : sequence of float
        One of each seed.
    least, most : float
        What a mean can be; the interval ends there.
    shared : sequence of float
        Half widths of the 95 % intervals of the values over the deals or episodes that all
        trainings have played; none where each has played others.
    """
    x = np.asarray(values, np.float64)
    mean, n = float(x.mean()), len(x)
    if n == 1 or math.isnan(mean):
        return Interval(mean, np.nan, np.nan)
    half = student_quantile(n - 1) * float(x.std(ddof=1)) / n**0.5
    if len(shared):
        half = math.hypot(half, math.sqrt(float(np.mean(np.square(shared)))))
    return Interval(mean, max(least, mean - half), min(most, mean + half))


def half_width(interval: Sequence[float | None]) -> float:
    """Return half the width of an interval of value, low and high; NaN if it is not known."""
    _, low, high = interval
    return math.nan if low is None or high is None else (high - low) / 2


def student_quantile(freedom: int) -> float:
    """Return the two-sided quantile of Student's t distribution for probability ``LEVEL``.

    It is how many standard errors half of an interval has.

    Parameters
    ----------
    freedom : int
        Degrees of freedom.
    """
    from scipy.special import stdtrit  # takes a while to import, and few commands need it

    return float(stdtrit(freedom, (1 + LEVEL) / 2))
