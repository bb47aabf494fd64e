"""An environment as a row, and back (docs/gameboy.md, 16)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.gameboy import position
from fastenv.gameboy.common import Common
from fastenv.gameboy.environment import Environment

# Fields of a row that are attributes under the same name.
_SAME = ("ep_return", "ep_length", "start", "distance", "ev_distance", "near", "cells", "ev_cells",
         "ev_items", "ev_dialogue", "ev_events", "waited", "visit_id", "last_action",
         "done")  # fmt: skip


def pack(env: Environment) -> bytes:
    """Return the row of an environment whose machine stands between two frames."""
    lane = np.zeros(1, env.common.dtype)
    machine = position.pack(env.machine)
    for name in machine.dtype.names or ():
        lane[name] = machine[name]
    for name in _SAME:
        lane[name] = getattr(env, name)
    lane["rng"] = env.rng.state
    lane["stack"] = np.frombuffer(b"".join(env.stack), np.uint8).reshape(len(env.stack), -1)
    lane["visits"] = np.frombuffer(env.visits, np.uint8)
    if env.recent:
        lane["recent"] = np.array(env.recent, "<u2").view(np.uint8)
    if env.values:
        lane["values"] = np.array(env.values, "<i8").view(np.uint8)
    if "memory" in (lane.dtype.names or ()):
        lane["memory"] = np.frombuffer(env.remembered.pack(), np.uint8)
    if env.hooks:
        lane["hooks"] = np.array(env.hooks, "<u4").view(np.uint8)
    if env.samples:
        lane["samples"] = np.array(env.samples, "<i2").view(np.uint8)
    return lane.tobytes()


def unpack(row: Any, common: Common) -> Environment:
    """Return the environment of a row, any object with the buffer protocol; it is copied."""
    lane = np.frombuffer(row, common.dtype)
    env = Environment(common)
    env.machine = common.machine(lane)
    record = lane[0]
    for name in _SAME:
        setattr(env, name, record[name].item())
    env.rng.state = record["rng"].tolist()
    env.stack = [plane.tobytes() for plane in record["stack"]]
    env.visits[:] = record["visits"].tobytes()
    if env.recent:
        env.recent = record["recent"].copy().view("<u2").tolist()
    if env.values:
        env.values = record["values"].copy().view("<i8").tolist()
    if "memory" in (lane.dtype.names or ()):
        env.remembered.unpack(record["memory"].tobytes())
    if env.hooks:
        env.hooks = record["hooks"].copy().view("<u4").tolist()
    if env.samples:
        env.samples = record["samples"].copy().view("<i2").tolist()
    return env
