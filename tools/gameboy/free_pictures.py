"""What free games show, beside Gambatte with the same buttons.

Our machine runs first, frame by frame. Gambatte then runs to the same times with the same buttons
and is asked for its picture, by a program of which ``gambatte_pictures.cpp`` is the source. Frames
in which the display was off, or was turned on or off, show nothing and are not compared.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import ConfigError
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.console import Console
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.tables import FRAME, HEIGHT, IO, WIDTH, Key
from tools.gameboy.bench import HELD, STEP
from tools.gameboy.free_games import Game, cartridge_of, measure_games

FRAMES = 1000
ENOUGH = 0.99  # of the pictures of a game
ASKED = 68  # games
COMMAND = "python -m tools.gameboy.free_games pictures FOLDER --gambatte PROGRAM"
FIRST = 5  # frames that differ are named, and how many pixels
_LATE = 24  # T by which a frame may end late: an instruction

Array = np.ndarray[Any, Any]


def pressed(keys: Sequence[str], frame: int) -> int:
    """Return the bits of the keys that are pressed in a frame."""
    step, at = divmod(frame, STEP)
    return 1 << Key[keys[step % len(keys)].upper()] if at < HELD else 0


def ours(
    cartridge: Cartridge,
    keys: Sequence[str],
    frames: int,
    start: Array | None = None,
    **options: Any,
) -> list[Any]:
    """Run a game; return for each frame when it ended, its keys, its picture, and if it has one.

    Parameters
    ----------
    cartridge : Cartridge
    keys : sequence of str
    frames : int
    start : ndarray of ``state_dtype``, shape (1,), optional
        The machine that begins; default one that was just turned on.
    **options
        Of the console.
    """
    row = power_up_row(cartridge) if start is None else start
    console = Console(cartridge, row, **options)
    found: list[Any] = []
    before = 0
    for frame in range(frames):
        down = pressed(keys, frame)
        console.press(down)
        console.run_frame()
        row = console.row[0]
        now = int(row["cyc"])
        shows = bool(row["high"][IO.LCDC] & 0x80) and abs(now - before - FRAME) <= _LATE
        found.append((now, down, console.picture.copy(), shows))
        before = now
    return found


def theirs(program: Path, rom: Path, played: Sequence[Any]) -> Array:
    """Return Gambatte's pictures at the ends of the same frames, shape (frames, 144, 160)."""
    asked = "".join(f"{now} {down >> 4 | (down & 15) << 4}\n" for now, down, _, _ in played)
    done = subprocess.run([program, rom], input=asked.encode(), capture_output=True, check=False)
    size = WIDTH * HEIGHT
    if done.returncode or len(done.stdout) != size * len(played):
        raise ConfigError(f"{program} {rom}: exit status {done.returncode}, no picture of a frame")
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, HEIGHT, WIDTH)


def compare(
    folder: Path, game: Game, keys: Sequence[str], program: Path, frames: int, accuracy: str
) -> dict[str, Any]:
    """Return how many pictures of a game are equal, and the first frames that differ.

    Parameters
    ----------
    folder : Path
        Of the ROMs.
    game : Game
    keys : sequence of str
    program : Path
        See ``gambatte_pictures.cpp``.
    frames : int
    accuracy : {"line", "pixel"}
    """
    played = ours(cartridge_of(folder, game), keys, frames, accuracy=accuracy)
    other = theirs(program, folder / f"{game.name}.gb", played)
    pixels = [int((mine[2] != picture).sum()) for mine, picture in zip(played, other, strict=True)]
    shown = [frame for frame, mine in enumerate(played) if mine[3]]
    wrong = [frame for frame in shown if pixels[frame]]
    return {
        "game": game.name,
        "sha256": game.sha256,
        "pictures": len(shown),
        "equal": len(shown) - len(wrong),
        "share": round(1 - len(wrong) / len(shown), 5) if shown else 1.0,
        "first": [[frame, pixels[frame]] for frame in wrong[:FIRST]],
    }


def run(
    folder: Path, games: Iterable[Game], program: Path, accuracy: str, out: Path | None
) -> None:
    """Compare games, print a line for each, and write a record if ``out`` says where."""

    def conclude(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
        enough = sum(game["share"] >= ENOUGH for game in found)
        about = {"accuracy": accuracy, "frames": FRAMES, "share_asked": ENOUGH, "asked": ASKED}
        return {**about, "enough": enough, "of": len(found)}

    measure_game = partial(compare, program=program, frames=FRAMES, accuracy=accuracy)
    measure_games(COMMAND, folder, games, measure_game, conclude, out)
