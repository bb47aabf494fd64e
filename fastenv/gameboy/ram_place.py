"""Where a player is, as ``place`` of a RAM map names it (docs/gameboy.md, 20.5)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import ConfigError, show, with_nearest
from fastenv.gameboy.ram_fields import check_keys
from fastenv.gameboy.ram_program import read_map
from fastenv.gameboy.tables import HEIGHT, WIDTH

SCROLL = "scroll"
SQUARES = (8, 16, 32)  # pixels
COORDINATES = ("map", "x", "y")
_KNOWN = (*COORDINATES, "square", "at", "hidden_by")


@dataclass(frozen=True)
class MapPlace:
    """Where a player is.

    Parameters
    ----------
    map, x, y : str
        Columns of the info: number of the map, and column and row of a square in it.
    square : int
        Its side in pixels.
    at : (int, int), optional
        Pixel of the display, from the left and from above, where the player's square begins. None:
        the map stands still in the background, whose first pixel is that of the map.
    hidden_by : tuple of str
        Columns of the info: where one of them is not 0, the display shows something else.
    """

    map: str = "map"
    x: str = "x"
    y: str = "y"
    square: int = 16
    at: tuple[int, int] | None = None
    hidden_by: tuple[str, ...] = ()

    def window(self, x: int, y: int) -> tuple[int, int, int, int] | None:
        """Return what a display shows around a player: first column and row, columns and rows.

        None where the map stands still in the background, which the player does not tell.
        """
        if self.at is None:
            return None
        before = [at // self.square for at in self.at]
        behind = [
            (size - at) // self.square for size, at in zip((WIDTH, HEIGHT), self.at, strict=True)
        ]
        across, down = (b + e for b, e in zip(before, behind, strict=True))
        return x - before[0], y - before[1], across, down


def load_place(path: str | Path, columns: np.dtype[Any]) -> MapPlace | None:
    """Load where a RAM map says that the player is, None if it does not say.

    Parameters
    ----------
    path : str or Path
        A RAM map.
    columns : dtype
        Of the info.

    Raises
    ------
    ConfigError
        Naming the entry that is wrong.
    """
    data, where = read_map(path)
    if not isinstance(data, dict) or "place" not in data:
        return None
    given, where = data["place"], f"{where}: place"
    if not isinstance(given, dict) or not {*COORDINATES} <= {*given}:
        raise ConfigError(f"{where}={show(given)} must be an object with map, x and y.")
    check_keys(given, where, _KNOWN)
    number, x, y = (check_column(given[name], f"{where}.{name}", columns) for name in COORDINATES)
    square, hidden = given.get("square", 16), given.get("hidden_by", [])
    if type(square) is not int or square not in SQUARES:
        raise ConfigError(f"{where}.square={show(square)} must be 8, 16 or 32.")
    if not isinstance(hidden, list):
        raise ConfigError(f"{where}.hidden_by={show(hidden)} must be a list of columns.")
    hiding = tuple(check_column(name, f"{where}.hidden_by", columns) for name in hidden)
    at = _read_at(given.get("at", SCROLL), f"{where}.at")
    return MapPlace(number, x, y, square, at, hiding)


def check_column(name: Any, where: str, columns: np.dtype[Any]) -> str:
    """Return the name of a column of whole numbers, one a lane.

    Raises
    ------
    ConfigError
        If there is no such column, or it is a table or no whole number.
    """
    kinds = {key: columns[key] for key in columns.names or ()}
    known = [key for key, kind in kinds.items() if kind.shape == () and kind.kind in "biu"]
    if isinstance(name, str) and name in known:
        return name
    if isinstance(name, str) and name in kinds:
        what = "a table" if kinds[name].shape else "no whole number"
        raise ConfigError(f"{where}={show(name)} is not possible: this column is {what}.")
    message = f"{where}={show(name)} is not possible: there is no such column of the info"
    raise ConfigError(with_nearest(message, name, known))


def _read_at(given: Any, where: str) -> tuple[int, int] | None:
    if isinstance(given, str) and given == SCROLL:
        return None
    whole = isinstance(given, list) and all(type(pixel) is int for pixel in given)
    if whole and len(given) == 2 and 0 <= given[0] < WIDTH and 0 <= given[1] < HEIGHT:
        return given[0], given[1]
    raise ConfigError(
        f"{where}={show(given)} must be two pixels of the display, such as [64, 64], or "
        f"{SCROLL!r} where the map stands still in the background."
    )
