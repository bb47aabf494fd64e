"""Trained agents among the opponents of an environment (``opponents: [PATH, BOT, ...]``).

In an evaluation they may search (``search:PATH,worlds=16``).

In a game with an entry an agent in its rows the option is called ``opponent``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import fastenv
from fastenv import BatchEngine
from fastenv.registry import short_id
from fastenv.seats import EXTERNAL
from training.evaluation.loop import ask
from training.players.load import load_policy
from training.players.names import load_who, make_player
from training.players.player import Player, begin_all
from training.run import games
from training.run.envs import make_engine, opponents_option
from training.run.names import is_guest, is_search
from training.run.options import require
from training.run.seating import env_of_table, without_seating
from training.selfplay.seated import Array, SeatedEngine


class OpponentEngine(SeatedEngine):
    """:class:`SeatedEngine` in which trained agents play; they are loaded at the first reset.

    Parameters
    ----------
    engine : BatchEngine
        With the seats of ``paths`` played from outside.
    paths : sequence of str or None
        Of the opponents, or ``search:`` names, from the learner's seat on; None for a bot of the
        engine.

    Attributes
    ----------
    paths : tuple of str or None
    """

    def __init__(self, engine: BatchEngine, paths: Sequence[str | None]) -> None:
        super().__init__(engine)
        self.paths = tuple(paths)
        self._players: list[Player | None] | None = None

    def configure(self, name: str, value: Any, idx: Any = None) -> None:
        """Set a knob; the opponents stay who they are."""
        allowed = "left out: trained agents are the opponents"
        require(name != self._opponents, name, value, allowed)
        self._engine.configure(name, value, idx)

    @property
    def players(self) -> list[Player | None]:
        """The player of each seat after the learner's; None for a bot of the engine."""
        if self._players is None:
            known = {path: load_who(path) for path in {p for p in self.paths if p}}
            self._players = [
                None if path is None else make_player(known[path], self._engine, beside=True)
                for path in self.paths
            ]
            for k, player in enumerate(self._players):
                if player is not None:
                    begin_all(player, self._engine, k)
        return self._players

    def _seat_players(self, fresh: Array) -> None:
        self._external[fresh] = self._has_external()[fresh]
        for player in self.players:
            if player is not None:
                player.begin(self._engine, np.flatnonzero(fresh))

    def _decide(self, lanes: Array, places: Array, obs: Array, mask: Array) -> Array:
        return ask(_Shown(self._engine, obs, mask), self.players, lanes, places - 1)


class _Shown:
    """An engine with the observations and masks that are up to date."""

    def __init__(self, engine: BatchEngine, obs: Array, mask: Array) -> None:
        self._engine, self.obs, self.mask = engine, obs, mask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def refresh(self) -> None:
        """Leave the engine's own behind: they are not looked at."""


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
    given = options.get(name)
    allowed = "bots: agents that are trained or search cannot be played in this environment"
    require(seats is not None and (whole or part), name, given, allowed)
    assert seats is not None
    if name not in options:  # the game knows the other word even less
        return dict(options), lambda engine: OpponentEngine(engine, [])
    names = [given] * (seats.count - 1) if isinstance(given, str) else list(given or ())
    allowed = "bots or trained agents here: agents that search play whole games alone"
    require(whole or not any(map(is_search, names)), name, given, allowed)
    plain = [EXTERNAL if is_guest(each) else each for each in names]
    paths = [each if is_guest(each) else None for each in names]
    return {**options, name: plain}, lambda engine: OpponentEngine(engine, paths)


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
    given = options[name]
    allowed = "bots with trainer='{}' or selfplay, which cannot play against trained agents"
    plain = config.MEETS_AGENTS and config.selfplay is None
    require(plain, name, given, allowed.format(config.trainer))
    require(name not in config.schedules, f"schedules.{name}", given, "left out here")
    for each in [given] if isinstance(given, str) else given:
        allowed = "of agents that do not search: a training cannot wait for them"
        require(not is_search(each), name, each, allowed)
    engine: Any = make_engine(config.env, 1, options)
    _ = engine.players  # or it is refused
    for path in filter(None, engine.paths):
        policy = load_policy(path)
        parts = games.get_game(policy.env).table.parts
        allowed = "of agents that take all decisions of a game and have no memory"
        takes_all = short_id(policy.env) not in parts
        require(takes_all and not policy.state_size, name, path, allowed)
        allowed = "of agents that do not draw their actions, as those of this game do"
        require(not games.get_game(policy.env).draws, name, path, allowed)
