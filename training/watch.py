"""Watch an agent or a bot play: ``python -m training watch PATH``, or ``--out game.gif``."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

from fastenv.__main__ import option
from fastenv.errors import FastEnvError
from fastenv.ticker import print_dots
from training.run.command_line import SAMPLE, add_runs, new_parser
from training.run.options import require

ABOUT = """\
Watch one episode. A trained agent plays the environment that it was trained on, a bot plays --env.
In games of several players, --against adds other players to the table. The terminal shows every
decision with the chosen action; a GIF or MP4 (--out) has one frame per decision.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("watch", ABOUT, "first --out game.gif", "WHO [options]")
    about = "trained agent, or with --env a bot; search:WHO adds search"
    parse.add_argument("path", metavar="who", help=about)
    parse.add_argument("--env", help="environment id, for a bot")
    about = "agents and bots for the other seats, assigned in turn"
    parse.add_argument("--against", nargs="+", metavar="WHO", help=about)
    about = "option of the environment, such as level=5; repeatable"
    parse.add_argument("--set", action="append", default=[], type=option, metavar="X=Y", help=about)
    parse.add_argument("--opponents", help="bots to play against; default: those of the training")
    about = "show how players that search evaluate each decision"
    parse.add_argument("--think", action="store_true", help=about)
    parse.add_argument("--seed", type=int, default=0, help="seed of the episode; default 0")
    parse.add_argument(
        "--max-steps", type=int, default=300, help="maximum decisions to show; default 300"
    )
    parse.add_argument("--delay", type=float, help="seconds per decision in the terminal")
    parse.add_argument("--out", type=Path, help="video to write, .gif or .mp4")
    parse.add_argument(
        "--fps", type=float, default=1.0, help="frames per second of the video; default 1"
    )
    parse.add_argument("--sample", action="store_true", help=SAMPLE)
    add_runs(parse)
    return parse


def _watch(args: argparse.Namespace) -> None:
    require(0 <= args.seed < 2**40, "--seed", args.seed, "from 0 to 2**40 - 1")
    require(args.max_steps >= 1, "--max-steps", args.max_steps, "at least 1")
    for name in ("delay", "fps"):
        value = getattr(args, name)
        possible = value is None or (0 if name == "delay" else 0.01) <= value < math.inf
        require(possible, f"--{name}", value, "a finite number above 0")

    allowed = "left out with --env: a scripted player does not sample"
    require(not args.sample or args.env is None, "--sample", True, allowed)
    if args.think:
        require(args.out is None, "--think", True, "left out with --out: a film shows no thoughts")

    with print_dots("loading"):
        from rich.console import Console

        from training.terminal import watched

        episode = _begin(args, "ansi" if args.out is None else "rgb_array")
    if args.out is None:
        watched.show(Console(highlight=False), episode, args)
        return
    with print_dots("filming"):
        count = watched.film(episode, args)
    print(f"{args.out}: {count} decisions, {args.out.stat().st_size / 1e6:.1f} MB")


def _begin(args: argparse.Namespace, mode: str) -> Any:
    """Make the :class:`training.terminal.watched.Episode` of the arguments."""
    from training.terminal import watched, watched_table

    options = dict(args.set)
    if args.against is not None:
        allowed = "left out with --against, which says who plays"
        require(args.opponents is None, "--opponents", args.opponents, allowed)
        names = [args.path, *args.against]
        return watched_table.at_table(names, args, options, mode)
    if args.opponents is not None:
        options["opponents"] = args.opponents
    if args.env is None:
        who = watched.trained(args.path, args.runs, options, args.think, args.sample)
    else:
        who = watched.scripted(args.path, args.env, options, args.think)
    return watched.alone(who, args.seed, args.max_steps, mode)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        _watch(args)
    except KeyboardInterrupt:
        print()
    except (FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
