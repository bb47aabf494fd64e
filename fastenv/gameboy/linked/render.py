"""Pictures of two linked consoles for people: side by side, or that of one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.gameboy.frames import WHOLE, unpack
from fastenv.gameboy.linked.common import TAIL, LinkCommon
from fastenv.gameboy.linked.position import unpack as unpack_link
from fastenv.gameboy.reference import Link
from fastenv.gameboy.render import COLORS, COLUMNS, LINES, Picture, text_of, title
from fastenv.gameboy.state import machine_of
from fastenv.gameboy.tables import HEIGHT, WIDTH

GAP = 8  # pixels between the two


def displays(row: np.void, common: LinkCommon) -> list[Picture]:
    """Return the displays of a row, shape (144, 160) each, in shades from 0 (white) to 3.

    Where frames have all pixels they are the newest ones. Otherwise a copy of both machines runs
    on for one frame, as in :func:`fastenv.gameboy.render.display`.
    """
    if common.sides[0].config.format == WHOLE:
        found = []
        for name, side in zip(TAIL, common.sides, strict=True):
            lane = np.frombuffer(row[name].tobytes(), side.dtype)[0]
            shades = np.array(unpack(lane["stack"][-1].tobytes()), np.uint8)
            found.append(shades.reshape(HEIGHT, WIDTH))
        return found
    return next_pictures(row, common)


def next_pictures(row: np.void, common: LinkCommon) -> list[Picture]:
    """Return the next picture of each of the two machines of a row."""
    try:
        from fastenv.gameboy.console import Console, LinkedConsoles
    except ImportError:  # without the compiled core it takes a moment longer
        first, second = (side.machine for side in unpack_link(row.tobytes(), common).sides)
        Link((first, second)).run_frame()
        pictures = [bytes(machine.ppu.picture) for machine in (first, second)]
        return [np.frombuffer(each, np.uint8).reshape(HEIGHT, WIDTH) for each in pictures]
    consoles = []
    for name, side in zip(TAIL, common.sides, strict=True):
        lane = np.frombuffer(row[name].tobytes(), side.dtype)
        strict, fixed, *_ = side.machine_options
        options: dict[str, Any] = {"strict_video_access": strict, "fixed_frames": fixed}
        machine = machine_of(lane, side.cartridge.ram_size)
        consoles.append(Console(side.cartridge, machine, **options))
    LinkedConsoles((consoles[0], consoles[1])).run_frame()
    return [console.picture for console in consoles]


def render(row: np.void, common: LinkCommon, mode: str, seat: int | None = None) -> Any:
    """Draw both displays, or that of a seat.

    Parameters
    ----------
    row : record
    common : LinkCommon
    mode : {"ansi", "rgb_array"}
        Text, or uint8 of shape (144, 328, 3); of a seat (144, 160, 3).
    seat : int, optional
    """
    shown = displays(row, common)
    if seat is not None:
        shown = [shown[seat]]
    if mode == "ansi":
        columns = COLUMNS // len(shown)
        texts = [text_of(each, columns, LINES) for each in shown]
        return "\n".join([title(row), *map(" ".join, zip(*texts, strict=True))])
    gap = np.zeros((HEIGHT, GAP), np.uint8)
    parts = [shown[0]] if len(shown) == 1 else [shown[0], gap, shown[1]]
    return COLORS[np.hstack(parts)]
