"""Placements: where their two halves lie in the bottle, and the buttons that lead there."""

from __future__ import annotations

from typing import Any

from fastenv.drmario import reachability
from fastenv.drmario.tables import CELLS, COLUMNS, NUM_PLACEMENTS, ROWS, Mode, Next, gravity

# Where the second half is, in rows down and columns right, by orientation (docs/drmario.md, 11.3).
SECOND_HALF = ((0, 1), (1, 0), (0, -1), (-1, 0))


def cells_of_placements() -> tuple[tuple[int, int], ...]:
    """Return the cells of both halves of each placement; -1 for one outside the bottle."""
    pairs = []
    for action in range(NUM_PLACEMENTS):
        orientation, cell = divmod(action, CELLS)
        down, right = SECOND_HALF[orientation]
        row, column = cell // COLUMNS + down, cell % COLUMNS + right
        inside = 0 <= row < ROWS and 0 <= column < COLUMNS
        pairs.append((cell, row * COLUMNS + column if inside else -1))
    return tuple(pairs)


def is_falling(player: Any) -> bool:
    """Tell whether a player's pill falls, so that buttons move it."""
    return bool(player["mode"] == Mode.PLAYING and player["next_action"] == Next.FALLING)


def press_towards(row: Any, player: Any, placement: int) -> bytes:
    """Return the buttons, one a frame, that bring a new pill of a player to a placement.

    Raises
    ------
    InvalidActionError
        If it cannot be reached.
    """
    falls = gravity(int(player["speed_setting"]), int(player["speed_ups"]))
    return reachability.script(player["board"], int(row["frame"]) & 1, falls, placement)
