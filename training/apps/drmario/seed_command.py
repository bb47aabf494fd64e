"""Evaluate over the seed registry: ``python -m training evaluate seeds greedy --out DIR``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fastenv.options import parse_option
from training.apps.drmario.seed_plan import Plan
from training.run.command_line import add_runs, exit_status, new_parser

ABOUT = """\
Evaluate a bot or a trained agent, which samples its actions, on the seed registry of Dr. Mario.
Every game (level, speed and seed) is played many times and is one row of seeds.csv and
seeds.parquet. Unusual episodes of a game are recorded for "watch replay".
seeds.json has the summary by level; "report DIR" draws it as a page.
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    plan = Plan()
    parse = new_parser(
        "evaluate seeds", ABOUT, "greedy --out greedy --levels 0 5 10", "WHO --out DIR"
    )
    about = "bot, lookahead:FILE, run folder, or name of a run under --runs"
    parse.add_argument("who", help=about)
    parse.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write to")
    several: Any = {"nargs": "+", "action": "extend"}
    about = f"levels to play; default {plan.levels[0]}"
    parse.add_argument("--levels", type=int, metavar="N", help=about, **several)
    about = f"speeds to play; default {plan.speeds[0]}"
    parse.add_argument("--speeds", metavar="SPEED", help=about, **several)
    parse.add_argument("--seeds", type=int, default=plan.seeds, help="seeds per level; default 10")
    about = f"episodes per game; default {plan.episodes}; a deterministic player needs one"
    parse.add_argument("--episodes", type=int, default=plan.episodes, help=about)
    about = f"maximum frames of an episode; default {plan.t_max}"
    parse.add_argument("--t-max", type=int, default=plan.t_max, help=about)
    about = f"frames t of the clear rate P(T <= t); default {plan.within}"
    parse.add_argument("--within", type=int, default=plan.within, help=about)
    about = f"maximum recorded episodes per game; default {plan.traces}"
    parse.add_argument("--traces", type=int, default=plan.traces, help=about)
    parse.add_argument("--seed", type=int, default=plan.seed, help="seed of the player")
    parse.add_argument(
        "--deterministic", action="store_true", help="play the most probable actions"
    )
    about = "with lookahead:FILE: quantiles to rank placements by, evaluated one after the other"
    parse.add_argument("--risk-taus", type=float, metavar="Q", help=about, **several)
    about = "with a bot: option of the game, such as extended_inputs=True"
    parse.add_argument(
        "--set", action="append", default=[], type=parse_option, metavar="X=Y", help=about
    )
    parse.add_argument(
        "--best-times", type=Path, metavar="FILE", help="SQLite file of best times to update"
    )
    add_runs(parse)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: _evaluate(args))


def _evaluate(args: argparse.Namespace) -> None:
    from rich.console import Console

    from training.apps.drmario import seeds

    seeds.run(args, Console(highlight=False))
