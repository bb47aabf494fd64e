"""Statistics of a few trainings or many deals: three figures, with intervals.

The interquartile mean (IQM), the performance profile and the probability of improvement are those
of Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (NeurIPS
2021), and equal those of their library. Nothing here imports it: rliable 1.2.0 brings plots and a
package of econometrics along, in versions that cannot be imported beside pandas 3.

Intervals hold 95 % by percentile bootstrap over runs. Of few runs such an interval is too narrow.
That of a mean of two or three ends at the lowest and the highest of them, and one run has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from training.evaluation.intervals import LEVEL, RESAMPLES, Interval, share

CUT = 0.25  # of the scores, at either end, that an interquartile mean leaves out
ENOUGH = 10  # runs, from which on intervals by bootstrap hold about 95 %
_CHUNK = 4_000_000  # numbers in a block of resamples


def iqm(scores: Any, axis: int | None = None) -> np.ndarray:
    """Compute the interquartile mean: of the middle half of all scores.

    Of n scores ``n // 4`` are left out at either end; of fewer than four none is.

    Parameters
    ----------
    scores : array_like
    axis : int, optional
        Along which the means are; default all scores together.
    """
    from scipy.stats import trim_mean  # takes a while to import, and few commands need it

    return np.asarray(trim_mean(np.asarray(scores, np.float64), CUT, axis=axis))


def iqm_interval(scores: Any, resamples: int = RESAMPLES, seed: int = 0) -> Interval:
    """Estimate the interquartile mean of all runs with its interval over runs.

    If NaN is among the scores, the result is NaN.

    Parameters
    ----------
    scores : array_like of float, shape (runs,)
    resamples, seed : int
    """
    return _bootstrap([scores], iqm, resamples, seed)


def probability_of_improvement(ours: Any, theirs: Any, axis: int = -1) -> np.ndarray:
    """Compute the probability of improvement: that a run of ours scores above one of theirs.

    The share of all pairs in which ours is higher; equal pairs count half.

    Parameters
    ----------
    ours, theirs : array_like of float, shape (..., runs)
        Runs may differ in number.
    axis : int
        The last one, along which the runs are.
    """
    more = _compare(np.asarray(ours)[..., :, None], np.asarray(theirs)[..., None, :])
    return np.asarray(more.mean((-2, -1)))


def improvement_interval(
    ours: Any, theirs: Any, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Estimate the probability of improvement with its interval over runs of both.

    An interval without width says that no run of ours and theirs overlap, which of few runs is
    little. If NaN is among the scores, the result is NaN.

    Parameters
    ----------
    ours, theirs : array_like of float, shape (runs,)
    resamples, seed : int
    """
    return _bootstrap([ours, theirs], probability_of_improvement, resamples, seed)


def performance_profile(scores: Any, above: Any) -> np.ndarray:
    """Compute the share of scores above each threshold.

    Parameters
    ----------
    scores : array_like of float
        Of all runs and tasks.
    above : array_like of float, shape (n,)

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    return np.mean(np.ravel(scores) > np.asarray(above)[:, None], axis=1)


def describe_few(runs: int) -> list[str]:
    """List caveats about statistics of few seeds, one per line; none if there are enough."""
    if runs == 1:
        return ["One seed has no interval: what others would come to is not known."]
    caveats = []
    if runs < round(1 / CUT):
        caveats.append(f"Of {runs} seeds none is left out: their IQM is their mean.")
    if runs < ENOUGH:
        caveats.append(
            f"Bootstrap intervals of {runs} seeds are too narrow, and 0 or 100 % says no more than "
            "that no two of them overlap: judge by more seeds, or by t intervals."
        )
    return caveats


def _compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1 where a is more than b, 0.5 where both are equal, else 0."""
    return (a > b) + 0.5 * (a == b)


def _bootstrap(
    scores: Sequence[Any], statistic: Callable[..., np.ndarray], resamples: int, seed: int
) -> Interval:
    """Estimate the interval of a statistic: NaN bounds for one run, all NaN if a score is.

    Parameters
    ----------
    scores : sequence of array_like, shape (runs,)
        The arguments of the statistic, which are drawn anew each by itself.
    statistic : callable
        Takes the ``axis`` of the runs too.
    resamples, seed : int
    """
    from scipy.stats import bootstrap  # takes a while to import, and few commands need it

    samples = [np.asarray(each, np.float64) for each in scores]
    if any(np.isnan(each).any() for each in samples):
        return Interval(math.nan, math.nan, math.nan)
    value = float(statistic(*samples, axis=-1))
    if min(map(len, samples)) < 2:
        return Interval(value, math.nan, math.nan)
    interval = bootstrap(
        samples,
        statistic,
        n_resamples=resamples,
        batch=max(1, _CHUNK // math.prod(map(len, samples))),
        vectorized=True,
        confidence_level=LEVEL,
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(value, float(interval.low), float(interval.high))


# -- players that have met on the same deals -------------------------------------------------------


def improvement_on_deals(ours: np.ndarray, theirs: np.ndarray) -> Interval:
    """Estimate how probable it is to come to more than another on a deal, equal ones half.

    Two players are compared deal by deal, as luck falls on both alike: to the definition each deal
    is a task of one run. The interval is Wilson's.

    Parameters
    ----------
    ours, theirs : ndarray of float, shape (deals,)
        Of each player, such as its mean points over the rotations of the seats.
    """
    return share(_compare(ours, theirs))
