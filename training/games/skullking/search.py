"""Skull King for the searcher: what is searched, how far, and what is judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.skullking.tables import Phase
from training.search.rules import Outcome, SearchRules, View, margin, points


def bids(rows: np.ndarray) -> np.ndarray:
    """Return where a bid or a cannon is decided, bool (k,)."""
    found: np.ndarray = np.isin(rows["phase"], (Phase.BID, Phase.CANNON))
    return found


def cards(rows: np.ndarray) -> np.ndarray:
    """Return where anything else is decided: cards, and abilities of pirates, bool (k,)."""
    return ~bids(rows)


def beliefs(name: str, policy: Any, engine: Any, model: Any = None) -> Any:
    """Return what weighs worlds by what others would have done in them."""
    from training.apps.skullking.beliefs import HandBelief

    return HandBelief(name, policy, engine, model)


def opponents(policy: Any, engine: Any) -> Any:
    """Return what learns who plays the other seats."""
    from training.apps.skullking.opponent_model import OpponentModel

    return OpponentModel(policy, engine)


def win(game: Any) -> Outcome:
    """Return the chance to win the game, by the points after the round."""
    from training.apps.skullking.win_chance import make_win

    return make_win(game)


def view(game: Any) -> View:
    """Return what a value network sees of rounds that are not over."""
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
