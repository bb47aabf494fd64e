"""A game of Dr. Mario as a row of bytes, and back.

Fields and attributes have the same names; what a row holds a player is in the objects of
``players``. A row is its head, its players, what the engine keeps an agent, and the stack.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
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
        self.size: int = dtype.itemsize
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
# What no observation, mask, reward or info reads: the pills to come, and what steps alone need.
UNSEEN_OF_HEAD = ("rng", "reserve")
UNSEEN_OF_PLAYER = (
    *("hor_velocity", "throw_frame", "pill_count_lo", "pill_count_hi", "match_flag"),
    *("chain_length", "buttons_prev", "buttons_held", "intro_wait", "scored", "latches"),
    *("clearing", "plan_left", "plan_action", "ev_action", "decided_frame", "decisions"),
)
_seen = Record(HEAD_DTYPE, UNSEEN_OF_HEAD), Record(PLAYER_DTYPE, UNSEEN_OF_PLAYER)
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
    return fill(new_game(config, demo), row, (_head, _player))


def fill(game: DrMario, row: Any, records: tuple[Record, Record] = _seen) -> DrMario:
    """Write a row into a game that is there, by default without what encoding never reads.

    Parameters
    ----------
    game : DrMario
    row : object with the buffer protocol
        See :func:`unpack`.
    records : tuple of Record
        What of the head and of each player is written.

    Returns
    -------
    DrMario
        ``game``.
    """
    # of a record, bytes() first asks for a description of all its fields
    rest = memoryview(row.tobytes() if isinstance(row, np.void) else bytes(row))
    head, each = records
    head.unpack(game, rest[: _head.size])
    rest = rest[_head.size :]
    for player in game.players:
        each.unpack(player, rest[: each.size])
        rest = rest[each.size :]
    agents = _agents[len(game.players) - 1]
    agents.unpack(game, rest[: agents.size])
    if game.config.stack > 1:
        # a board that is only looked at stays bytes
        views = [[*view] for view in _view.unpack_all(rest[agents.size :])]
        game.stack = [views[i : i + STACKED] for i in range(0, len(views), STACKED)]
    return game
