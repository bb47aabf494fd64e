"""Dr. Mario for two: matches of placements against a scripted player."""

from __future__ import annotations

from typing import Any, ClassVar

from training.games.drmario import DrMario
from training.run.games import GameTraining


class DrMarioMatches(DrMario):
    """The same game, judged by its return: what ends a match does not say who has won it."""

    env_options: ClassVar[dict[str, Any]] = {"opponent": "random"}
    episode_columns: ClassVar = {"reason": "kept"}
    protocol = GameTraining.protocol

    budgets: ClassVar = {}
    records = GameTraining.records
    potential, player = GameTraining.potential, GameTraining.player

    def config(self, env: str, trainer: str) -> str | None:
        """Return nothing: what learns to win matches was not looked for."""
        return None


GAME = DrMarioMatches()
