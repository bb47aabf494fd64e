"""The results of an evaluation as tables for a terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from training.evaluation.intervals import Interval
from training.run.rounding import rounded

if TYPE_CHECKING:  # it imports torch, which who looks at results does not need
    from training.evaluation.judging import ShownColumn

WIDTH = 132  # of a console that is no terminal


def console() -> Console:
    """Make a console on which the tables fit."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def format_interval(interval: Interval, decimals: int, factor: float = 1, form: str = "") -> str:
    """Format an interval as ``value [low, high]``; the value alone if its ends are not known.

    Parameters
    ----------
    interval : Interval
    decimals : int
    factor : float
    form : str
        See :func:`training.run.rounding.rounded`.
    """
    if math.isnan(interval.value):
        return "-"
    if math.isnan(interval.low) or math.isnan(interval.high):
        return rounded(interval.value, decimals, factor, form)
    value, low, high = (
        rounded(x, decimals, factor, form) for x in (interval.value, interval.low, interval.high)
    )
    return f"{value} [{low}, {high}]"


def format_interval_short(interval: Interval, factor: float = 1) -> str:
    """Format an interval with about three digits, for means of very different size."""
    ends = [x for x in (interval.low, interval.high) if not math.isnan(x)] or [interval.value]
    largest = max(map(abs, ends)) * factor
    decimals = next((d for d, limit in ((0, 0), (3, 1), (2, 10), (1, 50)) if largest <= limit), 0)
    if interval.low == interval.high:
        return rounded(interval.value, decimals, factor)
    return format_interval(interval, decimals, factor)


def name_column(shown: ShownColumn) -> str:
    """Return the heading of a column."""
    name, column = shown
    heading = column.heading or name.replace("_", " ")
    return f"{heading} %" if column.is_part else heading


def show_interval(shown: ShownColumn, interval: Interval) -> str:
    """Format a mean of a column with its interval, shares in per cent."""
    factor, decimals = 100 if shown.column.is_part else 1, shown.column.decimals
    if decimals is None:
        return format_interval_short(interval, factor)
    return format_interval(interval, decimals, factor)


def make_table(
    title: str, caption: str | None, texts: Iterable[str], figures: Iterable[str]
) -> Table:
    """Make an empty table by its headings: columns of texts, then columns of figures."""
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    for heading in texts:
        table.add_column(heading)
    for heading in figures:
        table.add_column(heading, justify="right")
    return table


def fit_columns(widths: Iterable[int], room: int) -> list[list[int]]:
    """Split columns into parts that fit side by side; return the numbers of each part's columns."""
    parts: list[list[int]] = []
    left = 0
    for k, width in enumerate(widths):
        if not parts or width > left:
            parts.append([])
            left = room
        parts[-1].append(k)
        left -= width
    return parts


def tabulate(
    means: Mapping[str, Mapping[str, Interval]],
    columns: Sequence[ShownColumn],
    title: str,
    caption: str,
) -> Table:
    """Make a table of one row for each policy that played the episodes.

    Parameters
    ----------
    means : mapping
        Player to column to mean (:attr:`training.evaluation.results.Estimates.means`).
    columns : sequence of ShownColumn
        Those that nobody has are left out.
    title, caption : str
    """
    present = [each for each in columns if any(each.name in own for own in means.values())]
    table = make_table(title, caption, ["policy"], map(name_column, present))
    table.columns[0].no_wrap = True
    for name, own in means.items():
        table.add_row(name, *(show_interval(each, own[each.name]) for each in present))
    return table
