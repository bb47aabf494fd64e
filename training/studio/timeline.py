"""The timeline of a session, as a page draws it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from training.playing.history import History

BUCKETS = 240  # of rewards that are shown
MAX_MARKS = 400


def describe(history: History) -> dict[str, Any]:
    """Make the message ``timeline``."""
    return {
        "kind": "timeline",
        "branch": history.branch,
        "index": history.index,
        "branches": [
            {
                "number": number,
                "parent": branch.parent,
                "first": branch.first,
                "last": branch.last,
                "marks": [
                    [index, branch.moments[index - branch.first].mark]
                    for index in branch.marked[-MAX_MARKS:]
                ],
                "rewards": sum_buckets(branch.rewards),
            }
            for number, branch in enumerate(history.branches)
        ],
    }


def find_last_marked(history: History) -> str:
    """Find the last mark on the way to the moment that is shown, and what was said last there."""
    last = next((moment for moment in history.marked() if moment.lines), None)
    return "" if last is None else f"{last.mark}: {last.lines[-1]}"


def sum_buckets(rewards: Sequence[float]) -> list[float]:
    """Return sums of rewards of equally many decisions, few enough to be drawn."""
    values = np.asarray(rewards, np.float64)
    size = max(1, -(-len(values) // BUCKETS))
    padded = np.zeros(-(-len(values) // size) * size)
    padded[: len(values)] = values
    sums: list[float] = padded.reshape(-1, size).sum(1).round(4).tolist()
    return sums
