"""Evaluate a run, or ``--bots`` without one: ``python -m training evaluate RUN``.

The game decides what is played (:mod:`training.games`): whole games on duplicate deals against sets
of bots, or episodes that the agent and all bots play alike. Nothing here draws from a training
generator, and no evaluation seed is a training seed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastenv.errors import ConfigError
from fastenv.options import parse_option
from fastenv.registry import short_id
from training.run import files, machine
from training.run.command_line import SAMPLE, add_runs, exit_status, new_parser
from training.run.names import base_of, is_search, split_names
from training.run.registry import DEFAULT_ENVS

if TYPE_CHECKING:  # the help need not wait for it
    from training.run.config import RunConfig
    from training.run.sections import EvaluationConfig

ABOUT = """\
Evaluate a trained run, bots (--bots), or several agents (--against).
"""
# Options that only some of what can be evaluated has a use for.
_OF_GAMES = (
    *("episodes", "games", "opponents", "bids", "only", "time_max", "max_steps"),
    "best_times",
)
_OF_BOTS = ("bot", "run_id", "output_path")
_OF_RUNS = ("checkpoint", "member", "replays")
_OF_TABLES = ("set",)
_AT_TABLES = ("games",)
_IN_ITS_PLACE = {"episodes": "games", "games": "episodes"}  # what says how much is played
_SETTINGS = ("games", "episodes", "opponents", "bids", "seed", "max_steps", "replays")


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("evaluate", ABOUT, "first --replays 3", "RUN | --bots [options]")
    parse.add_argument("run", nargs="?", help="a run; search:RUN,worlds=16 adds search")
    add = parse.add_argument
    about = "evaluation seed; seed of the first episode"
    add("--seed", "--base-seed", type=int, metavar="N", help=about)
    about = "name, or best; default: the newest checkpoint"
    add("--checkpoint", metavar="NAME", help=about)
    add("--member", type=int, help="network of an ensemble, from 1; default 1")
    add("--sample", action="store_true", default=None, help=SAMPLE)
    add("--replays", type=int, help="number of best episodes to record")
    add_runs(parse)
    add("--output-path", type=Path, help="JSON report to write, where no run is evaluated")
    add("--against", nargs="+", metavar="WHO", help="agents and bots to compare with")
    about = "with --against: option of the environment"
    add("--set", action="append", type=parse_option, metavar="X=Y", help=about)
    about = f"id for --bots (default {DEFAULT_ENVS['bots']}), --against"
    add("--env", metavar="ID", help=about)
    add("--bots", action="store_true", help="evaluate only bots, without a run")
    add("--bot", action="append", help="with --bots: evaluate only this bot; repeatable")
    add("--run-id", help="with --bots: name of the report")
    add = parse.add_argument_group("options of some games").add_argument
    add("--episodes", type=int, help="episodes, or rounds of the goals comparison")
    add("--games", type=int, help="whole games for each opponent set")
    add("--opponents", metavar="NAMES", help="opponent sets, separated by commas")
    add("--bids", help="bidder for a Worker: rule_hard or heuristic")
    add("--only", choices=("matches", "goals"), help="play only this part")
    add("--time-max", type=float, help="maximum ticks of an episode")
    add("--max-steps", type=int, help="maximum decisions of an episode")
    about = "SQLite file of best times to update"
    add("--best-times", type=Path, metavar="FILE", help=about)
    return parse


def refuse_unused(args: argparse.Namespace, what: str, names: Iterable[str]) -> None:
    """Refuse options that the evaluation does not use.

    Raises
    ------
    ConfigError
        Names the first of them.
    """
    unused = tuple(names)
    for name in unused:
        value = getattr(args, name)
        if value is not None:
            flag = "--" + name.replace("_", "-")
            other = _IN_ITS_PLACE.get(name)
            instead = f"; use --{other} {value}" if other and other not in unused else ""
            raise ConfigError(
                f"{flag} {value}: must be left out with {what}: it is not used there{instead}."
            )


def play_bots(args: argparse.Namespace) -> None:
    """Evaluate scripted players alone; print the results and, if asked to, write them."""
    from training.evaluation import side_by_side, tables
    from training.evaluation.judging import get_judging

    env = short_id(args.env or DEFAULT_ENVS["bots"])
    names = ("episodes", "seed", "max_steps", "time_max", "opponents")
    settings = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    usable = set(names) & set(get_judging(env).uses)
    unused = (n for n in _OF_GAMES if n not in usable)
    refuse_unused(args, "--bots", (*_OF_RUNS, *_OF_TABLES, "sample", *unused))
    if args.opponents is not None:
        settings["opponents"] = [*split_names(args.opponents)]
    if args.output_path is not None:
        files.prepare("--output-path", args.output_path)
    results = side_by_side.play_bots(tables.console(), env, args.bot, settings)
    if args.output_path is None:
        return
    report = {
        "run_id": args.run_id or f"bots-{machine.now()}",
        "generated_at": machine.now(),
        **results,
        **machine.taken_on(),
    }
    files.write_json(args.output_path, report)


def play_table(args: argparse.Namespace) -> None:
    """Evaluate agents and bots at one table; print the results and, if asked to, write them."""
    unused = [name for name in _OF_GAMES if name not in _AT_TABLES]
    refuse_unused(args, "--against", (*unused, *_OF_RUNS, "bot", "run_id"))
    if args.output_path is not None:
        files.prepare("--output-path", args.output_path)
    from training.evaluation import contest, standings, tables

    players = contest.load_players([args.run, *args.against], args.runs)
    games = 1000 if args.games is None else args.games
    options = dict(args.set or ())
    settings: dict[str, Any] = {"seed": args.seed or 0, "sample": args.sample}
    results = contest.contest(players, games, env=args.env, options=options, **settings)
    standings.show(tables.console(), results)
    if args.output_path is not None:
        report = {**machine.taken_on(), **results.record(), "set": options}
        files.write_json(args.output_path, report)


def play_beside(args: argparse.Namespace) -> None:
    """Evaluate agents and bots of a game for one on the same episodes; print and write likewise."""
    from training.run.folder import RunFolder

    root = args.runs
    run = RunFolder.find(args.run, root)
    options, further = _make_settings(
        args, run.config, (*_OF_RUNS, "bot", "run_id", *_OF_TABLES, "env")
    )
    if args.output_path is not None:
        files.prepare("--output-path", args.output_path)
    from training.evaluation import side_by_side, tables

    how = options, further, bool(args.sample)
    record = side_by_side.compare_agents(tables.console(), run, args.against, root, *how)
    if args.output_path is not None:
        files.write_json(args.output_path, {**record, **machine.taken_on()})


def meets_nobody(args: argparse.Namespace) -> bool:
    """Tell whether the evaluated run is an agent of a game for one player.

    Raises
    ------
    ConfigError
        If it is and searches, since what is compared with it plays the episodes of a run.
    """
    name = base_of(args.run)
    if not any(folder.is_dir() for folder in (Path(name), args.runs / name)):
        return False
    from training.evaluation.side_by_side import is_for_one
    from training.run.folder import RunFolder

    alone = is_for_one(RunFolder.find(name, args.runs).config.env)
    if alone and is_search(args.run):
        raise ConfigError(
            f"{args.run}: in a game for one player all are compared with a run that does not "
            f"search: evaluate {name} --against {args.run}"
        )
    return alone


def evaluate_run(args: argparse.Namespace) -> None:
    """Evaluate a run with the options of a command line over those of its config."""
    from training.run.folder import RunFolder

    run = RunFolder.find(args.run, args.runs)
    options, further = _make_settings(args, run.config, (*_OF_BOTS, *_OF_TABLES, "env"))
    from training.evaluation import tables
    from training.evaluation.run_evaluation import evaluate

    which: dict[str, Any] = {"name": args.checkpoint, "member": args.member}
    evaluate(run, options, tables.console(), **which, sample=bool(args.sample), **further)


def evaluate_search(args: argparse.Namespace) -> None:
    """Evaluate a run whose agent searches; print the record and, if asked to, write it."""
    if args.output_path is not None:
        files.prepare("--output-path", args.output_path)
    from training.evaluation import run_evaluation, tables
    from training.players.trained import find_run, load
    from training.search import agent

    searcher = agent.load(args.run, args.runs, checkpoint=args.checkpoint, member=args.member)
    if isinstance(searcher.base, str):
        raise ConfigError(
            f"{args.run}: {searcher.base} is no trained agent; a bot that searches is evaluated by "
            f"--bots --bot {args.run}, or at a table with --against."
        )
    run, name = find_run(searcher.base.path)
    unused = ("bot", "run_id", "replays", "sample", *_OF_TABLES, "env")
    options, further = _make_settings(args, run.config, unused)
    options = options.replace(replays=0)
    trained = load(run, name, searcher.base.member)
    record = run_evaluation.evaluate_search(
        run, trained, searcher, options, tables.console(), further
    )
    if args.output_path is not None:
        files.write_json(args.output_path, record)


def _make_settings(
    args: argparse.Namespace, config: RunConfig, others: Iterable[str]
) -> tuple[EvaluationConfig, dict[str, Any]]:
    """Make the options of a run's evaluation, and its further arguments."""
    from training.evaluation.judging import get_judging

    used = get_judging(config.env).uses
    unused = (name for name in (*_OF_GAMES, *others) if name not in used)
    refuse_unused(args, f"a run of {config.env}", unused)
    changes = {name: getattr(args, name) for name in _SETTINGS if getattr(args, name) is not None}
    if args.opponents is not None:
        changes["opponents"] = split_names(args.opponents)
    options = config.evaluated_by(**changes).evaluation
    return options, {name: getattr(args, name) for name in ("only", "time_max", "best_times")}


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: _evaluate(args))


def _evaluate(args: argparse.Namespace) -> None:
    if args.bots != (args.run is None) or (args.bots and args.against):
        raise ConfigError("evaluate either a RUN or --bots.")
    if args.against is not None:
        play_beside(args) if meets_nobody(args) else play_table(args)
    elif args.bots:
        play_bots(args)
    else:
        evaluate_search(args) if is_search(args.run) else evaluate_run(args)


if __name__ == "__main__":
    sys.exit(main())
