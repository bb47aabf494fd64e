"""A player with an evaluator: it searches one or two placements ahead for the least cost.

What is known behind a placement is exact, frames and bottle; what is unknown is what the evaluator
is asked for. Nothing is used that a player does not see: of a bottle two placements ahead the
evaluator is not told the pill. The search is that of :mod:`training.search.beam`.

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
from fastenv.drmario import DrMarioConfig, DrMarioGame
from fastenv.drmario.tables import CELLS, COLUMNS, NUM_PLACEMENTS, Reason
from training.apps.drmario.evaluator.features import situations
from training.apps.drmario.evaluator.model import Evaluator, load, weigh
from training.players.player import MakePlayer
from training.run.options import require
from training.search.beam import Beam, Branches, Expansion

BEAM = 4  # placements behind which a second one is looked for
LANES = 1024  # rows whose placements are planned at once
LOOKAHEAD = "lookahead:"
DEPTH = ":depth2"


def branches(config: DrMarioConfig) -> Branches:
    """Make branches of a game, which try placements in copies of rows."""
    bare = replace(config, obs="none", extras=(), mode="warp")
    return Branches(BatchEngine(DrMarioGame(bare), LANES, info_columns=()))


def bottles(tried: Expansion) -> np.ndarray:
    """Return for each placement the first of those that leave the same bottle behind, int (k,).

    Where both halves of a pill have one colour they can change places, and only frames differ.
    """
    pills = tried.before["players"][:, 0]
    equal = pills["color_first"] == pills["color_second"]
    actions = np.where(equal[tried.parents], TWINS[tried.actions], tried.actions)
    keys = tried.parents * NUM_PLACEMENTS + actions
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    firsts: np.ndarray = first[which]
    return firsts


# Of each placement the lower number of those that fill the same two cells (docs/drmario.md, 11.3):
# the second half left of the first, or above it, is the first one right of the second, or below.
TWINS = np.arange(NUM_PLACEMENTS)
TWINS[2 * CELLS + 1 : 3 * CELLS] = np.arange(CELLS - 1)
TWINS[3 * CELLS + COLUMNS :] = CELLS + np.arange(CELLS - COLUMNS)


class Bottles:
    """Judges bottles behind placements by an evaluator; a :class:`training.search.beam.Judge`.

    Parameters
    ----------
    evaluator : Evaluator
    measure : str
        See :func:`training.apps.drmario.evaluator.model.weigh`.
    """

    def __init__(self, evaluator: Evaluator, measure: str) -> None:
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
        chosen = np.flatnonzero(tried.running & (same == np.arange(len(left))))
        seen = situations(tried.rows[chosen], pill=level == 1)
        left[chosen] = self._evaluator.costs(seen, self._measure)
        judged: np.ndarray = left[same]
        return judged

    def reached(self, tried: Expansion) -> np.ndarray:
        """Tell for each placement whether it clears the bottle."""
        cleared: np.ndarray = tried.rows["reason"] == Reason.CLEAR
        return cleared

    def keys(self, tried: Expansion) -> None:
        """Return None: of two ways to the same bottle both are judged, by their frames."""


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
        self._evaluator = evaluator
        self._beam = Beam(branches(config), Bottles(evaluator, measure), depth, BEAM)

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
        engine.refresh()
        rows, masks = engine.get_states(lanes), engine.mask[lanes]
        players = rows["players"][:, 0]
        self._evaluator.check(players["level"], players["speed_setting"])
        searched = self._beam.search(rows, masks)
        costs, first = np.full(masks.shape, np.inf, np.float32), searched.first
        costs[first.parents, first.actions] = searched.values[0]
        return costs


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
