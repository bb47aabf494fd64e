"""Plays by an evaluator: looks one placement ahead, or two, and takes what costs least.

What is known behind a placement is exact, frames and bottle; what is unknown is what the evaluator
is asked for. Nothing is used that a player does not see: of a bottle two placements ahead the
evaluator is not told the pill. The search is that of :mod:`training.search.beam`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.drmario.tables import Reason
from training.apps.drmario.evaluator.model import Evaluator
from training.apps.drmario.evaluator.risk import Measure
from training.apps.drmario.evaluator.situations import situations
from training.apps.drmario.evaluator.successors import bottles, branches
from training.run.options import require
from training.search.beam import Beam, Expansion

BEAM = 4  # placements behind which a second one is looked for


class Bottles:
    """What an evaluator says of bottles behind placements; a :class:`training.search.beam.Judge`.

    Parameters
    ----------
    evaluator : Evaluator
    measure : Measure
    """

    def __init__(self, evaluator: Evaluator, measure: Measure) -> None:
        self._evaluator, self._measure = evaluator, measure

    def costs(self, tried: Expansion) -> np.ndarray:
        """Return the frames that placements take."""
        frames: np.ndarray = tried.rows["tau"].astype(np.float32)
        return frames

    def left(self, tried: Expansion, level: int) -> np.ndarray:
        """Return the frames to the clear; where the game is lost, as many as there can be."""
        left = np.full(len(tried.rows), self._evaluator.head.t_max, np.float32)
        left[self.reached(tried)] = 0.0
        same = bottles(tried)
        asked = np.flatnonzero(tried.running & (same == np.arange(len(left))))
        seen = situations(tried.rows[asked], pill=level == 1)
        left[asked] = self._evaluator.costs(seen, self._measure)
        judged: np.ndarray = left[same]
        return judged

    def reached(self, tried: Expansion) -> np.ndarray:
        """Return where the bottle is cleared."""
        found: np.ndarray = tried.rows["reason"] == Reason.CLEAR
        return found

    def keys(self, tried: Expansion) -> None:
        """Return None: of two ways to the same bottle both are judged, by their frames."""


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
        self._evaluator, self._judge = evaluator, Bottles(evaluator, measure or Measure())
        self._depth, self._width = depth, beam
        self._beam: Beam | None = None

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
        if self._beam is None:
            self._beam = Beam(branches(config), self._judge, self._depth, self._width)
        found = np.full(engine.mask.shape, np.inf, np.float32)
        asked = ~engine.ended if where is None else where & ~engine.ended
        due = np.flatnonzero((engine.mask != 0).any(1) & asked)
        rows = engine.get_states(due)
        players = rows["players"][:, 0]
        self._evaluator.check(players["level"], players["speed_setting"])
        searched = self._beam.search(rows, engine.mask[due])
        first = searched.first
        found[due[first.parents], first.actions] = searched.values[0]
        return found
