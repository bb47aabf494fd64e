"""Scripted players of Lantern Walk: they read the memory of the game, not its pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.gameboy.lantern_walk import Cell, ReadMemory, Solver, Walker
from fastenv.gameboy.tables import WRAM

# Where the picture of the goal template of ours was taken; a test goes there.
GOAL_CELL = Cell(2, 1, 6)


class Scripted:
    """A :class:`Solver` in every lane of an engine.

    Goals are walked to, in overworlds the quest is finished; what a step does by chance (sticky
    actions) is answered in the next one.
    """

    def __init__(self) -> None:
        self._solvers = {"goal": Walker(GOAL_CELL)}

    def act(self, engine: BatchEngine) -> np.ndarray:
        """See :class:`training.evaluation.policies.Policy`."""
        config: Any = engine.game.config  # type: ignore[attr-defined]
        solver = self._solvers.get(config.kind) or Solver()
        numbers = {name: k for k, name in enumerate(config.action_names)}
        rows = engine.get_states()["wram"]
        buttons = [solver.button(_reader(row)) for row in rows]
        return np.array([numbers[(b or "noop").lower()] for b in buttons], np.int32)


def _reader(wram: np.ndarray) -> ReadMemory:
    """Return what reads a byte of a machine."""
    return lambda address: int(wram[address - WRAM])
