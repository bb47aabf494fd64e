"""A vector environment and the single one that it must equal: a probe lands in gusts."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

HEIGHT, FUEL, LIMIT, GRAVITY, THRUST = 20.0, 12, 25, 0.5, 0.9
HIGH = np.array([100, 100, FUEL], np.float32)
SPACE = spaces.Box(-HIGH, HIGH, dtype=np.float32)


class Drop(gymnasium.Env[np.ndarray, int]):
    """Touch the ground slowly. The observation is (height, speed, fuel)."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self) -> None:
        self.observation_space = SPACE
        self.action_space = spaces.Discrete(2)

    def _obs(self) -> np.ndarray:
        return np.array([self.height, self.speed, self.fuel], np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.height = HEIGHT + self.np_random.uniform(-2, 2)
        self.speed, self.fuel, self.steps = 0.0, FUEL, 0
        return self._obs(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        burns = action == 1 and self.fuel > 0
        self.fuel -= burns
        gust = self.np_random.uniform(-0.2, 0.2)
        self.speed += (THRUST if burns else 0.0) - GRAVITY + gust
        self.height += self.speed
        self.steps += 1
        landed = self.height <= 0
        reward = -0.05 * burns
        if landed:
            reward += 1.0 if self.speed > -2.0 else -1.0
        return self._obs(), reward, bool(landed), self.steps >= LIMIT, {}


class DropVector(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many probes at once; a lane that ended begins again as the autoreset mode says."""

    def __init__(self, num_envs: int = 3, mode: str = "SameStep") -> None:
        self.num_envs = num_envs
        self.mode = AutoresetMode(mode)
        self.metadata = {"autoreset_mode": self.mode, "render_modes": []}
        self.single_observation_space, self.single_action_space = SPACE, spaces.Discrete(2)
        self.observation_space = batch_space(SPACE, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.rngs = [np.random.default_rng() for _ in range(num_envs)]
        self.height, self.speed = np.zeros(num_envs), np.zeros(num_envs)
        self.fuel, self.steps = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.int64)
        self.ended = np.zeros(num_envs, np.bool_)

    def _obs(self) -> np.ndarray:
        return np.stack([self.height, self.speed, self.fuel], 1).astype(np.float32)

    def _restart(self, lanes: np.ndarray) -> None:
        for lane in np.flatnonzero(lanes):
            self.height[lane] = HEIGHT + self.rngs[lane].uniform(-2, 2)
        self.speed[lanes], self.fuel[lanes], self.steps[lanes] = 0.0, FUEL, 0
        self.ended[lanes] = False

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        lanes = np.ones(self.num_envs, np.bool_)
        if options and "reset_mask" in options:
            lanes = options["reset_mask"]
        if seed is not None:
            seeds = [seed + k for k in range(self.num_envs)] if isinstance(seed, int) else seed
            for lane in np.flatnonzero(lanes):
                self.rngs[lane] = np.random.default_rng(seeds[lane])
        self._restart(lanes)
        return self._obs(), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        restart = self.ended.copy() if self.mode is AutoresetMode.NEXT_STEP else None
        moved = ~self.ended
        burns = (actions == 1) & (self.fuel > 0) & moved
        self.fuel -= burns
        gusts = np.array(
            [
                rng.uniform(-0.2, 0.2) if moves else 0.0
                for rng, moves in zip(self.rngs, moved, strict=True)
            ]
        )
        change = np.where(burns, THRUST, 0.0) - GRAVITY + gusts
        self.speed += np.where(moved, change, 0.0)
        self.height += np.where(moved, self.speed, 0.0)
        self.steps += moved
        landed = (self.height <= 0) & moved
        reward = -0.05 * burns
        reward += np.where(landed, np.where(self.speed > -2.0, 1.0, -1.0), 0.0)
        truncated = (self.steps >= LIMIT) & moved
        self.ended |= landed | truncated
        infos: dict[str, Any] = {}
        if restart is not None:
            self._restart(restart)
        elif self.mode is AutoresetMode.SAME_STEP and self.ended.any():
            ended, final = self.ended.copy(), np.empty(self.num_envs, object)
            shown = self._obs()
            for lane in np.flatnonzero(ended):
                final[lane] = shown[lane]
            infos = {"final_obs": final, "_final_obs": ended}
            self._restart(ended)
        return self._obs(), reward, landed, truncated, infos
