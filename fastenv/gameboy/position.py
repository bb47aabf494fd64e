"""The reference machine as a row, and back (docs/gameboy.md, 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.reference.bus import Bus
from fastenv.gameboy.reference.mixer import Mixer
from fastenv.gameboy.reference.pipeline import Write
from fastenv.gameboy.reference.ppu import DRAW, HBLANK, SCAN, VBLANK, Ppu
from fastenv.gameboy.reference.serial import CLOCK, CLOCKING, LISTENING, Serial
from fastenv.gameboy.state import SOUND_DTYPE, fitted, state_dtype
from fastenv.gameboy.tables import (
    DRAW_END,
    IO,
    LINE,
    LINE_BEGAN,
    LINE_COUNT,
    LINE_SEEN,
    LINE_WRITES,
    LINES,
    M_CYCLE,
    NEXT_LY,
    SCAN_END,
    SEQUENCER_BIT,
    SERIAL_BITS,
    SERIAL_KEPT,
    SERIAL_PHASE,
    VISIBLE,
    Reload,
)

Array = np.ndarray[Any, Any]

# Fields of a row that are attributes of a part, under the same name or another one.
_CPU = ("a", "f", "b", "c", "d", "e", "h", "l", "pc", "sp", "ime", "ime_delay", "halted",
        "halt_bug", "locked", "instr")  # fmt: skip
_CART = ("rom_bank", "ram_bank", "bank_mode", "ram_enable")
_PPU = ("dot", "first_frame", "lyc_match", "wy_seen", "window_line")
_PPU_REGISTERS = (IO.LCDC, IO.STAT, IO.SCY, IO.SCX, IO.LYC, IO.BGP, IO.OBP0, IO.OBP1, IO.WY, IO.WX)
_APU = ("sweep_period", "sweep_left", "sweep_due", "sweep_negated", "wave_left", "wave_at")
_MIXER = ("sums", "noise_left", "duty_left", "lfsr", "duty_at", "duty_high", "volumes",
          "envelopes", "wave_byte")  # fmt: skip
_SOUND = slice(IO.NR10, IO.LCDC)
_HRAM = slice(0x80, 0xFF)


def power_up_row(cartridge: Cartridge, audio: bool = False) -> Array:
    """Return the row of a machine that was just turned on, shape (1,) (docs/gameboy.md, 12).

    Parameters
    ----------
    cartridge : Cartridge
    audio : bool
        Whether there are samples of its sound.
    """
    return pack(Machine(cartridge, audio=audio))


def _pack_sound(mixer: Mixer) -> Array:
    """Pack the state of the mixer as the bytes of a row."""
    sound = np.zeros(1, SOUND_DTYPE)
    for name in _MIXER:
        sound[name] = getattr(mixer, name)
    return sound.view(np.uint8)


def _unpack_sound(sound: Array, mixer: Mixer) -> None:
    record = sound.copy().view(SOUND_DTYPE)[0]
    for name in _MIXER:
        setattr(mixer, name, record[name].tolist())


def _pack_line(line: Any, ppu: Ppu) -> None:
    """Note the writes in mode 3 of this line."""
    line[LINE_BEGAN:LINE_SEEN] = ppu.began
    line[LINE_SEEN], line[LINE_COUNT] = ppu.began_wy_seen, len(ppu.writes)
    for k, write in enumerate(ppu.writes):
        at = LINE_WRITES + 3 * k
        line[at : at + 3] = write.at // M_CYCLE, write.register, write.value


def _unpack_line(line: list[int], ppu: Ppu) -> None:
    ppu.began, ppu.began_wy_seen = line[LINE_BEGAN:LINE_SEEN], bool(line[LINE_SEEN])
    for k in range(line[LINE_COUNT]):
        cycle, register, value = line[LINE_WRITES + 3 * k :][:3]
        ppu.writes.append(Write(cycle * M_CYCLE, IO(register), value))


def pack(machine: Machine) -> Array:
    """Return the row of a machine that stands between two frames, shape (1,)."""
    bus, ppu, mixer = machine.bus, machine.ppu, machine.bus.apu.mixer
    row = np.zeros(1, state_dtype(machine.cartridge.ram_size, ppu.by_pixel, mixer is not None))
    record = row[0]
    for part, names in ((machine.cpu, _CPU), (bus.cart, _CART), (ppu, _PPU), (bus.apu, _APU)):
        for name in names:
            record[name] = getattr(part, name)
    record["delay"] = ppu.delay if ppu.drawing_line else 0
    record["window_at"] = ppu.window_at if ppu.drawing_line else 0
    if ppu.writes and ppu.drawing_line:
        _pack_line(record["line"], ppu)
    record["cyc"], record["div"], record["reload"] = bus.cyc, bus.timer.counter, bus.timer.reload
    record["late"] = bus.interrupts.late
    record["keys"], record["stopped"] = bus.joypad.keys, bus.joypad.stopped
    record["serial_left"], record["serial_bits"] = _serial_left(bus), _serial_bits(bus.serial)
    record["serial_count"] = bus.serial.count
    record["serial"][: len(bus.serial.sent)] = list(bus.serial.sent)
    record["dma_left"], record["dma_blocks"] = bus.dma_left, bus.dma_byte is not None
    record["dma_byte"] = bus.dma_byte or 0
    record["sound_step"], record["lengths"] = bus.apu.step, bus.apu.lengths
    if mixer is not None:
        record["sound"] = _pack_sound(mixer)
    _pack_high(record["high"], machine)
    clock = bus.cart.clock
    if clock is not None:
        record["clock"], record["clock_latched"] = list(clock.registers), list(clock.latched)
        record["clock_part"] = clock.part
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
    high[_SOUND], high[_HRAM] = list(bus.apu.registers), list(bus.hram)


def unpack(
    row: Array,
    cartridge: Cartridge,
    strict_video_access: bool = True,
    fixed_frames: bool = False,
    by_pixel: bool = False,
    audio: bool = False,
) -> Machine:
    """Return the machine of a row, shape (1,); the rest is that of :class:`Machine`."""
    machine = Machine(cartridge, strict_video_access, fixed_frames, by_pixel, audio)
    record = fitted(row, by_pixel, audio)[0]
    bus, ppu, timer = machine.bus, machine.ppu, machine.bus.timer
    for part, names in ((machine.cpu, _CPU), (bus.cart, _CART), (ppu, _PPU), (bus.apu, _APU)):
        for name in names:
            kind = type(getattr(part, name))
            setattr(part, name, kind(record[name]))
    bus.cyc, timer.counter = int(record["cyc"]), int(record["div"])
    timer.reload = Reload(record["reload"])
    bus.apu.step, bus.apu.lengths = int(record["sound_step"]), record["lengths"].tolist()
    bus.apu.high = bool(timer.counter & SEQUENCER_BIT)
    if bus.apu.mixer is not None:
        _unpack_sound(record["sound"], bus.apu.mixer)
    ppu.delay, ppu.window_at = int(record["delay"]), int(record["window_at"])
    if by_pixel:
        _unpack_line(record["line"].tolist(), ppu)
    bus.interrupts.late = int(record["late"])
    bus.joypad.keys, bus.joypad.stopped = int(record["keys"]), bool(record["stopped"])
    _unpack_serial(record, bus)
    bus.dma_left = int(record["dma_left"])
    bus.dma_byte = int(record["dma_byte"]) if record["dma_blocks"] else None
    ppu.oam_taken = bus.dma_byte is not None
    for name, memory in _memories(machine).items():
        memory[:] = record[name].tobytes()
    clock = bus.cart.clock
    if clock is not None:
        clock.registers[:], clock.latched[:] = (
            record[name].tobytes() for name in ("clock", "clock_latched")
        )
        clock.part = int(record["clock_part"])
    _unpack_high(record["high"].tolist(), machine)
    _settle(machine)
    return machine


def _serial_left(bus: Bus) -> int:
    """Return T until the end of a transfer with our own clock; 0 without one."""
    serial = bus.serial
    if serial.sc != CLOCKING:
        return 0
    falls = 2 * serial.bits - serial.half
    return falls * SERIAL_PHASE - bus.timer.counter % SERIAL_PHASE


def _serial_bits(serial: Serial) -> int:
    """Return how many bits have come with the other side's clock."""
    return SERIAL_BITS - serial.bits if serial.sc == LISTENING else 0


