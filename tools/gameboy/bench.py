"""Measure frames per CPU second of one machine, beside PyBoy in turns.

``python -m tools.gameboy.bench`` runs the ROMs of the package, or those named, in three ways:
``skip`` draws nothing, ``draw`` every frame, ``step`` presses a key for 8 frames of 24 and draws
the last. Each figure is the median of ``--windows`` windows, in which both emulators take turns, so
that a busy machine slows both; without PyBoy, ours is measured alone. It prints one line of JSON
for each ROM and way.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fastenv.errors import FastEnvError
from fastenv.gameboy.cartridge import Cartridge, load_cartridge
from fastenv.gameboy.console import Console
from fastenv.gameboy.shipped import shipped
from fastenv.gameboy.tables import Key
from tools.gameboy.compare import PyBoyTwin, bare_row

ROMS = ("busy", "poll", "split", "delay", "halt", "lantern_walk", "heavy")
WAYS = ("skip", "draw", "step")
STEP, HELD = 24, 8  # frames of a step, and of those a key is held
WARM_UP = 600  # frames, in which programs get past their title
_KEYS = (Key.RIGHT, Key.DOWN, Key.LEFT, Key.UP, Key.A, Key.START)


class Ours:
    """Our machine, with the calls that are measured."""

    def __init__(self, cartridge: Cartridge) -> None:
        self.console = Console(cartridge, bare_row(cartridge))

    def skip(self, frames: int) -> None:
        """Run frames and draw none."""
        self.console.run_frames(frames, draw=False)

    def draw(self, frames: int) -> None:
        """Run frames and draw each."""
        for _ in range(frames):
            self.console.run_frame()

    def step(self, frames: int) -> None:
        """Take steps of 24 frames."""
        for number in range(frames // STEP):
            self.console.press(1 << _KEYS[number % len(_KEYS)])
            self.console.run_frames(HELD, draw=False)
            self.console.press(0)
            self.console.run_frames(STEP - HELD)
            self.console.picture[::2, ::2].copy()


class Theirs:
    """PyBoy, with the same calls."""

    def __init__(self, cartridge: Cartridge) -> None:
        self.twin = PyBoyTwin(cartridge)

    def skip(self, frames: int) -> None:
        """Run frames and draw none."""
        self.twin.boy.tick(frames, False, False)

    def draw(self, frames: int) -> None:
        """Run frames and draw each."""
        for _ in range(frames):
            self.twin.boy.tick(1, True, False)

    def step(self, frames: int) -> None:
        """Take steps of 24 frames."""
        for number in range(frames // STEP):
            self.twin.press(1 << _KEYS[number % len(_KEYS)])
            self.twin.boy.tick(HELD, False, False)
            self.twin.press(0)
            self.twin.boy.tick(STEP - HELD, True, False)
            self.twin.boy.screen.ndarray[:144:2, :160:2, 0].copy()


def _rate(call: Callable[[int], None], seconds: float) -> Callable[[], float]:
    """Return a function that measures frames per CPU second in a window of about that length."""
    frames = STEP
    while True:
        begun = time.process_time()
        call(frames)
        took = time.process_time() - begun
        if took > seconds / 8:
            break
        frames *= 4
    frames = max(STEP, int(frames * seconds / took) // STEP * STEP)

    def measure() -> float:
        begun = time.process_time()
        call(frames)
        return frames / (time.process_time() - begun)

    return measure


def measure(rom: Path, way: str, windows: int, seconds: float) -> dict[str, Any]:
    """Return the figures of one ROM and way.

    Parameters
    ----------
    rom : Path
    way : {"skip", "draw", "step"}
    windows : int
    seconds : float
        CPU seconds of a window.

    Returns
    -------
    dict
        ``frames_per_cpu_s`` and ``instructions_per_frame``, and, if PyBoy is there,
        ``pyboy_frames_per_cpu_s`` and ``times_pyboy``, the median of the ratios of each window.
    """
    cartridge = load_cartridge(rom)
    ours, theirs = Ours(cartridge), _pyboy(cartridge)
    players: list[Ours | Theirs] = [ours] if theirs is None else [ours, theirs]
    for player in players:
        player.step(WARM_UP)
    row = ours.console.row
    before = int(row["instr"][0]), int(row["cyc"][0])
    meters = [_rate(getattr(player, way), seconds) for player in players]
    rates = [[meter() for meter in meters] for _ in range(windows)]
    frames = (int(row["cyc"][0]) - before[1]) / 70_224
    found: dict[str, Any] = {"rom": rom.stem, "sha256": cartridge.sha256, "way": way}
    found["instructions_per_frame"] = round((int(row["instr"][0]) - before[0]) / frames)
    found["frames_per_cpu_s"] = round(statistics.median(pair[0] for pair in rates))
    if theirs is not None:
        theirs.twin.close()
        found["pyboy_frames_per_cpu_s"] = round(statistics.median(pair[1] for pair in rates))
        found["times_pyboy"] = round(statistics.median(a / b for a, b in rates), 2)
    return found


def _pyboy(cartridge: Cartridge) -> Theirs | None:
    try:
        return Theirs(cartridge)
    except ModuleNotFoundError:
        return None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = argparse.ArgumentParser(
        prog="python -m tools.gameboy.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("roms", nargs="*", type=Path, help="ROM files; default: the package's own")
    about = "ways to run; default: all"
    parse.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help=about)
    parse.add_argument("--windows", type=int, default=5, help="number of windows; default 5")
    parse.add_argument(
        "--seconds", type=float, default=0.5, help="CPU seconds per window; default 0.5"
    )
    args = parse.parse_args(argv)
    if args.windows < 1 or not args.seconds > 0:
        parse.error("--windows must be at least 1, --seconds above 0")
    folder = Path(str(shipped("roms")))
    for rom in args.roms or [folder / f"{name}.gb" for name in ROMS]:
        for way in args.ways:
            try:
                found = measure(rom, way, args.windows, args.seconds)
            except (OSError, FastEnvError) as error:
                print(f"error: {error}", file=sys.stderr)
                return 2
            print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
