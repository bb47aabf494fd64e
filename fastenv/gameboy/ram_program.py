"""Fields, rewards and ends of a RAM map, read from its file and compiled (docs/gameboy.md, 20.1).

The columns of a state, the terms of the reward and what ends an episode are data: tables that all
backends read from the shared record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, FileError, show
from fastenv.files import read_json, show_path
from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.expressions import Expression, Load, evaluate, parse
from fastenv.gameboy.layout import INFO, TERMS
from fastenv.gameboy.ram_fields import PLACES, RamField, ReadByte, check_keys, read_fields
from fastenv.gameboy.shipped import shipped
from fastenv.gameboy.state import (
    FIELD_DTYPE,
    LOAD_DTYPE,
    MAX_LOADS,
    STEP_DTYPE,
    TERM_DTYPE,
    Op,
)
from fastenv.spec import RESERVED

Array = npt.NDArray[Any]
Values = dict[Load, int]

# Maps of ours: that of Lantern Walk is the data file of its ROM.
MAPS = {
    "lantern_walk": ("roms", "lantern_walk.json"),
    "lantern_walk_flags": ("roms", "lantern_walk_flags.json"),
    "lantern_walk_quest": ("data", "maps", "lantern_walk_quest.json"),
    "libbet": ("data", "maps", "libbet.json"),
    "duel": ("data", "maps", "duel.json"),
    "parcel": ("data", "maps", "parcel.json"),
    "pokemon_red": ("data", "maps", "pokemon_red.json"),
    "pokemon_yellow": ("data", "maps", "pokemon_yellow.json"),
}
ENDS = ("terminated", "truncated")
MAX_REWARDS = 64
MAX_WEIGHT = 1e6
_LARGEST = 1 << 20  # bytes of a file
_PARTS = ("fields", "rewards", "ends")
EXTENDS = "extends"
_DEPTH = 8  # maps that extend one another
_KNOWN = ("about", "rom_sha256", "roms", EXTENDS, *_PARTS, "memory", "events", "size")
_MERGED = (*_PARTS, "memory")  # parts whose entries are added to those of a map that is extended
_EVENTS = ("address", "bits", "rewarded")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True)
class Program:
    """What a RAM map says of a game.

    Parameters
    ----------
    fields : tuple of RamField
    rewards : tuple of (str, float, Expression)
        Name, weight and expression of each term.
    ends : dict of str to Expression
        By "terminated" and "truncated"; what is not 0 ends the episode.
    waits : Expression, optional
        What is 0 while a step lasts on.
    roms : dict of str to str
        ROMs that it is for, by SHA-1 or SHA-256: what each is called. Empty: any.
    """

    fields: tuple[RamField, ...]
    rewards: tuple[tuple[str, float, Expression], ...] = ()
    ends: dict[str, Expression] | None = None
    roms: Mapping[str, str] = field(default_factory=dict)
    waits: Expression | None = None

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """All expressions, the rewards first."""
        ends = self.ends or {}
        last = () if self.waits is None else (self.waits,)
        found = (
            *(each[2] for each in self.rewards),
            *(ends[name] for name in ENDS if name in ends),
        )
        return (*found, *last)

    @property
    def wait_term(self) -> int:
        """Which expression is 0 while a step lasts on."""
        return len(self.expressions) - 1

    def is_over(self, read: ReadByte) -> bool:
        """Tell whether a step lasts no longer."""
        return self.waits is None or evaluate(self.waits, self.read(read), {}) != 0

    def end(self, name: str) -> int:
        """Return which expression says that an episode ends so, -1 if none does."""
        ends = [each for each in ENDS if each in (self.ends or {})]
        return len(self.rewards) + ends.index(name) if name in ends else -1

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """What expressions read, each once."""
        steps = [step for each in self.expressions for step in each]
        return tuple(dict.fromkeys(step.load for step in steps if step.load is not None))

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
        """Return what expressions read from memory."""
        return {load: self.by_name[load.field].number(read, load.element) for load in self.loads}

    def values(self, before: Values, now: Values) -> list[int]:
        """Return what the expressions come to."""
        return [evaluate(each, now, before) for each in self.expressions]

    def columns(self, read: ReadByte) -> tuple[Any, ...]:
        """Return the fields that are columns of the info."""
        return tuple(
            [field.number(read, k) for k in range(field.count)]
            if field.count
            else field.number(read)
            for field in self.shown
        )

    # -- as data --

    @property
    def shown(self) -> tuple[RamField, ...]:
        """The fields that are columns of the info."""
        return tuple(field for field in self.fields if field.info)

    def info_dtype(self, kind: str) -> np.dtype[Any]:
        """Return the columns of a state: those of the kind, then the fields."""
        own = [(name, INFO[kind][name]) for name in INFO[kind].names or ()]
        more = [(field.name, field.dtype, field.shape) for field in self.shown]
        return np.dtype([*own, *more], align=True)

    def terms_dtype(self, kind: str) -> np.dtype[Any]:
        """Return the terms of the reward: those of the kind, then one a reward."""
        own = [(name, "f8") for name in TERMS[kind].names or ()]
        return np.dtype([*own, *((f"reward_{name}", "f8") for name, _, _ in self.rewards)])

    def tables(self, kind: str, offset_of: Callable[[RamField], int]) -> dict[str, Array]:
        """Return fields, loads, steps and terms as records.

        Parameters
        ----------
        kind : str
            Of the environment.
        offset_of : callable
            Gives where in its source a field begins.
        """
        columns: Any = self.info_dtype(kind).fields
        fields = [
            field.record(offset_of(field), columns[field.name][1] if field.info else -1)
            for field in self.fields
        ]
        numbers = {field.name: k for k, field in enumerate(self.fields)}
        loads = [(numbers[load.field], load.element) for load in self.loads]
        of_load = {load: k for k, load in enumerate(self.loads)}
        steps = [
            (step.number, step.op, -1 if step.load is None else of_load[step.load])
            for each in self.expressions
            for step in each
        ]
        terms, begin = [], 0
        weights = [*self.weights, *(1.0 for _ in self.expressions[len(self.rewards) :])]
        for weight, each in zip(weights, self.expressions, strict=True):
            terms.append((weight, begin, begin + len(each)))
            begin += len(each)
        return {
            "fields": np.array(fields, FIELD_DTYPE),
            "loads": np.array(loads, LOAD_DTYPE),
            "steps": np.array(steps, STEP_DTYPE),
            "terms": np.array(terms, TERM_DTYPE),
        }


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
        raise ConfigError(f"ram_map: {error}") from error
    if not isinstance(value, dict):
        return value
    if path not in MAPS or EXTENDS in value:  # the data file of Lantern Walk says more
        check_keys(value, where, _KNOWN)
        for part, known in (("memory", PLACES), ("events", _EVENTS)):
            if isinstance(value.get(part), dict):
                check_keys(value[part], f"{where}: {part}", known)
    base = value.pop(EXTENDS, None)
    if base is None:
        return value
    if not isinstance(base, str) or not depth:
        raise ConfigError(
            f"{where}: {EXTENDS}={show(base)} must be a map of ours or a file, at most {_DEPTH} of "
            "which extend one another."
        )
    found = _extended(base, f"{where}: {EXTENDS}", None if ours else source.parent, depth - 1)
    if not isinstance(found, dict):
        raise ConfigError(f"{where}: {EXTENDS}={show(base)} must have an object.")
    return _merged(found, value)


def _merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the entries of another added; null leaves one out."""
    found = dict(base)
    for key, value in more.items():
        before = found.pop(key, None)
        if key in _MERGED and isinstance(before, dict) and isinstance(value, dict):
            entries = {name: entry for name, entry in before.items() if name not in value}
            value = {**entries, **{k: v for k, v in value.items() if v is not None}}
        if value is not None:
            found[key] = value
    return found