def _unpack_serial(record: Any, bus: Bus) -> None:
    """Set the serial port; its registers follow."""
    serial, left = bus.serial, int(record["serial_left"])
    sc = int(record["high"][IO.SC])
    falls = (left + bus.timer.counter % SERIAL_PHASE) // SERIAL_PHASE if left else 0
    serial.bits, serial.half = (falls + 1) // 2, bool(falls % 2)
    if sc == LISTENING:
        serial.bits = SERIAL_BITS - int(record["serial_bits"])
    serial.high = bool(bus.timer.counter & CLOCK)
    serial.count = int(record["serial_count"])
    serial.sent[:] = record["serial"][: min(serial.count, SERIAL_KEPT)].tobytes()


def _unpack_high(high: list[int], machine: Machine) -> None:
    bus, ppu, timer = machine.bus, machine.ppu, machine.bus.timer
    bus.joypad.select, bus.serial.sb, bus.serial.sc = high[IO.P1], high[IO.SB], high[IO.SC]
    timer.tima, timer.tma, timer.tac = high[IO.TIMA], high[IO.TMA], high[IO.TAC]
    bus.interrupts.requested, bus.interrupts.enabled = high[IO.IF], high[IO.IE]
    bus.dma = high[IO.DMA]
    for register in _PPU_REGISTERS:
        setattr(ppu, register.name.lower(), high[register])
    bus.apu.registers[:], bus.hram[:] = bytes(high[_SOUND]), bytes(high[_HRAM])


