"""Who sits where when a person plays against others."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from fastenv.registry import short_id
from training.policies.person import YOU, Session, number_names
from training.run import games
from training.run.envs import make_engine
from training.run.options import require


def session(console: Console, args: argparse.Namespace) -> Session:
    """Return the game that was asked for.

    Raises
    ------
    ConfigError, RunError, CheckpointError
        If somebody cannot sit at the table.
    """
    if not args.against:
        require(args.seat == 0, "--seat", args.seat, "left out without --against")
        return Session(console, make_engine(args.env, 1, {}), [YOU], [None])
    from training.policies.contest import load_players, seat_count

    players = load_players(args.against, Path(args.runs))
    count, game = seat_count(players), games.get_game(args.env)
    require(len(players) < count, "--against", args.against, f"1 to {count - 1} players")
    require(0 <= args.seat < count, "--seat", args.seat, f"from 0 to {count - 1}")
    engine = game.table(1, count)
    require(engine is not None, "--against", args.against, "left out: here players do not meet")
    assert engine is not None
    whole = engine.game.env_id
    require(short_id(args.env) == whole, "--env", args.env, f"{whole} with --against")
    others = [players[k % len(players)] for k in range(count - 1)]
    names = number_names([player.name.rpartition("/")[2] for player in others])
    guests: list[Any] = [
        game.guest(player.who, engine, args.seed + 1 + k) for k, player in enumerate(others)
    ]
    for guest in guests:
        guest.begin(np.arange(1))
    names.insert(args.seat, YOU)
    guests.insert(args.seat, None)
    return Session(console, engine, names, guests)
