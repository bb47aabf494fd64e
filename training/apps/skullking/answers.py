"""The likelihood of observed decisions if a candidate had taken them: the policy, or a bot.

What a player decides, it decides by its own hand and what everybody has seen. Rows in which that
hand alone is filled in are enough to ask it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.tables import MAX_CARDS, MAX_HAND, SPECIALS, Phase
from training.apps.skullking.round_record import RoundRecord, card_sets, round_start
from training.players.network import sight_of_rows
from training.players.policy import Policy
from training.search.blueprints import POLICY

EMPTY = 127  # behind every card in a sorted hand
IS_SPECIAL = np.isin(np.arange(EMPTY + 1), SPECIALS)
# How likely a bot's bid is, by its distance from one that it draws for the same hand.
BID_KERNEL = np.array([0.7, 0.13, 0.02])


class ObservedDecisions(NamedTuple):
    """Observed decisions: position, seat, trick, the row before, and the answer of each.

    ``rows`` have no hands. An answer is a bid or a card. All arrays have shape (k,).
    """

    position: np.ndarray
    seat: np.ndarray
    trick: np.ndarray
    rows: np.ndarray
    answer: np.ndarray

    def take(self, part: slice | np.ndarray) -> ObservedDecisions:
        """Select some of the decisions."""
        return ObservedDecisions(*(column[part] for column in self))

    def with_hands(
        self, hands: np.ndarray, sizes: np.ndarray, each: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fill in the hand of the player that decides; return rows and the actions that were taken.

        Parameters
        ----------
        hands : ndarray of int8, shape (k, each, 11)
            Sorted, ``EMPTY`` behind the cards.
        sizes : ndarray of int, shape (k, each)
        each : int
            Hands of every decision.

        Returns
        -------
        ndarray, shape (k * each,)
        ndarray of int64, shape (k * each,)
        """
        rows, seat = self.rows.repeat(each), self.seat.repeat(each)
        hands, everywhere = hands.reshape(len(rows), -1), np.arange(len(rows))
        rows["actor"] = rows["turn"] = seat
        rows["hand"][everywhere, seat] = np.where(hands == EMPTY, 0, hands)
        rows["hand_len"][everywhere, seat] = sizes.ravel()
        rows["specials_known"] += IS_SPECIAL[hands].sum(1).astype(np.int8)
        rows["known"] |= card_sets(hands, hands != EMPTY)
        chosen = self.answer.repeat(each).astype(np.int64)
        slots = (hands == chosen[:, None]).argmax(1)
        return rows, np.where(rows["phase"] == Phase.PLAY, slots, chosen)


def ask_bids(rows: np.ndarray, there: np.ndarray) -> ObservedDecisions:
    """Return bids that have been revealed, each as it was asked for.

    Parameters
    ----------
    rows : ndarray, shape (n,)
    there : ndarray of bool, shape (n, P)
        The seats whose bids they are.
    """
    position, seat = np.nonzero(there)
    start, bids = round_start(rows[position]), rows["bid"][position, seat]
    start["phase"], start["bid"][:, : there.shape[1]] = Phase.BID, -1
    return ObservedDecisions(position, seat, np.zeros(len(seat), np.int64), start, bids)


