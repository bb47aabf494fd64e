"""Costs of placements for kernels without a compiled core: planned in plain Python.

The planner has a readable form and a compiled one, and no third in Numba: where there is no core,
the derived record of a row is written by the same Python that the reference plans with, and what
the reference has just planned is kept (``costs_of``).
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from fastenv.drmario import tables as t
from fastenv.drmario.planning import costs_of, occupied
from fastenv.drmario.reachability import SPAWN
from fastenv.drmario.state import COSTS_DTYPE


class PythonFunction:
    """A function of three pointers that kernels are given by its address.

    Attributes
    ----------
    address : int
        Valid as long as this object lives.
    """

    def __init__(self, function: Any) -> None:
        pointers = [ctypes.c_void_p] * 3
        self._function = ctypes.PYFUNCTYPE(None, *pointers)(function)
        self.address: int = int(ctypes.cast(self._function, ctypes.c_void_p).value or 0)


def derive_function(game: Any) -> PythonFunction:
    """Build the function that computes the derived record of a row."""
    row_dtype, derived_dtype = game.spec.state_dtype, game.spec.derived_dtype
    extended = game.config.extended_inputs

    def derive(row: int, derived: int, shared: int) -> None:
        memory = (ctypes.c_uint8 * row_dtype.itemsize).from_address(row)
        state = np.frombuffer(memory, row_dtype)[0]
        written = (ctypes.c_uint8 * derived_dtype.itemsize).from_address(derived)
        records = np.frombuffer(written, derived_dtype)[0]["players"]
        for player, record in zip(state["players"], records, strict=True):
            write_costs(player, int(state["frame"]), extended, record)

    return PythonFunction(derive)


def write_costs(player: np.void, frame: int, extended: bool, record: np.void) -> None:
    """Write the costs of the decision of a player, if one is due.

    Parameters
    ----------
    player : record
        Of ``PLAYER_DTYPE``.
    frame : int
    extended : bool
    record : record
        Of ``COSTS_DTYPE``, written.
    """
    assert record.dtype == COSTS_DTYPE
    there = player["mode"] == t.Mode.PLAYING and player["next_action"] == t.Next.FALLING
    record["known"] = there and player["decided"] != player["reserve_index"]
    if not record["known"]:
        return
    gravity = t.gravity(int(player["speed_setting"]), int(player["speed_ups"]))
    board = player["board"].tolist()
    cells = np.reshape([tile < t.FREE for tile in board], (t.ROWS, t.COLUMNS))
    record["occupied"] = np.packbits(cells, axis=1, bitorder="little")[:, 0]
    record["parity"], record["gravity"] = frame & 1, gravity
    costs = costs_of(occupied(board), frame & 1, gravity, extended, SPAWN)
    record["costs"] = costs
    record["feasible"] = sum(cost != t.INFEASIBLE for cost in costs)
