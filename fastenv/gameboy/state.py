"""One Game Boy as one row of bytes.

``state_dtype`` is the contract between the implementations: the C struct of the compiled core is
generated from it (``python -m tools.structs`` after a change), and the reference converts with
``pack`` and ``unpack`` in ``position.py``. A row stands between two frames (docs/gameboy.md, 4), so
what follows from the time within a frame, such as LY or the mode of the display, is not in it; two
machines are equal if and only if their rows are equal bytes.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np

from fastenv.gameboy import tables as t
from fastenv.gameboy.cartridge import Cartridge

_HEAD = [
    ("cyc", "i8"),  # T since power-up
    ("instr", "i8"),  # instructions executed since
    ("dot", "i4"),  # T since the frame began; -4 just before it
    ("serial_count", "i4"),  # bytes sent
    # -- processor (docs/gameboy.md, 5 and 6) --
    ("pc", "u2"),
    ("sp", "u2"),
    ("a", "u1"),
    ("f", "u1"),
    ("b", "u1"),
    ("c", "u1"),
    ("d", "u1"),
    ("e", "u1"),
    ("h", "u1"),
    ("l", "u1"),
    ("ime", "u1"),
    ("ime_delay", "u1"),  # instructions until EI takes effect: 0, 1
    ("halted", "u1"),
    ("halt_bug", "u1"),  # the next opcode is fetched without counting PC on
    ("stopped", "u1"),
    ("locked", "u1"),  # by an illegal opcode
    # -- timer, serial, DMA, joypad (docs/gameboy.md, 7, 9, 10) --
    ("div", "u2"),  # the counter, of which DIV is the upper half
    ("serial_left", "u2"),  # T until a transfer is over; 0: none
    ("dma_left", "u2"),  # T until the copy; 0: none
    ("dma_blocks", "u1"),  # OAM is closed to the processor
    ("reload", "u1"),  # of TIMA: a Reload
    ("keys", "u1"),  # pressed: bits of Key
    # -- display (docs/gameboy.md, 8) --
    ("first_frame", "u1"),  # since the display was turned on
    ("lyc_match", "u1"),  # LY was LYC when they were last compared
    ("wy_seen", "u1"),  # WY was LY at the beginning of a line of this frame
    # -- cartridge (docs/gameboy.md, 11) --
    ("rom_bank", "u2"),
    ("ram_bank", "u1"),
    ("bank_mode", "u1"),
    ("ram_enable", "u1"),
]
_HEAD_BYTES = 256


def _end(fields: list[tuple[str, str]]) -> int:
    """Return where the last of these fields ends."""
    dtype = np.dtype(fields, align=True)
    assert dtype.fields is not None
    kind, offset = dtype.fields[fields[-1][0]][:2]
    return int(offset + kind.itemsize)


_FIXED = [
    *_HEAD,
    ("unused", "u1", (_HEAD_BYTES - _end(_HEAD),)),
    ("oam", "u1", (160,)),
    ("serial", "u1", (t.SERIAL_KEPT,)),  # the first bytes sent
    ("pad", "u1", (32,)),  # rows are whole cache lines
    # $FF00 to $FFFF: HRAM, and registers as they were written; 0 where `read` computes them.
    ("high", "u1", (256,)),
    ("vram", "u1", (0x2000,)),
    ("wram", "u1", (0x2000,)),
]


@lru_cache
def state_dtype(cart_ram: int) -> np.dtype[Any]:
    """Return the dtype of a row of a machine whose cartridge has so many bytes of RAM."""
    return np.dtype([*_FIXED, ("cart", "u1", (cart_ram,))], align=True)


# What all machines of an engine read and nobody writes; the bytes of the ROM follow.
SHARED_DTYPE = np.dtype(
    [
        ("rom_banks", "i4"),  # a power of two, of 16 KiB
        ("ram_banks", "i4"),  # a power of two, of 8 KiB; 0: no RAM
        ("mbc", "i4"),  # a Mbc
        ("pad", "i4"),
        ("read_ones", "u1", (0x80,)),  # bits of registers that read as 1
        # The bits of a byte as eight bytes in memory order, the highest bit first.
        ("spread", "u8", (256,)),
    ],
    align=True,
)


def shared_record(cartridge: Cartridge) -> np.ndarray[Any, Any]:
    """Return what all machines with a cartridge read, shape (1,), ``SHARED_DTYPE`` and the ROM."""
    rom = np.frombuffer(cartridge.rom, np.uint8)
    dtype = np.dtype([("head", SHARED_DTYPE), ("rom", "u1", rom.shape)], align=True)
    record = np.zeros(1, dtype)
    head = record["head"]
    head["rom_banks"], head["ram_banks"] = cartridge.rom_banks, cartridge.ram_banks
    head["mbc"], head["read_ones"] = cartridge.mbc, t.READ_ONES
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
    head["spread"] = bits.view(np.uint64)[:, 0]
    record["rom"] = rom
    record.flags.writeable = False
    return record


# What the compiled code is given; see tools/structs.py.
STRUCTS = {"Shared": SHARED_DTYPE, "State": state_dtype(t.RAM_BANK)}
TAIL = ("cart",)
CONSTANTS = {
    name: getattr(t, name)
    for name in (
        "M_CYCLE", "LINE", "LINES", "VISIBLE", "FRAME", "WIDTH", "HEIGHT", "SCAN_END", "DRAW_END",
        "NEXT_LY", "OBJECTS_A_LINE", "SERIAL_TIME", "SERIAL_KEPT", "DMA_TIME", "DMA_BLOCKS",
    )
} | {f"R_{register.name}": register.value for register in t.IO}  # fmt: skip
ENUMS: dict[type[IntEnum], str] = {t.Interrupt: "INT_", t.Mbc: "", t.Reload: "RELOAD_"}
RENAMED = {"NO_MBC": t.Mbc.NONE}
