"""Single keys of a terminal; of anything else, lines, whose characters are keys."""

from __future__ import annotations

import os
import re
import select
import sys
from typing import Any, Self

ENTER = "enter"
SEQUENCE = re.compile(r"\x1b[\[O].|.", re.DOTALL)
ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
NAMES = {"\r": ENTER, "\n": ENTER, " ": ENTER, "\x03": "q", "\x04": "q"}


def named_keys(text: str) -> list[str]:
    """Return the keys that a terminal has sent: arrows, ``enter`` (also for space), characters."""
    sent = SEQUENCE.findall(text)
    return [
        ARROWS.get(key[-1], "") if len(key) > 1 else NAMES.get(key, key.lower()) for key in sent
    ]


class Keys:
    """Keys as they are pressed; a context, which leaves the terminal as it found it.

    Attributes
    ----------
    single : bool
        Whether keys come one by one, as they are pressed.
    """

    def __init__(self) -> None:
        self._pending: list[str] = []
        self._before: Any = None
        try:
            import termios
            import tty
        except ImportError:  # not on this system: lines
            self.single: bool = False
            return
        self._termios, self._tty = termios, tty
        self.single = sys.stdin.isatty() and sys.stdout.isatty()

    def __enter__(self) -> Self:
        """Have the terminal send single keys."""
        if self.single:
            self._file = sys.stdin.fileno()
            self._before = self._termios.tcgetattr(self._file)
            self._tty.setcbreak(self._file)
        return self

    def __exit__(self, *_error: object) -> None:
        """Put the terminal back."""
        if self._before is not None:
            self._termios.tcsetattr(self._file, self._termios.TCSADRAIN, self._before)

    def read(self, timeout: float | None = None) -> str:
        """Return the next key, "" if none comes in time, ``q`` at the end of the input.

        Parameters
        ----------
        timeout : float, optional
            Seconds to wait, of a terminal; default until a key is pressed.
        """
        if not self._pending:
            self._pending = self._wait(timeout)
        return self._pending.pop(0) if self._pending else ""

    def _wait(self, timeout: float | None) -> list[str]:
        if not self.single:
            try:
                return named_keys(input("keys, then Enter: ")) or [ENTER]
            except EOFError:
                return ["q"]
        if not select.select([self._file], [], [], timeout)[0]:
            return []
        sent = os.read(self._file, 64)
        return named_keys(sent.decode("utf-8", "replace")) if sent else ["q"]
