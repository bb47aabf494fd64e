"""The seats of a game: the order of play, the players of the other seats, and the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

EXTERNAL = "external"  # the name of a player whose decisions come from outside
ROTATE = "rotate"  # the learner's seat moves on by one with each episode
Opponent = str | Sequence[str]  # who plays the other seats: one for all, or one for each
Order = Literal["together", "turns", "mixed"]
ORDERS: tuple[Order, ...] = ("together", "turns", "mixed")


@dataclass(frozen=True)
class SeatFields:
    """Fields of the row with the seating, in a game whose row shows one seat at a time.

    Parameters
    ----------
    actor : str
        The seat whose decision is due.
    agent : str
        The learner's seat.
    players : str
        The number of the player in each seat.
    external : int
        That number where a seat is played from outside.
    scores : str
        The info column with the rewards of each seat until now, in ``seats="all"``.
    unit : float
        What one of them is worth as a reward.
    """

    actor: str
    agent: str
    players: str
    external: int
    scores: str = "scores"
    unit: float = 1.0


@dataclass(frozen=True)
class Seats:
    """The seats of a game and the order in which they act.

    Parameters
    ----------
    count : int
        Players of a game, P.
    order : {"together", "turns", "mixed"}
        Whether all seats act in every step, exactly one does, or any number of them.
    opponents : str
        Name of the option, and knob, for the bots of the other seats.
    outside : tuple of int
        The seats that the caller may play; default all.
    fields : SeatFields, optional
        Where the row shows one seat at a time; without them it has an entry an agent.
    """

    count: int
    order: Order = "mixed"
    opponents: str = "opponent"
    outside: tuple[int, ...] = ()
    fields: SeatFields | None = None

    def __post_init__(self) -> None:
        """Take all seats where none are named."""
        if not self.outside:
            object.__setattr__(self, "outside", tuple(range(self.count)))
