"""The parts of ``python -m training evaluator``: train, calibrate, compare; each prints."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from training.apps.drmario.evaluator import measure, model, samples, train
from training.apps.drmario.evaluator.lookahead import DEPTH, LOOKAHEAD
from training.apps.drmario.evaluator.samples import Games
from training.apps.drmario.players import find_player
from training.run import files
from training.run.options import require

HELD_BACK = 77_000_000  # seeds of generators that no training has


def run_train(args: argparse.Namespace, console: Console) -> None:
    """Train, and write the file after every round."""
    values: dict[str, Any] = {}
    for name, value in args.set:
        inner = name.removeprefix("fit_")
        (values.setdefault("fit", {}) if inner != name else values)[inner] = value
    config = train.TrainConfig.from_mapping(values)
    model.FILE.library()
    files.prepare("--out", args.out)
    torch.set_num_threads(1)
    train.train(config, console.print, lambda evaluator: evaluator.save(args.out))
    console.print(f"{args.out}: {args.out.stat().st_size / 1e6:.1f} MB")


def run_calibrate(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Compare quantiles and outcomes; print and return it."""
    evaluator = model.load(args.file)
    head = evaluator.head
    own = head.about.get("own_rounds", 1) > 0
    depth = DEPTH if head.about.get("own_depth") == 2 else ""
    ended = f"{LOOKAHEAD}{args.file}{depth}" if own else head.about["bot"]
    player, options = find_player(args.player or ended, flag="--player")
    require(options is None, "--player", args.player, "a bot or lookahead:FILE")
    seed = HELD_BACK + args.seed
    games = Games(args.games, head.levels, head.speeds, odd=True, seed=seed, explore=0.0)
    result = measure.calibration(evaluator, samples.play(player, games))
    title = f"{args.file}: {result['games']} games, {result['decisions']:,} decisions"
    shown = Table(title=title)
    for heading in ("quantile", "outcomes at or below", "95 %"):
        shown.add_column(heading, justify="right")
    names = ("deciles", "shares", "intervals")
    for decile, share, (low, high) in zip(*(result[name] for name in names), strict=True):
        shown.add_row(f"{decile:.1f}", f"{share:.3f}", f"{low:.3f} to {high:.3f}")
    console.print(shown)
    means = f"frames {result['frames_mean']:,.0f}, said {result['said_mean']:,.0f}"
    console.print(f"{means}; farthest {result['worst']:.3f}")
    return result


def run_compare(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Let players play; print and return their results."""
    for flag, values in (("WHO", args.who), ("--levels", args.levels)):
        require(len(values) == len(set(values)), flag, values, "different from each other")
    require(args.games >= 1, "--games", args.games, "at least 1")
    require(0 <= args.seed < 2**31, "--seed", args.seed, "from 0 to 2,147,483,647")
    seed = HELD_BACK + args.seed
    results = measure.compare(args.who, args.runs, args.levels, args.speed, args.games, seed)
    shown = Table(title=f"{args.games} games a level, {args.speed} speed")
    for heading in ("level", "who", "cleared %", "frames to clear", "CVaR 25"):
        shown.add_column(heading)
    for level, played in results["levels"].items():
        for name, record in played.items():
            clear = [100 * x for x in record["clear"]]
            cells = (clear, record["frames_to_clear"], record[f"cvar_{measure.TAIL:g}"])
            shown.add_row(level, name, *map(_format_interval, cells))
    console.print(shown)
    for name, decisions in results["decisions_per_cpu_s"].items():
        console.print(f"{name}: {decisions:,.0f} decisions a CPU second")
    return results


def _format_interval(numbers: Sequence[float | None]) -> str:
    """Format value, low and high as text; nothing where nothing was cleared."""
    value, *ends = (None if x is None else f"{x:,.1f}" for x in numbers)
    return "" if value is None else f"{value} [{', '.join(end or '' for end in ends)}]"
