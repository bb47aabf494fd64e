"""A picture of a text as a terminal shows it, drawn with Pillow: for games that draw in text alone.

Colours, bold, dim and inverse letters are those of the escape sequences SGR (ECMA-48, 8.3.117);
other sequences show nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Color = tuple[int, int, int]

CELL = (12, 24)  # pixels of a letter
SIZE = 20  # of the font: the letters of DejaVu Sans Mono are then as wide as a cell
BLOCK = (40, 12)  # columns and lines: a picture has whole blocks, so that its size rarely changes
MARGIN = 12  # pixels around them
INK, PAPER = (222, 222, 226), (20, 21, 28)
BASIC = (
    (0, 0, 0), (205, 60, 60), (40, 180, 110), (214, 190, 60), (70, 130, 220), (190, 90, 190),
    (40, 170, 200), (200, 200, 204), (110, 110, 116), (245, 96, 96), (70, 220, 140),
    (245, 225, 90), (105, 165, 250), (225, 130, 225), (80, 210, 235), (255, 255, 255),
)  # fmt: skip
CUBE = (0, 95, 135, 175, 215, 255)  # of the 256 colours of xterm

_SEQUENCE = re.compile(r"(\x1b\[[0-?]*[ -/]*[@-~])")


class Style(NamedTuple):
    """The style of a letter: colours, bold, dim and inverse."""

    ink: Color = INK
    paper: Color = PAPER
    bold: bool = False
    dim: bool = False
    inverse: bool = False


_CHANGES: dict[int, dict[str, Any]] = {
    0: Style()._asdict(),
    1: {"bold": True},
    2: {"dim": True},
    7: {"inverse": True},
    22: {"bold": False, "dim": False},
    27: {"inverse": False},
    39: {"ink": INK},
    49: {"paper": PAPER},
}
for _k, _color in enumerate(BASIC):
    _first = 30 + _k if _k < 8 else 82 + _k  # the bright ones begin at 90
    _CHANGES |= {_first: {"ink": _color}, _first + 10: {"paper": _color}}


def _xterm(number: int) -> Color:
    """Return one of the 256 colours of xterm."""
    if number < 16:
        return BASIC[number]
    if number < 232:
        red, rest = divmod(number - 16, 36)
        return CUBE[red], CUBE[rest // 6], CUBE[rest % 6]
    grey = 8 + 10 * (min(number, 255) - 232)
    return grey, grey, grey


def _restyle(style: Style, parameters: str) -> Style:
    """Return a style after a sequence with these parameters."""
    codes = iter([int(code) if code.isdecimal() else 0 for code in parameters.split(";")])
    for code in codes:
        if code not in (38, 48):
            style = style._replace(**_CHANGES.get(code, {}))
            continue
        kind = next(codes, 0)
        red, green, blue = (min(next(codes, 0), 255) for _ in range(3)) if kind == 2 else (0, 0, 0)
        color = _xterm(next(codes, 0)) if kind == 5 else (red, green, blue)
        style = style._replace(ink=color) if code == 38 else style._replace(paper=color)
    return style


def cells(text: str) -> Iterator[tuple[int, int, str, Style]]:
    """Yield line, column, letter and style of each letter of a text."""
    line, column, style = 0, 0, Style()
    for part in _SEQUENCE.split(text):
        if _SEQUENCE.fullmatch(part):
            style = _restyle(style, part[2:-1]) if part.endswith("m") else style
            continue
        for letter in part:
            if letter == "\n":
                line, column = line + 1, 0
            elif letter == "\t":
                column += 8 - column % 8
            elif letter.isprintable():
                yield line, column, letter, style
                column += _columns(letter)


def _columns(letter: str) -> int:
    """Return how many columns of a terminal a letter takes."""
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


@lru_cache(maxsize=2)
def _font(bold: bool) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return DejaVu Sans Mono where matplotlib is installed, which has it, or Pillow's own font."""
    try:
        import matplotlib
    except ImportError:
        return ImageFont.load_default(size=SIZE * 0.8)  # narrower letters, for cells of one width
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(folder / f"DejaVuSansMono{'-Bold' if bold else ''}.ttf", SIZE)


def draw(text: str) -> np.ndarray:
    """Return a picture of a text.

    Parameters
    ----------
    text : str
        Lines, as ``render_mode="ansi"`` shows them.

    Returns
    -------
    ndarray of uint8, shape (H, W, 3)
        With room for 40 columns and 12 lines, or as many times that as the text needs.
    """
    found = [*cells(text)]
    columns = max((column + _columns(letter) for _, column, letter, _ in found), default=1)
    lines = max((line + 1 for line, _, _, _ in found), default=1)
    width, height = (
        -(-count // block) * block * side + 2 * MARGIN
        for count, block, side in zip((columns, lines), BLOCK, CELL, strict=True)
    )
    image = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(image)
    for line, column, letter, style in found:
        _draw_letter(pen, MARGIN + column * CELL[0], MARGIN + line * CELL[1], letter, style)
    return np.array(image)


def _draw_letter(pen: ImageDraw.ImageDraw, x: int, y: int, letter: str, style: Style) -> None:
    """Draw a letter in the cell whose top left corner is given."""
    ink, paper = (style.paper, style.ink) if style.inverse else (style.ink, style.paper)
    if style.dim:
        red, green, blue = ((2 * a + 3 * b) // 5 for a, b in zip(ink, paper, strict=True))
        ink = red, green, blue
    width = CELL[0] * _columns(letter)
    if paper != PAPER:
        pen.rectangle((x, y, x + width - 1, y + CELL[1] - 1), fill=paper)
    font = _font(style.bold)
    pen.text((x + (width - font.getlength(letter)) / 2, y), letter, fill=ink, font=font)
