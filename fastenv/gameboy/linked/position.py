"""Two linked consoles as a row, and back (docs/gameboy.md, 22.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.gameboy import lane_position
from fastenv.gameboy.linked.common import TAIL, LinkCommon
from fastenv.gameboy.linked.environment import LinkEnvironment

_SAME = ("ep_return", "ep_length", "done", "needs_action", "bot_rng")


def pack(env: LinkEnvironment) -> bytes:
    """Return the row of two consoles that stand between two frames."""
    row = np.zeros(1, env.common.dtype)
    for name in _SAME:
        row[name] = getattr(env, name)
    row["rng"] = env.rng.state
    for name, side in zip(TAIL, env.sides, strict=True):
        row[name] = np.frombuffer(lane_position.pack(side), np.uint8)
    return row.tobytes()


def unpack(row: Any, common: LinkCommon) -> LinkEnvironment:
    """Return the environment of a row, any object with the buffer protocol; it is copied."""
    record = np.frombuffer(row, common.dtype)[0]
    env = LinkEnvironment(common)
    for name in _SAME:
        setattr(env, name, record[name].tolist())
    env.rng.state = record["rng"].tolist()
    env.sides = [
        lane_position.unpack(record[name].tobytes(), side)
        for name, side in zip(TAIL, common.sides, strict=True)
    ]
    return env
