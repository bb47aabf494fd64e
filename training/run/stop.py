"""A run is asked to stop by a signal, and stops at the next boundary between two iterations."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Stop:
    """Turns SIGINT and SIGTERM into a request to stop at the next boundary between iterations.

    Attributes
    ----------
    requested : bool
    """

    def __init__(self) -> None:
        self.requested = False

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Listen for the signals; a second one ends the run at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        both = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._ask) for number in both}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, _frame: object) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        print(f"{signal.Signals(number).name}: stopping after this iteration", file=sys.stderr)
