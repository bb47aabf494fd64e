"""Ways to step many environments: ``python -m training benchmark vectorised``."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from pathlib import Path
from typing import Any

from rich.table import Table

from fastenv.errors import ConfigError, FastEnvError
from training.bench import history, vectorised
from training.evaluation import tables
from training.run import files
from training.run.command_line import new_parser
from training.run.reading import parse_assignments
from training.run.registry import DEFAULT_ENVS

SHOWN = ("dps_total", "fps_total", "avg_tau", "env_step_ms_p50", "harness_share", "speedup")
ABOUT = """\
Engine, SyncVectorEnv and AsyncVectorEnv side by side. For each and each number of environments:
frames and decisions a second, what creating and resetting takes, milliseconds of a step, the share
of it that is not the environment's, and what is left in memory. CPU time is that of this process:
the workers of "async" have their own.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("benchmark vectorised", ABOUT, "--num-envs 1 8 64")
    parse.add_argument("--env", default=DEFAULT_ENVS["vectorised"])
    parse.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE")
    parse.add_argument("--ways", nargs="+", choices=vectorised.WAYS, default=vectorised.WAYS)
    parse.add_argument("--num-envs", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parse.add_argument("--actions", choices=vectorised.ACTIONS, default="random")
    parse.add_argument("--steps", type=int, default=64, help="batch steps of a repeat")
    parse.add_argument("--repeats", type=int, default=3)
    parse.add_argument("--seed", type=int, default=0)
    parse.add_argument(
        "--record", action="store_true", help="make it the record of its environment in benchmarks/"
    )
    parse.add_argument("--out", type=Path, help="FILE.json; FILE.csv is written beside it")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        from training.bench.benchmark import head  # brings torch

        for name in ("steps", "repeats"):
            if getattr(args, name) < 1:
                raise ConfigError(f"--{name} {getattr(args, name)}: must be at least 1.")
        if min(args.num_envs) < 1:
            raise ConfigError(f"--num-envs {min(args.num_envs)}: must be at least 1.")
        if args.out is not None:
            files.prepare("--out", args.out)
        if args.record:
            history.check_clean()
        options = parse_assignments(args.set)
        plan = vectorised.Plan(args.env, options, args.actions, args.steps, args.repeats, args.seed)
        begin = head()
        rows = vectorised.rows(plan, args.ways, args.num_envs)
        tables.console().print(table(rows))
        best = max(rows, key=lambda row: float(row["dps_total"]))
        kept = ("vectorisation", "num_envs", "dps_total")
        summary = {"best": {name: best[name] for name in kept}}
        arguments = {**vars(args), "out": None if args.out is None else str(args.out)}
        record = {**begin, "arguments": arguments, "summary": summary, "rows": rows}
        if args.record:
            path = history.RECORDS / f"vectorised-{rows[0]['env']}.json"
            files.write_json(path, record)
            history.keep(begin, rows, path)
        if args.out is not None:
            files.write_json(args.out, record)
            files.write_text(args.out.with_suffix(".csv"), as_csv(rows))
    except FastEnvError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def table(rows: list[dict[str, Any]]) -> Table:
    """Return the columns that say most."""
    first = rows[0]
    title = f"{first['env']} {first['options'] or ''}, {first['actions']} feasible, wall time"
    shown = Table("way", "envs", *SHOWN, title=title, title_justify="left")
    for row in rows:
        figures = ("-" if row[name] is None else f"{row[name]:,.4g}" for name in SHOWN)
        shown.add_row(row["vectorisation"], str(row["num_envs"]), *figures)
    return shown


def as_csv(rows: list[dict[str, Any]]) -> str:
    """Return the rows as CSV, a line each."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0]])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
