"""Seeds of the games that a run plays, where a game keeps some of them for reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.errors import ConfigError, show
from training.run import games


class Episodes:
    """Draws the seed of each episode from a part of those that the game has.

    A draw depends on the decision that is due alone, so a run that goes on draws the same.

    Parameters
    ----------
    env : str
        Id of the environment.
    part : str
        Of the seeds, such as those to train on, where others are kept for reports. The capability
        ``seeds`` is a function of it that returns the knob that sets which game is played, and its
        values.
    seed : int
        Of the draws.

    Raises
    ------
    ConfigError
        If the game has no such part.
    """

    def __init__(self, env: str, part: str, seed: int) -> None:
        seeds_for, refused = games.find(env, "seeds"), f"expert.seeds={show(part)} is not possible"
        if seeds_for is None:
            raise ConfigError(f"{refused}: this game does not split its seeds.")
        try:
            self._knob, self._seeds = seeds_for(part)
        except ConfigError as error:
            raise ConfigError(f"{refused}: {error}") from None
        self._seed = seed

    def prepare(self, engine: Any, lanes: np.ndarray, when: tuple[int, ...]) -> None:
        """Draw and set the seeds of the next episodes of lanes.

        Parameters
        ----------
        engine : BatchEngine
        lanes : ndarray of int, shape (k,)
        when : tuple of int
            Numbers that tell this draw from others of the run.
        """
        drawn = np.random.default_rng((self._seed, *when)).choice(self._seeds, len(lanes))
        for lane, value in zip(lanes.tolist(), drawn.tolist(), strict=True):
            engine.configure(self._knob, value, [lane])
