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
Train and compare evaluators of Dr. Mario. An evaluator predicts the distribution of frames to clear
a bottle. The player lookahead:FILE tries every placement and plays the one with the best value.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("evaluator", ABOUT, "train --out judge.safetensors", "PART [options]")
    parts = parse.add_subparsers(dest="part", required=True, metavar="PART")
    about = "Train an evaluator on games of a bot, then on games of the look-ahead."
    example = "--out judge.safetensors"
    add: dict[str, Any] = described("evaluator train", about, example, "--out FILE [options]")
    trained = parts.add_parser("train", help=about, **add)
    out = "evaluator to write, safetensors"
    trained.add_argument("--out", type=Path, required=True, metavar="FILE", help=out)
    about = "option, such as rounds=2 or fit.NAME=VALUE; repeatable"
    trained.add_argument(
        "--set", action="append", type=_parse_setting, default=[], metavar="X=Y", help=about
    )
    about = "Measure the calibration of the predicted quantiles on games outside the training set."
    add = described("evaluator calibrate", about, "judge.safetensors", "FILE [options]")
    calibrated = parts.add_parser("calibrate", help=about, **add)
    calibrated.add_argument("file", type=Path, help="evaluator, as written by train")
    about = "player of the games; default: the last one of the training"
    calibrated.add_argument("--player", help=about)
    calibrated.add_argument("--games", type=int, default=500, help="games; default 500")
    about = "Compare players on the same games, outside the training set of any evaluator."
    example = "greedy lookahead:judge.safetensors"
    add = described("evaluator compare", about, example, "WHO... [options]")
    compared = parts.add_parser("compare", help=about, **add)
    compared.add_argument("who", nargs="+", help="bot, lookahead:FILE[:RISK][:depth2], or run")
    levels, about = [5, 10], "levels to play; default 5 10"
    add_level = compared.add_argument
    add_level("--levels", type=int, nargs="+", default=levels, metavar="N", help=about)
    compared.add_argument("--speed", default="medium", help="speed; default medium")
    compared.add_argument("--games", type=int, default=500, help="games per level; default 500")
    add_runs(compared)
    for each in (calibrated, compared):
        each.add_argument("--seed", type=int, default=0, help="seed of the games; default 0")
        each.add_argument("--out", type=Path, metavar="FILE", help="JSON file to write")
    return parse


def _parse_setting(text: str) -> tuple[str, Any]:
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
        record = act(args, console)
        if args.out is not None:
            files.write_json(args.out, {**machine.taken_on(), args.part: record})
    except (FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
