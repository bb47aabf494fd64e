"""The trainers beside each other: same net, epochs, minibatches and threads, timed in turns."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from training.bench.learners import Timed, in_turns, with_ppo, with_stock
from training.bench.suite import Options, Suite
from training.bench.tables import trainer_table
from training.bench.targets import Row, ratio, unmeasured
from training.nets.precision import cpu_has_bf16
from training.run.config import RunConfig

BASE = "sb3"
# Name of a row: precision, and whether policy and value have hidden layers of their own.
NAMED = {
    BASE: ("fp32", "separate"),
    "native fp32": ("fp32", "separate"),
    "native auto": ("auto", "separate"),
    "native auto, shared trunk": ("auto", "shared"),
}
OVER_STOCK = 1.2
OVER_STOCK_BF16 = {"native auto": 2.6, "native auto, shared trunk": 4.2}
NO_BF16 = "this processor does not multiply bfloat16 itself"


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


def judge(rows: Sequence[Row]) -> list[Row]:
    """Return the targets of :func:`rows`."""
    beside = {r["name"]: r for r in rows}
    judged = []
    for name, least in {"native fp32": OVER_STOCK, **OVER_STOCK_BF16}.items():
        what = f"{name} over stock MaskablePPO, {beside[name]['num_envs']} lanes, per CPU second"
        if name in OVER_STOCK_BF16 and not cpu_has_bf16():
            judged.append(unmeasured(what, least, NO_BF16))
        else:
            judged.append(ratio(what, least, beside[name], beside[BASE]))
    return judged


class Trainers(Suite):
    """The suite, on fewer lanes where it has to be short."""

    def measure(self, options: Options) -> list[Row]:
        """Return the rows that a command line asks for."""
        config = setting(128 if options.short else 512)
        return rows(config, options.repeats, options.seconds_of(self))


SUITE = Trainers(
    name="trainers",
    judge=judge,
    tables=(trainer_table,),
    title=lambda options: f"Bars of the trainers; medians of {options.repeats}",
    seconds=4.0,
    short_seconds=1.0,
    usual=True,
)
