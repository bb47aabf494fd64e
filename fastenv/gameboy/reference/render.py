"""A line of the picture from registers, VRAM and OAM (docs/gameboy.md, 8.3)."""

from __future__ import annotations

from typing import Protocol

from fastenv.gameboy.tables import OBJECTS_A_LINE, WIDTH

BEHIND, FLIP_Y, FLIP_X, SECOND_PALETTE = 0x80, 0x40, 0x20, 0x10  # attributes of an object


class Display(Protocol):
    """What a line of the picture is drawn from: registers of the display and its memory."""

    vram: bytearray
    oam: bytearray
    oam_taken: bool
    lcdc: int
    scy: int
    scx: int
    ly: int
    bgp: int
    obp0: int
    obp1: int
    wx: int
    window_line: int


def line_objects(ppu: Display, tall: bool) -> list[int]:
    """Return where in OAM the objects of line LY are: the first ten, wherever across they are."""
    if ppu.oam_taken:
        return []
    height = 16 if tall else 8
    found = [i for i in range(0, 160, 4) if 0 <= ppu.ly + 16 - ppu.oam[i] < height]
    return found[:OBJECTS_A_LINE]


def render_line(ppu: Display, window: bool) -> bytes:
    """Return the 160 shades of line LY; ``window`` says whether the window is on it."""
    indices = _background(ppu, window)
    shades = [ppu.bgp >> 2 * index & 3 for index in indices]
    if ppu.lcdc & 0x02:
        objects = sorted(line_objects(ppu, bool(ppu.lcdc & 0x04)), key=lambda i: ppu.oam[i + 1])
        for x in range(WIDTH):
            shade = object_shade(ppu, objects, x, indices[x])
            if shade is not None:
                shades[x] = shade
    return bytes(shades)


def _background(ppu: Display, window: bool) -> list[int]:
    """Return the colour indices of background and window, all 0 while both are off."""
    if not ppu.lcdc & 0x01:
        return [0] * WIDTH
    indices = []
    for x in range(WIDTH):
        if window and x >= ppu.wx - 7:
            tiles = 0x1C00 if ppu.lcdc & 0x40 else 0x1800
            indices.append(_map_pixel(ppu, tiles, x - ppu.wx + 7, ppu.window_line))
        else:
            tiles = 0x1C00 if ppu.lcdc & 0x08 else 0x1800
            indices.append(_map_pixel(ppu, tiles, (x + ppu.scx) & 0xFF, (ppu.ly + ppu.scy) & 0xFF))
    return indices


def _map_pixel(ppu: Display, tiles: int, x: int, y: int) -> int:
    """Return the colour index at a place of a map of 32 by 32 tiles."""
    tile = ppu.vram[tiles + y // 8 * 32 + x // 8]
    if not ppu.lcdc & 0x10 and tile < 0x80:
        tile += 0x100  # numbers are signed, around $9000
    return _tile_pixel(ppu, tile, x % 8, y % 8)


def _tile_pixel(ppu: Display, tile: int, x: int, y: int) -> int:
    """Return a colour index: two bits, one from each of the two bytes of a row of a tile."""
    low, high = ppu.vram[tile * 16 + y * 2], ppu.vram[tile * 16 + y * 2 + 1]
    return low >> 7 - x & 1 | (high >> 7 - x & 1) << 1


def object_shade(ppu: Display, objects: list[int], x: int, behind: int) -> int | None:
    """Return the shade of the first opaque object at ``x``, if the background does not hide it.

    Objects further left come first, then those earlier in OAM. One that is hidden by the background
    still hides the objects that come after it.
    """
    tall = 16 if ppu.lcdc & 0x04 else 8
    for i in objects:
        top, left, tile, flags = ppu.oam[i : i + 4]
        column, row = x + 8 - left, ppu.ly + 16 - top
        if not 0 <= column < 8:
            continue
        if flags & FLIP_X:
            column = 7 - column
        if flags & FLIP_Y:
            row = tall - 1 - row
        if tall == 16:
            tile &= 0xFE
        index = _tile_pixel(ppu, tile + row // 8, column, row % 8)
        if index:
            palette = ppu.obp1 if flags & SECOND_PALETTE else ppu.obp0
            return None if flags & BEHIND and behind else palette >> 2 * index & 3
    return None
