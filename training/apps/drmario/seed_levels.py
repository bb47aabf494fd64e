"""An evaluation over seeds by level, which compares risk quantiles on the same games.

Games are what is drawn, so intervals are over games: where a game is played many times, its
episodes are drawn together. Differences to the first player are paired by game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from training.apps.drmario.seed_evaluation import TAILS, cvar
from training.apps.drmario.seed_plan import Plan
from training.evaluation.intervals import Resamples, share
from training.evaluation.results import Results

RESAMPLES = 1000
COSTS: dict[str, Callable[[np.ndarray], float]] = {
    "cost": lambda costs: float(costs.mean()),
    **{f"cvar_{tail}": partial(cvar, share=tail / 100) for tail in TAILS},
}


@dataclass(frozen=True)
class _Games:
    """Outcomes of the games of a level, shape (games, episodes) each.

    Parameters
    ----------
    cleared : ndarray of bool
    frames : ndarray of float
    costs : ndarray of float
        The frames, and the most there can be where a game was not cleared.
    """

    cleared: np.ndarray
    frames: np.ndarray
    costs: np.ndarray

    @classmethod
    def of(cls, played: Results, plan: Plan, number: int) -> _Games:
        """Return those of a level, by its number."""
        here = slice(number * plan.seeds, (number + 1) * plan.seeds)
        names = ("cleared", "ticks", "cost")
        cleared, frames, costs = (played[name].reshape(-1, plan.episodes)[here] for name in names)
        return cls(cleared, frames.astype(float), costs)

    def clears(self) -> dict[str, list[float | None]]:
        """Return the share of clears and the mean frames to them, with intervals."""
        sums = [self.cleared.sum(1), (self.frames * self.cleared).sum(1)]
        counts = [np.full(len(self.cleared), self.cleared.shape[1]), sums[0]]
        drawn = Resamples(np.stack(sums, 1), np.stack(counts, 1), RESAMPLES, seed=0)
        clear, frames = drawn.intervals()
        once = self.cleared.shape[1] == 1  # a bootstrap says 100 to 100 % where all are cleared
        clear = share(self.cleared[:, 0]) if once else clear
        return {"clear": clear.to_list(), "frames_to_clear": frames.to_list()}

    def resample(self) -> dict[str, np.ndarray]:
        """Return mean and tails of the costs, first of all games and then of the resamples."""
        rng, count = np.random.default_rng(0), len(self.costs)
        draws = [np.arange(count), *rng.integers(count, size=(RESAMPLES, count))]
        return {
            name: np.array([measure(self.costs[draw].ravel()) for draw in draws])
            for name, measure in COSTS.items()
        }


def by_level(plan: Plan, played: Mapping[float | None, Results]) -> list[dict[str, Any]]:
    """Return a record for each level, speed and quantile, with 95 % intervals over games.

    Parameters
    ----------
    plan : Plan
    played : mapping of float or None to Results
        See :func:`training.apps.drmario.seed_evaluation.write`; the first is what the others are
        compared with.

    Returns
    -------
    list of dict
        ``level``, ``speed``, ``risk_tau``, ``games``, ``episodes``, and as value, low and high
        ``clear``, ``frames_to_clear``, ``cost``, ``cvar_25`` and ``cvar_5``; ``less_first`` has the
        differences of the last three.
    """
    records = []
    for k, (level, speed) in enumerate(_list_levels(plan)):
        first: dict[str, np.ndarray] = {}
        for risk_tau, every in played.items():
            games = _Games.of(every, plan, k)
            drawn = games.resample()
            record = {"level": level, "speed": speed, "risk_tau": risk_tau}
            record |= {"games": plan.seeds, "episodes": plan.episodes, **games.clears()}
            record |= {name: _make_interval(values) for name, values in drawn.items()}
            if first:
                less = {
                    name: _make_interval(values - first[name]) for name, values in drawn.items()
                }
                record["less_first"] = less
            first = first or drawn
            records.append(record)
    return records


def _list_levels(plan: Plan) -> Iterator[tuple[int, str]]:
    """Return level and speed in the order of :meth:`Plan.games`."""
    return iter(dict.fromkeys((level, speed) for level, speed, _ in plan.games()))


def _make_interval(drawn: np.ndarray) -> list[float]:
    """Return value, low and high of a value and its resamples."""
    return [float(drawn[0]), *np.quantile(drawn[1:], (0.025, 0.975)).tolist()]
