"""Measure the milestones of runs: ``python -m training compare milestones RUN...``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from fastenv.errors import ConfigError
from training.run import files, machine
from training.run.command_line import add_runs, exit_status, new_parser
from training.run.folder import RunFolder

ABOUT = """\
Measure the steps and the time to the milestones of a game. Every checkpoint of the run is
evaluated, as by "evaluate", on seeds that no training uses. milestones.json in the run folder keeps
the results: with the same options, only new checkpoints are evaluated. Runs that differ only in
their seed are also summarised together: the median and range to each milestone, and the mean of the
final results with its interval over trainings.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("compare milestones", ABOUT, "first --games 400", "RUN... [options]")
    parse.add_argument(
        "run",
        nargs="+",
        help="run folder, or name of a run under --runs; several must differ only in seed",
    )
    parse.add_argument(
        "--out", type=Path, metavar="FILE", help="JSON file for the summary of several runs"
    )
    parse.add_argument(
        "--games", type=int, default=1000, help="games per opponent set; default 1000"
    )
    parse.add_argument("--seed", type=int, help="evaluation seed")
    parse.add_argument("--member", type=int, help="member of an ensemble, from 1; default 1")
    add_runs(parse)
    return parse


def check(runs: Sequence[RunFolder], out: Path | None) -> None:
    """Refuse runs that differ in more than their seed, and ``--out`` for a single run.

    Raises
    ------
    ConfigError
    """
    if len(runs) == 1 and out is not None:
        raise ConfigError("--out: is for several runs; one writes milestones.json in its folder.")
    from training.evaluation.trainings import settings

    for run in runs[1:]:
        if settings(run.config) != settings(runs[0].config):
            raise ConfigError(f"{run.path} and {runs[0].path} differ in more than their seed.")
    if out is not None:
        files.prepare("--out", out)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: _measure(args))


def _measure(args: argparse.Namespace) -> None:
    from training.evaluation import tables
    from training.evaluation.judging import get_milestones

    runs = [RunFolder.find(name, args.runs) for name in args.run]
    check(runs, args.out)
    names = ("games", "seed")
    changes = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    console = tables.console()
    milestones = get_milestones(runs[0].config.env)
    records = []
    for run in runs:
        options = run.config.evaluation.replace(**changes)
        records.append(milestones.measure(run, options, console, args.member))
    if len(runs) > 1:
        summary = milestones.summarise(records)
        console.print(milestones.table_over_seeds(summary))
        if args.out is not None:
            files.write_json(args.out, {**machine.taken_on(), **summary, "runs": records})
            console.print(f"written to {args.out}")
