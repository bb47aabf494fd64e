"""Time goals of a curriculum (option ``gate.times``): mastered stages are to be done faster.

A stage is *mastered* once so many episodes of training in a row have met its goal that the rate is
above 0.99 by Wilson's bound at two standard deviations. Then every measure of time gets a budget,
the mean of the last episodes that met the goal. Whenever a test certifies that more than
``1 - exp(-0.6 k)`` meet the goal within the budgets, these are tightened; k is 1, then 2, from the
third time on 3. No budget falls below its floor. An episode that misses the goal ends mastery, and
takes the budgets away.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import BatchEngine
from training.callbacks.best_times import Records
from training.callbacks.stage_schedules import SuccessRates
from training.callbacks.trackers.base import StepReader, ended_lanes
from training.run.engine import Engine

Flags = npt.NDArray[np.bool_]

MASTERED, DEVIATIONS = Fraction(99, 100), 2  # as floats they would come to one episode less
STREAK = math.floor(DEVIATIONS**2 * MASTERED / (1 - MASTERED)) + 1  # 397
RECENT = 128  # episodes that met the goal
HARDEST, STEEPNESS = 3, 0.6  # largest k, and its factor
SHARE = 0.1  # of the median absolute deviation, by which a budget is tightened


def list_targets() -> tuple[float, ...]:
    """Return the success rates that tests of budgets may have as their target."""
    return tuple(1.0 - math.exp(-STEEPNESS * k) for k in range(1, HARDEST + 1))


@dataclass(frozen=True)
class Budget:
    """A knob that limits how long an episode may take to count as a success.

    The capability ``budgets`` has them by name, and ``goal_met`` is the source that tells where an
    episode has met its goal, in whatever time (:mod:`training.callbacks.trackers.sources`).

    Parameters
    ----------
    knob : str
        Its value None sets no limit.
    column : str or None
        Info column with what was used at the end of an episode; None: its ticks.
    step : int or None
        How far it is tightened at once; None goes by how much episodes differ.
    """

    knob: str
    column: str | None = None
    step: int | None = None


class TimeGoal:
    """The time goal of a stage: its streak and its budgets.

    Parameters
    ----------
    budgets : sequence of Budget

    Attributes
    ----------
    streak : int
        Episodes in a row that have met the goal.
    values : tuple of int, or None
        The budgets; None without mastery.
    """

    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = tuple(budgets)
        self._times: deque[tuple[int, ...]] = deque(maxlen=RECENT)
        self._tightened = 0
        self.streak = 0
        self.values: tuple[int, ...] | None = None

    @property
    def mastered(self) -> bool:
        """Whether the streak is long enough."""
        return self.streak >= STREAK

    @property
    def target(self) -> float:
        """Success rate within the budgets that a test must show to be exceeded."""
        return list_targets()[min(self._tightened, HARDEST - 1)]

    def add(self, met: Flags, times: npt.NDArray[np.integer[Any]]) -> None:
        """Add episodes that ended on the stage, in their order.

        Parameters
        ----------
        met : ndarray of bool, shape (k,)
            Whether they met the goal, in whatever time.
        times : ndarray of int, shape (k, budgets)
        """
        for one, took in zip(met.tolist(), times.tolist(), strict=True):
            self.streak = self.streak + 1 if one else 0
            if one:
                self._times.append(tuple(took))

    def settle(self, floors: Sequence[float | None]) -> None:
        """Set the budgets where mastery has been reached, take them away where it is lost.

        Parameters
        ----------
        floors : sequence of float or None
            What each budget must not be below.
        """
        if not self.mastered:
            self.values, self._tightened = None, 0
        elif self.values is None:
            means = np.mean(self._times, axis=0).tolist()
            self.values = _raise_to_floors(floors, [math.floor(mean) for mean in means])

    def tighten(self, floors: Sequence[float | None]) -> None:
        """Lower the budgets, once a test has certified :attr:`target`; see :meth:`settle`."""
        assert self.values is not None
        times = np.array(self._times)
        spread = np.median(np.abs(times - np.median(times, axis=0)), axis=0)
        steps = [
            max(1, math.floor(SHARE * wide)) if budget.step is None else budget.step
            for budget, wide in zip(self._budgets, spread.tolist(), strict=True)
        ]
        lower = [value - step for value, step in zip(self.values, steps, strict=True)]
        # A floor may have come to lie above a budget since: it is left as it is.
        held = _raise_to_floors(floors, lower)
        self.values = tuple(min(pair) for pair in zip(self.values, held, strict=True))
        self._tightened += 1

    def state(self) -> dict[str, Any]:
        """Return the whole state as JSON values."""
        return {
            "streak": self.streak,
            "times": [list(took) for took in self._times],
            "values": None if self.values is None else list(self.values),
            "tightened": self._tightened,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what :meth:`state` returned."""
        self.streak, self._tightened = int(state["streak"]), int(state["tightened"])
        self._times = deque(map(tuple, state["times"]), maxlen=RECENT)
        self.values = None if state["values"] is None else tuple(state["values"])


