"""A single environment: a ferry crosses a river whose current pushes it."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

WIDTH, HEIGHT, FUEL, LIMIT = 5, 5, 24, 40
MOVES = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))


class Ferry(gymnasium.Env[np.ndarray, int]):
    """Carry two loads from the left bank to the right one before the fuel is gone.

    The observation is (column, row, fuel, loaded, delivered). A load is taken in column 0 and
    delivered in the last; the current moves the ferry a row in some steps.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        high = np.array([WIDTH - 1, HEIGHT - 1, FUEL, 1, 2], np.float32)
        self.observation_space = spaces.Box(np.zeros(5, np.float32), high, dtype=np.float32)
        self.action_space: spaces.Space[Any] = spaces.Discrete(len(MOVES))

    def _obs(self) -> np.ndarray:
        shown = (self.x, self.y, self.fuel, self.loaded, self.delivered)
        return np.array(shown, np.float32)

    def _info(self) -> dict[str, Any]:
        return {"rocks": list(self.rocks), "steps": self.steps}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.y = 0, int(self.np_random.integers(HEIGHT))
        self.fuel, self.loaded, self.delivered, self.steps = FUEL, 0, 0, 0
        self.rocks = [
            (int(self.np_random.integers(2, WIDTH - 2)), int(self.np_random.integers(HEIGHT)))
            for _ in range(2)
        ]
        return self._obs(), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        reward = -0.1
        dx, dy = MOVES[action]
        if action != 0:
            self.fuel -= 1
        drift = int(self.np_random.integers(-1, 2)) if self.np_random.random() < 0.3 else 0
        x = min(max(self.x + dx, 0), WIDTH - 1)
        y = min(max(self.y + dy + drift, 0), HEIGHT - 1)
        if (x, y) in self.rocks:
            reward -= 0.5
        else:
            self.x, self.y = x, y
        if self.x == 0 and not self.loaded:
            self.loaded = 1
        if self.x == WIDTH - 1 and self.loaded:
            self.loaded = 0
            self.delivered += 1
            reward += 2.0
        self.steps += 1
        terminated = self.delivered == 2 or self.fuel == 0
        truncated = self.steps >= LIMIT
        return self._obs(), reward, terminated, truncated, self._info()

    def render(self) -> np.ndarray | None:
        if self.render_mode is None:
            return None
        picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        for x, y in self.rocks:
            picture[y, x] = 90
        picture[self.y, self.x] = (255, 200, 0)
        return picture.repeat(8, 0).repeat(8, 1)
