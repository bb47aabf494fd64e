"""The same goals and deals for everybody: how often the goal of a round is reached.

One episode is one round with a given goal. All players play the very same episodes (same seeds),
so their differences are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from fastenv import BatchEngine
from training.evaluation.bootstrap import Interval, Resamples
from training.evaluation.loop import Loop
from training.players.player import MakePlayer

# Looks at an engine after a step of some lanes, int (k,).
Watch = Callable[[BatchEngine, np.ndarray], None]


@dataclass(frozen=True)
class Comparison:
    """Goal-hit rates of players of the same episodes.

    Parameters
    ----------
    rates : dict of str to dict of str to Interval
        Player to ``overall`` and ``round_<r>`` to rate.
    differences : dict of str to Interval
        Player to its overall rate minus that of ``baseline``, episodes paired.
    baseline : str
    episodes : int
    """

    rates: dict[str, dict[str, Interval]]
    differences: dict[str, Interval]
    baseline: str
    episodes: int

    def best(self, others: Collection[str]) -> str:
        """Return which of some players reaches most goals."""
        return max(others, key=lambda player: self.rates[player]["overall"].value)

    def outside(self, player: str, other: str) -> bool:
        """Tell whether a player is better than another, outside both 95 % intervals."""
        return self.rates[player]["overall"].low > self.rates[other]["overall"].high


def play(
    engine: BatchEngine,
    make: MakePlayer,
    seed: int,
    watch: Watch | None = None,
    draws: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Play episode ``seed + i`` in lane ``i``.

    Parameters
    ----------
    engine : BatchEngine
    make : callable
        Makes the player.
    seed : int
    watch : callable, optional
    draws : int
        Of what the player draws in the first lane; the next has one more.

    Returns
    -------
    rounds : ndarray of int, shape (n, 3)
        Number of the round (from 1), cards, and goal as it was given.
    hit : ndarray of bool, shape (n,)
    """
    lane, info = np.arange(engine.num_envs, dtype=np.int64), engine.info
    rounds, hit = np.zeros((len(lane), 3), np.int64), np.zeros(len(lane), np.bool_)

    def look(engine: BatchEngine, lanes: np.ndarray, _: np.ndarray) -> None:
        rounds[lanes] = np.stack([info[name][lanes] for name in ("round", "cards", "bid")], axis=1)

    player = make(engine)
    for step in Loop(engine, [player], seed + lane, draws=[draws + lane], begun=look):
        if watch is not None:
            watch(engine, step.lanes)
        over = step.over
        hit[over] = info["ended_won"][over] == info["ended_bid"][over]
    return rounds, hit


def compare(
    engine: BatchEngine,
    players: Mapping[str, MakePlayer],
    seed: int,
    resamples: int,
    baseline: str = "rule_hard",
    watches: Mapping[str, Watch] | None = None,
    draws: int = 0,
) -> Comparison:
    """Let every player play the same episodes, one a lane.

    Parameters
    ----------
    engine : BatchEngine
        Of a tier whose episodes are rounds with a goal.
    players : mapping of str to callable
        Makes each player; must contain ``baseline``.
    seed : int
        Of the first episode.
    resamples : int
    baseline : str
    watches : mapping of str to callable, optional
        Who watches which player.
    draws : int
        See :func:`play`.
    """
    hits, first = {}, None
    for name, make in players.items():
        rounds, hits[name] = play(engine, make, seed, (watches or {}).get(name), draws)
        first = rounds if first is None else first
        if not np.array_equal(rounds, first):
            raise AssertionError("equal seeds gave different goals or deals")
    assert first is not None
    number = first[:, 0]
    groups = {"overall": np.ones(len(number), np.bool_)}
    groups |= {f"round_{r}": number == r for r in np.unique(number)}
    columns = [(name, group) for name in players for group in groups]
    numerators = np.stack([hits[name] & groups[group] for name, group in columns], axis=1)
    denominators = np.stack([groups[group] for _, group in columns], axis=1)
    drawn = Resamples(numerators, denominators, resamples, seed)
    rates: dict[str, dict[str, Interval]] = {name: {} for name in players}
    for (name, group), interval in zip(columns, drawn.intervals(), strict=True):
        rates[name][group] = interval
    overall = {name: columns.index((name, "overall")) for name in players}
    differences = {
        name: drawn.difference(overall[name], overall[baseline])
        for name in players
        if name != baseline
    }
    return Comparison(rates, differences, baseline, engine.num_envs)
