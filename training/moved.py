"""Moved commands: ``python -m training.NAME`` names the new command, for one release."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

# By module that was a command, its new command.
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
    """Exit and name the new command, if Python was started with one that has moved.

    Parameters
    ----------
    words : sequence of str
        The command line of the interpreter, as in ``sys.orig_argv``.

    Raises
    ------
    SystemExit
        With status 2.
    """
    package, _, name = _find_module(words).partition(".")
    if package == "training" and name in MOVED:
        print(f"error: python -m training.{name} is {MOVED[name]}.", file=sys.stderr)
        raise SystemExit(2)


def _find_module(words: Sequence[str]) -> str:
    """Find the module of the interpreter's ``-m``, in the same word or the next one."""
    for option, value in pairwise([*words[1:], ""]):
        if option.startswith("-m"):
            return option[2:] or value
    return ""
