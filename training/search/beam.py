"""Beam search over rows: try every action, keep the best successors, and repeat.

For games without chance within the horizon. The engine computes the exact successor of an action; a
:class:`Judge` the cost of a step, the cost to go, and where the goal is reached::

    searched = Beam(Branches(engine), judge, depth=2, width=4).search(engine.get_states())
    searched.first.values  # cost of the best plan that begins with each action
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
    """Actions that were tried in rows, and their successors; arrays of shape (k,).

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
        running: Array = self.rows["done"] == 0
        return running


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
        """Compute the masks of legal actions, bool, shape (n, A).

        Parameters
        ----------
        rows : ndarray, shape (n,)
            At decisions.
        """
        masks = np.empty((len(rows), self._engine.num_actions), np.bool_)
        for part, lanes in self._split(len(rows)):
            self._engine.set_states(rows[part], lanes, trusted=True)
            masks[part] = self._engine.mask[lanes] != 0
        return masks

    def of(self, rows: Array, masks: Array) -> Expansion:
        """Compute the successors of rows under all actions that masks allow.

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
            successors = played.rows
        else:
            successors = self._step(rows, parents, actions)
        return Expansion(rows, parents, actions, successors)

    def _step(self, rows: Array, parents: Array, actions: Array) -> Array:
        """Compute the rows behind actions in a game without compiled players, by stepping lanes."""
        engine, successors = self._engine, np.empty(len(parents), rows.dtype)
        chosen = np.zeros(engine.num_envs, np.int32)
        for part, lanes in self._split(len(parents)):
            chosen[lanes] = actions[part]
            engine.set_states(rows[parents[part]], lanes, trusted=True)
            select = np.arange(engine.num_envs) < len(lanes)
            engine.step_many(chosen, select=select, autoreset=False)
            successors[part] = engine.get_states(lanes)
        return successors

    def _split(self, count: int) -> Iterator[tuple[slice, Array]]:
        """Split ``count`` rows into parts that fit the lanes; yield each with its lanes."""
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
        """Tell which positions have reached the goal, bool, shape (k,)."""

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
            estimate: Array = self.costs + self.left
            return estimate
        values: Array = np.where(self.reached, self.costs + self.left, np.inf).astype(np.float32)
        values[self.kept] = self.costs[self.kept] + behind
        return values


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
        totals: list[Array] = []  # from the last level to the first
        for level in reversed(self.levels):
            behind = np.full(len(level.kept), np.inf, np.float32)
            if totals:
                np.minimum.at(behind, self.levels[-len(totals)].parents, totals[-1])
            totals.append(level.values(behind))
        first, values = self.levels[0], totals[-1]
        has_plan = np.zeros(self.count, np.bool_)
        has_plan[first.parents[np.isfinite(values)]] = True
        without = ~has_plan[first.parents]
        values[without] = (first.costs + first.left)[without]
        return totals[::-1]

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
    """A search that expands the best positions of each level alone.

    Parameters
    ----------
    branches : Branches
    judge : Judge
    depth : int
        Decisions to look ahead.
    width : int
        Positions of a level that are expanded for each row: those whose sum of cost so far and cost
        to go is least.
    until_reached : bool
        End a search of several levels as soon as every row has reached the goal. Its cost is the
        least only where all steps cost the same.
    """

    branches: Branches
    judge: Judge
    depth: int
    width: int
    until_reached: bool = False

    def __post_init__(self) -> None:
        """Refuse impossible values."""
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
    """Positions to expand: their row of the search, and their cost so far; (m,)."""

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
        """Select the positions to keep; return their indices and the next front."""
        roots, paid = self.roots[tried.parents], self.paid[tried.parents] + costs
        order = np.lexsort((paid + left, roots))  # by row of the search, then by score
        if keys is not None:
            names = np.stack([roots[order], keys[order]])
            order = order[np.sort(np.unique(names, axis=1, return_index=True)[1])]
        begin = np.searchsorted(roots[order], roots[order])
        best = order[np.arange(len(order)) - begin < width]
        kept = np.sort(best[tried.running[best] & ~reached[best]])
        return kept, _Front(tried.rows[kept], roots[kept], paid[kept])
