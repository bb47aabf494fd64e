"""The frames to a clear as a cost: its mean and its tails, and players compared on the same games.

The time T of an episode is the frames to the clear, and ``t_max`` where it was not cleared by then.
Games are what is drawn, so intervals are over games: the episodes of one game are drawn together.
Differences to the first player are paired by game.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from fastenv.drmario.tables import Reason
from training.evaluation.results import Results
from training.run.games import Column

Key = TypeVar("Key")


def columns(t_max: int) -> dict[str, Column]:
    """Return the columns of episodes that follow from those of Dr. Mario.

    Parameters
    ----------
    t_max : int
        Frames by which a bottle is to be cleared.
    """
    return {
        "cleared": Column(
            "flag", of=lambda x: (x["reason"] == Reason.CLEAR) & (x["ticks"] <= t_max)
        ),
        # Neither is so where the bottle got full.
        "timed_out": Column("flag", of=lambda x: ~x["cleared"] & (x["reason"] != Reason.TOPOUT)),
        "cost": Column(
            "measure", "frames", of=lambda x: np.where(x["cleared"], x["ticks"], float(t_max))
        ),
        "frames_to_clear": Column(
            "measure", "frames", of=lambda x: x["cleared"] * x["ticks"], per="cleared"
        ),
    }


def cvar(costs: np.ndarray, share: float) -> float:
    """Return the mean of the worst, that is largest, share of costs.

    Parameters
    ----------
    costs : ndarray, shape (n,)
    share : float
        Above 0 and at most 1; an episode that is only partly in the share counts so.
    """
    ranked, worst = np.sort(costs)[::-1], share * len(costs)
    whole = math.floor(worst)
    rest = worst - whole
    total = ranked[:whole].sum() + (rest * ranked[whole] if rest > 0 else 0.0)
    return float(total / worst)


def compare(
    played: Mapping[Key, Results],
    measures: Mapping[str, Callable[[np.ndarray], Any]],
    *,
    game: str,
    resamples: int,
) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Yield the figures of each player as values with their 95 % intervals.

    Parameters
    ----------
    played : mapping
        Results with :func:`columns`, game after game; the first is what others are compared with.
    measures : mapping of str to callable
        Of the costs.
    game : str
        The column that tells games apart; all have equally many episodes.
    resamples : int

    Yields
    ------
    key
        Of ``played``.
    record : dict
        ``clear``, ``frames_to_clear`` and the measures as value, low and high; behind the first
        player ``less_first``, the differences of the measures to the first.
    """
    first: dict[str, np.ndarray] = {}
    for key, results in played.items():
        drawn = results.estimate(["cleared", "frames_to_clear"], cluster=game, resamples=resamples)
        (means,) = drawn.means.values()
        costs = results["cost"].reshape(len(np.unique(results[game])), -1)
        values = _resample(costs, measures, resamples)
        record = {"clear": means["cleared"], "frames_to_clear": means["frames_to_clear"]}
        figures: dict[str, Any] = {name: interval.to_list() for name, interval in record.items()}
        figures |= {name: _make_interval(each) for name, each in values.items()}
        if first:
            figures["less_first"] = {
                name: _make_interval(each - first[name]) for name, each in values.items()
            }
        first = first or values
        yield key, figures


def _resample(
    costs: np.ndarray, measures: Mapping[str, Callable[[np.ndarray], Any]], resamples: int
) -> dict[str, np.ndarray]:
    """Measure costs (games, episodes): first those of all games, then those of the resamples."""
    rng, count = np.random.default_rng(0), len(costs)
    draws = [np.arange(count), *rng.integers(count, size=(resamples, count))]
    return {
        name: np.array([measure(costs[draw].ravel()) for draw in draws])
        for name, measure in measures.items()
    }


def _make_interval(drawn: np.ndarray) -> list[float]:
    """Return value, low and high of a value and its resamples."""
    return [float(drawn[0]), *np.quantile(drawn[1:], (0.025, 0.975)).tolist()]
