"""Benchmarks of Prospector's environment: masked buffers written, automatic resets included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from training.bench.env_modes import REFERENCE_LANES, EnvPlan, prepare
from training.bench.targets import Row
from training.bench.timing import Work, rows
from training.bench.trainer_modes import trained_row

ENV = "Prospector-v0"
LANES = 1024
WORKLOADS = ("uniform", "cash_out", "hold")
TRAINING = {
    "env": ENV,
    "trainer": "sb3",
    "num_envs": 512,
    "torch_threads": 2,
    "ppo": {"n_steps": 32, "batch_size": 2048, "net_arch": [64, 64]},
}


def env_works(lanes: int = LANES) -> dict[str, Work]:
    """Prepare the environment alone: the workloads, the reference and one environment."""
    plan = EnvPlan(ENV, num_envs=lanes, workload="uniform", backend="fast")
    plans = {workload: replace(plan, workload=workload) for workload in WORKLOADS}
    plans["reference"] = replace(plan, backend="reference", num_envs=min(lanes, REFERENCE_LANES))
    works = {name: _prepare(each) for name, each in plans.items()}
    return works | {"single": _prepare(replace(plan, single=True), what="gymnasium step")}


def thread_works(lanes: int = LANES) -> dict[str, Work]:
    """Prepare uniform play with one and with two threads."""
    plan = EnvPlan(ENV, num_envs=lanes, workload="uniform", backend="fast")
    return {
        f"{n} threads": _prepare(replace(plan, num_threads=n), "threads", scaling=True)
        for n in (1, 2)
    }


def _prepare(plan: EnvPlan, beside: str | None = None, **fields: Any) -> Work:
    ready = prepare(plan)
    ticks = ready.ticks()
    return ready.for_row(beside, tier="prospector", ticks_per_step=ticks, **fields)


def trainer_row(repeats: int, seconds: float, changes: dict[str, Any] | None = None) -> Row:
    """Measure stock MaskablePPO on 512 lanes with a 64x64 network and two threads of torch.

    Parameters
    ----------
    repeats : int
    seconds : float
    changes : dict, optional
        Options of the run that differ from ``TRAINING``.
    """
    row = trained_row({**TRAINING, **(changes or {})}, repeats, seconds)
    return row | {"what": "stock MaskablePPO", "tier": "prospector"}


def all_rows(repeats: int, seconds: float, lanes: int | None = None) -> list[Row]:
    """Measure everything the targets need; the number of lanes is always the same."""
    return [
        *rows(env_works(), repeats, seconds),
        *rows(thread_works(), repeats, seconds),
        trainer_row(repeats, seconds),
    ]
