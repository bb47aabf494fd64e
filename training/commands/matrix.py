"""Find the fastest setting: ``python -m training benchmark matrix --num-envs 64,512``."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from training.bench.choices import FACTORS, WORKLOADS
from training.run.command_line import exit_status, new_parser
from training.run.config import RunConfig

ABOUT = """\
Find the fastest setting among all combinations of the factors or, if they exceed --budget-seconds,
among those that differ from the default in one factor. The best three of mode "trainer" must also
learn as well as the default.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("benchmark matrix", ABOUT, "--num-envs 64,512")
    about = "env_only, trainer; default both"
    parse.add_argument("--modes", default="env_only,trainer", help=about)
    parse.add_argument("--env", default=RunConfig.get_default("env"), help="environment id")
    add, about = parse.add_argument, ", ".join(WORKLOADS)
    add("--workload", choices=WORKLOADS, metavar="W", default="masked_uniform", help=about)
    parse.add_argument("--torch-threads", type=int, metavar="N", help="threads of the network")
    about = "any option of a run; repeatable"
    add("--set", action="append", default=[], metavar="OPTION=VALUE", help=about)
    add("--repeats", type=int, default=3, help="repeats of each setting; default 3")
    add("--seconds", type=float, default=2.0, help="timed seconds per repeat; default 2")
    add("--budget-seconds", type=float, metavar="S", help="time limit of all settings")
    add("--seed", type=int, default=1, help="seed of the order and of the runs")
    about = "steps of the learning check; 0 for no check"
    add("--check-steps", type=int, default=100_000, metavar="N", help=about)
    about = "target; default 100,000"
    add("--target-steps-per-sec", type=float, default=100_000.0, metavar="X", help=about)
    about = "exit 1 if the best mean is below the target"
    add("--enforce-target", action="store_true", help=about)
    about = "time the best settings of FILE against its floors"
    add("--gate", type=Path, metavar="FILE", help=about)
    add("--run-id", metavar="NAME", help="default: commit and UTC time")
    add("--out", type=Path, default=Path("artifacts/throughput/matrix"), help="output folder")
    add("--record", action="store_true", help="replace the record in benchmarks/")
    add("--resume", action="store_true", help="keep the settings that this run has measured")
    factors = parse.add_argument_group("factors, each a list such as 64,512")
    for name, usual in FACTORS.items():
        factors.add_argument("--" + name.replace("_", "-"), default=str(usual), metavar="LIST")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)

    from training.bench import matrix
    from training.evaluation import tables

    try:
        interrupted = "interrupted: continue with --run-id and --resume"
        return exit_status(lambda: matrix.run(args, tables.console()), interrupted)
    except subprocess.TimeoutExpired as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
