"""A beam over rows: try every action, keep the best of what follows, and try again.

For games without chance within the horizon. The engine itself says what follows an action, exactly;
a :class:`Judge` says what a step takes, what is still to come, and where there is nothing to do::

    searched = Beam(Branches(engine), judge, depth=2, width=4).search(engine.get_states())
    searched.first.values  # what the best plan takes that begins with an action
    searched.plan()  # the actions of the best one
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fastenv import BatchEngine
from training.run.options import require

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Expansion:
    """Actions that were tried in rows, and what is behind them; arrays of shape (k,).

    Parameters
    ----------
    before : ndarray, shape (n,)
        The rows.
    parents : ndarray of int
        Number of the row that each was tried in, rising.
    actions : ndarray of int
    rows : ndarray
        Behind them, at the next decision or at the end.
    """

    before: Array
    parents: Array
    actions: Array
    rows: Array

    @property
    def running(self) -> Array:
        """Whether the game continues, bool."""
        found: Array = self.rows["done"] == 0
        return found


class Branches:
    """Tries actions in copies of rows.

    Parameters
    ----------
    engine : BatchEngine
        An engine of the game, with one agent, that nothing else uses. Its options may differ in
        the observation; the smaller the observation, the faster.
    """

    def __init__(self, engine: BatchEngine) -> None:
        require(engine.spec.num_agents == 1, "engine", engine.game.env_id, "a game of one agent")
        self._engine = engine

    def masks(self, rows: Array) -> Array:
        """Return which actions are legal, bool, shape (n, A).

        Parameters
        ----------
        rows : ndarray, shape (n,)
            At decisions.
        """
        found = np.empty((len(rows), self._engine.num_actions), np.bool_)
        for part, lanes in self._parts(len(rows)):
            self._engine.set_states(rows[part], lanes, trusted=True)
            found[part] = self._engine.mask[lanes] != 0
        return found

    def of(self, rows: Array, masks: Array) -> Expansion:
        """Return the successors of rows under all actions that masks allow.

        Parameters
        ----------
        rows : ndarray, shape (n,)
            At decisions.
        masks : ndarray, shape (n, A)
        """
        parents, actions = np.nonzero(masks)
        names = self._engine.game.bot_names
        if names:  # rollouts of one decision that is given: the bot is never asked
            played = self._engine.rollout(
                rows, actions, names[0], limit=1, of=parents, trusted=True
            )
            found = played.rows
        else:
            found = self._step(rows, parents, actions)
        return Expansion(rows, parents, actions, found)

    def _step(self, rows: Array, parents: Array, actions: Array) -> Array:
        """Return the rows behind actions, in a game without compiled players: step lanes."""
        engine, found = self._engine, np.empty(len(parents), rows.dtype)
        chosen = np.zeros(engine.num_envs, np.int32)
        for part, lanes in self._parts(len(parents)):
            chosen[lanes] = actions[part]
            engine.set_states(rows[parents[part]], lanes, trusted=True)
            select = np.arange(engine.num_envs) < len(lanes)
            engine.step_many(chosen, select=select, autoreset=False)
            found[part] = engine.get_states(lanes)
        return found

    def _parts(self, count: int) -> Iterator[tuple[slice, Array]]:
        """Return parts of ``count`` that fit the lanes, and the lanes of each."""
        for k in range(0, count, self._engine.num_envs):
            part = slice(k, min(k + self._engine.num_envs, count))
            yield part, np.arange(part.stop - part.start)


class Judge(Protocol):
    """The costs of a game; all are in one unit, such as frames, and less is better."""

    def costs(self, tried: Expansion) -> Array:
        """Return the cost of each action, float32, shape (k,), not below 0."""

    def left(self, tried: Expansion, level: int) -> Array:
        """Return the estimated cost to go after each action, float32, shape (k,); 0 at the goal.

        ``level`` is the number of decisions since the rows of the search, from 1 on.
        """

    def reached(self, tried: Expansion) -> Array:
        """Return which positions have reached the goal, bool, shape (k,)."""

    def keys(self, tried: Expansion) -> Array | None:
        """Return a key for each position, int64, shape (k,), or None where none are equal.

        Of positions with equal keys after the same number of decisions, only the best is kept.
        """


@dataclass(frozen=True)
class Level:
    """The actions tried at one depth of a search; arrays of shape (k,).

    Parameters
    ----------
    parents : ndarray of int
        Index among the positions kept of the level before, or in the rows.
    actions : ndarray of int
    costs, left, reached : ndarray
        Costs, costs to go and goals by the judge.
    kept : ndarray of int, shape (m,)
        Indices of the positions that were expanded, ascending.
    last : bool
        Whether the search ended here: the judge's cost to go is then used.
    """

    parents: Array
    actions: Array
    costs: Array
    left: Array
    reached: Array
    kept: Array
    last: bool

    def values(self, behind: Array) -> Array:
        """Return the total cost of each action, infinity where it was not expanded.

        Parameters
        ----------
        behind : ndarray of float32, shape (m,)
            Cost of the best plan after each of the kept positions.
        """
        if self.last:
            found: Array = self.costs + self.left
            return found
        found = np.where(self.reached, self.costs + self.left, np.inf).astype(np.float32)
        found[self.kept] = self.costs[self.kept] + behind
        return found


@dataclass(frozen=True)
class Searched:
    """The results of a beam search.

    Parameters
    ----------
    levels : list of Level
    count : int
        Rows of the search.
    """

    levels: list[Level]
    count: int

    @property
    def expanded(self) -> int:
        """Actions that were tried."""
        return sum(len(level.actions) for level in self.levels)

    @property
    def first(self) -> Level:
        """The level of the actions to choose from."""
        return self.levels[0]

    @cached_property
    def values(self) -> list[Array]:
        """The total cost of each action of each level, with the best plan found after it.

        In a row where all kept positions end the game, first actions have the judge's estimate.
        """
        found: list[Array] = []
        for level in reversed(self.levels):
            behind = np.full(len(level.kept), np.inf, np.float32)
            if found:
                np.minimum.at(behind, self.levels[-len(found)].parents, found[-1])
            found.append(level.values(behind))
        first, values = self.levels[0], found[-1]
        known = np.zeros(self.count, np.bool_)
        known[first.parents[np.isfinite(values)]] = True
        values[~known[first.parents]] = (first.costs + first.left)[~known[first.parents]]
        return found[::-1]

    def plan(self, row: int = 0) -> list[int]:
        """Return the actions of the best plan from a row of the search."""
        place, actions = row, []
        for level, values in zip(self.levels, self.values, strict=True):
            mine = np.flatnonzero((level.parents == place) & np.isfinite(values))
            if not len(mine):
                break
            best = mine[values[mine].argmin()]
            actions.append(int(level.actions[best]))
            if level.last or best not in level.kept:
                break
            place = int(np.searchsorted(level.kept, best))
        return actions


@dataclass
class Beam:
    """A search that goes on with the best positions alone.

    Parameters
    ----------
    branches : Branches
    judge : Judge
    depth : int
        Decisions that are looked ahead.
    width : int
        Positions of a level, for each row, behind which more is tried: those whose cost so far and
        what is left are least.
    until_reached : bool
        End a search of several levels as soon as every row has come to where nothing is left to do.
        What that took is least only where all steps cost the same.
    """

    branches: Branches
    judge: Judge
    depth: int
    width: int
    until_reached: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no search."""
        require(self.depth >= 1, "depth", self.depth, "at least 1")
        require(self.width >= 1, "width", self.width, "at least 1")

    def search(self, rows: Array, masks: Array | None = None) -> Searched:
        """Run a beam search from rows and return its levels.

        Parameters
        ----------
        rows : ndarray, shape (n,)
            At decisions.
        masks : ndarray, shape (n, A), optional
            Actions to begin with; default all that are legal.
        """
        levels: list[Level] = []
        here = _Front(rows, np.arange(len(rows)), np.zeros(len(rows), np.float32))
        there = np.zeros(len(rows), np.bool_)
        while len(here.rows) or not levels:
            if masks is None or levels:
                masks = self.branches.masks(here.rows)
            tried, number = self.branches.of(here.rows, masks), len(levels) + 1
            reached = self.judge.reached(tried)
            there[here.roots[tried.parents[reached]]] = True
            last = number == self.depth or (self.until_reached and bool(there.all()))
            costs, left = self.judge.costs(tried), self.judge.left(tried, number)
            kept = np.arange(0)
            if not last:
                keys = self.judge.keys(tried)
                kept, here = here.behind(tried, costs, left, reached, keys, self.width)
            level = Level(tried.parents, tried.actions, costs, left, reached, kept, last)
            levels.append(level)
            if last:
                break
        return Searched(levels, len(rows))


@dataclass
class _Front:
    """Positions that are looked at further: the row of the search, and what they took; (m,)."""

    rows: Array
    roots: Array
    paid: Array

    def behind(
        self,
        tried: Expansion,
        costs: Array,
        left: Array,
        reached: Array,
        keys: Array | None,
        width: int,
    ) -> tuple[Array, _Front]:
        """Return which of those that were tried are kept, and the front that they are."""
        roots, paid = self.roots[tried.parents], self.paid[tried.parents] + costs
        order = np.lexsort((paid + left, roots))  # by row of the search, then by score
        if keys is not None:
            names = np.stack([roots[order], keys[order]])
            order = order[np.sort(np.unique(names, axis=1, return_index=True)[1])]
        begin = np.searchsorted(roots[order], roots[order])
        best = order[np.arange(len(order)) - begin < width]
        kept = np.sort(best[tried.running[best] & ~reached[best]])
        return kept, _Front(tried.rows[kept], roots[kept], paid[kept])
