"""A batch engine in which frozen policies take the external seats, inside the learner's step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fastenv import BatchEngine
from fastenv.seats import EXTERNAL
from training.nets.distribution import Sampler, masked_log_probs, mode
from training.nets.layout import as_tensor
from training.selfplay.pool import Pool
from training.selfplay.seated import Array, SeatedEngine

# Called with the players (k, P) and totals (k, P) of the matches that have just ended, in seat
# order; the learner is -1.
OnMatches = Callable[[Array, Array], None]
# Returns what the networks of a pool see of rows (k,) that show one seat, shape (k, ...).
Encode = Callable[[Array], Array]


class PoolEngine(SeatedEngine):
    """:class:`SeatedEngine` against the snapshots of a pool.

    Parameters
    ----------
    engine : BatchEngine
        See :class:`SeatedEngine`.
    pool : Pool
        The frozen policies.
    weights : callable
        Returns the chance of each active snapshot, shape (len(pool.active),).
    bots : float
        Share of the lanes that keep the opponents they are configured with.
    spread : bool
        They are spread evenly over all lanes; else they are the first ones.
    seed : int
        Of the generators that draw opponents and their actions.
    best : bool
        They play their best actions instead.
    on_matches : callable, optional
        See :data:`OnMatches`.
    encode : callable, optional
        See :data:`Encode`; default the observations of the engine.

    Attributes
    ----------
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
        spread: bool = False,
        seed: int,
        best: bool = False,
        on_matches: OnMatches | None = None,
        encode: Encode | None = None,
    ) -> None:
        super().__init__(engine)
        self._pool, self._weights, self._on_matches = pool, weights, on_matches
        self._encode = encode
        n = engine.num_envs
        kept = round(bots * n)
        self._of_bots = np.arange(n) < kept
        if spread:
            self._of_bots = np.diff(np.arange(n + 1) * kept // n) > 0
        self._begun = False
        self._draws = np.random.default_rng(seed)
        self._sampler, self._best = Sampler(seed, torch.device("cpu")), best
        self.players = np.full((n, self._num_players - 1), -1, np.int32)
        self._logits = torch.zeros(n, engine.num_actions)

    def configure(self, name: str, value: Any, idx: npt.ArrayLike | None = None) -> None:
        """Set a knob; the opponents of lanes that play against the pool are the pool's."""
        if name == self._opponents and self._begun:
            chosen = np.zeros(self._engine.num_envs, np.bool_)
            chosen[... if idx is None else np.asarray(idx)] = True
            idx = np.flatnonzero(chosen & self._of_bots)
        self._engine.configure(name, value, idx)

    def _decide(self, lanes: Array, places: Array, obs: Array, mask: Array) -> Array:
        players = self.players[lanes, places - 1]
        order = np.argsort(players, kind="stable")
        bounds = np.flatnonzero(np.diff(players[order], prepend=-1, append=-1))
        logits = self._logits[: len(lanes)]
        seen, where = obs, lanes
        if self._encode is not None:
            seen, where = self._encode(self._engine.get_states(lanes)), np.arange(len(lanes))
        with torch.inference_mode(), torch.autocast("cpu", enabled=False):
            for first, last in pairwise(bounds):
                group = order[first:last]
                net = self._pool.members[int(players[group[0]])].net
                logits[group] = net.logits(as_tensor(seen[where[group]]))
            legal = torch.from_numpy(mask[lanes] != 0)
            log_probs = masked_log_probs(logits, legal)
            chosen = mode(log_probs) if self._best else self._sampler(log_probs, legal)
        actions = np.zeros(self._engine.num_envs, np.int32)
        actions[lanes] = chosen.numpy()
        return actions

    def _matches_over(self, lanes: Array) -> None:
        """Tell who has played, by seat, and with what result."""
        if self._on_matches is None:
            return
        size, learner = self._num_players, self._engine.get_agents(lanes)
        players = np.full((len(lanes), size), -1, np.int32)
        for k in range(1, size):
            players[np.arange(len(lanes)), (learner + k) % size] = self.players[lanes, k - 1]
        self._on_matches(players, self._engine.get_outcomes(lanes))

    # -- who plays -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Let the lanes that are not the bots' play against the pool, from their next reset on."""
        if not self._begun:
            self._begun = True
            lanes = np.flatnonzero(~self._of_bots)
            self._engine.configure(self._opponents, EXTERNAL, lanes)

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
