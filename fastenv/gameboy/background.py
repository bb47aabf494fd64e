"""The background of a display, and which squares of a map it shows.

Objects and the window lie above it: of people and texts it knows nothing, so that pictures of many
moments fit together (docs/gameboy.md, 20.5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.gameboy.ram_place import MapPlace
from fastenv.gameboy.tables import HEIGHT, IO, WIDTH

Shades = npt.NDArray[np.uint8]
SIDE = 256  # pixels of the background
_ON, _SECOND_MAP, _LOW_TILES, _SHOWN = 0x80, 0x08, 0x10, 0x01  # bits of LCDC
_TILE, _MAPS = 16, 0x1800  # bytes of a tile, and of all tiles, behind which the maps are


def background(row: Any) -> Shades | None:
    """Return the background of a machine between two frames, None while it is off.

    Parameters
    ----------
    row : np.void
        Of a machine or a lane.

    Returns
    -------
    ndarray of uint8, shape (256, 256), or None
        Shades from 0 (white) to 3, by the registers as they are between the frames.
    """
    registers, vram = row["high"], row["vram"]
    control = int(registers[IO.LCDC])
    if not control & _ON or not control & _SHOWN:
        return None
    begin = _MAPS + (0x400 if control & _SECOND_MAP else 0)
    numbers = vram[begin : begin + 0x400].astype(np.int64)
    if not control & _LOW_TILES:  # -128 to 127, from the 256th tile on
        numbers = 256 + ((numbers + 128) % 256 - 128)
    bits = np.unpackbits(vram[:_MAPS].reshape(-1, 8, 2), axis=2).reshape(-1, 8, 2, 8)
    shades = int(registers[IO.BGP]) >> np.array([0, 2, 4, 6]) & 3
    tiles = shades.astype(np.uint8)[bits[:, :, 0] | bits[:, :, 1] << 1]
    whole: Shades = tiles[numbers].reshape(32, 32, 8, 8).swapaxes(1, 2).reshape(SIDE, SIDE)
    return whole


def squares_around(row: Any, place: MapPlace, x: int, y: int) -> tuple[int, int, Shades] | None:
    """Return the squares of a map that the background of a display shows.

    Parameters
    ----------
    row : np.void
        Of a machine or a lane.
    place : MapPlace
    x, y : int
        Where the player is.

    Returns
    -------
    (int, int, ndarray of uint8, shape (rows, columns, square, square)), or None
        Column and row of the first square, and the shades of all that are seen as a whole. None
        while the display is off, or scrolls from one square to the next.
    """
    shades, side = background(row), place.square
    if shades is None:
        return None
    across = SIDE // side
    picture = shades.reshape(across, side, across, side).swapaxes(1, 2)
    corner: list[int] = []
    seen: list[npt.NDArray[np.int64]] = []
    players = (None, None) if place.at is None else place.at
    both = zip((IO.SCX, IO.SCY), (WIDTH, HEIGHT), players, (x, y), strict=True)
    for register, size, at, own in both:
        scroll = int(row["high"][register])
        first = -(-scroll // side)  # the first square that is seen as a whole
        seen.append(np.arange(first, (scroll + size) // side) % across)
        if at is not None and (scroll + at) % side:
            return None
        corner.append(first if at is None else own + first - (scroll + at) // side)
    return corner[0], corner[1], picture[np.ix_(seen[1], seen[0])]
