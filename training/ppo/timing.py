"""Where the time of an iteration goes: a stopwatch that attributes what passed to a phase."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import torch

PHASES = ("env", "forward", "store", "gae", "gather", "loss", "backward", "optimizer", "other")


class Phases:
    """Adds up wall time by phase, from one mark to the next.

    Parameters
    ----------
    on : bool
        Without it a mark is an empty call.
    device : torch.device
        On CUDA (untested) every mark waits for the device, whose work is not done yet.

    Attributes
    ----------
    seconds : dict of str to float
        Since :meth:`start`.
    mark : callable
        Attributes the time since the last mark to the phase it is given.
    """

    def __init__(self, on: bool, device: torch.device) -> None:
        self.on = on
        self._waits = device.type == "cuda"
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.mark: Callable[[str], None] = self._mark if on else _nothing

    def start(self) -> None:
        """Begin at zero."""
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self._last = perf_counter()

    def _mark(self, phase: str) -> None:
        if self._waits:
            torch.cuda.synchronize()
        now = perf_counter()
        self.seconds[phase] += now - self._last
        self._last = now


def _nothing(_phase: str) -> None:
    pass
