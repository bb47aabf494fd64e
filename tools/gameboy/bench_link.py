"""Measure two machines on a cable beside the same two machines without one.

``python -m tools.gameboy.bench_link`` runs ROMs of the package, or those named, on both sides. Each
ratio is the median over ``--windows`` windows of frames per CPU second with the cable over those
without, in turns, so that a busy machine slows both; nothing is drawn. The machines without a cable
go on from the same states, after 3,000 frames on the cable: by then Lantern Duel is over, and both
of its sides do the same with and without an answer, but for the bytes. It prints one line of JSON
for each ROM.
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
from fastenv.gameboy.cartridge import load_cartridge
from fastenv.gameboy.console import Console, LinkedConsoles
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.shipped import shipped
from fastenv.gameboy.tables import FRAME

ROMS = ("lantern_walk", "busy", "poll", "halt", "duel")
WARM_UP = 3000  # frames
COMMAND = "python -m tools.gameboy.bench_link --out FILE"
ASKED = 0.8  # times the speed of two machines without a cable


def pair_of(rom: Path) -> LinkedConsoles:
    """Return two machines on a cable, of which the first has been on for a frame longer."""
    cartridge = load_cartridge(rom)
    consoles = [Console(cartridge, power_up_row(cartridge), fixed_frames=True) for _ in range(2)]
    consoles[0].run_frame()
    consoles[0].row["cyc"] = 0
    return LinkedConsoles((consoles[0], consoles[1]))


def rate_of(run: Callable[[int], None], frames: int) -> float:
    """Return how many frames a CPU second a call runs."""
    begun = time.process_time()
    run(frames)
    return frames / (time.process_time() - begun)


def measure(rom: Path, windows: int, seconds: float) -> dict[str, Any]:
    """Return the figures of one ROM.

    Parameters
    ----------
    rom : Path
    windows : int
    seconds : float
        CPU seconds of a window, about.

    Returns
    -------
    dict
        ``frames_per_cpu_s`` and ``alone_frames_per_cpu_s``, of which two machines make two at a
        time, ``times_alone``, of all windows too, and ``instructions_per_frame``.
    """
    pair = pair_of(rom)
    pair.run_frames(WARM_UP, draw=False)
    alone = [Console(each.cartridge, each.row, fixed_frames=True) for each in pair.consoles]

    def linked(frames: int) -> None:
        pair.run_frames(frames // 2, draw=False)

    def apart(frames: int) -> None:
        for console in alone:
            console.run_frames(frames // 2, draw=False)

    row = pair.consoles[0].row
    before = int(row["instr"][0]), int(row["cyc"][0])
    frames = max(64, int(rate_of(linked, 2048) * seconds))
    rates = [(rate_of(linked, frames), rate_of(apart, frames)) for _ in range(windows)]
    ran = (int(row["cyc"][0]) - before[1]) / FRAME
    return {
        "rom": rom.stem,
        "sha256": pair.consoles[0].cartridge.sha256,
        "instructions_per_frame": round((int(row["instr"][0]) - before[0]) / ran),
        "frames_per_cpu_s": round(statistics.median(rate[0] for rate in rates)),
        "alone_frames_per_cpu_s": round(statistics.median(rate[1] for rate in rates)),
        "times_alone": round(statistics.median(a / b for a, b in rates), 3),
        "times_alone_all": [round(a / b, 3) for a, b in rates],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = argparse.ArgumentParser(
        prog="python -m tools.gameboy.bench_link",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("roms", nargs="*", type=Path, help="ROM files; default: the package's own")
    parse.add_argument("--windows", type=int, default=5, help="how many; default 5")
    parse.add_argument("--seconds", type=float, default=0.3, help="CPU seconds of each")
    parse.add_argument("--out", type=Path, help="write a record")
    args = parse.parse_args(argv)
    if args.windows < 1 or not args.seconds > 0:
        parse.error("--windows must be at least 1, --seconds above 0")
    try:
        _run(args)
    except (OSError, FastEnvError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _run(args: argparse.Namespace) -> None:
    """Measure ROMs, print a line for each, and write a record if it is asked for."""
    from training.run import files, machine

    about = {**machine.taken_on(), "command": COMMAND, "load": machine.load()}
    folder, found = Path(str(shipped("roms"))), []
    for rom in args.roms or [folder / f"{name}.gb" for name in ROMS]:
        found.append(measure(rom, args.windows, args.seconds))
        print(json.dumps(found[-1]), flush=True)
    if args.out is not None:
        about |= {"load_after": machine.load(), "windows": args.windows, "asked": ASKED}
        files.write_json(args.out, {**about, "roms": found})


if __name__ == "__main__":
    sys.exit(main())
