"""What the commands of this folder share: parsers, and how they refuse what is not possible."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable

from fastenv.errors import FastEnvError

Main = Callable[..., int]


def new_parser(name: str, about: str | None) -> argparse.ArgumentParser:
    """Return a parser without options.

    Parameters
    ----------
    name : str
        Of the module, below ``tools``.
    about : str
        Its docstring, which is shown as it stands there.
    """
    return argparse.ArgumentParser(
        prog=f"python -m tools.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def refusing(main: Main) -> Main:
    """Return a main function that prints an error of ours or of a file in a sentence, status 2."""

    @functools.wraps(main)
    def run(*argv: list[str] | None) -> int:
        try:
            return main(*argv)
        except (OSError, FastEnvError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 2

    return run
