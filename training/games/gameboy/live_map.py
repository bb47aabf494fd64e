"""A live map of a run: where the lanes are and have been (docs/howto/train_pokemon.md, 7).

It watches alone: nothing that is learnt depends on it. Its files are in ``map/`` of the run, see
:mod:`training.logs.live_map`.
"""

from __future__ import annotations

import base64
import io
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError
from fastenv.gameboy.background import squares_around
from fastenv.gameboy.ram_place import MapPlace
from training.games.gameboy.stitching import Stitching
from training.logs import live_map
from training.run.callback import Callback, EngineStep, Progress
from training.run.checkpoint import State
from training.run.config import LiveMapConfig
from training.run.engine import Engine
from training.run.options import require

Array = npt.NDArray[Any]
NOWHERE = -1
MAX_CELLS = 1 << 19
LOOKS = 2  # displays that are taken over in a cell
LOOK_EVERY = 8  # steps
TRIED = 8  # lanes whose surroundings may be known already
WRITTEN = 2  # pictures that are written at once
LEAST_SHARE = 200  # of the time, of which writing takes one part at most
SNAPSHOTS, WATCHED = 256, 256  # of the history, and lanes in each
HISTORY_EVERY = 20.0  # seconds from one writing of it to the next
_LAST = np.iinfo(np.int64).max


class Cells:
    """How often each cell was visited.

    Attributes
    ----------
    keys : ndarray of int64, shape (cells + 1,)
        What stands for each cell, in their order; the last stands for none.
    visits, first : ndarray of int64, shape (cells + 1,)
        How often it was visited, and after how many decisions for the first time.
    looks : ndarray of uint8, shape (cells + 1,)
        How many displays were taken over there.
    is_full : bool
        Whether a cell found no room.
    """

    kept = ("keys", "visits", "first", "looks")

    def __init__(self) -> None:
        self.keys = np.array([_LAST])
        self.visits, self.first = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self.looks = np.zeros(1, np.uint8)
        self.is_full = False

    def __len__(self) -> int:
        """Return how many cells there are."""
        return len(self.keys) - 1

    def find(self, keys: Array) -> Array:
        """Return where these cells stand, ``len`` for those that were never visited."""
        places = np.searchsorted(self.keys, keys)
        places[self.keys[places] != keys] = len(self)
        return places

    def visit(self, keys: Array, now: Array) -> None:
        """Count visits of cells, in the order in which they were made.

        Parameters
        ----------
        keys : ndarray of int64, shape (k,)
        now : ndarray of int64, shape (k,)
            Decisions until each visit.
        """
        where = keys != NOWHERE
        keys, now = keys[where], now[where]
        places = self.find(keys)
        unknown = places == len(self)
        if unknown.any():
            new, first = np.unique(keys[unknown], return_index=True)
            room = MAX_CELLS - len(self)
            if new.size > room:  # those that came first
                self.is_full = True
                kept = np.sort(np.argsort(first)[:room])
                new, first = new[kept], first[kept]
            at = np.searchsorted(self.keys, new)
            self.keys = np.insert(self.keys, at, new)
            self.visits = np.insert(self.visits, at, 0)
            self.first = np.insert(self.first, at, now[unknown][first])
            self.looks = np.insert(self.looks, at, 0)
            places = self.find(keys)
        np.add.at(self.visits, places[places < len(self)], 1)


