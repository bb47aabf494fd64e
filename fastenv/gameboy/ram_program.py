"""Fields, rewards and ends of a RAM map, read from its file and compiled (docs/gameboy.md, 20.1).

The columns of a state, the terms of the reward and what ends an episode are data: tables that all
backends read from the shared record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, FileError, list_names, show, with_nearest
from fastenv.files import read_json, show_path
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.expressions import (
    EACH,
    LARGEST,
    SUM,
    Cell,
    Expression,
    Load,
    Scope,
    Step,
    evaluate,
    parse,
)
from fastenv.gameboy.layout import INFO, TERMS
from fastenv.gameboy.ram_fields import (
    CONSTANT,
    HOOK,
    MAX_COUNT,
    NAME,
    NAMES,
    PLACES,
    REDUCTIONS,
    RamField,
    ReadByte,
    check_keys,
    check_name,
    read_fields,
    read_integer,
    read_range,
)
from fastenv.gameboy.ram_hooks import (
    ENDED,
    LATCH,
    TRAP,
    WRITES,
    Hook,
    Write,
    read_hooks,
    read_writes,
    set_traps,
)
from fastenv.gameboy.ram_memory import KeySet, Memory, Values, memory_bytes, read_sets
from fastenv.gameboy.shipped import not_read, shipped
from fastenv.gameboy.state import (
    CELL_DTYPE,
    FIELD_DTYPE,
    HOOK_DTYPE,
    LOAD_DTYPE,
    MAX_LOADS,
    SET_DTYPE,
    STEP_DTYPE,
    TERM_DTYPE,
    TRAP_DTYPE,
    WRITE_DTYPE,
    Cells,
    Form,
    Op,
    Source,
)
from fastenv.gameboy.symbols import with_addresses
from fastenv.gameboy.tables import ROM_BANK
from fastenv.spec import RESERVED

Array = npt.NDArray[Any]
# Maps of ours: that of Lantern Walk is the data file of its ROM.
MAPS = {
    "lantern_walk": ("roms", "lantern_walk.json"),
    "lantern_walk_flags": ("roms", "lantern_walk_flags.json"),
    "lantern_walk_quest": ("data", "maps", "lantern_walk_quest.json"),
    "libbet": ("data", "maps", "libbet.json"),
    "duel": ("data", "maps", "duel.json"),
    "parcel": ("data", "maps", "parcel.json"),
    "pokemon_red": ("data", "maps", "pokemon_red.json"),
    "pokemon_red_hooks": ("data", "maps", "pokemon_red_hooks.json"),
    "pokemon_red_parcel": ("data", "maps", "pokemon_red_parcel.json"),
    "pokemon_yellow": ("data", "maps", "pokemon_yellow.json"),
}
ENDS = ("terminated", "truncated")
MAX_REWARDS = 64
MAX_WEIGHT = 1e6
MAX_CONSTANTS = 1 << 18
LOST = "lost_keys"  # column of the info: of sets that were full
_LARGEST = 1 << 20  # bytes of a file
_PARTS = ("fields", "constants", "hooks", "sets", "numbers", "rewards", "ends", "writes")
EXTENDS = "extends"
_DEPTH = 8  # maps that extend one another
_ABOUT = ("about", "rom_sha256", "roms", EXTENDS, "symbols", "place")
_KNOWN = (*_ABOUT, *_PARTS, "memory", "events", "size")
_MERGED = (*_PARTS, "memory")  # parts whose entries are added to those of a map that is extended
_REMEMBERED, _PRODUCTS = -6, -7  # in place of the number of an element; see LOAD_DTYPE
_EVENTS = ("address", "bits", "rewarded")


@dataclass(frozen=True)
class Number:
    """An expression that has a name.

    Parameters
    ----------
    name : str
    value : tuple of Step
    info : bool
        Whether it is a column of the info.
    limits : (int, int), optional
        What an observation shows as 0 and as 1.
    """

    name: str
    value: Expression
    info: bool = True
    limits: tuple[int, int] | None = None


@dataclass(frozen=True)
class Program:
    """What a RAM map says of a game.

    Parameters
    ----------
    fields : tuple of RamField
        Constants are among them.
    rewards : tuple of (str, float, Expression)
        Name, weight and expression of each term.
    ends : dict of str to Expression
        By "terminated" and "truncated"; what is not 0 ends the episode.
    roms : dict of str to str
        ROMs that it is for, by SHA-1 or SHA-256: what each is called. Empty: any.
    constants : bytes
        Eight each, the low one first.
    sets : tuple of KeySet
    numbers : tuple of Number
    hooks : tuple of Hook
        Their numbers are among the fields.
    writes : tuple of Write
        Those that the file has; or, of a program that is used, those that are on.
    waits : Expression, optional
        What is 0 while a step lasts on.
    """

    fields: tuple[RamField, ...]
    rewards: tuple[tuple[str, float, Expression], ...] = ()
    ends: dict[str, Expression] | None = None
    roms: Mapping[str, str] = field(default_factory=dict)
    constants: bytes = b""
    sets: tuple[KeySet, ...] = ()
    numbers: tuple[Number, ...] = ()
    hooks: tuple[Hook, ...] = ()
    writes: tuple[Write, ...] = ()
    waits: Expression | None = None

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """What is looked at after a step: the rewards, the numbers, and the ends."""
        ends = self.ends or {}
        paid = (each[2] for each in self.rewards)
        last = (ends[name] for name in ENDS if name in ends)
        return (*paid, *(number.value for number in self.numbers), *last)

    @property
    def wait_term(self) -> int:
        """Which term is 0 while a step lasts on."""
        return len(self.expressions)

    def is_over(self, read: ReadByte) -> bool:
        """Tell whether the condition that a step waits for holds; true without a condition."""
        now = _Elements(self, read)
        return self.waits is None or evaluate(self.waits, now, now) != 0

    def end(self, name: str) -> int:
        """Return which expression says that an episode ends so, -1 if none does."""
        ends = [each for each in ENDS if each in (self.ends or {})]
        before = len(self.rewards) + len(self.numbers)
        return before + ends.index(name) if name in ends else -1

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """What is remembered; what one is made of comes before it."""
        found: dict[Cell, None] = {}

        def note(expression: Expression) -> None:
            for step in expression:
                if isinstance(step.load, Cell) and step.load not in found:
                    note(step.load.of)
                    found[step.load] = None

        for of in self.sets:
            for each in of.parts:
                note(each)
            found[Cell(Cells.VISITS, key=of.name)] = None
        for each in self.expressions:
            note(each)
        return tuple(found)

    @cached_property
    def _inner(self) -> tuple[Expression, ...]:
        """Expressions of cells and of sets."""
        parts = (each for of in self.sets for each in of.parts)
        return (*(cell.of for cell in self.cells if cell.of), *parts)

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """What is read from memory before and after a step, each once."""
        return _loads_of((*self.expressions, *self._inner))

    @cached_property
    def loads_at_once(self) -> tuple[Load, ...]:
        """What else is read, when it is needed."""
        written = _loads_of(each for write in self.writes for each in write.parts)
        own = (*written, *_loads_of(() if self.waits is None else (self.waits,)))
        each = _loads_of(load.each for load in (*self.loads, *own))
        found = dict.fromkeys((*own, *each))
        return tuple(load for load in found if load not in self.loads)

    @property
    def memory_bytes(self) -> int:
        """Bytes of a row that hold what is remembered."""
        return memory_bytes(self.cells, self.sets)

    @property
    def counted_bytes(self) -> int:
        """Bytes of a row that hold what hooks have counted, and how often fields were set."""
        return 4 * (len(self.hooks) + bool(self.writes))

    def with_writes(self, names: Collection[str] | str, where: str) -> Program:
        """Return the program with these of its writes, or ``"all"``.

        Raises
        ------
        ConfigError
            If there is no such write; ``where`` names the map.
        """
        known = [write.name for write in self.writes]
        names = known if names == "all" else names
        for name in names:
            if name not in known:
                message = f"writes={show(name)} is not possible: {where} has {_listed(known)}."
                raise ConfigError(with_nearest(message, name, known))
        chosen = tuple(write for write in self.writes if write.name in names)
        made = replace(self, writes=chosen)
        if not chosen:
            return made
        if WRITES in self.by_name or WRITES in (self.info_dtype("pixels").names or ()):
            raise ConfigError(
                f"{where}: {WRITES} is the column that counts writes: choose another name."
            )
        count = RamField(WRITES, HOOK + 4 * len(self.hooks), Form.UNSIGNED, 4)
        return replace(made, fields=(*self.fields, count))

    @property
    def looks(self) -> bool:
        """Whether anything is looked at after a step."""
        return bool(self.expressions or self.cells)

    @cached_property
    def by_name(self) -> dict[str, RamField]:
        """The fields by name."""
        return {field.name: field for field in self.fields}

    @property
    def weights(self) -> tuple[float, ...]:
        """What the numbers of the rewards are multiplied by."""
        return tuple(weight for _, weight, _ in self.rewards)

    # -- in plain Python --

    def read(self, read: ReadByte) -> Values:
        """Read the value of every load of the expressions from memory."""
        return {load: self.number(read, load) for load in self.loads}

    def number(self, read: ReadByte, load: Load, element: int = 0) -> int:
        """Read the number of a load; ``element`` is the index where it takes each element."""
        of = self.by_name[load.field]
        if load.element == EACH:
            return of.number(read, element)
        if not load.each:
            return of.number(read, load.element)
        found = [evaluate(load.each, _Elements(self, read, element)) for element in range(of.count)]
        return REDUCTIONS[load.element](found)

    def value(self, read: ReadByte, expression: Expression, draw: Callable[[int], int]) -> int:
        """Evaluate an expression within a step."""
        return evaluate(expression, _Elements(self, read), None, draw)

    def memory(self) -> Memory:
        """Build the memory of a lane as it is before its first episode."""
        return Memory(self.cells, self.sets)

    def values(self, before: Values, now: Values) -> list[int]:
        """Evaluate the expressions of rewards, numbers and ends after a step."""
        return [evaluate(each, now, before) for each in self.expressions]

    def first_values(self, now: Values) -> list[int]:
        """Return the rewards, 0, and numbers of a start state."""
        numbers = [evaluate(number.value, now, now) for number in self.numbers]
        return [0] * len(self.rewards) + numbers

    @property
    def num_values(self) -> int:
        """How many rewards and numbers there are."""
        return len(self.rewards) + len(self.numbers)

    def columns(self, read: ReadByte, values: list[int], memory: Memory) -> tuple[Any, ...]:
        """Return the columns of the info: fields, numbers, and what sets had no room for."""
        fields = (
            [field.number(read, k) for k in range(field.count)]
            if field.count
            else field.number(read)
            for field in self.shown
        )
        named = zip(self.numbers, values[len(self.rewards) :], strict=True)
        numbers = (value for number, value in named if number.info)
        return (*fields, *numbers, *([memory.lost] if self.sets else []))

    # -- as data --

    @property
    def shown(self) -> tuple[RamField, ...]:
        """The fields that are columns of the info."""
        return tuple(field for field in self.fields if field.info)

    def info_dtype(self, kind: str) -> np.dtype[Any]:
        """Return the columns of a state: those of the kind, then fields and numbers."""
        own: list[Any] = [(name, INFO[kind][name]) for name in INFO[kind].names or ()]
        own += [(field.name, field.dtype, field.shape) for field in self.shown]
        own += [(number.name, "i8") for number in self.numbers if number.info]
        own += [(LOST, "i4")] if self.sets else []
        return np.dtype(own, align=True)

    def terms_dtype(self, kind: str) -> np.dtype[Any]:
        """Return the terms of the reward: those of the kind, then one a reward."""
        own = [(name, "f8") for name in TERMS[kind].names or ()]
        return np.dtype([*own, *((f"reward_{name}", "f8") for name, _, _ in self.rewards)])

    def tables(
        self, kind: str, offset_of: Callable[[RamField], int], memory_at: int
    ) -> dict[str, Array]:
        """Return fields, loads, steps, terms, cells and sets as records.

        Parameters
        ----------
        kind : str
            Of the environment.
        offset_of : callable
            Gives where in its source a field begins.
        memory_at : int
            Where in the row is what is remembered.
        """
        columns: Any = self.info_dtype(kind).fields
        fields = [
            field.record(offset_of(field), columns[field.name][1] if field.info else -1)
            for field in self.fields
        ]
        written = _Terms(self)
        weights = [*self.weights, *(1.0 for _ in self.expressions[len(self.rewards) :])]
        shown = {
            len(self.rewards) + k: columns[number.name][1]
            for k, number in enumerate(self.numbers)
            if number.info
        }
        for k, (weight, each) in enumerate(zip(weights, self.expressions, strict=True)):
            written.add(each, weight, shown.get(k, -1))
        if self.waits is not None:
            written.add(self.waits)
        sets, at = [], memory_at + 8 * len(self.cells)
        for of in self.sets:
            key = [written.add(each) for each in of.key]
            when = -1 if of.when is None else written.add(of.when)
            sets.append((at, of.slots, of.capacity, key[0], len(key), when))
            at += of.bytes
        names = [of.name for of in self.sets]
        cells = [
            (
                cell.kind,
                written.add(cell.of) if cell.of else names.index(cell.key),
                written.number_of.get(cell, -1),
            )
            for cell in self.cells
        ]
        writes = [
            (
                written.fields[write.field],
                write.element,
                written.add(write.to),
                -1 if write.when is None else written.add(write.when),
                write.on,
            )
            for write in self.writes
        ]
        hooks = [(hook.place, hook.address, hook.do == LATCH) for hook in self.hooks]
        watched = np.zeros(8 * 0x2000, np.uint8)
        watched[[hook.address for hook in self.hooks if hook.address >= 0]] = 1
        loads = [written.load(each) for each in written.number_of]
        return {
            "fields": np.array(fields, FIELD_DTYPE),
            "loads": np.array(loads, LOAD_DTYPE),
            "steps": np.array(written.steps, STEP_DTYPE),
            "terms": np.array(written.terms, TERM_DTYPE),
            "cells": np.array(cells, CELL_DTYPE),
            "sets": np.array(sets, SET_DTYPE),
            "hooks": np.array(hooks, HOOK_DTYPE),
            "writes": np.array(writes, WRITE_DTYPE),
            "watched": np.packbits(watched, bitorder="little")[: 0x2000 * watched.any()],
        }

    def trapped(self, rom: bytes) -> bytes:
        """Return a ROM with traps for its hooks; nothing where none is at an instruction."""
        places = [hook.place for hook in self.hooks if hook.place >= 0]
        return set_traps(rom, places) if places else b""

    def traps(self, rom: bytes, trapped: bytes) -> np.ndarray:
        """Return what is known of traps, by the low byte of their place.

        One that shares it with an earlier one, or has several hooks, is not in the table.

        Parameters
        ----------
        rom : bytes
        trapped : bytes
            The same with traps.
        """
        hooks = [hook.place for hook in self.hooks]
        others = np.flatnonzero(np.frombuffer(rom, np.uint8) != np.frombuffer(trapped, np.uint8))
        table = np.full(256, -1, TRAP_DTYPE)
        for place in [*hooks, *others.tolist()]:
            if place < 0 or hooks.count(place) > 1 or table["place"][place % 256] >= 0:
                continue
            end = place - place % ROM_BANK + ROM_BANK
            found = trapped.find(TRAP, place + 1, end)
            follow = (found if found >= 0 else end) - place - 1
            table[place % 256] = place, hooks.index(place) if place in hooks else -1, follow
        return table

    @property
    def num_loads(self) -> int:
        """How many numbers are read or remembered before and after a step."""
        return len(self.loads) + len(self.cells)


def _loads_of(expressions: Iterable[Expression]) -> tuple[Load, ...]:
    """List the loads of expressions, each once."""
    loads = (step.load for each in expressions for step in each)
    return tuple(dict.fromkeys(load for load in loads if isinstance(load, Load)))


@dataclass(frozen=True)
class _Elements:
    """What is read of an element of tables."""

    program: Program
    read: ReadByte
    element: int = 0

    def __getitem__(self, load: Load | Cell, /) -> int:
        assert isinstance(load, Load)
        return self.program.number(self.read, load, self.element)


class _Terms:
    """Terms and their steps as records, as they are written one behind the other."""

    def __init__(self, program: Program) -> None:
        self.fields = {field.name: k for k, field in enumerate(program.fields)}
        self.flags = {
            field.name
            for field in program.fields
            if (field.form, field.stride, field.source) == (Form.BIT, 1, Source.ROW)
        }
        read: list[Load | Cell] = [*program.loads, *program.cells, *program.loads_at_once]
        self.number_of = {load: k for k, load in enumerate(read)}
        self.cells = {cell: k for k, cell in enumerate(program.cells)}
        self.steps: list[tuple[Any, ...]] = []
        self.terms: list[tuple[Any, ...]] = []

    def add(self, expression: Expression, weight: float = 1.0, info_at: int = -1) -> int:
        """Write a term; return its number."""
        begin = len(self.steps)
        self.steps += [
            (step.number, step.op, -1 if step.load is None else self.number_of[step.load])
            for step in expression
        ]
        self.terms.append((weight, begin, len(self.steps), info_at))
        return len(self.terms) - 1

    def load(self, load: Load | Cell) -> tuple[int, int, int]:
        """Return the record of a load, and write the term of its elements."""
        if isinstance(load, Cell):
            return self.cells[load], _REMEMBERED, -1
        field = self.fields[load.field]
        if not load.each:
            return field, load.element, -1
        product = self._product(load)
        return product if product else (field, load.element, self.add(load.each))

    def _product(self, load: Load) -> tuple[int, int, int] | None:
        """Return the record of a sum of flags times numbers, of which most flags may be 0."""
        ops = [step.op for step in load.each]
        if load.element != SUM or ops != [Op.EACH, Op.EACH, Op.MUL]:
            return None
        names = [step.load.field for step in load.each[:2] if isinstance(step.load, Load)]
        for flags, factor in (names, names[::-1]):
            if flags in self.flags:
                return self.fields[flags], _PRODUCTS, self.fields[factor]
        return None


# -- the door for files ----------------------------------------------------------------------------


def read_map(path: str | Path) -> tuple[Any, str]:
    """Return the value of the file of a RAM map, or of one of ours, and what messages call it.

    Raises
    ------
    ConfigError
        If it cannot be read, or has a key that is not known.
    """
    where = f"ram_map={show_path(Path(path))!r}"
    return _extended(path, where, None, _DEPTH), where


def _extended(path: str | Path, where: str, folder: Path | None, depth: int) -> Any:
    """Return the value of a file, with what it says added to that of the map that it extends."""
    ours = str(path) in MAPS
    source: Any = shipped(*MAPS[str(path)]) if ours else Path(folder or "", path)
    try:
        value = read_json(source, _LARGEST)
    except FileError as error:
        option = "ram_map" if folder is None and depth == _DEPTH else where
        raise not_read(option, error, path, MAPS) from error
    if not isinstance(value, dict):
        return value
    if path not in MAPS or EXTENDS in value:  # the data file of Lantern Walk says more
        check_keys(value, where, _KNOWN)
        for part, known in (("memory", PLACES), ("events", _EVENTS)):
            if isinstance(value.get(part), dict):
                check_keys(value[part], f"{where}: {part}", known)
        if not ours:
            value = with_addresses(value, source.parent, where)
    base = value.pop(EXTENDS, None)
    if base is None:
        return value
    if not isinstance(base, str) or not depth:
        raise ConfigError(
            f"{where}: {EXTENDS}={show(base)} must be a map of ours or a file, at most {_DEPTH} of "
            "which extend one another."
        )
    # However many extend one another, a message says so once.
    inside = f"{where.removesuffix(f': {EXTENDS}')}: {EXTENDS}"
    found = _extended(base, inside, None if ours else source.parent, depth - 1)
    if not isinstance(found, dict):
        raise ConfigError(f"{where}: {EXTENDS}={show(base)} must have an object.")
    return _merged(found, value, where)


def _merged(base: dict[str, Any], more: dict[str, Any], where: str) -> dict[str, Any]:
    """Return an object with the entries of another added; null leaves one out."""
    found = dict(base)
    for key, value in more.items():
        before = found.pop(key, None)
        if key in _MERGED and isinstance(before, dict) and isinstance(value, dict):
            for name in (name for name in value if value[name] is None and name not in before):
                message = (
                    f"{where}: {key}.{name}=null leaves nothing out: {EXTENDS} has no such entry"
                )
                raise ConfigError(with_nearest(f"{message}: {list_names(before)}.", name, before))
            entries = {name: entry for name, entry in before.items() if name not in value}
            value = {**entries, **{k: v for k, v in value.items() if v is not None}}
        if value is not None:
            found[key] = value
    return found


def load_program(path: str | Path, kind: str) -> Program | None:
    """Load the program of a RAM map from its file; None if the file has no part of one.

    Raises
    ------
    ConfigError
        If there is no such file, or see :func:`read_program`.
    """
    return read_program(*read_map(path), kind)


def read_program(data: Any, where: str, kind: str) -> Program | None:
    """Build the program from the content of a RAM map's file; None if it has no part of one.

    Raises
    ------
    ConfigError
        If something in it is not allowed; names the part, and in an expression the column.
    """
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: it must be an object with {', '.join(_PARTS)}.")
    if not any(part in data for part in _PARTS):
        return None
    fields = read_fields(data.get("fields", {}), where, _taken(kind))
    constants, packed = read_constants(data.get("constants", {}), where, _names_of(fields))
    fields |= constants
    hooks = read_hooks(data.get("hooks", {}), where, fields, _names_of(fields) | _taken(kind))
    fields |= {hook.name: hook.field(k) for k, hook in enumerate(hooks)}
    counts = {name: field.count for name, field in fields.items()}
    sets = read_sets(data.get("sets", {}), where, counts, _names_of(fields))
    names = _names_of(fields) | {each.name: "it is a set" for each in sets}
    if sets and LOST in fields and fields[LOST].info:
        raise ConfigError(f"{where}: fields.{LOST}: it is a column of sets: choose another name.")
    taken = names | _taken(kind) | ({LOST: "it is a column of sets"} if sets else {})
    numbers = _numbers(data.get("numbers", {}), where, counts, sets, taken)
    scope = Scope(
        {each.name: each.key for each in sets}, {each.name: each.value for each in numbers}
    )
    columns = {*counts, *(each.name for each in numbers), *(TERMS[kind].names or ())}
    rewards = _rewards(data.get("rewards", {}), where, counts, columns, scope)
    ends = data.get("ends", {})
    if not isinstance(ends, dict) or not {*ends} <= {*ENDS}:
        raise ConfigError(
            f"{where}: ends={show(ends)} must be an object with {', '.join(ENDS)} or both."
        )
    parsed = {
        name: parse(text, f"{where}: ends.{name}", counts, scope) for name, text in ends.items()
    }
    writes = read_writes(data.get("writes", {}), where, fields, hooks)
    program = Program(
        tuple(fields.values()), rewards, _with_hooks(parsed, hooks), _roms(data, where), packed,
        sets, numbers, hooks, writes,
    )  # fmt: skip
    if program.num_loads > MAX_LOADS:
        raise ConfigError(
            f"{where}: expressions read {program.num_loads:,} numbers, at most {MAX_LOADS:,} are "
            "allowed."
        )
    return program


def _with_hooks(ends: dict[str, Expression], hooks: tuple[Hook, ...]) -> dict[str, Expression]:
    """Return the ends with those of hooks."""
    for hook in hooks:
        if hook.do in ENDED:
            counted = Step(Op.NOW, load=Load(hook.name, 0))
            before = ends.get(ENDED[hook.do])
            either = (*before, counted, Step(Op.OR)) if before else (counted,)
            ends = {**ends, ENDED[hook.do]: either}
    return ends


def _listed(names: list[str]) -> str:
    return f"the writes {', '.join(names)}" if names else "no writes"


def _names_of(fields: Mapping[str, RamField]) -> dict[str, str]:
    """Return names that are taken in expressions, and what has them."""
    return {
        name: "it is a hook"
        if field.place >= HOOK
        else "it is a constant"
        if field.place >= CONSTANT
        else "it is a field"
        for name, field in fields.items()
    }


def read_constants(
    given: Any, where: str, taken: Mapping[str, str]
) -> tuple[dict[str, RamField], bytes]:
    """Return the constants of a file as fields, and their bytes.

    Raises
    ------
    ConfigError
        Naming the constant and what is allowed.
    """
    if not isinstance(given, dict):
        raise ConfigError(f"{where}: constants={show(given)} must be an object of names.")
    fields: dict[str, RamField] = {}
    packed = b""
    for name, entry in given.items():
        check_name(name, f"{where}: constants", taken)
        numbers = _constant(entry, f"{where}: constants.{name}")
        place, count = CONSTANT + len(packed), 0 if isinstance(entry, int) else len(numbers)
        fields[name] = RamField(name, place, Form.SIGNED, 8, False, count, 8, info=False)
        packed += np.array(numbers, "<i8").tobytes()
        if len(packed) > 8 * MAX_CONSTANTS:
            raise ConfigError(
                f"{where}: constants.{name}: more than {MAX_CONSTANTS:,} numbers in all."
            )
    return fields, packed


def _constant(entry: Any, where: str) -> list[int]:
    """Return the numbers of a constant."""
    if isinstance(entry, dict) and {*entry} <= {"count", "each", "at"} and "count" in entry:
        count = read_integer(entry, "count", where, 1, MAX_COUNT)
        found = [read_integer(entry, "each", where, -LARGEST, LARGEST, 0)] * count
        at = entry.get("at", {})
        if not isinstance(at, dict):
            raise ConfigError(f"{where}.at={show(at)} must be an object of elements and numbers.")
        for key in at:
            element = int(key) if key.isascii() and key.isdecimal() and len(key) < 7 else count
            if element >= count:
                raise ConfigError(f"{where}.at: elements are 0 to {count - 1}, not {show(key)}.")
            found[element] = read_integer(at, key, f"{where}.at", -LARGEST, LARGEST)
        return found
    numbers = entry if isinstance(entry, list) else [entry]
    if 1 <= len(numbers) <= MAX_COUNT and all(
        isinstance(x, int) and not isinstance(x, bool) and abs(x) <= LARGEST for x in numbers
    ):
        return [*numbers]
    raise ConfigError(
        f"{where}={show(entry)} must be an integer, a list of 1 to {MAX_COUNT:,}, or an object "
        "with count, each and at."
    )


def _numbers(
    given: Any,
    where: str,
    counts: dict[str, int],
    sets: tuple[KeySet, ...],
    taken: Mapping[str, str],
) -> tuple[Number, ...]:
    """Return the numbers of a file: an expression each, or one and whether it is shown."""
    if not isinstance(given, dict) or len(given) > MAX_REWARDS:
        raise ConfigError(f"{where}: numbers must be an object of at most {MAX_REWARDS}.")
    found: dict[str, Number] = {}
    for name, entry in given.items():
        check_name(name, f"{where}: numbers", taken)
        text, info, limits = entry, True, None
        if isinstance(entry, dict):
            if not {"value"} <= {*entry} <= {"value", "info", "range"}:
                raise ConfigError(
                    f"{where}: numbers.{name}={show(entry)} must be an expression, or an object "
                    "with value, info and range."
                )
            text, info = entry["value"], entry.get("info", True)
            limits = read_range(entry, f"{where}: numbers.{name}")
        if not isinstance(info, bool):
            raise ConfigError(f"{where}: numbers.{name}.info={show(info)} must be true or false.")
        scope = Scope(
            {each.name: each.key for each in sets},
            {each.name: each.value for each in found.values()},
        )
        value = parse(text, f"{where}: numbers.{name}", counts, scope)
        found[name] = Number(name, value, info, limits)
    return tuple(found.values())


def with_wait(program: Program, text: str) -> Program:
    """Return a map whose steps last until an expression is not 0.

    Raises
    ------
    ConfigError
        With the column of what is wrong in it.
    """
    counts = {field.name: field.count for field in program.fields}
    parsed = parse(text, "wait_until", counts, Scope(at_once=True))
    if any(step.op == Op.RANDOM for step in parsed):
        raise ConfigError(f"wait_until={show(text)} is not possible: nothing is drawn there.")
    return replace(program, waits=parsed)


def _taken(kind: str) -> dict[str, str]:
    of_kind = dict.fromkeys(INFO[kind].names or (), "it is a column of the environment")
    of_kind |= dict.fromkeys(TERMS[kind].names or (), "it is a term of the reward")
    return of_kind | dict.fromkeys(RESERVED, "it is a name of the views")


def _rewards(
    given: Any, where: str, counts: dict[str, int], taken: Collection[str], scope: Scope
) -> tuple[tuple[str, float, Expression], ...]:
    """Return the rewards of a file: an expression each, or one with a weight."""
    if not isinstance(given, dict) or len(given) > MAX_REWARDS:
        raise ConfigError(f"{where}: rewards must be an object of at most {MAX_REWARDS} terms.")
    found = []
    for name, entry in given.items():
        if not NAME.fullmatch(name) or f"reward_{name}" in taken:
            raise ConfigError(
                f"{where}: rewards: {show(name)} is no name: it must be {NAMES}, and reward_ with "
                "it no other column."
            )
        text, weight = entry, 1.0
        if isinstance(entry, dict):
            if not {"value"} <= {*entry} <= {"value", "weight"}:
                raise ConfigError(
                    f"{where}: rewards.{name}={show(entry)} must be an expression, or an object "
                    "with value and weight."
                )
            text, weight = entry["value"], entry.get("weight", 1.0)
        weight = read_weight(weight, f"{where}: rewards.{name}.weight")
        found.append((name, weight, parse(text, f"{where}: rewards.{name}", counts, scope)))
    return tuple(found)


def read_weight(given: Any, where: str) -> float:
    """Return the weight of a reward; ``where`` names it in messages."""
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if number and abs(given) <= MAX_WEIGHT:
        return float(given)
    raise ConfigError(
        f"{where}={show(given)} must be a number from {-MAX_WEIGHT:.0f} to {MAX_WEIGHT:.0f}."
    )


def _roms(data: dict[str, Any], where: str) -> dict[str, str]:
    """Return the ROMs that a file is for: by digest, what each is called."""
    digest = data.get("rom_sha256")
    found = {} if digest is None else {digest: "the ROM"}
    if digest is not None and not _is_digest(digest, 64):
        raise ConfigError(f"{where}: rom_sha256={show(digest)} must be 64 hexadecimal digits.")
    several = data.get("roms", {})
    if not isinstance(several, dict) or ("roms" in data and not several):
        raise ConfigError(f"{where}: roms={show(several)} must be an object of names and digests.")
    for name, digest in several.items():
        if not (_is_digest(digest, 40) or _is_digest(digest, 64)):
            raise ConfigError(
                f"{where}: roms.{name}={show(digest)} must be a SHA-1 or a SHA-256: 40 or 64 "
                "hexadecimal digits."
            )
        found[digest] = name
    return found


def _is_digest(value: Any, size: int) -> bool:
    return isinstance(value, str) and re.fullmatch(rf"[0-9a-f]{{{size}}}", value) is not None


def check_rom(program: Program, cartridge: Cartridge, shown: str) -> None:
    """Refuse a RAM map that is for other ROMs than this one.

    Parameters
    ----------
    program : Program
    cartridge : Cartridge
    shown : str
        What a message calls the map.

    Raises
    ------
    ConfigError
        Naming the ROMs that it is for, and this one.
    """
    roms = program.roms
    if not roms or {cartridge.sha1, cartridge.sha256} & {*roms}:
        return
    only = next(iter(roms))
    if len(roms) == 1 and len(only) == 64:
        raise ConfigError(
            f"{shown}: rom_sha256 is {only}: of another ROM than this one, {cartridge.sha256}."
        )
    names = " and ".join(f"{name} ({digest})" for digest, name in roms.items())
    raise ConfigError(
        f"{shown}: it is for {names}: this ROM has SHA-1 {cartridge.sha1} and SHA-256 "
        f"{cartridge.sha256}; to use the map anyway, take a copy of the file without roms."
    )
