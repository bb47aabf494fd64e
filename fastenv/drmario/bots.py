"""Scripted players of Dr. Mario (docs/drmario.md, 17)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.greedy import greedy_action
from fastenv.drmario.lookahead import lookahead_action
from fastenv.drmario.placement import Placements
from fastenv.drmario.reference import DrMario
from fastenv.drmario.state import Bot
from fastenv.errors import ConfigError, show
from fastenv.rng import Rng

NAMES = tuple(bot.name.lower() for bot in Bot)
FOR_ONE = tuple(name for name in NAMES if name != Bot.ATTACK2.name.lower())


def names_of(config: DrMarioConfig) -> tuple[str, ...]:
    """Return who can play: where decisions are frames only ``random``, others choose placements."""
    if not config.placement:
        return (Bot.RANDOM.name.lower(),)
    return NAMES if config.agents == 2 else FOR_ONE


def bot_kind(name: str, config: DrMarioConfig) -> Bot:
    """Return the bot of a name.

    Raises
    ------
    ConfigError
        For one that is unknown, or cannot play in this game.
    """
    allowed = names_of(config)
    if not isinstance(name, str) or name not in allowed:
        where = "" if config.placement else " where decisions are frames"
        raise ConfigError(f"bot {show(name)}: must be one of {', '.join(allowed)}{where}")
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
    weights = {name: int(params[name]) for name in (*t.GREEDY, "attack")}
    if params["kind"] == Bot.GREEDY:
        return greedy_action(game.players[agent], costs, weights)
    assert isinstance(game, Placements)
    widths = [width for width in params["followed"].tolist() if width > 0]
    return lookahead_action(game, game.players[agent], costs, weights, widths)
