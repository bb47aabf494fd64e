"""The likelihood of worlds of Skull King, by the bids of the others and by their cards.

A world says which hands the others were dealt: what they hold there and what they have played. How
likely it is goes by what the policy would have done with those hands. ``bids`` multiplies the
probabilities of the bids, ``plays`` those of bids and cards; cards that had to be played, and who
holds what by chance, say nothing more, because worlds are drawn uniformly.

- The others are no copies of the policy. So a share ``DOUBT`` of each decision is any legal one,
  and a decision counts as ``TRUST`` of one. By how much, on the mean, the logarithm of the weight
  of the true world is above that of a drawn one, and how many of 32 drawn ones then count (rounds
  of 6 to 10 cards, weighed by the committed agent; untempered: a doubt of 5 %, full trust):

  ==============  ==========  ===========  ================  =================
  others          bids        plays        bids, untempered  plays, untempered
  ==============  ==========  ===========  ================  =================
  the agent       1.1, of 23  3.8, of 12   3.0, of 6         13.8, of 3
  ``heuristic``   0.0, of 24  0.0, of 16   -2.8, of 7        -5.9, of 3
  ``rule_hard``   0.1, of 23  -0.2, of 16  -2.7, of 6        -7.0, of 4
  ==============  ==========  ===========  ================  =================

  So untempered weights mislead where others play in another way.
  Both constants were chosen from a grid on these same games, and judged on no others.
- Where nobody knows who played a card (the search begins in the middle of a round, behind its
  second trick), all worlds are equally likely; so they are before the bids are revealed.
- With abilities on, ``plays`` goes by bids alone, for what is asked between the cards is not noted.
  Cards that Bendt drew and discarded are taken back from the hand that was dealt.
- The mode of a Tigress and the choice of a cannonball are not judged.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.registry import short_id
from fastenv.skullking.tables import Abilities, Phase
from training.apps.skullking.answers import (
    CandidateLikelihoods,
    Dealt,
    ObservedDecisions,
    ask_bids,
    ask_cards,
)
from training.apps.skullking.opponent_model import OpponentModel
from training.apps.skullking.round_record import RoundRecord, is_bidding
from training.players.policy import Policy
from training.run import games
from training.run.options import require

DOUBT = 0.2  # of each decision: the share of any legal one
TRUST = 0.25  # what the logarithm of its likelihood counts
AT_ONCE = 1 << 13  # rows that a network sees together


class HandBelief:
    """Weighs worlds by the actions of others; see :class:`training.search.searcher.Belief`.

    Parameters
    ----------
    name : {"bids", "plays"}
    policy : Policy
        Judges what is likely; it must decide itself what is judged.
    engine : BatchEngine
        Of the game; its lanes are not touched.
    model : OpponentModel, optional
        Says who plays the other seats; default everywhere the policy.

    Raises
    ------
    ConfigError
        If the policy has learnt only part of the game, or has a memory.
    """

    def __init__(
        self,
        name: str,
        policy: Policy,
        engine: BatchEngine,
        model: OpponentModel | None = None,
    ) -> None:
        part = games.get_game(policy.env).table.parts.get(short_id(policy.env))
        bids = part is None or Phase.BID in part.values
        fits = not policy.state_size and bids and (part is None or name == "bids")
        allowed = f"uniform: {policy.path} decides only part of a game, or has a memory"
        require(fits, "search.belief", name, allowed)
        game: Any = engine.game
        self._players = int(game.rules[0]["num_players"])
        self._by_cards = name == "plays"
        self._engine, self._model = engine, model
        bots = () if model is None else model.bots
        self._answers = CandidateLikelihoods(engine, policy, bots, DOUBT)
        self._record = RoundRecord(engine)

    def begin(self, lanes: np.ndarray) -> None:
        """Forget what was in lanes whose games begin."""
        self._record.forget(lanes)

    def watch(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        """Note what the searcher sees of games at its decisions."""
        self._record.watch(lanes, rows)

    def log_weights(
        self, worlds: np.ndarray, seats: np.ndarray, each: int, lanes: np.ndarray | None
    ) -> np.ndarray:
        """Compute the log-likelihood of the others' decisions in worlds; see the protocol."""
        first, record, model = worlds[::each], self._record, self._model
        if lanes is None:
            record, lanes, model = RoundRecord(self._engine), np.arange(len(first)), None
            record.watch(lanes, first)
        logs = np.zeros((len(first), each))
        dealt = Dealt(worlds, each, record.by_seat(lanes))
        for decisions in self._list_decisions(record, lanes, first, seats[::each]):
            step = max(1, AT_ONCE // each)
            for begin in range(0, len(decisions.rows), step):
                some = decisions.take(slice(begin, begin + step))
                who = np.zeros(len(some.seat), np.int64)  # the policy
                if model is not None:
                    who = model.likely(lanes[some.position])[np.arange(len(who)), some.seat]
                own, actions = some.with_hands(*dealt.hands(some), each)
                chances = self._answers.log_chances(own, actions, who.repeat(each))
                np.add.at(logs, some.position, chances.reshape(-1, each))
        return TRUST * logs.ravel()

    def _list_decisions(
        self, record: RoundRecord, lanes: np.ndarray, rows: np.ndarray, seats: np.ndarray
    ) -> list[ObservedDecisions]:
        """Return the decisions of others that are known, of bids and of cards."""
        complete = record.is_complete(lanes, rows) & ~is_bidding(rows)
        decisions = [
            ask_bids(rows, complete[:, None] & (np.arange(self._players) != seats[:, None]))
        ]
        if self._by_cards:
            complete &= rows["abilities"] == Abilities.OFF
            who = record.seats[lanes]
            there = complete[:, None] & (np.arange(who.shape[1]) < record.count(rows)[:, None])
            there &= (who != seats[:, None]) & (who < self._players)
            decisions.append(ask_cards(record, lanes, there))
        return decisions
