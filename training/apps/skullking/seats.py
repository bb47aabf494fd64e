"""Who sits where in a whole game, read in its rows (see :class:`training.run.games.Seats`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastenv.skullking.tables import Bot


@dataclass(frozen=True)
class TableSeats:
    """The seats of a table.

    Parameters
    ----------
    count : int
        Players.
    """

    count: int

    def from_outside(self, rows: np.ndarray) -> np.ndarray:
        """Tell in which rows any seat is played from outside the engine, bool (k,)."""
        found: np.ndarray = (rows["bots"] == Bot.EXTERNAL).any(axis=1)
        return found

    def deciding(self, rows: np.ndarray) -> np.ndarray:
        """Return who decides: seats from the learner's on, 0 for the learner, shape (k,)."""
        deciding: np.ndarray = (rows["actor"] - rows["agent"]) % self.count
        return deciding

    def learner(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of the learner's seat, shape (k,)."""
        seat: np.ndarray = rows["agent"]
        return seat

    def points(self, rows: np.ndarray) -> np.ndarray:
        """Return the official points of all seats, shape (k, count)."""
        points: np.ndarray = rows["total"][:, : self.count]
        return points
