"""A game of several agents shown with a single one: a scripted player plays the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.memory import Buffers, clear
from fastenv.paths import Composed, Fused
from fastenv.spec import GameSpec

Array = npt.NDArray[Any]
Select = npt.NDArray[np.uint8]


class SingleAgentPath:
    """A path that shows the first agent; a scripted player plays the others.

    Parameters
    ----------
    spec : GameSpec
    inner : Composed or Fused
        Steps all agents.
    seats, out : Buffers
        What ``inner`` writes, of all agents, and what is shown, of the first.
    params : ndarray, shape (1,)
        Of the scripted player. It draws from the rows' own generators (``bot_rng``).

    Notes
    -----
    A step goes on until the first agent must act again or the episode ends; its rewards add up.
    Rewards before its first decision of an episode are dropped. ``ep_length`` counts its
    ``decisions`` since the episode began or the row was loaded; rows do not hold that number.
    """

    def __init__(
        self, spec: GameSpec, inner: Composed | Fused, seats: Buffers, out: Buffers, params: Array
    ) -> None:
        self.inner, self.seats, self.out = inner, seats, out
        self.pack, self.completes = inner.pack, inner.completes
        self._spec, self._params = spec, params
        self._actions = np.zeros((len(seats.reward), spec.num_agents), np.int32)
        self._choice = np.zeros(len(seats.reward), np.int32)
        self.decisions = np.zeros(len(seats.reward), np.int32)  # of the first agent

    def reset(self, select: Select, seeds: Array | None) -> None:
        """Start an episode in each selected lane, up to the first agent's first decision."""
        inner, seats = self.inner, self.seats
        self.decisions[select != 0] = 0
        inner.reset(select, seeds)
        inner.observe(select, seats.obs, seats.mask)
        waiting = self._waiting(select)
        while waiting.any():
            self._advance(waiting)
            over = ((seats.terminated | seats.truncated) & waiting) != 0
            if over.any():
                inner.reset(over.view(np.uint8), None)
                inner.observe(over.view(np.uint8), seats.obs, seats.mask)
            waiting = self._waiting(waiting)

    def load(self, select: Select) -> None:
        """Take over the selected rows; decisions are counted from here on."""
        self.inner.load(select)
        self.decisions[select != 0] = 0

    def _waiting(self, select: Select) -> Select:
        """Return the selected lanes in which the first agent need not act."""
        idle = ~self.inner.needs_action(select)[:, 0]
        waiting: Select = ((select != 0) & idle).view(np.uint8)
        return waiting

    def _advance(self, select: Select, actions: Array | None = None) -> None:
        """Step lanes with the first agent's actions (none: it waits) and those of the bot."""
        seats, given = self.seats, self._actions
        given[:, 0] = 0 if actions is None else actions
        for agent in range(1, self._spec.num_agents):
            self._choice.fill(0)
            self.inner.bot_actions(
                self._params, agent, seats.obs, seats.mask, select, None, self._choice
            )
            given[:, agent] = self._choice
        self.inner.step(given, select, False, seats.obs, seats.mask)

    def step(
        self, actions: Array, select: Select, autoreset: bool, obs: Array, mask: Array
    ) -> None:
        """Step to the first agent's next decision; see ``BatchLoop.step_fused``."""
        seats, out = self.seats, self.out
        for column in (out.reward, out.terminated, out.truncated):
            column.fill(0)
        clear(out.terms)
        moving: Select = select
        self.decisions += select != 0
        self._advance(moving, actions)
        while True:
            moved = moving != 0
            out.reward += seats.reward[:, 0]
            for name in out.terms.dtype.names or ():
                out.terms[name] += seats.terms[name][:, 0]
            out.terminated |= seats.terminated
            out.truncated |= seats.truncated
            out.tau[moved] = seats.tau[moved, 0]
            done = (seats.terminated | seats.truncated) != 0
            if done.any():
                self._end(done)
            moving = self._waiting((moved & ~done).view(np.uint8))
            if not moving.any():
                break
            self._advance(moving)
        ended = np.bitwise_or(out.terminated, out.truncated, dtype=np.uint8)
        if autoreset and ended.any():
            self.reset(ended, None)
        self._show(select, obs, mask)

    def _end(self, done: Array) -> None:
        seats, out = self.seats, self.out
        out.final_obs[done] = seats.final_obs[done, 0]
        out.ep_return[done] = seats.ep_return[done, 0]
        out.ep_length[done] = self.decisions[done]
        for name in ("final_info", "ep_frames"):
            getattr(out, name)[done] = getattr(seats, name)[done]

    def _show(self, select: Select, obs: Array, mask: Array) -> None:
        rows = select != 0
        obs[rows], mask[rows] = self.seats.obs[rows, 0], self.seats.mask[rows, 0]
        self.out.info[rows] = self.seats.info[rows]

    def observe(self, select: Select, obs: Array, mask: Array) -> None:
        """Write observation, mask and info of the selected lanes."""
        self.inner.observe(select, self.seats.obs, self.seats.mask)
        self._show(select, obs, mask)

    def first_illegal(self, actions: Array, select: Select) -> int:
        """Return the first selected lane whose action is illegal, or -1."""
        lanes = np.arange(len(actions))
        legal = self.seats.mask[lanes, 0, actions] != 0
        wrong = (select != 0) & ~legal & self.inner.needs_action(select)[:, 0]
        return int(wrong.argmax()) if wrong.any() else -1

    def bot_actions(
        self, params: Array, agent: int, obs: Array, mask: Array, select: Select, rng: Any, out: Any
    ) -> None:
        """Write a scripted player's action in the selected lanes; see ``BatchLoop``."""
        seats = self.seats
        self.inner.bot_actions(params, agent, seats.obs, seats.mask, select, rng, out)

    def encode_rows(self, rows: Array, obs: Array, mask: Array) -> None:
        """Write the first agent's observation and mask of rows that belong to no lane."""
        agents = self._spec.num_agents
        seats = [np.zeros((len(rows), agents, *a.shape[1:]), a.dtype) for a in (obs, mask)]
        self.inner.encode_rows(rows, *seats)
        obs[:], mask[:] = (array[:, 0] for array in seats)
