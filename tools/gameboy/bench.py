"""Measure frames per CPU second of one machine, beside PyBoy in turns.

``python -m tools.gameboy.bench`` runs the ROMs of the package, or those named, in three ways:
``skip`` draws nothing, ``draw`` every frame, ``step`` presses a key for 8 frames of 24 and draws
the last. Each figure is the median of ``--windows`` windows, in which both emulators take turns, so
that a busy machine slows both; without PyBoy, ours is measured alone. It prints one line of JSON
for each ROM and way.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from fastenv.gameboy.cartridge import Cartridge, load_cartridge
from fastenv.gameboy.console import Console
from fastenv.gameboy.shipped import shipped
from fastenv.gameboy.tables import Key
from tools.command import new_parser, refusing
from tools.gameboy.compare import PyBoyTwin, bare_row
from training.bench.timing import Work, interleaved
from training.games.gameboy.frames import counted, per_frame

ROMS = ("busy", "poll", "split", "delay", "halt", "lantern_walk", "heavy")
WAYS = ("skip", "draw", "step")
STEP, HELD = 24, 8  # frames of a step, and of those a key is held
WARM_UP = 600  # frames, in which programs get past their title
PIECES = {"ours": 1536, "pyboy": 192}  # frames of a piece of work
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
            self.take_step(_KEYS[number % len(_KEYS)])

    def take_step(self, key: Key) -> None:
        """Take a step of 24 frames, in the first 8 of which a key is held."""
        self.twin.press(1 << key)
        self.twin.boy.tick(HELD, False, False)
        self.twin.press(0)
        self.twin.boy.tick(STEP - HELD, True, False)
        self.twin.boy.screen.ndarray[:144:2, :160:2, 0].copy()


@contextmanager
def players_of(cartridge: Cartridge) -> Iterator[dict[str, Any]]:
    """Start our machine and, if it is installed, PyBoy with the same ROM, both past its title."""
    players: dict[str, Any] = {"ours": Ours(cartridge)}
    with suppress(ModuleNotFoundError):
        players["pyboy"] = Theirs(cartridge)
    for player in players.values():
        player.step(WARM_UP)
    try:
        yield players
    finally:
        if "pyboy" in players:
            players["pyboy"].twin.close()


def works_of(players: Mapping[str, Any], way: str) -> dict[str, Work]:
    """Make the work of each player in one of ``WAYS``; its steps are frames."""
    return {
        name: Work(partial(getattr(player, way), PIECES[name]), PIECES[name])
        for name, player in players.items()
    }


def measure(rom: Path, way: str, windows: int, seconds: float) -> dict[str, Any]:
    """Return the figures of one ROM and way.

    Parameters
    ----------
    rom : Path
    way : {"skip", "draw", "step"}
    windows : int
    seconds : float
        Of a window.

    Returns
    -------
    dict
        ``frames_per_cpu_s`` and ``instructions_per_frame``, and, if PyBoy is there,
        ``pyboy_frames_per_cpu_s`` and ``times_pyboy``, the median of the ratios of each window.
    """
    cartridge = load_cartridge(rom)
    with players_of(cartridge) as players:
        row = players["ours"].console.row
        before = counted(row)
        samples = interleaved(works_of(players, way), windows, seconds)
        executed = per_frame(before, counted(row))
    ours, *theirs = ([each.per_cpu_s for each in every] for every in samples.values())
    found: dict[str, Any] = {"rom": rom.stem, "sha256": cartridge.sha256, "way": way}
    found["instructions_per_frame"] = round(executed)
    found["frames_per_cpu_s"] = round(statistics.median(ours))
    for rates in theirs:
        found["pyboy_frames_per_cpu_s"] = round(statistics.median(rates))
        ratios = (a / b for a, b in zip(ours, rates, strict=True))
        found["times_pyboy"] = round(statistics.median(ratios), 2)
    return found


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("gameboy.bench", __doc__)
    parse.add_argument("roms", nargs="*", type=Path, help="ROM files; default: the package's own")
    about = "ways to run; default: all"
    parse.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help=about)
    parse.add_argument("--windows", type=int, default=5, help="number of windows; default 5")
    parse.add_argument("--seconds", type=float, default=0.5, help="of a window; default 0.5")
    args = parse.parse_args(argv)
    if args.windows < 1 or not args.seconds > 0:
        parse.error("--windows must be at least 1, --seconds above 0")
    folder = Path(str(shipped("roms")))
    for rom in args.roms or [folder / f"{name}.gb" for name in ROMS]:
        for way in args.ways:
            print(json.dumps(measure(rom, way, args.windows, args.seconds)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
