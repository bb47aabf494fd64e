"""Find the fastest setting: ``python -m training.matrix --num-envs 64,512 --minibatches 4,16``.

All combinations are measured or, if that takes longer than ``--budget-seconds``, only those that
differ from the default in one factor. Each run is ``training.profile`` in a fresh process; repeats
are interleaved in random order. The best cell of a mode is the one with the highest stable mean;
the best three of ``trainer`` must also learn as well as the default before one is recommended.

Exit status: 0; 1 if a cell failed or, where that was asked for, there are gaps or a target is
missed; 2 for bad options. ``--gate MATRIX.json`` measures the best cells of an earlier matrix again
and holds them to its recommended floors.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.bench.play import WORKLOADS
from training.bench.suites import artefact, matrix
from training.bench.suites.cells import FACTORS
from training.evaluation import tables
from training.run.config import RunConfig


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(
        prog="python -m training.matrix",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--modes", default="env_only,trainer")
    parse.add_argument("--env", default=RunConfig.usual("env"), help="environment id")
    factors = parse.add_argument_group("factors, each a list such as 64,512")
    for name, (_, usual) in FACTORS.items():
        factors.add_argument("--" + name.replace("_", "-"), default=str(usual), metavar="LIST")
    parse.add_argument("--workload", choices=tuple(WORKLOADS), default="masked_uniform")
    parse.add_argument("--torch-threads", type=int, help="threads of the network")
    parse.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE")
    parse.add_argument("--repeats", type=int, default=3)
    parse.add_argument("--seconds", type=float, default=2.0, help="timed work of a repeat")
    parse.add_argument("--budget-seconds", type=float, help="about as long as it may take")
    parse.add_argument("--seed", type=int, default=1, help="of the order and of the runs")
    judge = parse.add_argument_group("verdicts")
    judge.add_argument("--check-steps", type=int, default=100_000, help="of learning; 0: no check")
    judge.add_argument("--check-seeds", type=int, default=3)
    judge.add_argument("--floor-safety-factor", type=float, default=0.90)
    judge.add_argument("--target-steps-per-sec", type=float, default=100_000.0)
    judge.add_argument("--enforce-target", action="store_true", help="of the best mean")
    judge.add_argument("--fail-on-gap", action="store_true")
    judge.add_argument("--gate", type=Path, metavar="MATRIX.json", help="hold on to its floors")
    out = parse.add_argument_group("output")
    out.add_argument("--run-id", help="default: commit and UTC time")
    out.add_argument("--out", type=Path, default=artefact.FOLDER / "matrix")
    out.add_argument(
        "--record", action="store_true", help="make it the record of its kind in benchmarks/"
    )
    out.add_argument("--resume", action="store_true", help="keep what this run has measured")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        return matrix.run(args, tables.console())
    except (FastEnvError, ImportError, subprocess.TimeoutExpired) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: go on with --run-id and --resume", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
