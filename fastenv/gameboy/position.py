"""The reference machine as a row, and back (docs/gameboy.md, 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.reference.ppu import HBLANK, SCAN, VBLANK
from fastenv.gameboy.state import state_dtype
from fastenv.gameboy.tables import IO, SERIAL_KEPT, Reload

# Fields of a row that are attributes of a part, under the same name or another one.
_CPU = ("a", "f", "b", "c", "d", "e", "h", "l", "pc", "sp", "ime", "ime_delay", "halted",
        "halt_bug", "locked", "instr")  # fmt: skip
_CART = ("rom_bank", "ram_bank", "bank_mode", "ram_enable")
_PPU = ("dot", "first_frame", "lyc_match", "wy_seen")
_PPU_REGISTERS = (IO.LCDC, IO.STAT, IO.SCY, IO.SCX, IO.LYC, IO.BGP, IO.OBP0, IO.OBP1, IO.WY, IO.WX)
_SOUND = slice(IO.NR10, IO.LCDC)
_HRAM = slice(0x80, 0xFF)


def power_up_row(cartridge: Cartridge) -> np.ndarray[Any, Any]:
    """Return the row of a machine that was just turned on, shape (1,) (docs/gameboy.md, 12)."""
    return pack(Machine(cartridge))


def pack(machine: Machine) -> np.ndarray[Any, Any]:
    """Return the row of a machine that stands between two frames, shape (1,)."""
    row = np.zeros(1, state_dtype(machine.cartridge.ram_size))
    record, bus, ppu = row[0], machine.bus, machine.ppu
    for part, names in ((machine.cpu, _CPU), (bus.cart, _CART), (ppu, _PPU)):
        for name in names:
            record[name] = getattr(part, name)
    record["cyc"], record["div"], record["reload"] = bus.cyc, bus.timer.counter, bus.timer.reload
    record["keys"], record["stopped"] = bus.joypad.keys, bus.joypad.stopped
    record["serial_left"], record["serial_count"] = bus.serial.left, bus.serial.count
    record["serial"][: len(bus.serial.sent)] = list(bus.serial.sent)
    record["dma_left"], record["dma_blocks"] = bus.dma_left, bus.dma_blocks
    _pack_high(record["high"], machine)
    for name, memory in _memories(machine).items():
        record[name] = np.frombuffer(memory, np.uint8)
    return row


def _memories(machine: Machine) -> dict[str, bytearray]:
    ppu, bus = machine.ppu, machine.bus
    return {"oam": ppu.oam, "vram": ppu.vram, "wram": bus.wram, "cart": bus.cart.ram}


def _pack_high(high: Any, machine: Machine) -> None:
    bus, ppu, timer = machine.bus, machine.ppu, machine.bus.timer
    high[IO.P1], high[IO.SB], high[IO.SC] = bus.joypad.select, bus.serial.sb, bus.serial.sc
    high[IO.TIMA], high[IO.TMA], high[IO.TAC] = timer.tima, timer.tma, timer.tac
    high[IO.IF], high[IO.IE] = bus.interrupts.requested, bus.interrupts.enabled
    high[IO.DMA] = bus.dma
    for register in _PPU_REGISTERS:
        high[register] = getattr(ppu, register.name.lower())
    high[_SOUND], high[_HRAM] = list(bus.sound), list(bus.hram)


def unpack(
    row: np.ndarray[Any, Any], cartridge: Cartridge, strict_video_access: bool = True
) -> Machine:
    """Return the machine of a row, shape (1,); the rest is that of :class:`Machine`."""
    machine, record = Machine(cartridge, strict_video_access), row[0]
    bus, ppu, timer = machine.bus, machine.ppu, machine.bus.timer
    for part, names in ((machine.cpu, _CPU), (bus.cart, _CART), (ppu, _PPU)):
        for name in names:
            kind = type(getattr(part, name))
            setattr(part, name, kind(record[name]))
    bus.cyc, timer.counter = int(record["cyc"]), int(record["div"])
    timer.reload = Reload(record["reload"])
    bus.joypad.keys, bus.joypad.stopped = int(record["keys"]), bool(record["stopped"])
    bus.serial.left, bus.serial.count = int(record["serial_left"]), int(record["serial_count"])
    sent = min(bus.serial.count, SERIAL_KEPT)
    bus.serial.sent[:] = record["serial"][:sent].tobytes()
    bus.dma_left, bus.dma_blocks = int(record["dma_left"]), bool(record["dma_blocks"])
    for name, memory in _memories(machine).items():
        memory[:] = record[name].tobytes()
    _unpack_high(record["high"].tolist(), machine)
    _settle(machine)
    return machine


def _unpack_high(high: list[int], machine: Machine) -> None:
    bus, ppu, timer = machine.bus, machine.ppu, machine.bus.timer
    bus.joypad.select, bus.serial.sb, bus.serial.sc = high[IO.P1], high[IO.SB], high[IO.SC]
    timer.tima, timer.tma, timer.tac = high[IO.TIMA], high[IO.TMA], high[IO.TAC]
    bus.interrupts.requested, bus.interrupts.enabled = high[IO.IF], high[IO.IE]
    bus.dma = high[IO.DMA]
    for register in _PPU_REGISTERS:
        setattr(ppu, register.name.lower(), high[register])
    bus.sound[:], bus.hram[:] = bytes(high[_SOUND]), bytes(high[_HRAM])


def _settle(machine: Machine) -> None:
    """Set what follows from the rest: between two frames the display is about to show line 0."""
    ppu = machine.ppu
    ppu.ly, ppu.window_line = 0, 0
    if not ppu.on or ppu.first_frame:
        ppu.mode = HBLANK
    else:
        ppu.mode = VBLANK if ppu.dot < 0 else SCAN
    ppu.stat_line = ppu.stat_line_now
