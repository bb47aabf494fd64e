"""Cost of views: torch tensors beside the engine alone, and a loop on them beside one by hand.

The loop is that of docs/examples/ppo.py, unchanged: once over ``TorchVecEnv``, and once over an
environment that does by hand what a user does with Gymnasium's vector interface in NumPy. Both are
timed in turns.
"""

from __future__ import annotations

import runpy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fastenv
from fastenv.adapters.torch import TorchVecEnv
from training.bench import timing
from training.bench.env_modes import EnvPlan, Playback
from training.bench.ran import engine_row
from training.bench.runner import Suite
from training.bench.stock import Flags
from training.bench.targets import Row
from training.bench.timing import Work
from training.run.config import RunConfig

ENV = RunConfig.get_default("env")
LANES, STEPS = 4096, 64
PPO = Path(__file__).resolve().parents[1] / "docs" / "examples" / "ppo.py"
PPO_LANES = 256
FOUR_ROUNDS: dict[str, Any] = {"schedule": (1, 2, 3, 4), "reward": "points"}
TURNS = 30  # so short that a slow moment of the machine meets both


class ByHand:
    """``FastVectorEnv`` with the code of a loop in NumPy around it; acts as ``TorchVecEnv`` does.

    Parameters
    ----------
    vec : FastVectorEnv
    """

    def __init__(self, vec: fastenv.FastVectorEnv) -> None:
        self.vec = vec
        self.episode_return = torch.zeros(vec.num_envs)

    def reset(self, seed: int) -> None:
        """Start an episode in all lanes."""
        obs, infos = self.vec.reset(seed=seed)
        self._show(obs, infos["action_mask"])

    def step(self, actions: torch.Tensor) -> tuple[Any, ...]:
        """Take one decision in every lane."""
        obs, reward, terminated, truncated, infos = self.vec.step(actions.numpy())
        self._show(obs, infos["action_mask"])
        if "final_info" in infos:
            self.episode_return = torch.from_numpy(infos["final_info"]["episode_return"])
        flags = torch.from_numpy(terminated), torch.from_numpy(truncated)
        return self.obs, torch.from_numpy(reward.astype(np.float32)), *flags, infos

    def _show(self, obs: np.ndarray, mask: np.ndarray) -> None:
        self.obs, self.mask = torch.from_numpy(obs), torch.from_numpy(mask.astype(np.bool_))


def rows(repeats: int, seconds: float) -> list[Row]:
    """Measure a row for the engine's step and the same as tensors, and for each of the two loops.

    Parameters
    ----------
    repeats : int
        Of the loops; steps are timed in more and shorter turns.
    seconds : float
        Timed work of a repeat of a loop.
    """
    turns = max(repeats, TURNS)
    steps = timing.rows(_prepare_steps(), turns, seconds * repeats / turns)
    return [*steps, *timing.rows(_prepare_loops(), repeats, seconds)]


def _prepare_steps() -> dict[str, Work]:
    play = Playback(EnvPlan(ENV, num_envs=LANES, batches=STEPS))
    env = TorchVecEnv(fastenv.make_vec(ENV, LANES, autoreset_mode="same_step", num_threads=1))
    env.reset(seed=0)
    play.rewind()
    start, actions = play.engine.get_states(), [torch.from_numpy(batch) for batch in play.actions]
    engine = env.engine  # one for both: memory of another engine would lie otherwise in the caches

    def alone() -> None:
        for batch in play.actions:
            engine.step_many(batch)

    def tensors() -> None:
        for batch in actions:
            env.step(batch)

    def rewind() -> None:
        engine.set_states(start, trusted=True)

    runs = {"engine's step": (alone, "engine"), "step as tensors": (tensors, "TorchVecEnv")}
    how: dict[str, Any] = {"workload": "masked_uniform", "batch_steps": STEPS, "beside": "tensors"}
    return {
        name: Work(
            *(run, LANES * STEPS, rewind),
            partial(engine_row, "view", engine, "step", adapter=adapter, **how),
        )
        for name, (run, adapter) in runs.items()
    }


def _prepare_loops() -> dict[str, Work]:
    """Prepare an iteration of PPO, rollout and update, over both environments."""
    ppo, works = runpy.run_path(str(PPO)), {}
    settings = ppo["Settings"]()
    for name, view in (("PPO by hand", ByHand), ("PPO on tensors", TorchVecEnv)):
        vec = fastenv.make_vec(
            Flags.env,
            PPO_LANES,
            autoreset_mode="same_step",
            num_threads=1,
            info_columns=(),
            **FOUR_ROUNDS,
        )
        iterations = ppo["train"](view(vec), 10**12, settings)
        how = {"adapter": view.__name__, "trainer": PPO.name, "config": vars(settings)}
        about = partial(engine_row, "view", vec.engine, "iterations", **how)
        works[name] = Work(iterations.__next__, settings.steps * PPO_LANES, row=about)
    return works


SUITE = Suite(
    lambda options: rows(options.repeats, options.seconds),
    title="Bars of the views; CPU time, medians of paired turns",
    targets=("views",),
    seconds=4.0,
    short_seconds=1.0,
)
