"""A game made from options, whose parts are modules of its folder: what they all have in common."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.game import Game
from fastenv.options import GameConfig

Array = npt.NDArray[Any]


class ConfiguredGame(Game):
    """A game that hands calls on to the modules of its folder.

    A subclass names the modules, and overrides what is different in it.

    Parameters
    ----------
    config : GameConfig

    Attributes
    ----------
    position : module
        With ``pack(game)``.
    encoding : module
        With ``encode_obs(game, out)``, ``action_mask(game, out)``, ``reward(game)`` and
        ``info(game)``.
    """

    position: ModuleType
    encoding: ModuleType

    def __init__(self, config: GameConfig) -> None:
        self.config = config

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild from the config."""
        return type(self), (self.config,), self.pickled_attributes()

    def reset(self, game: Any, knobs: np.void, seed: int | None) -> None:
        """Start an episode; the knobs are for games that have some."""
        game.reset(seed)

    def step(self, game: Any, action: Any) -> None:
        """Take one decision."""
        game.step(action)

    def pack(self, game: Any) -> bytes:
        """Return the row of a game."""
        row: bytes = self.position.pack(game)
        return row

    def encode_obs(self, game: Any, out: Array) -> None:
        """Write the observation."""
        self.encoding.encode_obs(game, out)

    def action_mask(self, game: Any, out: npt.NDArray[np.uint8]) -> None:
        """Write the legal actions as 0 and 1."""
        self.encoding.action_mask(game, out)

    def reward(self, game: Any) -> tuple[Any, Any] | None:
        """Return the reward of the last step and its terms, or None if it was no decision."""
        found: tuple[Any, Any] | None = self.encoding.reward(game)
        return found

    def info(self, game: Any) -> tuple[Any, ...]:
        """Return the columns of the state."""
        columns: tuple[Any, ...] = self.encoding.info(game)
        return columns
