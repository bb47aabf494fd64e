"""Play against trained agents in the terminal: ``python -m training play --against PATH``."""

from __future__ import annotations

import argparse
import sys

from fastenv.errors import FastEnvError
from fastenv.options import parse_option
from fastenv.ticker import print_dots
from training.run.command_line import SAMPLE, add_runs, add_text, new_parser
from training.run.options import require
from training.run.registry import DEFAULT_ENVS

ABOUT = """\
Play against trained agents in the terminal, in any game of several players. --against names
trained agents (paths or names of runs) and bots, which take the other seats in turn.
search:WHO,worlds=16 is an agent or bot with search. Without --against, you play the environment
with its own opponents.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("play", ABOUT, "--against first rule_hard")
    about = f"environment id; default: that of the agents, or {DEFAULT_ENVS['play']}"
    parse.add_argument("--env", help=about)
    about = "option of the environment, such as num_players=6"
    parse.add_argument(
        "--set", action="append", default=[], type=parse_option, metavar="X=Y", help=about
    )
    parse.add_argument(
        "--against", nargs="+", metavar="WHO", help="agents and bots to play against"
    )
    about = "show how search:WHO evaluates your decisions; default WHO: your opponents"
    parse.add_argument("--think", nargs="?", const="", metavar="WHO", help=about)
    parse.add_argument("--seat", type=int, default=0, help="your seat, from 0; default 0")
    parse.add_argument("--seed", type=int, help="seed of the game; default: random")
    parse.add_argument("--sample", action="store_true", default=None, help=SAMPLE)
    add_text(parse)
    add_runs(parse)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    with print_dots("loading"):
        import numpy as np
        from rich.console import Console

        from training.terminal import sources, text
        from training.terminal.session import TerminalSession

    console = Console(highlight=False)
    try:
        if args.seed is None:
            args.seed = int(np.random.default_rng().integers(2**31))
        require(0 <= args.seed < 2**40, "--seed", args.seed, "from 0 to 2**40 - 1")
        with print_dots("loading"):
            session = TerminalSession(sources.make_played(args), seed=args.seed)
        if text.is_needed(args):
            text.play(console, session)
        else:
            from training.terminal.app import App

            App(session).run()
            if session.over:
                text.print_result(console, session)
    except (text.LeaveGame, KeyboardInterrupt):
        console.print("\nGoodbye.")
    except (FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
