"""Append measured rows to RUNS.md, newest last.

``python -m training.runs_md RECORD`` takes a record of ``training.benchmark_v9`` (JSON lines) or an
artefact of ``training.profile`` (JSON).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.bench import runs_md
from training.run import files


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parse = argparse.ArgumentParser(prog="python -m training.runs_md", description=__doc__)
    parse.add_argument("record", type=Path)
    parse.add_argument("--to", type=Path, default=Path("RUNS.md"))
    parse.add_argument("--allow-dirty", action="store_true")
    args = parse.parse_args(argv)
    try:
        files.prepare("--to", args.to)
        count = runs_md.log(args.record, args.to, args.allow_dirty)
    except FastEnvError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{count} lines appended to {args.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
