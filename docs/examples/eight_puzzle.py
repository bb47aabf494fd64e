"""The 8-puzzle as an environment of Gymnasium in plain Python.

Eight tiles and a blank lie on 3 x 3 cells. A move changes the blank with a tile beside it. An
episode begins some random moves away from the goal, and pays 1 for the tiles in order.
``eight_puzzle_game.py`` has the same game for fastenv.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from fastenv.rng import Rng

GOAL = [1, 2, 3, 4, 5, 6, 7, 8, 0]
UP, DOWN, LEFT, RIGHT = range(4)
STEPS = {UP: -3, DOWN: 3, LEFT: -1, RIGHT: 1}  # where the blank goes


class EightPuzzle(gymnasium.Env[np.ndarray, int]):
    """Slide eight tiles into order."""

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012

    def __init__(self, shuffle: int = 12, limit: int = 30, render_mode: str | None = None) -> None:
        self.shuffle, self.limit, self.render_mode = shuffle, limit, render_mode
        self.observation_space = spaces.Box(0, 1, (81,), np.float32)
        self.action_space = spaces.Discrete(4)
        self.rng: Rng | None = None  # fastenv's generator, so that both draw the same

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Shuffle by random moves from the goal, until the tiles are out of order."""
        super().reset(seed=seed)
        if self.rng is None and seed is None:
            seed = int(self.np_random.integers(2**63))
        if seed is not None:
            self.rng = Rng(seed)
        self.board, self.blank, self.moves = [*GOAL], 8, 0
        while self.board == GOAL:
            for _ in range(self.shuffle):
                legal = np.flatnonzero(self.action_masks())
                self.slide(int(legal[self.rng.bounded(len(legal))]))
        return self.observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Move the blank; off the board it stays where it is, and the move counts."""
        if self.action_masks()[action]:
            self.slide(int(action))
        self.moves += 1
        solved = self.board == GOAL
        return self.observe(), float(solved), solved, not solved and self.moves >= self.limit, {}

    def slide(self, action: int) -> None:
        """Change the blank with the tile beside it."""
        to = self.blank + STEPS[action]
        self.board[self.blank], self.board[to] = self.board[to], 0
        self.blank = to

    def action_masks(self) -> np.ndarray:
        """Return which moves stay on the board."""
        row, column = divmod(self.blank, 3)
        return np.array([row > 0, row < 2, column > 0, column < 2])

    def observe(self) -> np.ndarray:
        """Return a one-hot tile for each cell."""
        return np.eye(9, dtype=np.float32)[self.board].ravel()

    def render(self) -> str:
        """Return the board as text."""
        return "\n".join(" ".join(map(str, self.board[at : at + 3])) for at in (0, 3, 6))
