"""Fields of a RAM map: numbers in a program's memory (docs/gameboy.md, 20.1)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastenv.errors import ConfigError, show
from fastenv.gameboy.expressions import COUNT, LEAST, MOST, SUM, WORDS, wrap
from fastenv.gameboy.state import Form, Place, Source
from fastenv.gameboy.tables import (
    CART_RAM,
    ECHO,
    HIGH,
    HRAM,
    OAM,
    RAM_BANK,
    ROM_BANK,
    UNUSABLE,
    VRAM,
    WRAM,
)

TYPES = re.compile(r"(?P<order>[<>|]?)(?P<form>[uidn])(?P<size>[1-8])")
FORMS = {"u": Form.UNSIGNED, "i": Form.SIGNED, "d": Form.BCD, "n": Form.DIGITS}
BIT = "bit"
BANKS = 16  # of RAM, the most that a cartridge has
ROM_BANKS = 512  # the most that a cartridge has
MAX_COUNT = 1 << 16
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
NAMES = "1 to 64 of A to Z, a to z, 0 to 9 and _, the first one no digit"
# Name in the memory of a RAM map -> its bytes.
PLACES = {
    "map": (Place.MAP,),
    "x": (Place.X,),
    "y": (Place.Y,),
    "facing": (Place.FACING,),
    "dialogue": (Place.DIALOGUE,),
    "items": (Place.ITEMS,),
    "steps": (Place.STEPS_LOW, Place.STEPS_HIGH),
    "stage": (Place.STAGE,),
    "done": (Place.DONE,),
}
_KNOWN = (
    *("address", "type", "bank", "bit", "count", "stride", "mask", "info"),
    *("names", "range", "label"),
)
MAX_LABEL = 200  # characters
_ADDRESSES = (
    "an address of ROM, $0000 to $7FFF, of VRAM, $8000 to $9FFF, of the cartridge's RAM, $A000 to "
    "$BFFF, of WRAM, $C000 to $DFFF, of OAM, $FE00 to $FE9F, or of page $FF, such as '$C0A0', or a "
    "label of the map's symbols"
)

ReadByte = Callable[[int], int]
"""Returns the byte at a place: an address; or, behind ``CARTRIDGE``, one of the cartridge's RAM;
behind ``IN_ROM`` of the ROM, behind ``CONSTANT`` of the map's constants, behind ``HOOK`` of what
hooks have counted."""

CARTRIDGE = 1 << 16
IN_ROM = 1 << 20
CONSTANT = 1 << 24
HOOK = 1 << 28
# Memories that a field stays in, from the first place of each to the one behind its last.
_MEMORIES = (
    *((VRAM, CART_RAM), (WRAM, ECHO), (OAM, UNUSABLE), (HIGH, HIGH + 0x100)),
    (CARTRIDGE, CARTRIDGE + BANKS * RAM_BANK),
    (IN_ROM, IN_ROM + ROM_BANKS * ROM_BANK),
)
REDUCTIONS: dict[int, Callable[[list[int]], int]] = {
    SUM: lambda numbers: wrap(sum(numbers)),
    COUNT: lambda numbers: sum(each != 0 for each in numbers),
    LEAST: min,
    MOST: max,
}


@dataclass(frozen=True)
class RamField:
    """A number in memory, or a table of them.

    Parameters
    ----------
    name : str
    place : int
        The address of the first byte; of the cartridge's RAM ``CARTRIDGE`` and where it is there,
        bank by bank; of the ROM the same with ``IN_ROM``, of constants with ``CONSTANT``, of hooks
        with ``HOOK``.
    form : Form
    size : int
        Bytes of a number.
    big : bool
        Whether the high byte comes first.
    count : int
        Elements of a table; 0 for a single number.
    stride : int
        From one to the next, in bytes, or in bits where they are bits.
    bit : int
        Of the first, where they are bits.
    mask : int
        Which bits of a number count; -1 for all.
    info : bool
        Whether it is a column of the info.
    limits : (int, int), optional
        Its lowest and highest number, where the file says them.
    """

    name: str
    place: int
    form: Form = Form.UNSIGNED
    size: int = 1
    big: bool = False
    count: int = 0
    stride: int = 1
    bit: int = 0
    mask: int = -1
    info: bool = True
    limits: tuple[int, int] | None = None

    @property
    def end(self) -> int:
        """Where the byte behind its last one is."""
        steps = max(self.count, 1) - 1
        if self.form == Form.BIT:
            return self.place + (self.bit + steps * self.stride) // 8 + 1
        return self.place + steps * self.stride + self.size

    @property
    def source(self) -> Source:
        """Where its bytes are."""
        if IN_ROM <= self.place < HOOK:
            return Source.ROM
        return Source.REGISTERS if HIGH <= self.place < HRAM else Source.ROW

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its column: the smallest that holds all of its numbers."""
        low, high = self._bounds()
        names = ("i1", "i2", "i4") if low < 0 else ("u1", "u2", "u4")
        for name in names:
            if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
                return np.dtype(name)
        return np.dtype("i8")

    @property
    def scale(self) -> tuple[int, int]:
        """The numbers that an observation shows as 0 and as 1."""
        return self._bounds() if self.limits is None else self.limits

    def _bounds(self) -> tuple[int, int]:
        bits = 8 * self.size
        low, high = {
            Form.UNSIGNED: (0, 2**bits - 1),
            Form.SIGNED: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1),
            Form.BCD: (0, 100**self.size - 1),
            Form.DIGITS: (0, 10**self.size - 1),
            Form.BIT: (0, 1),
        }[self.form]
        if self.mask < 0:
            return low, high
        return 0, self.mask if low < 0 else min(self.mask, high)

    def element(self, name: str, number: int) -> RamField:
        """Return an element of a table as a field of its own, a column of the info."""
        more: dict[str, Any] = {"place": self.place + number * self.stride}
        if self.form == Form.BIT:
            byte, bit = divmod(self.bit + number * self.stride, 8)
            more = {"place": self.place + byte, "bit": bit}
        stride = 1 if self.form == Form.BIT else self.size
        return replace(self, name=name, count=0, stride=stride, info=True, **more)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its column."""
        return (self.count,) if self.count else ()

    def number(self, read: ReadByte, element: int = 0) -> int:
        """Return a number, or what those of a table come to (``REDUCTIONS``); 64 bits."""
        if element in REDUCTIONS:
            return REDUCTIONS[element]([self.number(read, k) for k in range(self.count)])
        if self.form == Form.BIT:
            byte, bit = divmod(self.bit + element * self.stride, 8)
            return read(self.place + byte) >> bit & 1
        begin = self.place + element * self.stride
        parts = [read(begin + k) for k in range(self.size)]
        return wrap(self._number(parts if self.big else parts[::-1]) & self.mask)

    def _number(self, parts: list[int]) -> int:
        """Return the number of some bytes, the high one first."""
        if self.form == Form.BCD:
            return _joined([10 * ((byte >> 4) % 10) + (byte & 15) % 10 for byte in parts], 100)
        if self.form == Form.DIGITS:
            return _joined([(byte & 15) % 10 for byte in parts], 10)
        return int.from_bytes(bytes(parts), "big", signed=self.form == Form.SIGNED)

    def record(self, offset: int, info_at: int) -> tuple[int, ...]:
        """Return it as ``FIELD_DTYPE``, from where it is in its source and in the columns."""
        count, size = max(self.count, 1), self.dtype.itemsize
        head = (self.mask, offset, count, self.stride, self.bit, self.size)
        return (*head, self.form, self.big, info_at, size, self.source)


def _joined(digits: list[int], base: int) -> int:
    number = 0
    for digit in digits:
        number = number * base + digit
    return number


# -- the door for files ----------------------------------------------------------------------------


def read_fields(given: Any, where: str, taken: Mapping[str, str]) -> dict[str, RamField]:
    """Return the fields of a file.

    Parameters
    ----------
    given : object
        What the file has.
    where : str
        The file, for a message.
    taken : mapping of str to str
        Names that a column of the info cannot have, and what they are.

    Raises
    ------
    ConfigError
        Naming the field and what is allowed.
    """
    if not isinstance(given, dict):
        raise ConfigError(f"{where}: fields={show(given)} must be an object of names and fields.")
    found: dict[str, RamField] = {}
    known = dict.fromkeys(given, "it is a field")
    for name, entry in given.items():
        check_name(name, f"{where}: fields", {})
        found[name] = field = read_field(name, entry, f"{where}: fields.{name}")
        for own, number in _names(entry, field, f"{where}: fields.{name}").items():
            check_name(own, f"{where}: fields", known)
            found[own] = field.element(own, number)
            known[own] = "it is a field"
    for name, field in found.items():
        if field.info and name in taken:
            raise ConfigError(
                f'{where}: fields.{name}: {taken[name]}: choose another name, or "info": false.'
            )
    return found


def _names(entry: dict[str, Any], field: RamField, where: str) -> dict[str, int]:
    """Return the elements of a table that have names of their own."""
    given = entry.get("names", {})
    if not isinstance(given, dict) or (given and not field.count):
        raise ConfigError(
            f"{where}.names={show(given)} must be an object of names and numbers of elements, of a "
            "field with a count."
        )
    return {name: read_integer(given, name, f"{where}.names", 0, field.count - 1) for name in given}


def check_name(name: str, where: str, taken: Mapping[str, str]) -> None:
    """Refuse the name of something in expressions that is none, or that something else has."""
    if not NAME.fullmatch(name) or name in WORDS:
        raise ConfigError(
            f"{where}: {show(name)} is no name: it must be {NAMES}, and no word of expressions."
        )
    if name in taken:
        raise ConfigError(f"{where}.{name}: {taken[name]}: choose another name.")


def name_elements(name: str, count: int) -> str:
    """Return what may be named of a field with so many elements, for a message."""
    if not count:
        return f"{name!r}, a single number"
    return f"{name!r}, or one of its elements, {name}[0] to {name}[{count - 1}]"


def read_field(name: str, entry: Any, where: str) -> RamField:
    """Return a field of a file; ``where`` names it in messages."""
    if not isinstance(entry, dict) or not {"address", "type"} <= {*entry}:
        raise ConfigError(f"{where}={show(entry)} must be an object with address and type.")
    check_keys(entry, where, _KNOWN)
    form, size, big = read_type(entry["type"], f"{where}.type")
    is_bit = form == Form.BIT
    count = 0
    if "count" in entry:
        count = read_integer(entry, "count", where, 1, MAX_COUNT)
    stride = read_integer(entry, "stride", where, 1, MAX_COUNT, 1 if is_bit else size)
    for key, allowed in (("bit", is_bit), ("mask", not is_bit), ("stride", count)):
        if key in entry and not allowed:
            only = {"bit": "bits", "mask": "numbers", "stride": "fields with a count"}[key]
            raise ConfigError(f"{where}.{key}={show(entry[key])}: only {only} have one.")
    mask = read_integer(entry, "mask", where, 1, largest_mask(form, size), -1)
    info = entry.get("info", True)
    if not isinstance(info, bool):
        raise ConfigError(f"{where}.info={show(info)} must be true or false.")
    bit = read_integer(entry, "bit", where, 0, 7, 0)
    place = _place(entry, where)
    label = entry.get("label", "")
    if not isinstance(label, str) or len(label) > MAX_LABEL:
        raise ConfigError(
            f"{where}.label={show(label)} must be text of at most {MAX_LABEL} characters."
        )
    limits = read_range(entry, where)
    field = RamField(name, place, form, size, big, count, stride, bit, mask, info, limits)
    _check_end(field, where)
    return field


def check_keys(given: Collection[str], where: str, known: Collection[str]) -> None:
    """Refuse an object of a file with a key that is not known."""
    for key in given:
        if key not in known:
            raise ConfigError(f"{where}: {show(key)} is not known: there are {', '.join(known)}.")


def read_type(given: Any, where: str) -> tuple[Form, int, bool]:
    """Return form, bytes and order of a type, such as ``<u2`` or ``bit``."""
    if given == BIT:
        return Form.BIT, 1, False
    found = TYPES.fullmatch(given) if isinstance(given, str) else None
    if found is None or (int(found["size"]) > 1 and found["order"] not in ("<", ">")):
        raise ConfigError(
            f"{where}={show(given)} must be 'bit', or u, i, d or n (unsigned, signed, BCD, one "
            "digit a byte) and 1 to 8 bytes, with < (low byte first) or > (high byte first) where "
            "there are several, such as 'u1' or '<u2'."
        )
    return FORMS[found["form"]], int(found["size"]), found["order"] == ">"


def read_address(value: Any) -> int | None:
    """Return an address given as a number or as "$C100", None if it is none."""
    if isinstance(value, str) and re.fullmatch(r"\$[0-9A-Fa-f]{1,4}", value):
        return int(value[1:], 16)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def largest_mask(form: Form, size: int) -> int:
    """Return the largest mask of a number: all bits of its bytes, without the sign of 64."""
    return int(min(2 ** (8 * size) - 1, 2**63 - 1))


def _place(entry: dict[str, Any], where: str) -> int:
    address = read_address(entry["address"])
    if address is not None:
        if CART_RAM <= address < WRAM:
            bank = read_integer(entry, "bank", where, 0, BANKS - 1, 0)
            return CARTRIDGE + bank * RAM_BANK + address - CART_RAM
        if ROM_BANK <= address < VRAM:
            bank = read_integer(entry, "bank", where, 0, ROM_BANKS - 1, 1)
            return IN_ROM + bank * ROM_BANK + address - ROM_BANK
        if 0 <= address < ROM_BANK or any(begin <= address < end for begin, end in _MEMORIES[:4]):
            if "bank" in entry:
                raise ConfigError(
                    f"{where}.bank: only $A000 to $BFFF and $4000 to $7FFF have banks."
                )
            return IN_ROM + address if address < ROM_BANK else address
    raise ConfigError(f"{where}.address={show(entry['address'])} must be {_ADDRESSES}.")


def read_range(entry: Mapping[str, Any], where: str) -> tuple[int, int] | None:
    """Return the lowest and the highest number that an entry says, None if it says none."""
    given = entry.get("range")
    if given is None and "range" not in entry:
        return None
    if isinstance(given, list) and len(given) == 2:
        low, high = given
        if all(type(end) is int and abs(end) < 2**53 for end in given) and low < high:
            return low, high
    raise ConfigError(
        f"{where}.range={show(given)} must be two integers below 2**53, the lower one first."
    )


def _check_end(field: RamField, where: str) -> None:
    """Refuse what goes on behind the memory in which it begins; see Common for cartridges."""
    for begin, end in _MEMORIES:
        if begin <= field.place < end < field.end:
            more = field.end - end
            size = f"{more:,} byte{'s' * (more > 1)}"
            raise ConfigError(f"{where} ends {size} behind the memory in which it begins.")


def read_integer(
    entry: Mapping[str, Any], key: str, where: str, low: int, high: int, default: int | None = None
) -> int:
    """Return an entry that is a whole number, or its default; "$0F" counts too."""
    value = entry.get(key, default)
    if value == default and key not in entry and default is not None:
        return default
    number = value
    if isinstance(value, str) and re.fullmatch(r"\$[0-9A-Fa-f]{1,16}", value):
        number = int(value[1:], 16)
    if isinstance(number, int) and not isinstance(number, bool) and low <= number <= high:
        return number
    raise ConfigError(f"{where}.{key}={show(value)} must be an integer from {low} to {high}.")
