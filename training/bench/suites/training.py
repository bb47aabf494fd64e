"""Targets of training: our trainer beside stock trainers, and its shares of time."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch

from training.bench import games
from training.bench.learners import Timed, in_turns, trainer_row, with_ppo, with_stock
from training.bench.suite import Suite
from training.bench.suites import cuda, trainers
from training.bench.suites.trainers import NO_BF16
from training.bench.tables import split_lines, timed_table
from training.bench.targets import Row, env_share, ratio, speed, unmeasured
from training.bench.timing import Work, interleaved, noisy
from training.bench.trainer import Flags, make_model, make_vec_env
from training.nets.precision import cpu_has_bf16
from training.run import machine
from training.run.config import RunConfig

OVER_REFERENCE = 6.0
REFERENCE_LANES = 64
ROLLOUT = 150_000
ENV_SHARE = 0.03
OVER_ONE_THREAD = 1.6
REFERENCE, ROLLING, THREADS, SHARE = "reference envs", "rollout", "threads", "env share"
# How a thread of OpenMP waits for the others: what its process has to be started with.
WAITING = {
    "as started": {},
    "awake": {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "INFINITY"},
}


def all_rows(repeats: int, seconds: float, config: Any = None) -> list[Row]:
    """Measure everything the targets need.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat, at least.
    config : RunConfig, optional
        What is trained; default :func:`training.bench.suites.trainers.setting`.
    """
    config = config or trainers.setting()
    parts = (trainers.rows, reference_rows, rollout_rows, share_rows, thread_rows)
    measured = [row for rows in parts for row in rows(config, repeats, seconds)]
    return measured + (cuda.rows(repeats, seconds) if torch.cuda.is_available() else [])


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
        learn = partial(make_model(flags, vec).learn, flat.rollout, reset_num_timesteps=False)
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
        rows.append(trainer_row(*stock, timed, REFERENCE, adapter="DummyVecEnv"))
        rows.append(each.row(samples[f"native {threads}"], REFERENCE))
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
    for game in games.registered():
        options = dict(config.env_options) if game.opponents else {}
        for tier, env in game.learned.items():
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
            _set_environment(variables),
            ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process,
        ):
            timed = process.submit(_measure_threads, config, repeats, seconds).result()
        rows += [row | {"waiting": way, "ran": row["ran"] | {"waiting": way}} for row in timed]
    return rows


@contextmanager
def _set_environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables of the environment for the processes that start inside."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _measure_threads(config: RunConfig, repeats: int, seconds: float) -> list[Row]:
    learners = {str(n): Timed(config.replace(torch_threads=n)) for n in (1, 2)}
    samples = in_turns(learners, repeats, seconds)
    # A thread that waits awake takes CPU time even when nobody has work for it.
    return [
        each.row(samples[n], THREADS) | {"noisy": noisy(samples[n], single_thread=False)}
        for n, each in learners.items()
    ]


# -- targets ---------------------------------------------------------------------------------------


def judge(rows: Sequence[Row]) -> list[Row]:
    """Return one row for each target, from the rows of :func:`all_rows`."""

    def those(mode: str) -> list[Row]:
        return [r for r in rows if r["mode"] == mode]

    today, ours = those(REFERENCE)[-2:]  # with all cores
    over = (
        f"flat, {ours['num_envs']} lanes, all cores: native over stock on DummyVecEnv of "
        "reference envs, wall"
    )
    return [
        *trainers.judge(those("train")),
        ratio(over, OVER_REFERENCE, ours, today, "steps_per_s"),
        _judge_rollout({r["precision"]: r for r in those(ROLLING)}),
        *map(_judge_share, those(SHARE)),
        *_judge_threads(those(THREADS)),
        *cuda.judge(rows),
    ]


def _judge_share(row: Row) -> Row:
    most = games.of(row["env"]).share_at_most.get(row["tier"], ENV_SHARE)
    what = f"{row['tier']}, {row['num_envs']} lanes: env share of training time"
    return env_share(what, most, row)


def _judge_rollout(by_precision: dict[str, Row]) -> Row:
    what = "rollout alone, native bf16: steps a CPU second"
    if "bf16" in by_precision:
        return speed(what, ROLLOUT, by_precision["bf16"])
    reason = f"{NO_BF16}; fp32: {by_precision['fp32']['steps_per_cpu_s']:,.0f}"
    return unmeasured(what, ROLLOUT, reason)


def _judge_threads(rows: list[Row]) -> list[Row]:
    what = "two torch threads over one, wall"
    if not rows:
        return [unmeasured(what, OVER_ONE_THREAD, "this machine has one core")]
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return [
        ratio(f"{what}, waiting {one['waiting']}", OVER_ONE_THREAD, two, one, "steps_per_s")
        for one, two in pairs
    ]


SUITE = Suite(
    name="training",
    rows=all_rows,
    judge=judge,
    tables=(timed_table, split_lines),
    title=lambda options: f"Bars of training; medians of {options.repeats}",
    seconds=4.0,
)
