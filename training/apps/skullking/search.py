"""Skull King for the searcher: what is searched, how far, and what is judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.skullking.tables import Phase
from training.search.rules import SearchRules, margin, points


def bids(rows: np.ndarray) -> np.ndarray:
    """Return where a bid or a cannon is decided, bool (k,)."""
    found: np.ndarray = np.isin(rows["phase"], (Phase.BID, Phase.CANNON))
    return found


def cards(rows: np.ndarray) -> np.ndarray:
    """Return where anything else is decided: cards, and abilities of pirates, bool (k,)."""
    return ~bids(rows)


def beliefs(name: str, policy: Any, engine: Any) -> Any:
    """Return what weighs worlds by what a policy would have done in them."""
    from training.apps.skullking.beliefs import HandBelief

    return HandBelief(name, policy, engine)


SEARCH = SearchRules(
    actor="actor",
    rollouts="heuristic",
    horizon="round",
    outcome="margin",
    outcomes={"points": points, "margin": margin},
    decisions="cards",  # a bid is worth what the player of its cards makes of it
    searched={"cards": cards, "bids": bids},
    beliefs=beliefs,
)
