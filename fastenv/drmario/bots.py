"""Scripted players of Dr. Mario."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError
from fastenv.rng import Rng


class Bot(IntEnum):
    """Who plays."""

    RANDOM = 0  # any legal action, all as likely; one draw
    FIRST = 1  # the placement that takes the fewest frames, among equals the lowest; 0 in frames


NAMES = tuple(bot.name.lower() for bot in Bot)


def bot_kind(name: str) -> Bot:
    """Return the bot of a name.

    Raises
    ------
    ConfigError
        For an unknown one.
    """
    if not isinstance(name, str) or name not in NAMES:
        raise ConfigError(f"bot {name!r}: must be one of {', '.join(NAMES)}")
    return Bot[name.upper()]


def bot_action(
    kind: Bot, costs: Sequence[int] | None, mask: npt.NDArray[np.uint8], rng: Rng
) -> int:
    """Return a bot's action.

    Parameters
    ----------
    kind : Bot
    costs : sequence of int or None
        Those of the 512 placements, None where no decision is due or decisions are frames.
    mask : ndarray of uint8
        Legal actions.
    rng : Rng
    """
    if kind == Bot.RANDOM:
        legal = np.flatnonzero(mask).tolist()
        return int(legal[rng.bounded(len(legal))])
    return 0 if costs is None else int(np.argmin(costs))
