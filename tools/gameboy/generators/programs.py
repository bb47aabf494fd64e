"""Programs of random instructions, of random bytes, and of loops that wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.tables import IO
from tools.gameboy.machines import COUNTED, build
from tools.opcodes import ILLEGAL

_JUMPING = {0x10, 0x76, 0xC9, 0xD9, 0xE9, 0xC3, 0xCD, 0x18, 0xF9, 0x31}
_JUMPING |= {0x20, 0x28, 0x30, 0x38, 0xC0, 0xC8, 0xD0, 0xD8, 0xC2, 0xCA, 0xD2, 0xDA}
_JUMPING |= {0xC4, 0xCC, 0xD4, 0xDC, *range(0xC7, 0x100, 8)}
_PLAIN = sorted(set(range(256)) - _JUMPING - {*ILLEGAL})
_WORDS = {0x01, 0x11, 0x21, 0x08, 0xEA, 0xFA}
_OPERANDS = {0xCB, 0xE0, 0xF0, 0xE8, 0xF8, *range(0x06, 0x40, 8), *range(0xC6, 0x100, 8)}
_REGISTERS = [*range(IO.P1, IO.NR10), *range(IO.LCDC, IO.WX + 1), IO.LCDC, IO.STAT, IO.TAC]
_REGISTERS += [IO.NR10, 0x11, 0x12, IO.NR14, IO.NR30, 0x1E, IO.NR52, IO.NR52, IO.WAVE]
_KINDS = (0x00, 0x03, 0x06, 0x09, 0x10, 0x13, 0x1B)  # of cartridges


def store(register: int, value: int) -> bytes:
    """Return the code of a write to page $FF: LD A,value; LDH (register),A."""
    return bytes((0x3E, value, 0xE0, register))


def some(
    rng: Random, parts: Sequence[Callable[[Random], bytes]], most: int, least: int = 1
) -> list[bytes]:
    """Return parts of a program, each of a kind that is drawn.

    Whether another one follows is drawn behind each, so that Hypothesis can leave parts out.

    Parameters
    ----------
    rng : Random
    parts : sequence of callable
        Kinds of parts; one that stands there twice is twice as likely.
    most, least : int
        How many.
    """
    made: list[bytes] = []
    while len(made) < least or (len(made) < most and rng.randrange(most)):
        made.append(rng.choice(parts)(rng))
    return made


def among(rng: Random, *ranges: range) -> int:
    """Return a number of one of some ranges, each of them as likely."""
    return rng.choice(rng.choice(ranges))


# -- any instructions ------------------------------------------------------------------------------


def plain(rng: Random) -> bytes:
    """Return any instruction that does not jump, with pointers mostly into memory."""
    opcode = rng.choice(_PLAIN)
    if opcode in _WORDS:
        address = among(rng, range(0xC000, 0xE000), range(0x8000, 0x10000))
        return bytes((opcode, address & 0xFF, address >> 8))
    return bytes((opcode, rng.randrange(256))) if opcode in _OPERANDS else bytes((opcode,))


def write_register(rng: Random) -> bytes:
    """Return a write to any register: display, timer, interrupts, transfers."""
    return store(rng.choice([*_REGISTERS, IO.IE]), rng.randrange(256))


def look_at_register(rng: Random) -> bytes:
    """Return code that keeps what a register shows."""
    return bytes((0xF0, rng.choice(_REGISTERS), 0x12, 0x1C))


def wait(rng: Random) -> bytes:
    """Return code that waits for a while, a line, an interrupt or a byte that a handler writes."""
    match rng.choice(("count", "line", "halt", "poll", "vblank")):
        case "count":
            return bytes((0x06, rng.randrange(256), 0x05, 0x20, 0xFD))
        case "line":
            return bytes((0xF0, IO.LY, 0xFE, rng.randrange(154), 0x20, 0xFA))
        case "halt":
            return bytes((rng.choice((0x00, 0xFB, 0xF3)), 0x76, rng.choice(_PLAIN)))
        case "vblank":
            return store(IO.IE, 0x01) + bytes((0xFB, 0x00, 0x76, 0x00))
    mask = rng.choice((0x01, 0x03, 0x80))  # of the counter that handlers keep
    return store(IO.IE, 0x05) + bytes((0xFB, 0xF0, 0xFE, 0xE6, mask, 0x28, 0xFA))


def set_bank(rng: Random) -> bytes:
    """Return a write to a register of the bank controller."""
    address = rng.randrange(0x8000)
    return bytes((0x3E, rng.randrange(256), 0xEA, address & 0xFF, address >> 8))


def set_pointers(rng: Random) -> bytes:
    """Return code that points HL and DE somewhere."""
    hl, de = among(rng, range(0x8000, 0x10000), range(0xFE00, 0xFF00)), rng.randrange(0x2000)
    return bytes((0x21, hl & 0xFF, hl >> 8, 0x11, de & 0xFF, 0xC0 | de >> 8))


_PARTS = (plain, plain, write_register, look_at_register, wait, set_bank, set_pointers)


def program_cartridge(rng: Random, most: int = 60) -> Cartridge:
    """Return a program that goes round for ever, with handlers for all interrupts.

    Parameters
    ----------
    rng : Random
    most : int
        How many parts it has at most, of one instruction or a few.
    """
    body = b"".join(some(rng, _PARTS, most))
    # The stack is set anew each time around, so that nothing wanders off.
    program = b"\x31\x00\xd0" + body + b"\xc3\x50\x01"
    kind, ram = rng.choice(_KINDS), rng.randrange(4)
    return build(program, kind=kind, ram=ram, banks=8, patches=COUNTED)


def byte_cartridge(rng: Random) -> Cartridge:
    """Return a ROM of random bytes."""
    kind, ram = rng.choice([0x00, 0x03, 0x09, 0x13, 0x1B]), rng.choice([0, 2, 3])
    return build(rng.randbytes(64), kind=kind, ram=ram, banks=4, fill=rng.randbytes(0x8000))


# -- loops that wait -------------------------------------------------------------------------------

_POLLED = (IO.LY, IO.STAT, IO.IF, IO.DIV, IO.P1, IO.SC, IO.LYC, IO.TIMA, 0xFE)
_JUMPS = (0x20, 0x28, 0x30, 0x38)
_JUDGES = (0xFE, 0xE6, 0xE6, 0xF6, 0xEE, 0xD6, 0xC6, 0xCE, 0xCB, 0xB8, 0x0F, 0x2F)


def polling_loop(rng: Random) -> bytes:
    """Return a loop that polls a register and judges it somehow."""
    code = bytes((0xF0, rng.choice(_POLLED)))
    for _ in range(rng.randrange(3)):
        judge = rng.choice(_JUDGES)
        operand = rng.choice((1, 2, 3, 4, 0x10, 0x90, rng.randrange(256)))
        if judge == 0xCB:
            operand = 0x47 | operand << 3 & 0x38
        code += bytes((judge, operand) if judge >= 0xC0 else (judge,))
    return code + bytes((rng.choice(_JUMPS), 254 - len(code)))


def counting_loop(rng: Random) -> bytes:
    """Return a loop that counts down."""
    if rng.random() < 0.5:
        code = bytes(rng.randrange(3)) + bytes((0x0D,))
        return bytes((0x0E, rng.randrange(256))) + code + bytes((0x20, 254 - len(code)))
    return bytes((0x11, rng.randrange(256), rng.randrange(3), 0x1B, 0x7B, 0xB2, 0x20, 0xFB))


def schedule(rng: Random) -> bytes:
    """Return a write of what decides when interrupts come."""
    low = rng.choice((IO.STAT, IO.LYC, IO.IE, IO.IF, IO.TAC, IO.SCX))
    value = rng.choice((0x40, 0x08, 0x20, 0x48, 0x78, 1, 2, 3, 7, rng.randrange(154)))
    return store(low, value) + rng.choice((b"", b"", b"\xfb\x00", b"\xf3"))


def waiting_cartridge(rng: Random) -> Cartridge:
    """Return a program that waits in twelve ways, for ever."""
    parts = [rng.choice((polling_loop, counting_loop, schedule, schedule))(rng) for _ in range(12)]
    return build(b"\x31\x00\xd0" + b"".join(parts) + b"\xc3\x50\x01", patches=COUNTED)
