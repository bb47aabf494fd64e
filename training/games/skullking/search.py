"""Skull King for the searcher: its decisions, the length of rollouts, and outcomes."""

from __future__ import annotations

import numpy as np

from fastenv.skullking.tables import Phase
from training.apps.skullking.beliefs import HandBelief
from training.apps.skullking.opponent_model import OpponentModel
from training.apps.skullking.round_view import RoundView
from training.apps.skullking.win_chance import make_win
from training.search.rules import SearchRules, margin, points


def bids(rows: np.ndarray) -> np.ndarray:
    """Tell in which rows a bid or a cannon is decided, bool (k,)."""
    bidding: np.ndarray = np.isin(rows["phase"], (Phase.BID, Phase.CANNON))
    return bidding


def cards(rows: np.ndarray) -> np.ndarray:
    """Tell in which rows anything else is decided: cards, and abilities of pirates, bool (k,)."""
    return ~bids(rows)


SEARCH = SearchRules(
    actor="actor",
    rollouts="heuristic",
    horizon="round",
    ends=("round",),
    outcome="margin",
    outcomes={"points": points, "margin": margin},
    made={"win": make_win},
    decisions="cards",  # a bid is worth what the player of its cards makes of it
    searched={"cards": cards, "bids": bids},
    beliefs=HandBelief,
    opponents=OpponentModel,
    view=RoundView,
)
