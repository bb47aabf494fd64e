"""Two passes over the statements of a source: the first finds addresses, the second writes bytes.

Directives::

    label:            the current address; .label is local to the label before it
    NAME equ x        a constant
    org x[, bank]     go on at an address; in RAM, from $8000, there are labels and ds alone
    db x, "text"      bytes and texts
    dw x              words, low byte first
    ds n[, x]         n bytes of x
    if x / else / endif
    include "file"
    gfx ... endgfx    lines of pixels . - o # (shades 0 to 3), 8n wide and 8m high: n * m tiles of
                      16 bytes, row by row
    header "TITLE", type[, RAM size]
                      title, cartridge type and RAM size byte; ROM size and checksums are filled in
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tools.sm83 import encoding
from tools.sm83.expressions import evaluate
from tools.sm83.source import AssemblyError, Statement, statements

BANK = 0x4000
RAM = 0x8000
BANKS = 512
LOGO = range(0x104, 0x134)
TITLE, CARTRIDGE, ROM_SIZE, RAM_SIZE = 0x134, 0x147, 0x148, 0x149
HEADER_SUM, GLOBAL_SUM = 0x14D, 0x14E
SHADES = ".-o#"


@dataclass(frozen=True)
class Program:
    """An assembled source: the ROM and the value of every label (``main.loop``) and constant."""

    rom: bytes
    symbols: dict[str, int]


@dataclass
class _Assembler:
    source: list[Statement]
    symbols: dict[str, int] = field(default_factory=dict)
    memory: dict[int, int] = field(default_factory=dict)
    final: bool = False
    address: int = 0
    bank: int = 0
    scope: str = ""
    # One entry an open if: whether its lines count.
    conditions: list[bool] = field(default_factory=list)

    # -- passes ----------------------------------------------------------------------------------

    def run(self) -> None:
        for self.final in (False, True):
            self.address = self.bank = 0
            self.scope = ""
            self.conditions = []
            for statement in self.source:
                try:
                    self.statement(statement)
                except AssemblyError:
                    raise
                except ValueError as error:
                    raise statement.error(str(error)) from None
            if self.conditions:
                raise self.source[-1].error("if without endif")

    def statement(self, statement: Statement) -> None:
        word, operands = statement.word, statement.operands
        if word in ("if", "else", "endif"):
            self.condition(word, operands)
        elif all(self.conditions):
            if word == "equ":
                if not statement.label:
                    raise ValueError("equ needs a name before it")
                self.define(statement.label, self.now(self.only(word, operands)))
                return
            if statement.label:
                self.label(statement.label)
            if word in encoding.MNEMONICS:
                self.instruction(word, operands)
            elif word:
                self.directive(word, operands)

    def condition(self, word: str, operands: list[str]) -> None:
        if word == "if":
            # In a part that does not count a condition may name what is not defined.
            counts = all(self.conditions)
            self.conditions.append(counts and self.now(self.only(word, operands)) != 0)
        elif not self.conditions:
            raise ValueError(f"{word} without if")
        elif word == "else":
            self.conditions[-1] = not self.conditions[-1]
        else:
            self.conditions.pop()

    # -- names and numbers -----------------------------------------------------------------------

    def full_name(self, name: str) -> str:
        return self.scope + name if name.startswith(".") else name

    def label(self, name: str) -> None:
        if not name.startswith("."):
            self.scope = name
        self.define(self.full_name(name), self.address)

    def define(self, name: str, value: int) -> None:
        if not self.final and name in self.symbols:
            raise ValueError(f"{name} is already defined")
        if name.lower() in encoding.NAMED or name.lower() in encoding.MNEMONICS:
            raise ValueError(f"{name} is a register, a condition or an instruction, and no name")
        self.symbols[name] = value

    def lookup(self, name: str) -> int:
        full = self.full_name(name)
        if full not in self.symbols:
            raise ValueError(f"{full} is not defined")
        return self.symbols[full]

    def now(self, text: str) -> int:
        """Return a value that decides on addresses: all its names stand before it."""
        return evaluate(text, self.lookup, self.address)

    def later(self, text: str) -> int:
        """Return a value; in the first pass, where names may be missing, 0."""
        return self.now(text) if self.final else 0

    @staticmethod
    def only(word: str, operands: list[str]) -> str:
        if len(operands) != 1:
            raise ValueError(f"{word} takes one value")
        return operands[0]

    # -- bytes -----------------------------------------------------------------------------------

    def emit(self, data: bytes) -> None:
        if data and self.address >= RAM:
            raise ValueError(f"${self.address:04X} is RAM, where only labels and ds may stand")
        end = BANK * (1 + (self.address >= BANK))
        if self.address < RAM and self.address + len(data) > end:
            raise ValueError(f"the bank ends at ${end:04X}; org says where to go on")
        offset = self.address if self.bank == 0 else self.bank * BANK + self.address - BANK
        for i, byte in enumerate(data, offset):
            if self.final and i in self.memory:
                raise ValueError(f"byte ${i:X} of the ROM is written twice")
            if self.final:
                self.memory[i] = byte
        self.address += len(data)

    def instruction(self, mnemonic: str, operands: list[str]) -> None:
        form, number = [mnemonic], ""
        for operand in operands:
            kind, text = self.kind(operand)
            form.append(kind)
            number = text or number
        found = encoding.TABLE.get(tuple(form))
        if found is None:
            allowed = "; ".join(encoding.forms(mnemonic))
            written = f"{mnemonic} {', '.join(operands)}".strip()
            raise ValueError(f"there is no {written!r}; allowed is {allowed}")
        if self.final:
            self.emit(encoding.encode(found, self.later(number) if number else 0, self.address))
        else:
            self.emit(bytes(found.size))

    @staticmethod
    def kind(operand: str) -> tuple[str, str]:
        """Return how the table of instructions writes an operand, and its expression if any."""
        plain = operand.lower().replace(" ", "")
        plain = {"[hli]": "[hl+]", "[hld]": "[hl-]"}.get(plain, plain)
        if plain in encoding.NAMED:
            return plain, ""
        if plain.startswith(("sp+", "sp-")):
            return "sp+n", operand.strip()[2:].lstrip(" +")
        if plain.startswith("[") and plain.endswith("]"):
            return "[n]", operand.strip()[1:-1]
        return "n", operand

    # -- directives ------------------------------------------------------------------------------

    def directive(self, word: str, operands: list[str]) -> None:
        known = {
            **{"org": self.org, "db": self.db, "dw": self.dw, "ds": self.ds},
            **{"gfx": self.gfx, "header": self.header},
        }
        if word not in known:
            allowed = ", ".join([*known, "equ", "if", "else", "endif", "include"])
            raise ValueError(f"{word!r} is no instruction; directives are {allowed}")
        known[word](operands)

    def org(self, operands: list[str]) -> None:
        if len(operands) not in (1, 2):
            raise ValueError("org takes an address and a bank")
        address = self.now(operands[0])
        switched = BANK <= address < RAM
        bank = self.now(operands[1]) if len(operands) == 2 else int(switched)
        if not 0 <= address <= 0xFFFF:
            raise ValueError(f"address {address} is out of range; allowed is $0000 to $FFFF")
        if not (0 < bank < BANKS if switched else bank == 0):
            allowed = f"1 to {BANKS - 1}" if switched else "0"
            raise ValueError(f"bank {bank} at ${address:04X}; allowed is {allowed}")
        self.address, self.bank = address, bank

    def db(self, operands: list[str]) -> None:
        data = bytearray()
        for operand in operands:
            if operand.startswith('"'):
                if len(operand) < 2 or not operand.endswith('"'):
                    raise ValueError(f"{operand} is no text; a text stands in quotes")
                data += operand[1:-1].encode("ascii")
            else:
                data += self.ranged(operand, "u8")
        self.emit(bytes(data))

    def dw(self, operands: list[str]) -> None:
        self.emit(b"".join(self.ranged(operand, "u16") for operand in operands))

    def ranged(self, text: str, kind: str) -> bytes:
        return encoding.encode(encoding.Encoding(b"", kind), self.later(text), self.address)

    def ds(self, operands: list[str]) -> None:
        if len(operands) not in (1, 2):
            raise ValueError("ds takes a count and a byte")
        count = self.now(operands[0])
        if not 0 <= count <= 0x10000 - self.address:
            raise ValueError(f"count {count} of ds leads beyond the address space")
        if self.address >= RAM:
            self.address += count
        else:
            self.emit(self.ranged(operands[1] if len(operands) == 2 else "0", "u8") * count)

    def gfx(self, rows: list[str]) -> None:
        width = len(rows[0]) if rows else 0
        if not rows or width % 8 or len(rows) % 8 or any(len(row) != width for row in rows):
            raise ValueError("gfx takes lines of equal length, 8n wide and 8m high")
        if wrong := set("".join(rows)) - set(SHADES):
            raise ValueError(f"pixel {min(wrong)!r} in gfx; allowed are {' '.join(SHADES)}")
        for y in range(0, len(rows), 8):
            for x in range(0, width, 8):
                for row in rows[y : y + 8]:
                    shades = [SHADES.index(pixel) for pixel in row[x : x + 8]]
                    for plane in (0, 1):
                        bits = "".join(str(shade >> plane & 1) for shade in shades)
                        self.emit(bytes([int(bits, 2)]))

    def header(self, operands: list[str]) -> None:
        if len(operands) not in (2, 3) or not 3 <= len(operands[0]) <= 18:
            raise ValueError("header takes a title of 1 to 16 characters, a type and a RAM size")
        address, bank = self.address, self.bank
        self.address, self.bank = TITLE, 0
        self.db([operands[0]])
        self.address = CARTRIDGE
        self.db(operands[1:2])
        self.address = RAM_SIZE
        self.db(operands[2:] or ["0"])
        self.address, self.bank = address, bank

    def rom(self, logo: bytes) -> bytes:
        """Return the bytes written, filled up to a power of two, with size and checksums."""
        used = max(self.memory, default=0) + 1
        size = 2 * BANK
        while size < used:
            size *= 2
        rom = bytearray(size)
        for offset, byte in self.memory.items():
            rom[offset] = byte
        rom[LOGO.start : LOGO.start + len(logo)] = logo
        rom[ROM_SIZE] = (size // (2 * BANK)).bit_length() - 1
        rom[HEADER_SUM] = -sum(rom[TITLE:HEADER_SUM]) - (HEADER_SUM - TITLE) & 0xFF
        rom[GLOBAL_SUM : GLOBAL_SUM + 2] = (sum(rom) & 0xFFFF).to_bytes(2, "big")
        return bytes(rom)


def assemble_text(text: str, file: Path = Path("source.asm"), logo: bytes = b"") -> Program:
    """Assemble a source that is given as a text.

    Parameters
    ----------
    text
        The source.
    file
        Its name, for messages and for what it includes.
    logo
        The 48 bytes at $0104 that a console compares with its own. They are zero unless given;
        no emulator here reads them.

    Returns
    -------
    Program
        ROM and symbols.

    Raises
    ------
    AssemblyError
        If the source is wrong.
    """
    if len(logo) not in (0, len(LOGO)):
        raise AssemblyError(f"the logo has {len(logo)} bytes; allowed are {len(LOGO)}")
    assembler = _Assembler(statements(text, file))
    assembler.run()
    return Program(assembler.rom(logo), assembler.symbols)


def assemble(file: Path, logo: bytes = b"") -> Program:
    """Assemble a file; see :func:`assemble_text`."""
    return assemble_text(file.read_text(encoding="ascii"), file, logo)
