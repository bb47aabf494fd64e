"""The messages that wait to be sent to a client: never more than it can take.

A message of a kind that tells how things stand replaces the one before; of views one is on its way
at most, until the client says that it was shown. What must not be lost is counted, and a client
that takes none of it is given up.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

VIEW = "view"
REPLACED = ("timeline", "log", "thought", "tiles", "curves", "proof", "table", "busy")
MOST = 200  # other messages that wait


class Outbox:
    """Messages from a worker thread to a websocket.

    Parameters
    ----------
    wake : callable
        Called, in any thread, when there is something to send.

    Attributes
    ----------
    dropped : int
        Views that a newer one has replaced.
    overflown : bool
        Whether a client has left too much waiting.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake, self._lock = wake, threading.Lock()
        self._latest: dict[str, tuple[dict[str, Any], bytes]] = {}
        self._others: deque[dict[str, Any]] = deque()
        self._number = 0
        self._in_flight: int | None = None
        self.dropped, self.overflown = 0, False

    def put(self, message: dict[str, Any], pixels: bytes = b"") -> None:
        """Take a message."""
        kind = message["kind"]
        with self._lock:
            if kind == VIEW or kind in REPLACED:
                self.dropped += kind == VIEW and kind in self._latest
                self._latest.pop(kind, None)
                self._latest[kind] = (message, pixels)
            else:
                self._others.append(message)
                if len(self._others) > MOST:
                    self.overflown = True
                    self._others.clear()
        self._wake()

    def take(self) -> tuple[dict[str, Any], bytes] | None:
        """Take the next message to send, and pixels that belong to it; None for nothing now."""
        with self._lock:
            if self._others:
                return self._others.popleft(), b""
            for kind in self._latest:
                if kind != VIEW or self._in_flight is None:
                    message, pixels = self._latest.pop(kind)
                    break
            else:
                return None
            if kind == VIEW:
                self._number += 1
                self._in_flight = self._number
                message = {**message, "number": self._number}
            return message, pixels

    def acknowledge(self, number: int) -> None:
        """Note that a view was shown."""
        with self._lock:
            if self._in_flight is not None and number >= self._in_flight:
                self._in_flight = None
        self._wake()

    @property
    def is_waiting(self) -> bool:
        """Whether a view is on its way, or waits."""
        with self._lock:
            return self._in_flight is not None or VIEW in self._latest
