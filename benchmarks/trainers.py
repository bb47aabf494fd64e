"""The trainers beside each other: same net, epochs, minibatches and threads, timed in turns."""

from __future__ import annotations

import statistics
from typing import Any

from rich.table import Table

from benchmarks.learners import Timed, in_turns, with_ppo, with_stock
from training.bench.runner import Options, Suite
from training.bench.tables import table_of
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


def trainer_table(rows: list[Row]) -> Table:
    """Make the table of the trainers that were timed in turns."""
    r = rows[0]
    title = (
        f"Trainers in turns: {r['env']}, {r['num_envs']} lanes, net {r['net_arch']} "
        f"{r['activation']}, {r['epochs']} epochs, minibatches of {r['minibatch']:,}, "
        f"{r['torch_threads']} thread; medians of {r['repeats']}"
    )
    table = table_of(title, "trainer, precision, steps/s, per CPU-s, times sb3, min..max", left=2)
    for r in rows:
        every = r["ratio_per_cpu_s_all"]
        table.add_row(
            *(r["name"], r["precision"] + (", noisy" if r["noisy"] else "")),
            *(f"{r[key]:,.0f}" for key in ("steps_per_s", "steps_per_cpu_s")),
            *(f"{r['ratio_per_cpu_s']:.2f}", f"{min(every):.2f}..{max(every):.2f}"),
        )
    return table


def measure(options: Options) -> list[Row]:
    """Time the trainers, on fewer lanes where it has to be short."""
    config = setting(128 if options.args.short else 512)
    return rows(config, options.repeats, options.seconds)


SUITE = Suite(
    measure,
    tables=(trainer_table,),
    title="Bars of the trainers; medians of {repeats}",
    targets=("trainers",),
    seconds=4.0,
    short_seconds=1.0,
)
