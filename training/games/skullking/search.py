"""Skull King for the searcher: its decisions, the length of rollouts, and outcomes."""

from __future__ import annotations

import numpy as np

from training.apps.skullking.beliefs import HandBelief
from training.apps.skullking.opponent_model import OpponentModel
from training.apps.skullking.round_record import is_bidding
from training.apps.skullking.round_view import RoundView
from training.apps.skullking.win_chance import make_win
from training.search.rules import SearchRules, margin, points


def cards(rows: np.ndarray) -> np.ndarray:
    """Tell in which rows anything else is decided: cards, and abilities of pirates, bool (k,)."""
    return ~is_bidding(rows)


SEARCH = SearchRules(
    actor="actor",
    rollouts="heuristic",
    horizon="round",
    ends=("round",),
    outcome="margin",
    outcomes={"points": points, "margin": margin},
    made={"win": make_win},
    decisions="cards",  # a bid is worth what the player of its cards makes of it
    searched={"cards": cards, "bids": is_bidding},
    beliefs=HandBelief,
    opponents=OpponentModel,
    view=RoundView,
)
