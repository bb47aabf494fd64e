"""The bottles as text (``ansi``) and as a picture (``rgb_array``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import numpy as np

from fastenv.drmario import tables as t
from fastenv.drmario.tables import Tile
from fastenv.drmario.view import LETTERS, BottleView, game_views
from fastenv.pillow import needs_pillow

__all__ = ["render_ansi", "render_bottles", "render_rgb"]

BOLD, DIM = "1", "2"
FRONT = ("93", "91", "94")
BACK = ("30;103", "1;97;41", "1;97;44")
# What stands before the letter of a half; that of a right half stands before its bracket.
SHAPES = {Tile.LEFT: "(", Tile.TOP: "^", Tile.BOTTOM: "v", Tile.SINGLE: "o"}
BOTTLE = 2 * t.COLUMNS + 2
PANEL = 18  # columns beside a bottle


class _Text:
    """Builds lines; colour never changes what they say or how they are aligned."""

    def __init__(self, color: bool) -> None:
        self.color = color

    def paint(self, text: str, code: str) -> str:
        """Colour a piece of a line."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color and text else text

    def cell(self, tile: int) -> str:
        """Return the two characters of a cell."""
        if tile >= t.FREE:
            return self.paint(" ." if tile == t.EMPTY else " '", DIM)
        kind, color = tile & 0xF0, tile & 0x0F
        if kind == Tile.VIRUS:
            return self.paint(f"{LETTERS[color].upper()}☻", f"{BOLD};{FRONT[color]}")
        if kind == Tile.CLEARING:
            return self.paint(f"*{LETTERS[color]}", FRONT[color])
        return self.half(Tile(kind), color)

    def half(self, tile: Tile, color: int, ghost: bool = False) -> str:
        """Return the two characters of a half of a pill; those of a ghost have no ground."""
        letter = LETTERS[color]
        text = f"{letter})" if tile == Tile.RIGHT else SHAPES[tile] + letter
        return self.paint(text, f"4;{FRONT[color]}" if ghost else BACK[color])

    def bottle(self, view: BottleView) -> list[str]:
        """Draw a bottle, with the row above it, of which the neck is a part."""
        cells = {divmod(i, t.COLUMNS): self.cell(tile) for i, tile in enumerate(view.cells)}
        for ghost, halves in ((True, view.ghost), (False, view.pill)):
            for half in halves:
                cells[half.row, half.col] = self.half(half.tile, half.color, ghost)
        above = [*"      │    │      "]
        for col in range(t.COLUMNS):
            if (-1, col) in cells:
                above[1 + 2 * col : 3 + 2 * col] = [cells[-1, col], ""]
        lines = ["".join(above), "┌─────┘    └─────┐"]
        rows = ("".join(cells[row, col] for col in range(t.COLUMNS)) for row in range(t.ROWS))
        lines += [f"│{row}│" for row in rows]
        return [*lines, "└" + "──" * t.COLUMNS + "┘"]

    def panel(self, view: BottleView) -> list[str]:
        """Write the next pill, the counters, and what happened."""
        first, second = view.preview
        pill = self.half(Tile.LEFT, first) + self.half(Tile.RIGHT, second)
        lines = ["", "", f"{'next':<{PANEL - 4}}{pill}", ""]
        for name, value in view.counters:
            lines.append(f"{name:<8}" + self.paint(f"{value:>{PANEL - 8}}", BOLD))
        ending = self.paint(view.ending, f"{BOLD};{'92' if view.won else '93'}")
        return [*lines, "", *view.news, *(["", ending] if ending else [])]


def _beside(blocks: list[list[str]], widths: list[int]) -> list[str]:
    """Put blocks of lines side by side."""
    lines = []
    for parts in zip_longest(*blocks, fillvalue=""):
        line = ""
        for part, width in zip(parts, widths, strict=True):
            seen = len(re.sub(r"\x1b\[[\d;]*m", "", part))
            line += part + " " * (width - seen)
        lines.append(line.rstrip())
    return lines


def render_ansi(row: Any, color: bool = True, ghosts: Mapping[int, int] | None = None) -> str:
    """Return the bottles as text.

    Parameters
    ----------
    row : record of a game
    color : bool
        Colour pills and viruses with ANSI escape sequences.
    ghosts : mapping of int to int, optional
        Placements to show, underlined, by player.

    Returns
    -------
    str
        Lines of at most 79 characters without a line break at the end. A letter is a colour: ``R☻``
        is a red virus, ``(r`` and ``r)`` are the halves of a lying pill, ``^r`` and ``vr`` those of
        a standing one, ``or`` has lost the other half, ``*r`` is being cleared.
    """
    text = _Text(color)
    blocks: list[list[str]] = []
    for view in game_views(row, ghosts):
        blocks += [text.bottle(view), text.panel(view)]
    return "\n".join(_beside(blocks, [BOTTLE + 2, PANEL + 3] * (len(blocks) // 2)))


def render_bottles(row: Any, color: bool = True, ghosts: Mapping[int, int] | None = None) -> str:
    """Return the bottles alone, 18 characters wide each, for many games on one screen.

    Parameters
    ----------
    row, color, ghosts
        See :func:`render_ansi`.
    """
    text = _Text(color)
    blocks = [text.bottle(view) for view in game_views(row, ghosts)]
    return "\n".join(_beside(blocks, [BOTTLE + 2] * len(blocks)))


def render_rgb(row: Any, ghosts: Mapping[int, int] | None = None) -> np.ndarray:
    """Return a picture of the bottles.

    Parameters
    ----------
    row, ghosts
        See :func:`render_ansi`.

    Returns
    -------
    ndarray of uint8, shape (640, 480, 3), or (640, 960, 3) with two players
        A new array.

    Raises
    ------
    ImportError
        Without Pillow.
    """
    with needs_pillow("bottles"):
        from fastenv.drmario import picture
    return picture.draw(game_views(row, ghosts))