def ask_cards(record: RoundRecord, lanes: np.ndarray, there: np.ndarray) -> ObservedDecisions:
    """Return cards of the rounds in lanes (n,), each as it was asked for.

    Parameters
    ----------
    record : RoundRecord
    lanes : ndarray of int, shape (n,)
    there : ndarray of bool, shape (n, plies)
        The cards; all before them are known, and no abilities.
    """
    position, ply = np.nonzero(there)
    lane = lanes[position]
    counts = np.where(there, np.arange(1, there.shape[1] + 1), 0).max(1, initial=0)
    rows, cards = record.replay(lanes, counts)[position, ply], record.cards[lane, ply]
    seat = record.seats[lane, ply].astype(np.int64)
    return ObservedDecisions(position, seat, ply // record.num_hands, rows, cards)


class Dealt:
    """The hands of worlds (n * each,) as they were before, given what was played (n, P, 10)."""

    def __init__(self, worlds: np.ndarray, each: int, played: np.ndarray) -> None:
        shape = (len(played), each)
        self._played = played
        self._hand = worlds["hand"].reshape(*shape, *worlds["hand"].shape[1:])
        self._size = worlds["hand_len"].reshape(*shape, -1)
        self._drew = np.repeat(worlds["bendt_seat"].reshape(shape)[:, :, None], 2, 2)
        drawn = np.arange(2) < worlds["stock_pos"].reshape(*shape, 1)
        self._drawn = np.where(drawn, worlds["stock"].reshape(*shape, -1)[:, :, :2], -1)
        self._discard = worlds["discard"].reshape(*shape, 2)

    def hands(self, decisions: ObservedDecisions) -> tuple[np.ndarray, np.ndarray]:
        """Return the hands before decisions, sorted: int8 (k, each, 11), and their sizes."""
        at, seat = decisions.position, decisions.seat
        k, each = len(at), self._hand.shape[1]
        now = self._hand[at, :, seat]
        held = np.arange(now.shape[2]) < self._size[at, :, seat][:, :, None]
        later = np.arange(MAX_CARDS) >= decisions.trick[:, None]
        played = np.where(later, self._played[at, seat], -1)
        played = np.broadcast_to(played[:, None], (k, each, MAX_CARDS))
        own = self._drew[at] == seat[:, None, None]  # drew with Bendt
        back = np.where(own, self._discard[at], -1)
        parts = [np.where(held, now, -1), played, back]
        cards = np.concatenate(parts, axis=2).astype(np.int8)
        if own.any():
            away = np.where(own, self._drawn[at], -1)
            cards[(cards[..., None] == away[:, :, None]).any(3)] = -1
        cards[cards < 0] = EMPTY
        cards.sort(axis=2)
        cards = cards[:, :, :MAX_HAND]
        return cards, (cards != EMPTY).sum(2)


class CandidateLikelihoods:
    """Candidates whose likelihoods of decisions are computed.

    Parameters
    ----------
    engine : BatchEngine
        Of the game; its lanes are not touched.
    policy : Policy or None
    bots : sequence of str
    doubt : float
        Of each decision the share of any legal one, since nobody plays quite like another.

    Attributes
    ----------
    names : tuple of str
        ``policy``, if there is one, and the bots.
    """

    def __init__(
        self, engine: BatchEngine, policy: Policy | None, bots: Sequence[str], doubt: float
    ) -> None:
        self._engine, self._policy, self._doubt = engine, policy, doubt
        self._see = None if policy is None else sight_of_rows(policy)
        self.names = (*([] if policy is None else [POLICY]), *bots)

    def log_chances(self, rows: np.ndarray, actions: np.ndarray, who: np.ndarray) -> np.ndarray:
        """Compute the log-likelihood of actions, float64 (k,).

        Parameters
        ----------
        rows : ndarray, shape (k,)
        actions : ndarray of int, shape (k,)
        who : ndarray of int, shape (k,)
            By place in ``names``.
        """
        legal = self._engine.action_masks_many(rows, trusted=True)
        choices, logs = legal.sum(1), np.zeros(len(rows))
        for k, name in enumerate(self.names):
            own = np.flatnonzero((choices > 1) & (who == k))
            if own.size:
                if name == POLICY:
                    assert self._policy is not None
                    assert self._see is not None
                    wanted = self._policy.probabilities(self._see(rows[own]), legal[own])
                    likely = wanted[np.arange(len(own)), actions[own]]
                else:
                    likely = self._rate_by_bot(rows[own], actions[own], name)
                mixed = (1 - self._doubt) * likely + self._doubt / choices[own]
                logs[own] = np.log(mixed)
        return logs

    def _rate_by_bot(self, rows: np.ndarray, actions: np.ndarray, name: str) -> np.ndarray:
        """Let a bot decide; of a card it is the same or not, of a bid it is near or far."""
        then = self._engine.rollout(rows, None, name, None, 1, 0, trusted=True).rows
        every, seat = np.arange(len(rows)), rows["actor"]
        laid = rows["hand"][every, seat, actions].astype(np.int64)
        new = then["played"] ^ rows["played"]
        same = (new[every, laid // 64] >> (laid % 64).astype(np.uint64)) & np.uint64(1)
        apart = np.abs(then["bid"][every, seat].astype(np.int64) - actions)
        near = BID_KERNEL[np.minimum(apart, len(BID_KERNEL) - 1)]
        return np.where(rows["phase"] == Phase.PLAY, same.astype(np.float64), near)
