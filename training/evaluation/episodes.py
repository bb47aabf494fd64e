"""Whole episodes of any game from fixed seeds, one a lane, by any policy: rows and summaries.

Episode ``e`` has seed ``first_seed + e`` and is assigned to its lane before it begins: "the first n
to finish" would favour short ones. A lane that is done waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.ticker import tell_progress
from training.evaluation.bootstrap import Interval, Resamples
from training.evaluation.loop import GiveUp, Loop, Prepare, Step
from training.players.player import MakePlayer
from training.run import games

LANES = 512  # that play at once
_WHOLE = ("seed", "steps", "dt_total", "invalid_actions")
_FLAGS = ("terminated", "truncated", "guard_truncated")
# What belongs to an episode in which players meet, and what is made of it.
_MEETING = {"seat": "kept", "points": "measure", "win": "share", "draw": "share"}


@dataclass(frozen=True)
class Episodes:
    """What happened in a number of episodes.

    Parameters
    ----------
    columns : dict of str to ndarray, shape (episodes,)
        seed, steps, dt_total (ticks; equal to steps in games that count none), return_total,
        terminated, truncated, guard_truncated (given up at the step limit), invalid_actions,
        invalid_action_rate, and those of ``final``. Where an engine shows one of several agents,
        seat (the learner's), points (what it has reached: :meth:`fastenv.Game.outcomes`), win (1/k
        if it is one of the k best; 0 in episodes that were given up) and draw (k is above 1).
    actions : tuple of ndarray of int32, or None
        Of each episode, if they were to be kept.
    final : mapping of str to str
        See :attr:`training.run.games.GameTraining.episode_columns`.
    """

    columns: dict[str, np.ndarray]
    actions: tuple[np.ndarray, ...] | None = None
    final: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self.columns["seed"])

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return one plain record an episode, with the name of who played as ``bot``."""
        kinds = dict.fromkeys((*_WHOLE, "seat"), int) | dict.fromkeys((*_FLAGS, "draw"), bool)
        columns = {
            key: list(map(kinds.get(key, float), column.tolist()))
            for key, column in self.columns.items()
        }
        return [
            {"bot": name, **dict(zip(columns, row, strict=True))}
            for row in zip(*columns.values(), strict=True)
        ]

    def summary(self) -> dict[str, Any]:
        """Return counts and means over the episodes, as JSON values."""
        found = self.columns
        steps = int(found["steps"].sum())
        summary: dict[str, Any] = {
            "episode_count": len(self),
            "guard_truncated_count": int(found["guard_truncated"].sum()),
            "steps_total": steps,
            "dt_total": int(found["dt_total"].sum()),
        }
        for name in ("return_total", *self._of_kind("measure")):
            stem = name.removesuffix("_total")
            summary[f"{stem}_mean"] = float(found[name].mean())
            summary[f"{stem}_median"] = float(np.median(found[name]))
        for name in self._of_kind("share"):
            summary[f"{name}_rate"] = float(found[name].mean())
        for name in (*self._of_kind("mean"), "invalid_action_rate"):
            summary[f"{name}_mean"] = float(found[name].mean())
        summary["invalid_action_rate_global"] = float(found["invalid_actions"].sum() / steps)
        return summary

    def measures(self) -> dict[str, str]:
        """Return the means that are reported with intervals, and the columns they are of."""
        own = {name: name for name, kind in self.final.items() if kind in ("measure", "share")}
        every = {"return": "return_total", **own, "steps": "steps", "ticks": "dt_total"}
        every["invalid_action_rate"] = "invalid_action_rate"
        return {name: column for name, column in every.items() if column in self.columns}

    def _of_kind(self, kind: str) -> list[str]:
        return [name for name, its in self.final.items() if its == kind]


def play(
    engine: BatchEngine,
    make: MakePlayer,
    count: int,
    first_seed: int,
    max_steps: int,
    *,
    keep_actions: bool = False,
    prepare: Prepare | None = None,
    give_up: GiveUp | None = None,
) -> Episodes:
    """Let a player play episodes to their end, or until ``max_steps`` decisions.

    Parameters
    ----------
    engine : BatchEngine
        Its lanes play at once, as often as needed.
    make : callable
        Makes the player.
    count : int
        Episodes.
    first_seed : int
        Of the first episode and of what is drawn in it; the next has one more.
    max_steps : int
    keep_actions : bool
    prepare, give_up : callable, optional
        See :class:`training.evaluation.loop.Loop`.
    """
    seeds = first_seed + np.arange(count, dtype=np.int64)
    loop = Loop(engine, [make(engine)], seeds, limit=max_steps, prepare=prepare, give_up=give_up)
    table = _Table(engine, seeds, keep_actions)
    finished = 0
    for step in loop:
        table.note(engine, step)
        finished += len(step.finished)
        if len(step.finished):
            tell_progress(finished, count, "episodes")
    return table.episodes()


