"""A player with an evaluator: it searches one or two placements ahead for the least cost.

What is known behind a placement is exact, frames and bottle; what is unknown is what the evaluator
is asked for. Nothing is used that a player does not see: of a bottle two placements ahead the
evaluator is not told the pill.

Its name is that of its file, and behind it what placements are judged by, and how far it looks::

    lookahead:FILE
    lookahead:FILE:cvar0.25
    lookahead:FILE:quantile0.75:depth2
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.drmario import DrMarioGame
from fastenv.drmario.tables import NUM_PLACEMENTS, Reason
from training.apps.drmario.evaluator.features import situations_behind
from training.apps.drmario.evaluator.model import Evaluator, load, weigh
from training.players.player import MakePlayer
from training.run.options import require

BEAM = 4  # placements behind which a second one is looked for
LOOKAHEAD = "lookahead:"
DEPTH = ":depth2"


class LookAhead:
    """Takes the placement that costs least; see :class:`training.players.player.Player`.

    Parameters
    ----------
    evaluator : Evaluator
    engine : BatchEngine
        Of ``DrMarioPlacement-v0``.
    measure : str
        What placements are judged by; see :func:`training.apps.drmario.evaluator.model.weigh`.
    depth : {1, 2}
        Placements that are looked ahead: the pill that falls, and its preview, which is placed
        behind the :data:`BEAM` best first ones.

    Raises
    ------
    ConfigError
        For another environment, or values out of range.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        engine: BatchEngine,
        measure: str = "mean",
        depth: int = 1,
    ) -> None:
        require(depth in (1, 2), "depth", depth, "1 or 2")
        config: Any = getattr(engine.game, "config", None)
        fits = getattr(config, "placement", False) and config.agents == 1
        name = getattr(engine.game, "env_id", None)
        require(fits, "env", name, "DrMarioPlacement-v0 with an evaluator: one player, placements")
        self._evaluator, self._measure, self._depth = evaluator, measure, depth
        self._game = DrMarioGame(replace(config, obs="none", extras=(), mode="warp"))
        self._engine = BatchEngine(self._game, 1, info_columns=())  # its lane is not used

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Nothing is remembered, and nothing drawn."""

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return its placements; 0 where none can be reached.

        Raises
        ------
        ConfigError
            For games that the evaluator was not trained for.
        """
        actions: np.ndarray = self.costs(engine, lanes).argmin(1).astype(np.int32)
        return actions

    def costs(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Estimate the frames to the clear of each placement in lanes, float32 (k, 512).

        Infinity stands for those that cannot be reached or, with depth 2, were not looked at.

        Raises
        ------
        ConfigError
            See :meth:`act`.
        """
        rows = engine.get_states(lanes)
        players = rows["players"][:, 0]
        self._evaluator.check(players["level"], players["speed_setting"])
        costs = np.full((len(rows), NUM_PLACEMENTS), np.inf, np.float32)
        parents, found = self._game.successors(rows, trusted=True)
        frames, left = self._judge(rows, parents, found, preview=True)
        values = frames + left
        if self._depth == 2:
            values = self._look_on(rows, parents, found, frames, values)
        costs[parents, found["action"]] = values
        return costs

    def _judge(
        self, rows: np.ndarray, parents: np.ndarray, found: np.ndarray, *, preview: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the frames of placements, and those from there to the clear, float32 (k,).

        A game that is lost counts as many as there can be.
        """
        left = np.zeros(len(found), np.float32)
        left[found["reason"] == Reason.TOPOUT] = self._evaluator.head.t_max
        running = np.flatnonzero(found["reason"] == Reason.NONE)
        boards = found["board"][running]
        seen = situations_behind(rows, parents[running], boards, preview=preview)
        left[running] = self._evaluator.costs(seen, self._measure)
        return found["frames"].astype(np.float32), left

    def _look_on(
        self,
        rows: np.ndarray,
        parents: np.ndarray,
        found: np.ndarray,
        frames: np.ndarray,
        values: np.ndarray,
    ) -> np.ndarray:
        """Place the preview behind the best placements; return the costs of all, float32 (k,).

        Where all of these end the game, first placements keep their values.
        """
        order = np.lexsort((values, parents))
        place = np.arange(len(order)) - np.searchsorted(parents[order], parents[order])
        best = np.sort(order[place < BEAM])
        kept = best[found["reason"][best] == Reason.NONE]
        actions, bot = found["action"][kept].astype(np.int32), self._game.bot_names[0]
        # A rollout of one decision that is given: the bot is never asked.
        then = self._engine.rollout(rows, actions, bot, limit=1, of=parents[kept], trusted=True)
        following, second = self._game.successors(then.rows, trusted=True)
        further, left = self._judge(then.rows, following, second, preview=False)
        behind = np.full(len(kept), np.inf, np.float32)
        np.minimum.at(behind, following, further + left)
        looked = np.where(found["reason"] == Reason.CLEAR, values, np.float32(np.inf))
        looked[kept] = frames[kept] + behind
        planned = np.zeros(len(rows), np.bool_)
        planned[parents[np.isfinite(looked)]] = True
        looked_at: np.ndarray = np.where(planned[parents], looked, values)
        return looked_at


# -- by name ---------------------------------------------------------------------------------------


def lookahead(name: str) -> MakePlayer | None:
    """Make the factory of the look-ahead of a name; None for the name of another player.

    Raises
    ------
    ConfigError
        If it asks for a measure that there is none of, or there is no such evaluator.
    """
    if not name.startswith(LOOKAHEAD):
        return None
    rest = name.removeprefix(LOOKAHEAD).removesuffix(DEPTH)
    depth = 2 if name.endswith(DEPTH) else 1
    file, colon, measure = rest.rpartition(":")
    if not colon or measure.endswith(".safetensors"):
        file, measure = rest, "mean"
    weigh(measure, 1)  # refused before a file is looked for
    return partial(LookAhead, load(Path(file)), measure=measure, depth=depth)
