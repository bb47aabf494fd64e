"""What a RAM map remembers from step to step: running numbers, and sets of keys.

All of it is in the row (docs/gameboy.md, 20.2). A set is a table with open addressing: a key is
looked for from a slot on that follows from it, slot by slot, to the first one that is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastenv.errors import ConfigError, show
from fastenv.gameboy.expressions import Cell, Expression, Load, Scope, evaluate, parse, wrap
from fastenv.gameboy.ram_fields import check_keys, check_name, read_integer
from fastenv.gameboy.state import MAX_VISITS, Cells
from fastenv.rng import GOLDEN_GAMMA

MAX_NUMBERS = 8  # of a key
MAX_CAPACITY = 1 << 16
MAX_MEMORY = 1 << 22  # bytes of a lane
_HEAD, _SLOT = 8, 10  # bytes of a set and of each of its slots
_KNOWN = ("key", "capacity", "when")

Values = dict[Load | Cell, int]


@dataclass(frozen=True)
class KeySet:
    """A set of keys.

    Parameters
    ----------
    name : str
    key : tuple of Expression
        Its numbers.
    capacity : int
        Most keys that it has.
    when : Expression or None
        What is not 0 in steps that have a key; None: all have one.
    """

    name: str
    key: tuple[Expression, ...]
    capacity: int
    when: Expression | None = None

    @property
    def parts(self) -> tuple[Expression, ...]:
        """All its expressions."""
        return self.key if self.when is None else (*self.key, self.when)

    @property
    def slots(self) -> int:
        """Slots of the table: five for four keys, and a multiple of four."""
        return (self.capacity + self.capacity // 4 + 4) // 4 * 4

    @property
    def bytes(self) -> int:
        """Bytes in the row."""
        return _HEAD + _SLOT * self.slots

    def packed(self, numbers: list[int]) -> int:
        """Return a key in 64 bits, of which each of its numbers has as many."""
        width = 64 // len(numbers)
        return sum(number % 2**width << k * width for k, number in enumerate(numbers))


class Table:
    """The keys of a set, and how often each came.

    Parameters
    ----------
    of : KeySet

    Attributes
    ----------
    size : int
        Keys.
    lost : int
        Steps whose key had no room.
    keys, counts : list of int
        Of each slot; a count of 0: it is empty.
    """

    size: int
    lost: int
    keys: list[int]
    counts: list[int]

    def __init__(self, of: KeySet) -> None:
        self.of = of
        self.clear()

    def clear(self) -> None:
        """Forget all keys."""
        self.size = self.lost = 0
        self.keys, self.counts = [0] * self.of.slots, [0] * self.of.slots

    def visit(self, key: int) -> int:
        """Count a key; return how often it came, 0 if there was no room for it."""
        slots = self.of.slots
        at = (key * GOLDEN_GAMMA % 2**64 >> 32) * slots >> 32
        for _ in range(slots):
            if self.counts[at] == 0:
                if self.size >= self.of.capacity:
                    break
                self.keys[at], self.counts[at] = key, 1
                self.size += 1
                return 1
            if self.keys[at] == key:
                self.counts[at] = min(self.counts[at] + 1, MAX_VISITS)
                return self.counts[at]
            at = (at + 1) % slots
        self.lost = (self.lost + 1) % 2**32
        return 0


class Memory:
    """What is remembered in a lane.

    Parameters
    ----------
    cells : tuple of Cell
        Numbers, in the order in which they are made: what one is made of comes before it.
    sets : tuple of KeySet

    Attributes
    ----------
    numbers : list of int
        Of each cell.
    tables : dict of str to Table
        By the name of the set.
    """

    def __init__(self, cells: tuple[Cell, ...] = (), sets: tuple[KeySet, ...] = ()) -> None:
        self.cells: tuple[Cell, ...] = cells
        self.sets: dict[str, KeySet] = {each.name: each for each in sets}
        self.numbers: list[int] = [0] * len(cells)
        self.tables: dict[str, Table] = {each.name: Table(each) for each in sets}

    def values(self) -> Values:
        """Return the remembered numbers by cell."""
        return dict(zip(self.cells, self.numbers, strict=True))

    def begin(self, now: Values) -> None:
        """Forget all, and look at the start state of an episode."""
        for table in self.tables.values():
            table.clear()
        self._look(now, now, first=True)

    def look(self, before: Values, now: Values) -> None:
        """Look at what a step has brought, and add to it what is remembered now."""
        self._look(before, now, first=False)

    def _look(self, before: Values, now: Values, first: bool) -> None:
        for k, cell in enumerate(self.cells):
            number = self._number(cell, before, now)
            if cell.kind == Cells.MOST and not first:
                number = max(self.numbers[k], number)
            elif cell.kind == Cells.SUM and not first:
                number = wrap(self.numbers[k] + number)
            self.numbers[k] = now[cell] = number

    def _number(self, cell: Cell, before: Values, now: Values) -> int:
        """Compute the number that a step gives to a cell."""
        if cell.kind == Cells.VISITS:
            return self._visits(self.sets[cell.key], before, now)
        if cell.kind == Cells.SIZE:
            return self.tables[cell.key].size
        return evaluate(cell.of, now, before)

    def _visits(self, of: KeySet, before: Values, now: Values) -> int:
        if of.when is not None and evaluate(of.when, now, before) == 0:
            return 0
        return self.tables[of.name].visit(of.packed([evaluate(x, now, before) for x in of.key]))

    @property
    def lost(self) -> int:
        """Steps of this episode whose key had no room in its set."""
        return min(sum(table.lost for table in self.tables.values()), 2**31 - 1)

    def pack(self) -> bytes:
        """Return the bytes of a row."""
        parts = [np.array(self.numbers, "<i8").tobytes()]
        for table in self.tables.values():
            parts.append(np.array([table.size, table.lost], "<u4").tobytes())
            parts.append(np.array(table.keys, "<u8").tobytes())
            parts.append(np.array(table.counts, "<u2").tobytes())
        return b"".join(parts)

    def unpack(self, row: bytes) -> None:
        """Take the bytes of a row."""
        at = 8 * len(self.cells)
        self.numbers = np.frombuffer(row[:at], "<i8").tolist()
        for table in self.tables.values():
            slots = table.of.slots
            table.size, table.lost = np.frombuffer(row, "<u4", 2, at).tolist()
            table.keys = np.frombuffer(row, "<u8", slots, at + _HEAD).tolist()
            table.counts = np.frombuffer(row, "<u2", slots, at + _HEAD + 8 * slots).tolist()
            at += table.of.bytes


def memory_bytes(cells: tuple[Cell, ...], sets: tuple[KeySet, ...]) -> int:
    """Return the bytes of a row that hold what is remembered."""
    return 8 * len(cells) + sum(each.bytes for each in sets)


def wrong_memory(
    rows: np.ndarray[Any, Any], cells: tuple[Cell, ...], sets: tuple[KeySet, ...]
) -> Iterator[tuple[str, Any, str]]:
    """Check ``memory`` of rows: sets have as many keys as they say, and room for them."""
    at = 8 * len(cells)
    memory = np.ascontiguousarray(rows["memory"])
    for of in sets:
        size = memory[:, at : at + 4].copy().view("<u4")[:, 0]
        counts = memory[:, at + _HEAD + 8 * of.slots : at + of.bytes].copy().view("<u2")
        yield "memory", size > of.capacity, f"sets.{of.name} must have at most {of.capacity:,} keys"
        found = (counts != 0).sum(axis=1)
        yield "memory", size != found, f"sets.{of.name} must have as many keys as it says"
        at += of.bytes


# -- the door for files ----------------------------------------------------------------------------


def read_sets(
    given: Any, where: str, fields: Mapping[str, int], taken: Mapping[str, str]
) -> tuple[KeySet, ...]:
    """Return the sets of a file.

    Parameters
    ----------
    given : object
        What the file has.
    where : str
        The file, for a message.
    fields : mapping of str to int
        Elements of each field.
    taken : mapping of str to str
        Names that a set cannot have, and what they are.

    Raises
    ------
    ConfigError
        Naming the set and what is allowed.
    """
    if not isinstance(given, dict):
        raise ConfigError(f"{where}: sets={show(given)} must be an object of names and sets.")
    found: dict[str, KeySet] = {}
    keys: dict[str, tuple[Expression, ...]] = {}
    scope, total = Scope(keys), 0
    for name, entry in given.items():
        here = f"{where}: sets.{name}"
        check_name(name, f"{where}: sets", taken)
        if not isinstance(entry, dict) or not {"key", "capacity"} <= {*entry}:
            raise ConfigError(f"{here}={show(entry)} must be an object with key and capacity.")
        check_keys(entry, here, _KNOWN)
        key = entry["key"]
        if not isinstance(key, list) or not 1 <= len(key) <= MAX_NUMBERS:
            raise ConfigError(
                f"{here}.key={show(key)} must be a list of 1 to {MAX_NUMBERS} expressions."
            )
        parsed = tuple(parse(text, f"{here}.key[{k}]", fields, scope) for k, text in enumerate(key))
        when = None
        if "when" in entry:
            when = parse(entry["when"], f"{here}.when", fields, scope)
        capacity = read_integer(entry, "capacity", here, 1, MAX_CAPACITY)
        found[name], keys[name] = KeySet(name, parsed, capacity, when), parsed
        total += found[name].bytes
        if total > MAX_MEMORY:
            raise ConfigError(
                f"{here}.capacity={capacity} is not possible: sets take {total / 2**20:.1f} MiB of "
                f"each lane so far, at most {MAX_MEMORY >> 20} are allowed."
            )
    return tuple(found.values())