class _Table:
    """Takes in steps of a loop; see :class:`Episodes`."""

    def __init__(self, engine: BatchEngine, seeds: np.ndarray, keep_actions: bool) -> None:
        count = len(seeds)
        kinds = games.get_engine_game(engine).episode_columns
        self._kinds = {name: kind for name, kind in kinds.items() if name in engine.info}
        meeting = _meeting(engine).items()
        self._meeting = {name: kind for name, kind in meeting if name not in self._kinds}
        self._sums = {
            name: np.zeros(count, np.int64) for name in ("steps", "dt_total", "invalid_actions")
        }
        self._seeds, self._returns = seeds, np.zeros(count)
        self._ends = {name: np.zeros(count, np.bool_) for name in _FLAGS}
        self._final = {name: np.zeros(count) for name in (*self._kinds, *self._meeting)}
        self._keeps, self._taken = keep_actions, [(np.zeros(0, np.int64), np.zeros(0, np.int32))]

    def note(self, engine: BatchEngine, step: Step) -> None:
        """Take in a step."""
        lanes, episodes = step.lanes, step.episode[step.lanes]
        self._returns[episodes] += engine.reward[lanes]
        self._sums["steps"][episodes] += 1
        self._sums["dt_total"][episodes] += _ticks(engine)[lanes]
        invalid = engine.info.get("invalid_action")
        if invalid is not None:
            self._sums["invalid_actions"][episodes] += _own(invalid)[lanes].astype(np.int64)
        if self._keeps:
            self._taken.append((episodes, step.actions[lanes]))
        over, ended = step.over, step.episode[step.over]
        self._ends["terminated"][ended] = engine.terminated[over]
        self._ends["truncated"][ended] = engine.truncated[over]
        self._returns[ended] = engine.ep_return[over]  # summed up in double precision
        self._ends["guard_truncated"][step.episode[step.given_up]] = True
        finished = step.finished
        if not finished.size:
            return
        where = step.episode[finished]
        for name in self._kinds:
            self._final[name][where] = _own(engine.info[name])[finished]
        if self._meeting:
            found = _outcomes(engine, finished)
            for name in self._meeting:
                self._final[name][where] = found[name]

    def episodes(self) -> Episodes:
        """Return what was taken in."""
        columns = _columns(self._seeds, self._sums, self._returns, self._ends) | self._final
        return Episodes(columns, self._actions(), self._kinds | self._meeting)

    def _actions(self) -> tuple[np.ndarray, ...] | None:
        """Return the actions of each episode, if they were kept."""
        if not self._keeps:
            return None
        episodes, actions = map(np.concatenate, zip(*self._taken, strict=True))
        actions = actions[np.argsort(episodes, kind="stable")]
        return tuple(np.split(actions, np.cumsum(self._sums["steps"])[:-1]))


def _columns(
    seeds: np.ndarray,
    sums: Mapping[str, np.ndarray],
    returns: np.ndarray,
    ends: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Return the columns that every game has."""
    return {
        "seed": seeds,
        "steps": sums["steps"],
        "dt_total": sums["dt_total"],
        "return_total": returns,
        **ends,
        "invalid_actions": sums["invalid_actions"],
        "invalid_action_rate": sums["invalid_actions"] / np.maximum(sums["steps"], 1),
    }


def _meeting(engine: BatchEngine) -> dict[str, str]:
    """Return what is known of an episode because players meet in it, and what is made of it."""
    return _MEETING if engine.spec.num_agents > 1 and engine.asks_outside else {}


def _outcomes(engine: BatchEngine, lanes: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns of :func:`_meeting` for lanes that are at the end."""
    seat, reached = engine.get_agents(lanes), engine.get_outcomes(lanes)
    own = reached[np.arange(len(lanes)), seat]
    best = reached.max(axis=1)
    sharing = (reached == best[:, None]).sum(axis=1)
    won = (own == best) & engine.ended[lanes]
    return {"seat": seat, "points": own, "win": won / sharing, "draw": won & (sharing > 1)}


def _ticks(engine: BatchEngine) -> np.ndarray:
    """Return how many ticks the decision of each lane has lasted."""
    return engine.info["dt"].astype(np.int64) if "dt" in engine.info else engine.tau


def _own(column: np.ndarray) -> np.ndarray:
    """Return a column; of one with an entry an agent that of the first, who is evaluated."""
    return column if column.ndim == 1 else column[:, 0]


# -- comparing -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """Means of policies that played the same episodes.

    Parameters
    ----------
    means : dict of str to dict of str to Interval
        Policy to measure to its mean over episodes.
    gaps : dict of str to Interval
        Policy to its mean of ``measure`` less that of ``baseline``, episodes paired.
    baseline : str
    measure : str
    """

    means: dict[str, dict[str, Interval]]
    gaps: dict[str, Interval]
    baseline: str
    measure: str = "return"


def compare(
    played: dict[str, Episodes],
    baseline: str,
    resamples: int,
    seed: int = 0,
    measure: str = "return",
) -> Comparison:
    """Return bootstrap intervals over episodes, which all policies must have in common."""
    columns = [
        (name, which, column)
        for name, episodes in played.items()
        for which, column in episodes.measures().items()
    ]
    values = np.stack([played[name].columns[column] for name, _, column in columns], axis=1)
    drawn = Resamples(values, np.ones(values.shape), resamples, seed)
    means: dict[str, dict[str, Interval]] = {name: {} for name in played}
    for (name, which, _), interval in zip(columns, drawn.intervals(), strict=True):
        means[name][which] = interval
    at = {name: columns.index((name, measure, x.measures()[measure])) for name, x in played.items()}
    gaps = {n: drawn.difference(at[n], at[baseline]) for n in played if n != baseline}
    return Comparison(means, gaps, baseline, measure)
