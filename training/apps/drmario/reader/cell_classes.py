"""Classes of the cells that a frame of Dr. Mario shows: a tile for each cell of the picture.

Seventeen rows of eight cells, of which the first is above the bottle, where the upper half of a
standing pill may be, then the two halves of the preview. A falling half looks as one that lies, so
which pill falls is told from where it is (:func:`read_falling_pill`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastenv.drmario import picture
from fastenv.drmario import tables as t
from fastenv.drmario.tables import Tile
from fastenv.drmario.view import BottleView, game_views

ROWS = t.ROWS + 1  # with the one above the bottle
BOARD = ROWS * t.COLUMNS
CELLS = BOARD + 2  # with the preview
CLASSES = np.array([t.EMPTY, *sorted(t.TILES[:-1])], np.uint8)  # tile by class
EMPTY = 0
CLASS_OF = np.zeros(256, np.uint8)  # class by tile
CLASS_OF[CLASSES] = np.arange(len(CLASSES))
NO_PILL = (-1, -1, -1, -1, -1)

# Middle of each cell in the picture of one player, in its pixels: right, down.
MIDDLES = np.array(
    [
        *(
            (picture.LEFT + picture.CELL * (col + 0.5), picture.TOP + picture.CELL * (row + 0.5))
            for row in range(-1, t.ROWS)
            for col in range(t.COLUMNS)
        ),
        *(
            ((picture.PANEL + picture.END) // 2 + picture.CELL * side, 84 + picture.CELL / 2)
            for side in (-0.5, 0.5)
        ),
    ],
    np.float32,
)


@dataclass(frozen=True)
class Reading:
    """Bottles, falling pills and previews that were read of frames.

    Parameters
    ----------
    board : ndarray of uint8, shape (n, 128)
        Tiles of the bottle from the top left, without the falling pill.
    pill : ndarray of int8, shape (n, 5)
        Row of the lower left half from the top, -1 above the bottle, its column, 1 where the pill
        stands and 0 where it lies, and the colours of the left or upper half and of the other one,
        as the rules number them; ``NO_PILL`` where none falls. A pill that was turned twice, with
        its colours exchanged, is the same picture.
    preview : ndarray of uint8, shape (n, 2)
        Colours of the next pill.
    """

    board: np.ndarray
    pill: np.ndarray
    preview: np.ndarray


def encode_cells(view: BottleView) -> np.ndarray:
    """Return the class of every cell of a picture, uint8, shape (138,)."""
    tiles = np.full(CELLS, t.EMPTY, np.uint8)
    tiles[t.COLUMNS : BOARD] = view.cells
    for half in view.pill:
        tiles[(half.row + 1) * t.COLUMNS + half.col] = half.tile | half.color
    tiles[BOARD:] = [
        tile | c for tile, c in zip((Tile.LEFT, Tile.RIGHT), view.preview, strict=True)
    ]
    classes: np.ndarray = CLASS_OF[tiles]
    return classes


def draw_pictures(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw games of one player.

    Parameters
    ----------
    rows : ndarray, shape (n,)
        State rows.

    Returns
    -------
    ndarray of uint8, shape (n, 320, 240, 3)
        Half as large as the game draws them.
    ndarray of uint8, shape (n, 138)
        Classes of their cells.
    """
    views = [game_views(row)[0] for row in rows]
    pictures = np.stack([np.asarray(picture.image_of([view]).reduce(2)) for view in views])
    return pictures, np.stack([encode_cells(view) for view in views])


def read_cells(classes: np.ndarray) -> Reading:
    """Decode classes of cells, shape (n, 138), into bottles, falling pills and previews."""
    tiles = CLASSES[classes]
    pills = np.array([read_falling_pill(each) for each in tiles], np.int8)
    board = tiles[:, t.COLUMNS : BOARD].copy()
    for each, (row, col, stands, *_) in zip(board, pills.tolist(), strict=True):
        if col >= 0:
            other = (row - 1, col) if stands else (row, col + 1)
            for r, c in ((row, col), other):
                if r >= 0:
                    each[r * t.COLUMNS + c] = t.EMPTY
    return Reading(board, pills, tiles[:, BOARD:] & 0x0F)


def read_falling_pill(tiles: np.ndarray) -> tuple[int, ...]:
    """Return the pill that falls, as in :class:`Reading`.

    It is the one where pills appear, else the topmost whole one with nothing under it: one that
    rests on something, and may still be pushed, looks as one that has locked.

    Parameters
    ----------
    tiles : ndarray of uint8, shape (138,)
    """
    grid = tiles[:BOARD].reshape(ROWS, t.COLUMNS)
    kinds = grid & 0xF0
    lying = (kinds[:, :-1] == Tile.LEFT) & (kinds[:, 1:] == Tile.RIGHT)
    standing = (kinds[:-1] == Tile.TOP) & (kinds[1:] == Tile.BOTTOM)
    free = np.zeros((ROWS, t.COLUMNS), np.bool_)  # whether nothing is under a cell
    free[:-1] = grid[1:] == t.EMPTY
    lies = lying & free[:, :-1] & free[:, 1:]
    lies[0] = False
    lies[1, t.SPAWN_COLUMN] = lying[1, t.SPAWN_COLUMN]
    stands = standing & free[1:]
    stands[0] = standing[0]
    pills = [(int(r), int(c), 0) for r, c in np.argwhere(lies)]
    pills += [(int(r) + 1, int(c), 1) for r, c in np.argwhere(stands)]
    if not pills:
        return NO_PILL
    spawn = (1, t.SPAWN_COLUMN, 0)
    row, col, upright = spawn if spawn in pills else min(pills)
    first = grid[row - 1, col] if upright else grid[row, col]
    second = grid[row, col] if upright else grid[row, col + 1]
    return row - 1, col, upright, int(first & 0x0F), int(second & 0x0F)
