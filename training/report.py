"""Compare runs on one page: ``python -m training report RUN... [--out report.html]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from training.run.command_line import add_runs, exit_status, new_parser

FPS = 12.0  # of a film
ABOUT = """\
Write one HTML page that compares runs. Runs that differ only in their seed are also shown as a
group. Folders of "evaluate seeds" are compared by level. The page is the studio's page of runs as
one file: it contains everything that it shows and needs no network. With --film, a film of how the
live map of one run grew takes its place.
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
    about = "film of the live map to write in its place, .gif or .mp4"
    parse.add_argument("--film", type=Path, help=about)
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

    if args.film is not None:
        _film(args)
        return
    paths = [Path(run) if Path(run).is_dir() else args.runs / run for run in args.run]
    runs = name_runs([path for path in paths if not is_seeds(path)])
    seeds = read_seeds([path for path in paths if is_seeds(path)])
    text = report.page(runs, seeds, args.title or "")
    files.prepare("--out", args.out)
    files.write_text(args.out, text)
    more = f", {len(seeds)} over seeds" if seeds else ""
    print(f"{args.out}: {len(runs)} run{'s' * (len(runs) != 1)}{more}")


def _film(args: argparse.Namespace) -> None:
    """Write a film of the live map of a run."""
    from training.logs import film, live_map
    from training.run import files
    from training.run.options import require

    require(len(args.run) == 1, "--film", str(args.film), "given with one run alone")
    path = Path(args.run[0]) if Path(args.run[0]).is_dir() else args.runs / args.run[0]
    film.check(args.film)
    files.prepare("--film", args.film)
    film.write(args.film, live_map.film(path), FPS)
    print(f"{args.film}: {args.film.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
