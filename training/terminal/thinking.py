"""Thoughts of players, shown in a terminal (``--think``)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from rich.table import Table
from rich.text import Text

from training.players.player import Thought

MOST = 12  # actions that are shown
NAME = 12, 36  # letters of an action, least and most
BAR = 8, 60  # columns of a bar, least and most
CHOSEN, NONE = "▶", "-"
HEADS = ("mean", "±", "worlds", "policy %")  # a column without numbers is left out


def how_far(thought: Thought) -> str:
    """Describe in a sentence how far an interrupted search came."""
    worlds = int(thought.worlds.max())
    if not worlds:
        return "Interrupted before the first world: played as without search."
    return f"Interrupted after {worlds} worlds of {thought.budget}: the best so far is played."


def table(thought: Thought, name_of: Callable[[int], str], width: int) -> Table:
    """Make a table of a bar for each action, the best mean first.

    Parameters
    ----------
    thought : Thought
    name_of : callable
    width : int
        Columns of the terminal.
    """
    order = np.argsort(-thought.mean, kind="stable")
    order = order[np.argsort(thought.actions[order] != thought.chosen, kind="stable")][:MOST]
    numbers = [_format_numbers(thought, k) for k in order]
    heads = [head for i, head in enumerate(HEADS) if any(row[i] != NONE for row in numbers)]
    numbers = [
        [cell for head, cell in zip(HEADS, row, strict=True) if head in heads] for row in numbers
    ]
    columns = zip(heads, zip(*numbers, strict=True), strict=True)
    taken = 6 + sum(2 + max(len(head), *map(len, cells)) for head, cells in columns)
    longest = max(NAME[0], min(NAME[1], width - taken - 2 * BAR[0]))
    names = [_shorten(name_of(int(thought.actions[k])), longest) for k in order]
    taken += max(len("action"), *map(len, names))
    room = max(BAR[0], min(BAR[1], width - taken))
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), title_justify="left")
    shown.title = Text(_make_title(thought), "dim")
    shown.add_column("")
    shown.add_column("action", no_wrap=True)
    shown.add_column("", no_wrap=True)
    for head in heads:
        shown.add_column(head, justify="right", no_wrap=True)
    low, high = _find_ends(thought, order)
    for k, name, cells in zip(order, names, numbers, strict=True):
        chosen = thought.actions[k] == thought.chosen
        bar = _draw_bar(float(thought.mean[k]), float(thought.error[k]), low, high, room)
        style = "bold cyan" if chosen else None
        shown.add_row(CHOSEN if chosen else "", Text(name), bar, *cells, style=style)
    left = len(thought.actions) - len(order)
    if left:
        shown.add_row("", Text(f"and {left} more", "dim"))
    return shown


def make_weights(
    probabilities: np.ndarray, chosen: int | None, name_of: Callable[[int], str], width: int
) -> Table:
    """Make a table of a bar for each probable action, the most probable first.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (A,)
    chosen : int or None
    name_of : callable
    width : int
        Columns of the terminal.
    """
    order = np.argsort(-np.nan_to_num(probabilities), kind="stable")[:MOST]
    order = order[np.nan_to_num(probabilities)[order] >= 0.0005]
    room = max(BAR[0], min(BAR[1], width - NAME[1] - 12))
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for justify in ("left", "left", "left", "right"):
        shown.add_column(justify=justify, no_wrap=True)
    for action in order.tolist():
        share = float(probabilities[action])
        style = "bold cyan" if action == chosen else None
        name = Text(_shorten(name_of(action), max(NAME[0], min(NAME[1], width - room - 12))))
        mark, bar = CHOSEN if action == chosen else "", _draw_bar(share, 0.0, 0.0, 1.0, room)
        shown.add_row(mark, name, bar, f"{100 * share:.1f} %", style=style)
    return shown


def _make_title(thought: Thought) -> str:
    spent = f"{thought.milliseconds:.3g} ms"
    if not np.isfinite(thought.error).any():
        return f"thought for {spent}"
    return f"thought for {spent}; ±: standard error of the distance to {CHOSEN}"


def _shorten(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _format_numbers(thought: Thought, k: int) -> list[str]:
    """Format the cells of an action."""
    mean, error, wanted = thought.mean[k], thought.error[k], thought.wanted[k]
    return [
        f"{mean:.2f}" if math.isfinite(mean) else NONE,
        f"{error:.2f}" if math.isfinite(error) else NONE,
        str(int(thought.worlds[k])),
        f"{100 * wanted:.1f}" if math.isfinite(wanted) else NONE,
    ]


def _find_ends(thought: Thought, order: np.ndarray) -> tuple[float, float]:
    """Find the values at which bars begin and end."""
    mean, error = thought.mean[order], np.nan_to_num(thought.error[order])
    seen = np.isfinite(mean)
    if not seen.any():
        return 0.0, 1.0
    low, high = (mean - error)[seen].min(), (mean + error)[seen].max()
    return float(low - 0.1 * (high - low)), float(high)


def _draw_bar(mean: float, error: float, low: float, high: float, room: int) -> str:
    """Draw a bar up to a mean; the part within a standard error of it is lighter."""
    if not math.isfinite(mean):
        return ""
    error = error if math.isfinite(error) else 0.0
    scale = room / (high - low) if high > low else math.inf
    ends = [
        min(room, round((x - low) * scale)) if scale < math.inf else room
        for x in (mean - error, mean, mean + error)
    ]
    return "█" * ends[0] + "▓" * (ends[1] - ends[0]) + "░" * (ends[2] - ends[1])
