"""A game of Asteroid Prospector as a row of ``STATE_DTYPE``, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.prospector.reference import Prospector
from fastenv.prospector.state import STATE_DTYPE

# A reference game generates all asteroids at once, so nothing is pending.
NOT_IN_A_GAME = ("pending", "asteroid_rng", "unused")


def pack(game: Prospector, row: Any) -> None:
    """Write a game into ``row``, one record of ``STATE_DTYPE`` (a view, such as ``rows[i]``)."""
    for name in STATE_DTYPE.names or ():
        if name in NOT_IN_A_GAME:
            row[name] = 0
        elif name == "rng":
            row[name] = np.uint64(game.rng.state)
        else:
            row[name] = getattr(game, name)


def unpack(row: Any, time_max: float) -> Prospector:
    """Return the game that a complete row stands for; the inverse of :func:`pack`.

    Parameters
    ----------
    row : record of STATE_DTYPE
        It is copied.
    time_max : float
        Of the rules; not part of a row.
    """
    game = Prospector(time_max)
    for name in STATE_DTYPE.names or ():
        value = row[name]
        if name in NOT_IN_A_GAME:
            continue
        if name == "rng":
            game.rng.state = int(value)
        else:
            setattr(game, name, value.copy() if value.ndim else value.item())
    return game
