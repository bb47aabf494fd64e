"""A game of Asteroid Prospector as a row of ``STATE_DTYPE``, and back.

Fields and attributes have the same names: a number is a number, an array an array of the field's
type and shape, and ``rng`` is the state of the generator.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from fastenv.prospector.pcg import Pcg
from fastenv.prospector.reference import Prospector
from fastenv.prospector.state import STATE_DTYPE
from fastenv.rowformat import RowFormat

# A reference game generates all asteroids at once, so nothing is pending: 0 in a row.
NOT_IN_A_GAME = ("pending", "asteroid_rng", "unused")

FIELDS = [name for name in STATE_DTYPE.names or () if name not in NOT_IN_A_GAME]
ARRAYS = [name for name in FIELDS if STATE_DTYPE[name].shape]
NUMBERS = [name for name in FIELDS if name not in ARRAYS]

# Arrays are written as the bytes they are, and read as parts of one copy of the row.
ROW = RowFormat(STATE_DTYPE[FIELDS], raw=ARRAYS)
NUMBERS_OF_ROW = RowFormat(STATE_DTYPE[NUMBERS])
_values = attrgetter(*("rng.state" if name == "rng" else name for name in FIELDS))
_array_indices = [FIELDS.index(name) for name in ARRAYS]
_arrays = [  # as np.ndarray takes them
    (name, field.shape, field.base, offset)
    for name, (field, offset, *_) in (STATE_DTYPE.fields or {}).items()
    if name in ARRAYS
]


def pack(game: Prospector) -> bytes:
    """Return the row of a game.

    Raises
    ------
    ValueError
        If an array has not the size of its field.
    """
    values = [*_values(game)]
    for i in _array_indices:
        values[i] = values[i].tobytes()
    return ROW.pack(*values)


def unpack(row: Any, time_max: float) -> Prospector:
    """Return the game that a row stands for; the inverse of :func:`pack`.

    Parameters
    ----------
    row : object with the buffer protocol
        One record of ``STATE_DTYPE``. It is copied. Where it is not complete, so is the game: the
        asteroids of nodes that are ``pending`` are 0.
    time_max : float
        Of the rules; not part of a row.
    """
    game = Prospector.__new__(Prospector)  # not Prospector(...): all it would clear is set below
    game.time_max = time_max
    numbers = dict(zip(NUMBERS, NUMBERS_OF_ROW.unpack(row), strict=True))
    game.rng = Pcg.__new__(Pcg)  # a seed would be computed for nothing
    game.rng.state = numbers.pop("rng")
    attributes = vars(game)
    attributes.update(numbers)
    own = np.frombuffer(row, np.uint8).copy()
    for name, shape, dtype, offset in _arrays:
        attributes[name] = np.ndarray(shape, dtype, own, offset)
    return game
