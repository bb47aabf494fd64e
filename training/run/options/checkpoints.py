"""Options of checkpoints, the section ``checkpoints`` of a run."""

from __future__ import annotations

from dataclasses import dataclass

from training.run.values import require


@dataclass(frozen=True)
class CheckpointConfig:
    """When checkpoints are written and how many stay.

    Parameters
    ----------
    every : int
        Decisions between checkpoints; one is also written at the end and when a run is stopped.
        One that is due while the one before is still being written is left out, and tried again
        after the next iteration; deterministic runs wait instead.
    keep : int
        Newest checkpoints to keep.
    keep_every : int or None
        Decisions between checkpoints that stay for ever; None for none.
    """

    every: int = 1_000_000
    keep: int = 3
    keep_every: int | None = None

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        require(self.every >= 1, "checkpoints.every", self.every, "at least 1")
        require(self.keep >= 1, "checkpoints.keep", self.keep, "at least 1")
        possible = self.keep_every is None or self.keep_every >= 1
        allowed = "at least 1, or null for none"
        require(possible, "checkpoints.keep_every", self.keep_every, allowed)
