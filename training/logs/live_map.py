"""The live map of a run: its files, what a page shows of it, and a film of how it grew.

``map/map.npz`` and ``map/history.npz`` have these arrays, of 64 bits each. A cell is a number: that
of its map times 2**32, its column times 2**16, and its row.

=======================  ===========================================================================
``steps``, ``square``    decisions until then; pixels of the side of a square
``cells``                cells that were visited, shape (cells,)
``visits``, ``first``    how often, and after how many decisions for the first time
``lanes``, ``lane_counts``  cells in which lanes are now, and how many
``pictures``             of each picture the map, its first column and row, columns and rows
``history_steps``        of the history: decisions until each snapshot
``history``              cells of the first lanes, shape (snapshots, lanes); -1 is nowhere
=======================  ===========================================================================

``map/<number>.png`` is the picture of a map.
"""

from __future__ import annotations

import base64
import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import FileError, show_reason
from fastenv.files import read_npz, read_regular, show_path
from training.logs.film import FilmError

Array = npt.NDArray[Any]
FOLDER, FILE, HISTORY = "map", "map.npz", "history.npz"
_SHAPES = {  # by array, what its axes count
    **dict.fromkeys(("steps", "square"), ()),
    **dict.fromkeys(("cells", "visits", "first"), ("cells",)),
    **dict.fromkeys(("lanes", "lane_counts"), ("lanes",)),
    "pictures": ("pictures", "five"),
}
_HISTORY_SHAPES = {"history_steps": ("snapshots",), "history": ("snapshots", "watched")}
_SQUARES = (8, 16, 32)
_MAX_FILE, _MAX_PICTURE, _MAX_PIXELS = 64 << 20, 16 << 20, 48 << 20
_MAX_SIDE = 1 << 16
_PNG = b"\x89PNG\r\n\x1a\n"
# Of a film: pixels, maps, and colours of what was never seen and of lanes.
_WIDE, _HIGH, _GAP, _MAPS = 1280, 960, 8, 12
_NOWHERE, _LANE = (24, 28, 36), (214, 40, 40)


def picture_name(number: int) -> str:
    """Return the name of the file with the picture of a map."""
    return f"{number}.png"


def split(cells: Any) -> tuple[Any, Any, Any]:
    """Return the maps, columns and rows of cells."""
    return cells >> 32, cells >> 16 & 0xFFFF, cells & 0xFFFF


def load(folder: Path) -> dict[str, Array]:
    """Load the arrays of a live map.

    Parameters
    ----------
    folder : Path
        Of a run.

    Raises
    ------
    FileError
        If there is no file, or not what belongs into it.
    """
    path = folder / FOLDER / FILE
    arrays = _read(path, _SHAPES)
    for name in ("cells", "lanes"):
        if (arrays[name] < 0).any():
            raise FileError(f"{show_path(path)}: the array {name} has a number below 0.")
    square, boxes = int(arrays["square"]), arrays["pictures"]
    if square not in _SQUARES:
        raise FileError(f"{show_path(path)}: square is {square}, must be 8, 16 or 32.")
    corners, sides = boxes[:, 1:3], boxes[:, 3:]
    ends = ((corners, -_MAX_SIDE), (sides, 1))
    if any((each < low).any() or (each > _MAX_SIDE).any() for each, low in ends):
        raise FileError(f"{show_path(path)}: the array pictures has a side that none can have.")
    if (sides.prod(axis=1) * square**2 > _MAX_PIXELS).any():
        raise FileError(f"{show_path(path)}: the array pictures has one that is too large.")
    return arrays


def load_history(folder: Path) -> dict[str, Array]:
    """Load where lanes were, of a live map; as :func:`load`."""
    return _read(folder / FOLDER / HISTORY, _HISTORY_SHAPES)


def _read(path: Path, shapes: Mapping[str, tuple[str, ...]]) -> dict[str, Array]:
    """Read arrays of 64 bits; axes of the same name must have the same size."""
    arrays = read_npz(path, _MAX_FILE, [*shapes])
    sizes = {"five": 5}
    for name, axes in shapes.items():
        shape = arrays[name].shape
        fits = len(shape) == len(axes) and arrays[name].dtype == np.int64
        if not fits or any(
            sizes.setdefault(axis, size) != size for axis, size in zip(axes, shape, strict=True)
        ):
            raise FileError(f"{show_path(path)}: the array {name} has another type or shape.")
    return arrays


