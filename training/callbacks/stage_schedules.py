"""Schedules of the stages that a curriculum trains on and tests (option ``gate.mode``).

``linear`` trains on the newest stage. ``adaptive`` draws each stage that is open with weight
p (1 - p), where p is its success rate in training: those that are neither mastered nor hopeless. A
test of the newest stage that is passed opens the next one.

What is open is decided by tests alone; rates seen in training choose what is trained on, and when a
test is worth its time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from training.evaluation.intervals import wilson

HALF_LIFE = 256  # episodes
# What must have been seen before a rate says something.
FEWEST_EPISODES, FEWEST_DECISIONS, FEWEST_EFFECTIVE = 50, 512, 128.0


class SuccessRates:
    """Success rates of stages as training sees them, of recent episodes above all.

    They are watched all the time, so that a bound on them proves nothing: it says when to test.

    Parameters
    ----------
    stages : int
    """

    def __init__(self, stages: int) -> None:
        self._weights = np.zeros((stages, 2))  # of successes, of all episodes
        self._seen = np.zeros((stages, 2), np.int64)  # episodes, decisions

    def add(self, stage: int, succeeded: npt.NDArray[np.bool_], decisions: int) -> None:
        """Add episodes that ended on a stage, in their order, and decisions made on it."""
        number = len(succeeded)
        ages = np.exp2(-np.arange(number - 1, -1, -1) / HALF_LIFE)
        self._weights[stage] *= 2.0 ** (-number / HALF_LIFE)
        self._weights[stage] += (ages[succeeded].sum(), ages.sum())
        self._seen[stage] += (number, decisions)

    def forget(self, stage: int) -> None:
        """Reset the rate of a stage."""
        self._weights[stage], self._seen[stage] = 0.0, 0

    def rate(self, stage: int) -> float:
        """Return the mean of a rate whose prior is uniform."""
        successes, episodes = self._weights[stage].tolist()
        return (successes + 1.0) / (episodes + 2.0)

    def lower(self, stage: int) -> float:
        """Return Wilson's lower bound at one standard deviation; 0 where too little was seen."""
        successes, n = self._weights[stage].tolist()
        episodes, decisions = self._seen[stage].tolist()
        if episodes < FEWEST_EPISODES or decisions < FEWEST_DECISIONS or n < FEWEST_EFFECTIVE:
            return 0.0
        return wilson(successes, n, deviations=1.0)[0]

    def state(self) -> dict[str, Any]:
        """Return the whole state as JSON values."""
        return {"weights": self._weights.tolist(), "seen": self._seen.tolist()}

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what :meth:`state` returned."""
        self._weights[:], self._seen[:] = state["weights"], state["seen"]


class StageSchedule:
    """One stage after the other, and the base of other ways to choose the stage to train on.

    Parameters
    ----------
    stages : int
        Two or more.
    seed : int
        Of the generator that draws stages.

    Attributes
    ----------
    frontier : int
        The last stage that is open.
    rates : SuccessRates
    """

    def __init__(self, stages: int, seed: int) -> None:
        self.stages, self.frontier = stages, 0
        self.rates = SuccessRates(stages)
        self._rng = np.random.default_rng(seed)

    @property
    def next_test(self) -> int | None:
        """The next stage to test; None once all are open."""
        return None if self.frontier == self.stages - 1 else self.frontier

    def record_verdict(self, passed: bool) -> None:
        """Record the verdict of the test."""
        self.frontier += passed

    def choose_stage(self) -> int:
        """Choose the stage to train on next."""
        return self.frontier

    def state(self) -> dict[str, Any]:
        """Return the whole state as JSON values."""
        generator = self._rng.bit_generator.state
        return {"frontier": self.frontier, "rates": self.rates.state(), "generator": generator}

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what :meth:`state` returned."""
        self.frontier = int(state["frontier"])
        self.rates.restore(state["rates"])
        self._rng.bit_generator.state = state["generator"]


class AdaptiveSchedule(StageSchedule):
    """Open stages drawn by weight p (1 - p), which is highest for a success rate of one half."""

    def choose_stage(self) -> int:
        """See :class:`StageSchedule`."""
        rates = np.array([self.rates.rate(stage) for stage in range(self.frontier + 1)])
        weights = rates * (1.0 - rates)
        return int(self._rng.choice(len(weights), p=weights / weights.sum()))


MODES: dict[str, type[StageSchedule]] = {"linear": StageSchedule, "adaptive": AdaptiveSchedule}
