"""Descriptions of observations by their game, beyond shapes and bounds (``observation``).

The capability ``observation`` is a function of an engine that returns :class:`ObservationParts`. A
game without it has none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Placements:
    """Actions that each fill two cells of a board.

    Parameters
    ----------
    board : str
        Field of the observation whose planes show the board.
    cells : tuple of (int, int)
        Of each action, the cells of the first half and of the second, row by row from the top; -1
        for one outside the board.
    costs : str or None
        Field with a number for each action, such as how long it takes; None if it is not shown.
    """

    board: str
    cells: tuple[tuple[int, int], ...]
    costs: str | None = None


@dataclass(frozen=True)
class Colours:
    """Colours whose names do not matter: a network sees which are equal, not which they are.

    Parameters
    ----------
    board : str
        Field of the observation that shows a board in planes.
    planes : tuple of int
        Its planes that show where each colour is.
    given : str
        Field of shape (k, number of colours): what is to be placed there, each colour one-hot.
    """

    board: str
    planes: tuple[int, ...]
    given: str


@dataclass(frozen=True)
class ObservationParts:
    """The structure of an observation beyond shapes and bounds.

    Parameters
    ----------
    phase : tuple of int or None
        Offset and length of the one-hot of the decision phase.
    slots : tuple of (int, int, int)
        Offset, number and width of each row of card slots; an empty slot is all zero.
    hand : tuple of int or None
        The row of slots whose cards are played by as many first actions, one each.
    fields : mapping of str to mapping
        Attributes of :class:`training.nets.layout.Field` that shape and bounds of a field do not
        tell, by its name.
    placements : Placements or None
        What the actions do to a board.
    colours : Colours or None
        Fields that show colours.
    goals : tuple of str
        Fields that say what is to be reached.
    """

    phase: tuple[int, int] | None = None
    slots: tuple[tuple[int, int, int], ...] = ()
    hand: tuple[int, int, int] | None = None
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    placements: Placements | None = None
    colours: Colours | None = None
    goals: tuple[str, ...] = ()


@dataclass(frozen=True)
class CriticView:
    """Inputs of the value network in training that the player cannot see, such as all hands.

    The capability ``critic_view`` is a function of an engine that returns it. It is for games whose
    episodes are never cut off: the rows behind them are not kept.

    Parameters
    ----------
    size : int
        Numbers of a row.
    write : callable
        Takes rows (n,) in which a decision is due, and an array (n, size) of uint8 to fill.
    """

    size: int
    write: Callable[[np.ndarray, np.ndarray], None]
