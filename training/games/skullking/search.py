"""Skull King for the searcher: its decisions, the length of rollouts, and outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.skullking.tables import Phase
from training.search.rules import Outcome, SearchRules, View, margin, points


def bids(rows: np.ndarray) -> np.ndarray:
    """Tell in which rows a bid or a cannon is decided, bool (k,)."""
    bidding: np.ndarray = np.isin(rows["phase"], (Phase.BID, Phase.CANNON))
    return bidding


def cards(rows: np.ndarray) -> np.ndarray:
    """Tell in which rows anything else is decided: cards, and abilities of pirates, bool (k,)."""
    return ~bids(rows)


def beliefs(name: str, policy: Any, engine: Any, model: Any = None) -> Any:
    """Make the belief that weighs worlds by the likelihood of the others' actions in them."""
    from training.apps.skullking.beliefs import HandBelief

    return HandBelief(name, policy, engine, model)


def opponents(policy: Any, engine: Any) -> Any:
    """Make the model that learns who plays the other seats."""
    from training.apps.skullking.opponent_model import OpponentModel

    return OpponentModel(policy, engine)


def win(game: Any) -> Outcome:
    """Make the outcome of the chance to win the game, by the points after the round."""
    from training.apps.skullking.win_chance import make_win

    return make_win(game)


def view(game: Any) -> View:
    """Make the view of a value network on rounds that are not over."""
    from training.apps.skullking.round_view import RoundView

    return RoundView(game)


SEARCH = SearchRules(
    actor="actor",
    rollouts="heuristic",
    horizon="round",
    ends=("round",),
    outcome="margin",
    outcomes={"points": points, "margin": margin},
    made={"win": win},
    decisions="cards",  # a bid is worth what the player of its cards makes of it
    searched={"cards": cards, "bids": bids},
    beliefs=beliefs,
    opponents=opponents,
    view=view,
)
