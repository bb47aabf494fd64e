"""Probabilities of the events of an episode, as Beta posteriors that forget old policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from training.callbacks.trackers import kernels
from training.callbacks.trackers.base import Array, StepReader, Tracker, ended_lanes, read
from training.callbacks.trackers.sources import source_of
from training.run.engine import Engine
from training.run.options import Number, Options, Text, option, require

_KINDS = {"rise": kernels.RISE, "fall": kernels.FALL, "change": kernels.CHANGE}
HALF_LIFE = 256.0  # episodes
_KEPT = 0.5 ** (1.0 / HALF_LIFE)  # of what was counted, by each episode
TAIL = (1.0 - 0.95) / 2.0  # of a posterior, on both sides of its interval


class Event(Options):
    """Something that may happen in an episode."""

    name: Text = option(..., "what it is called in the metrics")
    source: Any = option(..., "value of each lane")
    threshold: Number = option(
        1.0, "by how much at least it must differ from its value at the start of the episode"
    )
    kind: Literal["rise", "fall", "change"] = option("rise", "in which direction")


class ProgressOptions(Options):
    """Options of shares of episodes; see :class:`BayesProgressTracker`."""

    events: Any = option(..., "a list of :class:`Event`")


class BayesProgressTracker(Tracker):
    """Share of episodes in which events happen, for logs.

    What was counted has half its weight after :data:`HALF_LIFE` episodes, as the policy changes.
    Whether a policy may go on in a curriculum is decided by :mod:`training.callbacks.gate`, not by
    this.

    Parameters
    ----------
    engine : Engine
    options : ProgressOptions

    Attributes
    ----------
    alpha, beta : ndarray of float64, shape (E,)
        Parameters of the posteriors, 1 before any episode.
    hit : ndarray of bool, shape (n, E)
        Events that have happened in the running episodes.
    baseline : ndarray of float64, shape (n, E)
        Values at their starts.
    """

    OPTIONS = ProgressOptions
    kept = ("alpha", "beta", "hit", "baseline")

    def __init__(self, engine: Engine, options: ProgressOptions) -> None:
        super().__init__(engine, options)
        events: Sequence[Event] = options.events
        self._names = [event.name for event in events]
        different = len(set(self._names)) == len(events) > 0
        allowed = "one or more, each with a name of its own"
        require(different, f"{options.SECTION}events", self._names, allowed)
        self._sources = [source_of(engine, e.source, f"{e.SECTION}source") for e in events]
        self._kind = np.array([_KINDS[e.kind] for e in events])
        self._threshold = np.array([e.threshold for e in events], np.float64)
        shape = engine.num_envs, len(events)
        self._values = np.zeros(shape)
        self.alpha, self.beta = np.ones((2, len(events)))
        self.hit, self.baseline = np.zeros(shape, np.bool_), np.zeros(shape)

    def reset(self, done_idx: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        done = np.asarray(done_idx)
        self._read(StepReader(self._engine, obs))
        self.baseline[done] = self._values[done]
        self.hit[done] = False

    def observe(self, engine: Engine, actions: npt.ArrayLike, obs: Array | None = None) -> None:
        """See :class:`Tracker`."""
        self._read(StepReader.after_step(engine, obs))
        kernels.find_hits(self._values, self._kind, self._threshold, self.baseline, self.hit)
        ended = ended_lanes(engine)
        if ended.size:
            kernels.update_posteriors(ended, self.hit, _KEPT, self.alpha, self.beta)

    def _read(self, seen: StepReader) -> None:
        for k, source in enumerate(self._sources):
            self._values[:, k] = read(source, seen)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See :class:`Tracker`; earlier versions also saved the steps of running episodes."""
        super().load_state_dict({k: x for k, x in state.items() if k != "length"})

    def metrics(self) -> dict[str, float]:
        """Return the mean of each event's posterior, and its equal-tailed interval of 95 %."""
        from scipy.special import betaincinv  # takes a while to import, and few commands need it

        means = self.alpha / (self.alpha + self.beta)
        low = betaincinv(self.alpha, self.beta, TAIL)
        high = 1.0 - betaincinv(self.beta, self.alpha, TAIL)
        record = dict(zip(self._names, means.tolist(), strict=True))
        for name, *ends in zip(self._names, low.tolist(), high.tolist(), strict=True):
            record[f"{name}_low"], record[f"{name}_high"] = ends
        return record
