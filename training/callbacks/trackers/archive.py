"""An archive of states to go on from, one for each cell that was seldom seen.

After A. Ecoffet et al., First return, then explore, Nature 590 (2021): to find what is far away,
begin where few have been. A state is a row of bytes, so keeping and restoring one is a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from training.callbacks.trackers import kernels
from training.callbacks.trackers.base import (
    Array,
    StepReader,
    Tracker,
    check_room,
    ended_lanes,
    read,
)
from training.callbacks.trackers.quests import QuestReward
from training.callbacks.trackers.sources import source_of
from training.callbacks.trackers.visits import VisitCounter
from training.run.checkpoint import CheckpointError
from training.run.engine import Engine
from training.run.options import Number, Options, Text, Truth, Whole, option, require

SELDOM = 3  # visits
TrackerT = TypeVar("TrackerT", bound=Tracker)


class ArchiveOptions(Options):
    """Options of an archive of states; see :class:`StateArchive`."""

    cell: Any = option(..., "source of the cells")
    score: Any = option(None, "source of a value of which each cell keeps the greatest")
    visits: Text | None = option(None, "name of the counter of visits of the same cells")
    max_cells: Whole = option(1000, "cells that are kept", ge=1)
    p_archive: Number = option(0.5, "how often an episode begins in the archive", ge=0, le=1)
    swarm: Text | None = option(
        None, "name of the quests whose first completion sends every lane to the state behind it"
    )
    afresh: Truth = option(False, "return and length count from the archived state on")


class StateArchive(Tracker):
    """State rows by cell, and episodes that begin in them.

    A row has its generator in it: what chance brings after it is the same each time. It has the
    sums of its episode too, so ``ep_return`` is that from the first state on, unless it is taken
    ``afresh``. Where episodes are cut off early, those that begin in the archive are then as long
    as others, and what they come to is archived in turn.

    The cell -1 is nowhere and never kept. With a counter of visits, only cells that it has counted
    :data:`SELDOM` times at most are taken up. With a swarm, the first state behind a quest, of any
    lane, is where the next episode of every lane begins. Only quests further down in their order
    come after it.

    Parameters
    ----------
    engine : Engine
    options : ArchiveOptions
    others : mapping of str to Tracker, optional
        Trackers that observe before, among them those that the options name.
    seed : int
        Of the archive's own generator.

    Attributes
    ----------
    placed : ndarray of bool, shape (n,)
        Lanes whose running episode began in the archive: no headline figure should include it.
    furthest : int
        Number of the last quest whose state was kept for a swarm; -1 before the first.
    milestone : ndarray of uint8, shape (S,)
        That state.
    waiting : ndarray of bool, shape (n,)
        Lanes whose next episode begins in it.
    cells, visits, scores, last_steps : ndarray, shape (cells,)
        Of each slot: its cell, how often it was seen since it was taken up, its greatest score,
        and the decision (over all lanes) at which it was last seen.
    blobs : ndarray of uint8, shape (cells, S)
        State rows.
    """

    OPTIONS = ArchiveOptions
    growing = ("cells", "visits", "scores", "last_steps", "blobs")
    placed: Array

    def __init__(
        self,
        engine: Engine,
        options: ArchiveOptions,
        others: Mapping[str, Tracker] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(engine, options)
        section, known = options.SECTION, others or {}
        self._cell = source_of(engine, options.cell, f"{section}cell")
        scored = options.score is not None
        self._score = source_of(engine, options.score, f"{section}score") if scored else None
        self._counter = _find_named(known, options, "visits", VisitCounter)
        self._swarm = _find_named(known, options, "swarm", QuestReward)
        row, max_cells = engine.spec.state_dtype.itemsize, options.max_cells
        self.room = check_room(f"{section}max_cells", max_cells, max_cells * (row + 56))
        if self._swarm is not None:
            self.room += row  # of the milestone
        self._rng = np.random.default_rng(seed)
        n = engine.num_envs
        self._blobs = np.zeros((max_cells, row), np.uint8)
        self._cells, self._visits = np.zeros(max_cells, np.int64), np.zeros(max_cells, np.int64)
        self._scores, self._last = np.zeros(max_cells), np.zeros(max_cells, np.int64)
        self._index = np.full(1 << (2 * max_cells).bit_length(), -1, np.int64)
        self._owner = np.zeros(max_cells, np.int64)
        self._used = self.steps = self.restarts = 0
        self.placed = np.zeros(n, np.bool_)
        self.furthest, self.waiting = -1, np.zeros(n, np.bool_)
        self.milestone = np.zeros(row, np.uint8)

    cells = property(lambda self: self._cells[: self._used])
    visits = property(lambda self: self._visits[: self._used])
    scores = property(lambda self: self._scores[: self._used])
    last_steps = property(lambda self: self._last[: self._used])
    blobs = property(lambda self: self._blobs[: self._used])

    def maybe_add_many(
        self,
        cells: npt.ArrayLike,
        env_idx: npt.ArrayLike,
        scores: npt.ArrayLike,
        step: int,
        counts: npt.ArrayLike | None = None,
    ) -> Array:
        """Visit the cells that lanes are in, and keep the states of new ones.

        A full archive gives up the cell with most visits, of several the one not seen for longest.

        Parameters
        ----------
        cells, env_idx : array_like of int, shape (k,)
            Cells from 0 on, and the lanes that are in them now.
        scores : array_like of float, shape (k,)
        step : int
            Decisions until now.
        counts : array_like of int, shape (k,), optional
            Visits of the cells in all; new cells above :data:`SELDOM` are not kept. Default keeps
            all.

        Returns
        -------
        ndarray of int64, shape (c,)
            Slots that hold a new state.
        """
        cell, lanes = np.asarray(cells, np.int64), np.asarray(env_idx, np.int64)
        count = np.zeros_like(cell) if counts is None else np.asarray(counts, np.int64)
        new_slots = np.empty_like(cell)
        self._used, new = kernels.add_cells(
            *(cell, np.asarray(scores, np.float64), count, SELDOM, step, self._index, self._cells),
            *(self._visits, self._scores, self._last, self._used, self._owner, new_slots),
        )
        slots: Array = np.unique(new_slots[:new])
        if slots.size:
            self._blobs[slots] = self._engine.get_state(lanes[self._owner[slots]])
        return slots

    def sample_frontier(self, k: int) -> Array:
        """Draw ``k`` slots with replacement, from the archive's own generator.

        Weights are ``1 / sqrt(visits + 1)``.
        """
        if not self._used:
            raise ValueError("the archive is empty")
        ladder = np.cumsum(1.0 / np.sqrt(self.visits + 1.0))
        drawn = np.searchsorted(ladder, self._rng.random(k) * ladder[-1], side="right")
        slots: Array = np.minimum(drawn, self._used - 1)
        return slots

    def reset(self, done_idx: npt.ArrayLike, obs: Array | None = None) -> None:
        """Let some of the new episodes begin in the archive; see :class:`Tracker`.

        Observation, mask and info of these lanes are in the engine; reward and flags stay those of
        the step that was made.
        """
        done, engine = np.asarray(done_idx), self._engine
        self.placed[done] = False
        waiting, others = done[self.waiting[done]], done[~self.waiting[done]]
        drawn = (
            others[self._rng.random(len(others)) < self._options.p_archive]
            if self._used
            else others[:0]
        )
        lanes = np.concatenate([waiting, drawn])
        if not lanes.size:
            return
        outputs: tuple[Array, ...] = (engine.reward, engine.terminated, engine.truncated)
        before: list[Array] = [column[lanes].copy() for column in outputs]
        blobs = np.empty((len(lanes), self._blobs.shape[1]), np.uint8)
        rows = blobs.view(engine.spec.state_dtype)[:, 0]
        if waiting.size:
            blobs[: len(waiting)] = self.milestone
            self._renew_generators(rows[: len(waiting)])
        if drawn.size:
            blobs[len(waiting) :] = self._blobs[self.sample_frontier(len(drawn))]
        if self._options.afresh:
            rows["ep_return"], rows["ep_length"] = 0, 0
        engine.set_state(lanes, blobs)
        for column, values in zip(outputs, before, strict=True):
            column[lanes] = values
        self.waiting[waiting] = False
        self.placed[lanes] = True
        self.restarts += len(lanes)

    def _renew_generators(self, rows: Array) -> None:
        """Give rows that are alike a generator each, so that their episodes do not stay alike."""
        if "rng" in (rows.dtype.names or ()):
            words = rows["rng"].shape
            rows["rng"] = self._rng.integers(1, np.iinfo(np.int64).max, words).astype(np.uint64)

    def _keep_milestone(self, swarm: QuestReward) -> None:
        """Keep the state behind a quest that no lane had completed, for the next episodes."""
        if self.furthest + 1 == len(swarm.quests):
            return
        completed = swarm.completed
        completed[:, : self.furthest + 1] = False
        completed[ended_lanes(self._engine)] = False  # their rows are those of the next episodes
        new = np.flatnonzero(completed.any(axis=0))
        if not new.size:
            return
        self.furthest = int(new[-1])
        lane = np.flatnonzero(completed[:, self.furthest])[:1]
        self.milestone[:] = self._engine.get_state(lane)[0]
        self.waiting[:] = True

    def observe(self, engine: Engine, actions: npt.ArrayLike, obs: Array | None = None) -> None:
        """Visit the cells of the lanes whose episodes go on; see :class:`Tracker`."""
        self.steps += engine.num_envs
        seen = StepReader.after_step(engine, obs)
        cell = np.asarray(read(self._cell, seen)).astype(np.int64)
        wanted = cell >= 0
        wanted[ended_lanes(engine)] = False
        lanes = np.flatnonzero(wanted)
        scores = np.zeros(len(cell)) if self._score is None else read(self._score, seen)
        counts = None if self._counter is None else self._counter.count[lanes]
        self.maybe_add_many(cell[lanes], lanes, scores[lanes], self.steps, counts)
        if self._swarm is not None:
            self._keep_milestone(self._swarm)

    def metrics(self) -> dict[str, float]:
        """Return the number of cells, of episodes begun in them, and the greatest score."""
        best = {"score_max": float(self.scores.max())} if self._used and self._score else {}
        return {"cells": float(self._used), "restarts": float(self.restarts), **best}

    def _save(self) -> dict[str, Any]:
        swarm = () if self._swarm is None else ("furthest", "milestone", "waiting")
        names = (*self.growing, "placed", "steps", "restarts", *swarm)
        rng = {"generator": self._rng.bit_generator.state}
        return {name: getattr(self, name) for name in names} | rng

    def _load(self, state: dict[str, Any]) -> None:
        if len(state["cells"]) > len(self._cells):
            raise CheckpointError(
                f"the archive has {len(state['cells'])} cells, this one has room for "
                f"{len(self._cells)}; raise max_cells"
            )
        state = dict(state)
        self._rng.bit_generator.state = state.pop("generator")
        self._used = used = len(state["cells"])
        own: tuple[Array, ...] = (self._cells, self._visits, self._scores, self._last, self._blobs)
        for name, array in zip(self.growing, own, strict=True):
            array[:used] = state.pop(name)
        kernels.index_cells(self._index, self._cells, used)
        super()._load(state)


def _find_named(
    others: Mapping[str, Tracker], options: ArchiveOptions, option: str, kind: type[TrackerT]
) -> TrackerT | None:
    """Find the tracker that an option names; None if it names none."""
    name = getattr(options, option)
    if name is None:
        return None
    other = others.get(name)
    allowed = f"the name of a tracker of the kind {'visits' if kind is VisitCounter else 'quests'}"
    require(isinstance(other, kind), f"{options.SECTION}{option}", name, allowed)
    assert isinstance(other, kind)
    return other
