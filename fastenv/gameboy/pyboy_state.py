"""Save states of PyBoy as rows (docs/gameboy.md, 12).

Such a file begins with the version of its layout and names no ROM. Known are that of PyBoy 2.8.1
and those of 1.4 to 2.4, which end a frame where line 144 begins. Others are refused by their
version. What is sounding is left out, and so is the picture.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fastenv.errors import StateError
from fastenv.files import read_regular, show_path
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.position import compared_line, power_up_row
from fastenv.gameboy.tables import (
    FRAME,
    IO,
    LINE,
    LINES,
    M_CYCLE,
    NEXT_LY,
    RAM_BANK,
    SCAN_END,
    VISIBLE,
    Interrupt,
    Mbc,
)
from fastenv.gameboy.validate_machine import validate_rows

Array = np.ndarray[Any, Any]

VERSION = 29
OLD = range(7, 13)  # versions of PyBoy 1.4 to 2.4
NEWEST = 64  # no layout that is known begins with more
_LARGEST = 1 << 20
# Bytes of what is left out; a pixel has an attribute from version 10 on.
_SCANLINES, _SCREEN, _SOUND = 144 * 5, 144 * 160 * 5, 398
_SCREEN_OF_OLD = 144 * 160 * 4
# Versions from which old states have flags, the time, and the parameters of lines earlier.
_WITH_TIME, _WITH_ATTRIBUTES, _LINES_EARLY, _WITH_CYCLES = 8, 10, 11, 12


def is_pyboy_state(head: bytes) -> bool:
    """Tell whether a file may be one, by its first bytes: versions and flags are small."""
    flags = head[1:6]
    if len(flags) == 5 and 1 <= head[0] <= OLD[-1]:
        return flags[0] <= 1 and (head[0] < _WITH_TIME or flags[3] <= 1)
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
    """Return the row of a machine from a save state of PyBoy, shape (1,).

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
    if version != VERSION and version not in OLD:
        raise parts.refuse(
            f"of version {version}: {OLD[0]} to {OLD[-1]}, of PyBoy 1.4 to 2.4, and {VERSION}, of "
            "PyBoy 2.8.1, are known; save in the game, and take the .ram file that PyBoy writes"
        )
    flags = parts.take(1 if version < _WITH_TIME else 4 if version in OLD else 5)
    starting, color = flags[0], flags[-1] if len(flags) > 1 else 0
    if starting or color:
        raise parts.refuse("amid its boot program, or of the colour machine, which is not emulated")
    if cartridge.mbc == Mbc.MBC2 or cartridge.has_clock:
        raise parts.refuse("with this cartridge: none of MBC2 or with a clock is known")
    row = power_up_row(cartridge)
    record = row[0]
    if version in OLD:
        _take_old(parts, record, cartridge, version)
    else:
        _take_processor(parts, record)
        _take_display(parts, record)
        _take_memory(parts, record)
        _take_cartridge(parts, record, cartridge)
        _take_rest(parts, record)
    if version in OLD and (more := len(parts.content) - parts.at):
        raise parts.refuse(f"of another ROM: {more:,} bytes are behind its end")
    try:
        validate_rows(row, cartridge)
    except StateError as error:
        raise parts.refuse(f"that no machine is in with this ROM: {error}") from None
    return row


def _take_registers(parts: _Parts, record: Any) -> int:
    """Take the registers, and return PC."""
    for name in ("a", "f", "b", "c", "d", "e"):
        record[name] = parts.number()
    record["l"], record["h"] = parts.take(2)
    record["sp"], pc = parts.number(2), parts.number(2)
    return pc


def _take_processor(parts: _Parts, record: Any) -> None:
    pc = _take_registers(parts, record)
    record["ime"], delay, halted, stopped = (parts.number() for _ in range(4))
    if stopped:
        raise parts.refuse("that waits in STOP")
    record["ime_delay"] = min(delay, 1)
    record["halted"] = halted
    record["pc"] = (pc + (halted != 0)) & 0xFFFF  # it stays at HALT
    enabled, _, requested = parts.take(3)
    record["high"][IO.IE], record["high"][IO.IF] = enabled, requested & 0x1F
    _take_cycles(parts, record)
    if parts.take(12)[0]:
        raise parts.refuse("with OAM DMA under way")


def _take_cycles(parts: _Parts, record: Any) -> None:
    cycles = parts.number(8)
    if cycles >= 2**61:
        raise parts.refuse("whose clock is beyond what a machine can count")
    record["cyc"] = cycles


def _take_video(parts: _Parts, record: Any) -> dict[IO, int]:
    """Take video memory and the registers of the display, and return these."""
    record["vram"], record["oam"] = (_bytes(parts.take(size)) for size in (0x2000, 0xA0))
    high = record["high"]
    registers = (IO.LCDC, IO.BGP, IO.OBP0, IO.OBP1, IO.STAT, IO.LY, IO.LYC, IO.SCY, IO.SCX, IO.WY)
    values = dict(zip((*registers, IO.WX), parts.take(11), strict=True))
    for register, value in values.items():
        high[register] = value
    high[IO.STAT], high[IO.LY] = values[IO.STAT] & 0x78, 0
    return values


