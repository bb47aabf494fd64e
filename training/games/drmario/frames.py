"""Dr. Mario where every frame is a decision."""

from __future__ import annotations

from typing import Any, ClassVar

from training.games.drmario import DrMario
from training.run.games import GameTraining


class DrMarioFrames(DrMario):
    """The same game with an observation of its own: there are no placements to show."""

    env_options: ClassVar[dict[str, Any]] = {}
    bots = ("random",)

    budgets: ClassVar = {}
    records = GameTraining.records
    potential, player = GameTraining.potential, GameTraining.player

    def config(self, env: str, trainer: str) -> str | None:
        """Return nothing: what learns where a decision is a frame was not looked for."""
        return None


GAME = DrMarioFrames()
