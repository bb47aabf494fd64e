"""Asteroid Prospector for the searcher: the player of rollouts, and outcomes."""

from __future__ import annotations

import numpy as np

from training.search.rules import SearchRules, points

UNIT = 1000.0  # credits
LOST = 5.0  # what a lost ship costs: more than any trip earns


def profit(outcomes: np.ndarray, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """Return credits less what was spent, in thousands; a lost ship costs ``LOST`` more."""
    lost = (rows["ev_destroyed"] != 0) | (rows["ev_stranded"] != 0)
    thousands: np.ndarray = (rows["credits"] - rows["total_spend"]) / UNIT - LOST * lost
    return thousands


SEARCH = SearchRules(
    rollouts="rich_haul",
    outcome="profit",
    outcomes={"profit": profit, "points": points},
    units={"profit": "thousand credits", "points": "points"},
    # The bot's own action unless another one is clearly better: luck is large beside a decision. In
    # 16 worlds this lead asks for two standard errors.
    options={"worlds": 16, "lead": 4 / 3},
)
