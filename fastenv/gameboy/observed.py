"""What an observation shows where ``observe`` says so: fields of a RAM map, actions, and visits.

docs/gameboy.md, 17.1. Each number is shown from 0 to 1 by its range; bits are shown as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, list_names, show, with_nearest
from fastenv.gameboy.config import GameBoyConfig
from fastenv.gameboy.layout import pixels_shape
from fastenv.gameboy.ram_fields import name_elements
from fastenv.gameboy.ram_program import Program
from fastenv.gameboy.state import OBSERVED_DTYPE, Form

PIXELS, ACTIONS, VISITED = "pixels", "actions", "visited"
NUMBERS, FLAGS = "numbers", "flags"
MAX_ACTIONS_SHOWN, MAX_SIDE = 64, 64
MAX_FIELDS_MIB = 0.25  # of the fields in an observation
SCREEN = (9, 10)  # rows and columns of cells that the screen shows
_ENTRY = re.compile(r"(?P<name>[A-Za-z_]\w*)(?:\[(?P<first>\d{1,6})(?:x(?P<second>\d{1,6}))?\])?")


@dataclass(frozen=True)
class Part:
    """Numbers that stand behind one another in an observation.

    Parameters
    ----------
    field : int
        Which field of the map; -1: one of its numbers.
    first, count : int
        Its elements; or which of what a step notes, rewards first.
    low, span : float
        What is shown as 0, and how much more as 1.
    flag : bool
        Whether they are bits.
    """

    field: int
    first: int
    count: int
    low: float
    span: float
    flag: bool


@dataclass(frozen=True)
class Observed:
    """What ``observe`` names.

    Parameters
    ----------
    pixels : bool
    parts : tuple of Part
    actions : int
        How many of the last actions.
    visited : (int, int)
        Rows and columns of cells around the player; (0, 0): not shown.
    """

    pixels: bool
    parts: tuple[Part, ...] = ()
    actions: int = 0
    visited: tuple[int, int] = (0, 0)

    def count(self, flag: bool) -> int:
        """Return how many numbers, or bits, are shown."""
        return sum(part.count for part in self.parts if part.flag == flag)

    @property
    def fields_bytes(self) -> int:
        """Bytes of the fields in an observation: numbers, and bits."""
        return 4 * self.count(False) + self.count(True)

    def record(self, config: GameBoyConfig) -> np.dtype[Any]:
        """Return the record of an observation."""
        given: list[Any] = [
            (PIXELS, "u1", pixels_shape(config) if self.pixels else (0,)),
            (NUMBERS, "f4", (self.count(False),)),
            (FLAGS, "u1", (self.count(True),)),
            (ACTIONS, "u1", (self.actions * len(config.chords),)),
            (VISITED, "u1", self.visited),
        ]
        return np.dtype([each for each in given if np.prod(each[2])], align=True)

    def table(self, config: GameBoyConfig) -> npt.NDArray[Any]:
        """Return the parts as records, with where in an observation each is."""
        fields: Any = self.record(config).fields
        at = {True: 0, False: 0}
        rows = []
        for part in self.parts:
            begin = fields[FLAGS if part.flag else NUMBERS][1]
            where = begin + at[part.flag] * (1 if part.flag else 4)
            at[part.flag] += part.count
            rows.append((part.low, part.span, part.field, part.first, part.count, where, part.flag))
        return np.array(rows, OBSERVED_DTYPE)


def read_observed(config: GameBoyConfig, program: Program | None) -> Observed | None:
    """Parse the option ``observe``; None where it is not given.

    Raises
    ------
    ConfigError
        Naming the entry and what there is.
    """
    if config.observe is None:
        return None
    pixels, actions, visited = False, 0, (0, 0)
    parts: list[Part] = []
    for entry in config.observe:
        found = _ENTRY.fullmatch(entry)
        name = found["name"] if found else ""
        first = int(found["first"]) if found and found["first"] else None
        second = int(found["second"]) if found and found["second"] else None
        if (name == ACTIONS and actions) or (name == VISITED and any(visited)):
            raise _refusal(entry, f"left out: {name} can be shown once")
        if name == PIXELS and first is None:
            pixels = True
        elif name == ACTIONS and second is None:
            actions = _within(entry, 1 if first is None else first, MAX_ACTIONS_SHOWN)
        elif name == VISITED and (first is None) == (second is None):
            if config.kind != "overworld":
                raise _refusal(entry, "left out: only an overworld remembers visits")
            rows, columns = SCREEN if first is None or second is None else (first, second)
            visited = _within(entry, rows, MAX_SIDE), _within(entry, columns, MAX_SIDE)
        elif second is None:
            parts.append(_part(entry, name, first, program))
        else:
            raise _unknown(entry, program)
    observed = Observed(pixels, tuple(parts), actions, visited)
    if observed.fields_bytes > MAX_FIELDS_MIB * 2**20:
        raise ConfigError(
            f"observe: its fields would take {observed.fields_bytes / 2**20:,.2f} MiB of an "
            f"observation, at most {MAX_FIELDS_MIB:g} are allowed."
        )
    return observed


def _within(entry: str, number: int, most: int) -> int:
    if 1 <= number <= most:
        return number
    raise _refusal(entry, f"with whole numbers from 1 to {most} in its brackets")


def _part(entry: str, name: str, element: int | None, program: Program | None) -> Part:
    fields = () if program is None else program.fields
    for number, field in enumerate(fields):
        if field.name == name:
            if element is not None and element >= field.count:
                raise _refusal(entry, name_elements(name, field.count))
            low, high = field.scale
            count = 1 if element is not None else max(field.count, 1)
            is_bit = field.form == Form.BIT
            return Part(number, element or 0, count, float(low), float(high) - low, is_bit)
    for k, each in enumerate(() if program is None else program.numbers):
        if each.name == name and program is not None:
            if element is not None:
                raise _refusal(entry, name_elements(name, 0))
            if each.limits is None:
                raise _refusal(entry, f"a number with a range: numbers.{name} of the map has none")
            low, high = each.limits
            return Part(-1, len(program.rewards) + k, 1, float(low), float(high) - low, False)
    raise _unknown(entry, program)


def _unknown(entry: str, program: Program | None) -> ConfigError:
    own = f"{PIXELS}, {ACTIONS}[k] or {VISITED}[rows x columns]: there is no ram_map"
    if program is None:
        return _refusal(entry, own)
    names = [each.name for each in program.numbers]
    names += [each.name for each in program.fields]
    own = f"{PIXELS}, {ACTIONS}[k], {VISITED}[rows x columns] or a field of the map"
    error = _refusal(entry, f"{own}: {list_names(names)}")
    return ConfigError(with_nearest(str(error), entry, [PIXELS, ACTIONS, VISITED, *names]))


def _refusal(entry: str, allowed: str) -> ConfigError:
    return ConfigError(f"observe: {show(entry)} is not possible: it must be {allowed}.")
