"""Small models of every make, and what they collected."""

from types import SimpleNamespace

import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.engine import BatchEngine
from tests.toy import WalkGame
from tests.training.ppo.engines import Counting

SMALL = {
    "n_steps": 16,
    "batch_size": 32,
    "n_epochs": 2,
    "policy_kwargs": {"net_arch": [16]},
    "device": "cpu",
    "seed": 3,
}


class _Played:
    """What a ``BatchVecEnv`` wants to know about the game of an engine."""

    num_agents = 1

    @property
    def spec(self):
        return SimpleNamespace(
            obs_dtype=np.dtype("f4"),
            obs_shape=self.obs_shape,
            obs_bounds=(-np.inf, np.inf),
            has_tau=False,
            render_modes=(),
        )

    @property
    def game(self):
        return SimpleNamespace(spec=self.spec)


class CountingGame(_Played, Counting):
    """Shows lane and time; odd lanes are cut off after 5 decisions, even ones end."""


def walk(lanes=8, **options):
    """Lanes that end by reaching the goal and by the clock, with masks that change."""
    engine = BatchEngine(WalkGame(), lanes)
    engine.configure("limit", 4)
    return BatchVecEnv(engine, **options)


def model(vec, policy="MlpPolicy", **options):
    made = MaskablePPO(policy, vec, **{**SMALL, **options})
    made.set_logger(Logger(None, []))
    return made


class Rollouts(BaseCallback):
    """Keeps a copy of every rollout."""

    names = (
        *("observations", "actions", "rewards", "episode_starts", "values", "log_probs"),
        *("advantages", "returns", "action_masks"),
    )

    def __init__(self):
        super().__init__()
        self.kept = []

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        buffer = self.model.rollout_buffer
        self.kept.append({name: getattr(buffer, name).copy() for name in self.names})


def learn(made, iterations=1):
    """Train with generators that begin at the model's seed, and return the rollouts."""
    made.set_random_seed(made.seed)
    seen = Rollouts()
    made.learn(iterations * made.n_steps * made.n_envs, seen)
    return seen