def read_picture(path: Path, columns: int, rows: int, square: int) -> bytes | None:
    """Read the picture of a map, None if it is of another size: it was just written again.

    Raises
    ------
    FileError
        If there is none.
    """
    content = read_regular(path, _MAX_PICTURE)
    if len(content) < 24 or not content.startswith(_PNG):
        raise FileError(f"{show_path(path)} is no PNG.")
    fits = struct.unpack(">II", content[16:24]) == (columns * square, rows * square)
    return content if fits else None


class LiveMapReader:
    """Reads a live map, and later what has changed since.

    Parameters
    ----------
    folder : Path
        Of a run; it need not have a map.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read_at: int | None = None
        self._pictures: dict[int, int] = {}  # when those that were read were written

    def read(self) -> dict[str, Any] | None:
        """Return what a page shows; None where nothing has changed, or there is no map.

        Returns
        -------
        dict or None
            ``steps``; ``square``; ``maps``, those with most visits first: ``number``, ``visits``,
            ``cells`` (column, row, visits of each), ``lanes`` (column, row, how many), ``box`` of
            the picture, and ``picture``, if it has changed. Or ``note``, why it cannot be read.
        """
        try:
            time = (self._folder / FOLDER / FILE).stat().st_mtime_ns
        except OSError:
            return None
        if time == self._read_at:
            return None
        self._read_at = time
        try:
            return self._show(load(self._folder))
        except FileError as error:
            return {"note": str(error)}

    def _show(self, arrays: dict[str, Array]) -> dict[str, Any]:
        square = int(arrays["square"])
        boxes = {number: box for number, *box in arrays["pictures"].tolist()}
        cells = _by_map(arrays["cells"], arrays["visits"])
        lanes = _by_map(arrays["lanes"], arrays["lane_counts"])
        maps = []
        for number in {**boxes, **cells, **lanes}:
            of_cells = cells.get(number, np.zeros((0, 3), np.int64))
            shown: dict[str, Any] = {
                "number": number,
                "visits": int(of_cells[:, 2].sum()),
                "cells": of_cells.reshape(-1).tolist(),
                "lanes": lanes[number].reshape(-1).tolist() if number in lanes else [],
                "box": boxes.get(number),
            }
            if number in boxes and (picture := self._changed(number, boxes[number], square)):
                shown["picture"] = picture
            maps.append(shown)
        maps.sort(key=lambda each: (-each["visits"], each["number"]))
        return {"steps": int(arrays["steps"]), "square": square, "maps": maps}

    def _changed(self, number: int, box: list[int], square: int) -> str:
        """Return the picture of a map as an address; nothing if it was read before."""
        path = self._folder / FOLDER / picture_name(number)
        try:
            time = path.stat().st_mtime_ns
        except OSError:
            return ""
        if self._pictures.get(number) == time:
            return ""
        content = read_picture(path, box[2], box[3], square)
        if content is None:
            self._read_at = None  # its size will be known in a moment
            return ""
        self._pictures[number] = time
        return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def _by_map(cells: Array, numbers: Array) -> dict[int, Array]:
    """Return columns, rows and numbers of cells, shape (k, 3), by the map."""
    maps, columns, rows = split(cells)
    order = np.argsort(maps, kind="stable")
    parts = np.stack([columns, rows, numbers], axis=1)[order]
    found, first = np.unique(maps[order], return_index=True)
    return dict(zip(found.tolist(), np.split(parts, first[1:]), strict=True)) if found.size else {}


# -- a film ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Panel:
    """A map in a film: where it begins in the picture, and its first square."""

    number: int
    top: int
    left: int
    column: int
    row: int
    columns: int
    rows: int


def film(folder: Path) -> Iterator[np.ndarray]:
    """Yield pictures of how the live map of a run grew, uint8 of shape (H, W, 3).

    Parameters
    ----------
    folder : Path
        Of a run.

    Raises
    ------
    FilmError
        If it has no live map, or nobody was anywhere.
    """
    try:
        arrays, history = load(folder), load_history(folder)
    except FileError as error:
        raise FilmError(f"{error} A run has a map with live_map.") from error
    if not arrays["cells"].size or not history["history_steps"].size:
        raise FilmError(f"{show_path(folder)}: its live map shows nothing yet.")
    side, panels = _arrange(arrays)
    bright = _draw_background(folder, arrays, panels, side)
    picture = bright // 3
    maps, columns, rows = (each.tolist() for each in split(arrays["cells"]))
    order = np.argsort(arrays["first"], kind="stable").tolist()
    firsts, shown = arrays["first"].tolist(), 0
    for now, lanes in zip(history["history_steps"].tolist(), history["history"], strict=True):
        while shown < len(order) and firsts[order[shown]] <= now:
            k = order[shown]
            where = _find(panels, maps[k], columns[k], rows[k], side)
            shown += 1
            if where is not None:
                picture[where] = bright[where]
        frame = picture.copy()
        for cell in np.unique(lanes[lanes >= 0]).tolist():
            where = _find(panels, *split(cell), side)
            if where is not None:
                edge = max(1, side // 4)
                frame[where][edge : side - edge, edge : side - edge] = _LANE
        yield frame


def _arrange(arrays: dict[str, Array]) -> tuple[int, dict[int, _Panel]]:
    """Arrange the maps with most visits in rows; return the pixels of a square, and the maps."""
    boxes = {number: box for number, *box in arrays["pictures"].tolist()}
    cells = _by_map(arrays["cells"], arrays["visits"])
    busy = sorted(cells, key=lambda number: -int(cells[number][:, 2].sum()))[:_MAPS]
    squares = {number: _join(cells[number], boxes.get(number)) for number in busy}
    side = int(arrays["square"])
    while True:
        panels, left, top, low = {}, 0, 0, 0
        for number, (column, row, columns, rows) in squares.items():
            if left and left + columns * side > _WIDE:
                left, top = 0, low + _GAP
            panels[number] = _Panel(number, top, left, column, row, columns, rows)
            left += columns * side + _GAP
            low = max(low, top + rows * side)
        right = max(each.left + each.columns * side for each in panels.values())
        if side <= 2 or (low <= _HIGH and right <= _WIDE):
            return side, panels
        side //= 2


def _join(cells: Array, box: list[int] | None) -> tuple[int, int, int, int]:
    """Return column, row, columns and rows that hold cells and a picture."""
    low, high = cells[:, :2].min(axis=0), cells[:, :2].max(axis=0) + 1
    if box is not None:
        low = np.minimum(low, box[:2])
        high = np.maximum(high, np.add(box[:2], box[2:]))
    column, row = low.tolist()
    columns, rows = (high - low).tolist()
    return column, row, columns, rows


def _draw_background(
    folder: Path, arrays: dict[str, Array], panels: dict[int, _Panel], side: int
) -> np.ndarray:
    """Draw all maps as far as they were seen."""
    from PIL import Image

    square = int(arrays["square"])
    high = max(each.top + each.rows * side for each in panels.values())
    wide = max(each.left + each.columns * side for each in panels.values())
    if high * wide > _MAX_PIXELS:
        raise FilmError(f"{show_path(folder)}: its maps are too large for a film.")
    whole = np.full((high, wide, 3), _NOWHERE, np.uint8)
    for panel in panels.values():
        own = whole[panel.top :, panel.left :][: panel.rows * side, : panel.columns * side]
        own[:] = 200
    for number, *box in arrays["pictures"].tolist():
        if number not in panels:
            continue
        panel = panels[number]
        path = folder / FOLDER / picture_name(number)
        try:
            content = read_picture(path, box[2], box[3], square)
        except FileError as error:
            raise FilmError(str(error)) from error
        if content is None:
            continue
        try:
            with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
                whole_picture = np.asarray(image.convert("RGBA"))
        except (OSError, SyntaxError, ValueError) as error:  # what Pillow raises of a broken one
            raise FilmError(f"{show_path(path)} is no picture ({show_reason(error)}).") from error
        drawn = whole_picture[:: square // side, :: square // side]
        top = panel.top + (box[1] - panel.row) * side
        left = panel.left + (box[0] - panel.column) * side
        own = whole[top : top + drawn.shape[0], left : left + drawn.shape[1]]
        np.copyto(own, drawn[:, :, :3], where=drawn[:, :, 3:] > 0)
    return whole


def _find(
    panels: dict[int, _Panel], number: int, column: int, row: int, side: int
) -> tuple[slice, slice] | None:
    """Return where a cell is in a picture, None if it is not in it."""
    panel = panels.get(number)
    if panel is None:
        return None
    across, down = column - panel.column, row - panel.row
    if not (0 <= across < panel.columns and 0 <= down < panel.rows):
        return None
    top, left = panel.top + down * side, panel.left + across * side
    return slice(top, top + side), slice(left, left + side)
