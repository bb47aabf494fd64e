"""Machines that run test ROMs: ours, and PyBoy beside it, behind the same few questions."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.config import BY_LINE
from fastenv.gameboy.console import Console
from fastenv.gameboy.position import power_up_row
from tools.gameboy.compare import shades_of
from tools.opcodes import ILLEGAL

Array = np.ndarray[Any, Any]

_HIDDEN = slice(0, 0x100)
_WRAM, _HIGH = 0xC000, 0xFF00
_BOOT_FRAMES = 300  # at most: its boot program takes 65
_PATIENCE = 1.0  # seconds for a frame, of which it does some thousand
_IE, _HRAM, _CIRCLE = 0xFFFF, 0xFF80, (0x18, 0xFE)  # jr to itself


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
    """PyBoy, as it starts by itself, where its boot program has ended.

    It does not come back from an illegal opcode: no time passes, so that the frame never ends. It
    therefore runs in a thread, and whoever asks can look at it all the same.
    """

    def __init__(self, path: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the SDL that it finds, which nobody uses
            from pyboy import PyBoy

            self._boy: Any = PyBoy(str(path), window="null", cgb=False, log_level="CRITICAL")
        self._boy.set_emulation_speed(0)
        self._thread = ThreadPoolExecutor(1)
        self.sent = b""
        self.locked = False
        for _ in range(_BOOT_FRAMES):
            if not self._is_booting():
                break
            self.run_frame()

    def _is_booting(self) -> bool:
        """Return whether the boot program still hides the first bytes of the cartridge."""
        return bytes(self._boy.memory[_HIDDEN]) != bytes(self._boy.memory[0, _HIDDEN])

    def close(self) -> None:
        """Let go of it; nothing is saved."""
        if self.locked:
            self._boy.memory[_IE], self._boy.memory[_HRAM : _HRAM + 2] = 0, _CIRCLE
            self._boy.register_file.PC = _HRAM  # the frame goes on, and the thread ends
        self._thread.shutdown()
        self._boy.stop(save=False)

    def run_frame(self) -> None:
        """Run to the end of the frame, or to an illegal opcode."""
        if self.locked:
            return
        frame = self._thread.submit(self._boy.tick, 1, True)
        while not self.locked and wait([frame], _PATIENCE).not_done:
            self.locked = self._boy.memory[self._boy.register_file.PC] in ILLEGAL
        if not self.locked:
            frame.result()  # what it raised
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
        return shades_of(self._boy)
