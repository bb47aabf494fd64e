"""Save states as PyBoy writes them: of versions that cannot be installed, from their layouts."""

from __future__ import annotations

import io

import numpy as np

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.position import pack, power_up_row, unpack
from fastenv.gameboy.tables import IO, Mbc
from tools.gameboy.compare import PyBoyTwin

VERSIONS = range(7, 13)  # of the layouts of PyBoy 1.4 to 2.4
_LINES = bytes(range(240)) * 3  # registers of the display in each line
_PICTURE = 144 * 160
_KEYS = bytes([0x0F & ~1, 0x0F & ~2])  # Right and Left of what the joypad shows


def make_old_state(row: np.ndarray, cartridge: Cartridge, version: int) -> bytearray:
    """Return a row in line 144 as PyBoy 1.4 to 2.4 save it, with two keys pressed.

    Parameters
    ----------
    row : ndarray of records, shape (1,)
        See :func:`in_line_144`.
    cartridge : Cartridge
        Of no controller, an MBC1, MBC3 or MBC5.
    version : int
        One of :data:`VERSIONS`.
    """
    record, high, part = row[0], row["high"][0].tolist(), bytearray([version, 0])
    part += bytes(3) if version >= 8 else b""
    part += bytes(int(record[name]) for name in ("a", "f", "b", "c", "d", "e", "l", "h"))
    pc = int(record["pc"]) - int(record["halted"])
    for pair in (int(record["sp"]), pc):
        part += pair.to_bytes(2, "little")
    part += bytes([record["ime"], record["halted"], 0, high[IO.IE]])
    part += bytes([0, high[IO.IF]]) if version >= 8 else b""
    clock = int(record["dot"]).to_bytes(8, "little")
    cycles = int(record["cyc"]).to_bytes(8, "little") if version >= 12 else b""
    part += cycles + record["vram"].tobytes() + record["oam"].tobytes()
    stat = high[IO.STAT] | int(record["lyc_match"]) << 2 | 1
    part += bytes(high[each] for each in (IO.LCDC, IO.BGP, IO.OBP0, IO.OBP1))
    part += bytes([stat, 144, *(high[each] for each in (IO.LYC, IO.SCY, IO.SCX, IO.WY, IO.WX))])
    part += _LINES if version >= 11 else b""
    part += bytes(2) + cycles + clock + clock + b"\1" if version >= 8 else b""
    part += _LINES if version < 11 else b""
    part += bytes(_PICTURE * (5 if version >= 10 else 4))
    ports = bytearray(b"\xff" * 0x4C)
    ports[IO.P1], ports[IO.DMA] = high[IO.P1] | 0x0F, high[IO.DMA]
    part += record["wram"].tobytes() + bytes(0x60) + ports + bytes(high[0x80:0xFF]) + bytes(0x34)
    div = int(record["div"])
    part += bytes([div >> 8, high[IO.TIMA], div & 255, 0, 0, 0, high[IO.TMA], high[IO.TAC]])
    part += cycles
    bank, banked = int(record["rom_bank"]), int(record["ram_bank"])
    part += bytes([bank, banked, record["ram_enable"], record["bank_mode"]])
    part += record["cart"].tobytes() or bytes(0x2000)
    if cartridge.mbc == Mbc.MBC1:
        part += bytes([bank, banked])
    return part + _KEYS


def in_line_144(cartridge: Cartridge) -> np.ndarray:
    """Return the row of a machine that has drawn its picture, where PyBoy saves."""
    from fastenv.gameboy.console import Console  # needs the compiled core

    console = Console(cartridge, power_up_row(cartridge))
    console.run_frames(40)
    machine = unpack(console.row, cartridge)
    while machine.ppu.dot < 144 * 456 + 8:
        machine.cpu.step()
    return pack(machine)


def make_new_state(cartridge: Cartridge, frames: int = 100) -> bytes:
    """Return what the installed PyBoy saves after so many frames.

    Raises
    ------
    ImportError
        If there is none.
    """
    twin, content = PyBoyTwin(cartridge), io.BytesIO()
    try:
        twin.boy.tick(frames, False)
        twin.boy.save_state(content)
    finally:
        twin.close()
    return content.getvalue()