class TimeGoals:
    """The time goals of all stages, and their budgets as knobs of engines.

    Parameters
    ----------
    budgets : mapping of str to Budget
        By name; empty for no time goals.
    stages : int
    records : Records or None
        Knows floors; without it there are none.
    """

    def __init__(self, budgets: Mapping[str, Budget], stages: int, records: Records | None) -> None:
        self._budgets, self._records = dict(budgets), records
        self._goals = [TimeGoal(list(budgets.values())) for _ in range(stages)]
        self._within = SuccessRates(stages)  # of episodes since the budgets were changed

    def add(self, stage: int, engine: Engine, seen: StepReader, met: Flags, won: Flags) -> None:
        """Add the episodes that a step of an engine has ended on a stage.

        Parameters
        ----------
        stage : int
        engine : Engine
        seen : StepReader
            Of the step.
        met, won : ndarray of bool, shape (k,)
            Whether they met the goal, and did so within the budgets, in the order of their lanes.
        """
        if not self._budgets:
            return
        goal = self._goals[stage]
        if len(met):
            assert isinstance(engine, BatchEngine)
            ended, columns = ended_lanes(engine), [b.column for b in self._budgets.values()]
            used = [(engine.ep_frames if c is None else seen[c])[ended] for c in columns]
            goal.add(met, np.stack(used, axis=1))
        if goal.values is not None:
            self._within.add(stage, won, engine.num_envs)

    def settle(self, stage: int, engine: Engine) -> bool:
        """Set the budgets of a stage, or take them away; tell whether they have changed."""
        goal, before = self._goals[stage], self._goals[stage].values
        if self._budgets:
            goal.settle(self._read_floors(engine) if before is None and goal.mastered else ())
        return self._reset_if_changed(stage, before)

    def target(self, stage: int) -> float | None:
        """Return the rate that a test of the budgets must exceed; None if no test is due yet."""
        goal = self._goals[stage]
        ready = goal.values is not None and self._within.lower(stage) > goal.target
        return goal.target if ready else None

    def record_verdict(self, stage: int, passed: bool, engine: Engine) -> bool:
        """Record a verdict on :meth:`target`; tell whether the budgets have changed."""
        before = self._goals[stage].values
        if passed:
            self._goals[stage].tighten(self._read_floors(engine))
        self._within.forget(stage)
        return self._reset_if_changed(stage, before)

    def _reset_if_changed(self, stage: int, before: tuple[int, ...] | None) -> bool:
        changed = self._goals[stage].values != before
        if changed:
            self._within.forget(stage)
        return changed

    def _read_floors(self, engine: Engine) -> list[float | None]:
        if self._records is None:
            return [None] * len(self._budgets)
        assert isinstance(engine, BatchEngine)
        return [self._records.floor(engine, name) for name in self._budgets]

    def values(self, stage: int) -> dict[str, int | None]:
        """Return the budgets of a stage by name; None where there is none."""
        values = self._goals[stage].values or [None] * len(self._budgets)
        return dict(zip(self._budgets, values, strict=True))

    def configure(self, engines: Sequence[Engine], stage: int | None) -> None:
        """Set the budgets of a stage, or with None none, for each lane from its next reset."""
        values = dict.fromkeys(self._budgets) if stage is None else self.values(stage)
        for engine in engines:
            for name, value in values.items():
                engine.configure(self._budgets[name].knob, value)

    def record(self, stage: int) -> dict[str, Any]:
        """Return the streak and the budgets of a stage, for a log."""
        if not self._budgets:
            return {}
        return {"streak": self._goals[stage].streak, "budgets": self.values(stage)}

    def state(self) -> dict[str, Any]:
        """Return the whole state as JSON values."""
        return {"goals": [goal.state() for goal in self._goals], "within": self._within.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Put back what :meth:`state` returned."""
        for goal, saved in zip(self._goals, state["goals"], strict=True):
            goal.restore(saved)
        self._within.restore(state["within"])


def _raise_to_floors(floors: Sequence[float | None], values: Sequence[int]) -> tuple[int, ...]:
    """Raise values to at least 1, and each to its floor."""
    pairs = zip(floors, values, strict=True)
    return tuple(max(1, value, math.ceil(floor or 0)) for floor, value in pairs)
