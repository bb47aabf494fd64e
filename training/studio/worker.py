"""The thread in which a session's games are stepped."""

from __future__ import annotations

import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

MAX_WAITING = 200  # messages of a client that are not done yet
PREPARES = "describe"  # a message that is answered elsewhere; here a game is made ready for it


class Worker:
    """Does what a client asks for, one message after the other, and what is due between them.

    Parameters
    ----------
    make : callable
        Returns the :class:`training.studio.session.Session`; called in the thread, since what it
        imports takes seconds.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._messages: queue.Queue[Any] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._work, daemon=True, name="studio session")
        self._closed = False
        self._thread.start()

    def put(self, message: Any) -> bool:
        """Hand over a message; return whether there was room for it."""
        try:
            self._messages.put_nowait(message)
        except queue.Full:
            return False
        return True

    def close(self) -> None:
        """End the thread as soon as what it does now is done."""
        self._closed = True
        self.put(None)

    def _work(self) -> None:
        self._session = self._make()
        while not self._closed:
            due = self._session.due()
            wait = None if due is None else max(0.0, due - time.monotonic())
            try:
                message = (
                    self._messages.get(timeout=wait) if wait != 0 else self._messages.get(False)
                )
            except queue.Empty:
                message = None
            if self._closed:
                return
            if getattr(message, "kind", "") == PREPARES and not self._messages.empty():
                continue  # somebody looks at another game already, or plays
            self._try(message)

    def _try(self, message: Any) -> None:
        """Do one thing; a fault of ours is told, and ends nothing."""
        try:
            if message is not None:
                self._session.handle(message)
            self._session.tick()
        except Exception as error:  # whatever it is, the other sessions go on
            traceback.print_exc(file=sys.stderr)
            self._session.stop()
            self._session.refuse(f"that went wrong ({type(error).__name__}): begin another game.")
