"""Save states: a row in a file that names its ROM (docs/gameboy.md, 12)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import FileError, StateError, show
from fastenv.files import parse_json, read_regular, show_path, write_bytes
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.state import machine_of, sizes_of_rows
from fastenv.gameboy.validate_machine import validate_rows

FORMAT = "fastenv-gb-state"
VERSION = 1  # of rows: another layout or meaning of their fields is another version
_LONGEST_HEADER = 4096


def save_state(path: str | Path, row: Any, cartridge: Cartridge) -> None:
    """Write a machine to a file.

    Parameters
    ----------
    path : str or Path
    row : record or ndarray of one
        Of ``state_dtype``, or that of an environment, ``env.get_state()``, of which the machine is
        taken.
    cartridge : Cartridge
        That of the machine; of an environment ``env.game.common.cartridge``.

    Raises
    ------
    StateError
        If it is not a row of a machine with this cartridge; nothing is written.
    """
    row = machine_of(row, cartridge.ram_size)
    validate_rows(row, cartridge)
    header = {"format": FORMAT, "version": VERSION, "rom_sha256": cartridge.sha256}
    header |= {"row": row.nbytes}
    write_bytes(path, json.dumps(header).encode("ascii") + b"\n" + row.tobytes())


def load_state(path: str | Path, cartridge: Cartridge) -> np.ndarray[Any, Any]:
    """Return the row of a machine from a file, shape (1,), of the kind that was saved.

    Raises
    ------
    FileError
        If it cannot be read, or is longer than any of this cartridge.
    StateError
        Naming the file and what is wrong: no save state, another version or ROM, cut short, or a
        row that no machine can be in.
    """
    sizes, name = sizes_of_rows(cartridge.ram_size), show_path(path)
    content = read_regular(path, _LONGEST_HEADER + max(sizes))
    head, _, body = content.partition(b"\n")
    header = _header(head)
    if "format" not in header:
        raise StateError(
            f"{name}: it must be a save state of fastenv or PyBoy, a bank (.npz), or what a "
            "battery kept (.sav, .srm, .ram); of another emulator take the battery's file"
        )
    for field, wanted in (("format", FORMAT), ("version", VERSION)):
        if header.get(field) != wanted:
            raise StateError(f"{name}: {field} is {show(header.get(field))}, must be {wanted!r}")
    if header.get("rom_sha256") != cartridge.sha256:
        given = show(header.get("rom_sha256"))
        raise StateError(
            f"{name}: rom_sha256 is {given}: of another ROM than this one, {cartridge.sha256!r}"
        )
    if header.get("row") != len(body) or len(body) not in sizes:
        raise StateError(
            f"{name}: row has {len(body)} bytes, must have {min(sizes)}: the file is cut "
            "short or damaged"
        )
    row = np.frombuffer(body, sizes[len(body)]).copy()
    try:
        validate_rows(row, cartridge)
    except StateError as error:
        raise StateError(f"{name}: {error}") from None
    return row


def _header(line: bytes) -> dict[str, Any]:
    """Return the first line of a save state, {} if it is none."""
    if len(line) > _LONGEST_HEADER:
        return {}
    try:
        header = parse_json(line, "the header")
    except FileError:
        return {}
    return header if isinstance(header, dict) else {}