class LaneHistory:
    """Where lanes were, every so many steps: twice as many whenever there are too many."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.lanes: list[Array] = []
        self.every, self.passed = 1, 0

    def add(self, now: int, keys: Array) -> None:
        """Note the cells of the first lanes, if it is time to."""
        self.passed += 1
        if self.passed % self.every:
            return
        self.steps.append(now)
        self.lanes.append(keys[:WATCHED].copy())  # a view would hold those of all lanes
        if len(self.steps) > SNAPSHOTS:
            self.steps, self.lanes = self.steps[1::2], self.lanes[1::2]
            self.every *= 2

    def arrays(self) -> dict[str, Array]:
        """Return the decisions until each snapshot, and the cells of its lanes."""
        lanes = np.array(self.lanes, np.int64) if self.lanes else np.zeros((0, 0), np.int64)
        return {"history_steps": np.array(self.steps, np.int64), "history": lanes}


class Followed:
    """The lanes of an engine.

    Attributes
    ----------
    steps : int
        How many it has made.
    keys : ndarray of int64, shape (n,)
        Their cells.
    shown : ndarray of bool, shape (n,)
        Whether their displays showed the map a step ago, if somebody looks around in the next one.
    """

    def __init__(self, lanes: int) -> None:
        self.steps = 0
        self.keys = np.full(lanes, NOWHERE, np.int64)
        self.shown = np.zeros(lanes, np.bool_)


class LiveMap(Callback):
    """Writes a map of a run while it trains.

    A visit is the end of a decision. Of a cell that is new, the display is taken over into the
    picture of its map, where the lane has been on that map for a decision at least.

    Parameters
    ----------
    engines : sequence of Engine
        Those that are trained on.
    options : LiveMapConfig
    folder : Path or None
        Where to write; None writes nothing.

    Raises
    ------
    ConfigError
        If it is not known where a player is, or a column is missing.
    """

    def __init__(
        self, engines: Sequence[Engine], options: LiveMapConfig, folder: Path | None
    ) -> None:
        self._place = find_place(engines[0], options)
        self._names = (self._place.map, self._place.x, self._place.y)
        self._every, self._folder = float(options.every), folder
        self._followed = {id(each): Followed(each.num_envs) for each in engines}
        self._first = self._followed[id(engines[0])]
        self._noted: list[tuple[int, Array]] = []  # visits that are not counted yet
        self._cells, self._history = Cells(), LaneHistory()
        self._stitching = Stitching(self._place.square)
        self._boxes: dict[int, tuple[int, int, int, int]] = {}  # of pictures that are written
        self._now, self._due, self._history_due = 0, 0.0, 0.0
        self._started = self._said = False

    def start(self, loop: Progress) -> None:
        """Begin the files anew: those of a run that goes on may be ahead of it."""
        self._now, self._started = loop.now, True
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            self._write(whole=True)

    def step(self, loop: Progress, step: EngineStep) -> None:
        """Note where the lanes are, and from time to time look around where nobody was."""
        engine, lanes = step.engine, self._followed[id(step.engine)]
        if step.actions is None:
            lanes.shown[:] = False
            return
        self._now = loop.now
        lanes.steps += 1
        keys, ended = self._read(engine.info), engine.terminated | engine.truncated
        visited = keys
        if ended.any():
            visited = np.where(ended != 0, self._read(engine.final_info), keys)
        self._noted.append((self._now, visited))
        turn = lanes.steps % LOOK_EVERY
        if turn in (0, LOOK_EVERY - 1):
            shown = (ended == 0) & (keys != NOWHERE)
            for name in self._place.hidden_by:
                shown &= engine.info[name] == 0
            if turn == 0:
                self._count()
                self._say_if_full(loop)
                stays = shown & lanes.shown & (lanes.keys >> 32 == keys >> 32)
                self._look_around(engine, keys, stays)
            lanes.shown = shown
        lanes.keys = keys
        if lanes is self._first:
            self._history.add(self._now, keys)
        if self._folder is not None and time.monotonic() >= self._due:
            self._write()

    def _read(self, columns: Mapping[str, Array]) -> Array:
        """Return what stands for the cells of all lanes, ``NOWHERE`` outside of 0 to 65,535."""
        number, x, y = (columns[name] for name in self._names)
        keys: Array = number.astype(np.int64)
        for column in (x, y):
            keys <<= 16
            keys |= column.astype(np.int64)
        if any(column.dtype.itemsize > 2 or column.dtype.kind == "i" for column in (number, x, y)):
            together = number.astype(np.int64) | x.astype(np.int64) | y.astype(np.int64)
            keys[together >> 16 != 0] = NOWHERE
        return keys

    def _count(self) -> None:
        """Count what was noted. It comes to the same whenever it is done."""
        if self._noted:
            times, keys = zip(*self._noted, strict=True)
            self._noted = []
            each = np.repeat(np.array(times, np.int64), [len(of) for of in keys])
            self._cells.visit(np.concatenate(keys), each)

    def _look_around(self, engine: Engine, keys: Array, stays: Array) -> None:
        """Take over the display of one of these lanes, if anybody is where few looks were taken."""
        cells = self._cells
        places = cells.find(keys)
        wanted = np.flatnonzero(stays & (cells.looks[places] < LOOKS) & (places < len(cells)))
        if not wanted.size:
            return
        # In turns, so that a display that shows nothing now does not keep others waiting.
        turn = self._followed[id(engine)].steps // LOOK_EVERY % wanted.size
        for lane in np.roll(wanted, -turn)[:TRIED].tolist():
            number, x, y = (int(each) for each in live_map.split(keys[lane]))
            if self._stitching.is_sure(number, self._place.window(x, y)):
                cells.looks[places[lane]] = LOOKS
                continue
            found = squares_around(engine.get_states([lane])[0], self._place, x, y)
            if found is not None:
                cells.looks[places[lane]] += 1
                self._stitching.add(number, *found, (x, y))
            return

    def _say_if_full(self, loop: Progress) -> None:
        full = self._cells.is_full, self._stitching.is_full
        if self._said or not any(full):
            return
        self._said = True
        pictures = f"{self._stitching.nbytes:,} bytes of pictures"
        what = f"{MAX_CELLS:,} cells" if full[0] else pictures
        loop.log.warn(f"the live map is full ({what}): what is new is left out", step=loop.now)

    # -- files -----------------------------------------------------------------------------------

    def _write(self, whole: bool = False) -> None:
        """Write what has changed: some of the pictures, and where the lanes are and were."""
        assert self._folder is not None
        begun, pictures = time.thread_time(), self._stitching
        for number in list(pictures.changed)[: None if whole else WRITTEN]:
            del pictures.changed[number]
            canvas = pictures.canvases[number]
            _replace(self._folder / live_map.picture_name(number), canvas.png())
            self._boxes[number] = canvas.box
        now = time.monotonic()
        if whole or now >= self._history_due:
            self._history_due = now + HISTORY_EVERY
            _replace(self._folder / live_map.HISTORY, _pack(self._history.arrays()))
        _replace(self._folder / live_map.FILE, _pack(self._arrays()))
        took = time.thread_time() - begun
        self._due = now + max(self._every, LEAST_SHARE * took)

    def _arrays(self) -> dict[str, Any]:
        """Return the arrays of the file; see :mod:`training.logs.live_map`."""
        self._count()
        keys = np.concatenate([each.keys for each in self._followed.values()])
        here, count = np.unique(keys[keys != NOWHERE], return_counts=True)
        boxes = [(number, *box) for number, box in self._boxes.items()]
        cells = self._cells
        return {
            "steps": np.int64(self._now),
            "square": np.int64(self._place.square),
            "cells": cells.keys[:-1],
            "visits": cells.visits[:-1],
            "first": cells.first[:-1],
            "lanes": here,
            "lane_counts": count,
            "pictures": np.array(boxes, np.int64).reshape(-1, 5),
        }

    def close(self) -> None:
        """Write all there is."""
        if self._started and self._folder is not None:
            self._write(whole=True)

    def summary(self) -> dict[str, Any]:
        """Return how many cells were visited, and how often."""
        self._count()
        cells = self._cells
        return {"live_map": {"cells": len(cells), "visits": int(cells.visits.sum())}}

    # -- checkpoints -----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return all of it as a text: a compressed ``.npz``."""
        self._count()
        arrays = {name: getattr(self._cells, name) for name in Cells.kept}
        history = self._history
        arrays |= {**history.arrays(), "rhythm": np.array([history.every, history.passed])}
        for k, each in enumerate(self._followed.values()):
            arrays |= {f"at {k}": each.keys, f"shown {k}": each.shown}
            arrays[f"steps {k}"] = np.array(each.steps)
        content = io.BytesIO()
        np.savez_compressed(content, **arrays, **dict(self._stitching.arrays()))  # type: ignore[arg-type]
        return {"live_map": base64.b64encode(content.getvalue()).decode()}

    def restore(self, saved: State) -> None:
        """Restore from a checkpoint; one without a map begins a new one."""
        text = saved.values.get("live_map")
        if text is None:
            return
        with np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False) as arrays:
            found = dict(arrays)
        for name in Cells.kept:
            setattr(self._cells, name, found[name])
        history = self._history
        history.steps = found["history_steps"].tolist()
        history.lanes = list(found["history"])
        history.every, history.passed = found["rhythm"].tolist()
        for k, each in enumerate(self._followed.values()):
            each.keys, each.shown = found[f"at {k}"], found[f"shown {k}"]
            each.steps = int(found[f"steps {k}"])
        self._stitching.restore(found)


def find_place(engine: Engine, options: LiveMapConfig) -> MapPlace:
    """Find out where an environment says that a player is.

    Raises
    ------
    ConfigError
        If it does not say, or its columns are left out; or without what writes pictures.
    """
    given = options.to_dict()
    place = getattr(getattr(engine.game, "common", None), "place", None)
    why = "null: no RAM map of this environment says where a player is (docs/gameboy.md, 20.5)"
    require(isinstance(place, MapPlace), "live_map", given, why)
    assert isinstance(place, MapPlace)
    for name in (place.map, place.x, place.y, *place.hidden_by):
        why = f"null: the info of this environment has no column {name!r}, which place names"
        require(name in engine.info, "live_map", given, why)
    if find_spec("PIL") is None:
        raise ConfigError("live_map: its pictures need Pillow: pip install Pillow.")
    return place


def _pack(arrays: Mapping[str, Any]) -> bytes:
    """Return arrays as a file of NumPy."""
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def _replace(path: Path, content: bytes) -> None:
    """Replace a file in one step; what is written again in a second need not be durable."""
    unfinished = path.with_name(f".tmp-{os.getpid()}-{path.name}")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)
