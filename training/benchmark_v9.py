"""Measure speed and learning: ``python -m training.benchmark_v9 [--config NAME ...] [--short]``.

Parts: the configurations train stock MaskablePPO, of every game if asked for alone (``--only
configs``), and report where the time goes, how fast the reward changes, and in Skull King how many
official points it brought. The trainers are timed in turns: the native one beside stock MaskablePPO
on the same work. The bars time the environment alone, beside a fill: what it costs this machine,
in the same minute, only to write the same output bytes. The training bars hold our trainer to what
was asked of it; they are measured when asked for (``--only training``), and so is what each of the
flags ``use_numba`` and ``use_cython`` alone is worth (``--only flags``), and what the torch view
costs beside the engine alone (``--only views``), and replay and DQN (``--only replay``), also step
by step from one environment at a time and lists (``--only replay_steps``).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.bench import floors, runner
from training.bench.games import GAMES
from training.bench.games.gameboy import MAX_MEM_DELTA
from training.bench.games.skullking import LANES
from training.bench.suites.configs import CONFIGS, ROLLOUTS
from training.evaluation import tables


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.benchmark_v9", description=__doc__)
    parse.add_argument("--config", nargs="+", metavar="NAME", help=f"of {', '.join(CONFIGS)}")
    parse.add_argument(
        "--steps", type=int, help=f"timed steps of a repeat; default {ROLLOUTS} rollouts"
    )
    parse.add_argument("--repeats", type=int, default=3)
    parse.add_argument("--seconds", type=float, help="timed seconds of a repeat of a bar")
    parse.add_argument("--games", type=int, help="whole games before and after; 0 for none")
    parse.add_argument("--lanes", type=int, default=LANES, help="of Skull King's bars")
    parse.add_argument("--out", type=Path, help="file for the rows, one JSON object a line")
    parse.add_argument("--short", action="store_true", help="a few minutes")
    parse.add_argument("--game", choices=tuple(GAMES), help="only its bars and configurations")
    parse.add_argument(
        "--max-mem-delta",
        type=int,
        default=MAX_MEM_DELTA,
        metavar="BYTES",
        help="that the resident set may grow by in 100,000 steps of the Game Boy",
    )
    parse.add_argument("--only", choices=runner.PARTS, help="only this part")
    parse.add_argument("--enforce", action="store_true", help="exit 1 if a bar is missed")
    parse.add_argument(
        "--milestones", nargs="+", metavar="RUN", help="runs whose milestones.json to show"
    )
    parse.add_argument("--runs", type=Path, default=Path("runs"), help="folder of all runs")
    parse.add_argument(
        "--record", action="store_true", help="make it the record of its kind in benchmarks/"
    )
    parse.add_argument(
        "--enforce-floor",
        action="store_true",
        help="exit 1 if something is slower than its floor by the newest record of the same thing",
    )
    parse.add_argument(
        "--floor-share", type=float, default=floors.SHARE, metavar="X", help="of it; default 0.7"
    )
    parse.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FLAG=VALUE",
        help="change a flag everywhere, such as env=SkullKingWorker-v0 or net_arch=[512,256]",
    )
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        return runner.run(args, tables.console())
    except (FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
