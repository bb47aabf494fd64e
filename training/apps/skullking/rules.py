"""The rules of an engine that plays Skull King."""

from __future__ import annotations

from fastenv import Game
from fastenv.skullking import SkullKingConfig, SkullKingGame

# Opponent sets of an evaluation: the bot in all other seats, or bots of several kinds.
SETS = (
    *("random", "rule_easy", "rule_medium", "rule_hard", "rule_pi_hard", "heuristic"),
    "mixed",
)
STRONGEST = "rule_hard"


def rules_of(game: Game) -> SkullKingConfig:
    """Return the rules of a game of Skull King; TypeError for another game."""
    if not isinstance(game, SkullKingGame):
        raise TypeError(f"{type(game).__name__} is no game of Skull King")
    return game.config
