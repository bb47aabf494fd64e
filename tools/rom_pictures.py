"""Draw the pictures of docs/lantern_walk.md from the ROM: its maps, and some screens of the quest.

``python -m tools.rom_pictures`` needs Pillow (``pip install ".[dev]"``) and writes
``docs/lantern_walk.png`` and ``docs/lantern_walk_maps.png``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fastenv.gameboy.cartridge import load_cartridge
from fastenv.gameboy.console import Console
from fastenv.gameboy.lantern_walk import Solver, load_world
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.tables import WRAM, Key
from tools.roms import GAME, ROMS, SIZE
from tools.sm83 import Program, assemble

DOCS = Path(__file__).parents[1] / "docs"
GREYS = np.array([255, 170, 85, 0], np.uint8)
MARGIN = 4
# When the solver's next screen is worth showing: items, quest bits and map.
MOMENTS = ((0, 0, 0), (3, 0, 0), (4, 0, 1), (4, 1, 0), (4, 1, 2), (4, 7, 0))
SETTLE = 100  # frames after which a page of text is complete
Picture = np.ndarray[Any, np.dtype[np.uint8]]


def tile(program: Program, start: int) -> Picture:
    """Return a tile of the ROM: (8, 8), shades 0 to 3."""
    rows = np.frombuffer(program.rom, np.uint8, 16, start).reshape(8, 2)
    bits = np.unpackbits(rows.reshape(8, 2, 1), axis=2)
    return np.asarray(bits[:, 0] + 2 * bits[:, 1], np.uint8)


def draw_map(program: Program, rows: list[str]) -> Picture:
    """Return a map: (256, 256), shades."""
    symbols = program.symbols
    kinds = {}
    for start in range(symbols["kinds"], symbols["kinds_end"], symbols["KIND_SIZE"]):
        four = [
            tile(program, symbols["world_tiles"] + 16 * (number - 0x80))
            for number in program.rom[start + 4 : start + 8]
        ]
        kinds[chr(program.rom[start])] = np.block([four[:2], four[2:]])
    return np.block([[kinds[sign] for sign in row] for row in rows])


def screens() -> list[Picture]:
    """Return the title, screens on the way through the quest, and the end: (144, 160), shades."""
    world, solver = load_world(), Solver()
    cartridge = load_cartridge(ROMS / f"{GAME}.gb")
    console = Console(cartridge, power_up_row(cartridge))

    def read(address: int) -> int:
        return int(console.row["wram"][0, address - WRAM])

    def now(*names: str) -> tuple[int, ...]:
        return tuple(read(world.memory[name]) for name in names)

    def settled() -> Picture:
        console.run_frames(SETTLE)
        return console.picture.copy()

    found, moments = [settled()], list(MOMENTS)
    while now("done", "mode") != (1, 0):
        if moments and now("mode", "items", "quest", "map") == (1, *moments[0]):
            found.append(settled())
            del moments[0]
        button = solver.button(read)
        console.press(0 if button is None else 1 << Key[button])
        console.run_frames(8, draw=False)
        console.press(0)
        console.run_frames(16, draw=False)
    return [*found, settled()]


def save(pictures: list[Picture], across: int, scale: int, path: Path) -> None:
    """Write pictures of one size side by side, ``across`` in a row."""
    from PIL import Image

    height, width = pictures[0].shape
    down = -(-len(pictures) // across)
    page = np.full((down * (height + MARGIN), across * (width + MARGIN)), 255, np.uint8)
    for i, picture in enumerate(pictures):
        y, x = i // across * (height + MARGIN), i % across * (width + MARGIN)
        page[y : y + height, x : x + width] = GREYS[picture]
    page = page[:-MARGIN, :-MARGIN].repeat(scale, 0).repeat(scale, 1)
    Image.fromarray(page).quantize(4).save(path, optimize=True)


def main() -> None:
    """Write both pictures."""
    program = assemble(ROMS / f"{GAME}.asm")
    maps = [draw_map(program, rows) for rows in load_world().maps]
    assert {picture.shape for picture in maps} == {(16 * SIZE, 16 * SIZE)}
    save(maps, 3, 1, DOCS / "lantern_walk_maps.png")
    save(screens(), 4, 1, DOCS / "lantern_walk.png")


if __name__ == "__main__":
    main()