def _take_display(parts: _Parts, record: Any) -> None:
    values = _take_video(parts, record)
    stat, line = values[IO.STAT], values[IO.LY]
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


def _take_ram(parts: _Parts, record: Any) -> bytes:
    """Take WRAM and HRAM, and return the ports between them."""
    record["wram"] = _bytes(parts.take(0x2000))
    parts.take(0x60)
    ports = parts.take(0x4C)
    record["high"][IO.P1], record["high"][IO.DMA] = ports[IO.P1] & 0x30, ports[IO.DMA]
    record["high"][0x80:0xFF] = _bytes(parts.take(0x7F))
    return ports


def _take_memory(parts: _Parts, record: Any) -> None:
    _take_ram(parts, record)
    parts.take(1)
    _, tima, div, _, tma, tac, reload = (parts.number(n) for n in (1, 1, 2, 2, 1, 1, 1))
    parts.take(16)
    if reload:
        raise parts.refuse("in which TIMA is being loaded")
    record["div"] = div
    for register, value in ((IO.TIMA, tima), (IO.TMA, tma), (IO.TAC, tac & 7)):
        record["high"][register] = value


def _take_cartridge(parts: _Parts, record: Any, cartridge: Cartridge, old: bool = False) -> None:
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
    elif cartridge.mbc == Mbc.MBC5 and not old and parts.number():
        parts.take(1)  # whether it rumbles


def _take_old(parts: _Parts, record: Any, cartridge: Cartridge, version: int) -> None:
    """Take all behind the flags of a state of an old version."""
    high, has_time = record["high"], version >= _WITH_TIME
    pc = _take_registers(parts, record)
    record["ime"], halted, stopped, high[IO.IE] = parts.take(4)
    if stopped:
        raise parts.refuse("that waits in STOP")
    record["halted"], record["pc"] = halted, (pc + (halted != 0)) & 0xFFFF  # it stays at HALT
    # Version 7 leaves out what is requested: the frame has just ended, which requests VBLANK.
    high[IO.IF] = parts.take(2)[1] & 0x1F if has_time else 1 << Interrupt.VBLANK
    if version >= _WITH_CYCLES:
        _take_cycles(parts, record)
    values = _take_video(parts, record)
    if version >= _LINES_EARLY:
        parts.take(_SCANLINES)
    clock = 0
    if has_time:
        parts.take(2 + 8 * (version >= _WITH_CYCLES))
        clock = parts.number(8)
        parts.take(9)
    _set_time(parts, record, values, clock)
    parts.take(0 if version >= _LINES_EARLY else _SCANLINES)
    parts.take(_SCREEN if version >= _WITH_ATTRIBUTES else _SCREEN_OF_OLD)
    _take_ram(parts, record)
    parts.take(0x34)
    div, tima = parts.take(2)
    record["div"] = div << 8 | parts.number(2) & 0xFF
    parts.take(2)
    tma, tac = parts.take(2)
    for register, value in ((IO.TIMA, tima), (IO.TMA, tma), (IO.TAC, tac & 7)):
        high[register] = value
    parts.take(8 if version >= _WITH_CYCLES else 0)
    _take_cartridge(parts, record, cartridge, old=True)
    pad, buttons = parts.take(2)
    record["keys"] = ~pad & 15 | (~buttons & 15) << 4


def _set_time(parts: _Parts, record: Any, values: dict[IO, int], clock: int) -> None:
    """Set the time within the frame from LY and the T in it that an old version counts."""
    line, on = values[IO.LY], values[IO.LCDC] & 0x80
    record["first_frame"] = False
    if not on:
        record["dot"], record["lyc_match"] = clock % FRAME, values[IO.STAT] >> 2 & 1
        return
    if not VISIBLE <= line < LINES:
        raise parts.refuse(f"of an old version amid a frame, in line {line}: save it after tick()")
    # Behind the events of the line's beginning, which it has had, and before its last cycles.
    at = min(max(clock % LINE, 2 * M_CYCLE), NEXT_LY - M_CYCLE)
    record["dot"] = LINE * line + at // M_CYCLE * M_CYCLE
    record["lyc_match"] = int(compared_line(record["dot"])) == values[IO.LYC]
    record["wy_seen"] = values[IO.WY] < VISIBLE


def _take_rest(parts: _Parts, record: Any) -> None:
    pad, buttons, sent, control, under_way = parts.take(5)
    record["keys"] = ~pad & 15 | (~buttons & 15) << 4
    record["high"][IO.SB], record["high"][IO.SC] = sent, control & 0x81
    if under_way and control & 1:
        raise parts.refuse("with a transfer at the serial port under way")


def _bytes(part: bytes) -> Array:
    return np.frombuffer(part, np.uint8)
