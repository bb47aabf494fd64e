"""Instructions of the SM83: how each form is written, and its bytes.

A form is a mnemonic with its operands. Registers, conditions and register pairs in brackets stand
for themselves; ``n`` is any number and ``[n]`` the memory at a number:
``("ld", "a", "[hl+]")``, ``("jr", "nz", "n")``, ``("ld", "[n]", "a")``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

R8 = ("b", "c", "d", "e", "h", "l", "[hl]", "a")
R16 = ("bc", "de", "hl", "sp")
R16_STACK = ("bc", "de", "hl", "af")
R16_MEMORY = ("[bc]", "[de]", "[hl+]", "[hl-]")
CONDITIONS = ("nz", "z", "nc", "c")
ARITHMETIC = ("add", "adc", "sub", "sbc", "and", "xor", "or", "cp")
ROTATIONS = ("rlc", "rrc", "rl", "rr", "sla", "sra", "swap", "srl")
OF_A = ("rlca", "rrca", "rla", "rra", "daa", "cpl", "scf", "ccf")

# Operands that are no numbers.
NAMED = {*R8, *R16, *R16_STACK, *R16_MEMORY, *CONDITIONS, "[c]", "sp+n"}


class Encoding(NamedTuple):
    """Bytes of a form.

    ``number`` says what becomes of ``n``: it follows as one byte (``u8``), a signed byte (``s8``),
    the low byte of an address from $FF00 (``high``), two bytes (``u16``) or a distance (``jump``);
    or it is part of the last byte: a bit number (``bit``) or the target of RST (``rst``).
    """

    code: bytes
    number: str = ""

    @property
    def size(self) -> int:
        """Length in bytes."""
        return len(self.code) + {"": 0, "bit": 0, "rst": 0, "u16": 2}.get(self.number, 1)


def _block_0() -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Opcodes $00 to $3F."""
    yield ("nop",), 0x00, ""
    yield ("ld", "[n]", "sp"), 0x08, "u16"
    yield ("jr", "n"), 0x18, "jump"
    for i, condition in enumerate(CONDITIONS):
        yield ("jr", condition, "n"), 0x20 + 8 * i, "jump"
    for i, pair in enumerate(R16):
        yield ("ld", pair, "n"), 0x01 + 16 * i, "u16"
        yield ("add", "hl", pair), 0x09 + 16 * i, ""
        yield ("inc", pair), 0x03 + 16 * i, ""
        yield ("dec", pair), 0x0B + 16 * i, ""
    for i, memory in enumerate(R16_MEMORY):
        yield ("ld", memory, "a"), 0x02 + 16 * i, ""
        yield ("ld", "a", memory), 0x0A + 16 * i, ""
    for i, register in enumerate(R8):
        yield ("inc", register), 0x04 + 8 * i, ""
        yield ("dec", register), 0x05 + 8 * i, ""
        yield ("ld", register, "n"), 0x06 + 8 * i, "u8"
    for i, name in enumerate(OF_A):
        yield (name,), 0x07 + 8 * i, ""


