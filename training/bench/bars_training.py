"""The bars of training: our trainer beside what a user has today, and where its time goes."""

from __future__ import annotations

import multiprocessing
import os
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from training.bench import cuda, trainers
from training.bench.timing import Work, interleaved, noisy
from training.bench.trainer import TIERS, Flags, make_model, make_vec_env
from training.bench.verdicts import bar, ratio_bar, speed_bar, unmeasured_bar
from training.nets.precision import cpu_has_bf16
from training.ppo.parts import NativeLearner
from training.run import machine
from training.run.config import RunConfig

OVER_STOCK = 1.2
OVER_STOCK_BF16 = {"native auto": 2.6, "native auto, shared trunk": 4.2}
OVER_REFERENCE = 6.0
REFERENCE_LANES = 64
ROLLOUT = 150_000
ENV_SHARE, MANAGER_SHARE = 0.03, 0.06  # a decision of the Manager is a whole round
OVER_ONE_THREAD = 1.6
# Every environment that has a share of training time to keep under its bar.
ENVS = {**TIERS, "prospector": "Prospector-v0"}
REFERENCE, ROLLING, THREADS, SHARE = "reference envs", "rollout", "threads", "env share"
# How a thread of OpenMP waits for the others: what its process has to be started with.
WAITING = {
    "as started": {},
    "awake": {"OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": "INFINITY"},
}
NO_BF16 = "this processor does not multiply bfloat16 itself"


def all_rows(repeats: int, seconds: float, config: RunConfig | None = None) -> list[dict[str, Any]]:
    """Measure everything the bars need.

    Parameters
    ----------
    repeats : int
    seconds : float
        Timed work of a repeat, at least.
    config : RunConfig, optional
        What is trained; default :func:`training.bench.trainers.setting`.
    """
    config = config or trainers.setting()
    rows = [
        *trainers.rows(config, repeats, seconds),
        *reference_rows(config, repeats, seconds),
        *rollout_rows(config, repeats, seconds),
        *share_rows(config, repeats, seconds),
        *thread_rows(config, repeats, seconds),
    ]
    if torch.cuda.is_available():
        rows += cuda.rows(repeats, seconds)
    return rows


def reference_rows(
    config: RunConfig, repeats: int, seconds: float, lanes: int = REFERENCE_LANES
) -> list[dict[str, Any]]:
    """Return stock MaskablePPO on Python environments one by one, and ours, in turns.

    The flat tier, with the same network, epochs and minibatches; ours as a user gets it: compiled
    environment, precision as it chooses. Both with one thread of torch and with all cores.

    Parameters
    ----------
    config : RunConfig
    repeats : int
    seconds : float
    lanes : int
    """
    steps = config.rollout // (2 * lanes)
    ppo = replace(
        config.ppo,
        n_steps=steps,
        batch_size=min(config.ppo.batch_size, steps * lanes),
        activation="relu",
        precision="auto",
    )
    flat = replace(config, env=TIERS["flat"], num_envs=lanes, ppo=ppo)
    flags = Flags(
        net_arch=ppo.net_arch,
        n_envs=lanes,
        n_steps=steps,
        batch=ppo.batch_size,
        epochs=ppo.n_epochs,
        opponent=config.env_options["opponents"],
        vec="dummy",
    )
    timed, works = {}, {}
    for threads in sorted({1, machine.physical_cores()}):
        torch.set_num_threads(threads)  # also decides the pieces of a minibatch
        vec, native = make_vec_env(flags), NativeLearner(replace(flat, torch_threads=threads))
        learn = partial(make_model(flags, vec).learn, flat.rollout, reset_num_timesteps=False)
        for name, run in (("sb3", learn), ("native", native.trainer.iterate)):
            key = f"{name} {threads}"
            works[key] = Work(run, flat.rollout, partial(torch.set_num_threads, threads))
            engine = vec.get_attr("engine", 0)[0] if name == "sb3" else native.engines[0]
            precision = (lambda: "fp32") if name == "sb3" else partial(getattr, native, "precision")
            timed[key] = name, threads, engine, precision
    samples = interleaved(works, repeats, seconds)
    torch.set_num_threads(1)
    rows = []
    for key, (name, threads, engine, precision) in timed.items():
        own = replace(flat, torch_threads=threads)
        adapter = {"adapter": "DummyVecEnv"} if name == "sb3" else {}
        rows.append(
            trainers.row(name, own, engine, precision(), samples[key], REFERENCE, **adapter)
        )
    return rows


