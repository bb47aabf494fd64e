"""Finished rounds in hindsight: with the tricks won as the goal, and with other bids.

A Worker's row with another bid is the same round with another goal, and the engine encodes it.
Rewards come from tables that are filled by the functions of the game, so that no number of theirs
stands here. What is made is what ``fastenv.skullking.relabel`` makes in plain Python, bit for bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastenv.skullking.rewards import bet_reward, bid_reward, trick_reward
from fastenv.skullking.tables import MAX_CARDS, Phase
from training.apps.skullking.rules import rules_of
from training.run.engine import take_rows

Array = npt.NDArray[Any]

_TRICKS = range(MAX_CARDS + 1)

# -- of a Worker -----------------------------------------------------------------------------------


class Relabelled(NamedTuple):
    """The M decisions of the finished rounds of a rollout, with the tricks won as their goal.

    ``place`` (int64, ``t * N + lane``) says where they lie; ``obs`` (M, D), ``reward`` and the
    discounted return ``ret`` (M,) are float32. Rounds follow each other, lane by lane.
    """

    place: Array
    obs: Array
    reward: Array
    ret: Array


class Relabeller:
    """Relabels the rounds of a Worker.

    Parameters
    ----------
    engine : BatchEngine
        Of the Worker tier; its lanes are not touched.
    gamma : float
        Discount of a decision.
    """

    def __init__(self, engine: Any, gamma: float) -> None:
        self._engine, self._gamma = engine, gamma
        self._game = game = rules_of(engine.game)

        def trick(won: bool, wanted: int) -> list[float]:
            return [trick_reward(won, wanted, left, game.needed_after) for left in _TRICKS]

        # By whether the trick is won, the tricks wanted from -MAX_CARDS on, and those left.
        wanted = range(-MAX_CARDS, MAX_CARDS + 1)
        self._trick = np.array([[trick(won, w) for w in wanted] for won in (False, True)])
        self._bet = np.array([bet_reward(10 * tens, exact=True) for tens in range(3)])

    def __call__(
        self, rows: Array, reward: Array, done: Array, ended_cards: Array, ended_won: Array
    ) -> Relabelled:
        """Relabel every round that begins and ends within a rollout.

        Parameters
        ----------
        rows : ndarray, shape (T, N)
            Before each decision.
        reward : ndarray of float32, shape (T, N)
        done : ndarray of bool, shape (T, N)
        ended_cards, ended_won : ndarray of int32, shape (T, N)
            The info columns of these names of the round that a decision has ended, if it has.
        """
        lane, first, last = _find_rounds(rows[0], done, ended_cards)
        length = last - first + 1
        ends = length.cumsum()  # of each round, the place behind its last decision
        step = np.arange(length.sum()) - (ends - length).repeat(length)
        place = (first.repeat(length) + step) * done.shape[1] + lane.repeat(length)
        played, every = take_rows(rows.reshape(-1), place), np.arange(len(place))
        goal = ended_won[last, lane].astype(np.int64)
        played["bid"][every, played["agent"]] = goal.repeat(length)
        won = played["won"][every, played["agent"]].astype(np.int64)
        left = played["cards"].astype(np.int64) - played["tricks"]
        won_after, left_after = np.append(won[1:], 0), np.append(left[1:], 0)
        won_after[ends - 1], left_after[ends - 1] = goal, 0
        paid = self._trick[won_after - won, MAX_CARDS + goal.repeat(length) - won, left]
        paid[ends - 1] += self._game.goal_bonus
        final = played[ends - 1]
        own = final["rascal_seat"] == final["agent"]
        paid[ends - 1] += np.where(own, self._bet[final["rascal_bet"] // 10], 0.0)
        goes_on = left_after == left  # the decision has ended no trick
        rewards = np.where(goes_on, reward.reshape(-1)[place], paid).astype(np.float32)
        obs = self._engine.encode_obs_many(played, trusted=True)
        return Relabelled(place, obs, rewards, self._discount(rewards, length, ends))

    def _discount(self, rewards: Array, length: Array, ends: Array) -> Array:
        """Return the discounted returns of the decisions of rounds, float32 (M,)."""
        returns, ret = np.empty_like(rewards), np.zeros(len(ends))
        for back in range(length.max(initial=0)):
            there = back < length
            at = (ends - 1 - back)[there]
            ret[there] = rewards[at] + self._gamma * ret[there]
            returns[at] = ret[there]
        return returns


def _find_rounds(rows: Array, done: Array, ended_cards: Array) -> tuple[Array, Array, Array]:
    """Find the rounds that begin and end within a rollout, lane by lane.

    Parameters
    ----------
    rows : ndarray, shape (N,)
        Before its first decisions.
    done, ended_cards : ndarray, shape (T, N)

    Returns
    -------
    lane, first, last : ndarray of int64, shape (rounds,)
        First and last decision of each.
    """
    lane, last = np.nonzero(done.T)
    first = np.append(0, last[:-1] + 1)[: len(last)]
    opens = np.append(True, lane[1:] != lane[:-1])[: len(last)]  # the first to end in its lane
    first[opens] = 0
    fresh = (rows["tricks"] == 0) & (rows["phase"] != Phase.TIGRESS)
    whole = fresh[lane] | ~opens
    whole &= ended_cards[last, lane] > 0  # else its episode was cut off
    return lane[whole], first[whole], last[whole]


# -- of a Manager ----------------------------------------------------------------------------------

# Of bids by cards dealt, bid and tricks won, docs/skullking.md, 10.4; float64.
BID_REWARD = np.array(
    [[[bid_reward(bid, won, cards) for won in _TRICKS] for bid in _TRICKS] for cards in _TRICKS]
)


def relabel_bids(cards: Array, bid: Array, won: Array) -> tuple[Array, Array, Array]:
    """Return other bids of finished rounds and what they would have been worth to the Manager.

    Parameters
    ----------
    cards, bid, won : ndarray of int, shape (k,)
        Cards dealt, the bid taken and the tricks won.

    Returns
    -------
    bids : ndarray of int64, shape (k, 3)
        The tricks won, one less and one more than the bid; 0 where there is none.
    rewards : ndarray of float32, shape (k, 3)
    there : ndarray of bool, shape (k, 3)
        Which of them are from 0 to ``cards``, not the bid and not named before.
    """
    cards, bid, won = (x.astype(np.int64)[:, None] for x in (cards, bid, won))
    bids = np.concatenate((won, bid - 1, bid + 1), 1)
    there = (bids >= 0) & (bids <= cards) & (bids != bid)
    there[:, 1:] &= bids[:, 1:] != won
    bids = np.where(there, bids, 0)
    return bids, BID_REWARD[cards, bids, won].astype(np.float32), there