def _settle(machine: Machine) -> None:
    """Set what follows from the rest."""
    ppu = machine.ppu
    ppu.ly, ppu.mode, ppu.source, ppu.compared = 0, HBLANK, None, None
    if ppu.on:
        ppu.ly, ppu.mode = map(int, line_and_mode(ppu.dot, ppu.first_frame, ppu.delay))
        compared = int(compared_line(ppu.dot))
        ppu.compared = None if compared < 0 else compared
        ppu.source = _source(ppu)
    ppu.stat_line = ppu.sources_active(ppu.stat)


def _source(ppu: Ppu) -> int | None:
    """Return the mode that may cause the interrupt."""
    line, at = divmod(ppu.dot, LINE)
    if line < 0 or line >= VISIBLE:
        return VBLANK
    if at >= NEXT_LY:
        return SCAN if line < VISIBLE - 1 else HBLANK
    return HBLANK if at >= SCAN_END and at > DRAW_END + ppu.delay else None


def line_and_mode(dot: Any, first_frame: Any, delay: Any) -> tuple[Array, Array]:
    """Return LY and the mode of displays that are on (docs/gameboy.md, 8.1).

    Parameters
    ----------
    dot : int or ndarray
        T since the frame began.
    first_frame : bool or ndarray
        Whether the display was just turned on.
    delay : int or ndarray
        Of the end of mode 3 on this line, if that is under way.
    """
    line, at = np.divmod(dot, LINE)
    leaving = at >= NEXT_LY
    last = (line == LINES - 1) | (line < 0)
    first = (np.asarray(first_frame) != 0) & (line == 0)
    cases = [last, line >= VISIBLE, at < SCAN_END, at < DRAW_END + np.asarray(delay)]
    modes = [np.where(leaving, HBLANK, VBLANK), VBLANK, np.where(first, HBLANK, SCAN), DRAW]
    mode = np.select(cases, [np.asarray(each) for each in modes], HBLANK)
    return np.where(last, 0, line + leaving), mode


def compared_line(dot: Any) -> Array:
    """Return the line that is compared with LYC on displays that are on; -1: none.

    Parameters
    ----------
    dot : int or ndarray
        T since the frame began.
    """
    line, at = np.divmod(dot, LINE)
    last = np.select([at < M_CYCLE, at < 2 * M_CYCLE], [LINES - 1, -1], 0)
    cases = [line < 0, line == LINES - 1, at >= NEXT_LY]
    return np.asarray(np.select(cases, [0, last, -1], line))
