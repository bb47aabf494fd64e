"""Hooks and writes of a RAM map (docs/gameboy.md, 20.3 and 20.4).

A hook counts that an instruction of the ROM runs, or that an address is written. A write sets a
field at a reset, before each step, or where a hook counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fastenv.errors import ConfigError, list_names, show, with_nearest
from fastenv.gameboy.expressions import LARGEST, Expression, Load, Scope, parse
from fastenv.gameboy.ram_fields import (
    CARTRIDGE,
    HOOK,
    IN_ROM,
    RamField,
    check_keys,
    check_name,
    name_elements,
    read_address,
)
from fastenv.gameboy.state import Form
from fastenv.gameboy.tables import (
    CART_RAM,
    ECHO,
    HIGH,
    HRAM,
    IO,
    RAM_BANK,
    ROM_BANK,
    VRAM,
    WRAM,
)

MAX_HOOKS, MAX_WRITES = 64, 64
COUNT, LATCH, TERMINATE, TRUNCATE = "count", "latch", "terminate", "truncate"
DOES = (COUNT, LATCH, TERMINATE, TRUNCATE)
ENDED = {TERMINATE: "terminated", TRUNCATE: "truncated"}
RESET, STEP = -1, -2  # in place of the number of a hook
TIMES = {"reset": RESET, "step": STEP}
ALL = -1  # elements that a write sets
WRITES = "writes"  # column of the info: fields written in this episode
TRAP = 0xD3  # an opcode that does not exist: where hooked instructions stand, the core finds it
# Opcodes with operands in one byte behind them, and in two.
_ONE_BYTE = "06 0E 16 18 1E 20 26 28 2E 30 36 38 3E C6 CB CE D6 DE E0 E6 E8 EE F0 F6 F8 FE"
_TWO_BYTES = "01 08 11 21 31 C2 C3 C4 CA CC CD D2 D4 DA DC EA FA"
OPERANDS = dict.fromkeys(bytes.fromhex(_ONE_BYTE), 1) | dict.fromkeys(bytes.fromhex(_TWO_BYTES), 2)
# Registers that timer, cable, sound and display change, by their place in page $FF.
_MOVING = {
    *(IO.SB, IO.SC, IO.DIV, IO.TIMA, IO.IF, IO.STAT, IO.LY),
    *range(IO.NR10, IO.LCDC),
}
_AT = re.compile(r"([0-9A-Fa-f]{1,3}):\$?([0-9A-Fa-f]{4})")
_ELEMENT = re.compile(r"([A-Za-z_]\w*)(?:\[([0-9]{1,6})\])?")


@dataclass(frozen=True)
class Hook:
    """What is counted.

    Parameters
    ----------
    name : str
    place : int
        Of an instruction in the ROM; -1 if there is none.
    address : int
        That is written; -1 if there is none.
    do : str
        One of ``DOES``.
    at : str
        As the file has it, for messages.
    info : bool
        Whether it is a column of the info.
    """

    name: str
    place: int = -1
    address: int = -1
    do: str = COUNT
    at: str = ""
    info: bool = True

    def field(self, number: int) -> RamField:
        """Return its number as a field; ``number``: which hook it is."""
        return RamField(self.name, HOOK + 4 * number, Form.UNSIGNED, 4, info=self.info)


@dataclass(frozen=True)
class Write:
    """A field that is set.

    Parameters
    ----------
    name : str
    field : str
    element : int
        Which one; ``ALL``.
    to : tuple of Step
    on : int
        ``RESET``, ``STEP``, or the number of a hook.
    when : tuple of Step or None
        What is not 0 where it is set.
    """

    name: str
    field: str
    element: int
    to: Expression
    on: int
    when: Expression | None = None

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Its expressions."""
        return (self.to,) if self.when is None else (self.to, self.when)


def set_traps(rom: bytes, places: Iterable[int]) -> bytes:
    """Return a ROM with traps at hooked instructions.

    An instruction that would read a trap as its operand is one itself, so that none does: what has
    no trap is what the ROM has.

    Parameters
    ----------
    rom : bytes
    places : iterable of int
    """
    made = bytearray(rom)
    for place in places:
        made[place], trap = TRAP, place
        # No instruction is read at once beyond the end of its bank.
        begin = place - place % ROM_BANK
        for at in range(place - 1, begin - 1, -1):
            if OPERANDS.get(rom[at], 0) >= trap - at:
                made[at], trap = TRAP, at
            if trap - at == 2:
                break
    return bytes(made)


