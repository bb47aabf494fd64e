"""Make a case that fails short: leave out its parts, and put simpler values in their places."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Part = TypeVar("Part")


def shorten(
    case: list[Part],
    fails: Callable[[list[Part]], list[Part] | None],
    simplify: Callable[[Part], list[Part]],
    seconds: float,
) -> list[Part]:
    """Return a shorter case that still fails.

    Parameters
    ----------
    case : list
        Fails.
    fails : callable
        Plays a case, and returns what of it fails; None if it does not.
    simplify : callable
        Returns simpler parts than a part.
    seconds : float
        Processor time that may be spent.
    """
    end = time.process_time() + seconds

    def attempt(tried: list[Part]) -> bool:
        nonlocal case
        kept = fails(list(tried)) if time.process_time() < end else None
        case = case if kept is None else kept
        return kept is not None

    length = len(case) + 1
    while len(case) < length:
        length, size = len(case), max(len(case) // 2, 1)
        while size:
            place = 0
            while place < len(case):
                if not attempt(case[:place] + case[place + size :]):
                    place += size
            size //= 2
    for place in reversed(range(len(case))):
        for part in simplify(case[place]) if place < len(case) else ():
            if attempt([*case[:place], part, *case[place + 1 :]]):
                break
    return case


def simpler(value: Any) -> list[Any]:
    """Return simpler values than a plain one, the simplest first: zeros, rounded numbers."""
    if isinstance(value, dict):
        return [value | {key: each} for key in value for each in simpler(value[key])]
    if isinstance(value, int):
        return [k for k in (0, 1) if abs(k) < abs(value)]
    if isinstance(value, (list, float)):
        try:
            numbers = np.asarray(value)
        except ValueError:  # of several lengths
            return []
        if numbers.dtype.kind in "if":
            tried = [np.zeros_like(numbers), np.round(numbers), np.round(numbers, 1)]
            return [each.tolist() for each in tried if (each != numbers).any()]
    return []
