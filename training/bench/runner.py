"""The runner of all suites: it measures rows, judges them by targets, prints and records.

A suite measures rows; ``benchmarks/targets.toml`` says what is asked of them. ``args`` are the
options of ``training.benchmark_v9`` throughout.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from fastenv.errors import BackendUnavailableError, ConfigError
from training.bench import records, tables, targets, timing
from training.bench.choices import check_numbers
from training.bench.targets import Row
from training.run import files, machine, registry

SHORT_S = 180.0  # of the configurations of a game with --short; the bars take the rest of 5 minutes
GAME_RECORDS = ("gameboy",)  # games whose bars are measured only where they are named


@dataclass(frozen=True)
class BenchmarkOptions:
    """The options of a measurement.

    Parameters
    ----------
    args : Namespace
    console : Console
        For what is to be said beside the tables.
    seconds : float
        Timed work of a repeat, at least.
    """

    args: argparse.Namespace
    console: Console
    seconds: float

    @property
    def repeats(self) -> int:
        """Repeats of each work."""
        return int(self.args.repeats)


@dataclass(frozen=True)
class Suite:
    """Rows that are measured together.

    Parameters
    ----------
    measure : callable
        Takes the options; returns the measured rows.
    check : callable
        Refuses options of the command line that cannot be measured.
    tables : tuple of callable
        Each shows the measured rows; None where it has nothing to show. One serves all suites
        but that of the configurations.
    title : str
        That of the table of targets; ``{repeats}`` and ``{games}`` are filled in.
    targets : tuple of str
        Parts of ``benchmarks/targets.toml`` that judge the rows.
    seconds, short_seconds : float
        Timed work of a repeat, and where it has to be short.
    """

    measure: Callable[[BenchmarkOptions], list[Row]]
    check: Callable[[argparse.Namespace], object] = lambda _: None
    tables: tuple[Callable[[list[Row]], RenderableType | None], ...] = (tables.suite_table,)
    title: str = ""
    targets: tuple[str, ...] = ()
    seconds: float = 2.0
    short_seconds: float | None = None

    def run(self, args: argparse.Namespace, console: Console) -> list[Row]:
        """Measure, judge and show by the options of a command line; return all rows."""
        usual = self.short_seconds if args.short and self.short_seconds else self.seconds
        rows = self.measure(BenchmarkOptions(args, console, float(args.seconds or usual)))
        limit = {"max_mem_delta": args.max_mem_delta}
        judged = [each for part in self.targets for each in targets.judge(part, rows, **limit)]
        shown = [table(rows) for table in self.tables]
        if judged:
            shown.append(tables.target_table(judged, self._make_title(rows, args)))
        for each in shown:
            if each is not None:
                console.print(each)
        return rows + judged

    def _make_title(self, rows: list[Row], args: argparse.Namespace) -> str:
        games = dict.fromkeys(row["game"] for row in rows if "game" in row)
        return self.title.format(repeats=args.repeats, games=", ".join(games))


def load_suite(name: str) -> Suite:
    """Import a suite; it brings torch and Stable-Baselines3.

    Raises
    ------
    ConfigError
        If it is one of ``benchmarks/``, and that folder is not there.
    """
    suite: Suite = load_measurement(registry.SUITES, name, f"--only {name}")
    return suite


def load_measurement(table: registry.Registry, name: str, asked: str) -> Any:
    """Import what a table names and ``benchmarks/`` may have; see :func:`load_suite`.

    Parameters
    ----------
    table : Registry
    name : str
    asked : str
        What asks for it, for errors.
    """
    try:
        return table.load(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "benchmarks":
            raise
        raise ConfigError(
            f"{asked}: its measurements are in benchmarks/ of a checkout of fastenv, and that is "
            "not here. --only configs, profile, matrix and vectorised do without."
        ) from error


def chosen(args: argparse.Namespace) -> list[str]:
    """Return the suites that a command line asks for.

    Without ``--config`` the usual ones belong to the run; ``--config`` asks for configurations.
    """
    if args.only is not None:
        return [args.only]
    return ["configs"] if args.config is not None else ["configs", "bars", "trainers"]


def check(args: argparse.Namespace) -> None:
    """Refuse numbers that cannot be measured with, before anything is measured.

    Raises
    ------
    ConfigError
        Names the option.
    """
    check_numbers(args, repeats=1, steps=1, lanes=1, games=0, max_mem_delta=0)
    records.check_share(args.floor_share)
    if args.record:
        record_path(args)
        records.check_clean()


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
    check(args)
    load_suite("configs").check(args)
    suites = {name: load_suite(name) for name in chosen(args)}
    begin = time.perf_counter()
    rows = [records.head() if head is None else head]
    console.print(tables.machine_line(rows[0]))
    for name, suite in suites.items():
        try:
            rows += suite.run(args, console)
        except BackendUnavailableError as error:
            if args.only is not None:
                raise
            console.print(f"{name}: not measured: {error}", soft_wrap=True)
    rows[0]["load_after"] = machine.load()
    rows[0]["wall_s"] = round(time.perf_counter() - begin, 1)
    console.print(f"measured in {rows[0]['wall_s']} s, load {machine.load()}")
    return rows


def record_path(args: argparse.Namespace) -> str:
    """Return the name of the record of what is measured, one for each kind.

    Raises
    ------
    ConfigError
        If only a part of a kind is measured, or something else than usual.
    """
    whole = args.only is not None and not (args.config or args.set)
    possible = [None, *(GAME_RECORDS if args.only == "bars" else ())]
    if not whole or args.game not in possible:
        named = " or ".join(f"--only bars --game {game}" for game in GAME_RECORDS)
        raise ConfigError(
            f"--record needs --only {', '.join(registry.SUITES)} as it is by default, or {named}: "
            "records are compared."
        )
    return f"{'-'.join(filter(None, (args.only, args.game)))}.jsonl"


def run(args: argparse.Namespace, console: Console) -> int:
    """Measure what a command line asks for, write and record it; return the exit status."""
    out = args.out or Path("runs") / datetime.now(UTC).strftime("bench-%Y%m%d-%H%M%S.jsonl")
    files.prepare("--out", out)
    check(args)
    head = records.head()
    with timing.written_to(out, head):
        rows = measure(args, console, head)
    records.write(out, rows)
    console.print(f"rows in {out}")
    judged = records.judge_floors(rows, args.floor_share) if args.enforce_floor else []
    if args.record:
        kept = records.keep(record_path(args), rows, rows[0], rows[1:])
        console.print(f"it is the record {kept}, and in the history")
    below = [verdict for verdict in judged if not verdict["pass"]]
    for verdict in below:
        print(f"error: {records.floor_sentence(verdict)}", file=sys.stderr)
    if judged:
        console.print(records.floor_summary(judged, rows))
    missed = any(row["kind"] == "bar" and row["pass"] is False for row in rows)
    return 1 if below or (missed and args.enforce) else 0
