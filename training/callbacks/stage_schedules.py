"""Schedules of the stages that a curriculum trains on and tests (option ``gate.mode``).

================  ==================================================================================
``linear``        the newest stage; with ``rehearsal`` sometimes an earlier one. A test passed opens
                  the next stage.
``adaptive``      each stage that is open with weight p (1 - p), where p is its success rate in
                  training: those that are neither mastered nor hopeless. Tests as ``linear``.
``hop_back``      a new stage is probed; where it is too hard, training goes back three stages and
                  comes forward again, each stage with a target that is higher the further back.
================  ==================================================================================

What is open, mastered or gone back to is decided by tests alone; rates seen in training choose what
is trained on, and when a test is worth its time.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from training.evaluation.intervals import wilson

HALF_LIFE = 256  # episodes
# What must have been seen before a rate says something.
FEWEST_EPISODES, FEWEST_DECISIONS, FEWEST_EFFECTIVE = 50, 512, 128.0
PROBE_TARGET, PROBE_SHARE = 0.25, 0.01  # of a run, in decisions
STEEPNESS, FURTHEST = 0.6, 5
BACK = 3  # stages


class StageTest(NamedTuple):
    """A stage, and the success rate that the policy must exceed in its test."""

    stage: int
    target: float


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


class StageSchedule(ABC):
    """Chooses the stage to train on and the stage to test.

    Parameters
    ----------
    stages : int
        Two or more.
    target : float
        Success rate that opens the next stage, where the mode has no targets of its own.
    rehearsal : float
        Share of the training that goes to earlier stages, where the mode has one.
    seed : int
        Of the generator that draws stages.

    Attributes
    ----------
    frontier : int
        The last stage that is open.
    rates : SuccessRates
    """

    def __init__(self, stages: int, target: float, rehearsal: float, seed: int) -> None:
        self.stages, self.target, self.rehearsal = stages, target, rehearsal
        self.frontier = 0
        self.rates = SuccessRates(stages)
        self._rng = np.random.default_rng(seed)

    @staticmethod
    def targets(target: float) -> tuple[float, ...]:
        """Return all targets that tests may have."""
        return (target,)

    @property
    def next_test(self) -> StageTest | None:
        """The next test; None once all stages are passed."""
        last = self.frontier == self.stages - 1
        return None if last else StageTest(self.frontier, self.target)

    def record_verdict(self, passed: bool) -> None:
        """Record the verdict of the test."""
        self.frontier += passed

    @abstractmethod
    def choose_stage(self, done: float) -> int:
        """Choose the stage to train on next, after the share ``done`` of the run."""

    def state(self) -> dict[str, Any]:
        """Return the whole state as JSON values."""
        generator = self._rng.bit_generator.state
        return {"frontier": self.frontier, "rates": self.rates.state(), "generator": generator}

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what :meth:`state` returned."""
        self.frontier = int(state["frontier"])
        self.rates.restore(state["rates"])
        self._rng.bit_generator.state = state["generator"]


class LinearSchedule(StageSchedule):
    """One stage after the other; with ``rehearsal`` an earlier one now and then."""

    def choose_stage(self, done: float) -> int:
        """See :class:`StageSchedule`."""
        if self.frontier and self._rng.random() < self.rehearsal:
            return int(self._rng.integers(self.frontier))
        return self.frontier


class AdaptiveSchedule(StageSchedule):
    """Open stages drawn by weight p (1 - p), which is highest for a success rate of one half."""

    def choose_stage(self, done: float) -> int:
        """See :class:`StageSchedule`."""
        rates = np.array([self.rates.rate(stage) for stage in range(self.frontier + 1)])
        weights = rates * (1.0 - rates)
        return int(self._rng.choice(len(weights), p=weights / weights.sum()))


class HopBackSchedule(StageSchedule):
    """A probe of each new stage; where it fails, three stages back and forward again.

    A probe that passes is followed by the test of the stage itself; where that passes too, the next
    one is opened at once. Rates are of one visit to a stage.
    """

    def __init__(self, stages: int, target: float, rehearsal: float, seed: int) -> None:
        super().__init__(stages, target, rehearsal, seed)
        self._chain: list[int] = []  # stages left, while it is not a probe
        self._probing, self._probed = True, False
        self._since = 0.0

    @staticmethod
    def targets(target: float) -> tuple[float, ...]:
        """See :class:`StageSchedule`; they do not depend on the target of the gate."""
        return (PROBE_TARGET, *map(_compute_target, range(1, BACK + 2)))

    @property
    def next_test(self) -> StageTest | None:
        """See :class:`StageSchedule`."""
        if self.frontier == self.stages:
            return None
        if self._probing:
            return StageTest(self.frontier, _compute_target(1) if self._probed else PROBE_TARGET)
        stage = self._chain[0]
        return StageTest(stage, _compute_target(self.frontier - stage + 1))

    def record_verdict(self, passed: bool) -> None:
        """See :class:`StageSchedule`."""
        if not self._probing:
            if passed:
                self._visit_next()
        elif self._probed:
            self._open_next() if passed else self._go_back()
        else:
            self._probed = passed

    def choose_stage(self, done: float) -> int:
        """See :class:`StageSchedule`."""
        if self._since < 0.0:
            self._since = done
        if self._probing and self.next_test is not None and done - self._since >= PROBE_SHARE:
            self._go_back()
        stage_test = self.next_test
        return self.stages - 1 if stage_test is None else stage_test.stage

    def _open_next(self) -> None:
        self.frontier += 1
        self._probing, self._probed = True, False
        self._since = -1.0  # from the next draw on
        if self.frontier < self.stages:
            self.rates.forget(self.frontier)

    def _go_back(self) -> None:
        self._probing = False
        self._chain = list(range(max(0, self.frontier - BACK), self.frontier + 1))
        self.rates.forget(self._chain[0])

    def _visit_next(self) -> None:
        del self._chain[0]
        if self._chain:
            self.rates.forget(self._chain[0])
        else:
            self._open_next()

    def state(self) -> dict[str, Any]:
        """See :class:`StageSchedule`."""
        probe = [self._probing, self._probed, self._since]
        return {**super().state(), "chain": list(self._chain), "probe": probe}

    def restore(self, state: dict[str, Any]) -> None:
        """See :class:`StageSchedule`."""
        super().restore(state)
        self._chain = list(state["chain"])
        self._probing, self._probed, self._since = state["probe"]


def _compute_target(back: int) -> float:
    """Compute the target of a stage that is so many before the next one to be opened."""
    return 1.0 - math.exp(-STEEPNESS * min(FURTHEST, back))


MODES: dict[str, type[StageSchedule]] = {
    "linear": LinearSchedule,
    "adaptive": AdaptiveSchedule,
    "hop_back": HopBackSchedule,
}
