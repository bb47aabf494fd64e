"""A word a second from what takes longer, and how far it is."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

EVERY_S = 1.0
# What is done in less is not heard of; one such after the other must not add up to two seconds.
FIRST_S = 0.5
PROGRESS_S = 5.0  # between two words on how far it is
WIDTH = 78  # columns of a line of dots

# Of all tickers: a process that is forked while one of them prints must not wait for it for ever.
_LOCK = threading.RLock()  # handlers of signals write too
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )


class _Line:
    """What is known of the line that a ticker and others write to.

    Parameters
    ----------
    out : text file
        Where the ticker writes.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._column = 0  # of the ticker's own line; 0 where it has begun none
        self.within = False  # whether somebody else has begun a line
        self.written = 0.0  # when somebody else wrote, by ``time.monotonic``
        self._far, self._shown, self._shown_at = "", "", time.monotonic()

    def tick(self, text: str, every: float) -> None:
        """Write a dot, behind the text at the beginning of a line; nothing beside what is heard."""
        with _LOCK:
            now = time.monotonic()
            if self.within or now - self.written < 0.9 * every:
                return
            word = "."
            if self._far != self._shown and now - self._shown_at >= PROGRESS_S:
                word, self._shown, self._shown_at = f" {self._far} ", self._far, now
            if self._column + len(word) > WIDTH:
                self.end()
            begin = "" if self._column else f"{text} "
            self._out.write(begin + word)
            self._out.flush()
            self._column += len(begin) + len(word)

    def end(self) -> None:
        """End the line of the ticker, if there is one."""
        with _LOCK:
            if self._column:
                self._out.write("\n")
                self._out.flush()
                self._column = 0

    def note(self, far: str) -> None:
        """Take how far it is."""
        self._far = far


class _Shared:
    """A stream of which a ticker hears: what others write begins on a line of its own.

    Parameters
    ----------
    out : text file
    line : _Line
    """

    def __init__(self, out: TextIO, line: _Line) -> None:
        self._out, self._line = out, line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)

    def write(self, text: str) -> int:
        """Write what somebody else has to say."""
        with _LOCK:
            self._line.end()
            if text:
                self._line.within = not text.endswith("\n")
                self._line.written = time.monotonic()
            return self._out.write(text)


_open: list[_Line] = []  # lines of the tickers that are at work, the innermost one last


def tell_progress(done: int, total: int, what: str) -> None:
    """Let the ticker that is at work, if there is one, say how far it is now and then.

    Parameters
    ----------
    done, total : int
    what : str
        What is counted, such as ``games``.
    """
    if _open:
        _open[-1].note(f"{done:,} of {total:,} {what}")


@contextmanager
def print_dots(text: str, every: float | None = None, file: TextIO | None = None) -> Iterator[None]:
    """Print the name of some work and a dot a second until it ends; nothing if it ends at once.

    While others write to the standard streams there are no dots, and what they write begins on a
    line of its own.

    Parameters
    ----------
    text : str
    every : float, optional
        Seconds; default ``FIRST_S`` before the first dot and ``EVERY_S`` from then on.
    file : text file, optional
        Default the standard error stream.
    """
    before, out = (sys.stdout, sys.stderr), file or sys.stderr
    if out is None:  # a program may be started without the stream: nobody is told
        yield
        return
    line, done = _Line(out), threading.Event()

    def tick() -> None:
        wait, between = (FIRST_S, EVERY_S) if every is None else (every, every)
        while not done.wait(wait):
            try:
                line.tick(text, wait)
            except (OSError, ValueError):  # nobody is left to tell
                return
            wait = between

    thread = threading.Thread(target=tick, name="ticker", daemon=True)
    shared = tuple(stream and _Shared(stream, line) for stream in before)
    if file is None:
        sys.stdout, sys.stderr = shared
    _open.append(line)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        _open.remove(line)
        for name, own, stream in zip(("stdout", "stderr"), shared, before, strict=True):
            if getattr(sys, name) is own:
                setattr(sys, name, stream)
        with suppress(OSError, ValueError):
            line.end()
