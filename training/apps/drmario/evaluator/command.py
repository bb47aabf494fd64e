"""Evaluators of Dr. Mario: ``python -m training evaluator train --out FILE``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastenv.options import parse_option
from training.apps.drmario.compare import LANES, T_MAX, compare, load_player, play_games
from training.evaluation.intervals import Interval, Resamples
from training.run import files, machine
from training.run.command_line import add_runs, described, exit_status, new_parser
from training.run.options import require

if TYPE_CHECKING:
    from rich.console import Console

    from training.apps.drmario.evaluator.model import Evaluator

ABOUT = """\
Train and compare evaluators of Dr. Mario. An evaluator predicts the distribution of frames to clear
a bottle. The player lookahead:FILE tries every placement and plays the one with the best value.
"""
HELD_BACK = 77_000_000  # seeds of generators that no training has
DECILES = tuple(k / 10 for k in range(1, 10))
MOST = 400  # decisions after which a game that is played for its quantiles is given up


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
    about = "option, such as bot_games=4000; repeatable"
    trained.add_argument(
        "--set", action="append", type=parse_option, default=[], metavar="X=Y", help=about
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


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: _run(args))


def _run(args: argparse.Namespace) -> None:
    from rich.console import Console

    if args.out is not None:
        files.prepare("--out", args.out)
    if args.part == "train":
        _train(args, Console(highlight=False))
        return
    require(args.games >= 1, "--games", args.games, "at least 1")
    require(0 <= args.seed < 2**31, "--seed", args.seed, "from 0 to 2,147,483,647")
    run = {"calibrate": _calibrate, "compare": _compare}[args.part]
    record = run(args, Console(highlight=False))
    if args.out is not None:
        files.write_json(args.out, {**machine.taken_on(), args.part: record})


def _train(args: argparse.Namespace, console: Console) -> None:
    """Train, and write the file."""
    import torch

    from training.apps.drmario.evaluator import model, train

    config = train.TrainConfig.from_mapping(dict(args.set))
    model.FILE.library()
    torch.set_num_threads(1)
    train.train(config, console.print).save(args.out)
    console.print(f"{args.out}: {args.out.stat().st_size / 1e6:.1f} MB")


# -- calibration -----------------------------------------------------------------------------------


def _calibrate(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Compare quantiles and outcomes; print and return it."""
    from training.apps.drmario.evaluator import model, samples
    from training.evaluation.tables import make_table

    evaluator = model.load(args.file)
    head, seed = evaluator.head, HELD_BACK + args.seed
    player, options = load_player(args.player or head.about["bot"], flag="--player")
    require(options is None, "--player", args.player, "a bot or lookahead:FILE")
    games = samples.draw_games(args.games, head.levels, head.speeds, seed, odd=True)
    result = measure_calibration(evaluator, samples.play(player, games, most=MOST, seed=seed))
    title = f"{args.file}: {result['games']} games, {result['decisions']:,} decisions"
    shown = make_table(title, None, (), ("quantile", "outcomes at or below", "95 %"))
    names = ("deciles", "shares", "intervals")
    for decile, share, (low, high) in zip(*(result[name] for name in names), strict=True):
        shown.add_row(f"{decile:.1f}", f"{share:.3f}", f"{low:.3f} to {high:.3f}")
    console.print(shown)
    means = f"frames {result['frames_mean']:,.0f}, said {result['said_mean']:,.0f}"
    console.print(f"{means}; farthest {result['worst']:.3f}")
    return result


