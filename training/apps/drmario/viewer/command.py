"""Watch games while they are played: ``python -m training watch viewer --bot NAME``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastenv.__main__ import option
from fastenv.errors import FastEnvError
from training.run.command_line import add_runs, new_parser
from training.run.options import require

ABOUT = """\
Watch games of Dr. Mario live in the terminal, played by a bot, by a trained agent, or from a
recording; h shows the keys. docs/howto/train_drmario.md explains the display.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    example = "--bot greedy --envs 4"
    parse = new_parser("watch viewer", ABOUT, example, "--bot NAME [options]")
    who = parse.add_mutually_exclusive_group(required=True)
    who.add_argument("--bot", help="bot that plays")
    who.add_argument("--policy", help="trained agent that plays: run folder or name of a run")
    who.add_argument("--replay", type=Path, metavar="FILE", help="recorded game to show")
    who.add_argument("--demo", type=Path, metavar="FILE", help="tables of the demo to show")
    parse.add_argument(
        "--env", default="DrMarioPlacement-v0", help="environment for --bot; default %(default)s"
    )
    about = "option of the game, such as level=5; repeatable"
    parse.add_argument("--set", action="append", default=[], type=option, metavar="X=Y", help=about)
    parse.add_argument("--envs", type=int, default=1, help="number of environments; default 1")
    parse.add_argument("--seed", type=int, default=0, help="seed of the first environment")
    about = "speed; 1, the default, is that of the console"
    parse.add_argument("--speed", type=float, default=1.0, help=about)
    about = "SQLite file of best times"
    parse.add_argument("--best-times", type=Path, metavar="FILE", help=about)
    add_runs(parse)
    return parse


def view(args: argparse.Namespace) -> None:
    """Show what was asked for until somebody quits."""
    try:
        from training.apps.drmario.viewer.app import Viewer
    except ImportError as error:
        raise ImportError("The viewer needs Textual: pip install '.[viewer]'.") from error
    from training.apps.drmario.best_times import BestTimes
    from training.apps.drmario.viewer import sources
    from training.apps.drmario.viewer.panels import Training
    from training.apps.drmario.viewer.playback import FASTEST, SLOWEST, Playback
    from training.logs.run_data import read_run

    require(0 <= args.seed < 2**40, "--seed", args.seed, "from 0 to 2**40 - 1")
    possible = SLOWEST <= args.speed <= FASTEST
    require(possible, "--speed", args.speed, f"from {SLOWEST} to {FASTEST:g}")
    options = dict(args.set)
    if args.bot is not None:
        source = sources.make_bot_source(args.env, options, args.bot)
    elif args.policy is not None:
        named = args.runs / args.policy
        path = named if not Path(args.policy).exists() and named.exists() else Path(args.policy)
        source = sources.make_policy_source(path, options)
    else:
        require(not options, "--set", options, "left out: what was recorded is as it is")
        source = (
            sources.make_demo_source(args.demo)
            if args.replay is None
            else sources.make_replay_source(args.replay)
        )
    require(1 <= args.envs <= source.most, "--envs", args.envs, f"from 1 to {source.most}")
    training = None if source.run is None else Training.of(read_run(source.run))
    store = None if args.best_times is None else BestTimes(args.best_times)
    playback = Playback(source, args.envs, args.seed)
    playback.speed = args.speed
    Viewer(playback, store, training).run()


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        view(args)
    except (FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
