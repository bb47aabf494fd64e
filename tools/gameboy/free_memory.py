"""Whether free games show video memory that nobody wrote, with ``ram_fill="seeded"``.

Each game is played three times from the start that a reset of the environment gives, with the same
buttons, and all else equal:

* as the reset leaves it
* with VRAM as the boot program leaves it, which writes all of it
* with other bytes in VRAM, as on a machine without boot program

A picture of the first play that is not that of the second shows bytes that neither the boot program
nor the game wrote. The third play says which games would show such bytes if there were any: a
number above 0 proves that the comparison can see them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.config import SEEDED
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.state import machine_of
from tools.gameboy.free_games import Game, cartridge_of, measure_games
from tools.gameboy.free_pictures import FRAMES, ours

ENV = "GameBoyPixels-v0"
COMMAND = "python -m tools.gameboy.free_games memory FOLDER"
SEED = 0  # of the reset, and of the bytes of the third play

Array = np.ndarray[Any, Any]


def start_of(rom: Path, cartridge: Cartridge) -> Array:
    """Return the machine that a reset of the environment gives, shape (1,)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files that are shorter than their header says
        engine = fastenv.make_engine(ENV, 1, rom=str(rom), ram_fill=SEEDED)
    engine.reset_many(seeds=SEED)
    return machine_of(engine.get_states(), cartridge.ram_size)


def compare(folder: Path, game: Game, keys: Sequence[str], frames: int) -> dict[str, Any]:
    """Return in how many frames a game shows what nobody wrote, and would with other VRAM.

    Parameters
    ----------
    folder : Path
        Of the ROMs.
    game : Game
    keys : sequence of str
    frames : int
    """
    cartridge = cartridge_of(folder, game)
    start = start_of(folder / f"{game.name}.gb", cartridge)
    booted, other = start.copy(), start.copy()
    booted["vram"] = power_up_row(cartridge)["vram"]
    other["vram"] = np.random.default_rng(SEED).integers(0, 256, other["vram"].shape, np.uint8)
    found, clear, static = (
        [picture for _, _, picture, _ in ours(cartridge, keys, frames, row)]
        for row in (start, booted, other)
    )

    def shown(pictures: Sequence[Array]) -> int:
        return sum(
            not np.array_equal(picture, seen) for picture, seen in zip(pictures, clear, strict=True)
        )

    return {
        "game": game.name,
        "sha256": game.sha256,
        "frames_shown": shown(found),
        "frames_shown_if_filled": shown(static),
    }


def run(folder: Path, games: Iterable[Game], out: Path | None) -> None:
    """Play games, print a line for each, and write a record if ``out`` says where."""

    def conclude(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
        shown = {
            key.replace("frames", "games"): sum(game[key] > 0 for game in found)
            for key in ("frames_shown", "frames_shown_if_filled")
        }
        about = {"env": ENV, "ram_fill": SEEDED, "seed": SEED, "frames": FRAMES, "asked": 0}
        return {**about, "of": len(found), **shown}

    measure_games(COMMAND, folder, games, partial(compare, frames=FRAMES), conclude, out)
