"""Targets: rows with the asked value, the measured value, and the verdict.

Records call them bars: their rows have ``kind`` ``bar``.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]


def target(
    what: str,
    asked: float,
    measured: float,
    *,
    most: bool = False,
    every: Sequence[float] = (),
    wall: float | None = None,
    noisy: bool = False,
) -> Row:
    """Return the row of a target.

    Parameters
    ----------
    what : str
    asked, measured : float
    most : bool
        ``measured`` may not be above ``asked``; else not below.
    every : sequence of float
        The value of each repeat.
    wall : float, optional
        Steps a second of wall time, beside a target that is judged by CPU time.
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


def unmeasured(what: str, asked: float, reason: str) -> Row:
    """Return the row of a target that this machine cannot measure, neither passed nor missed."""
    return target(what, asked, asked) | {"measured": None, "pass": None, "reason": reason}


def speed(what: str, asked: float, row: Row) -> Row:
    """Return the target of a speed of one core, judged by CPU time."""
    every, measured = row["steps_per_cpu_s_all"], row["steps_per_cpu_s"]
    return target(what, asked, measured, every=every, wall=row["steps_per_s"], noisy=row["noisy"])


def ratio(what: str, asked: float, over: Row, under: Row, figure: str = "steps_per_cpu_s") -> Row:
    """Return the target of a ratio between two things that were timed in turns, turn by turn."""
    pairs = zip(over[f"{figure}_all"], under[f"{figure}_all"], strict=True)
    every, noisy = [a / b for a, b in pairs], over["noisy"] or under["noisy"]
    return target(what, asked, statistics.median(every), every=every, noisy=noisy)


def at_most(what: str, asked: float, every: Sequence[float], row: Row) -> Row:
    """Return the target of values of the repeats of a row whose median may not be above."""
    middle = float(statistics.median(every))
    return target(what, asked, middle, most=True, every=every, noisy=row["noisy"])


def time_of_step(what: str, asked: float, row: Row, unit: float = 1e6) -> Row:
    """Return the target of the CPU time of a step, in microseconds unless ``unit`` says so."""
    return at_most(what, asked, [unit / speed for speed in row["steps_per_cpu_s_all"]], row)


def env_share(what: str, asked: float, row: Row) -> Row:
    """Return the target of the environment's share of the wall time of a training."""
    return at_most(what, asked, row["share_env_all"], row)
