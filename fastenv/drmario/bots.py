"""Scripted players of Dr. Mario (docs/drmario.md, 17)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fastenv.drmario import tables as t
from fastenv.drmario.config import ACTIONS, DrMarioConfig
from fastenv.drmario.greedy import greedy_action
from fastenv.drmario.lookahead import lookahead_action
from fastenv.drmario.planning import buttons_to, costs_of_falling
from fastenv.drmario.player import Player
from fastenv.drmario.reference import DrMario
from fastenv.drmario.state import Actions, Bot
from fastenv.errors import ConfigError, show, with_nearest
from fastenv.rng import Rng

NAMES = tuple(bot.name.lower() for bot in Bot)
BUTTONS = ACTIONS[Actions.BUTTONS]
FOR_ONE = tuple(name for name in NAMES if name != Bot.ATTACK2.name.lower())


def names_of(config: DrMarioConfig) -> tuple[str, ...]:
    """Return who can play: where actions latch directions only ``random``."""
    if config.actions != BUTTONS:
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
        where = "" if config.actions == BUTTONS else f" with actions={show(config.actions)}"
        message = f"bot {show(name)}: must be one of {', '.join(allowed)}{where}"
        raise ConfigError(with_nearest(message, name, allowed))
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
    player = game.players[agent]
    steered = not game.config.placement
    costs = costs_of_falling(game, player) if steered else game.costs()[agent]
    if costs is None:
        return 0
    action = choose(params, game, player, costs)
    return buttons_to(game, player, action, costs[action]) if steered else action


def choose(params: np.void, game: DrMario, player: Player, costs: Sequence[int]) -> int:
    """Return the placement that a bot chooses, of those that can be reached."""
    if params["kind"] == Bot.FIRST:
        return int(np.argmin(costs))
    weights = {name: int(params[name]) for name in t.GREEDY}
    if params["kind"] == Bot.GREEDY:
        return greedy_action(player, costs, weights)
    looking = t.Looking(*(int(params[name]) for name in t.Looking._fields))
    return lookahead_action(game, player, costs, weights, looking)
