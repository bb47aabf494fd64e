"""A model of the players in the other seats, learnt from rounds that are over.

In a round without abilities every card that was dealt is played, so behind it everybody knows what
each player held at each decision. How likely each candidate would have decided like that says who
it is; what is learnt is kept for the game.
"""

from __future__ import annotations

import numpy as np

from fastenv import BatchEngine
from training.apps.skullking.answers import CandidateLikelihoods, Dealt, ask_bids, ask_cards
from training.apps.skullking.round_record import RoundRecord, with_lanes
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
        self._answers = CandidateLikelihoods(engine, policy, BOTS, DOUBT)
        self.names = self._answers.names
        self._record = RoundRecord(engine)
        self._players = engine.game.num_seats
        self.scores = np.zeros((0, self._players, len(self.names)))

    def begin(self, lanes: np.ndarray) -> None:
        """Forget what was in lanes whose games begin."""
        self.scores = with_lanes(self.scores, lanes)
        self._record.forget(lanes)
        self.scores[lanes] = 0.0

    def watch(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        """Note the cards that rows (k,) show of the games in lanes (k,)."""
        self.scores = with_lanes(self.scores, lanes)
        ended = self._record.finish(lanes, rows)
        if ended.any():
            self._judge(lanes[ended])
        self._record.watch(lanes, rows)

    def likely(self, lanes: np.ndarray) -> np.ndarray:
        """Return the most likely candidate of each seat, int64 (k, P)."""
        self.scores = with_lanes(self.scores, lanes)
        return self.scores[lanes].argmax(2)

    def draw(self, lanes: np.ndarray, luck: np.ndarray) -> np.ndarray:
        """Return candidates drawn by how likely they are, int64 (k, P).

        Parameters
        ----------
        lanes : ndarray of int, shape (k,)
        luck : ndarray of float64, shape (k, P)
            From 0 to 1.
        """
        self.scores = with_lanes(self.scores, lanes)
        scores = self.scores[lanes]
        weights = np.exp(scores - scores.max(2, keepdims=True))
        edges = weights.cumsum(2)
        drawn: np.ndarray = (luck[..., None] * edges[..., -1:] >= edges).sum(2)
        return np.minimum(drawn, len(self.names) - 1)

    def _judge(self, lanes: np.ndarray) -> None:
        """Learn from the rounds that have just ended in lanes."""
        record, first = self._record, self._record.start[lanes]
        plies = np.arange(record.cards.shape[1])
        before_last = (first["cards"].astype(np.int64) - 1) * record.num_hands  # then no choice
        there = plies < before_last[:, None]
        there &= record.seats[lanes] < self._players
        bids = ask_bids(first, np.ones((len(lanes), self._players), np.bool_))
        dealt = Dealt(first, 1, record.by_seat(lanes))
        for decisions in (bids, ask_cards(record, lanes, there)):
            if not len(decisions.rows):
                continue
            rows, actions = decisions.with_hands(*dealt.hands(decisions), 1)
            for k in range(len(self.names)):
                who = np.full(len(rows), k)
                chances = self._answers.log_chances(rows, actions, who)
                np.add.at(
                    self.scores[:, :, k], (lanes[decisions.position], decisions.seat), chances
                )
