"""Statistics of a few trainings or many deals: three figures, with intervals.

The interquartile mean (IQM), the performance profile and the probability of improvement are those
of Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (NeurIPS
2021), and equal those of their library. Nothing here imports it: rliable 1.2.0 brings plots and a
package of econometrics along, in versions that cannot be imported beside pandas 3.

Scores are an array (runs, tasks), or (runs,) for one task. Intervals hold 95 % by percentile
bootstrap, and are stratified: the runs of each task are drawn among themselves. Of few runs such an
interval is too narrow. That of a mean of two or three ends at the lowest and the highest of them,
and one run has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from training.evaluation.intervals import LEVEL, RESAMPLES, Interval, share_of

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
    """Estimate the interquartile mean of all runs and tasks with its interval over runs.

    If NaN is among the scores, the result is NaN.

    Parameters
    ----------
    scores : array_like of float, shape (runs, tasks) or (runs,)
    resamples, seed : int
    """
    table = _make_table(scores)

    def draw(rng: np.random.Generator, rows: int) -> np.ndarray:
        return iqm(_resample(rng, table, rows).reshape(rows, -1), axis=1)

    return _bootstrap(float(iqm(table)), draw, [table], table.size, resamples, seed)


def probability_of_improvement(ours: Any, theirs: Any) -> float:
    """Compute the probability of improvement: that a run of ours scores above one of theirs.

    The share of all pairs in which ours is higher; equal pairs count half. The mean over tasks.

    Parameters
    ----------
    ours, theirs : array_like of float, shape (runs, tasks) or (runs,)
        The same tasks; runs may differ in number.
    """
    return float(_compute_improvement(_make_table(ours)[None], _make_table(theirs)[None])[0])


def improvement_interval(
    ours: Any, theirs: Any, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """Estimate the probability of improvement with its interval over runs of both.

    An interval without width says that no run of ours and theirs overlap, which of few runs is
    little. If NaN is among the scores, the result is NaN.

    Parameters
    ----------
    ours, theirs : array_like of float, shape (runs, tasks) or (runs,)
    resamples, seed : int
    """
    tables = [_make_table(ours), _make_table(theirs)]

    def draw(rng: np.random.Generator, rows: int) -> np.ndarray:
        return _compute_improvement(*(_resample(rng, table, rows) for table in tables))

    value = probability_of_improvement(*tables)
    return _bootstrap(value, draw, tables, tables[0].size * len(tables[1]), resamples, seed)


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


def _make_table(scores: Any) -> np.ndarray:
    table = np.asarray(scores, np.float64)
    return table[:, None] if table.ndim == 1 else table


def _resample(rng: np.random.Generator, table: np.ndarray, rows: int) -> np.ndarray:
    """Draw resamples, shape (rows, runs, tasks); each task has its own draws."""
    drawn = rng.integers(len(table), size=(rows, *table.shape))
    return np.take_along_axis(table[None], drawn, axis=1)


def _compute_improvement(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Compute the probability of improvement of each resample, (resamples, runs, tasks)."""
    more = _compare(ours[:, :, None], theirs[:, None])
    return more.mean((1, 2, 3))


def _compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return 1 where a is more than b, 0.5 where both are equal, else 0."""
    return (a > b) + 0.5 * (a == b)


def _bootstrap(
    value: float,
    draw: Callable[[np.random.Generator, int], np.ndarray],
    tables: Sequence[np.ndarray],
    size: int,
    resamples: int,
    seed: int,
) -> Interval:
    """Estimate the interval of a value: NaN bounds for one run, all NaN if a score is.

    Parameters
    ----------
    value : float
    draw : callable
        Returns the values of so many resamples.
    tables : sequence of ndarray
        The scores.
    size : int
        Numbers that a resample takes.
    resamples, seed : int
    """
    if any(np.isnan(table).any() for table in tables):
        return Interval(math.nan, math.nan, math.nan)
    if min(map(len, tables)) < 2:
        return Interval(value, math.nan, math.nan)
    rng, rows = np.random.default_rng(seed), max(1, _CHUNK // size)
    values = [draw(rng, min(rows, resamples - start)) for start in range(0, resamples, rows)]
    low, high = np.quantile(np.concatenate(values), _ENDS)
    return Interval(value, float(low), float(high))


_ENDS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


# -- players that have met on the same deals -------------------------------------------------------


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of players on the same deals.

    Parameters
    ----------
    iqm : tuple of Interval
        Interquartile mean over deals, by player; 95 % bootstrap over deals.
    improvement : tuple of tuple of Interval
        ``[a][b]`` is how probable it is that player a comes to more than b on a deal, equal ones
        half, with Wilson's interval; 0.5 for a player and itself.
    """

    iqm: tuple[Interval, ...]
    improvement: tuple[tuple[Interval, ...], ...]

    def record(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the statistics as JSON values, by the names of the players."""
        return {
            name: {
                "iqm": self.iqm[k].to_list(),
                "probability_of_improvement": {
                    other: probability.to_list()
                    for other, probability in zip(names, self.improvement[k], strict=True)
                    if other != name
                },
            }
            for k, name in enumerate(names)
        }


def table_statistics(scores: Any, resamples: int = RESAMPLES, seed: int = 0) -> TableStatistics:
    """Compute interquartile means over deals and probabilities of improvement.

    Two players are compared deal by deal, as luck falls on both alike: to the definition each deal
    is a task of one run. One deal has no interval of the interquartile mean.

    Parameters
    ----------
    scores : array_like of float, shape (deals, players)
        Of each player on each deal, such as its mean points over the rotations of the seats.
    resamples, seed : int
    """
    table = np.asarray(scores, np.float64)
    deals, players = table.shape
    means = tuple(iqm_interval(column, resamples, seed) for column in table.T)
    sums = _compare(table[:, :, None], table[:, None, :]).sum(0)
    improvement = tuple(
        tuple(share_of(float(sums[a, b]), deals) if a != b else _EVEN for b in range(players))
        for a in range(players)
    )
    return TableStatistics(means, improvement)


_EVEN = Interval(0.5, 0.5, 0.5)
