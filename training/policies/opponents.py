"""Trained agents among the opponents of an environment (``opponents: [PATH, BOT, ...]``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import fastenv
from fastenv import BatchEngine
from training.policies.load import load_policy
from training.run import games
from training.run.games import Guest
from training.run.options import require
from training.selfplay.seated import Array, SeatedEngine

OUTSIDE = "external"  # as games call a seat that is not theirs to play


class GuestEngine(SeatedEngine):
    """:class:`SeatedEngine` in which trained agents play; they are loaded at the first reset.

    Parameters
    ----------
    engine : BatchEngine
        With the seats of ``paths`` played from outside.
    paths : sequence of str or None
        Of the opponents, from the learner's seat on; None for a bot of the engine.

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
        require(name != "opponents", name, value, "left out: trained agents are the opponents")
        self._engine.configure(name, value, idx)

    @property
    def guests(self) -> list[Guest | None]:
        """Who sits in each seat after the learner's; None for a bot of the engine."""
        if self._guests is None:
            policies = {path: load_policy(path) for path in {p for p in self.paths if p}}
            game = games.get_engine_game(self._engine)
            self._guests = [
                None if path is None else game.guest(policies[path], self._engine, seed=k)
                for k, path in enumerate(self.paths)
            ]
        return self._guests

    def _seat_players(self, fresh: Array) -> None:
        self._external[fresh] = True
        for guest in self.guests:
            if guest is not None:
                guest.begin(np.flatnonzero(fresh))

    def _decide(self, lanes: Array, places: Array, obs: Array, mask: Array) -> Array:
        actions = np.zeros(self._engine.num_envs, np.int32)
        shown: Any = _Shown(self._engine, mask)
        for place, guest in enumerate(self.guests, 1):
            own = lanes[places == place]
            if own.size:
                assert guest is not None
                actions[own] = guest.act(shown, own)
        return actions


class _Shown:
    """An engine with the masks that are up to date."""

    def __init__(self, engine: BatchEngine, mask: Array) -> None:
        self._engine, self.mask = engine, mask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def prepare_seats(
    env: str, options: Mapping[str, Any]
) -> tuple[dict[str, Any], Callable[[BatchEngine], GuestEngine]]:
    """Return what a game is to be made with, and what seats the trained agents in its engine.

    Parameters
    ----------
    env : str
    options : mapping
        Of the environment; ``opponents`` is one name for all seats or a list of one a seat, of bots
        and paths.

    Raises
    ------
    ConfigError
        If players do not meet in this environment.
    """
    given = options["opponents"]
    trial = fastenv.make_engine(env, 1, **{k: v for k, v in options.items() if k != "opponents"})
    seats = trial.seats
    allowed = "bots: trained agents play whole games alone, which this environment has not"
    require(seats is not None, "opponents", given, allowed)
    assert seats is not None
    names = [given] * (seats.count - 1) if isinstance(given, str) else list(given)
    plain = [OUTSIDE if "/" in name else name for name in names]
    paths = [name if "/" in name else None for name in names]
    return {**options, "opponents": plain}, lambda engine: GuestEngine(engine, paths)


def check(config: Any) -> None:
    """Refuse trained opponents that a training could not go on with after a resume.

    Parameters
    ----------
    config : RunConfig

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If one is not there or does not fit, has a memory, or needs a bot beside it.
    """
    given, options = config.env_options["opponents"], config.env_options
    allowed = "bots with trainer='{}' or selfplay, which cannot play against trained agents"
    plain = config.MEETS_AGENTS and config.selfplay is None
    require(plain, "opponents", given, allowed.format(config.trainer))
    require("opponents" not in config.schedules, "schedules.opponents", given, "left out here")
    made_with, seat = prepare_seats(
        config.env, {**games.get_game(config.env).env_options, **options}
    )
    engine = seat(fastenv.make_engine(config.env, 1, **made_with))
    for path, guest in zip(engine.paths, engine.guests, strict=True):
        if path is not None and guest is not None:
            policy = load_policy(path)
            allowed = "of agents that take all decisions of a game and have no memory"
            require(guest.takes_all and not policy.state_size, "opponents", path, allowed)
