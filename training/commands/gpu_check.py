"""Check a GPU: ``python -m training benchmark gpu-check``, or ``make gpu-check``."""

from __future__ import annotations

import argparse
from pathlib import Path

from training.run.command_line import exit_status, new_parser

ABOUT = """\
Run the tests that need a CUDA device, time training, captured graphs and the device replay on it,
and write a record that says where the time of a step goes. Without a device, print so and exit.
CUDA is untested as long as benchmarks/ has no such record. Exit status 1 if a test failed, else 0;
targets are reported, not enforced.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("benchmark gpu-check", ABOUT, "--seconds 5")
    parse.add_argument("--repeats", type=int, default=3, help="repeats of each row; default 3")
    about = "minimum seconds per repeat; default 10"
    parse.add_argument("--seconds", type=float, default=10.0, help=about)
    about = "parallel environments (lanes); default 8192"
    parse.add_argument("--lanes", type=int, default=8192, help=about)
    parse.add_argument("--out", type=Path, help="JSON file to write the record to")
    parse.add_argument("--no-tests", action="store_true", help="only measure, run no tests")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)

    import torch

    from training.bench import runner
    from training.evaluation import tables
    from training.run import registry

    if not torch.cuda.is_available():
        print("no CUDA device here: nothing was checked")
        return 0

    def check() -> int:
        run = runner.load_measurement(registry.FUNCTIONS, "gpu check", "benchmark gpu-check")
        status: int = run(args, tables.console())
        return status

    return exit_status(check)
