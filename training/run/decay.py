"""Numbers that fall to zero over a run: learning rates, clip ranges, weights."""

from __future__ import annotations

import math
from typing import Literal

Decay = Literal["constant", "linear", "cosine"]


def decay(value: float, schedule: str, done: float) -> float:
    """Return what is left of ``value`` after the share ``done`` of a run.

    Parameters
    ----------
    value : float
        At the start.
    schedule : {"constant", "linear", "cosine"}
    done : float
        From 0 to 1; beyond, the value stays at its end.
    """
    done = min(max(done, 0.0), 1.0)
    if schedule == "linear":
        return value * (1.0 - done)
    if schedule == "cosine":
        return value * 0.5 * (1.0 + math.cos(math.pi * done))
    return value
