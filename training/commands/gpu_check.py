"""Check a GPU: ``python -m training benchmark gpu-check``, or ``make gpu-check``."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastenv.errors import FastEnvError
from training.run.command_line import new_parser

if TYPE_CHECKING:
    from rich.console import Console

ABOUT = """\
Run the tests that need a CUDA device, time the bars of training on it, captured graphs and the
device replay, and write a record that says where the time of a step goes. Without a device it says
so. As long as no record of it is in benchmarks/, what concerns CUDA is untested. Exit status 1 if a
test failed, else 0; bars are reported, not enforced.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("benchmark gpu-check", ABOUT, "--seconds 5")
    parse.add_argument("--repeats", type=int, default=3)
    parse.add_argument("--seconds", type=float, default=10.0, help="of a repeat, at least")
    parse.add_argument("--lanes", type=int, default=8192)
    parse.add_argument("--out", type=Path, help="JSON file for the record")
    parse.add_argument("--no-tests", action="store_true", help="only measure")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)

    import torch

    from training.bench import gpu_check
    from training.evaluation import tables
    from training.run import files

    if not torch.cuda.is_available():
        print("no CUDA device here: nothing was checked")
        return 0
    out = args.out or Path("runs") / datetime.now(UTC).strftime("gpu-%Y%m%d-%H%M%S.json")
    try:
        files.prepare("--out", out)
        passed = None if args.no_tests else gpu_check.tests()
        record = gpu_check.check(args.repeats, args.seconds, args.lanes) | {"tests_passed": passed}
    except (FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    files.write_json(out, record)
    show(record, tables.console())
    print(f"record in {out}")
    return 1 if passed is False else 0


def show(record: dict[str, Any], console: Console) -> None:
    """Print the figures of a record."""
    console.print(f"{record['gpu']}, tests passed: {record['tests_passed']}")
    for bar in record["bars"]:
        console.print(f"{bar['what']}: {bar['measured']} (asked {bar['asked']}): {bar['pass']}")
    for part in ("compile", "replay"):
        speeds = {name: round(row["steps_per_s"]) for name, row in record[part].items()}
        console.print(f"{part}, steps a second: {json.dumps(speeds)}")
    for row in record["rows"]:
        split = {name: round(value, 3) for name, value in row["us_per_step"].items()}
        console.print(f"epochs {row['epochs']}, us a step: {json.dumps(split)}")
