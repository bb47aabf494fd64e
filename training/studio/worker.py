"""The thread in which a session's games are stepped."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from training.studio.messages import describe_fault

MAX_WAITING = 200  # messages of a client that are not done yet
PREPARES = "describe"  # a message that is answered elsewhere; here a game is made ready for it


class Worker:
    """Does what a client asks for, one message after the other, and what is due between them.

    Parameters
    ----------
    make : callable
        Returns the :class:`training.studio.session.ClientSession`; called in the thread, since
        what it imports takes seconds.
    refuse : callable
        Takes a sentence that tells the client of a fault before there is a session.
    """

    def __init__(self, make: Callable[[], Any], refuse: Callable[[str], None]) -> None:
        self._make, self._refuse = make, refuse
        self._messages: queue.Queue[Any] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._work, daemon=True, name="studio session")
        self._closed = False
        self._doing: tuple[float, str] | None = (time.monotonic(), "")
        self._thread.start()

    def put(self, message: Any) -> bool:
        """Hand over a message; return whether there was room for it."""
        try:
            self._messages.put_nowait(message)
        except queue.Full:
            return False
        return True

    def busy(self) -> tuple[float, str]:
        """Return the seconds that the current work has taken by now, and its name.

        The name is the kind of a message; nothing where games go on by themselves.
        """
        doing = self._doing
        return (0.0, "") if doing is None else (time.monotonic() - doing[0], doing[1])

    def close(self) -> None:
        """End the thread as soon as what it does now is done."""
        self._closed = True
        self.put(None)

    def _work(self) -> None:
        try:
            self._session = self._make()
        except Exception as error:  # such as a library that is missing
            self._refuse(describe_fault(error))
            self._doing = None
            return
        while not self._closed:
            self._doing = None
            due = self._due()
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
            self._doing = time.monotonic(), getattr(message, "kind", "")
            self._try(message)

    def _due(self) -> float | None:
        try:
            due: float | None = self._session.due()
        except Exception as error:
            self._tell(error)
            return None
        return due

    def _try(self, message: Any) -> None:
        """Handle one message; a fault of ours is reported, and ends nothing."""
        try:
            if message is not None:
                self._session.handle(message)
            self._session.tick()
        except Exception as error:  # whatever it is, the other sessions go on
            self._tell(error)

    def _tell(self, error: Exception) -> None:
        self._session.stop()
        self._refuse(describe_fault(error))
