"""Dr. Mario for two: matches against a scripted player, whose decisions are either kind."""

from __future__ import annotations

from typing import Any, ClassVar

from training.games.drmario import DrMario
from training.run.games import GameTraining


class DrMarioMatches(DrMario):
    """The same game, judged by its return: what ends a match does not say who has won it."""

    env_options: ClassVar[dict[str, Any]] = {"opponent": "random"}
    episode_columns: ClassVar = {"reason": "kept"}
    bots = ("random", "first")
    protocol = GameTraining.protocol


GAME = DrMarioMatches()
