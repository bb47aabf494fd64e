"""Pictures of whole maps, put together from what displays show of them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.gameboy.render import COLORS

Shades = npt.NDArray[np.uint8]
NOTHING = len(COLORS)  # in the place of a shade: never seen
SURE = 2  # displays that show the same in a square, after which it is left as it is
MAX_BYTES = 36 << 20


@dataclass
class Canvas:
    """The picture of a map as far as it was seen.

    Parameters
    ----------
    column, row : int
        Of the first square.
    squares : ndarray of uint8, shape (rows, columns, square, square)
    seen : ndarray of uint8, shape (rows, columns)
        How many displays in a row have shown the same, at most ``SURE``.
    """

    column: int
    row: int
    squares: Shades
    seen: Shades

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Column and row of the first square, and how many there are."""
        rows, columns = self.seen.shape
        return self.column, self.row, columns, rows

    def part(self, column: int, row: int, like: Shades) -> tuple[slice, slice]:
        """Return where the squares of a display are."""
        top, left = row - self.row, column - self.column
        return slice(top, top + like.shape[0]), slice(left, left + like.shape[1])

    def paint(self, column: int, row: int, squares: Shades, player: tuple[int, int]) -> bool:
        """Take over what a display shows; return whether the picture has changed.

        What differs from the display before replaces it, until two have shown the same: a display
        may be seen just as it fades. The square where the player stands is taken over only as long
        as it was never seen without a player.
        """
        where = self.part(column, row, squares)
        mine, seen = self.squares[where], self.seen[where]
        same = (mine == squares).all(axis=(2, 3))
        open_ = seen < SURE
        changed = open_ & ~same
        counts = np.where(changed, 1, seen + open_).astype(np.uint8)
        at = player[1] - row, player[0] - column
        if 0 <= at[0] < squares.shape[0] and 0 <= at[1] < squares.shape[1]:
            changed[at] &= seen[at] == 0
            counts[at] = seen[at]
        mine[changed] = squares[changed]
        seen[:] = counts
        return bool(changed.any())

    def picture(self) -> Shades:
        """Return the whole as shades, ``NOTHING`` where nothing was seen."""
        rows, columns, side, _ = self.squares.shape
        return self.squares.swapaxes(1, 2).reshape(rows * side, columns * side)

    def png(self) -> bytes:
        """Return the whole as a file of PNG, transparent where nothing was seen."""
        from PIL import Image

        shades, content = self.picture(), io.BytesIO()
        image = Image.frombytes("P", (shades.shape[1], shades.shape[0]), shades.tobytes())
        image.putpalette([*COLORS.reshape(-1).tolist(), 0, 0, 0])
        image.save(content, "PNG", transparency=NOTHING, compress_level=1)
        return content.getvalue()


class Stitching:
    """The pictures of all maps.

    Parameters
    ----------
    square : int
        Side of a square in pixels.

    Attributes
    ----------
    canvases : dict of int to Canvas
        By the number of the map.
    changed : dict of int to None
        Maps whose picture has changed since somebody took them out, the first of them first.
    is_full : bool
        Whether something found no room.
    """

    def __init__(self, square: int) -> None:
        self._square = square
        self.canvases: dict[int, Canvas] = {}
        self.changed: dict[int, None] = {}
        self.is_full = False

    @property
    def nbytes(self) -> int:
        """Bytes of all pictures."""
        return sum(each.squares.nbytes + each.seen.nbytes for each in self.canvases.values())

    def is_sure(self, number: int, window: tuple[int, int, int, int] | None) -> bool:
        """Tell whether a display can add nothing to the picture of a map.

        Parameters
        ----------
        number : int
        window : (int, int, int, int) or None
            First column and row, columns and rows that it shows; None: of those that it ever did.
        """
        canvas = self.canvases.get(number)
        if canvas is None:
            return False
        seen = canvas.seen
        if window is not None:
            column, row, columns, rows = window
            left, top = column - canvas.column, row - canvas.row
            seen = seen[max(0, top) : top + rows, max(0, left) : left + columns]
            if left < 0 or top < 0 or seen.shape != (rows, columns):
                return False
        return bool((seen >= SURE).all())

    def add(
        self, number: int, column: int, row: int, squares: Shades, player: tuple[int, int]
    ) -> None:
        """Take over what a display shows of a map; see :meth:`Canvas.paint`."""
        canvas = self._with_room(number, column, row, squares)
        if canvas is None:
            self.is_full = True
        elif canvas.paint(column, row, squares, player):
            self.changed[number] = None

    def _with_room(self, number: int, column: int, row: int, squares: Shades) -> Canvas | None:
        """Return the picture of a map, made large enough for some squares; None without room."""
        height, width = squares.shape[:2]
        ends = column + width, row + height
        old = self.canvases.get(number)
        if old is not None:
            left, top, columns, rows = old.box
            ends = max(ends[0], left + columns), max(ends[1], top + rows)
            column, row = min(column, left), min(row, top)
            if (column, row, ends[0] - column, ends[1] - row) == old.box:
                return old
        shape = ends[1] - row, ends[0] - column
        before = 0 if old is None else old.squares.nbytes + old.seen.nbytes
        if self.nbytes - before + shape[0] * shape[1] * (self._square**2 + 1) > MAX_BYTES:
            return None
        blank = np.full((*shape, self._square, self._square), NOTHING, np.uint8)
        made = Canvas(column, row, blank, np.zeros(shape, np.uint8))
        if old is not None:
            where = made.part(old.column, old.row, old.squares)
            made.squares[where], made.seen[where] = old.squares, old.seen
        self.canvases[number] = made
        return made

    def arrays(self) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Yield all that there is, by names."""
        for number, each in self.canvases.items():
            yield f"corner {number}", np.array([each.column, each.row])
            yield f"squares {number}", each.squares
            yield f"seen {number}", each.seen

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Put back what :meth:`arrays` yielded; all pictures count as changed."""
        numbers = [int(name.split()[1]) for name in arrays if name.startswith("corner ")]
        for number in numbers:
            column, row = arrays[f"corner {number}"].tolist()
            parts = arrays[f"squares {number}"], arrays[f"seen {number}"]
            self.canvases[number] = Canvas(column, row, *parts)
        self.changed = dict.fromkeys(numbers)
