"""The scripted player of two linked consoles: any legal button."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, show
from fastenv.rng import Rng

RANDOM = "random"
BOT_DTYPE = np.dtype([("kind", "i4")])


def bot(name: str) -> np.ndarray:
    """Return the parameters of a player, shape (1,).

    Raises
    ------
    ConfigError
        For one that is unknown.
    """
    if name != RANDOM:
        raise ConfigError(f"bot {show(name)}: must be {RANDOM}")
    return np.zeros(1, BOT_DTYPE)


def bot_action(mask: npt.NDArray[np.uint8], rng: Rng) -> int:
    """Return a legal action, each as likely as the others."""
    legal = np.flatnonzero(mask).tolist()
    return int(legal[rng.bounded(len(legal))])
