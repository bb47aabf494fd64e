"""Programs that touch the sound all the time, and programs that are heard."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.tables import IO
from tools.gameboy.generators.programs import some, store
from tools.gameboy.machines import COUNTED, build

# -- what programs see of the sound (docs/gameboy.md, 10.1) ----------------------------------------

_LASTS = (0x14, 0x19, 0x1E, 0x23)  # the last registers of the channels, which trigger them
_SEEN = (IO.NR52, IO.NR52, IO.NR52, *range(IO.WAVE, IO.LCDC), *range(IO.NR10, IO.NR52))
# Registers, and values that make a difference there.
_WRITES: tuple[tuple[Sequence[int], Sequence[int]], ...] = (
    (range(IO.NR10, IO.LCDC), range(256)),
    (_LASTS, (0x00, 0x40, 0x80, 0xC0, 0x87, 0xC7)),
    ((0x12, 0x17, 0x1A, 0x21), (0xF0, 0x08, 0)),
    ((0x11, 0x16, 0x1B, 0x20), (0x3E, 0x3F, 0xFE)),
    ((IO.NR10,), (0x11, 0x19, 0x01, 0x71, 0x17, 0x1F, 0)),
    ((0x1D, 0x13), (0xFD, 0xFE, 0xFF, 0x00)),
    ((IO.NR52, IO.DIV), (0, 0x80)),
)


def touch(rng: Random) -> bytes:
    """Return a write to a register of the sound."""
    registers, values = rng.choice(_WRITES)
    return store(rng.choice(registers), rng.choice(values))


def look(rng: Random) -> bytes:
    """Return code that keeps what a register shows."""
    return bytes((0xF0, rng.choice(_SEEN), 0x12, 0x13))


def pause(rng: Random) -> bytes:
    """Return code that waits a few cycles, some thousand, until a line, or until VBlank."""
    match rng.choice(("nops", "nops", "count", "twice", "line", "halt")):
        case "nops":
            return bytes(rng.randrange(10))
        case "count":
            return bytes((0x06, rng.randrange(256), 0x05, 0x20, 0xFD))
        case "twice":  # 4 T * (B + 256 * C), or so
            begin = bytes((0x06, rng.randrange(256), 0x0E, rng.randrange(1, 21)))
            return begin + bytes((0x05, 0x20, 0xFD, 0x0D, 0x20, 0xFA))
        case "line":
            return bytes((0xF0, IO.LY, 0xFE, rng.randrange(154), 0x20, 0xFA))
    return store(IO.IE, 0x01) + bytes((0xFB, 0x00, 0x76, 0x00))


def touching_cartridge(rng: Random, most: int = 80) -> Cartridge:
    """Return a program that touches the sound all the time, with its display on.

    Parameters
    ----------
    rng : Random
    most : int
        How many parts it has at most.
    """
    parts = (touch, touch, touch, look, look, pause)
    body = b"".join(some(rng, parts, most, least=4))
    program = bytes.fromhex("3100df1100d0") + body + bytes.fromhex("16d0c35001")
    return build(program, patches=COUNTED)


# -- what is heard (docs/gameboy.md, 10.2) ---------------------------------------------------------

_LOUD = (0x08, 0x80, 0xF0, 0xA1, 0x3A, 0x59)
_HEARD = (*range(0x10, 0x27), *_LASTS, IO.NR50, IO.NR51)


def heard_write(rng: Random) -> bytes:
    """Return a write to a register of the sound, mostly so that something is heard."""
    register, value = rng.choice(_HEARD), rng.randrange(256)
    if register in (0x12, 0x17, 0x21):
        value = rng.choice((rng.choice(_LOUD), value))
    elif register in _LASTS:
        value |= rng.choice((0, 0x80, 0x84, 0x87))
    elif register == IO.NR43:
        value &= rng.choice((0xFF, 0x3F, 0x0F))
    elif register == IO.NR30:
        value |= rng.choice((0, 0x80, 0x80))
    elif register == IO.NR52:
        value = rng.choice((0, 0x80, 0x80, 0x80))
    return store(register, value)


def heard_rest(rng: Random) -> bytes:
    """Return code that writes the wave or DIV, reads a register, or waits a while."""
    kind = rng.choice(("wave", "div", "read", "wait", "wait", "long"))
    if kind == "wave":
        return store(IO.WAVE + rng.randrange(16), rng.randrange(256))
    if kind == "div":
        return bytes((0xE0, IO.DIV))
    if kind == "read":
        return bytes((0xF0, rng.choice((IO.NR52, IO.WAVE, IO.WAVE + 10))))
    wait = bytes((0x06, rng.randrange(1, 256), 0x05, 0x20, 0xFD))
    return wait * 8 if kind == "long" else wait


def heard_parts(rng: Random, most: int = 60) -> list[bytes]:
    """Return writes to the sound with waits between them, at most so many parts."""
    parts = (heard_write, heard_write, heard_rest)
    return some(rng, parts, most, least=0)


def sounding(parts: Sequence[bytes]) -> Cartridge:
    """Return the cartridge of a program that does these things again and again."""
    begin = store(IO.NR52, 0x80) + store(IO.NR50, 0x77) + store(IO.NR51, 0xFF)
    return build(begin + b"".join(parts) + b"\xc3\x50\x01")
