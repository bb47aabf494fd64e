"""The clock of Prospector, and what lets it run."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.prospector.tables import Action
from training.run.engine import Engine

# Worth playing for ever, as workloads of benchmarks.
FIXED_ACTIONS = {"hold": int(Action.HOLD), "cash_out": int(Action.CASH_OUT)}


def elapsed(engine: Engine) -> np.ndarray:
    """Count the ticks since the episode of each lane began, shape (n,)."""
    game: Any = engine.game
    ticks: np.ndarray = game.config.time_max - engine.info["time_remaining"]
    return ticks
