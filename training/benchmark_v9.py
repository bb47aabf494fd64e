"""Measure speed and learning: ``python -m training benchmark [--config NAME ...] [--short]``.

Parts: the configurations train stock MaskablePPO, of every game if asked for alone (``--only
configs``). One table has five measures of each: steps a second, utilisation of CPU and GPU, change
of the reward an hour, time to a reward, and sample efficiency; others say where the time goes. The
trainers are timed in turns: the native one beside stock MaskablePPO on the same work. The bars time
the environment alone, beside a fill: what it costs this machine, in the same minute, only to write
the same output bytes. The training bars compare our trainer with its targets (``--only training``).
Further parts run only when asked for: the speed with each of the flags ``use_numba`` and
``use_cython`` alone (``--only flags``), the cost of the torch view beside the engine alone
(``--only views``), replay and DQN (``--only replay``), and the cost of search (``--only search``).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from training.bench.choices import CONFIGS
from training.run import registry
from training.run.command_line import exit_status, new_parser
from training.run.options import require

ABOUT = """\
Measure the speed of environments and trainers. By default, stock MaskablePPO trains some
configurations, the trainers are timed in turn, and the bars (targets) time the environment alone;
other parts run only with --only. docs/explanation/benchmarks.md describes each.
"""
PARTS = tuple(registry.SUITES)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = new_parser("benchmark", ABOUT, "--only bars --short")
    add = parse.add_argument
    about = f"measure only {', '.join(PARTS[:-1])} or {PARTS[-1]}"
    add("--only", choices=PARTS, metavar="PART", help=about)
    add("--config", nargs="+", metavar="NAME", help=f"{', '.join(CONFIGS)}")
    add("--game", help="measure only the bars and configurations of this game")
    add("--steps", type=int, help="timed steps per repeat; default 3 rollouts, and --seconds")
    add("--repeats", type=int, default=3, help="repeats of each row; default 3")
    add("--seconds", type=float, help="timed seconds per repeat of a row")
    add("--games", type=int, help="evaluation games before and after; 0 for none")
    add("--lanes", type=int, default=4096, help="environments (lanes) of the bars; default 4096")
    add("--out", type=Path, help="JSON lines file to write the rows to")
    add("--short", action="store_true", help="measure for 5 minutes, of one game")
    about = "allowed memory growth in 100,000 steps"
    add("--max-mem-delta", type=int, default=2**20, metavar="BYTES", help=about)
    add("--enforce", action="store_true", help="exit 1 if a bar is missed")
    add("--record", action="store_true", help="replace the record in benchmarks/")
    about = "exit 1 if slower than the newest record allows"
    add("--enforce-floor", action="store_true", help=about)
    add(
        "--floor-share",
        type=float,
        default=0.7,
        metavar="X",
        help="allowed share of that record; default 0.7",
    )
    about = "flag of all configurations, as net_arch=[64]"
    add("--set", action="append", default=[], metavar="FLAG=VALUE", help=about)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)

    from training.bench import games, runner
    from training.evaluation import tables

    def measure() -> int:
        known = args.game is None or args.game in games.GAMES
        require(known, "--game", args.game, f"one of {', '.join(games.GAMES)}")
        return runner.run(args, tables.console())

    return exit_status(measure)


if __name__ == "__main__":
    sys.exit(main())
