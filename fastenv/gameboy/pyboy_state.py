"""Save states of PyBoy 2.8.1 as rows (docs/gameboy.md, 12).

Such a file begins with the version of its layout and names no ROM. Of others the layout differs:
they are refused by their version. What is sounding is left out, and so is the picture.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import StateError
from fastenv.files import read_regular, show_path
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.tables import FRAME, IO, RAM_BANK, SCAN_END, Mbc
from fastenv.gameboy.validate_machine import validate_rows

Array = np.ndarray[Any, Any]

VERSION = 29
NEWEST = 64  # no layout that is known begins with more
_LARGEST = 1 << 20
# Bytes of what is left out.
_SCANLINES, _SCREEN, _SOUND = 144 * 5, 144 * 160 * 5, 398


def is_pyboy_state(head: bytes) -> bool:
    """Tell whether a file may be one, by its first bytes: versions and flags are small."""
    flags = head[1:6]
    return len(flags) == 5 and 1 <= head[0] <= NEWEST and max(flags[0], *flags[3:]) <= 1


class _Parts:
    """Takes one part of a file after the other."""

    def __init__(self, content: bytes, name: str) -> None:
        self.content, self.name, self.at = content, name, 0

    def refuse(self, says: str) -> StateError:
        return StateError(f"{self.name}: a state of PyBoy {says}")

    def take(self, size: int) -> bytes:
        part = self.content[self.at : self.at + size]
        if len(part) < size:
            raise self.refuse("that is cut short, or of another ROM")
        self.at += size
        return part

    def number(self, size: int = 1) -> int:
        return int.from_bytes(self.take(size), "little")


def load_pyboy_state(path: str | Path, cartridge: Cartridge) -> Array:
    """Return the row of a machine from a save state of PyBoy 2.8.1, shape (1,).

    Parameters
    ----------
    path : str or Path
    cartridge : Cartridge
        That of the machine: the file does not say.

    Raises
    ------
    FileError
        If it cannot be read, or is longer than any such file.
    StateError
        Naming the file and why it cannot be taken over.
    """
    parts = _Parts(read_regular(Path(path), _LARGEST), show_path(Path(path)))
    version = parts.number()
    if version != VERSION:
        raise parts.refuse(f"of version {version}: only {VERSION}, of PyBoy 2.8.1, is known")
    starting, _, _, _, color = parts.take(5)
    if starting or color:
        raise parts.refuse("amid its boot program, or of the colour machine, which is not emulated")
    if cartridge.mbc == Mbc.MBC2 or cartridge.has_clock:
        raise parts.refuse("with this cartridge: none of MBC2 or with a clock is known")
    row = power_up_row(cartridge)
    record = row[0]
    _take_processor(parts, record)
    _take_display(parts, record)
    _take_memory(parts, record)
    _take_cartridge(parts, record, cartridge)
    _take_rest(parts, record)
    try:
        validate_rows(row, cartridge)
    except StateError as error:
        raise parts.refuse(f"that no machine is in with this ROM: {error}") from None
    return row


def _take_processor(parts: _Parts, record: Any) -> None:
    for name in ("a", "f", "b", "c", "d", "e"):
        record[name] = parts.number()
    record["l"], record["h"] = parts.take(2)
    record["sp"], pc = parts.number(2), parts.number(2)
    record["ime"], delay, halted, stopped = (parts.number() for _ in range(4))
    if stopped:
        raise parts.refuse("that waits in STOP")
    record["ime_delay"] = min(delay, 1)
    record["halted"] = halted
    record["pc"] = (pc + (halted != 0)) & 0xFFFF  # it stays at HALT
    enabled, _, requested = parts.take(3)
    record["high"][IO.IE], record["high"][IO.IF] = enabled, requested & 0x1F
    cycles = parts.number(8)
    if cycles >= 2**61:
        raise parts.refuse("whose clock is beyond what a machine can count")
    record["cyc"] = cycles
    if parts.take(12)[0]:
        raise parts.refuse("with OAM DMA under way")


def _take_display(parts: _Parts, record: Any) -> None:
    record["vram"], record["oam"] = (_bytes(parts.take(size)) for size in (0x2000, 0xA0))
    high = record["high"]
    registers = (IO.LCDC, IO.BGP, IO.OBP0, IO.OBP1, IO.STAT, IO.LY, IO.LYC, IO.SCY, IO.SCX, IO.WY)
    values = dict(zip((*registers, IO.WX), parts.take(11), strict=True))
    for register, value in values.items():
        high[register] = value
    stat, line = values[IO.STAT], values[IO.LY]
    high[IO.STAT], high[IO.LY] = stat & 0x78, 0
    parts.take(1 + _SCANLINES + 3)
    _, first, starts = parts.take(3)
    parts.take(8)
    clock = parts.number(8)
    parts.take(10)
    on = values[IO.LCDC] & 0x80
    if starts or clock >= FRAME or (on and (line or clock >= SCAN_END)):
        raise parts.refuse("amid a frame: save it between two calls of tick")
    record["dot"], record["first_frame"] = clock, bool(first) and bool(on)
    record["lyc_match"] = stat >> 2 & 1
    record["wy_seen"] = bool(on) and values[IO.WY] == 0
    samples = parts.take(24)[8:16]
    parts.take(2 * (int.from_bytes(samples, "little") % 2**16 + 1) + _SOUND)
    parts.take(_SCREEN + 1)


def _take_memory(parts: _Parts, record: Any) -> None:
    record["wram"] = _bytes(parts.take(0x2000))
    parts.take(0x60)
    ports = parts.take(0x4C)
    record["high"][IO.P1], record["high"][IO.DMA] = ports[IO.P1] & 0x30, ports[IO.DMA]
    record["high"][0x80:0xFF] = _bytes(parts.take(0x7F))
    parts.take(1)
    _, tima, div, _, tma, tac, reload = (parts.number(n) for n in (1, 1, 2, 2, 1, 1, 1))
    parts.take(16)
    if reload:
        raise parts.refuse("in which TIMA is being loaded")
    record["div"] = div
    for register, value in ((IO.TIMA, tima), (IO.TMA, tma), (IO.TAC, tac & 7)):
        record["high"][register] = value


def _take_cartridge(parts: _Parts, record: Any, cartridge: Cartridge) -> None:
    rom_bank, ram_bank, enabled, mode = parts.take(4)
    kept = parts.take(max(cartridge.ram_size, RAM_BANK))  # there is none with less than a bank
    record["cart"] = _bytes(kept[: cartridge.ram_size])
    if cartridge.mbc == Mbc.MBC5 and cartridge.rom_banks > 256:
        raise parts.refuse("of a ROM of more than 256 banks, of which it keeps eight bits")
    record["rom_bank"], record["ram_bank"] = (rom_bank, ram_bank) if cartridge.mbc else (0, 0)
    record["ram_enable"] = bool(enabled) and cartridge.mbc != Mbc.NONE
    if cartridge.mbc in (Mbc.MBC1, Mbc.MBC1M):
        record["rom_bank"], record["ram_bank"] = parts.take(2)
        record["bank_mode"] = mode
    elif cartridge.mbc == Mbc.MBC5 and parts.number():
        parts.take(1)  # whether it rumbles


def _take_rest(parts: _Parts, record: Any) -> None:
    pad, buttons, sent, control, under_way = parts.take(5)
    record["keys"] = ~pad & 15 | (~buttons & 15) << 4
    record["high"][IO.SB], record["high"][IO.SC] = sent, control & 0x81
    if under_way and control & 1:
        raise parts.refuse("with a transfer at the serial port under way")


def _bytes(part: bytes) -> Array:
    return np.frombuffer(part, np.uint8)
