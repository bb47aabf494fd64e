"""A batch engine in which frozen policies take the external seats, inside the learner's step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv import BatchEngine
from fastenv.seats import EXTERNAL
from training.selfplay.pool_player import PoolPlayer
from training.selfplay.seated import Array, SeatedEngine

# Called with the players (k, P) and totals (k, P) of the matches that have just ended, in seat
# order; the learner is -1.
OnMatches = Callable[[Array, Array], None]


class PoolEngine(SeatedEngine):
    """:class:`SeatedEngine` against the snapshots of a pool, from :meth:`begin` on.

    Parameters
    ----------
    engine : BatchEngine
        See :class:`SeatedEngine`.
    others : PoolPlayer
        Made for it.
    bots : float
        Share of the lanes that keep the opponents they are configured with.
    spread : bool
        They are spread evenly over all lanes; else they are the first ones.
    on_matches : callable, optional
        See :data:`OnMatches`.
    """

    others: PoolPlayer

    def __init__(
        self,
        engine: BatchEngine,
        others: PoolPlayer,
        *,
        bots: float,
        spread: bool = False,
        on_matches: OnMatches | None = None,
    ) -> None:
        super().__init__(engine, others)
        self._on_matches = on_matches
        n = engine.num_envs
        kept = round(bots * n)
        self._of_bots = np.arange(n) < kept
        if spread:
            self._of_bots = np.diff(np.arange(n + 1) * kept // n) > 0
        self._begun = False

    def configure(self, name: str, value: Any, idx: npt.ArrayLike | None = None) -> None:
        """Set a knob; the opponents of lanes that play against the pool are the pool's."""
        if name == self._opponents and self._begun:
            chosen = np.zeros(self._engine.num_envs, np.bool_)
            chosen[... if idx is None else np.asarray(idx)] = True
            idx = np.flatnonzero(chosen & self._of_bots)
        self._engine.configure(name, value, idx)

    def begin(self) -> None:
        """Let the lanes that are not the bots' play against the pool, from their next reset on."""
        if not self._begun:
            self._begun = True
            lanes = np.flatnonzero(~self._of_bots)
            self._engine.configure(self._opponents, EXTERNAL, lanes)

    def _matches_over(self, lanes: Array) -> None:
        """Report players and results of matches by seat."""
        if self._on_matches is None:
            return
        size, learner = self._num_players, self._engine.get_agents(lanes)
        players = np.full((len(lanes), size), -1, np.int32)
        for k in range(1, size):
            seat = (learner + k) % size
            players[np.arange(len(lanes)), seat] = self.others.snapshots[lanes, k - 1]
        self._on_matches(players, self._engine.get_outcomes(lanes))

    # -- saving ----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state, beside the rows, as JSON values."""
        return {"begun": self._begun, **self.others.state_dict()}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        if saved["begun"]:
            self.begin()
        self.others.load_state_dict(saved)
