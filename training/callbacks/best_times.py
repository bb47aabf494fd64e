"""Keep the fastest episodes of a training (option ``best_times`` of a run)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from fastenv import BatchEngine
from fastenv.errors import ConfigError, show
from training.callbacks.trackers.base import ended_lanes
from training.run import files, games
from training.run.callback import Callback, EngineStep, Progress
from training.run.checkpoint import State
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.options import require


class Records(Protocol):
    """The fastest known episodes of a game, in a file that other processes may have open too.

    The capability ``records`` makes them of a path, the config of a run and its name; it raises
    ConfigError where episodes of such a run could not be played again.
    """

    def note(self, engine: BatchEngine, lane: int, actions: Sequence[int]) -> None:
        """Note an episode that has just ended in a lane, if it is fast enough."""

    def store(self) -> int:
        """Replay the noted episodes and add them to the records; return the number of new ones."""

    def state(self) -> list[Any]:
        """Return the records that are not in the file yet, as JSON values for a checkpoint."""

    def saved(self) -> None:
        """Write the last :meth:`state` to the file, once it is in a checkpoint."""

    def restore(self, state: list[Any]) -> None:
        """Add the records that :meth:`state` had returned, and write them to the file.

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
    """Collects the actions in each lane, and notes them in the records where an episode ends.

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

    def step(self, loop: Progress, step: EngineStep) -> None:
        """Add the actions of a step, and note the episodes that it ended."""
        engine = step.engine
        assert isinstance(engine, BatchEngine)
        taken = self._actions[[each is engine for each in self._engines].index(True)]
        if step.actions is None:
            for lane in taken:
                lane.clear()
            return
        for lane, action in zip(taken, step.actions.tolist(), strict=True):
            lane.append(action)
        for k in ended_lanes(engine).tolist():
            self.records.note(engine, k, taken[k])
            taken[k].clear()

    def record(self) -> dict[str, Any]:
        """Store the episodes of the iteration; return the number of new ones until now."""
        self._new += self.records.store()
        return {"best_times": {"new": self._new}}

    def close(self) -> None:
        """Close the file."""
        self.records.close()

    def state(self) -> dict[str, Any]:
        """Return the actions of running episodes, and the records that are in no file yet."""
        noted = self.records.state()
        return {"best_times": {"actions": self._actions, "new": self._new, "noted": noted}}

    def saved(self) -> None:
        """Write the records of the checkpoint to the file."""
        self.records.saved()

    def restore(self, saved: State) -> None:
        """Restore actions and records from a checkpoint."""
        state = saved.values["best_times"]
        self._actions = [[list(lane) for lane in noted] for noted in state["actions"]]
        self._new = int(state["new"])
        self.records.restore(state.get("noted", []))  # checkpoints of earlier versions lack it


def check(config: RunConfig) -> None:
    """Refuse a file that cannot be written, and episodes that a reset could not begin again.

    Raises
    ------
    ConfigError
    """
    assert config.best_times is not None
    kinds = [options.get("kind", name) for name, options in config.trackers.items()]
    allowed = "null with an archive, whose episodes do not begin at their beginning"
    require("archive" not in kinds, "best_times", config.best_times, allowed)
    files.prepare("best_times", Path(config.best_times))
    open_records(config).close()


def make_best_times(config: RunConfig, engines: Sequence[Engine], run: str) -> BestTimes:
    """Make the callback that keeps the best times of a run."""
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
