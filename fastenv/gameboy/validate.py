"""The door for rows from outside: what the compiled code and the reference rely on.

A row is a machine between two frames (docs/gameboy.md, 4), in an environment with what belongs to
its episode (docs/gameboy.md, 16). Memory may hold anything; registers may hold what a program can
bring about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fastenv.checks import generators
from fastenv.errors import StateError
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.position import line_and_mode
from fastenv.gameboy.reference.ppu import DRAW, SCAN
from fastenv.gameboy.state import state_dtype
from fastenv.gameboy.tables import (
    CLOCK,
    CLOCK_MASKS,
    DMA_BLOCKS,
    DMA_TIME,
    FRAME,
    IO,
    M_CYCLE,
    SERIAL_TIME,
    VISIBLE,
    Mbc,
    Reload,
)

if TYPE_CHECKING:
    from fastenv.gameboy.common import Common

Array = np.ndarray[Any, Any]
Check = tuple[str, Any, str]  # field, bool[n] of bad lanes, what is allowed

LATEST_DOT = FRAME - M_CYCLE
LONGEST_DELAY = 8 + 108  # of the end of mode 3: by scrolling, and by ten objects
_LONGEST = 2**62
_MOST = 2**30  # more steps than an episode can have
_FLAGS = ("ime", "ime_delay", "halted", "halt_bug", "stopped", "locked", "dma_blocks",
          "first_frame", "lyc_match", "wy_seen", "bank_mode", "ram_enable")  # fmt: skip
_ROM_BANKS = {Mbc.NONE: (0, 0), Mbc.MBC1: (1, 31), Mbc.MBC3: (1, 127), Mbc.MBC5: (0, 511)}
_RAM_BANKS = {Mbc.NONE: 0, Mbc.MBC1: 3, Mbc.MBC3: 15, Mbc.MBC5: 15}


def _high_bits() -> Array:
    """Return :data:`HIGH_BITS`."""
    bits = np.zeros(256, np.uint8)
    bits[IO.NR10 : IO.LCDC] = 0xFF
    bits[0x80:] = 0xFF
    for register in (IO.SB, IO.TIMA, IO.TMA, IO.LCDC, IO.SCY, IO.SCX, IO.LYC, IO.DMA, IO.BGP,
                     IO.OBP0, IO.OBP1, IO.WY, IO.WX):  # fmt: skip
        bits[register] = 0xFF
    bits[IO.P1], bits[IO.SC], bits[IO.TAC] = 0x30, 0x81, 0x07
    bits[IO.IF], bits[IO.STAT], bits[IO.NR52] = 0x1F, 0x78, 0x81
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
    dtype = state_dtype(cartridge.ram_size)
    if rows.dtype != dtype:
        raise StateError(f"state rows must have dtype state_dtype({cartridge.ram_size})")
    _validate_machines(rows, cartridge)


def _validate_machines(rows: Array, cartridge: Cartridge) -> None:
    for section in (_processor, _times, _registers, _cartridge, _rest):
        _refuse_bad(section(rows, cartridge))


def _refuse_bad(checks: Iterable[Check]) -> None:
    for field, bad, allowed in checks:
        lanes = np.flatnonzero(bad)
        if lanes.size:
            raise StateError(f"lane {int(lanes[0])}: {field} is not possible: {allowed}")


def _outside(rows: Array, field: str, low: int, high: int) -> Check:
    return field, (rows[field] < low) | (rows[field] > high), f"must be {low} to {high}"


def _cycles(rows: Array, field: str, low: int, high: int) -> Iterator[Check]:
    """Check a time, which is a whole number of machine cycles."""
    yield _outside(rows, field, low, high)
    yield field, rows[field] % 4 != 0, "must be a multiple of 4"


def _processor(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    for field in _FLAGS:
        yield _outside(rows, field, 0, 1)
    yield "f", rows["f"] & 0x0F != 0, "the lower half of F is 0"


def _times(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    yield from _cycles(rows, "cyc", 0, _LONGEST)
    yield from _cycles(rows, "dot", -4, LATEST_DOT)
    yield from _cycles(rows, "delay", 0, LONGEST_DELAY)
    yield from _cycles(rows, "div", 0, 0xFFFF)
    yield from _cycles(rows, "serial_left", 0, SERIAL_TIME)
    yield from _cycles(rows, "dma_left", 0, DMA_TIME)
    left = rows["dma_left"]
    should = np.where(left > DMA_BLOCKS, rows["dma_blocks"], left > 0)
    yield "dma_blocks", rows["dma_blocks"] != should, f"must be 1 from {DMA_BLOCKS} T left to 0"
    yield _outside(rows, "reload", 0, max(Reload))
    yield _outside(rows, "instr", 0, _LONGEST)
    yield _outside(rows, "serial_count", 0, 2**30)


def _registers(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    high = rows["high"]
    wrong = high & ~HIGH_BITS
    bad = wrong.any(axis=1)
    where = int(np.flatnonzero(wrong[bad][0])[0]) if bad.any() else 0
    allowed = f"of ${0xFF00 + where:04X} only the bits ${HIGH_BITS[where]:02X} may be set"
    yield "high", bad, allowed
    sending = high[:, IO.SC] == 0x81
    yield "serial_left", (rows["serial_left"] > 0) != sending, "must be 0 unless SC is $81"
    on = high[:, IO.LCDC] & 0x80 != 0
    yield "first_frame", (rows["first_frame"] == 1) & ~on, "must be 0 while the display is off"
    yield from _display(rows, on)


def _display(rows: Array, on: Array) -> Iterator[Check]:
    """Check what goes with the time since the display's frame began."""
    ly, mode = line_and_mode(rows["dot"], rows["first_frame"], rows["delay"])
    match = rows["lyc_match"] == (rows["high"][:, IO.LYC] == ly)
    yield "lyc_match", on & ~match, "must be 1 where LYC is LY, else 0"
    late = (rows["delay"] > 0) & ~(on & (mode == DRAW))
    yield "delay", late, "must be 0 but in mode 3"
    most = np.where(on, np.minimum(ly + (mode != SCAN) * (mode != DRAW), VISIBLE), 0)
    yield "window_line", rows["window_line"] > most, "must not be above the lines drawn"