def rollout_rows(config: RunConfig, repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return the collection of rollouts alone, in fp32 and, where the processor has it, bf16."""
    torch.set_num_threads(1)
    learners, configs = {}, {}
    for precision in ("fp32", "bf16") if cpu_has_bf16() else ("fp32",):
        own = replace(config, ppo=replace(config.ppo, precision=precision))
        learners[precision], configs[precision] = (learner := NativeLearner(own)), own
        learner.trainer.iterate()  # its lanes begin
    works = {k: Work(learner.trainer.collect, config.rollout) for k, learner in learners.items()}
    samples = interleaved(works, repeats, seconds)
    return [
        trainers.row("native", configs[k], learner.engines[0], k, samples[k], ROLLING)
        for k, learner in learners.items()
    ]


def share_rows(config: RunConfig, repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return the native trainer on every tier, with the environment's share of its wall time."""
    torch.set_num_threads(1)
    learners, configs, works, shares = {}, {}, {}, {}
    for tier, env in ENVS.items():
        options = {} if tier == "prospector" else dict(config.env_options)
        configs[tier] = own = replace(config, env=env, env_options=options)
        learners[tier] = learner = NativeLearner(own)
        shares[tier] = found = _Shares(learner)
        works[tier] = Work(found.iterate, config.rollout)
    samples = interleaved(works, repeats, seconds)
    rows = []
    for tier, learner in learners.items():
        chosen = learner.engines[0], learner.precision
        every = shares[tier].found[1:]  # the first was before the timing
        share = {"tier": tier, "share_env": statistics.median(every), "share_env_all": every}
        rows.append(trainers.row("native", configs[tier], *chosen, samples[tier], SHARE) | share)
    return rows


class _Shares:
    """Iterations of a learner, each with the environment's share of its wall time."""

    def __init__(self, learner: NativeLearner) -> None:
        self._learner = learner
        self.found: list[float] = []

    def iterate(self) -> None:
        """Let the learner take the next one."""
        phases = self._learner.trainer.iterate()["phases"]
        self.found.append(phases["env"] / sum(phases.values()))


def thread_rows(config: RunConfig, repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Return the native trainer with one and with two threads of torch, in turns.

    OpenMP decides once how a thread waits for the other, so each way has a process of its own: as
    the training does it by default, and awake, as befits cores that nobody else wants.
    """
    if machine.physical_cores() < 2:
        return []
    rows = []
    for way, variables in WAITING.items():
        with (
            _environment(variables),
            ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process,
        ):
            found = process.submit(_thread_rows, config, repeats, seconds).result()
        rows += [row | {"waiting": way, "ran": row["ran"] | {"waiting": way}} for row in found]
    return rows


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables of the environment for the processes that start inside."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _thread_rows(config: RunConfig, repeats: int, seconds: float) -> list[dict[str, Any]]:
    learners, works = {}, {}
    for threads in (1, 2):
        torch.set_num_threads(threads)  # also decides the pieces of a minibatch
        learners[threads] = learner = NativeLearner(replace(config, torch_threads=threads))
        prepare = partial(torch.set_num_threads, threads)
        works[str(threads)] = Work(learner.trainer.iterate, config.rollout, prepare)
    samples = interleaved(works, repeats, seconds)
    torch.set_num_threads(1)
    rows = []
    for threads, learner in learners.items():
        own = replace(config, torch_threads=threads)
        chosen = learner.engines[0], learner.precision
        made = trainers.row("native", own, *chosen, samples[str(threads)], THREADS)
        # A thread that waits awake takes CPU time even when nobody has work for it.
        rows.append(made | {"noisy": noisy(samples[str(threads)], single_thread=False)})
    return rows


# -- verdicts --------------------------------------------------------------------------------------


def bars(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each bar, from the rows of :func:`all_rows`."""

    def those(mode: str) -> list[dict[str, Any]]:
        return [r for r in rows if r["mode"] == mode]

    today, ours = those(REFERENCE)[-2:]  # with all cores
    found = [
        *trainer_bars(those("train")),
        ratio_bar(
            f"flat, {ours['num_envs']} lanes, all cores: native over stock on DummyVecEnv of "
            "reference envs, wall",
            *(OVER_REFERENCE, ours, today, "steps_per_s"),
        ),
        _rollout_bar({r["precision"]: r for r in those(ROLLING)}),
    ]
    for row in those(SHARE):
        what = f"{row['tier']}, {row['num_envs']} lanes: env share of training time"
        detail = {"every": row["share_env_all"], "noisy": row["noisy"]}
        asked = MANAGER_SHARE if row["tier"] == "manager" else ENV_SHARE
        found.append(bar(what, asked, row["share_env"], most=True, **detail))
    return [*found, *_thread_bars(those(THREADS)), *cuda.bars(rows)]


def trainer_bars(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the bars of the rows of :func:`training.bench.trainers.rows`."""
    beside = {r["name"]: r for r in rows}
    found = []
    for name, asked in {"native fp32": OVER_STOCK, **OVER_STOCK_BF16}.items():
        what = f"{name} over stock MaskablePPO, {beside[name]['num_envs']} lanes, per CPU second"
        if name in OVER_STOCK_BF16 and not cpu_has_bf16():
            found.append(unmeasured_bar(what, asked, NO_BF16))
            continue
        pair = beside[name], beside[trainers.BASE]
        found.append(ratio_bar(what, asked, *pair, "steps_per_cpu_s"))
    return found


def _rollout_bar(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    what = "rollout alone, native bf16: steps a CPU second"
    if "bf16" in found:
        return speed_bar(what, ROLLOUT, found["bf16"])
    reason = f"{NO_BF16}; fp32: {found['fp32']['steps_per_cpu_s']:,.0f}"
    return unmeasured_bar(what, ROLLOUT, reason)


def _thread_bars(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    what = "two torch threads over one, wall"
    if not found:
        return [unmeasured_bar(what, OVER_ONE_THREAD, "this machine has one core")]
    pairs = zip(found[::2], found[1::2], strict=True)
    return [
        ratio_bar(f"{what}, waiting {one['waiting']}", OVER_ONE_THREAD, two, one, "steps_per_s")
        for one, two in pairs
    ]
