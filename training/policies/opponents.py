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
from training.policies.guests import Guest, make_guest
from training.policies.load import load_policy, load_who
from training.run import games
from training.run.envs import make_engine, opponents_option
from training.run.names import is_guest, is_search
from training.run.options import require
from training.run.seating import env_of_table, without_seating
from training.selfplay.seated import Array, SeatedEngine


class GuestEngine(SeatedEngine):
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
        self._guests: list[Guest | None] | None = None

    def configure(self, name: str, value: Any, idx: Any = None) -> None:
        """Set a knob; the opponents stay who they are."""
        allowed = "left out: trained agents are the opponents"
        require(name != self._opponents, name, value, allowed)
        self._engine.configure(name, value, idx)

    @property
    def guests(self) -> list[Guest | None]:
        """The player of each seat after the learner's; None for a bot of the engine."""
        if self._guests is None:
            known = {path: load_who(path) for path in {p for p in self.paths if p}}
            self._guests = [
                None if path is None else make_guest(known[path], self._engine, k, beside=True)
                for k, path in enumerate(self.paths)
            ]
        return self._guests

    def _seat_players(self, fresh: Array) -> None:
        self._external[fresh] = self._has_external()[fresh]
        for guest in self.guests:
            if guest is not None:
                guest.begin(np.flatnonzero(fresh))

    def _decide(self, lanes: Array, places: Array, obs: Array, mask: Array) -> Array:
        actions = np.zeros(self._engine.num_envs, np.int32)
        shown = _Shown(self._engine, obs, mask)
        for place, guest in enumerate(self.guests, 1):
            own = lanes[places == place]
            if own.size:
                assert guest is not None
                actions[own] = guest.act(shown, own)
        return actions


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
) -> tuple[dict[str, Any], Callable[[BatchEngine], GuestEngine]]:
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
        return dict(options), lambda engine: GuestEngine(engine, [])
    names = [given] * (seats.count - 1) if isinstance(given, str) else list(given or ())
    allowed = "bots or trained agents here: agents that search play whole games alone"
    require(whole or not any(map(is_search, names)), name, given, allowed)
    plain = [EXTERNAL if is_guest(each) else each for each in names]
    paths = [each if is_guest(each) else None for each in names]
    return {**options, name: plain}, lambda engine: GuestEngine(engine, paths)


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
    for path, guest in zip(engine.paths, engine.guests, strict=True):
        if path is not None and guest is not None:
            policy = load_policy(path)
            allowed = "of agents that take all decisions of a game and have no memory"
            require(guest.takes_all and not policy.state_size, name, path, allowed)
            allowed = "of agents that do not draw their actions, as those of this game do"
            require(not games.get_game(policy.env).draws, name, path, allowed)
