"""Try every placement that can be reached, in copies of rows, with the engine itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fastenv import BatchEngine
from fastenv.drmario import DrMarioConfig, DrMarioGame
from fastenv.drmario.tables import NUM_PLACEMENTS
from training.apps.drmario.placements import cells_of_placements
from training.search.beam import Branches, Expansion

LANES = 1024  # rows whose placements are planned at once


def branches(config: DrMarioConfig, lanes: int = LANES) -> Branches:
    """Make branches of a game, which try placements in copies of rows."""
    bare = replace(config, obs="none", extras=(), mode="warp")
    return Branches(BatchEngine(DrMarioGame(bare), lanes, info_columns=()))


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


def _find_twins() -> np.ndarray:
    """Return for each placement the lower number of those that fill the same two cells."""
    by_cells: dict[frozenset[int], int] = {}
    pairs = [frozenset(pair) for pair in cells_of_placements()]
    for action, pair in enumerate(pairs):
        by_cells.setdefault(pair, action)
    return np.array([by_cells[pair] for pair in pairs])


TWINS = _find_twins()