def _blocks_1_and_2() -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Opcodes $40 to $BF: loads between registers, and arithmetic with a register."""
    for i, target in enumerate(R8):
        for j, source in enumerate(R8):
            if (target, source) != ("[hl]", "[hl]"):
                yield ("ld", target, source), 0x40 + 8 * i + j, ""
    yield ("halt",), 0x76, ""
    for i, name in enumerate(ARITHMETIC):
        for j, source in enumerate(R8):
            yield (name, "a", source), 0x80 + 8 * i + j, ""


def _block_3() -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Opcodes $C0 to $FF."""
    for i, condition in enumerate(CONDITIONS):
        yield ("ret", condition), 0xC0 + 8 * i, ""
        yield ("jp", condition, "n"), 0xC2 + 8 * i, "u16"
        yield ("call", condition, "n"), 0xC4 + 8 * i, "u16"
    for i, pair in enumerate(R16_STACK):
        yield ("pop", pair), 0xC1 + 16 * i, ""
        yield ("push", pair), 0xC5 + 16 * i, ""
    for i, name in enumerate(ARITHMETIC):
        yield (name, "a", "n"), 0xC6 + 8 * i, "u8"
    yield ("rst", "n"), 0xC7, "rst"
    yield ("jp", "n"), 0xC3, "u16"
    yield ("ret",), 0xC9, ""
    yield ("call", "n"), 0xCD, "u16"
    yield ("reti",), 0xD9, ""
    yield ("ldh", "[n]", "a"), 0xE0, "high"
    yield ("ldh", "[c]", "a"), 0xE2, ""
    yield ("add", "sp", "n"), 0xE8, "s8"
    yield ("jp", "hl"), 0xE9, ""
    yield ("ld", "[n]", "a"), 0xEA, "u16"
    yield ("ldh", "a", "[n]"), 0xF0, "high"
    yield ("ldh", "a", "[c]"), 0xF2, ""
    yield ("di",), 0xF3, ""
    yield ("ld", "hl", "sp+n"), 0xF8, "s8"
    yield ("ld", "sp", "hl"), 0xF9, ""
    yield ("ld", "a", "[n]"), 0xFA, "u16"
    yield ("ei",), 0xFB, ""


def _table() -> dict[tuple[str, ...], Encoding]:
    table: dict[tuple[str, ...], Encoding] = {("stop",): Encoding(b"\x10\x00")}
    for block in (_block_0, _blocks_1_and_2, _block_3):
        for form, opcode, number in block():
            table[form] = Encoding(bytes([opcode]), number)
    for j, register in enumerate(R8):
        for i, name in enumerate(ROTATIONS):
            table[name, register] = Encoding(bytes([0xCB, 8 * i + j]))
        for i, name in enumerate(("bit", "res", "set")):
            table[name, "n", register] = Encoding(bytes([0xCB, 0x40 * (i + 1) + j]), "bit")
    for name in ARITHMETIC:  # "cp b" is "cp a, b"
        for source in (*R8, "n"):
            table[name, source] = table[name, "a", source]
    return table


TABLE = _table()
MNEMONICS = {form[0] for form in TABLE}


def forms(mnemonic: str) -> list[str]:
    """Return the ways to write an instruction, for messages."""
    found = (form for form in TABLE if form[0] == mnemonic)
    return [f"{mnemonic} {', '.join(form[1:])}".strip() for form in found]


RANGES = {
    "u8": (-0x80, 0xFF),
    "s8": (-0x80, 0x7F),
    "u16": (-0x8000, 0xFFFF),
    "high": (0xFF00, 0xFFFF),
    "jump": (-0x80, 0x7F),
    "bit": (0, 7),
    "rst": (0, 0x38),
}


def encode(encoding: Encoding, number: int, address: int) -> bytes:
    """Return the bytes of an instruction.

    Parameters
    ----------
    encoding
        Its form.
    number
        Value of its operand ``n``; for a relative jump the address to jump to.
    address
        Where the instruction stands.

    Raises
    ------
    ValueError
        If the number does not fit.
    """
    kind = encoding.number
    if not kind:
        return encoding.code
    value = number - (address + 2) if kind == "jump" else number
    low, high = RANGES[kind]
    if not low <= value <= high or (kind == "rst" and value % 8):
        what = {"jump": "distance", "bit": "bit number", "rst": "target of rst"}.get(kind, "number")
        allowed = "$00, $08, $10, ... or $38" if kind == "rst" else f"{low} to {high}"
        raise ValueError(f"{what} {value} is out of range; allowed is {allowed}")
    if kind in ("bit", "rst"):
        part = value * 8 if kind == "bit" else value
        return encoding.code[:-1] + bytes([encoding.code[-1] + part])
    return encoding.code + (value & 0xFFFF).to_bytes(2, "little")[: 2 if kind == "u16" else 1]
