"""The trainers beside each other: same net, epochs, minibatches and threads, timed in turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from training.bench import ran
from training.bench.timing import Sample, Work, interleaved, summary
from training.ppo.options import PPOConfig
from training.ppo.parts import NativeLearner
from training.run.config import RunConfig
from training.run.engine import Engine
from training.sb3.run import SB3Learner

BASE = "sb3"
ADAPTERS = {"sb3": "BatchVecEnv", "rllib": "RLlib"}  # through what a trainer steps the engine
# Name of a row: trainer, precision, and whether policy and value have hidden layers of their own.
TRAINERS = {
    BASE: ("sb3", "fp32", "separate"),
    "native fp32": ("native", "fp32", "separate"),
    "native auto": ("native", "auto", "separate"),
    "native auto, shared trunk": ("native", "auto", "shared"),
}
METHOD = (
    "whole iterations behind the first, in turns; no log, no checkpoint; one process, in which "
    "freed memory is kept for all of them"
)


def setting(lanes: int = 512) -> RunConfig:
    """Return what all of them train: the Worker, a 256-256 net of its own for policy and value."""
    ppo = PPOConfig(n_steps=32, batch_size=8 * lanes, activation="tanh")
    return RunConfig(
        num_envs=lanes,
        total_steps=1 << 40,
        torch_threads=1,
        device="cpu",
        env_options={"opponents": "rule_medium"},
        ppo=ppo,
    )


def rows(config: RunConfig, repeats: int, seconds: float) -> list[dict[str, Any]]:
    """Time whole iterations of each trainer; return a row each, with its ratio to stock SB3.

    Parameters
    ----------
    config : RunConfig
        Trainer and precision are replaced.
    repeats : int
    seconds : float
        Of a repeat, at least.
    """
    torch.set_num_threads(config.torch_threads or 1)
    learners: dict[str, NativeLearner | SB3Learner] = {}
    works = {}
    configs = {name: _config_of(config, *chosen) for name, chosen in TRAINERS.items()}
    for name, own in configs.items():
        if own.trainer == "native":
            learners[name] = native = NativeLearner(own)
            run: Callable[[], object] = native.trainer.iterate
        else:
            learners[name] = stock = SB3Learner(own)
            run = partial(stock.model.learn, config.rollout, reset_num_timesteps=False)
        works[name] = Work(run, config.rollout)
    samples = interleaved(works, repeats, seconds)
    found = []
    for name, learner in learners.items():
        chosen = learner.engines[0], learner.precision
        made = row(TRAINERS[name][0], configs[name], *chosen, samples[name]) | {"name": name}
        ratios = [
            a.per_cpu_s / b.per_cpu_s for a, b in zip(samples[name], samples[BASE], strict=True)
        ]
        ratio = {"ratio_per_cpu_s": statistics.median(ratios), "ratio_per_cpu_s_all": ratios}
        found.append(made | ratio)
        learner.close()
    return found


def _config_of(config: RunConfig, trainer: str, precision: str, trunk: str) -> RunConfig:
    ppo, native = replace(config.ppo, precision=precision), replace(config.native, trunk=trunk)
    return replace(config, trainer=trainer, ppo=ppo, native=native)


def row(
    trainer: str,
    config: RunConfig,
    engine: Engine,
    precision: str,
    samples: Sequence[Sample],
    mode: str = "train",
    **more: Any,
) -> dict[str, Any]:
    """Return the row of a trainer that was timed.

    Parameters
    ----------
    trainer : {"sb3", "native"}
    config : RunConfig
        What it trained.
    engine : Engine
        That it stepped.
    precision : str
        As it was chosen.
    samples : sequence of Sample
    mode : str
        What was timed of it.
    **more
        What else ran; see :func:`training.bench.ran.of_run`.
    """
    threads = config.torch_threads or 1
    asked = config.ppo.precision_asked(chooses=trainer == "native")
    how = {"trainer": trainer, "adapter": ADAPTERS.get(trainer, "engine"), "precision_asked": asked}
    return {
        "kind": "trainer",
        "ran": ran.of_run(config, engine, mode, precision, **(how | more)),
        "trainer": trainer,
        "mode": mode,
        "env": config.env,
        "options": dict(config.env_options),
        "backend": engine.backend,
        "num_envs": config.num_envs,
        "num_threads": config.env_threads,
        "torch_threads": threads,
        "rollout_steps": config.ppo.n_steps,
        "minibatch": config.ppo.batch_size,
        "epochs": config.ppo.n_epochs,
        "net_arch": list(config.ppo.net_arch),
        "activation": config.ppo.activation,
        "trunk": config.native.trunk,
        "precision_asked": asked,
        "precision": precision,
        "method": METHOD,
        **summary(samples, threads),
    }
