"""Options of the seating, and the environment in which players of a game meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastenv.errors import ConfigError
from fastenv.game import Game
from fastenv.registry import short_id
from training.run import games

# Options for the players of the seats, which a table chooses itself.
SEATING = ("seats", "agent_seat", "opponent", "opponents")


def without_seating(options: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the options of the seating from those of an environment."""
    return {name: value for name, value in options.items() if name not in SEATING}


def env_of_table(env: str) -> str:
    """Return the id of the environment in which policies of ``env`` meet others."""
    return games.get_game(env).table.env or short_id(env)


def name_all_seats(game: Game, row: np.void, names: Sequence[str], seat: int) -> list[str]:
    """Name every seat, also where bots move inside a step.

    Parameters
    ----------
    game : Game
    row : record
        A state in which the named player acts.
    names : sequence of str
        Of those who act in steps; all seats where players meet.
    seat : int
        Which of them acts.
    """
    fields = None if game.external_seats is None else game.external_seats.fields
    if len(names) > 1 or fields is None or fields.actor not in (row.dtype.names or ()):
        return list(names)
    all_names = [f"seat {k}" for k in range(game.num_seats)]
    all_names[int(row[fields.actor])] = names[seat]
    return all_names


def check_bot(game: Game, name: str) -> None:
    """Refuse a name that is no bot of a game, where it is no agent either.

    Raises
    ------
    ConfigError
        Says how bots and trained agents are named.
    """
    try:
        game.bot(name)
    except ConfigError as error:
        raise ConfigError(
            f"{error}; or a trained agent: the name of a run in the folder --runs, or a path such "
            "as runs/first"
        ) from error
