"""What a network may know of an observation's layout, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastenv.skullking import SkullKingGame
from fastenv.skullking.layout import HAND_SLOTS, layout
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
        require(fits, "ppo.heads", config.heads, "'single': this tier does not show its phase")
        fits = config.attention == 0 or bool(self.slots)
        require(fits, "ppo.attention", config.attention, "0: this tier does not show card slots")


def obs_layout(engine: Any) -> ObsLayout:
    """Return the layout of an engine's observations; Skull King's has phases and card slots."""
    phase: tuple[int, int] | None = None
    slots: tuple[tuple[int, int, int], ...] = ()
    game = getattr(engine, "game", None)
    if isinstance(game, SkullKingGame):
        rules = game.rules[0]
        blocks = layout(int(rules["tier"]), int(rules["num_players"]), bool(rules["memory"]))
        named = {block.name: block for block in blocks}
        decision = named.get("decision") or named.get("phase")
        phase = None if decision is None else (decision.offset, decision.length)
        width = named["hand"].length // HAND_SLOTS
        rows = [named[name] for name in ("hand", "table", "bendt_cards") if name in named]
        slots = tuple((row.offset, row.length // width, width) for row in rows)
    return ObsLayout(
        obs_size=int(np.prod(engine.obs_shape)),
        num_actions=engine.num_actions,
        is_bytes=np.dtype(engine.obs_dtype) == np.uint8,
        phase=phase,
        slots=slots,
    )
