"""Options of self-play: the section ``selfplay`` of a run."""

from __future__ import annotations

from dataclasses import dataclass

from training.run.values import require


@dataclass(frozen=True)
class SelfPlayConfig:
    """When the learner meets itself, and how much (docs/training.md).

    Parameters
    ----------
    start, every : int
        Decisions before the first snapshot joins the pool, and from one to the next. They are
        taken between two iterations, at most one at a time.
    keep : int
        Newest snapshots from which opponents are drawn.
    weights : {"age", "winrate"}
        What the chance of a snapshot is proportional to: its rank by age, the newest highest, or
        the share of comparisons that the learner did not win against it.
    bots : float
        Share of the lanes that keep the opponents of ``env_options`` and ``schedules``.
    """

    start: int = 2_000_000
    every: int = 200_000
    keep: int = 10
    weights: str = "age"
    bots: float = 0.25

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        require(self.start >= 0, "selfplay.start", self.start, "at least 0")
        for name in ("every", "keep"):
            value = getattr(self, name)
            require(value >= 1, f"selfplay.{name}", value, "at least 1")
        known = self.weights in ("age", "winrate")
        require(known, "selfplay.weights", self.weights, "'age' or 'winrate'")
        require(0 <= self.bots < 1, "selfplay.bots", self.bots, "at least 0 and below 1")

    def due(self, steps: int) -> int:
        """Return how many snapshots should have been taken after so many decisions."""
        return 0 if steps < self.start else (steps - self.start) // self.every + 1
