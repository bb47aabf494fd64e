"""What the value network alone sees of the states of a rollout (``native.critic_view``)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.ppo.buffer import Rollout
from training.run.games import get_engine_game


class Views:
    """Writes views into a rollout that has room for them; else there are none.

    They are made of the rows of the lanes as these are, so nothing of them has to be saved.

    Parameters
    ----------
    rollout : Rollout
    engine : Engine
    """

    def __init__(self, rollout: Rollout, engine: Any) -> None:
        self._stored, self._engine = rollout.view, engine
        parts = get_engine_game(engine).observation_parts(engine)
        view = parts.critic_view
        self._write = None if view is None else view.write

    def store(self, t: int) -> dict[str, Tensor]:
        """Store what is seen of the states behind t decisions, and return it as an argument."""
        if self._stored is None or self._write is None:
            return {}
        here = self._stored[t]
        shown = np.empty(here.shape, np.uint8)
        self._write(self._engine.get_states(), shown)
        return {"view": here.copy_(torch.from_numpy(shown))}
