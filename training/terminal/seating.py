"""The seating of a game that a person plays against others."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

import fastenv
from training.players.player import Player
from training.run.envs import make_engine, with_defaults
from training.run.names import SEARCH, is_search
from training.run.options import require
from training.run.registry import DEFAULT_ENVS
from training.run.seating import without_seating
from training.terminal.person import YOU, Session, number_names


def session(console: Console, args: argparse.Namespace) -> Session:
    """Make the game of a command line.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If somebody cannot sit at the table.
    """
    options, against = dict(args.set), args.against
    if not against:
        env = args.env or DEFAULT_ENVS["play"]
        against = _find_default_players(env, with_defaults(env, options))
        if not against:
            require(args.seat == 0, "--seat", args.seat, "left out without --against")
            alone = make_engine(env, 1, options)
            return Session(console, alone, [YOU], [None], _make_adviser(args, [], alone))
    from training.evaluation.contest import load_players, table_of
    from training.players.names import make_player

    entrants = load_players(against, Path(args.runs))
    trained = any(not isinstance(each.who, str) for each in entrants)
    env = args.env if args.env or trained else DEFAULT_ENVS["play"]
    table = table_of(entrants, env, options)
    count = table.seats.count
    require(len(entrants) < count, "--against", against, f"1 to {count - 1} players")
    require(0 <= args.seat < count, "--seat", args.seat, f"from 0 to {count - 1}")
    engine = table.make(1)
    others = [entrants[k % len(entrants)] for k in range(count - 1)]
    names = number_names([each.short for each in others])
    players: list[Player | None] = [
        make_player(each.who, engine, sample=args.sample) for each in others
    ]
    names.insert(args.seat, YOU)
    players.insert(args.seat, None)
    return Session(console, engine, names, players, _make_adviser(args, against, engine))


def _make_adviser(args: argparse.Namespace, against: Sequence[str], engine: Any) -> Player | None:
    """Make the adviser of the person (``--think``); None for nobody.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If there is no such agent, or it cannot search here.
    """
    if args.think is None:
        return None
    from training.players.names import load_who, make_player

    bots = engine.game.bot_names
    usual = (
        *filter(is_search, against),
        *(name for name in against if name not in bots),
        *(against or bots[-1:]),
    )
    name = args.think or next(iter(usual), "")
    allowed = "given a name: this game has no bots that could search"
    require(bool(name), "--think", name, allowed)
    name = name if is_search(name) else f"{SEARCH}{name}"
    return make_player(load_who(name, Path(args.runs)), engine)


def _find_default_players(env: str, options: Mapping[str, Any]) -> list[str]:
    """Find the default players of the other agents of a game; none in a game for one.

    Raises
    ------
    ConfigError
        If the game names nobody either.
    """
    game = fastenv.make_game(env, **without_seating(options))
    if game.spec.num_agents == 1:
        return []
    opponent = options.get("opponent", game.spec.opponent)
    names = f"; there are {', '.join(game.bot_names)}" if game.bot_names else ""
    allowed = f"given: nobody plays the others by default here{names}"
    require(opponent is not None, "--against", None, allowed)
    return [opponent] if isinstance(opponent, str) else list(opponent)
