"""A masked environment: cards are put on piles that must not pass 21."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

PILES, TARGET, SKIPS = 3, 21, 2
SKIP = PILES


class Piles(gymnasium.Env[dict[str, Any], int]):
    """Put each card of a shuffled deck on one of three piles, or skip it, at most twice.

    A pile of exactly 21 is cleared and pays; a pile never passes 21. The game is over when the
    deck is, or when no card can be put and no skip is left.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            {
                "card": spaces.Discrete(12),
                "piles": spaces.MultiDiscrete([TARGET] * PILES),
                "skips": spaces.Discrete(SKIPS + 1),
                "left": spaces.Box(0, 1, (10,), np.float32),
            }
        )
        self.action_space = spaces.Discrete(PILES + 1)

    def action_masks(self) -> np.ndarray:
        mask = np.zeros(PILES + 1, np.int8)
        for pile, height in enumerate(self.piles):
            mask[pile] = height + self.card <= TARGET
        mask[SKIP] = self.skips > 0
        return mask

    def _obs(self) -> dict[str, Any]:
        counts = np.array([self.deck.count(value) for value in range(2, 12)], np.float32)
        return {
            "card": self.card,
            "piles": np.array(self.piles),
            "skips": self.skips,
            "left": counts / np.array([4] * 8 + [16, 4], np.float32),
        }

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), "cleared": self.cleared}

    def _draw(self) -> None:
        self.card = self.deck.pop() if self.deck else 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.deck = [*range(2, 10), 10, 10, 10, 10, 11] * 4
        self.np_random.shuffle(self.deck)
        self.piles, self.skips, self.cleared, self.streak = [0] * PILES, SKIPS, 0, 0
        self._draw()
        return self._obs(), self._info()

    def step(self, action: int) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        if not self.action_masks()[action]:
            raise ValueError(f"action {action} is not legal")
        reward = 0.0
        if action == SKIP:
            self.skips -= 1
            self.streak = 0
        else:
            self.piles[action] += self.card
            if self.piles[action] == TARGET:
                self.piles[action] = 0
                self.cleared += 1
                self.streak += 1
                reward = 1.0 + 0.5 * (self.streak - 1)
            else:
                self.streak = 0
        self._draw()
        terminated = self.card == 0 or not self.action_masks().any()
        if terminated:
            reward += 0.1 * self.cleared
        return self._obs(), reward, terminated, False, self._info()
