"""Keeps the fastest episodes of a training (option ``best_times`` of a run)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from fastenv import BatchEngine
from fastenv.errors import ConfigError, show
from training.callbacks.trackers.base import ended_lanes
from training.run import files, games
from training.run.callback import Callback, Progress
from training.run.checkpoint import Checkpoint
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.options import require


class Records(Protocol):
    """The fastest episodes of a game that are known, in a file that others may have open too.

    The capability ``records`` makes them of a path, the config of a run and its name; it raises
    ConfigError where episodes of such a run could not be played again.
    """

    def note(self, engine: BatchEngine, lane: int, actions: Sequence[int]) -> None:
        """Take in an episode that has just ended in a lane, if it is one to keep."""

    def store(self) -> int:
        """Play what was noted again and know it from now on; return how many of them are new."""

    def state(self) -> list[Any]:
        """Return JSON values of what is known and not in the file yet, for a checkpoint."""

    def saved(self) -> None:
        """Write what :meth:`state` returned last to the file: a run can go on from there."""

    def restore(self, state: list[Any]) -> None:
        """Know, and write to the file, what :meth:`state` had returned.

        Raises
        ------
        ValueError, TypeError
            It is something else.
        """

    def floor(self, engine: BatchEngine, budget: str) -> float | None:
        """Return the lowest sensible budget with the knobs of an engine; None if unknown."""

    def close(self) -> None:
        """Close the file."""


class BestTimes(Callback):
    """Notes what is done in each lane, and hands it over where an episode ends.

    Parameters
    ----------
    engines : sequence of Engine
        Those that are trained on.
    records : Records
        Closed with the run.

    Attributes
    ----------
    records : Records
    """

    def __init__(self, engines: Sequence[Engine], records: Records) -> None:
        self.records = records
        self._engines = list(engines)
        self._actions: list[list[list[int]]] = [[[] for _ in range(e.num_envs)] for e in engines]
        self._new = 0

    def step(
        self,
        loop: Progress,
        engine: Engine,
        actions: np.ndarray | None,
        obs: Any,
        mask: np.ndarray,
    ) -> None:
        """Take in a step."""
        assert isinstance(engine, BatchEngine)
        taken = self._actions[[each is engine for each in self._engines].index(True)]
        if actions is None:
            for lane in taken:
                lane.clear()
            return
        for lane, action in zip(taken, actions.tolist(), strict=True):
            lane.append(action)
        for k in ended_lanes(engine).tolist():
            self.records.note(engine, k, taken[k])
            taken[k].clear()

    def record(self) -> dict[str, Any]:
        """Take in what was noted in the iteration; return how many episodes were new until now."""
        self._new += self.records.store()
        return {"best_times": {"new": self._new}}

    def close(self) -> None:
        """Close the file."""
        self.records.close()

    def state(self) -> dict[str, Any]:
        """Return what was done in the episodes that go on, and those that are in no file yet."""
        noted = self.records.state()
        return {"best_times": {"actions": self._actions, "new": self._new, "noted": noted}}

    def saved(self) -> None:
        """Write to the file what no run that goes on will find anew."""
        self.records.saved()

    def restore(self, saved: Checkpoint) -> None:
        """Go on from a checkpoint."""
        state = saved.trainer["best_times"]
        self._actions = [[list(lane) for lane in noted] for noted in state["actions"]]
        self._new = int(state["new"])
        self.records.restore(state.get("noted", []))  # checkpoints of earlier versions lack it


def check(config: RunConfig) -> None:
    """Refuse a file that cannot be written, or what could not be played again from a reset.

    Raises
    ------
    ConfigError
    """
    assert config.best_times is not None
    kinds = [given.get("kind", name) for name, given in config.trackers.items()]
    allowed = "null with an archive, whose episodes do not begin at their beginning"
    require("archive" not in kinds, "best_times", config.best_times, allowed)
    files.prepare("best_times", Path(config.best_times))
    open_records(config).close()


def make_best_times(config: RunConfig, engines: Sequence[Engine], run: str) -> BestTimes:
    """Return what keeps the best times of a run that asks for it."""
    return BestTimes(engines, open_records(config, run))


def open_records(config: RunConfig, run: str = "") -> Records:
    """Open the file of the fastest episodes, for a run of that config and name.

    Raises
    ------
    ConfigError
        If the game keeps none, or those of such a run could not be played again.
    """
    assert config.best_times is not None
    path, make = Path(config.best_times), games.find(config.env, "records")
    if make is None:
        raise ConfigError(
            f"best_times={show(str(path))} is not possible: {config.env} keeps no best times."
        )
    records: Records = make(path, config, run)
    return records
