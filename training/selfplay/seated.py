"""A batch engine whose external seats are played inside the learner's step.

To the trainer it is an engine like any other: :meth:`SeatedEngine.step_many` takes the learner's
actions and returns when every lane is at the learner's next decision. In between, lanes in which
another seat has to decide are stepped with the actions of who sits there; the trainer never sees
their rows, so they never enter the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import BatchEngine
from training.evaluation.loop import ask
from training.players.player import Player

Array = npt.NDArray[Any]

# Called where episodes have just begun, bool (n,), before anybody acts in them, with observations
# and masks (n, ...), which it may write.
OnBegin = Callable[[Array, Array, Array], None]


class SeatedEngine:
    """Engine protocol of :class:`fastenv.BatchEngine` around one with external seats.

    Parameters
    ----------
    engine : BatchEngine
        Of games, or parts of games, whose seats can be played from outside, not reset yet. What is
        not described here is its own.
    others : Player
        Plays all seats but the learner's: it is asked for every lane in which another decides.

    Attributes
    ----------
    on_begin : callable or None
        See :data:`OnBegin`; to be set before the first reset.
    reward, terminated, truncated : ndarray, shape (n,)
        Of the learner's decision: added up over the steps in which others decided.
    info, final_info : dict of str to ndarray
        As the engine's, the columns of a step likewise added up.
    """

    def __init__(self, engine: BatchEngine, others: Player) -> None:
        self._engine, self.others = engine, others
        n = engine.num_envs
        seats = engine.external_seats
        assert seats is not None  # who makes it has asked
        self.on_begin: OnBegin | None = None
        self._opponents, self._num_players = seats.opponents, seats.count  # name of a knob
        self._external = np.zeros(n, np.bool_)  # lanes whose episode has external seats
        self.reward = np.zeros_like(engine.reward)
        self.terminated, self.truncated = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
        self._terms = {name: np.zeros_like(engine.info[name]) for name in engine.term_columns}
        self.info = {**engine.info, **self._terms}
        self.final_info = {**engine.final_info, **self._terms}

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the engine."""
        return getattr(self._engine, name)

    def _matches_over(self, lanes: Array) -> None:
        """Handle the lanes whose matches are over, before they are reset."""

    # -- the engine protocol ---------------------------------------------------------------------

    def reset_many(
        self,
        mask: npt.ArrayLike | None = None,
        seeds: Any = None,
        obs_out: Array | None = None,
        mask_out: Array | None = None,
    ) -> None:
        """Start episodes up to the learner's first decision.

        See :meth:`fastenv.BatchEngine.reset_many`.
        """
        engine = self._engine
        fresh = np.ones(engine.num_envs, np.bool_)
        if mask is not None:
            fresh = np.asarray(mask).astype(np.bool_)
        self._end_matches(fresh)
        engine.reset_many(mask, seeds, obs_out, mask_out)
        obs = engine.obs if obs_out is None else obs_out
        mask_to = engine.mask if mask_out is None else mask_out
        self._begin(fresh, obs, mask_to, _expand_seeds(seeds, engine.num_envs))

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
        while (decisions := self._ask_others(obs, mask)) is not None:
            others, waiting = decisions
            self._step(others, obs, mask, waiting)
        if autoreset and engine.ended.any():
            self._start_again(obs, mask)

    def set_state(self, idx: npt.ArrayLike | None, blob: Array) -> None:
        """Load rows; see :meth:`fastenv.BatchEngine.set_state`. The players stay as they are."""
        self._engine.set_state(idx, blob)
        self._external = self._engine.has_outside()

    def set_seating(self, seating: Mapping[str, Array]) -> None:
        """Put back who sits where; see :meth:`fastenv.BatchEngine.set_seating`."""
        self._engine.set_seating(seating)
        self._external = self._engine.has_outside()

    # -- playing on ------------------------------------------------------------------------------

    def _step(self, actions: Array, obs: Array, mask: Array, select: Array | None) -> None:
        engine = self._engine
        engine.step_many(actions, obs_out=obs, mask_out=mask, select=select, autoreset=False)
        self.reward += engine.reward
        for name, total in self._terms.items():
            total += engine.info[name]
        self.terminated |= engine.terminated
        self.truncated |= engine.truncated

    def _ask_others(self, obs: Array, mask: Array) -> tuple[Array, Array] | None:
        """Ask the other players; return actions (n,) and lanes, bool (n,), None for no lanes."""
        lanes = self._find_waiting()
        if not lanes.size:
            return None
        waiting = np.zeros(self._engine.num_envs, np.bool_)
        waiting[lanes] = True
        return ask(_Shown(self._engine, obs, mask), [self.others], lanes), waiting

    def _find_waiting(self) -> Array:
        """Find the lanes in which another seat than the learner's decides."""
        lanes = np.flatnonzero(self._external & ~self._engine.ended)
        return lanes[self._engine.get_places(lanes) > 0] if lanes.size else lanes

    def _start_again(self, obs: Array, mask: Array) -> None:
        """Reset the lanes whose episode is over."""
        ended = self._engine.ended.copy()
        self._end_matches(ended)
        self._engine.reset_many(ended, obs_out=obs, mask_out=mask)
        self._begin(ended, obs, mask)

    def _end_matches(self, fresh: Array) -> None:
        """Report the matches that are over in lanes ``fresh``, which are about to be reset."""
        matches = np.flatnonzero(fresh & self._engine.ended & self._external)
        if matches.size:
            self._matches_over(matches)

    def _begin(self, fresh: Array, obs: Array, mask: Array, seeds: Array | None = None) -> None:
        """Begin the episodes of lanes ``fresh``, which have just been reset, with seeds (n,)."""
        self._seat(fresh, obs, mask, seeds)
        self._play_to_the_learner(obs, mask)

    def _seat(self, fresh: Array, obs: Array, mask: Array, seeds: Array | None = None) -> None:
        lanes = np.flatnonzero(fresh)
        self._external[lanes] = self._engine.has_outside(lanes)
        self.others.begin(self._engine, lanes, None if seeds is None else seeds[lanes])
        if self.on_begin is not None:
            self.on_begin(fresh, obs, mask)

    def _play_to_the_learner(self, obs: Array, mask: Array) -> None:
        """Play the others' decisions before the learner's first; their rewards are not counted.

        An episode that ends before it is not one of the learner's: another begins.
        """
        engine = self._engine
        kept: list[tuple[Array, Array]] = []
        while (decisions := self._ask_others(obs, mask)) is not None:
            actions, waiting = decisions
            if not kept:  # what trainers read of the episodes that have just ended
                shown = [engine.final_obs, engine.ep_return, engine.ep_length, engine.ep_frames]
                shown += [engine.tau, *engine.final_info.values()]
                kept = [(array, array.copy()) for array in shown]
            engine.step_many(actions, obs_out=obs, mask_out=mask, select=waiting, autoreset=False)
            over = engine.ended & waiting
            if over.any():
                engine.reset_many(over, obs_out=obs, mask_out=mask)
                self._seat(over, obs, mask)
        for array, before in kept:
            array[...] = before


def _expand_seeds(seeds: Any, lanes: int) -> Array | None:
    """Expand the seeds of a reset to one a lane, (n,); None unless every lane has one."""
    if seeds is None:
        return None
    if isinstance(seeds, int | np.integer):
        return int(seeds) + np.arange(lanes, dtype=np.int64)
    values = list(seeds)
    return None if None in values else np.array(values, np.int64)


class _Shown:
    """An engine with the observations and masks that are up to date, wherever it wrote them."""

    def __init__(self, engine: BatchEngine, obs: Array, mask: Array) -> None:
        self._engine, self.obs, self.mask = engine, obs, mask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def refresh(self) -> None:
        """Do nothing: the engine's own observations and masks are not read."""
