"""Measure frames per CPU second of one machine, beside PyBoy in turns; or of two on a cable.

``python -m tools.gameboy.bench`` runs the ROMs of the package, or those named, in three ways:
``skip`` draws nothing, ``draw`` every frame, ``step`` presses a key for 8 frames of 24 and draws
the last. Without PyBoy, ours is measured alone.

``--link`` measures two machines on a cable beside the same two without one; nothing is drawn. They
go on from the same states, after 3,000 frames on the cable: by then Lantern Duel is over, and both
of its sides do the same with and without an answer, but for the bytes.

Each figure is the median of ``--windows`` windows, in which both take turns, so that a busy machine
slows both. It prints one line of JSON for each ROM and way, and ``--out FILE`` writes a record.
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

import numpy as np

from fastenv.gameboy.cartridge import Cartridge, load_cartridge
from fastenv.gameboy.console import Console, LinkedConsoles
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.shipped import shipped
from fastenv.gameboy.tables import Key
from tools.command import new_parser, refusing
from tools.gameboy.compare import PyBoyTwin, bare_row
from training.bench.timing import Work, interleaved
from training.games.gameboy.frames import counted, per_frame
from training.run import files, machine

ROMS = ("busy", "poll", "split", "delay", "halt", "lantern_walk", "heavy")
WAYS = ("skip", "draw", "step")
LINKED = ("lantern_walk", "busy", "poll", "halt", "duel")
LINK_WARM_UP, LINK_PIECE = 3000, 2048  # frames; of a piece of work, of both machines together
ASKED_OF_LINK = 0.8  # times the speed of two machines without a cable
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
        ``pyboy_frames_per_cpu_s`` and ``times_pyboy``, the median of the ratios of each window,
        which are ``times_pyboy_all``.
    """
    cartridge = load_cartridge(rom)
    found = {"rom": rom.stem, "sha256": cartridge.sha256, "way": way}
    with players_of(cartridge) as players:
        row = players["ours"].console.row
        return found | _compare(works_of(players, way), row, "pyboy", windows, seconds)


def measure_link(rom: Path, windows: int, seconds: float) -> dict[str, Any]:
    """Return the figures of one ROM on both sides of a cable; see :func:`measure`.

    Frames are those of both machines together, and ``alone`` stands for the two without a cable.
    """
    cartridge = load_cartridge(rom)
    consoles = [Console(cartridge, power_up_row(cartridge), fixed_frames=True) for _ in range(2)]
    consoles[0].run_frame()  # one has been on for a frame longer
    consoles[0].row["cyc"] = 0
    pair = LinkedConsoles((consoles[0], consoles[1]))
    pair.run_frames(LINK_WARM_UP, draw=False)
    alone = [Console(cartridge, each.row, fixed_frames=True) for each in pair.consoles]

    def linked() -> None:
        pair.run_frames(LINK_PIECE // 2, draw=False)

    def apart() -> None:
        for console in alone:
            console.run_frames(LINK_PIECE // 2, draw=False)

    works = {"linked": Work(linked, LINK_PIECE), "apart": Work(apart, LINK_PIECE)}
    found = {"rom": rom.stem, "sha256": cartridge.sha256}
    return found | _compare(works, pair.consoles[0].row, "alone", windows, seconds)


def _compare(
    works: Mapping[str, Work], row: np.ndarray, beside: str, windows: int, seconds: float
) -> dict[str, Any]:
    """Time works in turns; return the figures of the first, and those of one beside it by name."""
    before = counted(row)
    samples = interleaved(works, windows, seconds)
    ours, *others = ([each.per_cpu_s for each in every] for every in samples.values())
    found: dict[str, Any] = {"instructions_per_frame": round(per_frame(before, counted(row)))}
    found["frames_per_cpu_s"] = round(statistics.median(ours))
    for rates in others:
        ratios = [a / b for a, b in zip(ours, rates, strict=True)]
        found[f"{beside}_frames_per_cpu_s"] = round(statistics.median(rates))
        found[f"times_{beside}"] = round(statistics.median(ratios), 3)
        found[f"times_{beside}_all"] = [round(ratio, 3) for ratio in ratios]
    return found


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("gameboy.bench", __doc__)
    parse.add_argument("roms", nargs="*", type=Path, help="ROM files; default: the package's own")
    about = "ways to run; default: all"
    parse.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help=about)
    parse.add_argument("--link", action="store_true", help="measure two machines on a cable")
    parse.add_argument("--windows", type=int, default=5, help="number of windows; default 5")
    parse.add_argument("--seconds", type=float, default=0.5, help="of a window; default 0.5")
    parse.add_argument("--out", type=Path, help="write a record")
    args = parse.parse_args(argv)
    if args.windows < 1 or not args.seconds > 0:
        parse.error("--windows must be at least 1, --seconds above 0")
    head = {**machine.taken_on(), "load": machine.load()}
    folder, found = Path(str(shipped("roms"))), []
    names = LINKED if args.link else ROMS
    for rom in args.roms or [folder / f"{name}.gb" for name in names]:
        for way in ("link",) if args.link else args.ways:
            measured = measure_link if args.link else partial(measure, way=way)
            found.append(measured(rom, windows=args.windows, seconds=args.seconds))
            print(json.dumps(found[-1]), flush=True)
    if args.out is not None:
        head |= {"load_after": machine.load(), "windows": args.windows}
        head |= {"asked": ASKED_OF_LINK} if args.link else {}
        files.write_json(args.out, {**head, "roms": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
