"""Training, evaluation and measurement: consumers of fastenv through its public API only.

``python -m training`` lists the commands. But for ``composition`` the modules here are
those commands, and those of ``training.commands`` their further parts: each parses, calls and
prints. What they call lies in the packages; ``docs/explanation/design.md`` says what is where and
who imports whom.
"""

from __future__ import annotations

import os
import random
import sys
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from training import composition

if TYPE_CHECKING:  # public names, which are imported on first use below
    from training.players.trained import load_policy

__all__ = ["load_policy"]

# OpenMP reads these once, when torch is imported: workers that spin at barriers cost a busy machine
# most of its time, workers that sleep at each wake late. So they spin for as long as the next
# parallel loop is usually away, some 30 microseconds. Every entry point passes here first.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")

# The import of rich draws from Python's global generator. A program that has seeded it gets the
# same numbers with and without the modules here. Where rich is missing, its user says so.
_random_state = random.getstate()
with suppress(ImportError):
    import rich.style  # noqa: F401
random.setstate(_random_state)


def _say_interrupted(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print only "interrupted" if Ctrl-C ends the import of a command."""
    if issubclass(kind, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


if sys.argv[:1] == ["-m"]:  # until the command itself is found; it says so afterwards
    # The list of commands needs nothing of it, and it takes most of the time: Gymnasium and NumPy.
    if [each for each in sys.orig_argv if each not in ("-h", "--help")][-1] != "training":
        import fastenv.startup  # noqa: F401  now, while it can see that a command starts
    sys.excepthook = _say_interrupted

composition.compose()  # every start passes here: commands, spawned workers, Ray's and tests


def __getattr__(name: str) -> object:
    """Import a public name on first use, since it needs torch."""
    if name in __all__:
        from training.players.trained import load_policy

        return load_policy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
