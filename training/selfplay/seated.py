"""A batch engine whose external seats are played inside the learner's step.

To the trainer it is an engine like any other: :meth:`SeatedEngine.step_many` takes the learner's
actions and returns when every lane is at the learner's next decision. In between, lanes in which
another seat has to decide are stepped with the actions of who sits there; the trainer never sees
their rows, so they never enter the loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import BatchEngine
from training.run import games

Array = npt.NDArray[Any]


class SeatedEngine(ABC):
    """Engine protocol of :class:`fastenv.BatchEngine` around one with external seats.

    Parameters
    ----------
    engine : BatchEngine
        Of whole games whose seats can be played from outside, not reset yet. What is not described
        here is its own.

    Attributes
    ----------
    reward, terminated, truncated : ndarray, shape (n,)
        Of the learner's decision: added up over the steps in which others decided.
    info, final_info : dict of str to ndarray
        As the engine's, the columns of a step likewise added up.
    """

    def __init__(self, engine: BatchEngine) -> None:
        self._engine = engine
        n = engine.num_envs
        seats = games.get_engine_game(engine).seats(engine)
        assert seats is not None  # who makes it has asked
        self._seats, self._num_players = seats, seats.count
        self._external = np.zeros(n, np.bool_)  # lanes whose episode has external seats
        self.reward = np.zeros_like(engine.reward)
        self.terminated, self.truncated = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
        self._terms = {name: np.zeros_like(engine.info[name]) for name in engine.term_columns}
        self.info = {**engine.info, **self._terms}
        self.final_info = {**engine.final_info, **self._terms}

    def __getattr__(self, name: str) -> Any:
        """Return what is the engine's own."""
        return getattr(self._engine, name)

    @abstractmethod
    def _decide(self, lanes: Array, places: Array, obs: Array, mask: Array) -> Array:
        """Return actions (n,), of which those of ``lanes`` are the choices of their players.

        Parameters
        ----------
        lanes, places : ndarray of int, shape (k,)
            Where a seat has to decide, and how many after the learner's it is.
        obs, mask : ndarray, shape (n, ...)
            Up to date, unlike the engine's own.
        """

    @abstractmethod
    def _seat_players(self, fresh: Array) -> None:
        """Say who plays the episodes that have just begun, in lanes ``fresh``, bool (n,)."""

    def _matches_over(self, lanes: Array) -> None:  # noqa: B027 (most do not care)
        """Hear of the lanes whose matches are over, before they are reset."""

    # -- the engine protocol ---------------------------------------------------------------------

    def reset_many(self, mask: npt.ArrayLike | None = None, *args: Any, **kwargs: Any) -> None:
        """Start episodes; see :meth:`fastenv.BatchEngine.reset_many`."""
        self._engine.reset_many(mask, *args, **kwargs)
        fresh = np.ones(self._engine.num_envs, np.bool_)
        self._seat_players(fresh if mask is None else np.asarray(mask).astype(np.bool_))

    def step_many(
        self,
        actions: Array,
        obs_out: Array | None = None,
        mask_out: Array | None = None,
        select: Array | None = None,
        autoreset: bool = True,
    ) -> None:
        """Take the learner's decision in every lane and play on to its next one."""
        engine = self._engine
        obs = engine.obs if obs_out is None else obs_out
        mask = engine.mask if mask_out is None else mask_out
        for total in (self.reward, self.terminated, self.truncated, *self._terms.values()):
            total.fill(0)
        self._step(actions, obs, mask, select)
        while True:
            lanes, places = self._waiting()
            if not lanes.size:
                break
            waiting = np.zeros(engine.num_envs, np.bool_)
            waiting[lanes] = True
            self._step(self._decide(lanes, places, obs, mask), obs, mask, waiting)
        if autoreset and engine.ended.any():
            self._start_again(obs, mask)

    def set_state(self, idx: npt.ArrayLike | None, blob: Array) -> None:
        """Load rows; see :meth:`fastenv.BatchEngine.set_state`. The players stay as they are."""
        self._engine.set_state(idx, blob)
        self._external = self._has_external()

    # -- playing on ------------------------------------------------------------------------------

    def _step(self, actions: Array, obs: Array, mask: Array, select: Array | None) -> None:
        engine = self._engine
        engine.step_many(actions, obs_out=obs, mask_out=mask, select=select, autoreset=False)
        self.reward += engine.reward
        for name, total in self._terms.items():
            total += engine.info[name]
        self.terminated |= engine.terminated
        self.truncated |= engine.truncated

    def _waiting(self) -> tuple[Array, Array]:
        """Return the lanes in which another seat than the learner's decides, and which."""
        lanes = np.flatnonzero(self._external & ~self._engine.ended)
        if not lanes.size:
            return lanes, lanes
        places = self._seats.deciding(self._engine.get_states(lanes))
        return lanes[places > 0], places[places > 0]

    def _start_again(self, obs: Array, mask: Array) -> None:
        """Reset the lanes whose episode is over."""
        ended = self._engine.ended.copy()
        matches = np.flatnonzero(ended & self._external)
        if matches.size:
            self._matches_over(matches)
        self._engine.reset_many(ended, obs_out=obs, mask_out=mask)
        self._seat_players(ended)

    def _has_external(self) -> Array:
        return self._seats.from_outside(self._engine.get_states())
