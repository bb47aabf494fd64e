"""What the environments of two linked consoles share: each console's, and where it lies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.common import Common, load_common
from fastenv.gameboy.config import POWER_UP
from fastenv.gameboy.frames import WHOLE
from fastenv.gameboy.linked.config import SIDES, LinkConfig
from fastenv.gameboy.position import pack
from fastenv.gameboy.ram_program import LOST
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.starts import Starts
from fastenv.gameboy.state import LINK_HEAD, LINK_SHARED_DTYPE

TAIL = ("first", "second")  # of a row and of a shared record: what each console has alone
_LINE = 64  # bytes, of which parts of the shared record are a multiple


@dataclass(frozen=True)
class LinkCommon:
    """What the environments of a configuration share.

    Parameters
    ----------
    config : LinkConfig
    sides : (Common, Common)
        Of each console, as if it were alone.
    """

    config: LinkConfig
    sides: tuple[Common, Common]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of a row: what both share, then the row of each console as bytes."""
        rows = [side.dtype.itemsize for side in self.sides]
        tail = [(name, "u1", (size,)) for name, size in zip(TAIL, rows, strict=True)]
        return np.dtype([*LINK_HEAD, *tail], align=True)

    @cached_property
    def info_dtype(self) -> np.dtype[Any]:
        """Columns of a state, each with an entry for either side."""
        one = self.sides[0].info_dtype
        columns: Any = one.fields
        named = [(name, columns[name][0]) for name in one.names or ()]
        return np.dtype([(name, of.base, (SIDES, *of.shape)) for name, of in named], align=True)

    @property
    def terms_dtype(self) -> np.dtype[Any]:
        """Terms of the reward of a side."""
        return self.sides[0].terms_dtype

    def shared(self) -> np.ndarray:
        """Build the record that all lanes of an engine share, shape (1,)."""
        parts = [self._shared_of(side) for side in range(SIDES)]
        dtype = np.dtype(
            [
                ("head", LINK_SHARED_DTYPE),
                *((name, "u1", part.shape) for name, part in zip(TAIL, parts, strict=True)),
            ],
            align=True,
        )
        record = np.zeros(1, dtype)
        rows: Any = self.dtype.fields
        places: Any = dtype.fields
        record["head"]["row_at"] = [rows[name][1] for name in TAIL]
        record["head"]["shared_at"] = [places[name][1] for name in TAIL]
        for name, part in zip(TAIL, parts, strict=True):
            record[name] = part
        record.flags.writeable = False
        return record

    def _shared_of(self, side: int) -> np.ndarray:
        """Return the bytes of the shared record of a console, whose info is in columns of two."""
        common = self.sides[side]
        given = common.shared()
        raw = given.view(np.uint8).copy()  # as bytes: what lies between fields stays 0
        record = raw.view(given.dtype)
        program = common.program
        if program is not None:
            columns: Any = self.info_dtype.fields
            at = {name: n + side * (of.itemsize // SIDES) for name, (of, n) in columns.items()}
            for k, field in enumerate(program.fields):
                if field.info:
                    record["fields"]["info_at"][0, k] = at[field.name]
            for k, number in enumerate(program.numbers, len(program.rewards)):
                if number.info:
                    record["terms"]["info_at"][0, k] = at[number.name]
            if program.sets:
                record["head"]["rules"]["lost_info_at"] = at[LOST]
        return np.concatenate([raw, np.zeros(-len(raw) % _LINE, np.uint8)])

    def lanes(self, rows: np.ndarray, side: int) -> np.ndarray:
        """Return the rows of a console in rows of both, shape (n,), as a copy."""
        raw = np.ascontiguousarray(rows[TAIL[side]])
        return raw.view(self.sides[side].dtype).reshape(-1)


def load_link(config: LinkConfig) -> LinkCommon:
    """Read the files of a configuration.

    Raises
    ------
    ConfigError, StateError
        If one of them cannot be read or belongs to another ROM.
    """
    first, second = (load_common(side) for side in config.sides)
    if config.states[0] == POWER_UP:
        first = replace(first, starts=head_start(first.cartridge, first.machine_options))
    return LinkCommon(config, (first, second))


@lru_cache(maxsize=8)  # a frame of the reference takes as long as all else that is done once
def head_start(cartridge: Cartridge, options: tuple[bool, bool, bool, bool]) -> Starts:
    """Return the state of a console that has been on for a frame, with what it shows."""
    machine = Machine(cartridge, *options)
    machine.run_frame()
    frame = np.frombuffer(WHOLE.pack(machine.ppu.picture), np.uint8)[None]
    row = pack(machine)
    row.flags.writeable = False
    return Starts(row, frame)
