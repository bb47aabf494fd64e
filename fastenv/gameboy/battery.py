"""What a battery keeps: RAM and clock of a cartridge as the ``.sav`` files of emulators have them.

The bytes of the RAM, and behind them, where there is a clock, 48 more (docs/gameboy.md, 12).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import StateError
from fastenv.files import read_regular, show_path, write_bytes
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.tables import CLOCK_MASKS
from fastenv.gameboy.validate_machine import validate_rows

Array = np.ndarray[Any, Any]

_CLOCK_FIELDS = ("clock", "clock_latched")  # five registers each, in four bytes each
_CLOCK_BYTES = (48, 44)  # what is written, and what old emulators wrote: a time of four bytes
# The time of writing as those write it who know none: it is in the future to all who read it as 32
# or 64 bits, and those let no time pass.
_NO_TIME = bytes.fromhex("ffffff7fffffff7f")
_LONGEST = 1 << 20


def save_sav(path: str | Path, row: Array, cartridge: Cartridge) -> None:
    """Write what the battery of a cartridge keeps to a file.

    Parameters
    ----------
    path : str or Path
    row : ndarray of ``state_dtype``, shape (1,)
    cartridge : Cartridge
        That of the machine.

    Raises
    ------
    StateError
        If the cartridge keeps nothing, or the row is not that of a machine with it; no file is
        written.
    """
    check_battery(path, cartridge)
    validate_rows(row, cartridge)
    content = row["cart"][0].tobytes()
    if cartridge.has_clock:
        registers = np.concatenate([row[name][0] for name in _CLOCK_FIELDS])
        content += registers.astype("<u4").tobytes() + _NO_TIME
    write_bytes(path, content)


def load_sav(path: str | Path, cartridge: Cartridge, audio: bool = False) -> Array:
    """Return the row of a machine turned on with what a file says that the battery kept.

    Parameters
    ----------
    path : str or Path
    cartridge : Cartridge
    audio : bool
        Whether there are samples of its sound.

    Returns
    -------
    ndarray of ``state_dtype``, shape (1,)
        That of :func:`fastenv.gameboy.position.power_up_row` with this RAM and this clock. What the
        cartridge has no bits for is left out. No time has passed since the file was written.

    Raises
    ------
    FileError
        If it cannot be read, or is longer than any such file.
    StateError
        If the cartridge keeps nothing, or the file is not as long as its RAM and its clock.
    """
    check_battery(path, cartridge)
    content, size = read_regular(path, _LONGEST), cartridge.ram_size
    behind = len(content) - size
    if behind and not (cartridge.has_clock and behind in _CLOCK_BYTES):
        raise StateError(
            f"{show_path(path)}: {len(content):,} bytes, must be {size:,} as the RAM of the "
            f"cartridge{_with_clock(cartridge)}"
        )
    row = power_up_row(cartridge, audio)
    row["cart"] = np.frombuffer(content, np.uint8, size) & cartridge.ram_bits
    if behind:
        registers = np.frombuffer(content, "<u4", 10, size).astype(np.uint8).reshape(2, 5)
        for name, values in zip(_CLOCK_FIELDS, registers, strict=True):
            row[name] = values & np.array(CLOCK_MASKS, np.uint8)
    return row


def _with_clock(cartridge: Cartridge) -> str:
    """Return the end of an error message: the sizes of files with a clock, if there is one."""
    if not cartridge.has_clock:
        return ""
    sizes = " or ".join(f"{cartridge.ram_size + more:,}" for more in _CLOCK_BYTES)
    return f", or {sizes} with its clock"


def check_battery(path: str | Path, cartridge: Cartridge) -> None:
    """Refuse a cartridge that keeps nothing when the machine is turned off."""
    if not cartridge.has_battery or not (cartridge.ram_size or cartridge.has_clock):
        raise StateError(
            f"{show_path(path)}: the cartridge keeps nothing by $0147 and $0149 of its header, "
            "must have a battery, and RAM or a clock"
        )
