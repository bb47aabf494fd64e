"""The loop that plays episodes from given seeds, by any players, in the lanes of an engine.

Every episode has its seed before it begins: "the first n to finish" would favour short ones. Each
step asks who has to decide, groups the lanes by player, asks each once, and steps. Evaluations,
tables, gates and matches are this loop with an observer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from training.players.player import Cost, Player

MAX_DECISIONS = 100_000  # of all seats, after which an episode is given up as it stands


@dataclass(frozen=True)
class Step:
    """A decision in every lane that still plays; the engine is behind it.

    Parameters
    ----------
    lanes : ndarray of int, shape (k,)
        That have taken one.
    actions : ndarray of int32, shape (n,)
        Theirs; 0 elsewhere.
    over : ndarray of int
        Lanes whose episode has ended, whose last state is still there.
    given_up : ndarray of int
        Lanes whose episode is cut off here.
    episode : ndarray of int64, shape (n,)
        The episode that each lane plays or has played last, by its number among the seeds.
    seats : ndarray of int, shape (k,), or None
        Who has decided, where the loop seats the players.
    """

    lanes: np.ndarray
    actions: np.ndarray
    over: np.ndarray
    given_up: np.ndarray
    episode: np.ndarray
    seats: np.ndarray | None = None

    @property
    def finished(self) -> np.ndarray:
        """Lanes whose episode is over or given up, in order."""
        if not self.given_up.size:
            return self.over
        return np.sort(np.concatenate([self.over, self.given_up]))


def ask(
    engine: Any,
    players: Sequence[Player | None],
    lanes: np.ndarray,
    places: np.ndarray | None = None,
    costs: Sequence[Cost] = (),
) -> np.ndarray:
    """Ask each player once for its lanes; return actions int32 (n,), 0 in lanes not asked for.

    Parameters
    ----------
    engine : BatchEngine
    players : sequence of Player
        None for a place that the engine plays itself.
    lanes : ndarray of int, shape (k,)
    places : ndarray of int, shape (k,), optional
        Which of the players decides in each; default the first.
    costs : sequence of Cost
        Of each player, to be added to; empty where nobody cares.
    """
    actions = np.zeros(engine.num_envs, np.int32)
    for k, player in enumerate(players):
        own = lanes if places is None else lanes[places == k]
        if own.size and player is not None:
            begun = time.process_time()
            actions[own] = player.act(engine, own)
            if costs:
                costs[k].decisions += len(own)
                costs[k].cpu_s += time.process_time() - begun
    return actions


# Called with an engine, the lanes (k,) in which episodes begin, and their numbers (k,).
Prepare = Callable[[Any, np.ndarray, np.ndarray], None]
# Tells, after a step, which lanes (n,) to give up, bool (n,).
GiveUp = Callable[[Any], np.ndarray]


@dataclass
class Loop:
    """Episodes that are played; iterate to play them, a :class:`Step` at a time.

    Parameters
    ----------
    engine : BatchEngine
        Its lanes are reset.
    players : sequence of Player
        Made for this engine; without a ``seating`` the first one takes all decisions.
    seeds : ndarray of int64, shape (episodes,)
        Of the engine.
    seating : ndarray of int, shape (episodes, P), optional
        The player in each seat.
    draws : sequence of ndarray of int64, shape (episodes,), optional
        Of each player the seeds of what it draws; default those of the episodes, and ``k`` more.
    limit : int
        Decisions of a lane after which its episode is given up.
    give_up : callable, optional
        See :data:`GiveUp`; another reason to.
    prepare : callable, optional
        See :data:`Prepare`; called before they are reset, such as to set knobs.
    begun : callable, optional
        Likewise, called when they can be looked at as they begin.
    wait : bool
        Lanes that are done wait for the others of their block; else lane ``i`` of ``n`` goes on
        with episodes ``i + n``, ``i + 2n``, ...

    Attributes
    ----------
    costs : list of Cost
        Of each player; its own, where it has one.
    """

    engine: Any
    players: Sequence[Player]
    seeds: np.ndarray
    seating: np.ndarray | None = None
    draws: Sequence[np.ndarray] | None = None
    limit: int = MAX_DECISIONS
    give_up: GiveUp | None = None
    prepare: Prepare | None = None
    begun: Prepare | None = None
    wait: bool = True
    costs: list[Cost] = field(init=False)

    def __post_init__(self) -> None:
        """Set all counters to zero."""
        self.seeds = np.asarray(self.seeds, np.int64)
        self.costs = [getattr(player, "cost", Cost()) for player in self.players]
        self._episode = np.zeros(self.engine.num_envs, np.int64)
        self._taken = np.zeros(self.engine.num_envs, np.int64)

    def __iter__(self) -> Iterator[Step]:
        """Play all episodes, a step at a time."""
        n, total = self.engine.num_envs, len(self.seeds)
        if not self.wait:
            yield from self._play(np.arange(n))
            return
        for first in range(0, total, n):
            yield from self._play(first + np.arange(n))

    def _play(self, episode: np.ndarray) -> Iterator[Step]:
        """Play from these episodes on, one in each lane; those behind the last are left out."""
        engine = self.engine
        self._episode = episode
        running = episode < len(self.seeds)
        self._begin(np.flatnonzero(running), everywhere=True)
        while running.any():
            step = self._step(running)
            yield step
            done = step.finished
            if not done.size:
                continue
            running[done] = False
            if not self.wait:
                self._episode = self._episode.copy()  # the arrays of earlier steps stay as they are
                self._episode[done] += engine.num_envs
                new = done[self._episode[done] < len(self.seeds)]
                running[new] = True
                self._begin(new)

    def _begin(self, lanes: np.ndarray, everywhere: bool = False) -> None:
        """Begin episodes in lanes; ``everywhere`` resets the others too, which nobody looks at."""
        if not lanes.size:
            return
        engine, numbers = self.engine, self._episode[lanes]
        if self.prepare is not None:
            self.prepare(engine, lanes, numbers)
        seeds = np.full(engine.num_envs, self.seeds[-1])
        seeds[lanes] = self.seeds[numbers]
        mask = None
        if not everywhere:
            mask = np.zeros(engine.num_envs, np.bool_)
            mask[lanes] = True
        engine.reset_many(mask, seeds=seeds)
        self._taken[lanes] = 0
        for k, player in enumerate(self.players):
            drawn = seeds[lanes] + k if self.draws is None else self.draws[k][numbers]
            player.begin(engine, lanes, drawn)
        if self.begun is not None:
            self.begun(engine, lanes, numbers)

    def _step(self, running: np.ndarray) -> Step:
        engine, lanes = self.engine, np.flatnonzero(running)
        places = seats = None
        if self.seating is not None:
            seats = engine.get_actors(lanes)
            places = self.seating[self._episode[lanes], seats]
        actions = ask(engine, self.players, lanes, places, self.costs)
        engine.step_many(actions, select=running, autoreset=False)
        self._taken[lanes] += 1
        over = running & engine.ended
        late = running & ~over & (self._taken >= self.limit)
        if self.give_up is not None:
            late |= running & ~over & self.give_up(engine)
        ends = np.flatnonzero(over), np.flatnonzero(late)
        return Step(lanes, actions, *ends, self._episode, seats)
