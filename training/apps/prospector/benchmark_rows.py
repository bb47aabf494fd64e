"""Benchmarks of Prospector's environment: masked buffers written, automatic resets included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from training.bench.env_modes import REFERENCE_LANES, EnvPlan, prepare
from training.bench.game import GameBenchmark, Throughput
from training.bench.targets import Row, env_share, ratio, speed
from training.bench.timing import Work, rows

ENV = "Prospector-v0"
LANES = 1024
SPEEDS = {"uniform": 1.5e6, "cash_out": 3e5, "hold": 3.5e6}  # steps a second
THREADS_OVER_ONE = 1.8
OVER_REFERENCE = 300
SINGLE = 1.5e5
ENV_SHARE = 0.05
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
    plans = {workload: replace(plan, workload=workload) for workload in SPEEDS}
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
    from training.bench.trainer_modes import trained_row  # torch

    row = trained_row({**TRAINING, **(changes or {})}, repeats, seconds)
    return row | {"what": "stock MaskablePPO", "tier": "prospector"}


def all_rows(repeats: int, seconds: float, lanes: int | None = None) -> list[Row]:
    """Measure everything the targets need; the number of lanes is always the same."""
    return [
        *rows(env_works(), repeats, seconds),
        *rows(thread_works(), repeats, seconds),
        trainer_row(repeats, seconds),
    ]


def judge(measured: list[Row], max_mem_delta: int = 0) -> list[Row]:
    """Return one row for each target, from the rows of :func:`all_rows`."""
    scaled = {r["num_threads"]: r for r in measured if r.get("scaling")}
    plain = [r for r in measured if r["kind"] == "env" and not r.get("scaling")]
    batch = {r["workload"]: r for r in plain if r["backend"] == "fast" and not r["single"]}
    reference = next(r for r in plain if r["backend"] == "reference")
    single = next(r for r in plain if r["single"])
    training = next(r for r in measured if r["kind"] == "trainer")
    n = batch["uniform"]["num_envs"]
    share = f"prospector: {training['what']}, 512 lanes, 64x64: env share of wall time"
    return [
        *(
            speed(f"prospector: {workload}, n={n}, steps a CPU second", least, batch[workload])
            for workload, least in SPEEDS.items()
        ),
        ratio(
            "prospector: 2 threads over 1, wall",
            *(THREADS_OVER_ONE, scaled[2], scaled[1], "steps_per_s"),
        ),
        ratio(
            "prospector: uniform, fast over reference",
            *(OVER_REFERENCE, batch["uniform"], reference),
        ),
        speed("prospector: one env through Gymnasium, steps a CPU second", SINGLE, single),
        env_share(share, ENV_SHARE, training),
    ]


GAME = GameBenchmark(
    name="prospector",
    title="Prospector",
    envs=("Prospector",),
    throughput=Throughput(all_rows, judge, f"{LANES:,} lanes"),
    config_env=ENV,
    learned={"prospector": ENV},
    limited=True,
)
