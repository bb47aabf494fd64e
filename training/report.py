"""Compare runs on one page: ``python -m training report RUN... [--out report.html]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from training.run.command_line import add_runs, exit_status, new_parser

ABOUT = """\
Write one HTML page that compares runs. Runs that differ only in their seed are also shown as a
group. Folders of "evaluate seeds" are compared by level. The page is the studio's page of runs as
one file: it contains everything that it shows and needs no network.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser(
        "report", ABOUT, "runs/first runs/second --out report.html", "RUN... [options]"
    )
    about = 'run folders, names of runs under --runs, or folders of "evaluate seeds"'
    parse.add_argument("run", nargs="+", help=about)
    parse.add_argument(
        "--out", type=Path, default=Path("report.html"), help="page to write; default report.html"
    )
    add_runs(parse)
    parse.add_argument("--title", help="title of the page; default: what is compared")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: _report(args))


def _report(args: argparse.Namespace) -> None:
    from training.logs.run_data import name_runs
    from training.logs.seeds_data import is_seeds, read_seeds
    from training.run import files
    from training.studio import report

    paths = [Path(run) if Path(run).is_dir() else args.runs / run for run in args.run]
    runs = name_runs([path for path in paths if not is_seeds(path)])
    seeds = read_seeds([path for path in paths if is_seeds(path)])
    text = report.page(runs, seeds, args.title or "")
    files.prepare("--out", args.out)
    files.write_text(args.out, text)
    more = f", {len(seeds)} over seeds" if seeds else ""
    print(f"{args.out}: {len(runs)} run{'s' * (len(runs) != 1)}{more}")


if __name__ == "__main__":
    sys.exit(main())
