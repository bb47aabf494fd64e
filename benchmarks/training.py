"""Targets of training: our trainer beside stock trainers, and its shares of time."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any
from unittest import mock

import torch

from benchmarks import gpu, skullking, trainers
from benchmarks.learners import Timed, in_turns, trainer_row, with_ppo, with_stock
from training.bench.runner import Suite
from training.bench.stock import Flags, make_vec_env
from training.bench.targets import Row
from training.bench.timing import Work, interleaved, keep_row, noisy
from training.nets.precision import cpu_has_bf16
from training.run import machine
from training.run.config import RunConfig
from training.sb3.trainer import build

REFERENCE_LANES = 64
REFERENCE, ROLLING, THREADS, SHARE = "reference envs", "rollout", "threads", "env share"
LEARNED = {
    **skullking.TIERS,
    "prospector": "Prospector-v0",
}  # whose share of a training is measured
# How a thread of OpenMP waits for the others: what its process has to be started with.
WAITING = {
    "as started": {},
    "awake": {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "INFINITY"},
}


def all_rows(repeats: int, seconds: float, config: Any = None) -> list[Row]:
    """Measure everything the targets need, those of the trainers and of a GPU included.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat, at least.
    config : RunConfig, optional
        What is trained; default :func:`benchmarks.trainers.setting`.
    """
    config = config or trainers.setting()
    parts = (trainers.rows, reference_rows, rollout_rows, share_rows, thread_rows)
    measured = [row for rows in parts for row in rows(config, repeats, seconds)]
    return measured + (gpu.rows(repeats, seconds) if torch.cuda.is_available() else [])


def reference_rows(config: Any, repeats: int, seconds: float) -> list[Row]:
    """Measure stock MaskablePPO on Python environments one by one, and ours, in turns.

    The environment of the configurations, with the same network, epochs and minibatches; ours as a
    user gets it: compiled environment, precision as it chooses. Both with one thread of torch and
    with all cores.

    Parameters
    ----------
    config : RunConfig
    repeats : int
    seconds : float
    """
    lanes = REFERENCE_LANES
    steps = config.rollout // (2 * lanes)
    batch = min(config.ppo.batch_size, steps * lanes)
    ppo = config.ppo.replace(n_steps=steps, batch_size=batch, activation="relu", precision="auto")
    flat = config.replace(env=Flags.env, num_envs=lanes, ppo=ppo)
    flags = Flags(
        net_arch=config.ppo.net_arch,
        n_envs=lanes,
        n_steps=steps,
        batch=batch,
        epochs=config.ppo.n_epochs,
        opponent=config.env_options["opponents"],
        vec="dummy",
    )
    works, ours, engines = dict[str, Work](), dict[int, Timed](), {}
    for threads in sorted({1, machine.physical_cores()}):
        torch.set_num_threads(threads)  # also decides the pieces of a minibatch
        vec = make_vec_env(flags)
        learn = partial(build(flags.config, vec).learn, flat.rollout, reset_num_timesteps=False)
        wake = partial(torch.set_num_threads, threads)
        engines[threads] = vec.get_attr("engine", 0)[0]
        ours[threads] = Timed(flat.replace(torch_threads=threads))
        works[f"sb3 {threads}"] = Work(learn, flat.rollout, wake)
        works[f"native {threads}"] = ours[threads].work()
    samples = interleaved(works, repeats, seconds)
    torch.set_num_threads(1)
    rows = []
    for threads, each in ours.items():
        stock = with_stock(each.config), engines[threads], "fp32"
        timed = samples[f"sb3 {threads}"]
        pair = (
            trainer_row(*stock, timed, REFERENCE, adapter="DummyVecEnv"),
            each.row(samples[f"native {threads}"], REFERENCE),
        )
        cores = "all cores" if threads == machine.physical_cores() else "one core"
        rows += [row | {"name": f"{row['trainer']}, {cores}"} for row in pair]
    return rows


def rollout_rows(config: RunConfig, repeats: int, seconds: float) -> list[Row]:
    """Measure the collection of rollouts alone, in fp32 and, where the processor has it, bf16."""
    learners = {}
    for precision in ("fp32", "bf16") if cpu_has_bf16() else ("fp32",):
        learners[precision] = Timed(with_ppo(config, precision=precision))
        learners[precision].iterate()  # its lanes begin
    works = {k: Work(each.trainer.collect, config.rollout) for k, each in learners.items()}
    samples = interleaved(works, repeats, seconds)
    return [
        trainer_row(each.config, each.engine, k, samples[k], ROLLING)
        for k, each in learners.items()
    ]


def share_rows(config: RunConfig, repeats: int, seconds: float) -> list[Row]:
    """Measure the native trainer on every tier, with the environment's share of its wall time."""
    learners = {}
    for tier, env in LEARNED.items():
        options = dict(config.env_options) if tier in skullking.TIERS else {}
        learners[tier] = Timed(config.replace(env=env, env_options=options))
    samples = in_turns(learners, repeats, seconds)
    return [
        each.row(samples[tier], SHARE) | {"tier": tier} | each.share()
        for tier, each in learners.items()
    ]


def thread_rows(config: RunConfig, repeats: int, seconds: float) -> list[Row]:
    """Measure the native trainer with one and with two threads of torch, in turns.

    OpenMP decides once how a thread waits for the other, so each way has a process of its own: as
    the training does it by default, and awake, as befits cores that nobody else wants.
    """
    if machine.physical_cores() < 2:
        return []
    rows = []
    for way, variables in WAITING.items():
        with (
            mock.patch.dict(os.environ, variables),  # of the processes that start inside
            ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process,
        ):
            timed = process.submit(_measure_threads, config, repeats, seconds).result()
        rows += [row | {"waiting": way, "ran": row["ran"] | {"waiting": way}} for row in timed]
        for row in rows[-len(timed) :]:  # its process keeps none
            keep_row(row)
    return rows


def _measure_threads(config: RunConfig, repeats: int, seconds: float) -> list[Row]:
    learners = {str(n): Timed(config.replace(torch_threads=n)) for n in (1, 2)}
    samples = in_turns(learners, repeats, seconds)
    # A thread that waits awake takes CPU time even when nobody has work for it.
    return [
        each.row(samples[n], THREADS) | {"noisy": noisy(samples[n], single_thread=False)}
        for n, each in learners.items()
    ]


SUITE = Suite(
    lambda options: all_rows(options.repeats, options.seconds),
    title="Bars of training; medians of {repeats}",
    targets=("trainers", "training", "gpu"),
    seconds=4.0,
)
