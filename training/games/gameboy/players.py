"""Scripted players of Lantern Walk: they read the memory of the game, not its pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.gameboy.config import OURS
from fastenv.gameboy.lantern_walk import Cell, ReadMemory, Solver, Walker
from fastenv.gameboy.tables import WRAM
from training.run.options import require

SOLVER = "solver"
# Where the picture of the goal template of ours was taken; a test goes there.
GOAL_CELL = Cell(2, 1, 6)


class Scripted:
    """A :class:`Solver` in every lane; see :class:`training.players.player.Player`.

    Goals are walked to, in overworlds the quest is finished; what a step does by chance (sticky
    actions) is answered in the next one.

    Parameters
    ----------
    engine : BatchEngine
        Of one console.

    Raises
    ------
    ConfigError
        If another program runs there, whose memory says something else.
    """

    def __init__(self, engine: Any) -> None:
        config = engine.game.config
        require(config.rom == OURS, "rom", str(config.rom), f"{OURS!r}, which {SOLVER!r} plays")
        self._solver = Walker(GOAL_CELL) if config.kind == "goal" else Solver()
        self._numbers = {name: k for k, name in enumerate(config.action_names)}

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Nothing is remembered, and nothing drawn."""

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the buttons of the solver."""
        rows = engine.get_states(lanes)["wram"]
        buttons = [self._solver.button(_make_reader(row)) for row in rows]
        return np.array([self._numbers[(b or "noop").lower()] for b in buttons], np.int32)


def _make_reader(wram: np.ndarray) -> ReadMemory:
    """Make the function that reads a byte of a machine."""
    return lambda address: int(wram[address - WRAM])


def find_solver(name: str) -> type[Scripted] | None:
    """Find the scripted player of Lantern Walk, which reads the game's memory, by its name."""
    return Scripted if name == SOLVER else None
