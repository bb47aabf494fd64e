"""Scripted players of Dr. Mario (docs/drmario.md, 17)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastenv.drmario import tables as t
from fastenv.drmario.greedy import greedy_action
from fastenv.drmario.reference import DrMario
from fastenv.drmario.state import Bot
from fastenv.errors import ConfigError
from fastenv.rng import Rng

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
    params: np.void, game: DrMario, agent: int, mask: npt.NDArray[np.uint8], rng: Rng
) -> int:
    """Return a bot's action.

    Parameters
    ----------
    params : record
        Of ``BOT_DTYPE``.
    game : DrMario
    agent : int
        In whose place.
    mask : ndarray of uint8
        Legal actions.
    rng : Rng
    """
    if params["kind"] == Bot.RANDOM:
        legal = np.flatnonzero(mask).tolist()
        return int(legal[rng.bounded(len(legal))])
    costs = game.costs()[agent]
    if costs is None:
        return 0
    if params["kind"] == Bot.FIRST:
        return int(np.argmin(costs))
    weights = {name: int(params[name]) for name in t.GREEDY}
    return greedy_action(game.players[agent], costs, weights)
