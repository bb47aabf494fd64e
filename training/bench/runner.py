"""The runner of all suites: it measures rows, judges them by targets, prints and records.

A suite lists rows and targets. ``args`` are the options of ``training.benchmark_v9`` throughout.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from fastenv.errors import ConfigError
from training.bench import floors, progress, records, tables
from training.bench.suite import Options, Suite
from training.bench.targets import Row
from training.evaluation.judging import MILESTONES, get_judging
from training.run import files, machine
from training.run.folder import RunFolder

# What ``--only`` takes; records have these names.
PARTS = (
    *("configs", "trainers", "bars"),
    *("training", "flags", "views", "replay", "replay_steps", "scale", "search"),
)


def suites() -> dict[str, Suite]:
    """Return all suites in the order in which they are measured; they bring torch and SB3."""
    from training.bench.suites import (
        configs,
        flags,
        replay,
        replay_steps,
        scale,
        search,
        throughput,
        trainers,
        training,
        views,
    )

    replays = (replay, replay_steps)
    modules = (throughput, trainers, training, flags, views, *replays, scale, search, configs)
    return {module.SUITE.name: module.SUITE for module in modules}


def chosen(args: argparse.Namespace) -> list[Suite]:
    """Return the suites that a command line asks for.

    Without ``--config`` the usual ones belong to the run; ``--config`` asks for configurations.
    """
    every = suites()
    if args.only is not None:
        return [every[args.only]]
    usual = [suite for suite in every.values() if suite.usual and args.config is None]
    return [*usual, every["configs"]]


def check(args: argparse.Namespace) -> None:
    """Refuse numbers that cannot be measured with, before anything is measured.

    Raises
    ------
    ConfigError
        Names the option.
    """
    least = {"repeats": 1, "steps": 1, "lanes": 1, "games": 0, "max_mem_delta": 0}
    for name, lowest in least.items():
        value = getattr(args, name)
        if value is not None and value < lowest:
            option = name.replace("_", "-")
            raise ConfigError(f"--{option} {value}: must be at least {lowest}.")
    floors.check_share(args.floor_share)
    if args.record:
        record_path(args)
        records.check_clean()
    if args.seconds is not None and not 0 < args.seconds < math.inf:
        raise ConfigError(f"--seconds {args.seconds:g}: must be a finite number above 0.")


def measure(args: argparse.Namespace, console: Console, head: Row | None = None) -> list[Row]:
    """Run what the command line asks for, print it, and return the rows, the head first.

    Parameters
    ----------
    args : Namespace
    console : Console
    head : dict, optional
        The first row; default a new one.

    Raises
    ------
    ConfigError
        For an unknown configuration or flag, or a number that nothing can be measured with.
    """
    from training.bench.suites import configs

    check(args)
    configs.chosen(args)
    reached = [milestone_row(RunFolder.find(name, args.runs)) for name in args.milestones or ()]
    begin = time.perf_counter()
    rows = [records.head() if head is None else head]
    console.print(tables.machine_line(rows[0]))
    for milestone in reached:
        console.print(get_judging(milestone["env"]).get_milestones().table(milestone))
    rows += reached
    for suite in chosen(args):
        rows += suite.run(Options(args, console))
    rows[0]["load_after"] = machine.load()
    rows[0]["wall_s"] = round(time.perf_counter() - begin, 1)
    console.print(f"measured in {rows[0]['wall_s']} s, load {machine.load()}")
    return rows


def milestone_row(run: RunFolder) -> Row:
    """Make the row of a run's milestones, as ``training compare milestones`` has written them.

    Raises
    ------
    ConfigError
        If it has not.
    """
    try:
        record = json.loads((run.path / MILESTONES).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{run.path} has no {MILESTONES}: run python -m training compare milestones first."
        ) from error
    return {"kind": "milestones", **record}


def record_path(args: argparse.Namespace) -> str:
    """Return the name of the record of what is measured, one for each kind.

    Raises
    ------
    ConfigError
        If only a part of a kind is measured, or something else than usual.
    """
    from training.bench import games

    whole = args.only is not None and not (args.config or args.set or args.milestones)
    alone = [game for game in games.registered() if game.throughput and game.throughput.alone]
    possible = [None, *(game.name for game in alone if args.only == "bars")]
    if not whole or args.game not in possible:
        named = " or ".join(f"--only bars --game {game.name}" for game in alone)
        raise ConfigError(
            f"--record needs --only {', '.join(PARTS)} as it is by default, or {named}: records "
            "are compared."
        )
    return f"{'-'.join(filter(None, (args.only, args.game)))}.jsonl"


def run(args: argparse.Namespace, console: Console) -> int:
    """Measure what a command line asks for, write and record it; return the exit status."""
    out = args.out or Path("runs") / datetime.now(UTC).strftime("bench-%Y%m%d-%H%M%S.jsonl")
    files.prepare("--out", out)
    check(args)
    head = records.head()
    with progress.written_to(out, head):
        rows = measure(args, console, head)
    records.write(out, rows)
    console.print(f"rows in {out}")
    judged = floors.judge(rows, args.floor_share) if args.enforce_floor else []
    if args.record:
        kept = records.keep(record_path(args), rows, rows[0], rows[1:])
        console.print(f"it is the record {kept}, and in the history")
    below = [verdict for verdict in judged if not verdict["pass"]]
    for verdict in below:
        print(f"error: {floors.sentence(verdict)}", file=sys.stderr)
    if judged:
        console.print(floors.summary(judged, rows))
    missed = any(row["kind"] == "bar" and row["pass"] is False for row in rows)
    return 1 if below or (missed and args.enforce) else 0
