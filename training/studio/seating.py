"""Who sits at a table of the studio: players that are asked for by name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastenv.errors import show
from fastenv.registry import make_game, short_id
from training.players.contest_table import find_table
from training.players.names import Who, find_base, load_who, make_player
from training.players.person import Person
from training.players.player import Player
from training.players.policy import Policy
from training.playing.game_table import GameTable, number_names
from training.run.envs import make_engine, with_defaults
from training.run.game_view import YOU, find_view
from training.run.seating import env_of_table, short_name, without_seating
from training.studio.forms import bots_for
from training.studio.messages import Refusal
from training.studio.places import PERSON, Places, check_options

Seated = Who | type[Person]


def seat_again(table: GameTable, players: Sequence[str], places: Places, seed: int) -> None:
    """Put other players into the seats of a table.

    Parameters
    ----------
    table : GameTable
    players : sequence of str
        Who is to sit there; see :func:`fill`.
    places : Places
    seed : int
        Of what players draw.

    Raises
    ------
    Refusal, ConfigError, RunError, CheckpointError
        If somebody cannot sit there. Nothing has changed.
    """
    seated = fill(players, len(table.players))
    bots = bots_for(table.env, table.engine.game)
    _seat(table, seated, {name: load(name, places, bots) for name in {*seated}}, seed)


def _seat(table: GameTable, seated: list[str], loaded: Mapping[str, Seated], seed: int) -> None:
    players = [_make(table, loaded[name]) for name in seated]
    names = [YOU if name == PERSON else short_name(name) for name in seated]
    table.asked, table.players, table.names = seated, players, number_names(names)
    table.begin(seeds=range(seed + 1, seed + 1 + len(players)))


def _make(table: GameTable, who: Seated) -> Player:
    """Make the player of a bot, an agent or a person at a table."""
    if not _comes_from_other(table.env, who, table.engine.game.bot_names):
        return make_player(who, table.engine)
    if table.engine.num_envs > 1:
        raise Refusal(f"players of another environment play one game of {table.env} at a time.")
    player: Player = table.view.player(table.engine, who)
    return player


def _comes_from_other(env: str, who: Seated, own: Sequence[str]) -> bool:
    """Tell whether a player is one of the game's other environment."""
    if isinstance(who, type):
        return False
    base = find_base(who)
    if isinstance(base, str):
        return base not in own
    return short_id(base.env) == find_view(env).other_env(env)


def fill(players: Sequence[str], count: int) -> list[str]:
    """Assign players to all seats: of fewer players all but persons take several, in turns.

    Raises
    ------
    Refusal
        If there are more than seats.
    """
    if len(players) > count or not players:
        raise Refusal(f"players {show(list(players))}: this game has 1 to {count}.")
    others = [name for name in players if name != PERSON] or [PERSON]
    free = count - len(players)
    return [*players, *(others[k % len(others)] for k in range(free))]


def load(name: str, places: Places, bots: Sequence[str]) -> Seated:
    """Load the bot or agent of a name, or a person.

    Raises
    ------
    Refusal, ConfigError, RunError, CheckpointError
        If nobody has it.
    """
    if name == PERSON:
        return Person
    return load_who(places.check_player(name, bots), Path(places.runs))


def make_game_table(
    env: str,
    options: Mapping[str, Any],
    players: Sequence[str],
    seed: int,
    places: Places,
    lanes: int = 1,
) -> GameTable:
    """Make a table with all players in their seats.

    Parameters
    ----------
    env : str
    options : mapping
        Of the environment.
    players : sequence of str
    seed : int
        Of what players draw.
    places : Places
    lanes : int

    Raises
    ------
    Refusal, FastEnvError
        What is wrong with it, in one sentence.
    """
    check_options(options)
    name, chosen = short_id(env), dict(options)
    own = make_game(name).bot_names
    bots = bots_for(name, make_game(name))
    loaded = {each: load(each, places, bots) for each in dict.fromkeys(players)}
    if lanes > 1 and PERSON in loaded:
        raise Refusal(f"lanes={lanes}: several games are watched, none is played by a person.")
    agents = [each for each in loaded.values() if not isinstance(each, type)]
    here = [find_base(who) for who in agents if not _comes_from_other(name, who, own)]
    trained = [base for base in here if isinstance(base, Policy)]
    seats = 1
    if env_of_table(name) == name and make_game(name).seats is not None:
        contest = find_table(trained, name, chosen)
        chosen, seats = dict(contest.options), contest.seats.count
        engine = contest.make(lanes)
    else:
        chosen = _complete_options(name, chosen, trained, players)
        engine = make_engine(name, lanes, chosen)
    seated = fill(players, seats)
    # As JSON has them: a moment names them in its hash.
    table = GameTable(name, json.loads(json.dumps(chosen)), engine, [], [])
    _seat(table, seated, loaded, seed)
    return table


def _complete_options(
    env: str, options: Mapping[str, Any], trained: Sequence[Policy], players: Sequence[str]
) -> dict[str, Any]:
    """Complete the options of a game for one player: those of its training, or the usual ones."""
    if trained:
        usual = without_seating(trained[0].env_spec.options) if trained[0].env else {}
        if short_id(trained[0].env) != env:
            raise Refusal(f"{trained[0].path} has learnt {trained[0].env}, which is not {env}.")
        return {**usual, **options}
    if list(players) == [PERSON]:
        return {**find_view(env).person_options(env), **options}
    return with_defaults(env, options)
