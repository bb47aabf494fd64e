"""Visit counts of cells, and the cells that are new in an episode."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from fastenv.errors import ConfigError
from training.callbacks.trackers import kernels
from training.callbacks.trackers.base import (
    Array,
    Source,
    StepReader,
    Tracker,
    check_room,
    read,
)
from training.callbacks.trackers.sources import source_of
from training.run.engine import Engine
from training.run.options import Number, Options, Whole, option, require

MAX_LOAD = 0.6  # of a hash table, then it grows
_SMALLEST = 1024


class VisitOptions(Options):
    """Options of a counter of visits; see :class:`VisitCounter`."""

    cell: Any = option(..., "source of the cells")
    num_cells: Whole | None = option(
        None, "cells of a table of all; null for a table that grows", "at least 1, or null", ge=1
    )
    place: Any = option(None, "source of places, between which moves are counted")
    num_places: Whole = option(0, "places; given together with ``place``", ge=0)
    count_bonus: Number = option(0.0, "of each step, divided by the root of the visits")
    episode_bonus: Number = option(0.0, "of the first visit in an episode")
    transition_bonus: Number = option(0.0, "of a move, divided by their number")
    transition_limit: Whole = option(100, "moves of a kind that are paid")

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        together = (self.place is None) == (self.num_places == 0)
        name = f"{self.SECTION}num_places"
        require(together, name, self.num_places, "given together with place")
        paid = not self.transition_bonus or self.place is not None
        name = f"{self.SECTION}transition_bonus"
        require(paid, name, self.transition_bonus, "given with place")
        return self


class VisitCounter(Tracker):
    """Counts visits of cells over all lanes, and moves between places.

    A cell is any number that says where a game is: a node, a square of a map, a combination. Cells
    are ``0 .. num_cells - 1``, in a table of all of them, or else any number from 0 on, in a hash
    table that grows. Places (rooms, maps) are ``0 .. num_places - 1``. A cell or place of -1 is
    nowhere and not counted. The state behind each step is a visit, the first state of an episode is
    not.

    The bonus of a step is ``count_bonus / sqrt(visits of the cell)`` (Bellemare et al., Unifying
    Count-Based Exploration and Intrinsic Motivation, 2016), ``episode_bonus`` for the first visit
    of a cell in an episode, and ``transition_bonus / k`` for the k-th move, over all lanes, from
    one place into another; none beyond the limit.

    Parameters
    ----------
    engine : Engine
    options : VisitOptions

    Attributes
    ----------
    count : ndarray of int64, shape (n,)
        Visits of each lane's cell, the last one included; 1 is the first ever, 0 is nowhere.
    first : ndarray of bool, shape (n,)
        First visit in the episode.
    transitions : ndarray of int64, shape (num_places, num_places)
        Moves from (row) and to (column); staying counts.
    """

    OPTIONS = VisitOptions

    def __init__(self, engine: Engine, options: VisitOptions) -> None:
        super().__init__(engine, options)
        n, section = engine.num_envs, options.SECTION
        num_cells, num_places = options.num_cells, options.num_places
        cells = check_room(f"{section}num_cells", num_cells or 0, (num_cells or 0) * (8 + 4 * n))
        self.room = cells + check_room(f"{section}num_places", num_places, num_places**2 * 8)
        self._cell = source_of(engine, options.cell, f"{section}cell")
        placed = options.place is not None
        self._place = source_of(engine, options.place, f"{section}place") if placed else None
        self._crossing = np.zeros(n, np.int64)
        self.growing = () if num_cells else ("cells", "counts", "pairs", "pair_stamps")
        self.table: _Dense | _Hashed = _Hashed(n) if num_cells is None else _Dense(n, num_cells)
        if isinstance(self.table, _Hashed):
            self.room += self.table.room
        self.count, self.first = np.zeros(n, np.int64), np.zeros(n, np.bool_)
        self.episode = np.ones(n, np.int32)  # number of the lane's episode; stamps begin at 0
        self.previous = np.full(n, -1, np.int64)
        self.transitions = np.zeros((num_places, num_places), np.int64)
        if options.count_bonus or options.episode_bonus or options.transition_bonus:
            self.bonus = np.zeros(n)

    def reset(self, done_idx: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        done = np.asarray(done_idx)
        self.episode[done] += 1
        if self._place is not None:
            seen = StepReader(self._engine, obs)
            limit = self._options.num_places
            self.previous[done] = self._read_numbers("place", self._place, seen, limit)[done]

    def observe(self, engine: Engine, actions: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        seen, options = StepReader.after_step(engine, obs), self._options
        cell = self._read_numbers("cell", self._cell, seen, options.num_cells)
        if self._place is not None:
            place = self._read_numbers("place", self._place, seen, options.num_places)
            kernels.count_transitions(place, self.previous, self.transitions, self._crossing)
        self.table.visit(cell, self.episode, self.count, self.first)
        if self.bonus is not None:
            np.sqrt(self.count, out=self.bonus)
            np.divide(options.count_bonus, self.bonus, out=self.bonus, where=self.count > 0)
            self.bonus += options.episode_bonus * self.first
            if options.transition_bonus:
                rewarded = (self._crossing > 0) & (self._crossing <= options.transition_limit)
                number = np.maximum(self._crossing, 1)
                self.bonus += np.where(rewarded, options.transition_bonus / number, 0.0)

    def _read_numbers(
        self, name: str, source: Source, seen: StepReader, limit: int | None
    ) -> Array:
        """Read cells or places, int64, and check that the tables have them."""
        numbers = np.ascontiguousarray(read(source, seen)).astype(np.int64, copy=False)
        lane = kernels.first_outside(numbers, np.iinfo(np.int64).max if limit is None else limit)
        if lane >= 0:
            allowed = "-1 or more" if limit is None else f"from -1 to {limit - 1}, by num_{name}s"
            raise ConfigError(f"visits: {name} {numbers[lane]} of lane {lane} must be {allowed}.")
        return numbers

    def metrics(self) -> dict[str, float]:
        """Return the number of cells seen, and the number of visits."""
        counts = self.table.counts
        return {"cells": float(np.count_nonzero(counts)), "visits": float(counts.sum())}

    def _save(self) -> dict[str, Any]:
        names = ("count", "first", "episode", "previous", "transitions")
        return {name: getattr(self, name) for name in names} | self.table.save(self.episode)

    def _load(self, state: dict[str, Any]) -> None:
        table = {name: state.pop(name) for name in self.table.save(self.episode)}
        super()._load(state)
        self.table.load(table, self.episode)


class _Dense:
    """Counts of all cells; a lane's episode has seen a cell if that bears the episode's stamp."""

    def __init__(self, lanes: int, num_cells: int) -> None:
        self.counts = np.zeros(num_cells, np.int64)
        self._stamps = np.zeros((lanes, num_cells), np.int32)

    def visit(self, cell: Array, episode: Array, count_out: Array, first_out: Array) -> None:
        kernels.visit_dense(cell, episode, self.counts, self._stamps, count_out, first_out)

    def save(self, episode: Array) -> dict[str, Any]:
        return {"counts": self.counts, "stamps": self._stamps}

    def load(self, state: dict[str, Any], episode: Array) -> None:
        self.counts[:], self._stamps[:] = state["counts"], state["stamps"]


class _Hashed:
    """Counts of the cells seen, in the order in which they were, and pairs of lane and cell.

    A pair whose stamp is not the lane's episode belongs to one that is over; such pairs are left
    behind when the table of pairs is full.
    """

    def __init__(self, lanes: int) -> None:
        if lanes >= 1 << kernels.LANE_BITS:
            raise ConfigError(f"num_envs={lanes}: must be below {1 << kernels.LANE_BITS}")
        self._lanes, self._used, self._pairs_used = lanes, 0, 0
        nothing = np.zeros(0, np.int64)
        self._set_cells(nothing, nothing)
        self._set_pairs(nothing, np.zeros(0, np.int32), np.zeros(lanes, np.int32))

    @property
    def room(self) -> int:
        """Bytes that the tables take now."""
        tables = (self._cells, self._counts, self._index, self._pairs, self._stamps)
        return sum(table.nbytes for table in tables)

    @property
    def counts(self) -> Array:
        return self._counts[: self._used]

    def visit(self, cell: Array, episode: Array, count_out: Array, first_out: Array) -> None:
        if self._used + self._lanes > MAX_LOAD * len(self._index):
            self._set_cells(self._cells[: self._used], self.counts)
        if self._pairs_used + self._lanes > MAX_LOAD * len(self._pairs):
            self._set_pairs(*self._select_live(episode), episode)
        self._used, self._pairs_used = kernels.visit_hashed(
            *(cell, episode, self._index, self._cells, self._counts, self._used),
            *(self._pairs, self._stamps, self._pairs_used, count_out, first_out),
        )

    def save(self, episode: Array) -> dict[str, Any]:
        pairs, stamps = self._select_live(episode)
        order = np.argsort(pairs)  # equal contents are equal states
        return {
            "cells": self._cells[: self._used],
            "counts": self.counts,
            "pairs": pairs[order],
            "pair_stamps": stamps[order],
        }

    def load(self, state: dict[str, Any], episode: Array) -> None:
        self._set_cells(state["cells"], state["counts"])
        self._set_pairs(state["pairs"], state["pair_stamps"], episode)

    def _select_live(self, episode: Array) -> tuple[Array, Array]:
        """Select the pairs of running episodes, and their stamps."""
        lane = np.maximum(self._pairs, 0) >> kernels.PAIR_SHIFT
        live = (self._pairs >= 0) & (self._stamps == episode[lane])
        return self._pairs[live], self._stamps[live]

    def _set_cells(self, cells: Array, counts: Array) -> None:
        """Put cells into a table with room for many more."""
        self._used = used = len(cells)
        size = _choose_size(used + self._lanes)
        check_room("cells seen", used, size * 24)
        self._cells, self._counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self._cells[:used], self._counts[:used] = cells, counts
        self._index = np.empty(size, np.int64)
        kernels.index_cells(self._index, self._cells, used)

    def _set_pairs(self, pairs: Array, stamps: Array, episode: Array) -> None:
        size = _choose_size(len(pairs) + self._lanes)
        check_room("cells seen in running episodes", len(pairs), size * 12)
        self._pairs, self._stamps = np.full(size, -1, np.int64), np.zeros(size, np.int32)
        self._pairs_used = len(pairs)
        kernels.place_pairs(pairs, stamps, self._pairs, self._stamps)


def _choose_size(needed: int) -> int:
    """Choose the size of a table that is filled to half of its greatest load."""
    size = _SMALLEST
    while size * MAX_LOAD < 2 * needed:
        size *= 2
    return size
