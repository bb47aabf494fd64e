"""Pictures of a row for people: the display of 160 by 144 as text or as colours."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.gameboy.common import Common
from fastenv.gameboy.frames import BLACK, WHOLE, unpack
from fastenv.gameboy.state import machine_of
from fastenv.gameboy.tables import HEIGHT, WIDTH
from fastenv.gameboy.validate_machine import validate_rows

Picture = npt.NDArray[np.uint8]

# Of the shades, from white to black.
_INKS = " ░▒█"  # seen where there are no colours
_TERMINAL = (255, 248, 240, 232)  # colours of a terminal with 256
COLORS = np.array([[255, 255, 255], [170, 170, 170], [85, 85, 85], [0, 0, 0]], np.uint8)
_SIZES = (1, 2, 3, 4, 6, 8)  # pixels of the display across and down that make one of the text
COLUMNS, LINES = 80, 36  # of text that goes anywhere
assert len(_INKS) == len(COLORS) == BLACK + 1


def display(row: np.void, common: Common) -> Picture:
    """Return the display of a row, shape (144, 160), in shades from 0 (white) to 3.

    A row holds only the pixels that its frames have. If these are all, ``pixels="160x144"`` without
    ``max_pool``, and observations show them, the newest frame is the display. Otherwise it is the
    picture that the machine draws next: a copy of it runs on for one frame, 1/60 s, with the keys
    as they are. The two differ where something moved in that frame.

    Raises
    ------
    StateError
        If no machine can be in that row.
    """
    whole = common.config.format == WHOLE and not common.config.max_pool
    if whole and common.shows_pixels:
        shades = np.array(unpack(row["stack"][-1].tobytes()), np.uint8)
        return shades.reshape(HEIGHT, WIDTH)
    return next_picture(machine_of(row, common.cartridge.ram_size), common)


def next_picture(machine: npt.NDArray[Any], common: Common) -> Picture:
    """Return the next picture of a machine, shape (1,), as shades of shape (144, 160).

    Raises
    ------
    StateError
        If no machine can be in that state.
    """
    try:
        from fastenv.gameboy.console import Console
    except ImportError:  # without the compiled core it takes a moment longer
        validate_rows(machine, common.cartridge)
        reference = common.machine(machine)
        reference.run_frame()
        return np.frombuffer(bytes(reference.ppu.picture), np.uint8).reshape(HEIGHT, WIDTH)
    strict, fixed, *_ = common.machine_options
    console = Console(
        common.cartridge,
        machine,
        strict_video_access=strict,
        fixed_frames=fixed,
        accuracy=common.config.accuracy,
    )
    console.run_frame()
    return console.picture


def render(row: np.void, common: Common, mode: str) -> Any:
    """Draw the display: ``ansi`` returns str, ``rgb_array`` uint8 of shape (144, 160, 3).

    Text is of half blocks, 36 lines of 80 columns below one that names the step. What is seen,
    :func:`display` says.
    """
    shades = display(row, common)
    if mode == "ansi":
        return "\n".join([title(row), *text_of(shades, COLUMNS, LINES)])
    return COLORS[shades]


def title(row: np.void) -> str:
    """Return a line that says how far the episode is."""
    return f"step {int(row['ep_length'])}"


def text_of(shades: Picture, columns: int, lines: int) -> list[str]:
    """Return a picture as lines of half blocks, as large as fits: every 1st to 8th pixel.

    Parameters
    ----------
    shades : ndarray of uint8, shape (144, 160)
    columns, lines : int
        What there is room for; the smallest text has 20 columns and 9 lines.
    """
    fitting = [k for k in _SIZES if columns * k >= WIDTH and 2 * lines * k >= HEIGHT]
    step = min(fitting, default=_SIZES[-1])
    return half_blocks(shades[::step, ::step])


def half_blocks(shades: Picture) -> list[str]:
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
