"""Options of the seating: who plays which seat, and in which environment players meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastenv.errors import ConfigError
from fastenv.game import Game
from fastenv.registry import make_game, short_id
from fastenv.seats import EXTERNAL
from training.run import games
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.names import is_agent
from training.run.options import require

# Options for the players of the seats, which a table chooses itself.
SEATING = ("seats", "agent_seat", "opponent", "opponents")

OPPONENTS = ("opponents", "opponent")  # options for the players of the other seats


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


def check_opponents(config: RunConfig, engine: Engine) -> None:
    """Refuse seats that are played from outside: a trainer would take their turns for its own.

    Raises
    ------
    ConfigError
        If an option, a schedule or a stage of the gate asks for them.
    """
    seats = engine.game.external_seats
    if seats is None:
        return
    allowed = "left out: seats are played from outside with the section selfplay alone"
    every = config.env_options.get("seats", "one")
    require(every != "all", "env_options.seats", every, allowed)
    name = seats.opponents
    values = [config.env_options.get(name)]
    values += [value for _, value in config.schedules.get(name, ())]
    values += [stage["knobs"].get(name) for stage in config.gate.get("stages", ())]
    for value in values:
        names = [value] if isinstance(value, str) else value or ()
        allowed = "bots; seats are played from outside with the section selfplay alone"
        require(EXTERNAL not in names, name, value, allowed)
