"""The snapshots of a pool as one player of all seats but the learner's."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from training.nets.distribution import Sampler, masked_log_probs, mode
from training.nets.layout import as_tensor
from training.players.network import Sight, shown
from training.selfplay.pool import Pool


class PoolPlayer:
    """Snapshots, drawn for every seat anew; see :class:`training.players.player.Player`.

    All seats of a snapshot are one forward pass.

    Parameters
    ----------
    engine : BatchEngine
    pool : Pool
        The frozen policies.
    seed : int
        Of the generators that draw opponents and their actions, of all lanes together.
    best : bool
        They play their best actions instead.
    sight : callable, optional
        Observations of their networks; default those of the engine.

    Attributes
    ----------
    snapshots : ndarray of int32, shape (n, P - 1)
        Snapshot in each seat after the learner's, -1 where a bot plays.
    """

    def __init__(
        self,
        engine: Any,
        pool: Pool,
        *,
        seed: int,
        best: bool = False,
        sight: Sight = shown,
    ) -> None:
        n = engine.num_envs
        self._pool, self._see, self._best = pool, sight, best
        self._draws = np.random.default_rng(seed)
        self._sampler = Sampler(seed, torch.device("cpu"))
        self.snapshots = np.full((n, engine.external_seats.count - 1), -1, np.int32)
        self._logits = torch.zeros(n, engine.num_actions)

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Draw the snapshots of games that begin.

        ``seeds`` change nothing: lanes share the generators, whose states are in checkpoints.
        """
        self.snapshots[lanes] = -1
        met = lanes[engine.has_outside(lanes)]
        if met.size:
            shape = (len(met), self.snapshots.shape[1])
            active = np.array(self._pool.active)
            self.snapshots[met] = self._draws.choice(active, size=shape, p=self._pool.weights())

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the actions of the snapshots whose decisions are due."""
        engine.refresh()
        deciding = self.snapshots[lanes, engine.get_places(lanes) - 1]
        order = np.argsort(deciding, kind="stable")
        bounds = np.flatnonzero(np.diff(deciding[order], prepend=-1, append=-1))
        logits, seen = self._logits[: len(lanes)], self._see(engine, lanes)
        with torch.inference_mode(), torch.autocast("cpu", enabled=False):
            for first, last in pairwise(bounds):
                group = order[first:last]
                net = self._pool.members[int(deciding[group[0]])].net
                logits[group] = net.logits(as_tensor(seen[group]))
            legal = torch.from_numpy(engine.mask[lanes] != 0)
            log_probs = masked_log_probs(logits, legal)
            chosen = mode(log_probs) if self._best else self._sampler(log_probs, legal)
        actions: np.ndarray = chosen.numpy().astype(np.int32)
        return actions

    # -- saving ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state, beside the rows, as JSON values."""
        generator: torch.Tensor = self._sampler.state_dict()["generator"]
        return {
            "players": self.snapshots.tolist(),
            "draws": self._draws.bit_generator.state,
            "sampler": generator.numpy().tobytes().hex(),
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self.snapshots[:] = saved["players"]
        self._draws.bit_generator.state = saved["draws"]
        state = torch.frombuffer(bytearray.fromhex(saved["sampler"]), dtype=torch.uint8)
        self._sampler.load_state_dict({"generator": state})
