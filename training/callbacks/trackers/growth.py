"""Rewards for the growth of a number: credits earned, levels reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from training.callbacks.trackers.base import Array, StepReader, Tracker, read
from training.callbacks.trackers.sources import source_of
from training.run.engine import Engine
from training.run.options import Number, Options, option


class GrowthOptions(Options):
    """Options of rewards for growth; see :class:`GrowthReward`."""

    source: Any = option(..., "value of each lane")
    weight: Number = option(1.0, "reward for a rise by 1")


class GrowthReward(Tracker):
    """Pays where a source rises above the highest value that it had in the episode.

    What is lost again and regained is paid once, so that no circle of buying and selling pays. NaN
    is no value and not paid.

    Parameters
    ----------
    engine : Engine
    options : GrowthOptions

    Attributes
    ----------
    highest : ndarray of float64, shape (n,)
        Highest value of each lane's episode, that of its first state included.
    """

    OPTIONS = GrowthOptions
    kept = ("highest", "bonus")

    def __init__(self, engine: Engine, options: GrowthOptions) -> None:
        super().__init__(engine, options)
        self._source = source_of(engine, options.source, f"{options.SECTION}source")
        self.highest = np.zeros(engine.num_envs)
        self.bonus = np.zeros(engine.num_envs)

    def reset(self, done_idx: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        done = np.asarray(done_idx)
        self.highest[done] = read(self._source, StepReader(self._engine, obs))[done]

    def observe(self, engine: Engine, actions: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        highest = np.fmax(self.highest, read(self._source, StepReader.after_step(engine, obs)))
        assert self.bonus is not None
        self.bonus[:] = self._options.weight * np.nan_to_num(highest - self.highest, posinf=0.0)
        self.highest[:] = highest

    def metrics(self) -> dict[str, float]:
        """Return the mean over the lanes of the highest value of their episodes."""
        finite = self.highest[np.isfinite(self.highest)]
        return {"highest": float(finite.mean()) if finite.size else 0.0}
