"""Evaluate over the seed registry: ``python -m training evaluate seeds greedy --out DIR``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from fastenv.__main__ import option
from fastenv.errors import FastEnvError
from training.apps.drmario.seed_plan import Plan
from training.run.command_line import add_runs, new_parser

ABOUT = """\
Every game of Dr. Mario, by level, speed and seed, is played many times by a bot or by a trained
agent, which draws its choices; a row of seeds.csv and seeds.parquet tells how. Episodes unlike the
others of their game are recorded, for "watch replay" and "watch viewer". What they come to by level
is in seeds.json, and on the page that "report DIR" writes.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    plan = Plan()
    parse = new_parser(
        "evaluate seeds", ABOUT, "greedy --out greedy --levels 0 5 10", "WHO --out DIR"
    )
    about = "a bot, lookahead:FILE, a run folder, or the name of one under runs/"
    parse.add_argument("who", help=about)
    parse.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    several: Any = {"nargs": "+", "action": "extend"}
    about = f"different ones; default {plan.levels[0]}"
    parse.add_argument("--levels", type=int, metavar="N", help=about, **several)
    about = f"different ones; default {plan.speeds[0]}"
    parse.add_argument("--speeds", metavar="SPEED", help=about, **several)
    parse.add_argument("--seeds", type=int, default=plan.seeds, help="of a level; default 10")
    about = f"of a game; default {plan.episodes}, of which a player that draws nothing needs one"
    parse.add_argument("--episodes", type=int, default=plan.episodes, help=about)
    about = f"frames after which an episode is given up; default {plan.t_max}"
    parse.add_argument("--t-max", type=int, default=plan.t_max, help=about)
    about = f"frames t of the rate P(T <= t); default {plan.within}"
    parse.add_argument("--within", type=int, default=plan.within, help=about)
    about = f"anomalies of a game that are recorded at most; default {plan.traces}"
    parse.add_argument("--traces", type=int, default=plan.traces, help=about)
    parse.add_argument("--seed", type=int, default=plan.seed, help="of who plays")
    parse.add_argument("--deterministic", action="store_true", help="the agent draws nothing")
    about = "with lookahead:FILE: quantiles to judge placements by, all one after the other"
    parse.add_argument("--risk-taus", type=float, metavar="Q", help=about, **several)
    about = "option of the game with a bot, such as extended_inputs=True"
    parse.add_argument("--set", action="append", default=[], type=option, metavar="X=Y", help=about)
    parse.add_argument("--best-times", type=Path, metavar="FILE", help="store for the clears")
    add_runs(parse)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        from rich.console import Console

        from training.apps.drmario.evaluate_seeds import run

        run(args, Console(highlight=False))
    except (FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
