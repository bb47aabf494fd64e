"""Signals of a run: who asks it to stop, and which of its processes leave that to the others."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess


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
        before = {number: signal.signal(number, self._request) for number in both}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _request(self, number: int, _frame: object) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        print(f"{signal.Signals(number).name}: stopping after this iteration", file=sys.stderr)


def start_shielded(process: BaseProcess) -> None:
    """Start a process that Ctrl-C does not end, although it goes to all processes of a terminal.

    Parameters
    ----------
    process : BaseProcess
        Of the context ``spawn``.
    """
    resource_tracker.ensure_running()  # if it were started below, it would lift the block
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
