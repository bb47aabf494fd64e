"""Ways to step many environments: ``python -m training benchmark vectorised``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.bench.suites import vectorised
from training.evaluation import tables
from training.run.command_line import new_parser
from training.run.registry import DEFAULT_ENVS

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
        return vectorised.run(args, tables.console())
    except (FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
