"""Probabilities of the events of an episode, as Beta posteriors that forget old policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError
from training.callbacks.trackers import kernels
from training.callbacks.trackers.base import (
    Array,
    StepReader,
    Tracker,
    check_source,
    ended_lanes,
    read,
)
from training.run.engine import Engine
from training.run.options import Number, Options, Text, option

_KINDS = {"rise": kernels.RISE, "fall": kernels.FALL, "change": kernels.CHANGE}
HALF_LIFE = 256.0  # episodes
_KEPT = 0.5 ** (1.0 / HALF_LIFE)  # of what was counted, by each episode
TAIL = (1.0 - 0.95) / 2.0  # of a posterior, on both sides of its interval


class Event(Options):
    """Something that may happen in an episode."""

    name: Text = option(..., "what it is called in the metrics")
    source: Any = option(..., "value of each lane: a source, as it is written or as it is read")
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
    events : sequence of Event

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

    def __init__(self, engine: Engine, events: Sequence[Event]) -> None:
        super().__init__(engine)
        for event in events:
            check_source(engine, event.source)
        if len({event.name for event in events}) < len(events) or not events:
            raise ConfigError("events: at least one, each with a name of its own")
        self._events = tuple(events)
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
        for k, event in enumerate(self._events):
            self._values[:, k] = read(event.source, seen)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See :class:`Tracker`; earlier versions also saved the steps of running episodes."""
        super().load_state_dict({k: x for k, x in state.items() if k != "length"})

    def _compute_intervals(self) -> Mapping[str, tuple[float, float]]:
        """Compute the equal-tailed interval of 95 % of each event's posterior."""
        from scipy.special import betaincinv  # takes a while to import, and few commands need it

        low = betaincinv(self.alpha, self.beta, TAIL)
        high = 1.0 - betaincinv(self.beta, self.alpha, TAIL)
        ends = zip(low.tolist(), high.tolist(), strict=True)
        return {event.name: pair for event, pair in zip(self._events, ends, strict=True)}

    def metrics(self) -> dict[str, float]:
        """Return mean and 95 % interval of each event's posterior."""
        record = {}
        means = self.alpha / (self.alpha + self.beta)
        for event, mean in zip(self._events, means.tolist(), strict=True):
            record[f"{event.name}"] = mean
        for name, (low, high) in self._compute_intervals().items():
            record[f"{name}_low"], record[f"{name}_high"] = low, high
        return record
