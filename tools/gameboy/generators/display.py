"""Programs that write to the display within lines, and programs that spoil OAM."""

from __future__ import annotations

from random import Random

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.tables import IO
from tools.gameboy.generators.programs import among, some, store
from tools.gameboy.machines import COUNTED, build

_NAMES = (IO.LCDC, IO.LCDC, IO.SCX, IO.SCY, IO.WX, IO.WX, IO.WY, IO.BGP, IO.OBP0, IO.OBP1)


def _value_for(register: int, rng: Random) -> int:
    """Return a value that shows: the display stays on, the window begins on the line."""
    if register == IO.LCDC:
        return 0x80 | rng.randrange(128) | 0x20 * (rng.random() < 0.5)
    if register == IO.WX:
        return rng.randrange(176)
    return rng.randrange(144) if register == IO.WY else rng.randrange(256)


def display_write(rng: Random) -> bytes:
    """Return code that writes to the display in one of several ways, after a while."""
    register: int = rng.choice(_NAMES)
    wait = bytes(rng.randrange(30))
    way = rng.randrange(5)
    if way == 0:  # two registers that follow one another: LD SP,d16; LD (a16),SP
        low, high = _value_for(register, rng), _value_for(register, rng)
        register = rng.choice([IO.SCY, IO.BGP, IO.OBP0, IO.WY])
        return wait + bytes((0x31, low, high, 0x08, register, 0xFF))
    if way == 1:  # as often as possible: LD HL; LD B; LD C; LD (HL),B; LD (HL),C; ...
        b, c = _value_for(register, rng), _value_for(register, rng)
        code = bytes((0x21, register, 0xFF, 0x06, b, 0x0E, c))
        return wait + code + b"\x70\x71" * rng.choice([1, 2, 3, 25])
    if way == 2:  # WY becomes LY
        return wait + bytes((0xF0, IO.LY, 0xE0, IO.WY))
    if way == 3 and rng.random() < 0.1:  # the display goes off and on
        return wait + store(IO.LCDC, 0x11) + wait + store(IO.LCDC, 0xB3)
    return wait + store(register, _value_for(register, rng))


def writing_cartridge(rng: Random) -> Cartridge:
    """Return a program that writes to the display all the time."""
    body = b"".join(display_write(rng) for _ in range(60))
    begin = store(IO.STAT, rng.choice([0x00, 0x08, 0x28])) + store(IO.LCDC, 0xB3)
    return build(begin + body + b"\xc3\x58\x01")


# -- programs that spoil OAM (docs/gameboy.md, 9.1) ------------------------------------------------

_POINTERS = (range(0xFE00, 0xFF00), range(0xFDFD, 0xFE03), range(0xFEFD, 0xFF03))
# INC, DEC, loads and stores that count or not, through all pairs; PUSH and POP.
_OPCODES = (0x03, 0x0B, 0x13, 0x1B, 0x23, 0x2B, 0x33, 0x3B, 0x22, 0x2A, 0x32, 0x3A, 0x7E, 0x77,
            0x34, 0xC1, 0xC5, 0xD5, 0xE1, 0xF1, 0xF5, 0x0A, 0x12)  # fmt: skip


def _use(rng: Random) -> bytes:
    return bytes((rng.choice(_OPCODES),))


def spoil(rng: Random) -> bytes:
    """Return a pointer and instructions that use it, or a transfer, a call or an interrupt."""
    kind = rng.choice(["plain"] * 6 + ["dma", "call", "line", "halt"])
    if kind == "dma":
        return store(IO.DMA, rng.randrange(0xC0, 0xE0))
    if kind == "line":
        return bytes((0xF0, IO.LY, 0xFE, rng.randrange(144), 0x20, 0xFA))
    if kind == "halt":
        return bytes.fromhex("3108fe3e20e0413e02e0fffb76003100df")
    pointer = among(rng, *_POINTERS).to_bytes(2, "little")
    if kind == "call":  # of a RET
        return b"\x31" + pointer + bytes((0xCD, 0x00, 0x02, 0x31, 0x00, 0xDF))
    pair = bytes((rng.choice((0x01, 0x11, 0x21, 0x31)),))
    used = b"".join(some(rng, (_use,), 8))
    return pair + pointer + bytes(rng.randrange(13)) + used + b"\x31\x00\xdf"


def spoiling_cartridge(rng: Random, most: int = 60) -> Cartridge:
    """Return a program at $0300 that points to OAM all the time.

    Parameters
    ----------
    rng : Random
    most : int
        How many parts it has at most.
    """
    body = b"".join(some(rng, (spoil,), most))
    program = b"\x31\x00\xdf" + body + b"\xc3\x00\x03"
    return build(b"\xc3\x00\x03", patches=[*COUNTED, (0x200, b"\xc9"), (0x300, program)])
