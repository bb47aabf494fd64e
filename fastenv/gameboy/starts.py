"""Start states of environments: the state at power-up, a save state, or a bank of states.

A bank is a file of rows and of the pictures that were on the screen (docs/gameboy.md, 18).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import FileError, StateError, show
from fastenv.files import open_regular, parse_json, read_npz, show_path
from fastenv.gameboy.battery import load_sav
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.frames import WHOLE, FrameFormat
from fastenv.gameboy.position import power_up_row, unpack
from fastenv.gameboy.pyboy_state import is_pyboy_state, load_pyboy_state
from fastenv.gameboy.reference.render import render_line
from fastenv.gameboy.savestate import load_state
from fastenv.gameboy.shipped import not_read, shipped
from fastenv.gameboy.state import fitted, sizes_of_rows, state_dtype
from fastenv.gameboy.tables import HEIGHT, WIDTH
from fastenv.gameboy.validate_machine import validate_rows

Array = npt.NDArray[Any]
POWER_UP = "power_up"
BATTERY = (".sav", ".srm", ".ram")  # names of what a battery kept
_GZIP = b"\x1f\x8b"
BANKS = (
    *("lantern_walk", "lantern_walk_held_out"),
    *("lantern_walk_dark", "lantern_walk_dark_held_out"),  # before the flame
)
FORMAT, VERSION = "fastenv-gb-bank", 1
LARGEST = 1 << 27  # bytes of a bank: a batch needs some times as many


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
        """Build the records that a reset copies: row of the machine and packed frame, (S, B)."""
        rows = self.rows.view(np.uint8).reshape(len(self.rows), -1)
        shades = self.frames[:, :, None] >> np.array([0, 2, 4, 6], np.uint8) & 3
        pictures = shades.reshape(-1, HEIGHT, WIDTH)
        pixels = pictures[:, form.ys][:, :, form.xs].reshape(len(rows), -1, 4)
        planes = (pixels << np.array([0, 2, 4, 6], np.uint8)).sum(axis=2, dtype=np.uint8)
        return np.concatenate([rows, planes], axis=1)


def load_starts(states: str | Path, cartridge: Cartridge, audio: bool = False) -> Starts:
    """Return the start states that an option names.

    Parameters
    ----------
    states : str or Path
        ``"power_up"``, the name of one of ``BANKS``, a bank, a save state, also one of
        PyBoy, or a file ``.sav``, ``.srm`` or ``.ram``: a machine that is turned on with what its
        battery kept.
    cartridge : Cartridge
    audio : bool
        Whether a machine that is turned on has samples of its sound; others may.

    Raises
    ------
    ConfigError
        If there is no such file, or it is none of these.
    StateError
        Naming the file and what is wrong with it, such as that it is of another ROM.
    """
    if states == POWER_UP:
        return single(power_up_row(cartridge, audio), cartridge)
    path: Any = states
    if states in BANKS:
        path = shipped("data", f"{states}.npz")
    try:
        if states not in BANKS and Path(states).suffix.lower() in BATTERY:
            return single(load_sav(states, cartridge, audio), cartridge)
        with open_regular(path, LARGEST) as file:
            head = file.read(6)
        if head[:2] == b"PK":  # as all .npz files begin
            return load_bank(path, cartridge)
        if head[:2] == _GZIP:
            raise StateError(
                f"{show_path(Path(states))}: a gzipped state, as stable-retro writes them: it is "
                "one of its core Gambatte, which is not read. Take the battery's file of the game "
                "(.srm), or play to the place and save it with python -m fastenv play --save"
            )
        if is_pyboy_state(head):
            return single(load_pyboy_state(path, cartridge), cartridge)
        return single(load_state(path, cartridge), cartridge)
    except FileError as error:
        raise not_read("states", error, states, (POWER_UP, *BANKS)) from error


def join_starts(names: Sequence[str | Path], cartridge: Cartridge) -> Starts:
    """Return the start states that several options name, in their order, as one.

    Parameters
    ----------
    names : sequence of str or Path
        Each as in :func:`load_starts`.
    cartridge : Cartridge

    Raises
    ------
    ConfigError, StateError
        See :func:`load_starts`.
    """
    found = [load_starts(name, cartridge) for name in names]
    fields = {field for each in found for field in each.rows.dtype.names or ()}
    rows = [fitted(each.rows, "line" in fields, "sound" in fields) for each in found]
    return Starts(np.concatenate(rows), np.concatenate([each.frames for each in found]))


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
    FileError
        If it cannot be read, is no bank, or damaged.
    StateError
        Naming the file and what is wrong: another version or ROM, or a row that no machine can be
        in.
    """
    arrays, name = read_npz(path, LARGEST, ("header", "rows", "frames")), show_path(path)
    header = parse_json(arrays["header"].tobytes(), f"{name}: header")
    rows, frames = arrays["rows"], arrays["frames"]
    wanted = {"format": FORMAT, "version": VERSION, "rom_sha256": cartridge.sha256}
    for field, value in wanted.items():
        given = header.get(field) if isinstance(header, dict) else None
        if given != value:
            raise StateError(f"{name}: {field} is {show(given)}, must be {value!r}")
    sizes = sizes_of_rows(cartridge.ram_size)
    dtype = sizes.get(rows.shape[1] if rows.ndim == 2 else 0, state_dtype(cartridge.ram_size))
    count = rows.shape[0] if rows.ndim else 0
    for field, array, size in (("rows", rows, dtype.itemsize), ("frames", frames, WHOLE.plane)):
        if array.dtype != np.uint8 or array.shape != (count, size) or not count:
            raise StateError(
                f"{name}: {field} is {show(array.dtype)} of shape {show(array.shape)}, must be "
                f"uint8 of shape (S, {size}), S at least 1"
            )
    states = np.ascontiguousarray(rows).view(dtype).reshape(-1)
    try:
        validate_rows(states, cartridge)
    except StateError as error:
        raise StateError(f"{name}: {error}") from None
    return Starts(states, frames)
