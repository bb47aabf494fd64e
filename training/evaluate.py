"""Evaluate a run, or ``--bots`` without one: ``python -m training evaluate RUN``.

The game decides what is played (:mod:`training.games`): whole games on duplicate deals against sets
of bots, or episodes that the agent and all bots play alike. Nothing here draws from a training
generator, and no evaluation seed is a training seed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastenv.errors import ConfigError
from fastenv.options import parse_option
from fastenv.registry import short_id
from training.run import files, machine
from training.run.command_line import SAMPLE, add_runs, exit_status, new_parser
from training.run.registry import DEFAULT_ENVS
from training.run.seating import base_of, is_search, split_names

if TYPE_CHECKING:  # the help need not wait for it
    from training.run.config import EvaluationConfig, RunConfig
    from training.run.folder import RunFolder
    from training.search.agent import SearchAgent

ABOUT = """\
Evaluate a trained run, bots (--bots), or several agents (--against).
"""
# Options that only some of the ways to evaluate have a use for, those of some games first.
_OPTIONS = (
    *("episodes", "games", "opponents", "only", "time_max", "max_steps", "best_times"),
    *("checkpoint", "member", "replays", "bot", "run_id", "output_path", "set", "env", "sample"),
)
_OF_BOTS = ("episodes", "seed", "max_steps", "time_max", "opponents")  # if the game has them
_IN_ITS_PLACE = {"episodes": "games", "games": "episodes"}  # what says how much is played
_SETTINGS = ("games", "episodes", "opponents", "seed", "max_steps", "replays")


@dataclass(frozen=True)
class Way:
    """A way to evaluate.

    Parameters
    ----------
    what : str
        What refusals of other options call it.
    uses : tuple of str
        The options that it has a use for, of those that only some ways have.
    play : callable
        Plays, and prints the results; returns the record for ``--output-path``.
    """

    what: str
    uses: tuple[str, ...]
    play: Callable[[], Mapping[str, Any]]


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
    add("--only", choices=("matches", "goals"), help="play only this part")
    add("--time-max", type=float, help="maximum ticks of an episode")
    add("--max-steps", type=int, help="maximum decisions of an episode")
    about = "SQLite file of best times to update"
    add("--best-times", type=Path, metavar="FILE", help=about)
    return parse


def refuse_unused(args: argparse.Namespace, way: Way) -> None:
    """Refuse options that the evaluation does not use.

    Raises
    ------
    ConfigError
        Names the first of them.
    """
    for name in _OPTIONS:
        value = getattr(args, name)
        if name not in way.uses and value is not None:
            flag = "--" + name.replace("_", "-")
            other = _IN_ITS_PLACE.get(name)
            instead = f"; use --{other} {value}" if other in way.uses else ""
            raise ConfigError(
                f"{flag} {value}: must be left out with {way.what}: it is not used there{instead}."
            )


def find_way(args: argparse.Namespace) -> Way:
    """Find the way to evaluate that a command line asks for.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If there is none, or no such agent.
    """
    if args.bots != (args.run is None) or (args.bots and args.against):
        raise ConfigError("evaluate either a RUN or --bots.")
    from training.evaluation.judging import get_judging
    from training.run.folder import RunFolder

    if args.bots:
        env = short_id(args.env or DEFAULT_ENVS["bots"])
        own = (name for name in get_judging(env).uses if name in _OF_BOTS)
        uses = (*own, "env", "bot", "run_id", "output_path")
        return Way("--bots", uses, partial(play_bots, args, env))
    if args.against is not None and not _meets_nobody(args):
        uses = ("games", "set", "env", "sample", "output_path")
        return Way("--against", uses, partial(play_table, args))
    if is_search(args.run):
        run, name, searcher = _load_searcher(args)
        uses = ("checkpoint", "member", "output_path")
        play = partial(evaluate_run, args, run, name, searcher)
    else:
        run = RunFolder.find(args.run, args.runs)
        uses = ("checkpoint", "member", "replays", "sample")
        play = partial(evaluate_run, args, run, args.checkpoint)
    if args.against is not None:
        uses, play = ("sample", "output_path"), partial(play_beside, args, run)
    env = run.config.env
    return Way(f"a run of {env}", (*get_judging(env).uses, *uses), play)


def _load_searcher(args: argparse.Namespace) -> tuple[RunFolder, str | None, SearchAgent]:
    """Load a trained agent that searches; return its run and checkpoint too."""
    from training.players.trained import find_run
    from training.search import agent

    searcher = agent.load(args.run, args.runs, checkpoint=args.checkpoint, member=args.member)
    if isinstance(searcher.base, str):
        raise ConfigError(
            f"{args.run}: {searcher.base} is no trained agent; a bot that searches is evaluated by "
            f"--bots --bot {args.run}, or at a table with --against."
        )
    return *find_run(searcher.base.path), searcher


def _meets_nobody(args: argparse.Namespace) -> bool:
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


def play_bots(args: argparse.Namespace, env: str) -> dict[str, Any]:
    """Evaluate scripted players alone."""
    from training.evaluation import side_by_side, tables

    settings = {name: getattr(args, name) for name in _OF_BOTS if getattr(args, name) is not None}
    if args.opponents is not None:
        settings["opponents"] = [*split_names(args.opponents)]
    return {
        "run_id": args.run_id or f"bots-{machine.now()}",
        "generated_at": machine.now(),
        **side_by_side.play_bots(tables.console(), env, args.bot, settings),
        **machine.taken_on(),
    }


def play_table(args: argparse.Namespace) -> dict[str, Any]:
    """Evaluate agents and bots at one table."""
    from training.evaluation import contest, standings, tables

    players = contest.load_players([args.run, *args.against], args.runs)
    games = 1000 if args.games is None else args.games
    options = dict(args.set or ())
    settings: dict[str, Any] = {"seed": args.seed or 0, "sample": args.sample}
    results = contest.contest(players, games, env=args.env, options=options, **settings)
    standings.show(tables.console(), results)
    return {**machine.taken_on(), **results.record(), "set": options}


def play_beside(args: argparse.Namespace, run: RunFolder) -> dict[str, Any]:
    """Evaluate agents and bots of a game for one on the same episodes."""
    from training.evaluation import side_by_side, tables

    how = (*_make_settings(args, run.config), bool(args.sample))
    record = side_by_side.compare_agents(tables.console(), run, args.against, args.runs, *how)
    return {**record, **machine.taken_on()}


def evaluate_run(
    args: argparse.Namespace,
    run: RunFolder,
    name: str | None,
    searcher: SearchAgent | None = None,
) -> dict[str, Any]:
    """Evaluate a run, or its agent with search, by the options of a command over its config's."""
    options, further = _make_settings(args, run.config)
    from training.evaluation import tables
    from training.evaluation.run_evaluation import evaluate

    options = options if searcher is None else options.replace(replays=0)
    which: dict[str, Any] = {"name": name, "member": args.member, "searcher": searcher}
    return evaluate(run, options, tables.console(), **which, sample=bool(args.sample), **further)


def _make_settings(
    args: argparse.Namespace, config: RunConfig
) -> tuple[EvaluationConfig, dict[str, Any]]:
    """Make the options of a run's evaluation, and its further arguments."""
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
    way = find_way(args)
    refuse_unused(args, way)
    if args.output_path is not None:
        files.prepare("--output-path", args.output_path)
    record = way.play()
    if args.output_path is not None:
        files.write_json(args.output_path, record)


if __name__ == "__main__":
    sys.exit(main())
