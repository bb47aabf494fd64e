"""Statistics of the rounds of an iteration, by round, phase of the game and source of the goal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastenv.skullking.config import PHASE_ROUNDS


class RoundStats:
    """Sums over the steps of one iteration, from the columns of the engine.

    Parameters
    ----------
    num_rounds : int
        Of a game.

    Attributes
    ----------
    decisions, ended, hits, error : ndarray of int64, shape (num_rounds,)
        Of each round: decisions taken in it, rounds that ended, of these with an exact bid, and
        their sum of won - bid.
    """

    def __init__(self, num_rounds: int) -> None:
        self._num_rounds = num_rounds
        self.clear()

    def clear(self) -> None:
        """Begin a new iteration."""
        self.decisions, self.ended, self.hits, self.error = np.zeros(
            (4, self._num_rounds), np.int64
        )
        self._sources: dict[str, np.ndarray] = {}

    def add(self, engine: Any, sources: Mapping[str, np.ndarray] | None = None) -> None:
        """Add the step that an engine has just made, with automatic reset.

        Parameters
        ----------
        engine : BatchEngine or ManagerEnv
        sources : mapping of str to ndarray of int, optional
            Lanes of each source of goals.
        """
        done = (engine.terminated | engine.truncated) != 0
        number, bid, won = (
            np.where(done, engine.final_info[name], engine.info[name])
            for name in ("ended_round", "ended_bid", "ended_won")
        )
        over = number > 0
        where, missed = number[over] - 1, (won - bid)[over]
        if not over.all():
            here = engine.info["round"]  # a round that goes on
            self.decisions += self._count(here[~over] - 1)
        self.decisions += self._count(where)
        self.ended += self._count(where)
        self.hits += self._count(where[missed == 0])
        np.add.at(self.error, where, missed)
        for source, lanes in (sources or {}).items():
            exact = (won == bid)[lanes][over[lanes]]
            sums = self._sources.setdefault(source, np.zeros(2, np.int64))
            sums += len(exact), int(exact.sum())

    def record(self) -> dict[str, Any]:
        """Return counts, rates and shares as JSON values; None where there was nothing.

        Returns
        -------
        dict
            ``by_round``: lists, one entry a round. ``by_phase``: phase to the same figures.
            ``by_goal``: source to count and hit rate, if there are sources.
        """
        names, values = (
            ("n", "hit_rate", "won_minus_bid", "decisions", "episodes"),
            self._compute_figures,
        )
        number = np.arange(self._num_rounds) + 1
        rounds = [values(number == r) for r in number]
        phases = {
            phase: dict(zip(names, values((number >= low) & (number <= high)), strict=True))
            for phase, (low, high) in PHASE_ROUNDS.items()
        }
        record: dict[str, Any] = {
            "by_round": dict(zip(names, map(list, zip(*rounds, strict=True)), strict=True)),
            "by_phase": phases,
        }
        if self._sources:
            record["by_goal"] = {
                source: {"n": int(n), "hit_rate": _divide(hits, n)}
                for source, (n, hits) in self._sources.items()
            }
        return record

    def _count(self, rounds: np.ndarray) -> np.ndarray:
        return np.bincount(rounds, minlength=self._num_rounds)

    def _compute_figures(self, part: np.ndarray) -> tuple[Any, ...]:
        """Return count, hit rate, mean error, share of decisions and of episodes of some rounds."""
        n = int(self.ended[part].sum())
        return (
            n,
            _divide(self.hits[part].sum(), n),
            _divide(self.error[part].sum(), n),
            _divide(self.decisions[part].sum(), self.decisions.sum()),
            _divide(n, self.ended.sum()),
        )


def _divide(part: Any, whole: Any) -> float | None:
    return float(part) / float(whole) if whole else None
