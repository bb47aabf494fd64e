"""The door for rows of two linked consoles from outside (docs/gameboy.md, 22.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fastenv.checks import check_generators
from fastenv.errors import StateError
from fastenv.gameboy.linked.common import TAIL, LinkCommon
from fastenv.gameboy.tables import FRAME
from fastenv.gameboy.validate import validate_lanes
from fastenv.gameboy.validate_machine import Array, Check, outside, refuse_bad

_MOST = 2**30  # more steps than an episode can have


def validate_links(rows: Array, common: LinkCommon) -> None:
    """Check rows that come from outside.

    Parameters
    ----------
    rows : ndarray of ``common.dtype``, shape (n,)
    common : LinkCommon
        What the environments share.

    Raises
    ------
    StateError
        Naming the first bad lane, the field and what is allowed.
    """
    check_generators("rng", rows["rng"])
    refuse_bad(_episode(rows))
    lanes = [common.lanes(rows, side) for side in range(len(TAIL))]
    for name, side, of_side in zip(TAIL, common.sides, lanes, strict=True):
        try:
            validate_lanes(of_side, side)
        except StateError as error:
            raise StateError(f"{name}: {error}") from None
        refuse_bad(_of_one_machine(name, of_side))
    frames = [lane["cyc"] // FRAME for lane in lanes]
    refuse_bad(
        [("cyc", frames[0] != frames[1], f"both sides must be in the same frame of {FRAME} T")]
    )


def _episode(rows: Array) -> Iterator[Check]:
    """Check what both sides share."""
    yield outside(rows, "done", 0, 2)
    yield outside(rows, "ep_length", 0, _MOST)
    yield "ep_return", ~np.isfinite(rows["ep_return"]).all(axis=1), "must be finite"
    yield "needs_action", (rows["needs_action"] != 1).any(axis=1), "must be 1"
    yield "unused_link", rows["unused_link"].any(axis=1), "must be 0"


def _of_one_machine(name: str, lanes: Array) -> Iterator[Check]:
    """Check what belongs to the episode of a console alone, which the link has for both."""
    for field in ("done", "ep_length", "ep_return"):
        yield f"{name}: {field}", lanes[field] != 0, "must be 0: both sides share it"
    dtype: Any = lanes.dtype
    of, offset = dtype.fields[dtype.names[-1]][:2]
    padding = lanes.view(np.uint8).reshape(len(lanes), -1)[:, offset + of.itemsize :]
    yield name, padding.any(axis=1), "its last bytes must be 0"
