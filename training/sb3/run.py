"""Train with ``sb3_contrib.MaskablePPO``: stock by default, and nothing of it is ever patched.

A faster buffer, bfloat16 layers and batched collection are options (``ppo.rollout_buffer``,
``ppo.precision``, ``ppo.algorithm``): constructor arguments and subclasses.

Its own ``save`` leaves out engine, generators and last observation, so that a resumed run would be
another run; what is missing is taken and put back here, at the boundary between two iterations.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv

from fastenv import BatchEngine
from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.env import shown_obs
from training.callbacks.run_callbacks import run_training
from training.run import checkpoint, envs, sizes
from training.run.checkpoint import Checkpoint
from training.run.engine import Engine, restore_seating, seating_of
from training.run.envs import Lanes
from training.run.finite import check_parameters
from training.run.folder import RunFolder
from training.run.loop import Loop
from training.run.options import require
from training.run.session import Outcome, Snapshot
from training.sb3 import policy
from training.sb3.algo import BatchMaskablePPO
from training.sb3.buffer import FastMaskableRolloutBuffer
from training.sb3.loop import LoopCallback
from training.sb3.options import SB3Run
from training.sb3.policy import AutocastMaskablePolicy, policy_kwargs
from training.sb3.vec import LENT, DelayedActionVecEnv, StepHookVecEnv, TimedVecEnv

# From this many lanes on, masks go to the trainer as one block instead of a row each.
BLOCK_MASKS_FROM = 1024


def make_lanes(config: SB3Run) -> Lanes:
    """Return the engine of a run."""
    return envs.make_lanes(config)


def train(run: RunFolder, lanes: Lanes, resume: bool = False) -> Outcome:
    """Train a run on its lanes; see :func:`training.run.session.run_training`."""
    return run_training(run, resume, lambda: SB3Learner(run.config, lanes), identity)


class SB3Learner:
    """MaskablePPO on one engine; see :class:`training.run.session.Learner`.

    Parameters
    ----------
    config : SB3Run
    given : Lanes, optional
        What :func:`make_lanes` returns for it; default new ones.
    """

    def __init__(self, config: SB3Run, given: Lanes | None = None) -> None:
        self._config = config
        given = given or make_lanes(config)
        (engine,) = given.engines
        assert isinstance(engine, BatchEngine)  # opponents of this trainer are bots
        self.backend, self.engines = given.backend, [engine]
        batch = config.ppo.algorithm == "batch"  # which counts episodes itself
        block = batch or config.num_envs >= BLOCK_MASKS_FROM
        masks: Literal["rows", "block"] = "block" if block else "rows"
        vec = BatchVecEnv(engine, masks=masks, monitor=not batch, **LENT)
        rules = config.mask_schedule
        self._delayed_actions = DelayedActionVecEnv(vec, rules) if rules else None
        self.timed = TimedVecEnv(self._delayed_actions or vec)
        self.vec = StepHookVecEnv(self.timed)
        self.model = build(config, self.vec)
        self._restored = False

    @property
    def device(self) -> str:
        """Where the network is."""
        return str(self.model.device)

    @property
    def precision(self) -> str:
        """Precision of the layers; what ``auto`` chose, not ``auto``."""
        return getattr(self.model.policy, "precision", "fp32")

    @property
    def updates(self) -> int:
        """Passes over a rollout until now, as SB3 counts them."""
        return self.model._n_updates

    def sizes(self) -> str:
        """Return one line on what the options amount to."""
        engine = self.engines[0]
        return self._config.sizes(engine.obs[0].nbytes, engine.num_actions)

    def facts(self) -> dict[str, Any]:
        """Return what the summary says of network and rollout."""
        return sizes.facts(self._config, self.device)

    def learn(self, loop: Loop) -> None:
        """Train to the end, or until the loop says to stop."""
        self.vec.loop = loop
        callback = LoopCallback(loop, self.timed, self._delayed_actions)
        left = self._config.total_steps - loop.steps
        try:
            self.model.learn(left, callback, reset_num_timesteps=not self._restored)
        except ValueError:  # distributions refuse what is not finite
            check_parameters(self.model.policy)
            raise

    def snapshot(self) -> Snapshot:
        """Return everything that decides how the run goes on.

        Raises
        ------
        TrainingError
            If a parameter is not finite: a checkpoint of it would be of no use.
        """
        model = self.model
        check_parameters(model.policy)
        return Snapshot(
            model=checkpoint.copy_to_host(
                {
                    "policy": model.policy.state_dict(),
                    "optimizer": model.policy.optimizer.state_dict(),
                    "generator": torch.get_rng_state(),
                    "device_generators": torch.cuda.get_rng_state_all(),  # none without CUDA
                }
            ),
            trainer={
                "counters": {"num_timesteps": model.num_timesteps, "n_updates": model._n_updates},
                "precision": self.precision,
                "generators": checkpoint.global_generators(),
            },
            states=self.engines[0].get_states(),
            arrays={
                "episode_starts": np.array(model._last_episode_starts),
                **seating_of(self.engines),
            },
        )

    def policy(self) -> dict[str, Any]:
        """Return a copy of the parameters of the policy, in host memory."""
        return checkpoint.copy_to_host(self.model.policy.state_dict())

    def reset_lanes(self) -> None:
        """Begin a new episode in every lane, at a boundary."""
        self.model._last_obs = self.vec.restart()
        self.model._last_episode_starts = np.ones(self.vec.num_envs, np.bool_)

    def restore(self, saved: Checkpoint) -> None:
        """Put back everything that decides how the run goes on."""
        model, engine = self.model, self.engines[0]
        rows = np.ascontiguousarray(saved.rows).view(engine.spec.state_dtype).reshape(-1)
        engine.set_states(rows)
        restore_seating(engine, saved.arrays)
        model.policy.load_state_dict(saved.model["policy"])
        model.policy.optimizer.load_state_dict(saved.model["optimizer"])
        counters = saved.trainer["counters"]
        model.num_timesteps = int(counters["num_timesteps"])
        model._n_updates = int(counters["n_updates"])
        if isinstance(model.policy, AutocastMaskablePolicy):  # auto does not choose again
            model.policy.precision = saved.trainer["precision"]
        model._last_obs = shown_obs(engine.obs)
        model._last_episode_starts = saved.arrays["episode_starts"].astype(bool)
        checkpoint.set_global_generators(saved.trainer["generators"])
        torch.set_rng_state(saved.model["generator"])
        if len(saved.model["device_generators"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(saved.model["device_generators"])
        self._restored = True

    def close(self) -> None:
        """Close the lanes."""
        self.vec.close()


def build(config: SB3Run, vec: VecEnv) -> MaskablePPO:
    """Return MaskablePPO as the config asks, with all generators seeded."""
    ppo = config.ppo
    rate = ppo.learning_rate
    algorithm = BatchMaskablePPO if ppo.algorithm == "batch" else MaskablePPO
    autocast = config.precision != "fp32"
    stock = "MultiInputPolicy" if isinstance(vec.observation_space, spaces.Dict) else "MlpPolicy"
    model = algorithm(
        AutocastMaskablePolicy if autocast else stock,
        vec,
        learning_rate=rate if ppo.lr_schedule == "constant" else lambda left: rate * left,
        n_steps=ppo.n_steps,
        batch_size=ppo.batch_size,
        n_epochs=ppo.n_epochs,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_range,
        ent_coef=ppo.ent_coef,
        vf_coef=ppo.vf_coef,
        max_grad_norm=ppo.max_grad_norm,
        target_kl=ppo.target_kl,
        rollout_buffer_class=FastMaskableRolloutBuffer if ppo.rollout_buffer == "fast" else None,
        policy_kwargs=policy_kwargs(ppo) | ({"precision": config.precision} if autocast else {}),
        seed=envs.stream_seed(config.seed, "init"),
        device=config.device,
    )
    if autocast:
        autocasting: Any = model.policy
        autocasting.choose_precision(ppo.batch_size)
    vec.seed(envs.training_seed(config.seed))  # the model has seeded it with its own
    model.set_logger(Logger(None, []))  # our log reads what the trainer records
    return model


def check(config: SB3Run, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        Observations that SB3, or the buffer that was asked for, cannot take.
    """
    policy.check(engine)
    buffer = config.ppo.rollout_buffer
    fits = engine.obs_dtype.names is None or buffer == "stock"
    require(fits, "ppo.rollout_buffer", buffer, "'stock' for an observation of several arrays")


def identity(run: RunFolder, engine: Engine) -> dict[str, Any]:
    """Return what a checkpoint must share with this run to be played."""
    same = checkpoint.identity_of(run.config.env, engine)
    return {**same, "network": list(run.config.ppo.net_arch), "trainer": run.config.trainer}


def load_logits(config: SB3Run, engine: BatchEngine, state_dict: dict[str, Any]) -> policy.Logits:
    """Return the trained network of a run as a function from observations to logits."""
    return policy.load_logits(config.ppo, engine, state_dict)


def load_nets(
    config: SB3Run, engine: BatchEngine, state_dict: dict[str, Any]
) -> dict[str, tuple[policy.LogitsNet, BatchEngine]]:
    """Return the trained policy network of a run, and an engine that shows what it sees."""
    return {"policy": (policy.LogitsNet(policy.load_net(config.ppo, engine, state_dict)), engine)}
