"""Evaluators of Dr. Mario: ``python -m training.evaluator train --out FILE``.

An evaluator says how many frames a bottle still takes, with the spread; the player lookahead:FILE
tries every placement and takes the one that it likes best.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from fastenv.__main__ import option
from fastenv.errors import FastEnvError
from training.apps.drmario.evaluator import comparison, model, samples
from training.apps.drmario.evaluator.calibration import DECILES, calibration
from training.apps.drmario.evaluator.players import DEPTH, LOOKAHEAD, player_of
from training.apps.drmario.evaluator.samples import Games
from training.apps.drmario.evaluator.train import TrainConfig, train
from training.run import files, machine

HELD_BACK = 77_000_000  # seeds of generators that no training has


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.evaluator", description=__doc__)
    commands = parse.add_subparsers(dest="what", required=True, metavar="command")
    about = "train one, by games of a bot first, then of the look-ahead"
    trained = commands.add_parser("train", help=about, description=about)
    trained.add_argument("--out", type=Path, required=True, metavar="FILE")
    about = f"option: {', '.join(TrainConfig.names())}, or fit.NAME"
    trained.add_argument("--set", action="append", default=[], metavar="X=Y", help=about)
    about = "how far outcomes keep to its quantiles, in games that it was not trained on"
    calibrated = commands.add_parser("calibrate", help=about, description=about)
    calibrated.add_argument("file", type=Path)
    calibrated.add_argument("--player", help="who plays; default who ended its games")
    calibrated.add_argument("--games", type=int, default=500)
    about = "let players play the same games, which no evaluator was trained on"
    compared = commands.add_parser("compare", help=about, description=about)
    compared.add_argument("who", nargs="+", help="bot, lookahead:FILE[:RISK][:depth2], or run")
    compared.add_argument("--levels", type=int, nargs="+", default=[5, 10])
    compared.add_argument("--speed", default="medium")
    compared.add_argument("--games", type=int, default=500)
    compared.add_argument("--runs", type=Path, default=Path("runs"))
    for each in (calibrated, compared):
        each.add_argument("--seed", type=int, default=0, help="which games are drawn")
        each.add_argument("--out", type=Path, metavar="FILE", help="JSON to write")
    return parse


def run_train(args: argparse.Namespace, console: Console) -> None:
    """Train, and write the file after every round."""
    values: dict[str, Any] = {}
    for text in args.set:
        name, value = option(text.replace("fit.", "fit_", 1))
        inner = name.removeprefix("fit_")
        (values.setdefault("fit", {}) if inner != name else values)[inner] = value
    config = TrainConfig.from_mapping(values)
    model.safetensors()
    files.prepare("--out", args.out)
    torch.set_num_threads(1)
    train(config, console.print, lambda evaluator: evaluator.save(args.out))
    console.print(f"{args.out}: {args.out.stat().st_size / 1e6:.1f} MB")


def run_calibrate(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Compare quantiles and outcomes; print and return it."""
    evaluator = model.load(args.file)
    head = evaluator.head
    own = head.about.get("own_rounds", 1) > 0
    depth = DEPTH if head.about.get("own_depth") == 2 else ""
    ended = f"{LOOKAHEAD}{args.file}{depth}" if own else head.about["bot"]
    player = player_of(args.player or ended)
    seed = HELD_BACK + args.seed
    games = Games(args.games, head.levels, head.speeds, odd=True, seed=seed, explore=0.0)
    found = calibration(evaluator, samples.play(player, games))
    shown = Table(title=f"{args.file}: {found.games} games, {found.decisions:,} decisions")
    for heading in ("quantile", "outcomes at or below", "95 %"):
        shown.add_column(heading, justify="right")
    for decile, share, (low, high) in zip(DECILES, found.shares, found.intervals, strict=True):
        shown.add_row(f"{decile:.1f}", f"{share:.3f}", f"{low:.3f} to {high:.3f}")
    console.print(shown)
    console.print(f"frames {found.mean:,.0f}, said {found.said:,.0f}; farthest {found.worst:.3f}")
    return found.record()


def run_compare(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Let players play; print and return how they did."""
    seed = HELD_BACK + args.seed
    found = comparison.compare(args.who, args.runs, args.levels, args.speed, args.games, seed)
    shown = Table(title=f"{args.games} games a level, {args.speed} speed")
    for heading in ("level", "who", "cleared %", "frames to clear", "CVaR 25"):
        shown.add_column(heading)
    for level, played in found["levels"].items():
        for name, record in played.items():
            clear = [100 * x for x in record["clear"]]
            cells = (clear, record["frames_to_clear"], record[f"cvar_{comparison.TAIL:g}"])
            shown.add_row(level, name, *map(_interval, cells))
    console.print(shown)
    for name, decisions in found["decisions_per_cpu_s"].items():
        console.print(f"{name}: {decisions:,.0f} decisions a CPU second")
    return found


def _interval(found: Sequence[float | None]) -> str:
    """Return value, low and high as text; nothing where nothing was cleared."""
    value, *ends = (None if x is None else f"{x:,.1f}" for x in found)
    return "" if value is None else f"{value} [{', '.join(end or '' for end in ends)}]"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args, console = parser().parse_args(argv), Console(highlight=False)
    try:
        if args.what == "train":
            run_train(args, console)
            return 0
        if args.out is not None:
            files.prepare("--out", args.out)
        found = {"calibrate": run_calibrate, "compare": run_compare}[args.what](args, console)
        if args.out is not None:
            head = {"command": machine.command(), "created": machine.now(), **machine.revision()}
            about = {"host": machine.host(), "versions": machine.versions()}
            files.write_json(args.out, {**head, **about, args.what: found})
    except (FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
