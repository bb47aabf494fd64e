"""Pictures of a row for people: the newest frame of its stack as text or as colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.gameboy.common import Common
from fastenv.gameboy.frames import BLACK, unpack

# Of the shades, from white to black.
_INKS = " .o#"
_COLORS = np.array([[255, 255, 255], [170, 170, 170], [85, 85, 85], [0, 0, 0]], np.uint8)
_ENLARGED = 2  # frames of at most half the picture's width
assert len(_INKS) == len(_COLORS) == BLACK + 1


def shades_of(row: np.void, common: Common) -> npt.NDArray[np.uint8]:
    """Return the newest frame of a row, shape (H, W), in shades from 0 (white) to 3."""
    form = common.config.format
    shades = np.array(unpack(row["stack"][-1].tobytes()), np.uint8)
    return shades.reshape(len(form.ys), len(form.xs))


def render(row: np.void, common: Common, mode: str) -> Any:
    """Draw the newest frame: ``ansi`` returns str, ``rgb_array`` uint8 of shape (H, W, 3).

    A character of text stands for two pixels one above the other, by the darker of them.
    """
    shades = shades_of(row, common)
    if mode == "ansi":
        return ansi(shades, f"step {int(row['ep_length'])}")
    size = 1 if shades.shape[1] > 100 else _ENLARGED
    return _COLORS[shades].repeat(size, axis=0).repeat(size, axis=1)


def ansi(shades: npt.NDArray[np.uint8], title: str) -> str:
    """Return a frame as text of 80 columns, two lines of pixels a line."""
    while shades.shape[1] > 84:
        shades = shades[:, ::2]
    pairs = shades[: len(shades) // 2 * 2].reshape(-1, 2, shades.shape[1]).max(axis=1)
    return "\n".join([title, *("".join(_INKS[shade] for shade in line) for line in pairs)])
