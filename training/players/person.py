"""A person as a player: what a screen hands over is what it plays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.errors import ConfigError
from training.players.player import Player


class Person:
    """A person in front of a screen; see :class:`training.players.player.Player`.

    Whoever shows the game waits until the person has chosen, hands that over by :meth:`choose`,
    and asks the players then.

    Parameters
    ----------
    engine : BatchEngine
    adviser : Player, optional
        Says, before the person chooses, what it would do.
    """

    def __init__(self, engine: Any, adviser: Player | None = None) -> None:
        self.adviser = adviser
        self._chosen: int | None = None

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Forget what was chosen; the adviser draws from these seeds."""
        self._chosen = None
        if self.adviser is not None:
            self.adviser.begin(engine, lanes, seeds)

    def choose(self, action: int) -> None:
        """Choose the action that is played next."""
        self._chosen = action

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the action that was chosen, once.

        Raises
        ------
        ConfigError
            If none was: nobody shows the game to a person here.
        """
        if self._chosen is None:
            raise ConfigError("a person plays where a screen asks: by play, or in the studio.")
        action, self._chosen = self._chosen, None
        return np.full(len(lanes), action, np.int32)
