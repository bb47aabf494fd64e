"""Every placement that can be reached, tried in a copy of the row by the engine itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fastenv import BatchEngine
from fastenv.drmario import DrMarioConfig, DrMarioGame
from fastenv.drmario.tables import NUM_PLACEMENTS, Reason
from training.apps.drmario.placements import cells_of_placements

LANES = 1024  # placements that are tried at once


@dataclass(frozen=True)
class TriedPlacements:
    """Placements and what is behind them; all arrays have shape (k,).

    Parameters
    ----------
    parents : ndarray of int
        Number of the row that each was tried in, rising.
    actions : ndarray of int
    rows : ndarray
        Behind them, at the next decision or at the end.
    frames : ndarray of float32
        That they take.
    bottles : ndarray of int
        Number of the first of those that leave the same bottle behind. Where both halves of a pill
        have one colour they can change places, and only the frames differ.
    """

    parents: np.ndarray
    actions: np.ndarray
    rows: np.ndarray
    frames: np.ndarray
    bottles: np.ndarray

    @property
    def cleared(self) -> np.ndarray:
        """Whether the bottle is cleared, bool."""
        found: np.ndarray = self.rows["reason"] == Reason.CLEAR
        return found

    @property
    def running(self) -> np.ndarray:
        """Whether the game goes on, bool."""
        found: np.ndarray = self.rows["done"] == 0
        return found


class Successors:
    """Tries placements in copies of rows.

    Parameters
    ----------
    config : DrMarioConfig
        Of the game that is played.
    lanes : int
        Placements that are tried at once.
    """

    def __init__(self, config: DrMarioConfig, lanes: int = LANES) -> None:
        bare = replace(config, obs="none", extras=(), mode="warp")
        self._engine = BatchEngine(DrMarioGame(bare), lanes, info_columns=())

    def masks(self, rows: np.ndarray) -> np.ndarray:
        """Return which placements can be reached, bool (n, 512).

        Parameters
        ----------
        rows : ndarray, shape (n,)
            At decisions.
        """
        found = np.empty((len(rows), NUM_PLACEMENTS), np.bool_)
        for part, lanes in self._parts(len(rows)):
            self._engine.set_states(rows[part], lanes, trusted=True)
            found[part] = self._engine.mask[lanes] != 0
        return found

    def of(self, rows: np.ndarray, masks: np.ndarray) -> TriedPlacements:
        """Return all placements that masks allow, and what is behind them.

        Parameters
        ----------
        rows : ndarray, shape (n,)
            At decisions.
        masks : ndarray, shape (n, 512)
        """
        parents, actions = np.nonzero(masks)
        found, frames = np.empty(len(parents), rows.dtype), np.empty(len(parents), np.float32)
        engine = self._engine
        chosen = np.zeros(engine.num_envs, np.int32)
        for part, lanes in self._parts(len(parents)):
            chosen[lanes] = actions[part]
            engine.set_states(rows[parents[part]], lanes, trusted=True)
            select = np.arange(engine.num_envs) < len(lanes)
            engine.step_many(chosen, select=select, autoreset=False)
            found[part], frames[part] = engine.get_states(lanes), engine.tau[lanes]
        pills = rows["players"][:, 0]
        equal = pills["color_first"] == pills["color_second"]
        keys = parents * NUM_PLACEMENTS + np.where(equal[parents], TWINS[actions], actions)
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return TriedPlacements(parents, actions, found, frames, first[which])

    def _parts(self, count: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Return parts of ``count`` that fit the lanes, and the lanes of each."""
        for k in range(0, count, self._engine.num_envs):
            part = slice(k, min(k + self._engine.num_envs, count))
            yield part, np.arange(part.stop - part.start)


def _twins() -> np.ndarray:
    """Return for each placement the lower number of those that fill the same two cells."""
    by_cells: dict[frozenset[int], int] = {}
    pairs = [frozenset(pair) for pair in cells_of_placements()]
    for action, pair in enumerate(pairs):
        by_cells.setdefault(pair, action)
    return np.array([by_cells[pair] for pair in pairs])


TWINS = _twins()
