"""Where the two halves of a placement lie in the bottle."""

from __future__ import annotations

from fastenv.drmario.tables import CELLS, COLUMNS, NUM_PLACEMENTS, ROWS

# Where the second half is, in rows down and columns right, by orientation (docs/drmario.md, 11.3).
SECOND_HALF = ((0, 1), (1, 0), (0, -1), (-1, 0))


def cells_of_placements() -> tuple[tuple[int, int], ...]:
    """Return the cells of both halves of each placement; -1 for one outside the bottle."""
    found = []
    for action in range(NUM_PLACEMENTS):
        orientation, cell = divmod(action, CELLS)
        down, right = SECOND_HALF[orientation]
        row, column = cell // COLUMNS + down, cell % COLUMNS + right
        inside = 0 <= row < ROWS and 0 <= column < COLUMNS
        found.append((cell, row * COLUMNS + column if inside else -1))
    return tuple(found)
