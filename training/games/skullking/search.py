"""Skull King for the searcher: its decisions, the length of rollouts, and outcomes."""

from __future__ import annotations

from typing import Any

from fastenv.registry import short_id
from training.apps.skullking.beliefs import HandBelief
from training.apps.skullking.opponent_model import OpponentModel
from training.apps.skullking.round_record import is_bidding, is_playing
from training.apps.skullking.round_view import RoundView
from training.apps.skullking.win_chance import make_win
from training.players.policy import Policy
from training.run import games
from training.search.rules import SearchRules, margin, points

LEAD = 1.0  # standard errors by which an action must be ahead of the network's own


def options_of(policy: Policy) -> dict[str, Any]:
    """Return options with which a network searches that bids and plays, if it has no memory."""
    whole = short_id(policy.env) not in games.get_game(policy.env).table.parts
    if policy.state_size or not whole:
        return {}
    return {"rollouts": "model", "belief": "bids", "lead": LEAD}


SEARCH = SearchRules(
    actor="actor",
    rollouts="heuristic",
    horizon="round",
    ends=("round",),
    outcome="margin",
    outcomes={"points": points, "margin": margin},
    units={"points": "points", "margin": "points ahead of the others", "win": "chance to win"},
    made={"win": make_win},
    decisions="cards",  # a bid is worth what the player of its cards makes of it
    searched={"cards": is_playing, "bids": is_bidding},
    network=options_of,
    beliefs=HandBelief,
    opponents=OpponentModel,
    view=RoundView,
)
