"""Steps and time to the milestones of a game: ``python -m training.milestones RUN``.

Every checkpoint in the run's folder plays, as in ``training.evaluate``, on seeds no training ever
sees. ``milestones.json`` in the run folder keeps what was played: asked again with the same
options, only new checkpoints play, so a run can be followed while it removes its old ones.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from fastenv.errors import ConfigError, FastEnvError
from training.evaluation import tables
from training.run import games
from training.run.folder import RunFolder


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.milestones", description=__doc__)
    parse.add_argument("run", help="a run folder, or the name of one under runs/")
    parse.add_argument("--games", type=int, default=1000, help="whole games for each opponent set")
    parse.add_argument("--seed", type=int, help="evaluation seed")
    parse.add_argument("--bids", help="who bids for a Worker: rule_hard or heuristic")
    parse.add_argument("--member", type=int, help="network of an ensemble, from 1; default 1")
    parse.add_argument("--runs", default="runs", help="folder of all runs")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        run = RunFolder.find(args.run, Path(args.runs))
        names = ("games", "seed", "bids")
        given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
        console = tables.console()
        options = replace(run.config.evaluation, **given)
        games.protocol_of(run.config.env).milestones(console, run, options, args.member)
    except (ConfigError, FastEnvError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
