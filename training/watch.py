"""Watch an agent or a bot play: ``python -m training watch PATH``, or ``--out game.gif``."""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import replace
from pathlib import Path

from fastenv.errors import FastEnvError
from fastenv.options import parse_option
from fastenv.ticker import print_dots
from training.run.command_line import SAMPLE, add_runs, add_text, new_parser
from training.run.options import require

ABOUT = """\
Watch one episode. A trained agent plays the environment that it was trained on, a bot plays --env.
In games of several players, --against adds other players to the table. The terminal shows every
decision with the chosen action; a GIF or MP4 (--out) has one frame per decision. With the extra
viewer one steps back and forth, and sees what the player considers.
"""
MAX_STEPS = 300  # of text and films


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("watch", ABOUT, "first --out game.gif", "WHO [options]")
    about = "trained agent, or with --env a bot; search:WHO adds search"
    parse.add_argument("path", metavar="who", help=about)
    parse.add_argument("--env", help="environment id, for a bot")
    about = "agents and bots for the other seats, assigned in turn"
    parse.add_argument("--against", nargs="+", metavar="WHO", help=about)
    about = "option of the environment, such as level=5; repeatable"
    parse.add_argument(
        "--set", action="append", default=[], type=parse_option, metavar="X=Y", help=about
    )
    parse.add_argument("--opponents", help="bots to play against; default: those of the training")
    about = "show how players that search evaluate each decision"
    parse.add_argument("--think", action="store_true", help=about)
    parse.add_argument("--seed", type=int, default=0, help="seed of the episode; default 0")
    about = "maximum decisions; text and films: 300"
    parse.add_argument("--max-steps", type=int, help=about)
    about = "environments to show side by side; default 1"
    parse.add_argument("--envs", type=int, default=1, help=about)
    about = "best times to show beside Dr. Mario"
    parse.add_argument("--best-times", type=Path, metavar="FILE", help=about)
    parse.add_argument("--delay", type=float, help="seconds per decision in the terminal")
    parse.add_argument("--out", type=Path, help="video to write, .gif or .mp4")
    parse.add_argument(
        "--fps", type=float, default=1.0, help="frames per second of the video; default 1"
    )
    parse.add_argument("--sample", action="store_true", default=None, help=SAMPLE)
    add_text(parse)
    add_runs(parse)
    return parse


def _watch(args: argparse.Namespace) -> None:
    require(0 <= args.seed < 2**40, "--seed", args.seed, "from 0 to 2**40 - 1")
    some = args.max_steps is None or args.max_steps >= 1
    require(some, "--max-steps", args.max_steps, "at least 1")
    for name in ("delay", "fps"):
        value = getattr(args, name)
        possible = value is None or (0 if name == "delay" else 0.01) <= value < math.inf
        require(possible, f"--{name}", value, "a finite number above 0")

    allowed = "left out with --env: a scripted player does not sample"
    require(not args.sample or args.env is None, "--sample", True, allowed)
    if args.think:
        require(args.out is None, "--think", True, "left out with --out: a film shows no thoughts")

    with print_dots("loading"):
        from training.terminal import sources, text
        from training.terminal.session import MOST, TerminalSession

        is_text = args.out is not None or text.is_needed(args)
        most = 1 if is_text else MOST
        require(1 <= args.envs <= most, "--envs", args.envs, f"from 1 to {most} here")
        needless = is_text and args.best_times is not None
        allowed = "left out without the application, which shows them"
        require(not needless, "--best-times", args.best_times, allowed)
        limit = args.max_steps or (MAX_STEPS if is_text else None)
        source = replace(sources.make_watched(args), limit=limit, delay=args.delay)
        if not is_text:
            from training.terminal.app import App

            source = replace(sources.show_more(source), endless=limit is None)
            session = TerminalSession(source, args.envs, args.seed)
            session.maximum = args.delay == 0
            app = App(session, args.best_times)
    if not is_text:
        app.run()
        return
    if args.out is None:
        from rich.console import Console

        session = TerminalSession(source, seed=args.seed)
        text.watch(Console(highlight=False), session, args.think, args.delay)
        return
    with print_dots("filming"):
        count = text.film(TerminalSession(source, seed=args.seed), args.out, args.fps)
    print(f"{args.out}: {count} decisions, {args.out.stat().st_size / 1e6:.1f} MB")


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
