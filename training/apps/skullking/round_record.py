"""A record of a round as everybody saw it: its cards and their players, and the way to each row.

A row holds the current trick and the last one. Who sees the rows of all of its own decisions sees
every card, for it decides once in every trick. The rows before the cards of others follow from
them: the round is played once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.skullking.tables import (
    MAX_CARDS,
    TIGRESS,
    TIGRESS_AS_PIRATE,
    Abilities,
    Phase,
)

# What a round begins with; the rest of a row is of the episode, or says who is asked.
NOTHING_PLAYED: dict[str, Any] = {
    **dict.fromkeys(("rng", "deal_seed", "played", "known", "out", "seen_strength", "bonus"), 0),
    **dict.fromkeys(("hand", "hand_len", "stock_pos", "table_mode", "table_len", "won"), 0),
    **dict.fromkeys(("tricks", "destroyed", "played_last", "num_alliances", "counts"), 0),
    **dict.fromkeys(("specials_known", "rascal_bet", "rosie_lead", "jade_pos", "void"), 0),
    **dict.fromkeys(("abilities_used",), 0),
    **dict.fromkeys(("stock", "discard", "table_card", "table_seat", "alliances"), -1),
    **dict.fromkeys(("harry_seat", "rascal_seat", "jade_seat", "bendt_seat"), -1),
    **dict.fromkeys(("first_discard", "last_card", "last_seat"), -1),
}


def round_start(rows: np.ndarray) -> np.ndarray:
    """Return rows of rounds as the first card was due, without any hands.

    Bids are those of now, as they have been revealed.

    Parameters
    ----------
    rows : ndarray, shape (k,)
        Of games in which all have bid.
    """
    start = rows.copy()
    for name, value in NOTHING_PLAYED.items():
        if name in (start.dtype.names or ()):
            start[name] = value
    for name in ("leader", "human_leader", "turn", "actor"):
        start[name] = rows["first_leader"]
    start["phase"] = Phase.PLAY
    return start


def is_bidding(rows: np.ndarray) -> np.ndarray:
    """Tell in which rows a bid or a cannon is decided, so that no bid is revealed, bool (k,)."""
    bidding: np.ndarray = np.isin(rows["phase"], (Phase.BID, Phase.CANNON))
    return bidding


def is_playing(rows: np.ndarray) -> np.ndarray:
    """Tell in which rows anything else is decided: cards, and abilities of pirates, bool (k,)."""
    return ~is_bidding(rows)


def card_sets(cards: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return the cards (k, n) that are there as sets of two words of bits, uint64 (k, 2)."""
    bits = np.where(there, np.uint64(1) << (cards % 64).astype(np.uint64), np.uint64(0))
    words = [np.where(cards // 64 == word, bits, np.uint64(0)) for word in (0, 1)]
    return np.stack([word.sum(1, dtype=np.uint64) for word in words], axis=1)


def with_lanes(column: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """Return a column with a lane, the first axis, for all of some lanes; new ones are 0."""
    more = int(lanes.max(initial=-1)) + 1 - len(column)
    if more <= 0:
        return column
    return np.concatenate([column, np.zeros((more, *column.shape[1:]), column.dtype)])


class RoundRecord:
    """The current round of games, one a lane.

    Parameters
    ----------
    engine : BatchEngine
        Of the game; its lanes are not touched.

    Attributes
    ----------
    cards, seats : ndarray of int8, shape (lanes, plies)
        Cards in the order in which they were played, and by whom; -1 where nobody has seen it.
    start : ndarray, shape (lanes,)
        The row before the first card, with nobody's hand in it.
    """

    def __init__(self, engine: BatchEngine) -> None:
        self._engine = engine
        game: Any = engine.game
        rules = game.rules[0]
        self.num_hands, self._players = int(rules["num_hands"]), int(rules["num_players"])
        self._bot = engine.game.bot_names[0]  # it has nothing to decide
        plies = self.num_hands * int(rules["schedule"].max())
        self.cards, self.seats, self._modes = (np.zeros((0, plies), np.int8) for _ in range(3))
        self.start = np.zeros(0, engine.spec.state_dtype)
        self._round, self._begun = np.zeros(0, np.int64), np.zeros(0, np.bool_)

    def forget(self, lanes: np.ndarray) -> None:
        """Forget what was in lanes whose rounds begin."""
        self._grow(lanes)
        self.cards[lanes] = self.seats[lanes] = self._round[lanes] = -1
        self._modes[lanes] = self._begun[lanes] = 0

    def watch(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        """Note the cards that rows (k,) show of the games in lanes (k,)."""
        self._grow(lanes)
        bidding = is_bidding(rows)
        self.forget(lanes[bidding | (rows["rounds_done"] != self._round[lanes])])
        self._round[lanes] = rows["rounds_done"]
        last = rows["tricks"] > 0
        self._note(lanes[last], rows[last], "last", -1)
        self._note(lanes, rows, "table", 0)
        begins = ~bidding & ~self._begun[lanes]
        self.start[lanes[begins]] = round_start(rows[begins])
        self._begun[lanes[begins]] = True

    def finish(self, lanes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Note the last trick of rounds that are over; call it before :meth:`watch`.

        Parameters
        ----------
        lanes : ndarray of int, shape (k,)
        rows : ndarray, shape (k,)
            Of the round behind it.

        Returns
        -------
        ndarray of bool, shape (k,)
            Where a round without abilities is over of which every card is known.
        """
        self._grow(lanes)
        over = self._begun[lanes] & (rows["rounds_done"] == self._round[lanes] + 1)
        over &= rows["abilities"] == Abilities.OFF
        where, ends = lanes[over], rows[over]
        cards = self.start["cards"][where].astype(np.int64)
        self._note(where, ends, "last", cards - 1 - ends["tricks"])
        there = np.arange(self.cards.shape[1]) < (cards * self.num_hands)[:, None]
        done: np.ndarray = over.copy()
        done[over] = ~(there & (self.cards[where] < 0)).any(1)
        return done

    def count(self, rows: np.ndarray) -> np.ndarray:
        """Count the cards that have been played this round, int (k,)."""
        played: np.ndarray = rows["tricks"].astype(np.int64) * self.num_hands + rows["table_len"]
        return played

    def is_complete(self, lanes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Tell in which lanes the player of each card is known, bool (k,)."""
        cards = self.cards[lanes].astype(np.int64)
        there = np.arange(cards.shape[1]) < self.count(rows)[:, None]
        same: np.ndarray = (card_sets(cards, there & (cards >= 0)) == rows["played"]).all(1)
        return same & ~(there & (cards < 0)).any(1)

    def by_seat(self, lanes: np.ndarray) -> np.ndarray:
        """Return the card that each seat has played to each trick, int8 (k, P, 10), or -1."""
        cards, seats = self.cards[lanes], self.seats[lanes]
        by_seat = np.full((len(lanes), self.num_hands, MAX_CARDS), -1, np.int8)
        which, ply = np.nonzero(seats >= 0)
        by_seat[which, seats[which, ply], ply // self.num_hands] = cards[which, ply]
        return by_seat

    # -- noting ----------------------------------------------------------------------------------

    def _grow(self, lanes: np.ndarray) -> None:
        have = len(self.cards)
        for name in ("cards", "seats", "_modes", "start", "_round", "_begun"):
            setattr(self, name, with_lanes(getattr(self, name), lanes))
        if len(self.cards) > have:
            self.forget(np.arange(have, len(self.cards)))

    def _note(
        self, lanes: np.ndarray, rows: np.ndarray, which: str, back: int | np.ndarray
    ) -> None:
        """Note the trick on the table, or the one before it."""
        cards, seats = (rows[f"{which}_{part}"][:, : self.num_hands] for part in ("card", "seat"))
        begin = (rows["tricks"].astype(np.int64) + back) * self.num_hands
        row, place = np.nonzero(seats >= 0)
        at = lanes[row], begin[row] + place
        card = cards[row, place]
        as_pirate = card == TIGRESS_AS_PIRATE
        if which == "table":
            as_pirate = rows["table_mode"][row, place] != 0
        self.cards[at] = np.where(as_pirate, TIGRESS, card)
        self.seats[at], self._modes[at] = seats[row, place], as_pirate

    # -- replaying -------------------------------------------------------------------------------

    def replay(self, lanes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Play rounds without abilities again; return the row before each card, without hands.

        Parameters
        ----------
        lanes : ndarray of int, shape (k,)
        counts : ndarray of int, shape (k,)
            Cards of each round before which a row is asked for; they are known.

        Returns
        -------
        ndarray, shape (k, plies)
            All zero behind these cards, and before those of Graybeard.
        """
        rows = np.zeros((len(lanes), self.cards.shape[1]), self.start.dtype)
        rows[:, 0] = self.start[lanes]
        reached = np.zeros(len(lanes), np.int64)
        while (behind := np.flatnonzero(reached < counts - 1)).size:
            then = self._step(lanes[behind], reached[behind], rows[behind, reached[behind]])
            reached[behind] = self.count(then)
            rows[behind, reached[behind]] = then
        return rows

    def _step(self, lanes: np.ndarray, ply: np.ndarray, now: np.ndarray) -> np.ndarray:
        """Play a card from rows (k,), and those of Graybeard that follow."""
        one = np.arange(len(lanes))
        # A hand of that one card is enough: nobody reads another one.
        now["hand"][one, now["actor"], 0] = self.cards[lanes, ply]
        now["hand_len"][one, now["actor"]] = 1
        for seat in range(self._players, self.num_hands):  # Graybeard's, in their order
            theirs = (np.arange(self.seats.shape[1]) >= ply[:, None]) & (self.seats[lanes] == seat)
            row, at = np.nonzero(theirs)
            now["hand"][row, seat, (np.cumsum(theirs, 1) - 1)[row, at]] = self.cards[lanes[row], at]
            now["hand_len"][:, seat] = theirs.sum(1)
        then = self._play(now, np.zeros(len(lanes), np.int32))
        tigress = then["phase"] == Phase.TIGRESS
        if tigress.any():
            modes = self._modes[lanes[tigress], ply[tigress]].astype(np.int32)
            then[tigress] = self._play(then[tigress], modes)
        then["hand"], then["hand_len"] = 0, 0
        return then

    def _play(self, rows: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return rows one decision on; all seats are played from outside."""
        return self._engine.rollout(rows, actions, self._bot, None, 1, trusted=True).rows
