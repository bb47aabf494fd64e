"""The table at which players of a game meet: its environment, options and seats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fastenv
from fastenv import BatchEngine
from fastenv.registry import short_id
from fastenv.seats import Seats
from training.players.policy import Policy
from training.run import games
from training.run.options import require
from training.run.seating import SEATING, env_of_table, without_seating


@dataclass(frozen=True)
class ContestTable:
    """The environment of a game of several players, and its options.

    Parameters
    ----------
    env : str
        Environment id, without the namespace.
    options : mapping
        Options of the environment, without the seating.
    """

    env: str
    options: Mapping[str, Any]

    @property
    def seats(self) -> Seats:
        """The seats of the players.

        Raises
        ------
        ConfigError
            If the game is not one of several players.
        """
        seats = fastenv.make_game(self.env, **self.options).seats
        allowed = "of a game in which players meet: here players do not meet"
        require(seats is not None, "env", self.env, allowed)
        assert seats is not None
        return seats

    @property
    def judged_by(self) -> str:
        """The measure that ranks the players: ``points``, or else wins."""
        judged = games.get_game(self.env).judged_by
        return judged or fastenv.make_game(self.env, **self.options).spec.judged_by

    def make(self, num_envs: int) -> BatchEngine:
        """Make an engine whose seats are all played from outside, with a table a lane."""
        return fastenv.make_engine(self.env, num_envs, seats="all", **self.options)


def find_table(
    policies: Sequence[Policy], env: str | None = None, options: Mapping[str, Any] | None = None
) -> ContestTable:
    """Find the table at which players meet.

    It has the options that the first policy was trained with, as far as its game does not say
    otherwise (:class:`training.run.games.TableRules`).

    Parameters
    ----------
    policies : sequence of Policy
        May be empty, with an ``env``.
    env : str, optional
        Id of the environment; default that of the first policy.
    options : mapping, optional
        Of the environment, over all others.

    Raises
    ------
    ConfigError
        If in this environment players do not meet.
    """
    own = policies[0].env if policies else env
    assert own is not None
    where = env_of_table(own)
    if env is not None:
        agents = f", the game of {policies[0].path}" if policies else ""
        require(short_id(env) == where, "env", env, f"{where} with --against{agents}")
    for name in SEATING:
        if options and name in options:
            require(False, name, options[name], "left out: who sits where is said by --against")
    game = games.get_game(where)
    taken = without_seating(policies[0].env_spec.options) if policies else {}
    if game.table.shared is not None:
        taken = {name: taken[name] for name in game.table.shared if name in taken}
    usual = {**game.env_options, **game.table.options}
    table = ContestTable(where, without_seating({**usual, **taken, **(options or {})}))
    _ = table.seats  # or it is refused
    return table
