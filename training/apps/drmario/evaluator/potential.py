"""Potential shaping by an evaluator: minus the frames to the clear that it expects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from training.apps.drmario.evaluator import model
from training.apps.drmario.evaluator.risk import Measure
from training.apps.drmario.evaluator.situations import situations

FILE = "evaluator:"


def find_potential(name: str) -> Callable[[np.ndarray], np.ndarray] | None:
    """Load the potential that is called ``evaluator:FILE``; None for another name.

    Raises
    ------
    ConfigError
        If there is no such evaluator.
    """
    return frames_left(Path(name.removeprefix(FILE))) if name.startswith(FILE) else None


def frames_left(path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """Return the potential of an evaluator's file: ``-E[T]`` of rows at decisions.

    Raises
    ------
    ConfigError
        If there is no such evaluator; when called, for games that it was not trained for.
    """
    evaluator = model.load(path)

    def phi(rows: np.ndarray) -> np.ndarray:
        players = rows["players"][:, 0]
        evaluator.check(players["level"], players["speed_setting"])
        return -evaluator.costs(situations(rows), Measure())

    return phi
