"""What a network may know of an observation's layout, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from training.run import games
from training.run.options.ppo import PPOConfig
from training.run.values import require


@dataclass(frozen=True)
class ObsLayout:
    """Sizes of an environment and the places a network may look for.

    Parameters
    ----------
    obs_size : int
        Numbers of an observation.
    num_actions : int
    is_bytes : bool
        Observations are uint8 and are divided by 255.
    phase : tuple of int or None
        Offset and length of the one-hot of the decision phase.
    slots : tuple of (int, int, int)
        Offset, number and width of each row of card slots; an empty slot is all zero.
    """

    obs_size: int
    num_actions: int
    is_bytes: bool = False
    phase: tuple[int, int] | None = None
    slots: tuple[tuple[int, int, int], ...] = ()

    def check(self, config: PPOConfig) -> None:
        """Refuse a network that this environment cannot feed."""
        fits = config.heads != "phase" or self.phase is not None
        require(fits, "ppo.heads", config.heads, "'single': this game does not show its phase")
        fits = config.attention == 0 or bool(self.slots)
        require(fits, "ppo.attention", config.attention, "0: this game does not show card slots")


def obs_layout(engine: Any) -> ObsLayout:
    """Return the layout of an engine's observations, with the parts that its game tells of."""
    parts = games.of_engine(engine).observation_parts(engine)
    return ObsLayout(
        obs_size=int(np.prod(engine.obs_shape)),
        num_actions=engine.num_actions,
        is_bytes=np.dtype(engine.obs_dtype) == np.uint8,
        phase=parts.phase,
        slots=parts.slots,
    )
