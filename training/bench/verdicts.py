"""Rows that say what was asked, what was measured, and whether that is enough."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any


def bar(
    what: str,
    asked: float,
    measured: float,
    *,
    most: bool = False,
    every: Sequence[float] = (),
    wall: float | None = None,
    noisy: bool = False,
) -> dict[str, Any]:
    """Return the row of a bar.

    Parameters
    ----------
    what : str
    asked, measured : float
    most : bool
        ``measured`` may not be above ``asked``; else not below.
    every : sequence of float
        The value of each repeat.
    wall : float, optional
        Steps a second of wall time, beside a bar that is judged by CPU time.
    noisy : bool
        Something else ran on the machine.
    """
    passed = measured <= asked if most else measured >= asked
    return {
        "kind": "bar",
        "what": what,
        "asked": f"{'at most' if most else 'at least'} {asked:,g}",
        "measured": measured,
        "all": list(every),
        "wall": wall,
        "pass": bool(passed),
        "noisy": noisy,
    }


def unmeasured_bar(what: str, asked: float, reason: str) -> dict[str, Any]:
    """Return the row of a bar that this machine cannot measure, neither passed nor missed."""
    open_bar = bar(what, asked, asked)
    return open_bar | {"measured": None, "pass": None, "reason": reason}


def speed_bar(what: str, asked: float, row: dict[str, Any]) -> dict[str, Any]:
    """Return the bar of a speed of one core, judged by CPU time."""
    every, measured = row["steps_per_cpu_s_all"], row["steps_per_cpu_s"]
    return bar(what, asked, measured, every=every, wall=row["steps_per_s"], noisy=row["noisy"])


def ratio_bar(
    what: str, asked: float, over: dict[str, Any], under: dict[str, Any], figure: str
) -> dict[str, Any]:
    """Return the bar of a ratio between two things that were timed in turns, turn by turn."""
    pairs = zip(over[f"{figure}_all"], under[f"{figure}_all"], strict=True)
    every, noisy = [a / b for a, b in pairs], over["noisy"] or under["noisy"]
    return bar(what, asked, statistics.median(every), every=every, noisy=noisy)
