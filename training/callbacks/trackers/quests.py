"""Quests: conditions that have to be met one after the other, each for a reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from fastenv.errors import ConfigError, show
from training.callbacks.trackers import kernels
from training.callbacks.trackers.base import Array, Source, StepReader, Tracker, check_source, read
from training.run.engine import Engine

MAX_QUESTS = 63  # bits of a set of quests


@dataclass(frozen=True)
class Bit:
    """A condition on a column of flags: bit ``number`` (0 to 52) is 1."""

    number: int


Condition = float | tuple[float, float] | Bit


@dataclass(frozen=True)
class Stage:
    """A stage of a quest; the stages of a quest are met in the order in which they are given.

    Parameters
    ----------
    quest : str
    when : mapping of str to condition
        Column to the value it must have, to the lowest and the highest (infinite where one does
        not matter), or to a :class:`Bit`. All must hold in the state behind one step.
    reward : float
    requires : sequence of str
        Quests that must be complete before the first stage can be; named by any of the stages.
    """

    quest: str
    when: Mapping[str, Condition]
    reward: float = 1.0
    requires: Sequence[str] = ()


class QuestReward(Tracker):
    """Rewards progress in quests; at most one stage of a quest in a step.

    Parameters
    ----------
    engine : Engine
    stages : sequence of Stage
    scope : "episode" or "lifetime"
        Whether a lane begins its quests anew in each episode, or never.

    Attributes
    ----------
    progress : ndarray of uint8, shape (n, quests)
        Stages done.
    completed : ndarray of int64, shape (n,)
        Sets of quests, as bits.
    first_steps : ndarray of int64, shape (quests,)
        Decision, over all lanes, at which each quest was completed for the first time; -1 before.
    """

    kept = ("progress", "completed", "finished", "bonus", "first_steps", "steps")

    def __init__(
        self,
        engine: Engine,
        stages: Sequence[Stage],
        scope: Literal["episode", "lifetime"] = "episode",
    ) -> None:
        super().__init__(engine)
        if scope not in ("episode", "lifetime"):
            raise ConfigError(f"scope={show(scope)}: must be episode or lifetime")
        self.scope = scope
        self.quests = list(dict.fromkeys(stage.quest for stage in stages))
        if not 1 <= len(self.quests) <= MAX_QUESTS:
            raise ConfigError(f"{len(self.quests)} quests: must be from 1 to {MAX_QUESTS}")
        ordered = sorted(stages, key=lambda stage: self.quests.index(stage.quest))
        sizes = [sum(s.quest == quest for s in stages) for quest in self.quests]
        if max(sizes) > 255:
            raise ConfigError(
                f"quest {show(self.quests[int(np.argmax(sizes))])}: more than 255 stages"
            )
        self._first = np.cumsum([0, *sizes])
        self._reward = np.array([stage.reward for stage in ordered], np.float64)
        self._requires = np.zeros(len(self.quests), np.int64)
        for stage in ordered:
            for name in stage.requires:
                if name not in self.quests:
                    raise ConfigError(
                        f"quest {show(stage.quest)} requires {show(name)}: no such quest"
                    )
                self._requires[self.quests.index(stage.quest)] |= 1 << self.quests.index(name)
        self._columns, self._low, self._high = _compile_conditions(engine, ordered)
        n = engine.num_envs
        self._values = np.zeros((n, len(self._columns)))
        self.progress = np.zeros((n, len(self.quests)), np.uint8)
        self.completed = np.zeros(n, np.int64)
        self.finished = np.zeros(len(self.quests), np.int64)
        self.bonus = np.zeros(n)
        self.first_steps = np.full(len(self.quests), -1, np.int64)
        self.steps = 0
        self._news: list[dict[str, Any]] = []

    def reset(self, done_idx: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        if self.scope == "episode":
            done = np.asarray(done_idx)
            self.progress[done] = 0
            self.completed[done] = 0

    def observe(self, engine: Engine, actions: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        seen = StepReader.after_step(engine, obs)
        for k, (source, bit) in enumerate(self._columns):
            column = read(source, seen)
            self._values[:, k] = column if bit is None else column.astype(np.int64) >> bit & 1
        kernels.advance_quests(
            *(self._values, self._first, self._low, self._high, self._reward, self._requires),
            *(self.progress, self.completed, self.finished, self.bonus),
        )
        self.steps += engine.num_envs
        new = (self.finished > 0) & (self.first_steps < 0)
        if new.any():
            self.first_steps[new] = self.steps
            for quest in np.flatnonzero(new):
                lane = int(np.flatnonzero(self.completed >> quest & 1)[0])
                self._news.append({"name": self.quests[quest], "step": self.steps, "lane": lane})

    def take_news(self) -> list[dict[str, Any]]:
        """Return name, decision and lane of the quests first completed since last asked."""
        news, self._news = self._news, []
        return news

    def metrics(self) -> dict[str, float]:
        """Return the completions of each quest, and the decision of the first (``first/quest``)."""
        counts = {quest: float(n) for quest, n in zip(self.quests, self.finished, strict=True)}
        firsts = zip(self.quests, self.first_steps, strict=True)
        return counts | {f"first/{quest}": float(step) for quest, step in firsts if step >= 0}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore; a state of a version that did not note first completions has none."""
        none = np.where(np.asarray(state.get("finished", self.finished)) > 0, 0, -1)
        super().load_state_dict({"first_steps": torch.from_numpy(none), "steps": 0, **state})


def _compile_conditions(
    engine: Engine, stages: Sequence[Stage]
) -> tuple[list[tuple[Source, int | None]], Array, Array]:
    """Compile conditions to columns (source, bit) and their least and greatest values by stage."""
    columns: dict[tuple[str, int | None], int] = {}
    limits: list[dict[int, tuple[float, float]]] = []
    for stage in stages:
        limits.append({})
        for name, condition in stage.when.items():
            bit = condition.number if isinstance(condition, Bit) else None
            column = columns.setdefault((name, bit), len(columns))
            limits[-1][column] = _get_limits(condition)
    low, high = (np.full((len(stages), len(columns)), end) for end in (-np.inf, np.inf))
    for k, by_column in enumerate(limits):
        for column, ends in by_column.items():
            low[k, column], high[k, column] = ends
    read_from = [(check_source(engine, name), bit) for name, bit in columns]
    return read_from, low, high


def _get_limits(condition: Condition) -> tuple[float, float]:
    if isinstance(condition, Bit):
        return 1.0, 1.0
    return condition if isinstance(condition, tuple) else (condition, condition)
