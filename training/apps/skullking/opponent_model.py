"""A model of the players in the other seats, learnt from rounds that are over.

In a round without abilities every card that was dealt is played, so behind it everybody knows what
each player held at each decision. How likely each candidate would have decided like that says who
it is; what is learnt is kept for the game.
"""

from __future__ import annotations

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.tables import MAX_CARDS, MAX_HAND, Phase
from training.apps.skullking.answers import EMPTY, Answers, Asked
from training.apps.skullking.round_record import RoundRecord
from training.players.policy import Policy

BOTS = ("heuristic", "rule_hard")  # candidates beside the policy
DOUBT = 0.05


class OpponentModel:
    """Candidates for each seat of games, and how likely they are.

    Parameters
    ----------
    policy : Policy or None
        The first candidate, if there is one.
    engine : BatchEngine
        Of the game; its lanes are not touched.

    Attributes
    ----------
    names : tuple of str
        Of the candidates.
    scores : ndarray of float64, shape (lanes, P, candidates)
        Logarithms of how likely what each seat did was for them.
    """

    def __init__(self, policy: Policy | None, engine: BatchEngine) -> None:
        self.bots = BOTS
        self._answers = Answers(engine, policy, BOTS, DOUBT)
        self.names = self._answers.names
        self._record = RoundRecord(engine)
        self._players = engine.game.num_seats
        self.scores = np.zeros((0, self._players, len(self.names)))

    def begin(self, lanes: np.ndarray) -> None:
        """Forget what was in lanes whose games begin."""
        self._grow(lanes)
        self._record.forget(lanes)
        self.scores[lanes] = 0.0

    def watch(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        """Note the cards that rows (k,) show of the games in lanes (k,)."""
        self._grow(lanes)
        ended = self._record.finish(lanes, rows)
        if ended.any():
            self._judge(lanes[ended])
        self._record.watch(lanes, rows)

    def likely(self, lanes: np.ndarray) -> np.ndarray:
        """Return the most likely candidate of each seat, int64 (k, P)."""
        self._grow(lanes)
        return self.scores[lanes].argmax(2)

    def draw(self, lanes: np.ndarray, luck: np.ndarray) -> np.ndarray:
        """Return candidates drawn by how likely they are, int64 (k, P).

        Parameters
        ----------
        lanes : ndarray of int, shape (k,)
        luck : ndarray of float64, shape (k, P)
            From 0 to 1.
        """
        self._grow(lanes)
        scores = self.scores[lanes]
        weights = np.exp(scores - scores.max(2, keepdims=True))
        edges = weights.cumsum(2)
        drawn: np.ndarray = (luck[..., None] * edges[..., -1:] >= edges).sum(2)
        return np.minimum(drawn, len(self.names) - 1)

    def _grow(self, lanes: np.ndarray) -> None:
        more = int(lanes.max(initial=-1)) + 1 - len(self.scores)
        if more > 0:
            fresh = np.zeros((more, *self.scores.shape[1:]))
            self.scores = np.concatenate([self.scores, fresh])

    def _judge(self, lanes: np.ndarray) -> None:
        """Learn from the rounds that have just ended in lanes."""
        for decisions in (self._list_bids(lanes), self._list_cards(lanes)):
            if not len(decisions.rows):
                continue
            hands = self._find_hands(lanes, decisions)
            rows, actions = decisions.with_hands(
                hands[:, None], (hands != EMPTY).sum(1)[:, None], 1
            )
            for k in range(len(self.names)):
                who = np.full(len(rows), k)
                chances = self._answers.log_chances(rows, actions, who)
                np.add.at(
                    self.scores[:, :, k], (lanes[decisions.position], decisions.seat), chances
                )

    def _list_bids(self, lanes: np.ndarray) -> Asked:
        first = self._record.rows[lanes, 0]
        position = np.arange(len(lanes)).repeat(self._players)
        seat = np.tile(np.arange(self._players), len(lanes))
        rows, bids = first[position], first["bid"][position, seat]
        rows["phase"], rows["bid"][:, : self._players] = Phase.BID, -1
        return Asked(position, seat, np.zeros(len(seat), np.int64), rows, bids)

    def _list_cards(self, lanes: np.ndarray) -> Asked:
        record, hands = self._record, self._record.num_hands
        last = record.rows[lanes, 0]["cards"].astype(np.int64) - 1  # where there is no choice
        place = np.arange(record.cards.shape[1])
        there = place < (last * hands)[:, None]
        there &= record.seats[lanes] < self._players
        position, ply = np.nonzero(there)
        lane = lanes[position]
        rows, cards = record.rows[lane, ply], record.cards[lane, ply]
        return Asked(position, record.seats[lane, ply].astype(np.int64), ply // hands, rows, cards)

    def _find_hands(self, lanes: np.ndarray, decisions: Asked) -> np.ndarray:
        """Return the hands of those who decided, sorted, int8 (k, 11)."""
        dealt = self._record.by_seat(lanes)[decisions.position, decisions.seat]
        later = np.arange(MAX_CARDS) >= decisions.trick[:, None]
        held = np.where(later & (dealt >= 0), dealt, EMPTY).astype(np.int8)
        held.sort(axis=1)
        pad = np.full((len(held), MAX_HAND - MAX_CARDS), EMPTY, np.int8)
        return np.concatenate([held, pad], axis=1)
