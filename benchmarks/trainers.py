"""The trainers beside each other: same net, epochs, minibatches and threads, timed in turns."""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.learners import Timed, in_turns, with_ppo, with_stock
from training.bench.runner import BenchmarkOptions, Suite
from training.bench.targets import Row
from training.run.config import RunConfig

BASE = "sb3"
# Name of a row: precision, and whether policy and value have hidden layers of their own.
NAMED = {
    BASE: ("fp32", "separate"),
    "native fp32": ("fp32", "separate"),
    "native auto": ("auto", "separate"),
    "native auto, shared trunk": ("auto", "shared"),
}


def setting(lanes: int = 512) -> Any:
    """Make the run of all trainers: the Worker, a 256-256 net of its own for policy and value."""
    return RunConfig.from_mapping(
        {
            "num_envs": lanes,
            "total_steps": 1 << 40,
            "torch_threads": 1,
            "device": "cpu",
            "env_options": {"opponents": "rule_medium"},
            "ppo": {"n_steps": 32, "batch_size": 8 * lanes, "activation": "tanh"},
        }
    )


def rows(config: Any, repeats: int, seconds: float) -> list[Row]:
    """Time whole iterations of each trainer; return a row each, with its ratio to stock SB3.

    Parameters
    ----------
    config : RunConfig
        Trainer and precision are replaced.
    repeats : int
    seconds : float
        Of a repeat, at least.
    """
    learners = {}
    for name, (precision, trunk) in NAMED.items():
        own = with_ppo(config, precision=precision)
        if name == BASE:
            own = with_stock(own)
        else:
            own = own.replace(native=config.native.replace(trunk=trunk))
        learners[name] = Timed(own)
    samples = in_turns(learners, repeats, seconds)
    measured = []
    for name, each in learners.items():
        pairs = zip(samples[name], samples[BASE], strict=True)
        every = [a.per_cpu_s / b.per_cpu_s for a, b in pairs]
        over = {"ratio_per_cpu_s": statistics.median(every), "ratio_per_cpu_s_all": every}
        measured.append(each.row(samples[name]) | {"name": name} | over)
        each.trainer.close()
    return measured


def measure(options: BenchmarkOptions) -> list[Row]:
    """Time the trainers, on fewer lanes where it has to be short."""
    config = setting(128 if options.args.short else 512)
    return rows(config, options.repeats, options.seconds)


SUITE = Suite(
    measure,
    title="Bars of the trainers; medians of {repeats}",
    targets=("trainers",),
    seconds=4.0,
    short_seconds=1.0,
)
