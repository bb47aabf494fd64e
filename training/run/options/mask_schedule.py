"""Actions that are held back for a while, the section ``mask_schedule`` of a run."""

from __future__ import annotations

from dataclasses import dataclass

from training.run.values import require


@dataclass(frozen=True)
class LateAction:
    """An action that the trainer is not offered in the first ticks of an episode.

    A curriculum, not a rule: the environment knows nothing of it, and evaluation plays without it.

    Parameters
    ----------
    action : int
    ticks : int
        Length of that part of an episode when the training begins.
    anneal_steps : int or None
        Decisions of training over which it shrinks linearly to nothing; None keeps it.
    """

    action: int
    ticks: int
    anneal_steps: int | None = None

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        require(self.action >= 0, "mask_schedule.action", self.action, "at least 0")
        require(self.ticks >= 1, "mask_schedule.ticks", self.ticks, "at least 1")
        possible = self.anneal_steps is None or self.anneal_steps >= 1
        allowed = "at least 1, or null for a curriculum that stays"
        require(possible, "mask_schedule.anneal_steps", self.anneal_steps, allowed)

    def ticks_at(self, steps: int) -> float:
        """Return the length after this many decisions of training."""
        if self.anneal_steps is None:
            return float(self.ticks)
        return self.ticks * max(0.0, 1 - steps / self.anneal_steps)
