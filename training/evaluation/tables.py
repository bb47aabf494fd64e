"""The results of an evaluation as tables for a terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from training.evaluation.bootstrap import Interval
from training.run.rounding import rounded

if TYPE_CHECKING:  # it imports torch, which who looks at results does not need
    from training.evaluation import episodes

# Measure, heading, and the function that shows an interval of it.
Column = tuple[str, str, Callable[[Interval], str]]
WIDTH = 132  # of a console that is no terminal


def console() -> Console:
    """Return a console on which the tables fit."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def format_interval(interval: Interval, decimals: int, factor: float = 1) -> str:
    """Return an interval as ``value [low, high]``, a value whose ends are not known alone."""
    if math.isnan(interval.value):
        return "-"
    if math.isnan(interval.low) or math.isnan(interval.high):
        return rounded(interval.value, decimals, factor)
    value, low, high = (
        rounded(x, decimals, factor) for x in (interval.value, interval.low, interval.high)
    )
    return f"{value} [{low}, {high}]"


def episode_table(
    compared: episodes.Comparison, columns: Sequence[Column], title: str, caption: str
) -> Table:
    """Return one row for each policy that played the episodes."""
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    table.add_column("policy", no_wrap=True)
    for _, heading, _ in columns:
        table.add_column(heading, justify="right")
    for name, found in compared.means.items():
        table.add_row(name, *(cell(found[measure]) for measure, _, cell in columns))
    return table


def format_interval_short(interval: Interval, factor: float = 1) -> str:
    """Return an interval with about three digits, for means of very different size."""
    ends = [x for x in (interval.low, interval.high) if not math.isnan(x)] or [interval.value]
    largest = max(map(abs, ends)) * factor
    decimals = next((d for d, limit in ((0, 0), (3, 1), (2, 10), (1, 50)) if largest <= limit), 0)
    if interval.low == interval.high:
        return rounded(interval.value, decimals, factor)
    return format_interval(interval, decimals, factor)
