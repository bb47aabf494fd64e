"""Quests: conditions that have to be met one after the other, each for a reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BeforeValidator

from training.callbacks.trackers import kernels
from training.callbacks.trackers.base import Array, Source, StepReader, Tracker, read
from training.callbacks.trackers.sources import is_number, source_of
from training.run.engine import Engine
from training.run.options import Number, Options, Text, option, refused, require


def _read_condition(given: Any) -> tuple[float, float]:
    """Read a value, or an interval ``[low, high]`` (null: no end), as its ends."""
    is_interval = isinstance(given, list | tuple) and len(given) == 2
    low, high = given if is_interval else (given, given)
    ends = [end for end in (low, high) if end is not None or not is_interval]
    if not all(map(is_number, ends)):
        raise refused("a number or [low, high]")
    low = -float("inf") if low is None else float(low)
    high = float("inf") if high is None else float(high)
    if low > high:
        raise refused("a number or [low, high], the lower one first")
    return low, high


class QuestStage(Options):
    """A stage of a quest; the stages of a quest are met in the order in which they are given."""

    quest: Text = option(..., "name of the quest that it belongs to")
    when: dict[str, Annotated[Any, BeforeValidator(_read_condition)]] = option(
        ...,
        "column to the value it must have, or to the lowest and the highest, null where one does "
        "not matter; all must hold in the state behind one step",
    )
    reward: Number = option(1.0, "of the step that meets it")


class QuestOptions(Options):
    """Options of quests; see :class:`QuestReward`."""

    stages: Any = option(..., "a list of :class:`QuestStage`")


class QuestReward(Tracker):
    """Rewards progress in quests, which begin anew in each episode.

    At most one stage of a quest is met in a step.

    Parameters
    ----------
    engine : Engine
    options : QuestOptions

    Attributes
    ----------
    progress : ndarray of uint8, shape (n, quests)
        Stages done.
    first_steps : ndarray of int64, shape (quests,)
        Decision, over all lanes, at which each quest was completed for the first time; -1 before,
        0 where an earlier version of the code did not note it.
    """

    OPTIONS = QuestOptions
    kept = ("progress", "finished", "bonus", "first_steps", "steps")

    def __init__(self, engine: Engine, options: QuestOptions) -> None:
        super().__init__(engine, options)
        stages, where = options.stages, f"{options.SECTION}stages"
        self.quests = list(dict.fromkeys(stage.quest for stage in stages))
        ordered = sorted(stages, key=lambda stage: self.quests.index(stage.quest))
        sizes = [sum(s.quest == quest for s in stages) for quest in self.quests]
        longest = self.quests[int(np.argmax(sizes))]
        require(max(sizes) <= 255, where, longest, "quests of at most 255 stages each")
        self._sizes, self._first = np.array(sizes), np.cumsum([0, *sizes])
        self._reward = np.array([stage.reward for stage in ordered], np.float64)
        self._columns, self._low, self._high = _compile_conditions(engine, ordered, where)
        n = engine.num_envs
        self._values = np.zeros((n, len(self._columns)))
        self.progress = np.zeros((n, len(self.quests)), np.uint8)
        self.finished = np.zeros(len(self.quests), np.int64)
        self.bonus = np.zeros(n)
        self.first_steps = np.full(len(self.quests), -1, np.int64)
        self.steps = 0
        self._news: list[dict[str, Any]] = []

    @property
    def completed(self) -> Array:
        """Quests that each lane has completed in its episode, bool of shape (n, quests)."""
        return np.asarray(self.progress == self._sizes)

    def reset(self, done_idx: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        self.progress[np.asarray(done_idx)] = 0

    def observe(self, engine: Engine, actions: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        seen = StepReader.after_step(engine, obs)
        for k, source in enumerate(self._columns):
            self._values[:, k] = read(source, seen)
        kernels.advance_quests(
            *(self._values, self._first, self._low, self._high, self._reward),
            *(self.progress, self.finished, self.bonus),
        )
        self.steps += engine.num_envs
        new = (self.finished > 0) & (self.first_steps < 0)
        if new.any():
            self.first_steps[new] = self.steps
            for quest in np.flatnonzero(new):
                lane = int(np.flatnonzero(self.completed[:, quest])[0])
                self._news.append({"name": self.quests[quest], "step": self.steps, "lane": lane})

    def take_news(self) -> list[dict[str, Any]]:
        """Return name, decision and lane of the quests first completed since last asked."""
        news, self._news = self._news, []
        return news

    def metrics(self) -> dict[str, float]:
        """Return the completions of each quest, and the decision of the first (``first/quest``)."""
        counts = {quest: float(n) for quest, n in zip(self.quests, self.finished, strict=True)}
        firsts = zip(self.quests, self.first_steps, strict=True)
        return counts | {f"first/{quest}": float(step) for quest, step in firsts if step > 0}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See :class:`Tracker`.

        Earlier versions did not note first completions, and saved which quests are complete.
        """
        none = np.where(np.asarray(state.get("finished", self.finished)) > 0, 0, -1)
        since = {"first_steps": torch.from_numpy(none), "steps": 0}
        super().load_state_dict(since | {k: x for k, x in state.items() if k != "completed"})


def _compile_conditions(
    engine: Engine, stages: Sequence[QuestStage], option: str
) -> tuple[list[Source], Array, Array]:
    """Compile conditions to columns and their least and greatest values by stage."""
    columns: dict[str, int] = {}
    limits: list[dict[int, tuple[float, float]]] = []
    for stage in stages:
        limits.append({})
        for name, ends in stage.when.items():
            limits[-1][columns.setdefault(name, len(columns))] = ends
    low, high = (np.full((len(stages), len(columns)), end) for end in (-np.inf, np.inf))
    for k, by_column in enumerate(limits):
        for column, ends in by_column.items():
            low[k, column], high[k, column] = ends
    return [source_of(engine, name, option) for name in columns], low, high
