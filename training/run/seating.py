"""Players and their seats: how players are named, who plays which seat, and where players meet.

A player is named as a bot of the game, by the path of a trained agent, or ``search:WHO`` for one
that searches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastenv.errors import ConfigError
from fastenv.game import Game
from fastenv.registry import make_game, short_id
from training.run import games

SEARCH = "search:"
AGENT = "trained"  # what evaluations and their records call the agent of a run
# Options for the players of the seats, which a table chooses itself.
SEATING = ("seats", "agent_seat", "opponent", "opponents")
OPPONENTS = ("opponents", "opponent")  # options for the players of the other seats


# -- names -----------------------------------------------------------------------------------------


def is_search(name: Any) -> bool:
    """Tell whether a name is that of an agent that searches."""
    return isinstance(name, str) and name.startswith(SEARCH)


def is_agent(name: Any) -> bool:
    """Tell whether a name is that of an agent and no bot: a path, or ``search:WHO``.

    Such a player is played from outside.
    """
    return isinstance(name, str) and ("/" in name or is_search(name))


def base_of(name: str) -> str:
    """Strip the search from a name: ``WHO`` of ``search:WHO,worlds=16``."""
    return name.removeprefix(SEARCH).partition(",")[0] if is_search(name) else name


def short_name(name: str) -> str:
    """Shorten the name of a player for text: the last part of a path, without options."""
    last = base_of(name).rpartition("/")[2]
    return f"{SEARCH}{last}" if is_search(name) else last


def split_names(text: str) -> tuple[str, ...]:
    """Split names at commas; options of a search stay with its name."""
    names: list[str] = []
    for part in text.split(","):
        if names and is_search(names[-1]) and "=" in part:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return tuple(names)


# -- seats -----------------------------------------------------------------------------------------


def without_seating(options: Mapping[str, Any]) -> dict[str, Any]:
    """Drop the options of the seating from those of an environment."""
    return {name: value for name, value in options.items() if name not in SEATING}


def needs_mixing(env: str, options: Mapping[str, Any]) -> bool:
    """Tell whether good play in an environment must be drawn (:attr:`fastenv.GameSpec.mixed`)."""
    return make_game(env, **without_seating(options)).spec.mixed


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


def opponents_option(options: Mapping[str, Any]) -> str:
    """Name the option for the players of the other seats: the one in use, else the first."""
    return next((name for name in OPPONENTS if name in options), OPPONENTS[0])


def has_agents(options: Mapping[str, Any]) -> bool:
    """Tell whether agents that are played from outside are among the opponents."""
    opponents = options.get(opponents_option(options))
    return any(map(is_agent, [opponents] if isinstance(opponents, str) else opponents or ()))


def without_agents(options: Mapping[str, Any]) -> dict[str, Any]:
    """Replace opponents by the game's own, where trained agents are among them."""
    drop = OPPONENTS if has_agents(options) else ()
    return {name: value for name, value in options.items() if name not in drop}


def scripted_opponents(env: str, options: Mapping[str, Any], game: Game) -> dict[str, Any]:
    """Replace trained agents in options by scripted opponents.

    They are those that the game has by default, or else the first of its bots.

    Parameters
    ----------
    env : str
    options : mapping
        Of the environment.
    game : Game
        The environment's.
    """
    kept = without_agents(options)
    if not has_agents(options) or game.spec.num_agents == 1 or game.spec.opponent is not None:
        return kept
    bots = (*games.get_game(env).bots, *game.bot_names)
    return {**kept, "opponent": bots[0]} if bots else kept
