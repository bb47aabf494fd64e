"""Search for a difference between reference and core of the Game Boy.

``python -m tools.gameboy.differences --out FILE`` plays random cases (tools/gameboy/cases.py): a
kind and a number, from which everything follows. After every frame the whole rows, the pictures
that were drawn and the samples are compared, bit for bit. Kinds take turns.

FILE is written after every case, so that a kill loses the case in hand alone; the same command goes
on from there, until FILE has ``--frames`` frames. With changed sources of ``fastenv/gameboy`` it
begins at case 0 again, and FILE anew.

``--case KIND:NUMBER`` plays one case and writes nothing. Exit status: 0; 1 if there is a difference
in FILE or in the case; 2 on an error.
"""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.command import new_parser, refusing
from tools.gameboy import cases
from tools.gameboy.cases import KINDS
from tools.gameboy.difference_record import Found, Record
from training.run import files, machine

FRAMES = 100_000
MOST_DIFFERENCES = 10  # after which it stops: one fault shows in many cases
_EVERY = 20.0  # seconds between lines
_COMMAND = "python -m tools.gameboy.differences"


def head(argv: Sequence[str]) -> dict[str, Any]:
    """Build the head of a command's record."""
    return machine.taken_on() | {"command": shlex.join([*_COMMAND.split(), *argv])}


def begin(path: Path, argv: Sequence[str]) -> Record:
    """Return the record of a file, and say where it goes on."""
    files.prepare("--out", path)
    record = Record(path, head(argv))
    print(f"{record.part.frames:,} frames of these sources are done")
    for each in record.part.differences:
        print(each, file=sys.stderr)
    return record


def search(record: Record, kinds: Sequence[str], frames: int, seconds: float) -> None:
    """Play cases until the record has so many frames, or for some seconds.

    Parameters
    ----------
    record : Record
        Added to, and written after every case.
    kinds : sequence of str
    frames : int
        In the record at the end.
    seconds : float
        After which no other case begins.
    """
    part, begun = record.part, time.monotonic()
    told = begun
    while part.frames < frames and time.monotonic() < begun + seconds:
        if len(part.differences) >= MOST_DIFFERENCES:
            print(f"{MOST_DIFFERENCES} differences are enough", file=sys.stderr)
            return
        play_next(record, kinds)
        if time.monotonic() > told + _EVERY:
            told = time.monotonic()
            shown = f"{part.frames:,} of {frames:,} frames, {len(part.differences)} differences"
            print(shown, flush=True)


def play_next(record: Record, kinds: Sequence[str]) -> None:
    """Play the next case and write the record."""
    part = record.part
    kind, number = part.next_case(kinds)
    counts, begun = part.counts(kind), time.process_time()
    frames, found = cases.play(kind, number)
    counts.cpu_s = round(counts.cpu_s + time.process_time() - begun, 3)
    counts.cases += 1
    counts.frames += frames
    if found is not None:
        revision = record.head["git_rev"]
        part.differences.append(Found(kind, number, found.frame, found.fields, revision))
        print(part.differences[-1], file=sys.stderr, flush=True)
    record.write()


def report(record: Record) -> int:
    """Print what is in a record of today's sources; return the exit status."""
    for kind, counts in record.part.kinds.items():
        rate = counts.frames / counts.cpu_s if counts.cpu_s else 0.0
        done = f"{counts.cases:>6,} cases {counts.frames:>8,} frames"
        print(f"{kind:<12}{done} {rate:>7.1f} frames a CPU second")
    return int(bool(record.part.differences))


def repeat(kind: str, number: int) -> int:
    """Play one case, say what came of it and return the exit status."""
    frames, found = cases.play(kind, number)
    if found is None:
        print(f"{kind}:{number}: {frames} frames, no difference")
        return 0
    print(Found(kind, number, found.frame, found.fields, None), file=sys.stderr)
    return 1


def case_of(text: str) -> tuple[str, int]:
    """Return kind and number of ``KIND:NUMBER``."""
    kind, _, number = text.partition(":")
    if kind not in KINDS or not number.isdecimal():
        known = ", ".join(KINDS)
        raise argparse.ArgumentTypeError(f"{text!r} is no KIND:NUMBER; kinds are {known}")
    return kind, int(number)


@refusing
def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    words = sys.argv[1:] if argv is None else [*argv]
    parse = new_parser("gameboy.differences", __doc__)
    what = parse.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, metavar="FILE", help="the record that it adds to")
    what.add_argument("--case", type=case_of, metavar="KIND:NUMBER", help="play one case")
    parse.add_argument("--frames", type=int, default=FRAMES, help=f"in all; default {FRAMES:,}")
    parse.add_argument("--seconds", type=float, default=math.inf, help="stop after so many")
    parse.add_argument("--kinds", nargs="+", choices=KINDS, default=[*KINDS], help="default: all")
    args = parse.parse_args(words)
    if args.frames < 1:
        parse.error(f"--frames {args.frames}: must be at least 1")
    if not args.seconds > 0:
        parse.error(f"--seconds {args.seconds:g}: must be above 0")
    if args.case is not None:
        return repeat(*args.case)
    record = begin(args.out, words)
    search(record, args.kinds, args.frames, args.seconds)
    return report(record)


if __name__ == "__main__":
    sys.exit(main())
