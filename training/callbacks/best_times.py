"""Keep the fastest episodes of a training (option ``best_times`` of a run)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fastenv import BatchEngine
from fastenv.errors import ConfigError, show
from training.run import files, games
from training.run.callback import Callback
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.options import require


class Records(Callback):
    """Keeps the fastest known episodes in a file that other processes may have open too.

    The capability ``records`` makes them of a path, the config of a run, its engines and its name;
    it raises ConfigError where episodes of such a run could not be played again.
    """

    def floor(self, engine: BatchEngine, budget: str) -> float | None:
        """Return the lowest sensible budget with the knobs of an engine; None if unknown."""
        raise NotImplementedError


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
    make_best_times(config, ()).close()


def make_best_times(config: RunConfig, engines: Sequence[Engine], run: str = "") -> Records:
    """Make the callback that keeps the best times of a run; it opens their file.

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
    records: Records = make(path, config, engines, run)
    return records
