"""Machines that run test ROMs: ours, and PyBoy beside it, behind the same few questions."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.config import BY_LINE
from fastenv.gameboy.console import Console
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.tables import HEIGHT, WIDTH

Array = np.ndarray[Any, Any]

_WRAM, _HIGH = 0xC000, 0xFF00
_GRAYS = (0xFF, 0x99, 0x55, 0x00)  # PyBoy's default colours, by shade


class Subject(Protocol):
    """What is asked of a machine that runs a test ROM.

    Attributes
    ----------
    sent : bytes
        Everything that was sent to the serial port.
    locked : bool
        Whether an illegal opcode has stopped the processor for good.
    """

    sent: bytes
    locked: bool

    def run_frame(self) -> None:
        """Run to the end of the frame."""

    def registers(self) -> tuple[int, ...]:
        """Return B, C, D, E, H, L."""

    def memory(self, start: int, length: int) -> bytes:
        """Return bytes of VRAM, of the cartridge's RAM or of page $FF, whatever hides them."""

    def picture(self) -> Array:
        """Return the shades of the last frame, shape (144, 160)."""


class OurMachine:
    """The compiled core, exact within a line or not."""

    def __init__(self, cartridge: Cartridge, accuracy: str = BY_LINE) -> None:
        self._console = Console(cartridge, power_up_row(cartridge), accuracy=accuracy)
        self.sent = b""
        self.locked = False

    def run_frame(self) -> None:
        """Run to the end of the frame, and take what was sent, so that there is room for more."""
        self._console.run_frame()
        row = self._console.row[0]
        self.sent += row["serial"][: row["serial_count"]].tobytes()
        row["serial"], row["serial_count"] = 0, 0
        self.locked = bool(row["locked"])

    def registers(self) -> tuple[int, ...]:
        """Return B, C, D, E, H, L."""
        return tuple(int(self._console.row[0][name]) for name in "bcdehl")

    def memory(self, start: int, length: int) -> bytes:
        """Return bytes of memory."""
        row = self._console.row[0]
        for first, name in ((_HIGH, "high"), (_WRAM, "wram"), (0xA000, "cart"), (0x8000, "vram")):
            if start >= first:
                content: bytes = row[name][start - first : start - first + length].tobytes()
                return content
        raise AssertionError("nobody asks for bytes of the ROM")

    def picture(self) -> Array:
        """Return the last picture."""
        return self._console.picture


class PyBoyMachine:
    """PyBoy, as it starts by itself."""

    def __init__(self, path: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # about the SDL that it finds, and that nobody uses here
            from pyboy import PyBoy

            self._boy: Any = PyBoy(
                str(path), window="null", cgb=False, sound_emulated=False, log_level="CRITICAL"
            )
        self._boy.set_emulation_speed(0)
        self.sent = b""
        self.locked = False

    def close(self) -> None:
        """Let go of it; nothing is saved."""
        self._boy.stop(save=False)

    def run_frame(self) -> None:
        """Run to the end of the frame."""
        self._boy.tick(1, True)
        self.sent += self._boy._serial().encode("latin-1", "replace")

    def registers(self) -> tuple[int, ...]:
        """Return B, C, D, E, H, L."""
        file = self._boy.register_file
        return (*(int(getattr(file, name)) for name in "BCDE"), file.HL >> 8, file.HL & 0xFF)

    def memory(self, start: int, length: int) -> bytes:
        """Return bytes of memory."""
        return bytes(self._boy.memory[start : start + length])

    def picture(self) -> Array:
        """Return the last picture."""
        red = self._boy.screen.ndarray[:HEIGHT, :WIDTH, 0]
        return np.select([red == gray for gray in _GRAYS], range(4), 255).astype(np.uint8)
