"""Pictures of a row for people: the newest frame of its stack as text or as colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.gameboy.common import Common
from fastenv.gameboy.frames import BLACK, unpack

# Of the shades, from white to black.
_INKS = " ░▒█"  # seen where there are no colours
_TERMINAL = (255, 248, 240, 232)  # colours of a terminal with 256
_COLORS = np.array([[255, 255, 255], [170, 170, 170], [85, 85, 85], [0, 0, 0]], np.uint8)
_WIDEST = 84  # columns of text
_ENLARGED = 2  # frames of at most half the picture's width
assert len(_INKS) == len(_COLORS) == BLACK + 1


def shades_of(row: np.void, common: Common) -> npt.NDArray[np.uint8]:
    """Return the newest frame of a row, shape (H, W), in shades from 0 (white) to 3."""
    form = common.config.format
    shades = np.array(unpack(row["stack"][-1].tobytes()), np.uint8)
    return shades.reshape(len(form.ys), len(form.xs))


def render(row: np.void, common: Common, mode: str) -> Any:
    """Draw the newest frame: ``ansi`` returns str, ``rgb_array`` uint8 of shape (H, W, 3).

    Text is of half blocks, see :func:`half_blocks`.
    """
    shades = shades_of(row, common)
    if mode == "ansi":
        return ansi(shades, f"step {int(row['ep_length'])}")
    size = 1 if shades.shape[1] > 100 else _ENLARGED
    return _COLORS[shades].repeat(size, axis=0).repeat(size, axis=1)


def ansi(shades: npt.NDArray[np.uint8], title: str) -> str:
    """Return a frame as text of at most 84 columns, two lines of pixels a line."""
    step = 1 if shades.shape[1] <= _WIDEST else 2
    return "\n".join([title, *half_blocks(shades[::step, ::step])])


def half_blocks(shades: npt.NDArray[np.uint8]) -> list[str]:
    """Return lines of text, two pixels one above the other a character, in shades of gray.

    Without colours a character shows which of the two is darker, or how dark both are.
    """
    lines = []
    for upper, lower in zip(shades[0::2].tolist(), shades[1::2].tolist(), strict=True):
        line, last = [], None
        for pair in zip(upper, lower, strict=True):
            top, bottom = (_TERMINAL[shade] for shade in pair)
            character = _INKS[pair[0]]
            if top < bottom:
                character = "▀"
            elif bottom < top:
                character, top, bottom = "▄", bottom, top
            if pair != last:
                line.append(f"\x1b[38;5;{top};48;5;{bottom}m")
                last = pair
            line.append(character)
        lines.append("".join(line) + "\x1b[0m")
    return lines
