"""Parsers for the commands of ``python -m training``, whose help fits a screen."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastenv.errors import FastEnvError
from training.run.registry import parts_of

SAMPLE = "sample the actions of agents; default depends on the game"  # help


class _Help(argparse.RawDescriptionHelpFormatter):
    """Keeps most options on one line."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)


def described(command: str, about: str, example: str, usage: str = "[options]") -> dict[str, Any]:
    """Return the keyword arguments of a parser; parameters as of :func:`new_parser`."""
    whole = f"python -m training {command}"
    parts = parts_of(command).items()
    lines = [f"  {command} {word}".ljust(24) + part.about for word, part in parts]
    further = ["further parts, each with --help:", *lines, ""] if lines else []
    return {
        "prog": whole,
        "usage": f"{whole} {usage}",
        "description": textwrap.fill(" ".join(about.split()), 79),
        "epilog": "\n".join([*further, f"example: {whole} {example}"]),
        "formatter_class": _Help,
    }


def new_parser(
    command: str, about: str, example: str, usage: str = "[options]"
) -> argparse.ArgumentParser:
    """Make a parser without options.

    Parameters
    ----------
    command : str
        Its words behind ``python -m training``.
    about : str
        What it does.
    example : str
        What to try it with.
    usage : str
        What may stand behind the command, in short; options are listed below anyway.
    """
    return argparse.ArgumentParser(**described(command, about, example, usage))


def add_runs(parse: argparse.ArgumentParser) -> None:
    """Add ``--runs``, the folder of all runs."""
    parse.add_argument(
        "--runs", type=_parse_folder, default=Path("runs"), help="folder of all runs; default runs"
    )


def add_text(parse: argparse.ArgumentParser) -> None:
    """Add ``--text``, which shows lines in place of the application of ``training.terminal``."""
    about = "print lines, as without the extra viewer"
    parse.add_argument("--text", action="store_true", help=about)


def _parse_folder(text: str) -> Path:
    """Parse the path of a folder; refuse an empty one, which would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("'' is not possible: it must be the path of a folder")
    return Path(text)


def exit_status(work: Callable[[], int | None], interrupted: str = "interrupted") -> int:
    """Run a command; return its exit status, and print to stderr why it is not 0.

    Parameters
    ----------
    work : callable
        Returns the exit status; None is 0.
    interrupted : str
        Printed after Ctrl-C.
    """
    try:
        return work() or 0
    except (FastEnvError, ImportError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(interrupted, file=sys.stderr)
        return 130
