"""A game of Dr. Mario as a row of bytes, and back.

Fields and attributes have the same names; what a row holds a player is in the objects of
``players``. A row is its head, its players, what the engine keeps an agent, and the stack.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from operator import attrgetter
from typing import Any

import numpy as np

from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.placement import new_game
from fastenv.drmario.reference import DrMario
from fastenv.drmario.state import (
    HEAD_DTYPE,
    ONE,
    PLAYER_DTYPE,
    STACKED,
    TWO,
    VIEW_DTYPE,
)
from fastenv.rowformat import RowFormat

# Arrays of many bytes: as one object they are packed and unpacked in a part of the time.
RAW = ("board", "reserve")


class Record:
    """How the attributes of an object lie in a record: one value a field, lists for arrays.

    Parameters
    ----------
    dtype : dtype
        Fields named ``unused...`` are 0.
    but : collection of str
        Fields to leave out.
    """

    def __init__(self, dtype: np.dtype[Any], but: Collection[str] = ()) -> None:
        self.size = dtype.itemsize
        names = [name for name in dtype.names or () if name not in but]
        used = [name for name in names if not name.startswith("unused")]
        raw = [name for name in used if name in RAW]
        self._format = RowFormat(dtype[used], raw)
        where = self._format.fields
        self._lists = [(n, where[n]) for n in used if n in raw or isinstance(where[n], slice)]
        self._numbers = [(n, where[n]) for n in used if (n, where[n]) not in self._lists]
        self._raw = [name in raw for name in used]
        self._get = attrgetter(*[f"{name}.state" if name == "rng" else name for name in used])

    def pack(self, thing: Any) -> bytes:
        """Return the bytes of an object's attributes."""
        values: list[Any] = []
        for raw, value in zip(self._raw, self._get(thing), strict=True):
            if raw:
                values.append(bytes(value))
            elif isinstance(value, list):
                values += value
            else:
                values.append(value)
        return self._format.pack(*values)

    def unpack(self, thing: Any, part: Any) -> None:
        """Set an object's attributes from bytes."""
        values, attributes = self._format.unpack(part), vars(thing)
        for name, at in self._numbers:
            attributes[name] = values[at]
        for name, where in self._lists:
            if name == "rng":
                thing.rng.state = [*values[where]]
            else:
                attributes[name] = [*values[where]]


_head, _player = Record(HEAD_DTYPE), Record(PLAYER_DTYPE)
_head_seen = Record(HEAD_DTYPE, but=("rng", "reserve"))  # what pills will come is not shown
_view = RowFormat(VIEW_DTYPE, ["board"])
_agents = [
    Record(np.dtype(fields[len(HEAD_DTYPE.names or ()) + 1 :], align=True)) for fields in (ONE, TWO)
]


def pack(game: DrMario) -> bytes:
    """Return the row of a game."""
    agents = _agents[len(game.players) - 1]
    parts = [_head.pack(game), *map(_player.pack, game.players), agents.pack(game)]
    parts += [_view.pack(bytes(view[0]), *view[1:]) for view in itertools.chain(*game.stack)]
    return b"".join(parts)


def unpack(row: Any, config: DrMarioConfig, demo: Any = None) -> DrMario:
    """Return the game that a row stands for; the inverse of :func:`pack`.

    Parameters
    ----------
    row : object with the buffer protocol
        One record of the dtype of the configuration. It is copied.
    config : DrMarioConfig
    demo : ndarray, optional
        Of ``DEMO_DTYPE``.
    """
    return fill(new_game(config, demo), row, _head)


def fill(game: DrMario, row: Any, head: Record = _head_seen) -> DrMario:
    """Write a row into a game that is there, by default without what encoding never reads.

    Parameters
    ----------
    game : DrMario
    row : object with the buffer protocol
        See :func:`unpack`.
    head : Record
        What of the head is written.

    Returns
    -------
    DrMario
        ``game``.
    """
    # of a record, bytes() first asks for a description of all its fields
    parts = _Parts(row.tobytes() if isinstance(row, np.void) else bytes(row))
    head.unpack(game, parts.take(_head.size))
    for player in game.players:
        _player.unpack(player, parts.take(_player.size))
    agents = _agents[len(game.players) - 1]
    agents.unpack(game, parts.take(agents.size))
    if game.config.stack > 1:
        game.stack = [list(parts.views()) for _ in game.players]
    return game


class _Parts:
    """Bytes that are taken from the front, record by record."""

    def __init__(self, row: bytes) -> None:
        self.row, self.at = memoryview(row), 0

    def take(self, size: int) -> memoryview:
        """Return the next bytes."""
        self.at += size
        return self.row[self.at - size : self.at]

    def views(self) -> Iterator[list[Any]]:
        """Return the frames of a player's stack; a board that is only looked at stays bytes."""
        for _ in range(STACKED):
            yield [*_view.unpack(self.take(VIEW_DTYPE.itemsize))]
