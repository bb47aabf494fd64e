"""Trained agents among the opponents of an environment (``opponents: [PATH, BOT, ...]``).

In an evaluation they may search (``search:PATH,worlds=16``).

In a game with an entry an agent in its rows the option is called ``opponent``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

import fastenv
from fastenv import BatchEngine
from fastenv.registry import short_id
from fastenv.seats import EXTERNAL
from training.evaluation.loop import ask
from training.players.names import load_who, make_player
from training.players.network import draws
from training.players.player import Player, begin_all
from training.players.trained import load_policy
from training.run import games
from training.run.envs import make_engine
from training.run.options import require
from training.run.seating import (
    env_of_table,
    is_agent,
    is_search,
    opponents_option,
    without_seating,
)
from training.selfplay.seated import SeatedEngine


class Opponents:
    """A player for each seat after the learner's; see :class:`training.players.player.Player`.

    Parameters
    ----------
    engine : BatchEngine
    names : sequence of str or None
        Paths or ``search:`` names, from the learner's seat on; None for a bot of the engine.
    """

    def __init__(self, engine: BatchEngine, names: Sequence[str | None]) -> None:
        self._engine, self.names = engine, tuple(names)

    @cached_property
    def players(self) -> list[Player | None]:
        """The player of each seat after the learner's, loaded when it is first asked for."""
        loaded = {name: load_who(name) for name in {name for name in self.names if name}}
        players = [
            None if name is None else make_player(loaded[name], self._engine, beside=True)
            for name in self.names
        ]
        for k, player in enumerate(players):
            if player is not None:
                begin_all(player, self._engine, k)
        return players

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Let all players begin, each with seeds of its own, which are not the learner's."""
        for k, player in enumerate(self.players):
            if player is not None:
                player.begin(engine, lanes, None if seeds is None else seeds + 1 + k)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the actions of the players whose decisions are due."""
        places = engine.get_places(lanes) - 1
        actions: np.ndarray = ask(engine, self.players, lanes, places)[lanes]
        return actions


class OpponentEngine(SeatedEngine):
    """:class:`SeatedEngine` in which trained agents play; they are loaded at the first reset.

    Parameters
    ----------
    engine : BatchEngine
        With the seats of ``names`` played from outside.
    names : sequence of str or None
        See :class:`Opponents`.
    """

    others: Opponents

    def __init__(self, engine: BatchEngine, names: Sequence[str | None]) -> None:
        super().__init__(engine, Opponents(engine, names))

    def configure(self, name: str, value: Any, idx: Any = None) -> None:
        """Set a knob; the opponents stay who they are."""
        allowed = "left out: trained agents are the opponents"
        require(name != self._opponents, name, value, allowed)
        self._engine.configure(name, value, idx)


def prepare_seats(
    env: str, options: Mapping[str, Any]
) -> tuple[dict[str, Any], Callable[[BatchEngine], OpponentEngine]]:
    """Return the options to make the game with, and a function that adds its trained opponents.

    Parameters
    ----------
    env : str
    options : mapping
        Of the environment; ``opponents`` or ``opponent`` is one name for all seats or a list of one
        a seat, of bots and paths.

    Raises
    ------
    ConfigError
        If nobody can sit beside the learner in this environment, or none that searches: in parts of
        a game nobody does.
    """
    seats = fastenv.make_game(env, **without_seating(options)).external_seats
    whole = env_of_table(env) == short_id(env)
    part = short_id(env) in games.get_game(env).table.parts
    name = opponents_option(options) if seats is None else seats.opponents
    value = options.get(name)
    allowed = "bots: agents that are trained or search cannot be played in this environment"
    require(seats is not None and (whole or part), name, value, allowed)
    assert seats is not None
    if name not in options:  # the game knows the other word even less
        return dict(options), lambda engine: OpponentEngine(engine, [])
    names = [value] * (seats.count - 1) if isinstance(value, str) else list(value or ())
    allowed = "bots or trained agents here: agents that search play whole games alone"
    require(whole or not any(map(is_search, names)), name, value, allowed)
    plain = [EXTERNAL if is_agent(each) else each for each in names]
    outside = [each if is_agent(each) else None for each in names]
    return {**options, name: plain}, lambda engine: OpponentEngine(engine, outside)


def check(config: Any) -> None:
    """Refuse trained opponents that a training could not go on with after a resume.

    Parameters
    ----------
    config : RunConfig
        With trained agents among its opponents.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If one is not there or does not fit, has a memory, draws its actions, or needs a bot beside
        it.
    """
    options = config.env_options
    name = opponents_option(options)
    value = options[name]
    allowed = "bots with trainer='{}' or selfplay, which cannot play against trained agents"
    plain = config.MEETS_AGENTS and config.selfplay is None
    require(plain, name, value, allowed.format(config.trainer))
    require(name not in config.schedules, f"schedules.{name}", value, "left out here")
    for each in [value] if isinstance(value, str) else value:
        allowed = "of agents that do not search: a training cannot wait for them"
        require(not is_search(each), name, each, allowed)
    engine: Any = make_engine(config.env, 1, options)
    _ = engine.others.players  # or it is refused
    for path in filter(None, engine.others.names):
        policy = load_policy(path)
        parts = games.get_game(policy.env).table.parts
        allowed = "of agents that take all decisions of a game and have no memory"
        takes_all = short_id(policy.env) not in parts
        require(takes_all and not policy.state_size, name, path, allowed)
        allowed = "of agents that do not draw their actions, as those of this game do"
        require(not draws(policy), name, path, allowed)
