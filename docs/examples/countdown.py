"""A small game three times: as it should be, ported with a mistake, and as a vector with another.

A counter begins at a random number from 5 to 9. Each action takes 1 or 2 away; whoever reaches 0
exactly wins a point, whoever passes it loses one.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

SPACE = spaces.Box(-1, 9, (1,), np.float32)


class Countdown(gymnasium.Env[np.ndarray, int]):
    """The game as its rules say."""

    observation_space, action_space = SPACE, spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin at a random number."""
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(5, 10))
        return np.array([self.left], np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take 1 or 2 away."""
        self.left -= 1 + action
        over = self.left <= 0
        reward = (1.0 if self.left == 0 else -1.0) if over else 0.0
        return np.array([self.left], np.float32), reward, over, False, {}


class Port(Countdown):
    """A port that ends one step late."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take 1 or 2 away; the comparison should be ``<=``."""
        self.left -= 1 + action
        over = self.left < 0
        reward = (1.0 if self.left == 0 else -1.0) if over else 0.0
        return np.array([max(self.left, -1)], np.float32), reward, over, False, {}


class Many(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many at once, whose final observation is the next episode's first."""

    def __init__(self, num_envs: int = 2) -> None:
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space, self.single_action_space = SPACE, spaces.Discrete(2)
        self.observation_space = batch_space(SPACE, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.rngs = [np.random.default_rng() for _ in range(num_envs)]
        self.left = np.zeros(num_envs, np.int64)

    def _begin(self, lanes: np.ndarray) -> None:
        for lane in np.flatnonzero(lanes):
            self.left[lane] = self.rngs[lane].integers(5, 10)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin everywhere."""
        if seed is not None:
            self.rngs = [np.random.default_rng(seed + k) for k in range(self.num_envs)]
        self._begin(np.ones(self.num_envs, np.bool_))
        return self.left[:, None].astype(np.float32), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take 1 or 2 away everywhere, and begin again where an episode ended."""
        self.left -= 1 + actions
        over = self.left <= 0
        rewards = np.where(over, np.where(self.left == 0, 1.0, -1.0), 0.0)
        self._begin(over)  # one line too early
        shown = self.left[:, None].astype(np.float32)
        final = np.empty(self.num_envs, object)
        for lane in np.flatnonzero(over):
            final[lane] = shown[lane]
        infos = {"final_obs": final, "_final_obs": over} if over.any() else {}
        return shown, rewards, over, np.zeros_like(over), infos
