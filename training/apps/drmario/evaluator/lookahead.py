"""Plays by an evaluator: looks one placement ahead, or two, and takes what costs least.

What is known behind a placement is exact, frames and bottle; what is unknown is what the evaluator
is asked for. Nothing is used that a player does not see: of a bottle two placements ahead the
evaluator is not told the pill.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv import BatchEngine
from training.apps.drmario.evaluator.model import Evaluator
from training.apps.drmario.evaluator.risk import Measure
from training.apps.drmario.evaluator.situations import situations
from training.apps.drmario.evaluator.successors import Successors, TriedPlacements
from training.run.options import require

BEAM = 4  # placements behind which a second one is looked for


class LookAhead:
    """A player; see :class:`training.evaluation.policies.Policy`.

    Parameters
    ----------
    evaluator : Evaluator
    measure : Measure
        What placements are judged by.
    depth : {1, 2}
        Placements that are looked ahead: the pill that falls, and its preview.
    beam : int
        With depth 2, how many of the best first placements are looked at further.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        measure: Measure | None = None,
        depth: int = 1,
        beam: int = BEAM,
    ) -> None:
        require(depth in (1, 2), "depth", depth, "1 or 2")
        require(beam >= 1, "beam", beam, "at least 1")
        self._evaluator, self._measure = evaluator, measure or Measure()
        self._depth, self._beam = depth, beam
        self._successors: Successors | None = None

    def act(self, engine: BatchEngine, where: np.ndarray | None = None) -> np.ndarray:
        """Return a placement for every lane, int32 (n,); 0 where no decision is due.

        Parameters
        ----------
        engine : BatchEngine
        where : ndarray of bool, shape (n,), optional
            Lanes that are looked at; the others get 0.

        Raises
        ------
        ConfigError
            For games that the evaluator was not trained for.
        """
        actions = np.zeros(engine.num_envs, np.int32)
        costs = self.costs(engine, where)
        due = np.isfinite(costs).any(1)
        actions[due] = costs[due].argmin(1)
        return actions

    def costs(self, engine: BatchEngine, where: np.ndarray | None = None) -> np.ndarray:
        """Return what each placement costs, in frames to the clear, float32 (n, 512).

        Infinity stands for those that cannot be reached or, with depth 2, were not looked at.

        Raises
        ------
        ConfigError
            See :meth:`act`.
        """
        config: Any = getattr(engine.game, "config", None)
        fits = getattr(config, "placement", False) and config.agents == 1
        name = getattr(engine.game, "env_id", None)
        require(fits, "env", name, "DrMarioPlacement-v0 with an evaluator: one player, placements")
        if self._successors is None:
            self._successors = Successors(config)
        found = np.full(engine.mask.shape, np.inf, np.float32)
        asked = ~engine.ended if where is None else where & ~engine.ended
        due = np.flatnonzero((engine.mask != 0).any(1) & asked)
        rows = engine.get_states(due)
        players = rows["players"][:, 0]
        self._evaluator.check(players["level"], players["speed_setting"])
        tried = self._successors.of(rows, engine.mask[due])
        found[due[tried.parents], tried.actions] = self._behind(tried)
        if self._depth == 2:
            self._look_further(found, due, tried)
        return found

    def _behind(self, tried: TriedPlacements, *, pill: bool = True) -> np.ndarray:
        """Return what placements cost, judged by what is right behind them, float32 (k,)."""
        left = np.full(len(tried.rows), self._evaluator.head.t_max, np.float32)
        left[tried.cleared] = 0.0
        asked = np.flatnonzero(tried.running & (tried.bottles == np.arange(len(left))))
        seen = situations(tried.rows[asked], pill=pill)
        left[asked] = self._evaluator.costs(seen, self._measure)
        costs: np.ndarray = tried.frames + left[tried.bottles]
        return costs

    def _look_further(self, costs: np.ndarray, due: np.ndarray, tried: TriedPlacements) -> None:
        """Replace the costs of the best placements by those of the best ones behind them."""
        assert self._successors is not None
        of_first = costs[due[tried.parents], tried.actions]
        rank = np.empty(len(of_first), np.int64)
        order = np.lexsort((of_first, tried.parents))
        begin = np.searchsorted(tried.parents, tried.parents)
        rank[order] = np.arange(len(order))
        kept = np.flatnonzero((rank - begin < self._beam) & tried.running)
        rows = tried.rows[kept]
        then = self._successors.of(rows, self._successors.masks(rows))
        behind = np.full(len(kept), np.inf, np.float32)
        np.minimum.at(behind, then.parents, self._behind(then, pill=False))
        costs[due[tried.parents], tried.actions] = np.where(tried.cleared, of_first, np.inf)
        costs[due[tried.parents[kept]], tried.actions[kept]] = tried.frames[kept] + behind
        lost = ~np.isfinite(costs[due]).any(1)  # whatever is done ends the game
        again = lost[tried.parents]
        costs[due[tried.parents[again]], tried.actions[again]] = of_first[again]