def _cartridge(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    yield _outside(rows, "rom_bank", *_ROM_BANKS[cartridge.mbc])
    yield _outside(rows, "ram_bank", 0, _RAM_BANKS[cartridge.mbc])
    runs = int(cartridge.has_clock)
    for field in ("clock", "clock_latched"):
        most = np.array(CLOCK_MASKS, np.uint8) * runs
        wrong = (rows[field] & ~most).any(axis=1)
        yield field, wrong, f"may have the bits {most.tolist()} in its five registers"
    yield _outside(rows, "clock_armed", 0, runs)
    yield from _cycles(rows, "clock_part", 0, (CLOCK - M_CYCLE) * runs)


def _rest(rows: Array, cartridge: Cartridge) -> Iterator[Check]:
    for field in ("unused", "pad"):
        yield field, rows[field].any(axis=1), "must be 0"
    behind = np.arange(rows["serial"].shape[1]) >= rows["serial_count"][:, None]
    yield "serial", (behind & (rows["serial"] != 0)).any(axis=1), "must be 0 behind serial_count"


# -- environments ----------------------------------------------------------------------------------


def validate_lanes(rows: Array, common: Common) -> None:
    """Check rows of environments that come from outside.

    Parameters
    ----------
    rows : ndarray of ``common.dtype``, shape (n,)
    common : Common
        What the environments share.

    Raises
    ------
    StateError
        Naming the first bad lane, the field and what is allowed.
    """
    _validate_machines(rows, common.cartridge)
    generators("rng", rows["rng"])
    _refuse_bad(_episode(rows, common))


def _episode(rows: Array, common: Common) -> Iterator[Check]:
    """Check what belongs to an episode; frames and visited cells may be anything."""
    yield _outside(rows, "done", 0, 2)
    yield "ep_return", ~np.isfinite(rows["ep_return"]), "must be finite"
    for field in ("ep_length", "cells"):
        yield _outside(rows, field, 0, _MOST)
    yield _outside(rows, "start", 0, len(common.starts.rows) - 1)
    yield _outside(rows, "last_action", 0, len(common.config.actions) - 1)
    yield _outside(rows, "visit_id", 1 if common.slots else 0, 2**16 - 1 if common.slots else 0)
    yield from _goal(rows, common)
    yield from _world(rows, common)
    yield "unused_episode", rows["unused_episode"].any(axis=1), "must be 0"


def _goal(rows: Array, common: Common) -> Iterator[Check]:
    """Check the distances; that of now follows from the frames."""
    size = len(common.goal_planes)
    goal = np.frombuffer(common.goal_planes, np.uint8)
    shown = rows["stack"].reshape(len(rows), -1)[:, -size or None :]
    now = sum(
        np.abs((shown >> k & 3).astype(np.int32) - (goal >> k & 3)).sum(axis=1)
        for k in (0, 2, 4, 6)
        if size
    )
    yield "distance", rows["distance"] != now, "must be that of the frames to the goal"
    yield _outside(rows, "ev_distance", 0, 3 * 4 * size)
    yield _outside(rows, "near", 0, _MOST if size else 0)


def _world(rows: Array, common: Common) -> Iterator[Check]:
    """Check what the last step brought."""
    world = common.ram_map is not None
    events = common.ram_map.num_events if common.ram_map is not None else 0
    most = {"ev_cells": 1, "ev_items": 255, "ev_dialogue": 1, "ev_events": events}
    for field, number in most.items():
        yield _outside(rows, field, 0, number if world else 0)
    if not world:
        yield "cells", rows["cells"] != 0, "must be 0"
