"""Measure speed: ``python -m training.profile --modes env_only,trainer,trainer_eval,breakdown``.

``env_only`` steps the environment alone; the other modes train with the trainer of the run (``--set
trainer=sb3`` for stock MaskablePPO): ``trainer`` without evaluation and checkpoints,
``trainer_eval`` with both, ``breakdown`` with a clock around each phase. Every run leaves an
artefact under
``artifacts/throughput/``, named after its commit and the time.

Exit status: 0; 1 if an enforced target, floor or limit is missed; 2 if something was asked for that
is not possible, or another implementation was selected than the one asked for.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.bench import floors
from training.bench.play import WORKLOADS
from training.bench.suites import artefact, profile
from training.bench.suites.profile import MINIBATCHES, MODES
from training.evaluation import tables
from training.run.config import BACKENDS, RunConfig


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(
        prog="python -m training.profile",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parse.add_argument("--modes", default="env_only", help=f"of {', '.join(MODES)}")
    parse.add_argument("--env", help=f"environment id; default {RunConfig.usual('env')}")
    parse.add_argument("--backend", choices=BACKENDS, default="auto")
    parse.add_argument("--num-envs", type=int, help=f"lanes; default {RunConfig.usual('num_envs')}")
    parse.add_argument("--env-threads", type=int, help="threads of the engine; default 1")
    parse.add_argument("--repeats", type=int, default=3)
    parse.add_argument("--seconds", type=float, default=2.0, help="timed work of a repeat")
    parse.add_argument("--seed", type=int)
    parse.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="any option of a run, such as env_options.opponents=random or ppo.n_epochs=2",
    )
    parse.add_argument("--pin", metavar="CORES", help="run on these cores only, such as 0,1")
    _add_parts(parse)
    _add_verdicts(parse)
    return parse


def _add_parts(parse: argparse.ArgumentParser) -> None:
    """Add what only some modes have a use for."""
    env = parse.add_argument_group("env_only")
    env.add_argument("--workload", choices=tuple(WORKLOADS), default="masked_uniform")
    env.add_argument("--info-columns", metavar="NAMES", help="info columns to write, or none")
    env.add_argument("--single", action="store_true", help="one env through Gymnasium's step")
    env.add_argument(
        "--against",
        choices=("reference", "numba", "cython", "fast"),
        help="time this backend in turns with the other and report the ratio",
    )
    env.add_argument("--force-resets", action="store_true", help="episodes of one step")
    env.add_argument("--threads-scaling", metavar="N,N", help="time these threads in turns")

    train = parse.add_argument_group("trainer, trainer_eval, breakdown")
    train.add_argument("--rollout-steps", type=int, help="decisions of a lane and iteration")
    train.add_argument("--minibatches", type=int, help=f"of a rollout; default {MINIBATCHES}")
    train.add_argument("--torch-threads", type=int, help="threads of the network")


def _add_verdicts(parse: argparse.ArgumentParser) -> None:
    """Add what is held against the figures, and where they go."""
    judge = parse.add_argument_group("verdicts")
    judge.add_argument("--target-steps-per-sec", type=float, metavar="X")
    judge.add_argument("--target-mode", choices=MODES, help="default env_only, else the first mode")
    judge.add_argument("--enforce-target", action="store_true")
    judge.add_argument(
        "--enforce-floor",
        action="store_true",
        help="hold each mode to the newest record of the same thing, in steps per CPU second",
    )
    judge.add_argument(
        "--floor-share", type=float, default=floors.SHARE, metavar="X", help="of it; default 0.7"
    )
    judge.add_argument("--max-mem-delta", type=float, metavar="MB", help="growth after warm-up")

    out = parse.add_argument_group("output")
    out.add_argument("--run-id", help="default: commit and UTC time")
    out.add_argument("--out", type=Path, default=artefact.FOLDER, help="folder of artefacts")
    out.add_argument(
        "--record", action="store_true", help="make it the record of its environment in benchmarks/"
    )
    out.add_argument("--trend", action="store_true", help="only show all speeds by commit")


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        return profile.run(args, tables.console())
    except (FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
