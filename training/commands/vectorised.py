"""Compare ways to step many environments: ``python -m training benchmark vectorised``."""

from __future__ import annotations

import argparse
from pathlib import Path

from training.bench import vectorised
from training.evaluation import tables
from training.run.command_line import exit_status, new_parser
from training.run.registry import DEFAULT_ENVS

ABOUT = """\
Compare the speed of the engine with Gymnasium's SyncVectorEnv and AsyncVectorEnv. Reports, for each
and each number of environments: frames and decisions per second, the time to create and to reset,
milliseconds per step, the overhead share of a step, and memory growth. CPU time is that of all
processes, the workers of "async" included.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("benchmark vectorised", ABOUT, "--num-envs 1 8 64")
    usual = DEFAULT_ENVS["vectorised"]
    parse.add_argument("--env", default=usual, help=f"environment id; default {usual}")
    about = "option of the environment; repeatable"
    parse.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help=about)
    ways, about = vectorised.WAYS, "what to measure; default: all"
    parse.add_argument("--ways", nargs="+", choices=ways, default=ways, help=about)
    counts, about = [1, 2, 4, 8, 16], "numbers of environments; default 1 2 4 8 16"
    parse.add_argument("--num-envs", type=int, nargs="+", default=counts, metavar="N", help=about)
    parse.add_argument("--steps", type=int, default=64, help="batch steps per repeat; default 64")
    parse.add_argument("--repeats", type=int, default=3, help="repeats; default 3")
    parse.add_argument("--seed", type=int, default=0, help="seed; default 0")
    parse.add_argument(
        "--record", action="store_true", help="replace the environment's record in benchmarks/"
    )
    parse.add_argument(
        "--out", type=Path, help="FILE.json to write; FILE.csv is written next to it"
    )
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: vectorised.run(args, tables.console()))
