"""Machines from outside: what the compiled code and the reference rely on.

A row is a machine between two frames (docs/gameboy.md, 4). Memory may hold anything; registers may
hold what a program can bring about. Rows of environments are checked in ``validate.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fastenv.errors import StateError
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.position import compared_line, line_and_mode
from fastenv.gameboy.reference.mixer import ENVELOPES, FIRST_STEP, NOISE_DELAY
from fastenv.gameboy.reference.ppu import HBLANK
from fastenv.gameboy.state import SOUND_DTYPE, sizes_of_rows
from fastenv.gameboy.tables import (
    CLOCK,
    CLOCK_MASKS,
    DMA_BLOCKS,
    DMA_BYTES,
    DMA_TIME,
    DOT_AT_POWER_UP,
    DRAW_END,
    DUTY_STEPS,
    FRAME,
    IO,
    LAST_DRAW,
    LENGTHS,
    LINE,
    LINE_COUNT,
    LINE_REGISTERS,
    LINE_SEEN,
    LINE_WRITES,
    M_CYCLE,
    MOST_WRITES,
    NOISE_BITS,
    SAMPLE,
    SCAN_END,
    SERIAL_BITS,
    SERIAL_PHASE,
    SERIAL_TIME,
    VISIBLE,
    WAVE_BYTES,
    WAVE_DELAY,
    WINDOW_TIME,
    Mbc,
    Reload,
)

Array = np.ndarray[Any, Any]
Check = tuple[str, Any, str]  # field, bool[n] of bad lanes, what is allowed

LATEST_DOT = FRAME - M_CYCLE
LONGEST_DELAY = 7 + WINDOW_TIME + 10 * 11  # of the end of mode 3: the rest is ten objects
LONGEST_DUTY = 4 * 2048 + FIRST_STEP  # T until a step of a square
LOUDEST = 240  # what a side hears in a T: half of the mix
LONGEST_SAMPLE = 2 * 0x800 + WAVE_DELAY  # T until the first one of a wave
_LONGEST = 2**62
_FLAGS = ("ime", "ime_delay", "halted", "halt_bug", "stopped", "locked", "dma_blocks",
          "first_frame", "lyc_match", "wy_seen", "bank_mode", "ram_enable")  # fmt: skip
_ROM_BANKS = {Mbc.NONE: (0, 0), Mbc.MBC1: (1, 31), Mbc.MBC2: (1, 15), Mbc.MBC3: (1, 127),
              Mbc.MBC30: (1, 255), Mbc.MBC5: (0, 511), Mbc.MBC1M: (1, 31)}  # fmt: skip
_RAM_BANKS = {Mbc.NONE: 0, Mbc.MBC1: 3, Mbc.MBC2: 0, Mbc.MBC3: 15, Mbc.MBC30: 15, Mbc.MBC5: 15,
              Mbc.MBC1M: 3}  # fmt: skip


def _high_bits() -> Array:
    """Return :data:`HIGH_BITS`."""
    bits = np.zeros(256, np.uint8)
    bits[IO.NR10 : IO.LCDC] = 0xFF
    bits[0x80:] = 0xFF
    for register in (IO.SB, IO.TIMA, IO.TMA, IO.LCDC, IO.SCY, IO.SCX, IO.LYC, IO.DMA, IO.BGP,
                     IO.OBP0, IO.OBP1, IO.WY, IO.WX):  # fmt: skip
        bits[register] = 0xFF
    bits[IO.P1], bits[IO.SC], bits[IO.TAC] = 0x30, 0x81, 0x07
    bits[IO.IF], bits[IO.STAT], bits[IO.NR52] = 0x1F, 0x78, 0x8F
    return bits


# Which bits each byte of page $FF may have set in a row.
HIGH_BITS = _high_bits()


def validate_rows(rows: Array, cartridge: Cartridge) -> None:
    """Check state rows that come from outside.

    Parameters
    ----------
    rows : ndarray of ``state_dtype``, shape (n,)
    cartridge : Cartridge
        That of all the machines.

    Raises
    ------
    StateError
        Naming the first bad lane, the field and what is allowed.
    """
    size = cartridge.ram_size
    if rows.dtype not in sizes_of_rows(size).values():
        raise StateError(f"state rows must have dtype state_dtype({size})")
    validate_machines(rows, cartridge)


def validate_machines(rows: Array, cartridge: Cartridge) -> None:
    """Check the fields that a machine has, of rows that may have more; see `validate_rows`."""
    for section in (_processor, _times, _registers, _sound, _cartridge, _rest):
        refuse_bad(section(rows, cartridge))
    if _by_pixel(rows):
        refuse_bad(_line(rows))
    if "sound" in (rows.dtype.names or ()):
        refuse_bad(_heard(rows))


def _by_pixel(rows: Array) -> bool:
    """Whether the machines are exact within a line."""
    return "line" in (rows.dtype.names or ())


def refuse_bad(checks: Iterable[Check]) -> None:
    """Raise :class:`StateError` for the first check that finds a bad lane."""
    for field, bad, allowed in checks:
        lanes = np.flatnonzero(bad)
        if lanes.size:
            raise StateError(f"lane {int(lanes[0])}: {field} is not possible: {allowed}")


def outside(rows: Array, field: str, low: int, high: int) -> Check:
    """Return the check that a field is within these bounds."""
    return field, (rows[field] < low) | (rows[field] > high), f"must be {low} to {high}"


def _cycles(rows: Array, field: str, low: int, high: int) -> Iterator[Check]:
    """Check a time, which is a whole number of machine cycles."""
    yield outside(rows, field, low, high)
    yield field, rows[field] % 4 != 0, "must be a multiple of 4"


def _processor(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    for field in _FLAGS:
        yield outside(rows, field, 0, 1)
    yield "f", rows["f"] & 0x0F != 0, "the lower half of F is 0"


def _times(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    yield from _cycles(rows, "cyc", 0, _LONGEST)
    yield from _cycles(rows, "dot", DOT_AT_POWER_UP, LATEST_DOT)
    yield outside(rows, "delay", 0, LAST_DRAW - DRAW_END if _by_pixel(rows) else LONGEST_DELAY)
    yield from _cycles(rows, "div", 0, 0xFFFF)
    yield from _cycles(rows, "serial_left", 0, SERIAL_TIME)
    yield from _cycles(rows, "dma_left", 0, DMA_TIME)
    left = rows["dma_left"]
    should = np.where(left > DMA_BLOCKS, rows["dma_blocks"], left > 0)
    yield "dma_blocks", rows["dma_blocks"] != should, f"must be 1 from {DMA_BLOCKS} T left to 0"
    byte, most = rows["dma_byte"], np.where(rows["dma_blocks"] > 0, DMA_BYTES - 1, 0)
    due = np.where((left > 0) & (left <= DMA_BLOCKS), (DMA_BLOCKS - left) // M_CYCLE, byte)
    yield "dma_byte", (byte != due) | (byte > most), "must be the one that is copied, else 0"
    yield outside(rows, "reload", 0, max(Reload))
    yield outside(rows, "instr", 0, _LONGEST)
    yield outside(rows, "serial_count", 0, 2**30)


def _registers(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    high = rows["high"]
    wrong = high & ~HIGH_BITS
    bad = wrong.any(axis=1)
    where = int(np.flatnonzero(wrong[bad][0])[0]) if bad.any() else 0
    allowed = f"of ${0xFF00 + where:04X} only the bits ${HIGH_BITS[where]:02X} may be set"
    yield "high", bad, allowed
    sending = high[:, IO.SC] == 0x81
    yield "serial_left", (rows["serial_left"] > 0) != sending, "must be 0 unless SC is $81"
    falls = (rows["serial_left"] + rows["div"]) % SERIAL_PHASE
    clocked = "must end a transfer where div is a multiple of 256"
    yield "serial_left", sending & (falls != 0), clocked
    most = np.where(high[:, IO.SC] == 0x80, SERIAL_BITS - 1, 0)
    yield "serial_bits", rows["serial_bits"] > most, "must be 0 to 7 where SC is $80, else 0"
    on = high[:, IO.LCDC] & 0x80 != 0
    yield "first_frame", (rows["first_frame"] == 1) & ~on, "must be 0 while the display is off"
    yield from _display(rows, on)


def _display(rows: Array, on: Array) -> Iterator[Check]:
    """Check what goes with the time since the display's frame began."""
    ly, mode = line_and_mode(rows["dot"], rows["first_frame"], rows["delay"])
    compared = compared_line(rows["dot"])
    match = rows["lyc_match"] == (rows["high"][:, IO.LYC] == compared)
    yield "lyc_match", on & (compared >= 0) & ~match, "must be 1 where LYC is LY, else 0"
    yield outside(rows, "late", 0, 0x1F)
    yield "delay", (rows["delay"] > 0) & ~(on & _drawing(rows)), "must be 0 but in mode 3"
    if _by_pixel(rows):  # the window may begin several times on a line
        return
    drawn = np.where(rows["dot"] < VISIBLE * LINE, ly + (mode == HBLANK), VISIBLE)
    most = np.where(on & (rows["dot"] >= 0), np.minimum(drawn, VISIBLE), 0)
    yield "window_line", rows["window_line"] > most, "must not be above the lines drawn"


