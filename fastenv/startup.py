"""Set-up of our commands before anything else is imported; other programs do not use it.

Ctrl-C ends a command that is only starting.

While Python imports this package for ``python -m fastenv`` or ``python -m fastenv.gameboy.play``,
which takes a good part of a second, ``sys.argv[0]`` is ``-m``. An interrupt would then show where
in the imports of the libraries it came. Commands that tidy up call :func:`take_interrupts` when
they begin. Programs of others that import this package keep their interrupts.

Where the encoding of the terminal lacks a character, such as a frame in ASCII, a command prints a
question mark in its place and continues.
"""

from __future__ import annotations

import io
import signal
import sys
from itertools import pairwise


def end_by_interrupts() -> None:
    """Let Ctrl-C end the process at once if it is a command of ours that starts."""
    starting = sys.argv[:1] == ["-m"] and _module().split(".")[0] == "fastenv"
    if starting and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def replace_unprintable() -> None:
    """Let the standard streams print a question mark for what their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        encoding = getattr(stream, "encoding", None) or ""
        if isinstance(stream, io.TextIOWrapper) and not encoding.lower().startswith("utf"):
            stream.reconfigure(errors="replace")


def _module() -> str:
    """Return the name of the module given by the interpreter's ``-m``, empty if none."""
    for option, value in pairwise([*sys.orig_argv[1:], ""]):
        if option.startswith("-m"):
            return option[2:] or value
    return ""


def take_interrupts() -> None:
    """Let Ctrl-C be a ``KeyboardInterrupt`` again, so that a command can tidy up."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


end_by_interrupts()
if sys.argv[:1] == ["-m"] and _module().split(".")[0] in ("fastenv", "training"):
    replace_unprintable()
