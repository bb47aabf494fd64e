"""Evaluators of Dr. Mario: ``python -m training evaluator train --out FILE``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastenv.options import parse_option
from training.run import files, machine
from training.run.command_line import add_runs, described, exit_status, new_parser
from training.run.options import require

if TYPE_CHECKING:
    from rich.console import Console

ABOUT = """\
Train and compare evaluators of Dr. Mario. An evaluator predicts the distribution of frames to clear
a bottle. The player lookahead:FILE tries every placement and plays the one with the best value.
"""
HELD_BACK = 77_000_000  # seeds of generators that no training has


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("evaluator", ABOUT, "train --out judge.safetensors", "PART [options]")
    parts = parse.add_subparsers(dest="part", required=True, metavar="PART")
    about = "Train an evaluator on games of a bot."
    example = "--out judge.safetensors"
    add: dict[str, Any] = described("evaluator train", about, example, "--out FILE [options]")
    trained = parts.add_parser("train", help=about, **add)
    out = "evaluator to write, safetensors"
    trained.add_argument("--out", type=Path, required=True, metavar="FILE", help=out)
    about = "option, such as bot_games=4000 or fit.NAME=VALUE; repeatable"
    trained.add_argument(
        "--set", action="append", type=_parse_setting, default=[], metavar="X=Y", help=about
    )
    about = "Measure the calibration of the predicted quantiles on games outside the training set."
    add = described("evaluator calibrate", about, "judge.safetensors", "FILE [options]")
    calibrated = parts.add_parser("calibrate", help=about, **add)
    calibrated.add_argument("file", type=Path, help="evaluator, as written by train")
    about = "player of the games; default: that of the training"
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
    return parse_option(text.replace("fit.", "fit_", 1))


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: _run(args))


def _run(args: argparse.Namespace) -> None:
    from rich.console import Console

    if args.out is not None:
        files.prepare("--out", args.out)
    run = {"train": _train, "calibrate": _calibrate, "compare": _compare}[args.part]
    record = run(args, Console(highlight=False))
    if record is not None and args.out is not None:
        files.write_json(args.out, {**machine.taken_on(), args.part: record})


def _train(args: argparse.Namespace, console: Console) -> None:
    """Train, and write the file."""
    import torch

    from training.apps.drmario.evaluator import model, train

    values: dict[str, Any] = {}
    for name, value in args.set:
        inner = name.removeprefix("fit_")
        (values.setdefault("fit", {}) if inner != name else values)[inner] = value
    config = train.TrainConfig.from_mapping(values)
    model.FILE.library()
    torch.set_num_threads(1)
    train.train(config, console.print).save(args.out)
    console.print(f"{args.out}: {args.out.stat().st_size / 1e6:.1f} MB")


def _calibrate(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Compare quantiles and outcomes; print and return it."""
    from training.apps.drmario.evaluator import measure, model, samples
    from training.apps.drmario.players import find_player
    from training.evaluation.tables import make_table

    evaluator = model.load(args.file)
    head = evaluator.head
    player, options = find_player(args.player or head.about["bot"], flag="--player")
    require(options is None, "--player", args.player, "a bot or lookahead:FILE")
    games = samples.Games(
        count=args.games,
        levels=head.levels,
        speeds=head.speeds,
        odd=True,
        seed=HELD_BACK + args.seed,
        explore=0.0,
    )
    result = measure.calibration(evaluator, samples.play(player, games))
    title = f"{args.file}: {result['games']} games, {result['decisions']:,} decisions"
    shown = make_table(title, None, (), ("quantile", "outcomes at or below", "95 %"))
    names = ("deciles", "shares", "intervals")
    for decile, share, (low, high) in zip(*(result[name] for name in names), strict=True):
        shown.add_row(f"{decile:.1f}", f"{share:.3f}", f"{low:.3f} to {high:.3f}")
    console.print(shown)
    means = f"frames {result['frames_mean']:,.0f}, said {result['said_mean']:,.0f}"
    console.print(f"{means}; farthest {result['worst']:.3f}")
    return result


def _compare(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Let players play; print and return their results."""
    from training.apps.drmario.evaluator import measure
    from training.evaluation.intervals import Interval
    from training.evaluation.tables import format_interval, make_table

    for flag, values in (("WHO", args.who), ("--levels", args.levels)):
        require(len(values) == len(set(values)), flag, values, "different from each other")
    require(args.games >= 1, "--games", args.games, "at least 1")
    require(0 <= args.seed < 2**31, "--seed", args.seed, "from 0 to 2,147,483,647")
    seed = HELD_BACK + args.seed
    results = measure.compare(args.who, args.runs, args.levels, args.speed, args.games, seed)
    title = f"{args.games} games a level, {args.speed} speed"
    figures = {"clear": "cleared %", "frames_to_clear": "frames to clear"}
    figures[f"cvar_{measure.TAIL:g}"] = f"CVaR {100 * measure.TAIL:g}"
    shown = make_table(title, None, ("level", "who"), figures.values())
    for level, played in results["levels"].items():
        for name, record in played.items():
            cells = (
                format_interval(
                    Interval.from_list(record[each]), 1, 100 if each == "clear" else 1, ","
                )
                for each in figures
            )
            shown.add_row(level, name, *cells)
    console.print(shown)
    for name, decisions in results["decisions_per_cpu_s"].items():
        console.print(f"{name}: {decisions:,.0f} decisions a CPU second")
    return results
