"""Evaluators of Dr. Mario: ``python -m training evaluator train --out FILE``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from fastenv.__main__ import option
from fastenv.errors import FastEnvError
from training.run.command_line import add_runs, described, new_parser

ABOUT = """\
Evaluators of Dr. Mario. One says how many frames a bottle still takes, with the spread; the player
lookahead:FILE tries every placement and takes the one that it likes best.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("evaluator", ABOUT, "train --out judge.safetensors", "PART [options]")
    parts = parse.add_subparsers(dest="part", required=True, metavar="PART")
    about = "Train one, by games of a bot first, then of the look-ahead."
    example = "--out judge.safetensors"
    add: dict[str, Any] = described("evaluator train", about, example, "--out FILE [options]")
    trained = parts.add_parser("train", help=about, **add)
    trained.add_argument("--out", type=Path, required=True, metavar="FILE")
    about = "option, such as rounds=2, or fit.NAME=VALUE"
    trained.add_argument(
        "--set", action="append", type=_setting, default=[], metavar="X=Y", help=about
    )
    about = "How far outcomes keep to its quantiles, in games that it was not trained on."
    add = described("evaluator calibrate", about, "judge.safetensors", "FILE [options]")
    calibrated = parts.add_parser("calibrate", help=about, **add)
    calibrated.add_argument("file", type=Path)
    calibrated.add_argument("--player", help="who plays; default who ended its games")
    calibrated.add_argument("--games", type=int, default=500)
    about = "Let players play the same games, which no evaluator was trained on."
    example = "greedy lookahead:judge.safetensors"
    add = described("evaluator compare", about, example, "WHO... [options]")
    compared = parts.add_parser("compare", help=about, **add)
    compared.add_argument("who", nargs="+", help="bot, lookahead:FILE[:RISK][:depth2], or run")
    compared.add_argument("--levels", type=int, nargs="+", default=[5, 10])
    compared.add_argument("--speed", default="medium")
    compared.add_argument("--games", type=int, default=500)
    add_runs(compared)
    for each in (calibrated, compared):
        each.add_argument("--seed", type=int, default=0, help="which games are drawn")
        each.add_argument("--out", type=Path, metavar="FILE", help="JSON to write")
    return parse


def _setting(text: str) -> tuple[str, Any]:
    """Return name and value of an option; ``fit_`` stands for its section."""
    return option(text.replace("fit.", "fit_", 1))


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        from rich.console import Console

        from training.apps.drmario.evaluator import actions
        from training.run import files, machine

        console = Console(highlight=False)
        if args.part == "train":
            actions.run_train(args, console)
            return 0
        if args.out is not None:
            files.prepare("--out", args.out)
        act = actions.run_calibrate if args.part == "calibrate" else actions.run_compare
        found = act(args, console)
        if args.out is not None:
            head = {"command": machine.command(), "created": machine.now(), **machine.revision()}
            about = {"host": machine.host(), "versions": machine.versions()}
            files.write_json(args.out, {**head, **about, args.part: found})
    except (FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
