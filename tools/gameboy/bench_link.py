"""Measure two machines on a cable beside the same two machines without one.

``python -m tools.gameboy.bench_link`` runs ROMs of the package, or those named, on both sides. Each
ratio is the median over ``--windows`` windows of frames per CPU second with the cable over those
without, in turns, so that a busy machine slows both; nothing is drawn. The machines without a cable
go on from the same states, after 3,000 frames on the cable: by then Lantern Duel is over, and both
of its sides do the same with and without an answer, but for the bytes. It prints one line of JSON
for each ROM.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastenv.gameboy.cartridge import load_cartridge
from fastenv.gameboy.console import Console, LinkedConsoles
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.shipped import shipped
from tools.command import new_parser, refusing
from training.apps.gameboy.frames import counted, per_frame
from training.bench.timing import Work, interleaved
from training.run import files, machine

ROMS = ("lantern_walk", "busy", "poll", "halt", "duel")
WARM_UP = 3000  # frames
PIECE = 2048  # frames of a piece of work, of both machines together
COMMAND = "python -m tools.gameboy.bench_link --out FILE"
ASKED = 0.8  # times the speed of two machines without a cable


def pair_of(rom: Path) -> LinkedConsoles:
    """Return two machines on a cable, of which the first has been on for a frame longer."""
    cartridge = load_cartridge(rom)
    consoles = [Console(cartridge, power_up_row(cartridge), fixed_frames=True) for _ in range(2)]
    consoles[0].run_frame()
    consoles[0].row["cyc"] = 0
    return LinkedConsoles((consoles[0], consoles[1]))


def measure(rom: Path, windows: int, seconds: float) -> dict[str, Any]:
    """Return the figures of one ROM.

    Parameters
    ----------
    rom : Path
    windows : int
    seconds : float
        Of a window.

    Returns
    -------
    dict
        ``frames_per_cpu_s`` and ``alone_frames_per_cpu_s``, of which two machines make two at a
        time, ``times_alone``, of all windows too, and ``instructions_per_frame``.
    """
    pair = pair_of(rom)
    pair.run_frames(WARM_UP, draw=False)
    alone = [Console(each.cartridge, each.row, fixed_frames=True) for each in pair.consoles]

    def linked() -> None:
        pair.run_frames(PIECE // 2, draw=False)

    def apart() -> None:
        for console in alone:
            console.run_frames(PIECE // 2, draw=False)

    row = pair.consoles[0].row
    before = counted(row)
    works = {"linked": Work(linked, PIECE), "apart": Work(apart, PIECE)}
    samples = interleaved(works, windows, seconds)
    every, alone_every = ([each.per_cpu_s for each in samples[name]] for name in works)
    ratios = [a / b for a, b in zip(every, alone_every, strict=True)]
    return {
        "rom": rom.stem,
        "sha256": pair.consoles[0].cartridge.sha256,
        "instructions_per_frame": round(per_frame(before, counted(row))),
        "frames_per_cpu_s": round(statistics.median(every)),
        "alone_frames_per_cpu_s": round(statistics.median(alone_every)),
        "times_alone": round(statistics.median(ratios), 3),
        "times_alone_all": [round(ratio, 3) for ratio in ratios],
    }


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = new_parser("gameboy.bench_link", __doc__)
    parse.add_argument("roms", nargs="*", type=Path, help="ROM files; default: the package's own")
    parse.add_argument("--windows", type=int, default=5, help="how many; default 5")
    parse.add_argument("--seconds", type=float, default=0.3, help="of a window")
    parse.add_argument("--out", type=Path, help="write a record")
    args = parse.parse_args(argv)
    if args.windows < 1 or not args.seconds > 0:
        parse.error("--windows must be at least 1, --seconds above 0")
    about = {**machine.taken_on(), "command": COMMAND, "load": machine.load()}
    folder, found = Path(str(shipped("roms"))), []
    for rom in args.roms or [folder / f"{name}.gb" for name in ROMS]:
        found.append(measure(rom, args.windows, args.seconds))
        print(json.dumps(found[-1]), flush=True)
    if args.out is not None:
        about |= {"load_after": machine.load(), "windows": args.windows, "asked": ASKED}
        files.write_json(args.out, {**about, "roms": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
