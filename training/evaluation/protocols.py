"""How the game of an environment is evaluated: what it says itself, or what suits any game.

The capability ``evaluation`` makes the protocol of a game of its record. A game that has none
plays episodes: alone (:class:`training.evaluation.protocol.EpisodeProtocol`), or against
opponent sets (:class:`training.evaluation.opponent_protocol.OpponentProtocol`).
"""

from __future__ import annotations

from fastenv import Game, registry
from fastenv.errors import ConfigError
from training.evaluation.opponent_protocol import OpponentProtocol
from training.evaluation.protocol import EpisodeProtocol, Protocol
from training.run import games


def get_protocol(env: str) -> Protocol:
    """Return how the game of an environment is evaluated.

    Parameters
    ----------
    env : str
        Its id, with or without the namespace.
    """
    game = games.get_game(env)
    own = games.find(game, "evaluation")
    if own is not None:
        made_by_game: Protocol = own(game)
        return made_by_game
    made = _make(env, dict(game.env_options))
    bots = () if made is None else made.bot_names[::-1]
    if made is not None and made.spec.num_agents > 1:
        return OpponentProtocol(game, bots, made.spec.judged_by)
    return EpisodeProtocol(game, bots)


def _make(env: str, options: dict[str, object]) -> Game | None:
    """Return the game as it is in training; None if it cannot be made without further options."""
    try:
        return registry.make_seated(env, options.pop("opponent", None), options)[0]
    except ConfigError:
        return None
