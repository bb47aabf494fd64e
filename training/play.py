"""Play against trained agents in the terminal: ``python -m training.play --against PATH``.

Opponents are trained agents (paths, or names of runs) and bots by their names; they take the other
seats in turns. Without any, the environment is played as it is.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from fastenv.errors import FastEnvError
from fastenv.registry import short_id
from training.policies.person import YOU, Leave, Session, distinct
from training.run import games
from training.run.envs import make_engine
from training.run.options import require
from training.run.registry import DEFAULT_ENVS


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
    from training.policies.contest import invite, seat_count

    players = invite(args.against, Path(args.runs))
    count, game = seat_count(players), games.of(args.env)
    require(len(players) < count, "--against", args.against, f"1 to {count - 1} players")
    require(0 <= args.seat < count, "--seat", args.seat, f"from 0 to {count - 1}")
    engine = game.table(1, count)
    require(engine is not None, "--against", args.against, "left out: here players do not meet")
    assert engine is not None
    whole = engine.game.env_id
    require(short_id(args.env) == whole, "--env", args.env, f"{whole} with --against")
    others = [players[k % len(players)] for k in range(count - 1)]
    names = distinct([player.name.rpartition("/")[2] for player in others])
    guests: list[Any] = [
        game.guest(player.who, engine, args.seed + 1 + k) for k, player in enumerate(others)
    ]
    for guest in guests:
        guest.begin(np.arange(1))
    names.insert(args.seat, YOU)
    guests.insert(args.seat, None)
    return Session(console, engine, names, guests)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.play", description=__doc__)
    parse.add_argument("--env", default=DEFAULT_ENVS["play"], help="id of an environment")
    parse.add_argument("--against", nargs="+", metavar="WHO", help="trained agents and bots")
    parse.add_argument("--seat", type=int, default=0, help="yours at the table; default 0")
    parse.add_argument("--seed", type=int, help="of the cards; default random")
    parse.add_argument("--runs", default="runs", help="folder of all runs")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    console = Console(highlight=False)
    try:
        if args.seed is None:
            args.seed = int(np.random.default_rng().integers(2**31))
        require(0 <= args.seed < 2**40, "--seed", args.seed, "from 0 to 2**40 - 1")
        session(console, args).play(args.seed)
    except (Leave, KeyboardInterrupt):
        console.print("\nGoodbye.")
    except (FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
