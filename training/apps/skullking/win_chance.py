"""The chance to win a game of Skull King, by the points of all and the cards still to be dealt.

At the end of a game only rank counts: who is far behind must dare, who leads need not. Between
rounds the chances of the seats are ``softmax(total / scale)``. The scale, in points, is what luck
and skill still move; it was found for every number of rounds left of the classic schedule, by
maximum likelihood over whole games of four (``benchmarks/skullking-win-chance.json``).

Another schedule goes by the cards that are still to be dealt to a hand: between those of the table
the scale is interpolated, and beyond its ends it grows with their square root, as sums of
independent rounds do. Other numbers of players have the same scales.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from training.apps.skullking.round_record import is_bidding
from training.search.rules import Outcome

# Points, by the cards that each hand is still dealt: after round 9, 8, ... 1 of the classic ones.
SCALES: Mapping[int, float] = {
    **{10: 38.3, 19: 53.0, 27: 62.6, 34: 70.3, 40: 74.5},
    **{45: 77.9, 49: 79.6, 52: 83.7, 54: 78.1},
}


def chances(totals: np.ndarray, cards_left: np.ndarray) -> np.ndarray:
    """Return the chance of each seat to win, float64 (m, P); rows sum to 1.

    Parameters
    ----------
    totals : ndarray, shape (m, P)
        Official points.
    cards_left : ndarray of int, shape (m,)
        Cards that a hand is still dealt in the rounds to come; with 0 the win is shared among the
        best.
    """
    ahead = totals - totals.max(1, keepdims=True).astype(np.float64)
    over = (cards_left == 0)[:, None]
    scale = np.where(over, 1.0, scales(cards_left)[:, None])
    weights = np.where(over, ahead == 0, np.exp(ahead / scale))
    chances: np.ndarray = weights / weights.sum(1, keepdims=True)
    return chances


def scales(cards_left: np.ndarray) -> np.ndarray:
    """Return the points that stand for one unit of softmax, float64 (m,); see :data:`SCALES`."""
    listed = np.array(sorted(SCALES), np.float64)
    within = np.clip(cards_left, listed[0], listed[-1])
    scales: np.ndarray = np.interp(within, listed, [SCALES[int(cards)] for cards in listed])
    return scales * np.sqrt(cards_left / within)


def make_win(game: Any) -> Outcome:
    """Return the chance to win the game as an outcome of search.

    A rollout that ends within a round is judged as if the round ended there: its outcomes should
    have been closed by a value. Where an episode is one round, that alone is won.

    Parameters
    ----------
    game : SkullKingGame
    """
    rules = game.rules[0]
    schedule = rules["schedule"][: rules["num_rounds"]].astype(np.int64)
    dealt_later = np.append(np.cumsum(schedule[::-1])[::-1], 0)  # from the round of an index on
    if not rules["full_game"]:
        dealt_later[:] = 0

    def win(outcomes: np.ndarray, rows: np.ndarray, seats: np.ndarray) -> np.ndarray:
        begun = ~is_bidding(rows)  # or over
        left = dealt_later[rows["round_idx"].astype(np.int64) + begun]
        won: np.ndarray = chances(outcomes, left)[np.arange(len(rows)), seats]
        return won

    return win
