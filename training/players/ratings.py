"""Elo ratings of the learner and its snapshots, and their history in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from training.run.checkpoint import CheckpointError

K = 4.0
ANCHOR = 1000.0
LEARNER = -1  # id of the learner among those of the snapshots

_TABLE = """
CREATE TABLE IF NOT EXISTS ratings (
    step INTEGER NOT NULL,    -- decisions of the run
    player INTEGER NOT NULL,  -- id of a snapshot, -1: the learner
    rating REAL NOT NULL,
    games INTEGER NOT NULL,   -- comparisons of the learner with it
    score REAL NOT NULL,      -- of them, won by the learner; ties count half
    PRIMARY KEY (step, player)
)
"""


def expect_score(rating: float, other: float) -> float:
    """Compute the share of comparisons that Elo expects a player to win."""
    return float(1 / (1 + 10 ** ((other - rating) / 400)))


def compare_totals(total: int, other: int) -> float:
    """Return 1 for more points than the other, 0 for fewer, 0.5 for as many."""
    return (total > other) + 0.5 * (total == other)


class Ratings:
    """Elo of the players of matches in which every pair of seats is compared.

    Attributes
    ----------
    rating : dict of int to float
        By player; who is new has the anchor, or what it is given.
    games, score : dict of int to number
        Comparisons of the learner with each snapshot, and how many of them it won.
    """

    def __init__(self) -> None:
        self.rating: dict[int, float] = {LEARNER: ANCHOR}
        self.games: dict[int, int] = {}
        self.score: dict[int, float] = {}

    def enter(self, player: int) -> None:
        """Add a snapshot of the learner, with the rating of the learner."""
        self.rating[player] = self.rating[LEARNER]
        self.games[player], self.score[player] = 0, 0.0

    def add(self, players: Sequence[int], totals: Sequence[int]) -> None:
        """Update the ratings by a match.

        Parameters
        ----------
        players : sequence of int
            Player of each seat; a pair of the same player does not count.
        totals : sequence of int
            Their points. All changes of a match come from the ratings before it.
        """
        change = dict.fromkeys(players, 0.0)
        for i, a in enumerate(players):
            for j in range(i + 1, len(players)):
                b = players[j]
                if a == b:
                    continue
                won = compare_totals(totals[i], totals[j])
                moved = K * (won - expect_score(self.rating[a], self.rating[b]))
                change[a] += moved
                change[b] -= moved
                if LEARNER in (a, b):
                    snapshot = b if a == LEARNER else a
                    self.games[snapshot] += 1
                    self.score[snapshot] += won if a == LEARNER else 1 - won
        for player, moved in change.items():
            self.rating[player] += moved

    def state_dict(self) -> dict[str, Any]:
        """Return JSON values for a checkpoint."""
        rows = [
            [p, r, self.games.get(p, 0), self.score.get(p, 0.0)] for p, r in self.rating.items()
        ]
        return {"players": rows}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        rows = saved["players"]
        self.rating = {player: rating for player, rating, _, _ in rows}
        self.games = {player: games for player, _, games, _ in rows if player != LEARNER}
        self.score = {player: score for player, _, _, score in rows if player != LEARNER}


class RatingsFile:
    """The ratings at the end of every iteration, in the folder of a run.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, steps: int, ratings: Ratings) -> None:
        """Write the ratings after so many decisions.

        Raises
        ------
        CheckpointError
            If it cannot be written.
        """
        rows = [(steps, *row) for row in ratings.state_dict()["players"]]
        self._run("INSERT OR REPLACE INTO ratings VALUES (?, ?, ?, ?, ?)", rows)

    def drop_after(self, steps: int) -> None:
        """Delete the ratings after the checkpoint that a run continues from."""
        if self.path.exists():
            self._run("DELETE FROM ratings WHERE step > ?", [(steps,)])

    def _run(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        try:
            with closing(sqlite3.connect(self.path)) as database, database:
                database.execute(_TABLE)
                database.executemany(statement, rows)
        except sqlite3.OperationalError as error:  # no room, no rights, somebody else writes
            raise CheckpointError(
                f"{self.path} cannot be written ({error}): the checkpoints are complete; free "
                "disk space and use --resume."
            ) from error
        except sqlite3.Error as error:
            raise CheckpointError(
                f"{self.path} cannot be written ({error}): remove it to go on; it holds the "
                "history of the ratings alone."
            ) from error
