"""Compare runs on one page: ``python -m training.report RUN... [--out report.html]``.

The page holds everything it shows, pictures included; it needs no network and runs no scripts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.logs import report
from training.logs.run_data import read_runs
from training.run import files


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.report", description=__doc__)
    parse.add_argument("run", nargs="+", help="run folders, or names of some under --runs")
    parse.add_argument("--out", type=Path, default=Path("report.html"), help="the page to write")
    parse.add_argument("--runs", type=Path, default=Path("runs"), help="folder of all runs")
    parse.add_argument("--title", default="Runs compared")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        paths = [Path(run) if Path(run).is_dir() else args.runs / run for run in args.run]
        runs = read_runs(paths)
        files.prepare("--out", args.out)
        files.write_text(args.out, report.page(runs, args.title))
    except (FastEnvError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{args.out}: {len(runs)} run{'s' * (len(runs) != 1)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
