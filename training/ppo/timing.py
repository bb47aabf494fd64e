"""Time of an iteration by phase (``native.timers``): methods of a trainer are timed.

The trainer itself knows nothing of it, and an iteration without it costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch

PHASES = ("env", "forward", "store", "gae", "gather", "loss", "backward", "optimizer", "other")


class Phases:
    """Adds up wall time by phase; what a timed call calls in turn belongs to its own phase.

    Parameters
    ----------
    device : torch.device
        On CUDA (untested) every call waits for the device, whose work is not done yet.

    Attributes
    ----------
    seconds : dict of str to float
        Since :meth:`start`; of what is not timed, ``other``.
    """

    def __init__(self, device: torch.device) -> None:
        self._waits = device.type == "cuda"
        self._running = ["other"]
        self.start()

    def start(self) -> None:
        """Begin at zero."""
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._last = perf_counter()

    def stop(self) -> dict[str, float]:
        """Return the seconds of each phase until now."""
        self._add()
        return dict(self.seconds)

    def time(self, owner: Any, phases: dict[str, str]) -> None:
        """Time methods of an object from now on; ``phases`` says what each belongs to."""
        for name, phase in phases.items():
            setattr(owner, name, self._timed(getattr(owner, name), phase))

    def _timed(self, method: Callable[..., Any], phase: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._add()
            self._running.append(phase)
            try:
                return method(*args, **kwargs)
            finally:
                self._add()
                self._running.pop()

        return call

    def _add(self) -> None:
        """Add what passed since the last time to the phase that is running."""
        if self._waits:
            torch.cuda.synchronize()
        now = perf_counter()
        self.seconds[self._running[-1]] += now - self._last
        self._last = now
