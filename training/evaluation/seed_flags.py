"""Shared by commands that train runs over seeds and evaluate them: their flags."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.run.command_line import add_runs
from training.run.seating import split_names

if TYPE_CHECKING:  # the help of a command need not wait for it
    from training.run.config import EvaluationConfig, RunConfig


@dataclass(frozen=True)
class Variant:
    """The options of a variant that differ from those of the others.

    Parameters
    ----------
    name : str
    file : str or None
        A config file in the place of the common one.
    options : tuple of str
        ``OPTION=VALUE``, over file and common options.
    """

    name: str
    file: str | None = None
    options: tuple[str, ...] = ()


def add_flags(parse: argparse.ArgumentParser, name: str) -> None:
    """Add the flags; ``name`` is the default name of runs and report."""
    parse.add_argument("--env", help="environment id of all runs")
    parse.add_argument("--config", help="YAML or JSON file of training options")
    parse.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", help="any training option"
    )
    parse.add_argument("--total-steps", help="decisions of each training, such as 2e6 or 2M")
    parse.add_argument(
        "--games", type=int, default=1000, help="games per opponent set, or episodes; default 1000"
    )
    about = "opponent sets, separated by commas; default: the game's own"
    parse.add_argument("--opponents", metavar="NAMES", help=about)
    parse.add_argument(
        "--name", default=name, help=f"name of the report and prefix of the runs; default {name}"
    )
    add_runs(parse)


def train_flags(args: argparse.Namespace, file: str | None, options: Sequence[str]) -> list[str]:
    """Return the flags of ``training train`` for one of the runs, but those of name and seed.

    Parameters
    ----------
    args : argparse.Namespace
    file : str or None
        Of options.
    options : sequence of str
        ``OPTION=VALUE``.
    """
    values = {"config": file, "env": args.env, "total-steps": args.total_steps}
    flags = [f"--{name}={value}" for name, value in values.items() if value is not None]
    return [*flags, *(f"--set={text}" for text in options)]


def refuse_options(assignments: Sequence[str], left: Mapping[str, str]) -> None:
    """Refuse options that a command decides itself and would overwrite silently.

    Parameters
    ----------
    assignments : sequence of str
        ``OPTION=VALUE``.
    left : mapping of str to str
        What each option, or a section of them, is left to, such as ``--seeds``.

    Raises
    ------
    ConfigError
        Names the first of them.
    """
    from training.run.config_files import parse_assignments
    from training.run.folder import flatten
    from training.run.options import require

    for option, value in flatten(parse_assignments(assignments)).items():
        for name, flag in left.items():
            require(not f"{option}.".startswith(f"{name}."), option, value, f"left to {flag}")


def left_to_flags(args: argparse.Namespace) -> dict[str, str]:
    """Return the options that flags of a command over seeds decide, with these flags."""
    flags = {"env": "--env"} if args.env is not None else {}
    flags |= {"total_steps": "--total-steps"} if args.total_steps is not None else {}
    return {"seed": "--seeds", "name": "--name", **flags}


def prepare_report(path: Path, is_ours: Callable[[Mapping[str, Any]], bool], what: str) -> None:
    """Make the folder of a report, and refuse to replace another file than an earlier one.

    Parameters
    ----------
    path : Path
        Of the report, which ``--name`` names.
    is_ours : callable
        Tells whether an object is an earlier report that this one replaces.
    what : str
        What an earlier one is, such as "report of this sweep".

    Raises
    ------
    ConfigError
    """
    from training.run import files
    from training.run.options import require

    files.prepare("--name", path)
    ours = not path.exists() or is_ours(files.read_object(path))
    require(ours, "--name", path.stem, f"another one: {path} is there, and is no {what}")


def evaluation_of(args: argparse.Namespace, config: RunConfig) -> EvaluationConfig:
    """Return the options of the evaluation of the trained agents."""
    from training.evaluation.judging import get_judging

    judging = get_judging(config.env)
    opponents = judging.compared_against
    if args.opponents is not None:
        opponents = split_names(args.opponents)
    played = config.evaluated_by(games=args.games, episodes=args.games, opponents=opponents)
    judging.check_run(played)
    return played.evaluation
