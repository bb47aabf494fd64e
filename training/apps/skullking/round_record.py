"""A record of a round as everybody saw it: the cards, their players, and the row before each.

A row holds the current trick and the last one. Who sees the rows of all of its own decisions sees
every card, for it decides once in every trick.
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
    rows : ndarray, shape (lanes, plies)
        The row before each card, with nobody's hand in it. Of rounds without abilities alone.
    """

    def __init__(self, engine: BatchEngine) -> None:
        self._engine = engine
        game: Any = engine.game
        rules = game.rules[0]
        self.num_hands, self._players = int(rules["num_hands"]), int(rules["num_players"])
        self._bot = engine.game.bot_names[0]  # it has nothing to decide
        plies = self.num_hands * int(rules["schedule"].max())
        self.cards, self.seats, self._modes = (np.zeros((0, plies), np.int8) for _ in range(3))
        self.rows = np.zeros((0, plies), engine.spec.state_dtype)
        self._round, self._reached = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def forget(self, lanes: np.ndarray) -> None:
        """Forget what was in lanes whose rounds begin."""
        self._grow(lanes)
        self.cards[lanes] = self.seats[lanes] = -1
        self._modes[lanes] = 0
        self._reached[lanes] = self._round[lanes] = -1

    def watch(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        """Note the cards that rows (k,) show of the games in lanes (k,)."""
        self._grow(lanes)
        changed = is_bidding(rows) | (rows["rounds_done"] != self._round[lanes])
        self.forget(lanes[changed])
        self._round[lanes] = rows["rounds_done"]
        last = rows["tricks"] > 0
        self._note(lanes[last], rows[last], "last", -1)
        self._note(lanes, rows, "table", 0)
        self._replay(lanes, rows)

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
            Where a round is over of which every card is known, and each row before it but those of
            the last trick.
        """
        self._grow(lanes)
        over = (self._round[lanes] >= 0) & (rows["rounds_done"] == self._round[lanes] + 1)
        over &= rows["abilities"] == Abilities.OFF
        where, ends = lanes[over], rows[over]
        cards = self.rows[where, 0]["cards"].astype(np.int64)
        self._note(where, ends, "last", cards - 1 - ends["tricks"])
        there = np.arange(self.cards.shape[1]) < (cards * self.num_hands)[:, None]
        whole = ~(there & (self.cards[where] < 0)).any(1)
        whole &= self._reached[where] >= (cards - 1) * self.num_hands
        done: np.ndarray = over.copy()
        done[over] = whole
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

    def is_replayed(self, lanes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Tell in which lanes ``rows`` before each card are there, bool (k,)."""
        reached: np.ndarray = self._reached[lanes] == self.count(rows)
        return reached & self.is_complete(lanes, rows)

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
        for name in ("cards", "seats", "_modes", "rows", "_round", "_reached"):
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

    def _replay(self, lanes: np.ndarray, rows: np.ndarray) -> None:
        """Play the cards that are new from the row before the first of them."""
        able = self.is_complete(lanes, rows) & (rows["abilities"] == Abilities.OFF)
        able &= ~is_bidding(rows)
        lanes, rows, played = lanes[able], rows[able], self.count(rows)[able]
        fresh = self._reached[lanes] < 0
        self.rows[lanes[fresh], 0] = round_start(rows[fresh])
        self._reached[lanes[fresh]] = 0
        while (behind := self._reached[lanes] < played).any():
            self._step(lanes[behind])

    def _step(self, lanes: np.ndarray) -> None:
        """Play one card in lanes, and those of Graybeard that follow."""
        ply, one = self._reached[lanes], np.arange(len(lanes))
        now = self.rows[lanes, ply]
        # A hand of that one card is enough: nobody reads another one.
        now["hand"][one, now["actor"], 0] = self.cards[lanes, ply]
        now["hand_len"][one, now["actor"]] = 1
        for seat in range(self._players, self.num_hands):
            self._hold_pile(now, lanes, seat)
        then = self._play(now, np.zeros(len(lanes), np.int32))
        tigress = then["phase"] == Phase.TIGRESS
        if tigress.any():
            modes = self._modes[lanes[tigress], ply[tigress]].astype(np.int32)
            then[tigress] = self._play(then[tigress], modes)
        then["hand"], then["hand_len"] = 0, 0
        self._reached[lanes] = self.count(then)
        self.rows[lanes, self._reached[lanes]] = then

    def _play(self, rows: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return rows one decision on; all seats are played from outside."""
        return self._engine.rollout(rows, actions, self._bot, None, 1, trusted=True).rows

    def _hold_pile(self, rows: np.ndarray, lanes: np.ndarray, seat: int) -> None:
        """Give Graybeard those of his cards, in their order, that are known and still to come."""
        to_come = np.arange(self.seats.shape[1]) >= self._reached[lanes][:, None]
        theirs = to_come & (self.seats[lanes] == seat)
        row, ply = np.nonzero(theirs)
        rows["hand"][row, seat, (np.cumsum(theirs, 1) - 1)[row, ply]] = self.cards[lanes[row], ply]
        rows["hand_len"][:, seat] = theirs.sum(1)
