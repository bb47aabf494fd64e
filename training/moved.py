"""Where commands of earlier versions went: ``python -m training.NAME`` says so, for one release."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

# Module that was a command, and where to find what it did.
MOVED = {
    "compare": "now python -m training compare",
    "evaluate_seeds": "now python -m training evaluate seeds",
    "evaluator": "now python -m training evaluator",
    "export": "now python -m training export",
    "gpu_check": "now python -m training benchmark gpu-check",
    "matrix": "now python -m training benchmark matrix",
    "milestones": "now python -m training compare milestones",
    "profile": "now python -m training benchmark profile",
    "protocol": "now python -m training compare protocol",
    "reader": "now python -m training reader",
    "replay": "now python -m training watch replay",
    "report": "now python -m training report",
    "scale_model": "gone: docs/howto/many_machines.md shows how it computed its table",
    "sweep": "now python -m training sweep",
    "vectorised": "now python -m training benchmark vectorised",
    "viewer": "now python -m training watch viewer",
}


def end_if_moved(words: Sequence[str]) -> None:
    """Say where the command that Python was started with went, if it is not there any more.

    Parameters
    ----------
    words : sequence of str
        The command line of the interpreter, as in ``sys.orig_argv``.

    Raises
    ------
    SystemExit
        With status 2.
    """
    package, _, name = _module(words).partition(".")
    if package == "training" and name in MOVED:
        print(f"error: python -m training.{name} is {MOVED[name]}.", file=sys.stderr)
        raise SystemExit(2)


def _module(words: Sequence[str]) -> str:
    """Return what stands behind the interpreter's ``-m``, glued to it or not."""
    for option, value in pairwise([*words[1:], ""]):
        if option.startswith("-m"):
            return option[2:] or value
    return ""
