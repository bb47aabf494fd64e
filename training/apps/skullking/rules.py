"""The rules of a game of Skull King, the blocks of its observations, and its opponent sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastenv import Game
from fastenv.skullking import SkullKingConfig, SkullKingGame
from fastenv.skullking.layout import Block, layout
from fastenv.skullking.tables import Abilities

# Opponent sets of an evaluation: the bot in all other seats, or bots of several kinds.
SETS = (
    *("random", "rule_easy", "rule_medium", "rule_hard", "rule_pi_hard", "heuristic"),
    "mixed",
)
COMPARED_AGAINST = "rule_hard"  # in curves and comparisons, unless others are named
BASELINES = ("random", "rule_hard", "heuristic")  # who plays the same games as an agent


def rules_of(game: Game) -> SkullKingConfig:
    """Return the rules of a game of Skull King; TypeError for another game."""
    if not isinstance(game, SkullKingGame):
        raise TypeError(f"{type(game).__name__} is no game of Skull King")
    return game.config


def blocks_of(game: Any) -> Sequence[Block]:
    """Return the blocks of the observations of a game."""
    rules = game.rules[0]
    decides = rules["abilities"] == Abilities.AGENT
    shape = int(rules["tier"]), int(rules["num_players"]), bool(rules["memory"])
    return layout(*shape, bool(decides))
