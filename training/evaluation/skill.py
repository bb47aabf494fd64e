"""Ratings of players at one table, by openskill (Plackett and Luce).

Each game is one match of all its seats. What is rated is a seat's player by its own games: who has
several seats is rated in each, and has their mean. openskill rates one match after the other, and
of the same games another order gives other ratings, as far apart as those of other games. Therefore

* a rating is the mean of ``mu`` over a few random orders of all games, each from openskill's prior
  (``mu`` 25, ``sigma`` 25 / 3), with ``tau`` 0, since players stay who they are;
* its 95 % interval is Student's t interval from resamples of the deals, each rated in as many
  orders: it holds the chance of the deals and what is left of that of the order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from training.evaluation.intervals import Interval, student_quantile

ORDERS = 4
FEWEST, MOST = 8, 25  # resamples
_SEATS = 200_000  # rated in all resamples together: plain Python rates about 80,000 a second


def rate(
    outcomes: np.ndarray, who: Sequence[int], seed: int, seated: np.ndarray | None = None
) -> list[Interval]:
    """Rate every player, with an interval over deals; see the module.

    Parameters
    ----------
    outcomes : ndarray of float, shape (deals, games of a deal, seats)
        More is better, and equal ones are ties.
    who : sequence of int
        Player of each member of the group, from 0 on.
    seed : int
        Of orders and resamples.
    seated : ndarray of int, shape (games of a deal, seats), optional
        Member of each outcome; default member k has outcome k in every game.
    """
    deals, games, seats = outcomes.shape
    rng = np.random.default_rng(seed)
    share = np.eye(max(who) + 1)[list(who)]  # (members, players)
    share /= share.sum(0)
    members = np.broadcast_to(np.arange(seats) if seated is None else seated, outcomes.shape)
    matches = np.concatenate([outcomes, members], axis=2)
    value = _rate_in_orders(matches, len(who), rng) @ share
    count = int(np.clip(_SEATS // (ORDERS * deals * games * seats), FEWEST, MOST))
    drawn = rng.integers(deals, size=(count, deals))
    ratings = [_rate_in_orders(matches[chosen], len(who), rng) @ share for chosen in drawn]
    half = student_quantile(count - 1) * np.array(ratings).std(0, ddof=1)
    ends = zip(value.tolist(), half.tolist(), strict=True)
    return [Interval(mu, mu - wide, mu + wide) for mu, wide in ends]


def _rate_in_orders(matches: np.ndarray, members: int, rng: np.random.Generator) -> np.ndarray:
    """Rate each member by ``mu``, the mean over random orders of the matches."""
    from openskill.models import PlackettLuce

    model, seats = PlackettLuce(tau=0.0), matches.shape[2] // 2
    total = np.zeros(members)
    for _ in range(ORDERS):
        ratings = [[model.rating()] for _ in range(members)]
        for match in rng.permutation(matches.reshape(-1, 2 * seats)).tolist():
            at_table = [int(member) for member in match[seats:]]
            rated = model.rate([ratings[member] for member in at_table], scores=match[:seats])
            for member, rating in zip(at_table, rated, strict=True):
                ratings[member] = rating
        total += [one.mu for (one,) in ratings]
    return total / ORDERS
