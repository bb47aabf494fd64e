"""Search the fastest clears of registered games: ``python -m training evaluate fastest``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastenv.drmario import tables as t
from fastenv.drmario.seeds import seed_id, seeds_of
from fastenv.errors import FastEnvError
from training.apps.drmario.best_times import BestTimes, Clear
from training.apps.drmario.fastest import MOST_WIDTH, WIDTH, fastest_clear, replay_of
from training.evaluation import replays
from training.run import files, machine
from training.run.command_line import new_parser
from training.run.options import require

ABOUT = """\
Search for the fastest clear of games of Dr. Mario with known pills: the first games of a level in
the seed registry. Every clear is replayed before it is written.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    example = "--levels 0 5 --best-times x.sqlite"
    parse = new_parser("evaluate fastest", ABOUT, example, "[options]")
    several: Any = {"nargs": "+", "metavar": "X"}
    parse.add_argument(
        "--levels", type=int, default=[0], help="levels to search; default 0", **several
    )
    parse.add_argument(
        "--speeds", default=["medium"], help="speeds to search; default medium", **several
    )
    parse.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="seeds per level; default 1"
    )
    about = f"beam width: positions kept after each pill; default {WIDTH}"
    parse.add_argument("--width", type=int, default=WIDTH, metavar="N", help=about)
    parse.add_argument("--best-times", type=Path, metavar="FILE", help="SQLite file of best times")
    about = "folder for replays of button presses, one per frame"
    parse.add_argument("--replays", type=Path, metavar="DIR", help=about)
    parse.add_argument("--out", type=Path, metavar="FILE", help="JSON record to write")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    words = sys.argv[1:] if argv is None else argv
    args = parser().parse_args(words)
    try:
        _check(args)
        rows = [_search(args, *game) for game in _list_games(args)]
        if args.out is not None:
            _write(args, rows)
    except (FastEnvError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _check(args: argparse.Namespace) -> None:
    for flag, values in (("--levels", args.levels), ("--speeds", args.speeds)):
        require(len(values) == len(set(values)), flag, values, "different from each other")
    for level in args.levels:
        last = t.LAST_VIRUS_LEVEL
        require(0 <= level <= last, "--levels", level, f"from 0 to {last}, as the registry has")
    for speed in args.speeds:
        require(speed in t.SPEEDS, "--speeds", speed, f"one of {', '.join(t.SPEEDS)}")
    require(1 <= args.seeds <= t.REGISTRY_SEEDS, "--seeds", args.seeds, f"1 to {t.REGISTRY_SEEDS}")
    require(1 <= args.width <= MOST_WIDTH, "--width", args.width, f"from 1 to {MOST_WIDTH:,}")
    if args.out is not None:
        files.prepare("--out", args.out)
    if args.best_times is not None:
        files.prepare("--best-times", args.best_times)
        BestTimes(args.best_times).close()


def _list_games(args: argparse.Namespace) -> Iterator[tuple[int, str, int]]:
    """Yield level, speed and number in the registry of all games."""
    for level in args.levels:
        for speed in args.speeds:
            for index in range(args.seeds):
                yield level, speed, index


def _search(args: argparse.Namespace, level: int, speed: str, index: int) -> dict[str, Any]:
    """Search one game, write and print its fastest clear, and return its part of the record."""
    name, seed = seed_id(level, index), seeds_of(level)[index]
    begun = time.process_time()
    clear = fastest_clear(level, speed, seed, args.width)
    seconds = round(time.process_time() - begun, 1)
    row = {"seed_id": name, "level": level, "speed": speed, "seed": seed, "cpu_s": seconds}
    if clear is None:
        print(f"{name}, {speed}: no clear found, {seconds:.1f} CPU s", flush=True)
        return {**row, "frames": None, "pills": None}
    line = f"{name}, {speed}: {clear.frames:,} frames, {clear.spawns} pills, {seconds:.1f} CPU s"
    if args.best_times is not None:
        line += _store(args.best_times, clear)
    if args.replays is not None:
        line += f", {replays.save(replay_of(clear), args.replays)}"
    print(line, flush=True)
    return {**row, "frames": clear.frames, "pills": clear.spawns, "trace": list(clear.trace)}


def _store(path: Path, clear: Clear) -> str:
    """Add a clear to a store; describe it beside the best one so far."""
    with BestTimes(path) as store:
        before = store.best(clear.level, clear.speed, clear.seed)
        store.add([clear], "beam")
    return "" if before is None else f", {before.frames:,} before"


def _write(args: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    record = {
        "what": "the fastest clears of Dr. Mario that a beam finds with known pills",
        "command": machine.command(),
        "created": machine.now(),
        **machine.revision(),
        "host": machine.host(),
        "versions": machine.versions(),
        "width": args.width,
        "games": rows,
    }
    files.write_json(args.out, record)
