"""Programs that hammer the serial port, alone or on a cable."""

from __future__ import annotations

from random import Random

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.tables import IO
from tools.gameboy.generators.programs import store
from tools.gameboy.machines import build

# The stack on page $FF makes PUSH write two registers in a row: LD SP,d16; PUSH BC.
PUSHES = (0xFF03, 0xFF05, 0xFF04, 0xFF02)
# An interrupt goes on at HL where $FFFE says that its stack were registers, else it returns.
HANDLERS = [(0x50, b"\x00"), (0x58, b"\xf0\xfe\xb7\x20\x01\xd9\xe9")]
BODY = 0x156


def part(rng: Random, address: int) -> bytes:
    """Return an instruction or a few that stand at an address."""
    kind = rng.choice(["sc", "sc", "sb", "div", "div", "keep", "keep", "wait", "wait", "rare"])
    if kind == "sc":
        return store(IO.SC, rng.choice([0x81, 0x81, 0x80, 0x80, 0x00, 0x01]))
    if kind == "sb":
        return store(IO.SB, rng.randrange(256))
    if kind == "div":
        return bytes((0xE0, IO.DIV))
    if kind == "keep":  # what a register shows, at DE
        return bytes((0xF0, rng.choice([IO.SB, IO.SC, IO.IF, IO.DIV]), 0x12, 0x1C))
    if kind == "wait":
        return bytes((0x06, rng.choice([1, 3, 8, 30, 120]), 0x05, 0x20, 0xFD)) + bytes(
            rng.randrange(6)
        )
    return rare(rng, address)


def rare(rng: Random, address: int) -> bytes:
    """Return instructions that read and write in one go, or wait for the interrupt."""
    kind = rng.choice(["count", "push", "word", "halt", "halt", "stack", "interrupts"])
    if kind == "count":  # LD HL,register; INC (HL)
        return bytes((0x21, rng.choice([IO.SB, IO.SC, IO.DIV]), 0xFF, 0x34))
    if kind == "push":
        stack = rng.choice(PUSHES)
        value = bytes((0x01, rng.choice([0x80, 0x81, 0x55]), rng.choice([0x80, 0x81, 0xAA])))
        return value + bytes((0x31, stack & 0xFF, 0xFF, 0xC5, 0x31, 0x00, 0xDF))
    if kind == "word":  # LD SP,d16; LD (a16),SP
        value = bytes((0x31, rng.choice([0x80, 0x81, 0x3C]), rng.choice([0x80, 0x81])))
        return value + bytes((0x08, rng.choice([0x00, 0x01, 0x03]), 0xFF, 0x31, 0x00, 0xDF))
    if kind == "halt":  # until a transfer or the timer ends it
        wakes = store(IO.IE, 0x0C) + store(IO.TAC, 0x05)
        return wakes + bytes((rng.choice([0, 0xFB]), 0x76))
    if kind == "stack":  # an interrupt that is served pushes onto the registers
        after = address + 12
        begin = bytes((0x3E, 0x01, 0xE0, 0xFE, 0x21, after & 0xFF, after >> 8))
        served = bytes((0x31, rng.choice([0x03, 0x04, 0x05, 0x06]), 0xFF, 0xFB, 0x00))
        return begin + served + bytes((0x31, 0x00, 0xDF, 0xAF, 0xE0, 0xFE))
    return store(IO.IE, rng.choice([0, 8])) + bytes((rng.choice([0xFB, 0xF3]),))


def hammering_cartridge(rng: Random, parts: int = 120) -> Cartridge:
    """Return a program that goes round for ever; DE points to where it keeps what it saw."""
    body = b""
    for _ in range(parts):
        body += part(rng, BODY + len(body))
    return build(b"\x31\x00\xdf\x11\x00\xc0" + body + b"\xc3\x56\x01", patches=HANDLERS)