def bytes_of(field: RamField, element: int, number: int, before: bytes) -> tuple[int, bytes]:
    """Return where a number is written, and its bytes.

    Parameters
    ----------
    field : RamField
        Without a mask.
    element : int
    number : int
        Taken modulo what the field holds.
    before : bytes
        What stands there.
    """
    if field.form == Form.BIT:
        byte, bit = divmod(field.bit + element * field.stride, 8)
        kept = before[0] & ~(1 << bit)
        return field.place + byte, bytes([kept | (number != 0) << bit])
    parts = []
    for old in before if not field.big else before[::-1]:  # the low byte first
        if field.form == Form.BCD:
            number, digits = divmod(number, 100)
            parts.append(digits // 10 << 4 | digits % 10)
        elif field.form == Form.DIGITS:
            number, digit = divmod(number, 10)
            parts.append(old & 0xF0 | digit)
        else:
            number, byte = divmod(number, 256)
            parts.append(byte)
    return field.place + element * field.stride, bytes(parts[::-1] if field.big else parts)


# -- the door for files ----------------------------------------------------------------------------


def read_hooks(
    given: Any, where: str, fields: Mapping[str, RamField], taken: Mapping[str, str]
) -> tuple[Hook, ...]:
    """Return the hooks of a file; ``taken`` has names that they cannot have.

    Raises
    ------
    ConfigError
        Naming the hook and what is allowed.
    """
    if not isinstance(given, dict) or len(given) > MAX_HOOKS:
        raise ConfigError(f"{where}: hooks must be an object of at most {MAX_HOOKS}.")
    found = []
    for name, entry in given.items():
        here = f"{where}: hooks.{name}"
        check_name(name, f"{where}: hooks", taken)
        if not isinstance(entry, dict) or ("at" in entry) == ("written" in entry):
            raise ConfigError(f"{here}={show(entry)} must be an object with at or written.")
        check_keys(entry, here, ("at", "written", "do", "info"))
        do, info = entry.get("do", COUNT), entry.get("info", True)
        if do not in DOES:
            raise ConfigError(f"{here}.do={show(do)} must be one of {', '.join(DOES)}.")
        if not isinstance(info, bool):
            raise ConfigError(f"{here}.info={show(info)} must be true or false.")
        if "at" in entry:
            place = _place(entry["at"], f"{here}.at")
            found.append(Hook(name, place, -1, do, str(entry["at"]), info))
        else:
            address = _written(entry["written"], fields, f"{here}.written")
            found.append(Hook(name, -1, address, do, "", info))
    return tuple(found)


def _place(given: Any, where: str) -> int:
    """Return where in the ROM an instruction is."""
    found = _AT.fullmatch(given) if isinstance(given, str) else None
    if found is not None:
        bank, address = int(found[1], 16), int(found[2], 16)
        if address < ROM_BANK and bank == 0:
            return address
        if ROM_BANK <= address < VRAM:  # without banks the second half is bank 0 of some files
            return max(bank, 1) * ROM_BANK + address - ROM_BANK
    raise ConfigError(
        f"{where}={show(given)} must be an instruction of the ROM by bank and address, such as "
        "'0F:5A01', or '00:0150' below $4000, or a label of the map's symbols."
    )


def _written(given: Any, fields: Mapping[str, RamField], where: str) -> int:
    """Return an address that a program can write."""
    address = read_address(given)
    if isinstance(given, str) and given in fields:
        place = fields[given].place
        if place >= IN_ROM:
            raise ConfigError(f"{where}={show(given)} is not possible: that is not in RAM.")
        banked = place >= CARTRIDGE
        address = (place - CARTRIDGE) % RAM_BANK + CART_RAM if banked else place
    if address is not None and VRAM <= address <= 0xFFFF:
        return address
    why = " an address of ROM, which is not written:" if address is not None else ""
    raise ConfigError(
        f"{where}={show(given)} is not possible:{why} it must be an address from $8000 to $FFFF, a "
        "field, or a label of the map's symbols."
    )


def read_writes(
    given: Any, where: str, fields: Mapping[str, RamField], hooks: Iterable[Hook]
) -> tuple[Write, ...]:
    """Return the writes of a file.

    Raises
    ------
    ConfigError
        Naming the write and what is allowed.
    """
    if not isinstance(given, dict) or len(given) > MAX_WRITES:
        raise ConfigError(f"{where}: writes must be an object of at most {MAX_WRITES}.")
    counts = {name: field.count for name, field in fields.items()}
    for name in (hook.name for hook in hooks if given and hook.name in TIMES):
        raise ConfigError(
            f"{where}: hooks.{name}: writes know {name!r} as a time: choose another name."
        )
    times = TIMES | {hook.name: k for k, hook in enumerate(hooks)}
    found = []
    for name, entry in given.items():
        here = f"{where}: writes.{name}"
        check_name(name, f"{where}: writes", {"all": "the option writes means each of them by it"})
        if not isinstance(entry, dict) or not {"set", "to", "on"} <= {*entry}:
            raise ConfigError(f"{here}={show(entry)} must be an object with set, to and on.")
        check_keys(entry, here, ("set", "to", "on", "when"))
        on = entry["on"]
        if not isinstance(on, str) or on not in times:
            raise ConfigError(f"{here}.on={show(on)} must be one of {', '.join(times)}.")
        field, element = _target(entry["set"], fields, f"{here}.set")
        to = _value(entry["to"], f"{here}.to", counts)
        when = _value(entry["when"], f"{here}.when", counts) if "when" in entry else None
        found.append(Write(name, field, element, to, times[on], when))
        if times[on] >= 0:
            for key, value in (("to", to), ("when", when or ())):
                _check_read_at_hook(value, fields, f"{here}.{key}", on)
    return tuple(found)


def _check_read_at_hook(
    expression: Expression, fields: Mapping[str, RamField], where: str, on: str
) -> None:
    """Refuse what changes by itself within a frame: the core has it between frames alone."""
    for load in (step.load for step in expression if isinstance(step.load, Load)):
        _check_read_at_hook(load.each, fields, where, on)
        field = fields[load.field]
        if load.element >= 0:
            field = field.element(load.field, load.element)
        read = range(max(field.place, HIGH), min(field.end, HRAM))
        if any(address - HIGH in _MOVING for address in read):
            raise ConfigError(
                f"{where} is not possible: {load.field} is a register that changes by itself, "
                f"which is not read at a hook such as {on}, but at 'reset' and 'step'."
            )


def _value(given: Any, where: str, counts: Mapping[str, int]) -> Expression:
    """Return an expression that is taken within a step; a number is one too."""
    if isinstance(given, int) and not isinstance(given, bool) and abs(given) <= LARGEST:
        given = str(given)
    return parse(given, where, counts, Scope(at_once=True))


def _target(given: Any, fields: Mapping[str, RamField], where: str) -> tuple[str, int]:
    """Return the field that is set, and which element."""
    found = _ELEMENT.fullmatch(given) if isinstance(given, str) else None
    if found is None or found[1] not in fields:
        message = f"{where}={show(given)} must be a field or its element: {list_names(fields)}."
        raise ConfigError(with_nearest(message, given, fields))
    field = fields[found[1]]
    element = ALL if found[2] is None else int(found[2])
    if element >= field.count:
        allowed = name_elements(field.name, field.count)
        raise ConfigError(f"{where}={show(given)} is not possible: it must be {allowed}.")
    if field.mask != -1:
        raise ConfigError(f"{where}={show(given)} is not possible: a field with a mask is not set.")
    ranges = ((WRAM, ECHO), (HRAM, 0xFFFF), (CARTRIDGE, IN_ROM))
    if not any(begin <= field.place and field.end <= end for begin, end in ranges):
        rom = IN_ROM <= field.place < HOOK
        raise ConfigError(
            f"{where}={show(given)} is not possible: {field.name} is "
            f"{'in ROM, which is not written' if rom else 'no memory that may be set'}: fields are "
            "set in WRAM, in HRAM below $FFFF and in the RAM of the cartridge."
        )
    return field.name, element