def _drawing(rows: Array) -> Array:
    """Whether the time is in mode 3 of a line."""
    line, at = np.divmod(rows["dot"], LINE)
    within = (at >= SCAN_END) & (at <= DRAW_END + rows["delay"])
    return np.asarray(within & (line >= 0) & (line < VISIBLE))


def _line(rows: Array) -> Iterator[Check]:
    """Check what is noted of writes in mode 3 of the line."""
    line, high = rows["line"].astype(np.int32), rows["high"]
    count = line[:, LINE_COUNT]
    on = high[:, IO.LCDC] & 0x80 != 0
    most = np.where(on & _drawing(rows), MOST_WRITES, 0)
    yield "line", count > most, f"must have 0 to {MOST_WRITES} writes, and none but in mode 3"
    writes = line[:, LINE_WRITES:].reshape(len(rows), MOST_WRITES, 3)
    used = np.arange(MOST_WRITES) < count[:, None]
    unused = writes.any(axis=2) & ~used
    nothing = (count == 0) & line[:, :LINE_COUNT].any(axis=1)
    yield "line", unused.any(axis=1) | nothing, "must be 0 behind its writes, and where it has none"
    yield "line", line[:, LINE_SEEN] > 1, f"byte {LINE_SEEN} must be 0 or 1"
    cycles = writes[:, :, 0]
    early = used & (cycles < SCAN_END // M_CYCLE)
    early[:, 1:] |= used[:, 1:] & (cycles[:, 1:] <= cycles[:, :-1])
    late = used & (cycles * M_CYCLE >= (rows["dot"] % LINE)[:, None])
    yield (
        "line",
        (early | late).any(axis=1),
        "its writes must be in order, in mode 3 and before now",
    )
    unknown = used & ~np.isin(writes[:, :, 1], LINE_REGISTERS)
    yield "line", unknown.any(axis=1), "must have writes to registers of the display alone"
    off = used & (writes[:, :, 1] == IO.LCDC) & (writes[:, :, 2] & 0x80 == 0)
    yield "line", off.any(axis=1), "no write may have turned the display off"


def _sound(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    power = rows["high"][:, IO.NR52]
    on, wave = power & 0x80 != 0, power & 0x04 != 0
    yield "high", (power & 0x0F > 0) & ~on, "of $FF26 no other bit may be set unless $80 is"
    yield outside(rows, "sound_step", 0, 7)
    too_long = rows["lengths"] > np.array(LENGTHS, np.uint16)
    yield "lengths", too_long.any(axis=1), f"must be 0 to {list(LENGTHS)}"
    wrong = (rows["wave_left"] > 0) != wave
    yield "wave_left", wrong, "must be 0 unless $FF26 says that the third channel plays"
    yield outside(rows, "wave_left", 0, LONGEST_SAMPLE)
    yield "wave_left", rows["wave_left"] % 2 != 0, "must be even"
    yield _where(rows, "wave_at", wave, 2 * WAVE_BYTES - 1, "the third channel plays")
    for field, most in (("sweep_left", 8), ("sweep_due", 1)):
        yield _where(rows, field, on, most, "$FF26 has $80")
    for field, most in (("sweep_period", 0x7FF), ("sweep_negated", 1)):
        yield _where(rows, field, rows["sweep_left"] > 0, most, "sweep_left is above 0")


def _heard(rows: Array) -> Iterator[Check]:
    """Check what is heard; the names are those of the record."""
    sound = np.ascontiguousarray(rows["sound"]).view(SOUND_DTYPE).reshape(-1)
    power, clock = rows["high"][:, IO.NR52], rows["high"][:, IO.NR43].astype(np.int64)
    on, plays = power & 0x80 != 0, power[:, None] >> np.array(ENVELOPES) & 1 != 0
    heard = LOUDEST * (rows["cyc"] % SAMPLE)
    too_loud = np.abs(sound["sums"]) > heard[:, None]
    yield "sound.sums", too_loud.any(axis=1), f"must be within {LOUDEST} for each T of the sample"
    for field, most, possible in (
        ("duty_left", LONGEST_DUTY, on[:, None]),
        ("duty_at", DUTY_STEPS - 1, sound["duty_left"] > 0),
        ("duty_high", 1, sound["duty_left"] > 0),
        ("volumes", 15, plays),
        ("envelopes", 9, plays),
    ):
        wrong = sound[field] > np.where(possible, most, 0)
        yield f"sound.{field}", wrong.any(axis=1), f"must be 0 to {most}, 0 where nothing plays"
    period = np.maximum(16 * (clock & 7), 8) << (clock >> 4)
    wrong = sound["noise_left"] > np.where(on, period + NOISE_DELAY, 0)
    yield "sound.noise_left", wrong, f"must be at most what $FF22 says and {NOISE_DELAY}"
    late = (sound["duty_left"] % M_CYCLE).any(axis=1) | (sound["noise_left"] % M_CYCLE != 0)
    yield "sound", late, "times must be multiples of 4"
    wrong = sound["lfsr"] > np.where(plays[:, 2], 2**NOISE_BITS - 1, 0)
    yield "sound.lfsr", wrong, "must have 15 bits, and be 0 unless the fourth channel plays"
    yield "sound.wave_byte", (sound["wave_byte"] > 0) & ~on, "must be 0 without power"
    yield "sound.unused_sound", sound["unused_sound"].any(axis=1), "must be 0"


def _where(rows: Array, field: str, possible: Array, most: int, when: str) -> Check:
    """Return the check that a field is at most a number, and 0 where it has to be."""
    return field, rows[field] > np.where(possible, most, 0), f"must be 0 to {most}, 0 unless {when}"


def _cartridge(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    yield outside(rows, "rom_bank", *_ROM_BANKS[cartridge.mbc])
    yield outside(rows, "ram_bank", 0, _RAM_BANKS[cartridge.mbc])
    bits = cartridge.ram_bits
    if bits != 0xFF:  # to look at all bytes of others would take time and find nothing
        wrong = (rows["cart"] & ~np.uint8(bits)).any(axis=1)
        yield "cart", wrong, f"of a byte only the bits ${bits:02X} may be set"
    runs = int(cartridge.has_clock)
    for field in ("clock", "clock_latched"):
        most = np.array(CLOCK_MASKS, np.uint8) * runs
        wrong = (rows[field] & ~most).any(axis=1)
        yield field, wrong, f"may have the bits {most.tolist()} in its five registers"
    yield outside(rows, "clock_armed", 0, runs)
    yield from _cycles(rows, "clock_part", 0, (CLOCK - M_CYCLE) * runs)


def _rest(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    for field in ("unused", "pad"):
        yield field, rows[field].any(axis=1), "must be 0"
    behind = np.arange(rows["serial"].shape[1]) >= rows["serial_count"][:, None]
    yield "serial", (behind & (rows["serial"] != 0)).any(axis=1), "must be 0 behind serial_count"
