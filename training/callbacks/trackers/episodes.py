"""Returns, lengths and successes of episodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from training.callbacks.trackers import kernels
from training.callbacks.trackers.base import (
    Array,
    Source,
    StepReader,
    Tracker,
    check_room,
    check_source,
    ended_lanes,
    read,
)
from training.run.engine import Engine
from training.run.options import Options, Whole, option


class EpisodeOptions(Options):
    """Options of statistics of episodes; see :class:`EpisodeStats`."""

    success: Any = option(None, "source that is nonzero where an episode has ended well")
    size: Whole = option(100, "episodes that are remembered", ge=1)


class EpisodeStats(Tracker):
    """The last episodes, and sums over all.

    Parameters
    ----------
    engine : Engine
    success : str or callable, optional
        Source that is nonzero where an episode has ended well; default none has.
    exclude : ndarray of bool, shape (n,), optional
        Lanes whose episodes are counted and otherwise left out, read when they end: those that
        began in the middle, ``StateArchive.placed``.
    size : int
        Number of episodes that are remembered.
    """

    OPTIONS = EpisodeOptions
    kept = ("ring", "sums", "position", "excluded")

    def __init__(
        self,
        engine: Engine,
        success: Source | None = None,
        exclude: Array | None = None,
        size: int = 100,
    ) -> None:
        super().__init__(engine)
        self.room = check_room("size", size, size * 24)
        self._success = None if success is None else check_source(engine, success)
        self._exclude = exclude
        self._no_success = np.zeros(engine.num_envs)
        self.ring = np.zeros((size, 3))
        self.sums = np.zeros(3)
        self.position = self.excluded = 0

    def reset(self, done_idx: npt.ArrayLike, obs: Array | None = None) -> None:
        """Do nothing: the engine keeps the sums of running episodes."""

    def observe(self, engine: Engine, actions: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        ended = ended_lanes(engine)
        if self._exclude is not None and ended.size:
            counted = ended[~self._exclude[ended]]
            self.excluded += len(ended) - len(counted)
            ended = counted
        if not ended.size:
            return
        success = self._no_success
        if self._success is not None:
            values = read(self._success, StepReader.after_step(engine, obs))
            success = (np.asarray(values) != 0).astype(np.float64)
        self.position = kernels.add_episodes(
            ended, engine.ep_return, engine.ep_length, success, self.position, self.ring, self.sums
        )

    def last(self) -> Array:
        """Return return, length and success of the remembered episodes, oldest first."""
        if self.position < len(self.ring):
            return self.ring[: self.position]
        return np.roll(self.ring, -(self.position % len(self.ring)), axis=0)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See :class:`Tracker`; earlier versions also saved where the sums began, which was 0."""
        super().load_state_dict({k: x for k, x in state.items() if k != "window_start"})

    def metrics(self) -> dict[str, float]:
        """Return means over the last episodes and over all (``window_``), if there are any."""
        number = self.position
        record = {"episodes": float(number), "window_episodes": float(number)}
        if self._exclude is not None:
            record["excluded"] = float(self.excluded)
        means = {"": self.last().mean(0), "window_": self.sums / number} if number else {}
        for prefix, (reward, length, success) in means.items():
            record[f"{prefix}return"], record[f"{prefix}length"] = float(reward), float(length)
            if self._success is not None:
                record[f"{prefix}success"] = float(success)
        return record
