"""The goal of Dr. Mario for a curriculum: a cleared bottle, in how many frames or pills."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.drmario.tables import Reason, from_bcd
from training.callbacks.times import Budget
from training.games.drmario import splits

MET = {"info": "reason", "equals": int(Reason.CLEAR)}
BUDGETS = {
    "frames": Budget("task_max_frames"),
    "spawns": Budget("task_max_spawns", "spawns", step=1),
}


def fewer_viruses(rows: np.ndarray) -> np.ndarray:
    """Count minus the viruses that each player of a row has left, shape (k, players)."""
    packed: Any = rows["players"]["virus_bcd"].astype(np.int64)
    left: np.ndarray = np.negative(from_bcd(packed))
    return left


POTENTIALS = {"viruses": fewer_viruses}


def seeds_for(part: str) -> tuple[str, np.ndarray]:
    """Look up the seeds to tune and train on, or those of reports, and the knob that takes them."""
    return "game_seed", splits.seeds_for(part)
