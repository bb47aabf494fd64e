"""Whole episodes of any game from fixed seeds, one a lane, by any policy: rows and summaries.

Episode ``e`` has seed ``first_seed + e`` and is assigned to its lane before it begins: "the first n
to finish" would favour short ones. A lane that is done waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.ticker import tell_progress
from training.evaluation.bootstrap import Interval, Resamples
from training.evaluation.policies import Policy
from training.run import games

# A fresh policy for the episodes of an engine's lanes: seed of the first, and number of lanes.
Player = Callable[[int, int], Policy]
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
    player: Player,
    count: int,
    first_seed: int,
    max_steps: int,
    *,
    keep_actions: bool = False,
) -> Episodes:
    """Let a player play episodes to their end, or until ``max_steps`` decisions.

    Parameters
    ----------
    engine : BatchEngine
        Its lanes play at once, as often as needed.
    player : callable
    count : int
        Episodes.
    first_seed : int
    max_steps : int
    keep_actions : bool
    """
    blocks = [
        _block(engine, player, first_seed, start, count, max_steps, keep_actions)
        for start in range(0, count, engine.num_envs)
    ]
    columns = {
        name: np.concatenate([block.columns[name] for block in blocks])
        for name in blocks[0].columns
    }
    actions = tuple(a for block in blocks for a in block.actions or ()) if keep_actions else None
    return Episodes(columns, actions, blocks[0].final)


def _block(
    engine: BatchEngine,
    player: Player,
    first_seed: int,
    begun: int,
    total: int,
    max_steps: int,
    keep_actions: bool,
) -> Episodes:
    """Play the episodes behind those that have ``begun``, one in each of the engine's lanes."""
    n, lanes, seed = min(engine.num_envs, total - begun), engine.num_envs, first_seed + begun
    kinds = games.get_engine_game(engine).episode_columns
    kinds = {name: kind for name, kind in kinds.items() if name in engine.info}
    meeting = {name: kind for name, kind in _meeting(engine).items() if name not in kinds}
    sums = {name: np.zeros(lanes, np.int64) for name in ("steps", "dt_total", "invalid_actions")}
    returns = np.zeros(lanes)
    ends = {name: np.zeros(lanes, np.bool_) for name in _FLAGS}
    final = {name: np.zeros(lanes) for name in (*kinds, *meeting)}
    taken = []

    engine.reset_many(seeds=seed)
    policy = player(seed, lanes)
    running = np.arange(lanes) < n
    for step in range(1, max_steps + 1):
        actions = policy.act(engine)
        if keep_actions:
            taken.append(actions.astype(np.int32))
        engine.step_many(actions, select=running, autoreset=False)
        returns += engine.reward  # 0 in lanes that wait
        sums["steps"] += running
        sums["dt_total"] += running * _ticks(engine)
        sums["invalid_actions"] += running * _counted(engine, "invalid_action", 0)
        over = np.flatnonzero(running & engine.ended)
        if over.size:
            ends["terminated"][over] = engine.terminated[over]
            ends["truncated"][over] = engine.truncated[over]
            returns[over] = engine.ep_return[over]  # summed up in double precision
        if step == max_steps:
            running[over] = False
            ends["guard_truncated"] |= running
            over = np.concatenate([over, np.flatnonzero(running)])
        if over.size:
            running[over] = False
            tell_progress(begun + n - int(np.count_nonzero(running)), total, "episodes")
            for name in kinds:
                final[name][over] = _own(engine.info[name])[over]
            if meeting:
                found = _outcomes(engine, over)
                for name in meeting:
                    final[name][over] = found[name]
            if not running.any():
                break
    columns = _columns(seed, sums, returns, ends) | final
    kept = None
    if keep_actions:
        table = np.stack(taken, axis=1)
        kept = tuple(table[lane, : sums["steps"][lane]] for lane in range(n))
    return Episodes({name: column[:n] for name, column in columns.items()}, kept, kinds | meeting)


def _columns(
    seed: int,
    sums: Mapping[str, np.ndarray],
    returns: np.ndarray,
    ends: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Return the columns that every game has."""
    return {
        "seed": np.arange(len(returns)) + seed,
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


def _counted(engine: BatchEngine, column: str, default: int) -> np.ndarray | int:
    """Return a column of whole numbers, or the default in games that do not have it."""
    values = engine.info.get(column)
    return default if values is None else _own(values).astype(np.int64)


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
