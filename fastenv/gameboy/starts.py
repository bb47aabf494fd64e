"""Start states of environments: the state at power-up, a save state, or a bank of states.

A bank is a file of rows and of the pictures that were on the screen (docs/gameboy.md, 18).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, StateError
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.frames import WHOLE, FrameFormat
from fastenv.gameboy.position import power_up_row, unpack
from fastenv.gameboy.reference.render import render_line
from fastenv.gameboy.savestate import load_state
from fastenv.gameboy.state import state_dtype
from fastenv.gameboy.tables import HEIGHT, WIDTH
from fastenv.gameboy.validate import validate_rows

Array = npt.NDArray[Any]
POWER_UP = "power_up"
BANKS = (
    *("lantern_walk", "lantern_walk_held_out"),
    *("lantern_walk_dark", "lantern_walk_dark_held_out"),  # before the flame
)
FORMAT, VERSION = "fastenv-gb-bank", 1


@dataclass(frozen=True)
class Starts:
    """Start states.

    Parameters
    ----------
    rows : ndarray of ``state_dtype``, shape (S,)
    frames : ndarray of uint8, shape (S, 5760)
        The pictures on the screen, packed.
    """

    rows: Array
    frames: Array

    def records(self, form: FrameFormat) -> npt.NDArray[np.uint8]:
        """Return what a reset copies: the row of the machine and a packed frame, shape (S, B)."""
        rows = self.rows.view(np.uint8).reshape(len(self.rows), -1)
        shades = self.frames[:, :, None] >> np.array([0, 2, 4, 6], np.uint8) & 3
        pictures = shades.reshape(-1, HEIGHT, WIDTH)
        pixels = pictures[:, form.ys][:, :, form.xs].reshape(len(rows), -1, 4)
        planes = (pixels << np.array([0, 2, 4, 6], np.uint8)).sum(axis=2, dtype=np.uint8)
        return np.concatenate([rows, planes], axis=1)


def load_starts(states: str | Path, cartridge: Cartridge) -> Starts:
    """Return the start states that an option names.

    Parameters
    ----------
    states : str or Path
        ``"power_up"``, the name of one of ``BANKS``, a bank or a save state.
    cartridge : Cartridge

    Raises
    ------
    ConfigError
        If there is no such file.
    StateError
        Naming the file and what is wrong with it, such as that it is of another ROM.
    """
    if states == POWER_UP:
        return single(power_up_row(cartridge), cartridge)
    path: Any = Path(states)
    if states in BANKS:
        path = resources.files("fastenv.gameboy") / "data" / f"{states}.npz"
    try:
        with path.open("rb") as file:
            if file.read(2) == b"PK":  # as all .npz files begin
                return load_bank(path, cartridge)
    except OSError as error:
        raise ConfigError(f"states={str(states)!r} cannot be read: {error}.") from error
    return single(load_state(path, cartridge), cartridge)


def single(row: Array, cartridge: Cartridge) -> Starts:
    """Return a row as the only start state, with the picture that its memory shows."""
    return Starts(row, np.frombuffer(WHOLE.pack(picture_of(row, cartridge)), np.uint8)[None])


def picture_of(row: Array, cartridge: Cartridge) -> bytes:
    """Return the picture that a machine shows while nothing changes, 144 * 160 shades."""
    ppu = unpack(row, cartridge).ppu
    if not ppu.on:
        return bytes(WIDTH * HEIGHT)
    lines = []
    ppu.window_line, ppu.wy_seen = 0, False
    for ppu.ly in range(HEIGHT):
        ppu.wy_seen |= ppu.wy == ppu.ly
        window = ppu.lcdc & 0x21 == 0x21 and ppu.wy_seen and ppu.wx <= 166
        lines.append(render_line(ppu, window))
        ppu.window_line += window
    return b"".join(lines)


def save_bank(path: str | Path, starts: Starts, cartridge: Cartridge) -> None:
    """Write start states to a file.

    Raises
    ------
    StateError
        If one is no row of a machine with this cartridge; nothing is written.
    """
    validate_rows(starts.rows, cartridge)
    header = {"format": FORMAT, "version": VERSION, "rom_sha256": cartridge.sha256}
    rows = starts.rows.view(np.uint8).reshape(len(starts.rows), -1)
    with open(path, "wb") as file:
        text = np.frombuffer(json.dumps(header).encode("ascii"), np.uint8)
        np.savez_compressed(file, header=text, rows=rows, frames=starts.frames)


def load_bank(path: Any, cartridge: Cartridge) -> Starts:
    """Return the start states of a file.

    Raises
    ------
    StateError
        Naming the file and what is wrong: no bank, another version or ROM, cut short, or a row
        that no machine can be in.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            header = json.loads(arrays["header"].tobytes())
            rows, frames = arrays["rows"], arrays["frames"]
    except OSError:
        raise
    except Exception as error:  # of many types: zipfile, zlib, NumPy and the tokenizer have theirs
        why = shorten(f"{type(error).__name__} {error}", 120)
        raise StateError(f"{path}: is no bank of states, or damaged: {why}") from None
    wanted = {"format": FORMAT, "version": VERSION, "rom_sha256": cartridge.sha256}
    for name, value in wanted.items():
        given = header.get(name) if isinstance(header, dict) else None
        if given != value:
            raise StateError(f"{path}: {name} is {given!r}, must be {value!r}")
    dtype = state_dtype(cartridge.ram_size)
    for name, array, size in (("rows", rows, dtype.itemsize), ("frames", frames, WHOLE.plane)):
        if array.dtype != np.uint8 or array.shape != (len(rows), size) or not len(rows):
            raise StateError(f"{path}: {name} must be uint8 of shape (S, {size}), S at least 1")
    states = np.ascontiguousarray(rows).view(dtype).reshape(-1)
    try:
        validate_rows(states, cartridge)
    except StateError as error:
        raise StateError(f"{path}: {error}") from None
    return Starts(states, frames)
