"""What more cores and GPUs would do: ``python -m training.scale_model RECORD``.

RECORD is what ``python -m training.benchmark_v9 --only scale`` wrote. Costs of cores are those
measured in it; GPUs and networks are assumed to be what the options say.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path

from rich.table import Table

from fastenv.errors import ConfigError
from training.bench import scale_model
from training.bench.scale_model import Assumed
from training.evaluation import tables


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parse = argparse.ArgumentParser(prog="python -m training.scale_model", description=__doc__)
    parse.add_argument("record", type=Path, metavar="RECORD")
    for each in fields(Assumed):
        usual = each.default
        option = f"--{each.name.replace('_', '-')}"
        parse.add_argument(option, type=type(usual), default=usual, help=f"default {usual:,}")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        assumed = Assumed(**{each.name: getattr(args, each.name) for each in fields(Assumed)})
        costs = scale_model.costs_of(read(args.record))
    except (ConfigError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    shown = Table(*scale_model.HEADS, title=str(args.record), title_justify="left")
    for line in scale_model.table(costs, assumed):
        shown.add_row(*line)
    console = tables.console()
    console.print(shown)
    console.print(scale_model.sentence(assumed))
    return 0


def read(path: Path) -> list[dict[str, object]]:
    """Return the rows of a record behind its head.

    Raises
    ------
    ConfigError
        If it is none.
    """
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][1:]
    except ValueError as error:
        raise ConfigError(f"{path} is no record of training.benchmark_v9.") from error


if __name__ == "__main__":
    sys.exit(main())
