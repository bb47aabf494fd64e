"""A batch engine in which frozen policies take the external seats, inside the learner's step.

To the trainer it is an engine like any other: :meth:`PoolEngine.step_many` takes the learner's
actions and returns when every lane is at the learner's next decision. In between, lanes in which
another seat has to decide are stepped with the actions of the snapshots that sit there; the trainer
never sees their rows, so they never enter the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fastenv import BatchEngine
from training.nets.distribution import Sampler, masked_log_probs
from training.run import games
from training.selfplay.pool import Pool

Array = npt.NDArray[Any]
# Called with the players (k, P) and totals (k, P) of the matches that have just ended, in seat
# order; the learner is -1.
OnMatches = Callable[[Array, Array], None]


class PoolEngine:
    """Engine protocol of :class:`fastenv.BatchEngine` around one with external seats.

    Parameters
    ----------
    engine : BatchEngine
        Of whole games whose seats can be played from outside, not reset yet. What is not described
        here is its own.
    pool : Pool
        The frozen policies.
    weights : callable
        Returns the chance of each active snapshot, shape (len(pool.active),).
    bots : float
        Share of the lanes, the first ones, that keep the opponents they are configured with.
    seed : int
        Of the generators that draw opponents and their actions.
    on_matches : callable, optional
        See :data:`OnMatches`.

    Attributes
    ----------
    reward, terminated, truncated : ndarray, shape (n,)
        Of the learner's decision: added up over the steps in which others decided.
    info, final_info : dict of str to ndarray
        As the engine's, the columns of a step likewise added up.
    players : ndarray of int32, shape (n, P - 1)
        Snapshot in each seat after the learner's, -1 where a bot plays.
    """

    def __init__(
        self,
        engine: BatchEngine,
        pool: Pool,
        weights: Callable[[], Array],
        *,
        bots: float,
        seed: int,
        on_matches: OnMatches | None = None,
    ) -> None:
        self._engine, self._pool, self._weights = engine, pool, weights
        self._on_matches = on_matches
        n = engine.num_envs
        seats = games.of_engine(engine).seats(engine)
        assert seats is not None  # the league has asked
        self._seats, self._num_players = seats, seats.count
        self._of_bots = np.arange(n) < round(bots * n)
        self._begun = False
        self._draws = np.random.default_rng(seed)
        self._sampler = Sampler(seed, torch.device("cpu"))
        self.players = np.full((n, self._num_players - 1), -1, np.int32)
        self._external = np.zeros(n, np.bool_)  # lanes whose episode has external seats
        self._logits = torch.zeros(n, engine.num_actions)

        self.reward = np.zeros_like(engine.reward)
        self.terminated, self.truncated = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
        self._terms = {name: np.zeros_like(engine.info[name]) for name in engine.term_columns}
        self.info = {**engine.info, **self._terms}
        self.final_info = {**engine.final_info, **self._terms}

    def __getattr__(self, name: str) -> Any:
        """Return what is the engine's own."""
        return getattr(self._engine, name)

    # -- the engine protocol ---------------------------------------------------------------------

    def configure(self, name: str, value: Any, idx: npt.ArrayLike | None = None) -> None:
        """Set a knob; the opponents of lanes that play against the pool are the pool's."""
        if name == "opponents" and self._begun:
            chosen = np.zeros(self._engine.num_envs, np.bool_)
            chosen[... if idx is None else np.asarray(idx)] = True
            idx = np.flatnonzero(chosen & self._of_bots)
        self._engine.configure(name, value, idx)

    def reset_many(self, *args: Any, **kwargs: Any) -> None:
        """Start episodes; see :meth:`fastenv.BatchEngine.reset_many`."""
        self._engine.reset_many(*args, **kwargs)
        self._seat_players(np.ones(self._engine.num_envs, np.bool_))

    def step_many(
        self, actions: Array, obs_out: Array | None = None, mask_out: Array | None = None
    ) -> None:
        """Take the learner's decision in every lane and play on to its next one."""
        engine = self._engine
        obs = engine.obs if obs_out is None else obs_out
        mask = engine.mask if mask_out is None else mask_out
        for total in (self.reward, self.terminated, self.truncated, *self._terms.values()):
            total.fill(0)
        self._step(actions, obs, mask, None)
        while True:
            lanes, players = self._waiting()
            if not lanes.size:
                break
            select = np.zeros(engine.num_envs, np.bool_)
            select[lanes] = True
            self._step(self._decide(lanes, players, obs, mask), obs, mask, select)
        if engine.ended.any():
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
        """Return the lanes in which another seat than the learner's decides, and who sits there."""
        lanes = np.flatnonzero(self._external & ~self._engine.ended)
        if not lanes.size:
            return lanes, lanes
        rows = self._engine.get_states(lanes)
        place = self._seats.deciding(rows)
        lanes, place = lanes[place > 0], place[place > 0]
        return lanes, self.players[lanes, place - 1]

    def _decide(self, lanes: Array, players: Array, obs: Array, mask: Array) -> Array:
        """Return actions (n,) of which those of ``lanes`` are the choices of their ``players``."""
        order = np.argsort(players, kind="stable")
        bounds = np.flatnonzero(np.diff(players[order], prepend=-1, append=-1))
        logits = self._logits[: len(lanes)]
        with torch.inference_mode(), torch.autocast("cpu", enabled=False):
            for first, last in pairwise(bounds):
                group = order[first:last]
                net = self._pool.members[int(players[group[0]])].net
                logits[group] = net.logits(torch.from_numpy(obs[lanes[group]]))
            legal = torch.from_numpy(mask[lanes] != 0)
            chosen = self._sampler(masked_log_probs(logits, legal), legal)
        actions = np.zeros(self._engine.num_envs, np.int32)
        actions[lanes] = chosen.numpy()
        return actions

    def _start_again(self, obs: Array, mask: Array) -> None:
        """Reset the lanes whose episode is over, with opponents drawn anew."""
        ended = self._engine.ended.copy()
        matches = np.flatnonzero(ended & self._external)
        if matches.size and self._on_matches is not None:
            self._report(matches)
        self._engine.reset_many(ended, obs_out=obs, mask_out=mask)
        self._seat_players(ended)

    def _report(self, lanes: Array) -> None:
        """Tell who has played, by seat, and with what result."""
        rows, size = self._engine.get_states(lanes), self._num_players
        learner = self._seats.learner(rows)
        players = np.full((len(lanes), size), -1, np.int32)
        for k in range(1, size):
            players[np.arange(len(lanes)), (learner + k) % size] = self.players[lanes, k - 1]
        assert self._on_matches is not None
        self._on_matches(players, self._seats.points(rows))

    # -- who plays -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Let the lanes that are not the bots' play against the pool, from their next reset on."""
        if not self._begun:
            self._begun = True
            self._engine.configure("opponents", "external", np.flatnonzero(~self._of_bots))

    def _has_external(self) -> Array:
        return self._seats.from_outside(self._engine.get_states())

    def _seat_players(self, fresh: Array) -> None:
        """Draw the players of the episodes that have just begun."""
        if not self._begun:
            return
        self._external[fresh] = self._has_external()[fresh]
        self.players[fresh] = -1
        lanes = np.flatnonzero(fresh & self._external)
        if lanes.size:
            shape = (len(lanes), self._num_players - 1)
            active = np.array(self._pool.active)
            self.players[lanes] = self._draws.choice(active, size=shape, p=self._weights())

    # -- saving ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return JSON values that, with the rows, decide how the lanes go on."""
        generator: torch.Tensor = self._sampler.state_dict()["generator"]
        return {
            "begun": self._begun,
            "players": self.players.tolist(),
            "draws": self._draws.bit_generator.state,
            "sampler": generator.numpy().tobytes().hex(),
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        if saved["begun"]:
            self.begin()
        self.players[:] = saved["players"]
        self._draws.bit_generator.state = saved["draws"]
        state = torch.frombuffer(bytearray.fromhex(saved["sampler"]), dtype=torch.uint8)
        self._sampler.load_state_dict({"generator": state})
