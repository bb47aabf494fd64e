"""Measure speed: ``python -m training benchmark profile --modes env_only,trainer``."""

from __future__ import annotations

import argparse
from pathlib import Path

from training.bench.choices import MINIBATCHES, MODES, WORKLOADS
from training.run.command_line import exit_status, new_parser
from training.run.config import BACKENDS, RunConfig

ABOUT = """\
Measure speed. Mode "env_only" steps the environment alone. The others train: "trainer" without
evaluation and checkpoints, "trainer_eval" with both, "breakdown" with a timer around each phase.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("benchmark profile", ABOUT, "--modes env_only,trainer")
    add = parse.add_argument
    add("--modes", default="env_only", help=", ".join(MODES))
    add("--env", help=f"environment id; default {RunConfig.get_default('env')}")
    about = f"{', '.join(BACKENDS[:-1])} or {BACKENDS[-1]}"
    add("--backend", choices=BACKENDS, metavar="NAME", default="auto", help=about)
    about = f"lanes; default {RunConfig.get_default('num_envs')}"
    add("--num-envs", type=int, metavar="N", help=about)
    add("--env-threads", type=int, metavar="N", help="threads of the engine; default 1")
    add("--repeats", type=int, default=3, help="repeats of each mode; default 3")
    add("--seconds", type=float, default=2.0, help="timed seconds per repeat; default 2")
    add("--seed", type=int, help="seed of the run")
    about = "any option of a run, such as ppo.n_epochs=2"
    add("--set", action="append", default=[], metavar="OPTION=VALUE", help=about)
    _add_mode_options(parse)
    _add_targets(parse)
    return parse


def _add_mode_options(parse: argparse.ArgumentParser) -> None:
    """Add the options that only some modes use."""
    add = parse.add_argument
    about = f"env_only: {', '.join(WORKLOADS)}"
    add("--workload", choices=WORKLOADS, metavar="W", default="masked_uniform", help=about)
    add("--single", action="store_true", help="env_only: time one env with Gymnasium's step")
    about = "env_only: backend to compare with, in turns"
    add("--against", choices=BACKENDS[1:], metavar="NAME", help=about)
    add("--force-resets", action="store_true", help="env_only: end each episode after one step")
    add("--rollout-steps", type=int, metavar="N", help="decisions per lane and iteration")
    about = f"minibatches per rollout; default {MINIBATCHES}"
    add("--minibatches", type=int, metavar="N", help=about)
    add("--torch-threads", type=int, metavar="N", help="threads of the network")


def _add_targets(parse: argparse.ArgumentParser) -> None:
    """Add the targets and limits of the figures, and their outputs."""
    add = parse.add_argument
    about = "target for --enforce-target: of env_only, else of the first mode"
    add("--target-steps-per-sec", type=float, metavar="X", help=about)
    add("--enforce-target", action="store_true", help="exit 1 if the target is missed")
    about = "exit 1 if slower than the newest record allows"
    add("--enforce-floor", action="store_true", help=about)
    add(
        "--floor-share",
        type=float,
        default=0.7,
        metavar="X",
        help="allowed share of that record; default 0.7",
    )
    add("--max-mem-delta", type=float, metavar="MB", help="allowed memory growth after warm-up")
    add("--run-id", metavar="NAME", help="name of the run; default: commit and UTC time")
    add("--out", type=Path, default=Path("artifacts/throughput"), help="output folder")
    add("--record", action="store_true", help="replace the record in benchmarks/")
    add("--trend", action="store_true", help="show all recorded speeds by commit and exit")


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)

    from training.bench import profile
    from training.evaluation import tables

    interrupted = "interrupted: nothing was written"
    return exit_status(lambda: profile.run(args, tables.console()), interrupted)
