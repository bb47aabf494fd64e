"""Find where a program keeps a number: by its value, or by how it changed, in row after row.

docs/howto/own_game_ram.md finds the steps of Lantern Walk so; ``python -m fastenv ram search`` does
it with save states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, show
from fastenv.gameboy.expressions import wrap
from fastenv.gameboy.ram_fields import FORMS, read_type
from fastenv.gameboy.state import Form
from fastenv.gameboy.tables import CART_RAM, HRAM, RAM_BANK, WRAM

Numbers = npt.NDArray[np.int64]

TYPES = ("u1", "d1", "<u2", ">u2", "<d2", ">d2", "<d3", ">d3", "<u3", ">u3", "<n4", ">n4")
CHANGES = ("same", "changed", "more", "less")
_HRAM = slice(0x80, 0xFF)
assert {name.lstrip("<>")[0] for name in TYPES} <= {*FORMS}


class RamSearch:
    """What may be the number that is looked for: addresses of WRAM, HRAM, RAM of the cartridge.

    Parameters
    ----------
    types : sequence of str
        Which kinds of numbers; see docs/gameboy.md, 20.1.

    Examples
    --------
    >>> import fastenv
    >>> env = fastenv.make("GameBoyPixels-v0", states="lantern_walk")
    >>> _, _ = env.reset(seed=0)
    >>> search = RamSearch(["u1"])
    >>> search.keep(env.get_state(), 0) < search.total
    True
    """

    def __init__(self, types: Sequence[str] = TYPES) -> None:
        if isinstance(types, str) or not types:
            raise ConfigError(f"types={show(types)} must be a list such as ['u1', '<u2'].")
        self.types: dict[str, tuple[Form, int, bool]] = {
            str(name): read_type(name, f"types: {show(name)}") for name in types
        }
        if any(form == Form.BIT for form, _, _ in self.types.values()):
            raise ConfigError("types: 'bit' is no number: look for its byte.")
        self._before: dict[str, Numbers] = {}
        self._kept: dict[str, npt.NDArray[np.bool_]] = {}
        self._addresses: list[tuple[int, int]] = []

    @property
    def total(self) -> int:
        """How many addresses and types there are."""
        return len(self.types) * len(self._addresses)

    def __len__(self) -> int:
        """Return how many of them are left."""
        return sum(int(kept.sum()) for kept in self._kept.values())

    def keep(self, row: Any, value: int | str) -> int:
        """Leave out what does not fit a row; return how many are left.

        Parameters
        ----------
        row : record or ndarray of one
            Of an environment (``env.get_state()``), or of a machine (``load_state``).
        value : int, or "same", "changed", "more" or "less"
            What the number is there, or how it changed since the row before.

        Raises
        ------
        ConfigError
            If the value is neither, there is no row before, or the row is of another cartridge.
        """
        memory, addresses = _memory(row)
        if self._addresses and self._addresses != addresses:
            raise ConfigError("row: it is of a machine with another cartridge than those before.")
        numbers = {name: decode(memory, *of) for name, of in self.types.items()}
        if not self._addresses:
            self._addresses = addresses
            ends = _ends(addresses)
            self._kept = {name: ends >= size for name, (_, size, _) in self.types.items()}
        for name, now in numbers.items():
            self._kept[name] &= _fits(now, self._before.get(name), value)
        self._before = numbers
        return len(self)

    def found(self, most: int = 20) -> list[dict[str, Any]]:
        """Return some that are left, as fields of a RAM map, with the number of the last row.

        Parameters
        ----------
        most : int
            At least 0.
        """
        if most < 0:
            raise ConfigError(f"most={show(most)}: must be at least 0")
        hits = []
        for name, kept in self._kept.items():
            for index in np.flatnonzero(kept)[:most]:
                bank, address = self._addresses[index]
                field: dict[str, Any] = {"address": f"${address:04X}", "type": name}
                field |= {"bank": bank} if bank >= 0 else {}
                hits.append(field | {"value": int(self._before[name][index])})
        return hits[:most]


def _fits(now: Numbers, before: Numbers | None, value: int | str) -> npt.NDArray[np.bool_]:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if whole and -(2**63) <= int(value) < 2**64:
        return np.asarray(now == wrap(int(value)))
    if value not in CHANGES:
        raise ConfigError(
            f"value={show(value)} is not possible: it must be an integer of 64 bits, or one of "
            f"{', '.join(CHANGES)}."
        )
    if before is None:
        raise ConfigError(f"value={show(value)} is not possible: there is no row before this one.")
    compare = {"same": np.equal, "changed": np.not_equal, "more": np.greater, "less": np.less}
    return np.asarray(compare[value](now, before))


def _memory(row: Any) -> tuple[npt.NDArray[np.uint8], list[tuple[int, int]]]:
    """Return the bytes of all memory, and of each its bank (-1: none) and address."""
    record = np.asarray(row).reshape(-1)
    if record.dtype.names is None or "wram" not in record.dtype.names or len(record) != 1:
        raise ConfigError(f"row={show(row)} must be one row of a Game Boy.")
    parts = [record["wram"][0], record["high"][0][_HRAM], record["cart"][0]]
    addresses = [(-1, begin + k) for begin, part in zip((WRAM, HRAM), parts, strict=False)
                 for k in range(len(part))]  # fmt: skip
    addresses += [(k // RAM_BANK, CART_RAM + k % RAM_BANK) for k in range(len(parts[2]))]
    return np.concatenate(parts), addresses


def _ends(addresses: list[tuple[int, int]]) -> npt.NDArray[np.int64]:
    """Return how many bytes there are from each address to the end of its memory."""
    ends = np.ones(len(addresses), np.int64)
    for k in range(len(addresses) - 2, -1, -1):
        (bank, here), (behind, after) = addresses[k], addresses[k + 1]
        joined = after == here + 1 if bank < 0 else behind >= 0
        ends[k] = ends[k + 1] + 1 if joined and (bank < 0) == (behind < 0) else 1
    return ends


def decode(memory: npt.NDArray[np.uint8], form: Form, size: int, big: bool) -> Numbers:
    """Return the number that begins at each byte; behind the end there are zeros."""
    padded = np.concatenate([memory, np.zeros(size - 1, np.uint8)]).astype(np.int64)
    found = np.zeros(len(memory), np.int64)
    for k in range(size):
        at = k if big else size - 1 - k
        byte = padded[at : at + len(memory)]
        if form == Form.BCD:
            found = found * 100 + 10 * ((byte >> 4) % 10) + (byte & 15) % 10
        elif form == Form.DIGITS:
            found = found * 10 + (byte & 15) % 10
        elif form == Form.SIGNED and k == 0:
            found = byte - ((byte & 0x80) << 1)
        else:
            found = found << 8 | byte
    return found
