"""Bids from a distribution over the tricks won, by what the rules pay for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from fastenv.skullking.layout import layout
from fastenv.skullking.rules import score_bid
from fastenv.skullking.tables import MAX_CARDS, Scoring, Tier
from training.apps.skullking.hindsight.auxiliary import tricks_log_probs
from training.nets.actor_critic import ActorCritic, Logits
from training.run.options import require

Array = npt.NDArray[Any]

_RANGE = range(MAX_CARDS + 1)


def _make_points(scoring: Scoring) -> npt.NDArray[np.float64]:
    """Return the points without bonuses, shape (cards, bid, tricks)."""

    def points(cards: int, bid: int, won: int) -> int:
        return score_bid(bid, won, cards, scoring=scoring).points

    return np.array(
        [[[points(n, bid, won) for won in _RANGE] for bid in _RANGE] for n in _RANGE], np.float64
    )


# With a cannonball there is more to decide than a bid.
_POINTS = {s.name.lower(): _make_points(s) for s in (Scoring.SKULL_KING, Scoring.RASCAL)}


def expected_points(log_probs: Array, cards: Array, scoring: str = "skull_king") -> Array:
    """Return the points that each bid is expected to bring, without bonuses.

    Parameters
    ----------
    log_probs : ndarray of float, shape (k, 11, 11)
        Log-probabilities of the tricks won (last axis) given each bid.
    cards : ndarray of int, shape (k,)
        Cards dealt to a hand.
    scoring : {"skull_king", "rascal"}

    Returns
    -------
    ndarray of float64, shape (k, 11)
        Minus infinity for bids above ``cards``.

    Raises
    ------
    ConfigError
        For another scoring.
    """
    require(scoring in _POINTS, "scoring", scoring, "one of " + ", ".join(map(repr, _POINTS)))
    points = (np.exp(log_probs.astype(np.float64)) * _POINTS[scoring][cards]).sum(-1)
    return np.where(np.arange(MAX_CARDS + 1) <= cards[:, None], points, -np.inf)


def decoding(net: ActorCritic, scoring: str = "skull_king") -> Logits:
    """Return a player that bids what the head of mode ``tricks`` promises the most points for.

    Parameters
    ----------
    net : ActorCritic
        Of a Manager that was trained with that mode.
    scoring : {"skull_king", "rascal"}

    Returns
    -------
    callable
        From observations (k, D) to the expected points of each bid, in the place of logits.
    """
    deal = next(block.offset for block in layout(Tier.MANAGER) if block.name == "deal")
    device = net.value_head.weight.device

    def points(obs: Array) -> Array:
        cards = np.rint(10 * obs[:, deal]).astype(np.int64)
        with torch.inference_mode():
            seen = (torch.from_numpy(x).to(device) for x in (obs, cards))
            log_probs = tricks_log_probs(net, *seen).cpu().numpy()
        return expected_points(log_probs, cards, scoring)

    return points
