"""Stock ``sb3_contrib.MaskablePPO``: nothing of it is replaced or patched.

Its own ``learn`` goes on to the end, so an iteration of it is taken here, step by step as there.
Its own ``save`` leaves out engine, generators and last observation, so that a resumed run would be
another run; what is missing is taken and put back here, at the boundary between two iterations.
"""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv

from fastenv import BatchEngine
from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.env import shown_obs
from training.run import checkpoint
from training.run.checkpoint import State
from training.run.engine import Engine, restore_lanes, seating_of
from training.run.seeds import global_generators, set_global_generators, stream_seed, training_seed
from training.run.trainer import Metrics, Trainer, check_loss, check_parameters
from training.sb3.options import SB3Run
from training.sb3.policy import policy_kwargs
from training.sb3.vec import LENT, TrainerVecEnv

# From this many lanes on, masks go to the trainer as one block instead of a row each.
BLOCK_MASKS_FROM = 1024
# Names of the values that MaskablePPO.train records, and their names in metrics.jsonl.
_TRAIN_VALUES = {
    "train/policy_gradient_loss": "policy_loss",
    "train/value_loss": "value_loss",
    "train/entropy_loss": "entropy_loss",
    "train/approx_kl": "kl",
    "train/clip_fraction": "clipfrac",
    "train/explained_variance": "explained_variance",
    "train/learning_rate": "lr",
    "train/loss": "loss",
}


class SB3Trainer(Trainer):
    """MaskablePPO on one engine; see :class:`training.run.trainer.Trainer`.

    Parameters
    ----------
    config : SB3Run
    engine : Engine
        Opponents in it are bots.

    Attributes
    ----------
    model : MaskablePPO
    vec : TrainerVecEnv
        What it is trained on.
    """

    delays_actions = True

    def __init__(self, config: SB3Run, engine: Engine) -> None:
        assert isinstance(engine, BatchEngine)
        self.config, self.engines = config, [engine]
        block = config.num_envs >= BLOCK_MASKS_FROM
        masks: Literal["rows", "block"] = "block" if block else "rows"
        vec = BatchVecEnv(engine, masks=masks, **LENT)
        self.vec = TrainerVecEnv(vec, config.mask_schedule, self)
        self.model = build(config, self.vec)
        self.net = self.model.policy
        self._callback: BaseCallback | None = None

    def iterate(self) -> Metrics:
        """Collect a rollout and learn from it, as an iteration of ``MaskablePPO.learn`` does."""
        model, callback = self.model, self._start()
        begin, self.vec.busy_s = time.perf_counter(), 0.0
        self.vec.steps = self.steps
        try:
            env: Any = model.env
            model.collect_rollouts(env, callback, model.rollout_buffer, model.n_steps, True)
            collected = time.perf_counter()
            model._update_current_progress_remaining(model.num_timesteps, model._total_timesteps)
            model.train()
        except ValueError:  # distributions refuse what is not finite
            check_parameters(model.policy)
            raise
        self.steps, self.updates = model.num_timesteps, model._n_updates
        stepped, now = self.vec.busy_s, time.perf_counter()
        phases = {"env": stepped, "collect": collected - begin - stepped, "update": now - collected}
        return {"train": self._take_values(), "phases": phases}

    def _start(self) -> BaseCallback:
        """Begin the first episodes, unless they have begun; return the callback that SB3 calls."""
        if self._callback is None:
            left = self.config.total_steps - self.steps
            begins = self.model._last_obs is None
            _, self._callback = self.model._setup_learn(left, None, begins)
            self._callback.on_training_start(locals(), globals())
        return self._callback

    def _take_values(self) -> dict[str, float]:
        """Take the values that an update has recorded."""
        values = self.model.logger.name_to_value
        train = {ours: float(values[k]) for k, ours in _TRAIN_VALUES.items() if k in values}
        for name in ("loss", "policy_loss", "value_loss"):
            check_loss(train.get(name, 0.0), self.steps // self.config.rollout)
        values.clear()
        return train

    def reset_lanes(self, shift: int | None = None) -> None:
        """See :meth:`Trainer.reset_lanes`."""
        self._start()
        seeds = None if shift is None else training_seed(self.model.seed or 0) + shift
        self.model._last_obs = self.vec.restart(seeds)
        self.model._last_episode_starts = np.ones(self.vec.num_envs, np.bool_)

    def state(self) -> State:
        """See :meth:`Trainer.state`; the generators of SB3 are those of the process."""
        model = self.model
        check_parameters(model.policy)
        self._start()
        return State(
            steps=self.steps,
            model=checkpoint.copy_to_host(
                {
                    "policy": model.policy.state_dict(),
                    "optimizer": model.policy.optimizer.state_dict(),
                    "generator": torch.get_rng_state(),
                    "device_generators": torch.cuda.get_rng_state_all(),  # none without CUDA
                }
            ),
            values={
                "counters": {"num_timesteps": model.num_timesteps, "n_updates": model._n_updates},
                "precision": self.chosen_precision,
                "generators": global_generators(),
            },
            rows=self.engines[0].get_states(),
            arrays={
                "episode_starts": np.array(model._last_episode_starts),
                **seating_of(self.engines),
            },
        )

    def load_state(self, state: State) -> None:
        """Put back the state from which the run continues."""
        model, engine = self.model, self.vec.engine
        rows = np.ascontiguousarray(state.rows)
        restore_lanes([engine], rows.view(np.uint8).reshape(len(rows), -1), state.arrays)
        model.policy.load_state_dict(state.model["policy"])
        model.policy.optimizer.load_state_dict(state.model["optimizer"])
        counters = state.values["counters"]
        self.steps = model.num_timesteps = int(counters["num_timesteps"])
        self.updates = model._n_updates = int(counters["n_updates"])
        model._last_obs = shown_obs(engine.obs)
        model._last_episode_starts = state.arrays["episode_starts"].astype(bool)
        set_global_generators(state.values["generators"])
        torch.set_rng_state(state.model["generator"])
        if len(state.model["device_generators"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(state.model["device_generators"])

    def close(self) -> None:
        """Close the lanes."""
        self.vec.close()


def build(config: SB3Run, vec: VecEnv) -> MaskablePPO:
    """Make MaskablePPO by a config, with all generators seeded."""
    ppo = config.ppo
    rate = ppo.learning_rate
    several = isinstance(vec.observation_space, spaces.Dict)
    model = MaskablePPO(
        "MultiInputPolicy" if several else "MlpPolicy",
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
        policy_kwargs=policy_kwargs(ppo),
        seed=stream_seed(config.seed, "init"),
        device=config.device,
    )
    vec.seed(training_seed(config.seed))  # the model has seeded it with its own
    model.set_logger(Logger(None, []))  # our log reads what the trainer records
    return model