def load_program(path: str | Path, kind: str) -> Program | None:
    """Return what the file of a RAM map says beside places of an overworld; None if nothing.

    Raises
    ------
    ConfigError
        If there is no such file, or see :func:`read_program`.
    """
    return read_program(*read_map(path), kind)


def read_program(data: Any, where: str, kind: str) -> Program | None:
    """Return what the value of a RAM map's file says beside places of an overworld.

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
    counts = {name: field.count for name, field in fields.items()}
    rewards = _rewards(
        data.get("rewards", {}), where, counts, {*counts, *(TERMS[kind].names or ())}
    )
    ends = data.get("ends", {})
    if not isinstance(ends, dict) or not {*ends} <= {*ENDS}:
        raise ConfigError(
            f"{where}: ends={show(ends)} must be an object with {' and '.join(ENDS)}."
        )
    parsed = {name: parse(text, f"{where}: ends.{name}", counts) for name, text in ends.items()}
    program = Program(tuple(fields.values()), rewards, parsed, _roms(data, where))
    if len(program.loads) > MAX_LOADS:
        raise ConfigError(
            f"{where}: expressions read {len(program.loads):,} numbers, at most {MAX_LOADS:,} are "
            "allowed."
        )
    return program


def with_wait(program: Program, text: str) -> Program:
    """Return a map whose steps last until an expression is not 0.

    Raises
    ------
    ConfigError
        With the column of what is wrong in it.
    """
    counts = {field.name: field.count for field in program.fields}
    parsed = parse(text, "wait_until", counts)
    if any(step.op == Op.BEFORE for step in parsed):
        raise ConfigError(
            f"wait_until={show(text)} is not possible: it must be about one moment, without delta "
            "and previous."
        )
    return replace(program, waits=parsed)


def _taken(kind: str) -> dict[str, str]:
    of_kind = dict.fromkeys(INFO[kind].names or (), "it is a column of the environment")
    of_kind |= dict.fromkeys(TERMS[kind].names or (), "it is a term of the reward")
    return of_kind | dict.fromkeys(RESERVED, "it is a name of the views")


def _rewards(
    given: Any, where: str, counts: dict[str, int], taken: Collection[str]
) -> tuple[tuple[str, float, Expression], ...]:
    """Return the rewards of a file: an expression each, or one with a weight."""
    if not isinstance(given, dict) or len(given) > MAX_REWARDS:
        raise ConfigError(f"{where}: rewards must be an object of at most {MAX_REWARDS} terms.")
    found = []
    for name, entry in given.items():
        if not _NAME.fullmatch(name) or f"reward_{name}" in taken:
            raise ConfigError(
                f"{where}: rewards: {show(name)} is no name: it must be letters, digits and _, at "
                "most 64, and reward_ with it no other column."
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
        found.append((name, weight, parse(text, f"{where}: rewards.{name}", counts)))
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
