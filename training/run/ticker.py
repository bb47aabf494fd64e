"""A word a second from what takes longer."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

EVERY_S = 1.0
# What is done in less is not heard of; one such after the other must not add up to two seconds.
FIRST_S = 0.5


class _Shared:
    """A stream that a ticker and others write to: what they say begins on a line of its own.

    Parameters
    ----------
    out : text file
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._lock = threading.RLock()  # handlers of signals write too
        self._ticks = self._within = False  # who has begun a line: the ticker, or somebody else

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)

    def write(self, text: str) -> int:
        """Write what somebody else has to say."""
        with self._lock:
            self.end()
            self._within = not text.endswith("\n") if text else self._within
            return self._out.write(text)

    def tick(self, text: str) -> None:
        """Write a dot, behind the text at the beginning of a line; nothing within another line."""
        with self._lock:
            if not self._within:
                self._out.write("." if self._ticks else f"{text} .")
                self._out.flush()
                self._ticks = True

    def end(self) -> None:
        """End the line of the ticker, if there is one."""
        with self._lock:
            if self._ticks:
                self._out.write("\n")
                self._out.flush()
                self._ticks = False


@contextmanager
def print_dots(text: str, every: float | None = None, file: TextIO | None = None) -> Iterator[None]:
    """Say what is going on and a dot a second until it is done; nothing of what is done at once.

    What others write to the standard error stream meanwhile begins on a line of its own.

    Parameters
    ----------
    text : str
    every : float, optional
        Seconds; default ``FIRST_S`` before the first dot and ``EVERY_S`` from then on.
    file : text file, optional
        Default the standard error stream.
    """
    before = sys.stderr
    out, done = _Shared(file or before), threading.Event()

    def tick() -> None:
        wait, between = (FIRST_S, EVERY_S) if every is None else (every, every)
        while not done.wait(wait):
            wait = between
            try:
                out.tick(text)
            except (OSError, ValueError):  # nobody is left to tell
                return

    thread = threading.Thread(target=tick, name="ticker", daemon=True)
    if file is None:
        sys.stderr = out
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if sys.stderr is out:
            sys.stderr = before
        with suppress(OSError, ValueError):
            out.end()