def measure_calibration(evaluator: Evaluator, samples: np.ndarray) -> dict[str, Any]:
    """Compare predictions of an evaluator with the outcomes.

    Parameters
    ----------
    evaluator : Evaluator
    samples : ndarray of SAMPLE
        Of games that it was not trained on; those that were given up are left out.

    Returns
    -------
    dict
        JSON values: ``deciles``, ``shares`` of the outcomes at or below each, their 95 %
        ``intervals`` by a bootstrap over games (decisions of a game are not independent), the
        ``worst`` distance of a share from its decile, the numbers of ``decisions`` and ``games``,
        the means of the frames to the clear and of what was said, and the share of the variance
        that these means explain.

    Raises
    ------
    ConfigError
        If no game came to an end.
    """
    from training.apps.drmario.evaluator.model import weigh
    from training.apps.drmario.evaluator.samples import CENSORED, cap_frames

    ended = samples["outcome"] != CENSORED
    require(bool(ended.any()), "games", 0, "at least one that comes to an end")
    outcomes = cap_frames(samples, evaluator.head.t_max)[ended]
    quantiles = evaluator.quantiles(samples["seen"][ended])
    weights = [weigh(f"quantile{decile:g}", quantiles.shape[1]) for decile in DECILES]
    below = outcomes[:, None] <= quantiles @ np.stack(weights, 1)
    means, shares = quantiles.mean(1), below.mean(0)
    game = np.concatenate([[0], np.cumsum(samples["left"][ended] == 0)[:-1]])
    sums = np.stack([np.bincount(game, b) for b in below.T.astype(float)], 1)
    sizes = np.tile(np.bincount(game)[:, None], len(DECILES))
    intervals = Resamples(sums, sizes, resamples=200, seed=0).intervals()
    left = np.square(outcomes - means).mean() / max(float(outcomes.var()), 1e-9)
    return {
        "deciles": list(DECILES),
        "shares": shares.tolist(),
        "intervals": [[each.low, each.high] for each in intervals],
        "worst": float(np.abs(shares - DECILES).max()),
        "decisions": len(outcomes),
        "games": len(sums),
        "frames_mean": float(outcomes.mean()),
        "said_mean": float(means.mean()),
        "explained": float(1.0 - left),
    }


# -- comparison ------------------------------------------------------------------------------------


def _compare(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Let players play the same games; print and return their results.

    The record has, by level and name, the share of clears, the frames to them, the CVaR of the
    worst quarter, and the differences from the first player; and how many decisions each look-ahead
    takes in a CPU second at the highest level.
    """
    from training.apps.drmario.evaluator.lookahead import LOOKAHEAD
    from training.apps.drmario.evaluator.samples import draw_games
    from training.evaluation.tables import format_interval, make_table

    for flag, values in (("WHO", args.who), ("--levels", args.levels)):
        require(len(values) == len(set(values)), flag, values, "different from each other")
    players = {name: load_player(name, args.runs) for name in args.who}
    seed = HELD_BACK + args.seed
    levels: dict[str, Any] = {}
    speeds: dict[str, float] = {}
    figures = {"clear": "cleared %", "frames_to_clear": "frames to clear", "cvar_0.25": "CVaR 25"}
    title = f"{args.games} games a level, {args.speed} speed"
    shown = make_table(title, None, ("level", "who"), figures.values())
    for level in args.levels:
        games = draw_games(args.games, (level, level), (args.speed,), seed, odd=True)
        played = {
            name: play_games(player, games, options, seed=seed)
            for name, (player, options) in players.items()
        }
        for name, found in compare(played):
            record = {"games": args.games} | {key: found[key] for key in found if key in figures}
            record["cvar_0.25"] = found["cvar_25"]
            if "less_first" in found:
                less = found["less_first"]
                record["less_first"] = {"mean": less["cost"], "tail": less["cvar_25"]}
            levels.setdefault(str(level), {})[name] = record
            cells = (
                format_interval(Interval.from_list(record[key]), 1, 1 + 99 * (key == "clear"), ",")
                for key in figures
            )
            shown.add_row(str(level), name, *cells)
        if level == max(args.levels):
            costs = {name: each.costs["player"] for name, each in played.items()}
            looking = {name: cost for name, cost in costs.items() if name.startswith(LOOKAHEAD)}
            speeds = {name: cost.decisions / cost.cpu_s for name, cost in looking.items()}
    console.print(shown)
    for name, decisions in speeds.items():
        console.print(f"{name}: {decisions:,.0f} decisions a CPU second")
    about = {"speed": args.speed, "games": args.games, "seed": seed, "lost_counts": T_MAX}
    batch = min(LANES, args.games)
    return {**about, "batch": batch, "levels": levels, "decisions_per_cpu_s": speeds}
