"""The store of best times of a training: new clears and floors (docs/howto/train_drmario.md)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastenv import BatchEngine
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.tables import FEWEST_VIRUSES_LEVEL, Reason
from training.apps.drmario.best_times import BestTimes, Clear
from training.run.config import RunConfig
from training.run.envs import with_defaults
from training.run.options import require

FLOOR = 0.1  # quantile of the best times of a level's games: the minimum is luck
COLUMNS = ("level", "speed", "seed", "frames", "spawns", "trace")  # of a clear in a checkpoint
SAME = ("extended_inputs", "first_frame", "intro_frames")  # options that records do without


class StoreOfRun:
    """See :class:`training.callbacks.best_times.Records`.

    Parameters
    ----------
    path : Path
    config : RunConfig
    run : str
        Its name, which clears are kept with.

    Raises
    ------
    ConfigError
        For options of the environment with which no clear could be played again.
    RecordError
        If the file is something else.
    """

    def __init__(self, path: Path, config: RunConfig, run: str = "") -> None:
        options = DrMarioConfig.from_options(**with_defaults(config.env, config.env_options))
        for name in SAME:
            value, usual = getattr(options, name), getattr(DrMarioConfig, name)
            require(value == usual, f"env_options.{name}", value, f"{usual} with best_times")
        self._store, self._run = BestTimes(path), run
        self._noted: list[Clear] = []
        self._until = 0

    def note(self, engine: BatchEngine, lane: int, actions: Sequence[int]) -> None:
        """Note an episode that has just ended in a lane, if its bottle is empty."""
        info = engine.final_info
        level = int(info["level"][lane])
        if info["reason"][lane] != Reason.CLEAR or FEWEST_VIRUSES_LEVEL <= level < 0:
            return
        (speed,) = engine.get_knob("speed", [lane])
        names = ("game_seed", "spawns")
        seed, spawns = (int(info[name][lane]) for name in names)
        frames = int(engine.ep_frames[lane])
        self._noted.append(Clear(level, speed, seed, frames, spawns, tuple(actions)))

    def store(self) -> int:
        """Play what was noted again and know it from now on; return how many clears are new."""
        noted, self._noted = self._noted, []
        return self._store.note(noted, self._run) if noted else 0

    def state(self) -> list[Any]:
        """Return the clears that are known and not in the file yet, as JSON values."""
        noted, self._until = self._store.noted()
        return [[getattr(clear, name) for name in COLUMNS] for clear in noted]

    def saved(self) -> None:
        """Write the clears that :meth:`state` returned last to the file."""
        self._store.write(self._until)

    def restore(self, state: list[Any]) -> None:
        """Play what :meth:`state` had returned again, and write it to the file."""
        clears = (dict(zip(COLUMNS, values, strict=True)) for values in state)
        noted = [Clear(**{**clear, "trace": tuple(clear["trace"])}) for clear in clears]
        if noted:
            self._store.add(noted, self._run)

    def floor(self, engine: BatchEngine, budget: str) -> float | None:
        """Return the lowest tenth of the best of the level's games, in frames or spawns."""
        (level,), (speed,) = (engine.get_knob(name, [0]) for name in ("level", "speed"))
        quantiles = self._store.quantiles(level, speed, (FLOOR,), of=budget)
        return quantiles[0] if quantiles else None

    def close(self) -> None:
        """Close the file."""
        self._store.close()
