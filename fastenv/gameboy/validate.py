"""The door for rows from outside: what the compiled code and the reference rely on.

A row is a machine between two frames, which ``validate_machine.py`` checks, in an environment with
what belongs to its episode (docs/gameboy.md, 16).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fastenv.checks import check_generators
from fastenv.gameboy.common import Common
from fastenv.gameboy.ram_memory import wrong_memory
from fastenv.gameboy.validate_machine import (
    Array,
    Check,
    outside,
    refuse_bad,
    validate_machines,
)

_MOST = 2**30  # more steps than an episode can have


def validate_lanes(rows: Array, common: Common) -> None:
    """Check rows of environments that come from outside.

    Parameters
    ----------
    rows : ndarray of ``common.dtype``, shape (n,)
    common : Common
        What the environments share.

    Raises
    ------
    StateError
        Naming the first bad lane, the field and what is allowed.
    """
    validate_machines(rows, common.cartridge)
    check_generators("rng", rows["rng"])
    refuse_bad(_episode(rows, common))


def _episode(rows: Array, common: Common) -> Iterator[Check]:
    """Check what belongs to an episode; frames and visited cells may be anything."""
    yield outside(rows, "done", 0, 2)
    yield "ep_return", ~np.isfinite(rows["ep_return"]), "must be finite"
    for field in ("ep_length", "cells"):
        yield outside(rows, field, 0, _MOST)
    yield outside(rows, "start", 0, len(common.starts.rows) - 1)
    yield outside(rows, "last_action", 0, len(common.config.chords) - 1)
    yield outside(rows, "visit_id", 1 if common.slots else 0, 2**16 - 1 if common.slots else 0)
    waits = common.config.wait_until is not None
    yield outside(rows, "waited", 0, common.config.wait_steps if waits else 0)
    if "recent" in (rows.dtype.names or ()):
        most = len(common.config.chords)
        recent = np.ascontiguousarray(rows["recent"]).view("<u2")
        wrong = (recent > most).reshape(len(rows), -1).any(axis=1)
        yield "recent", wrong, f"must be from 0 to {most}"
    yield from _goal(rows, common)
    yield from _world(rows, common)
    if common.program is not None and common.program.sets:
        yield from wrong_memory(rows, common.program.cells, common.program.sets)
    yield "unused_episode", rows["unused_episode"].any(axis=1), "must be 0"


def _goal(rows: Array, common: Common) -> Iterator[Check]:
    """Check the distances; that of now follows from the frames."""
    size = len(common.goal_planes)
    goal = np.frombuffer(common.goal_planes, np.uint8)
    shown = rows["stack"].reshape(len(rows), -1)[:, -size or None :]
    now = sum(
        np.abs((shown >> k & 3).astype(np.int32) - (goal >> k & 3)).sum(axis=1)
        for k in (0, 2, 4, 6)
        if size
    )
    yield "distance", rows["distance"] != now, "must be that of the frames to the goal"
    yield outside(rows, "ev_distance", 0, 3 * 4 * size)
    yield outside(rows, "near", 0, _MOST if size else 0)


def _world(rows: Array, common: Common) -> Iterator[Check]:
    """Check what the last step brought."""
    world = common.ram_map is not None
    events = common.ram_map.num_events if common.ram_map is not None else 0
    most = {"ev_cells": 1, "ev_items": 255, "ev_dialogue": 1, "ev_events": events}
    for field, number in most.items():
        yield outside(rows, field, 0, number if world else 0)
    if not world:
        yield "cells", rows["cells"] != 0, "must be 0"
