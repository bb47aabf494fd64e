"""Find the fastest setting: ``python -m training benchmark matrix --num-envs 64,512``."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.run.command_line import new_parser
from training.run.config import RunConfig

ABOUT = """\
Find the fastest setting, of all combinations or, beyond --budget-seconds, of those that differ from
the default in one factor. The best three of "trainer" must also learn as well as the default.
"""

# As training.bench has them, which takes a while to import.
FACTORS = {
    "backend": "auto",
    "num_envs": 512,
    "env_threads": 1,
    "rollout_steps": 128,
    "minibatches": 16,
    "epochs": 4,
    "precision": "fp32",
}
WORKLOADS = ("masked_uniform", "uniform", "hold", "cash_out")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("benchmark matrix", ABOUT, "--num-envs 64,512")
    parse.add_argument("--modes", default="env_only,trainer")
    parse.add_argument("--env", default=RunConfig.get_default("env"), help="environment id")
    parse.add_argument("--workload", choices=WORKLOADS, metavar="W", default="masked_uniform")
    parse.add_argument("--torch-threads", type=int, metavar="N", help="threads of the network")
    parse.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE")
    parse.add_argument("--repeats", type=int, default=3)
    parse.add_argument("--seconds", type=float, default=2.0, help="timed work of a repeat")
    parse.add_argument("--budget-seconds", type=float, metavar="S", help="as long as it may take")
    parse.add_argument("--seed", type=int, default=1, help="of the order and of the runs")
    add = parse.add_argument
    add("--check-steps", type=int, default=100_000, metavar="N", help="of learning; 0: no check")
    add("--check-seeds", type=int, default=3)
    add("--floor-safety-factor", type=float, default=0.90, metavar="X")
    add("--target-steps-per-sec", type=float, default=100_000.0, metavar="X")
    add("--enforce-target", action="store_true", help="of the best mean")
    add("--fail-on-gap", action="store_true")
    about = "hold its best cells to its floors"
    add("--gate", type=Path, metavar="FILE", help=about)
    add("--run-id", metavar="NAME", help="default: commit and UTC time")
    add("--out", type=Path, default=Path("artifacts/throughput/matrix"))
    add("--record", action="store_true", help="make it the record in benchmarks/")
    add("--resume", action="store_true", help="keep what this run has measured")
    factors = parse.add_argument_group("factors, each a list such as 64,512")
    for name, usual in FACTORS.items():
        factors.add_argument("--" + name.replace("_", "-"), default=str(usual), metavar="LIST")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)

    from training.bench.suites import matrix
    from training.evaluation import tables

    try:
        return matrix.run(args, tables.console())
    except (FastEnvError, ImportError, subprocess.TimeoutExpired) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: go on with --run-id and --resume", file=sys.stderr)
        return 130
