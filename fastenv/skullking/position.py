"""A game of Skull King as plain Python values, and its conversion from and to rows.

``Position`` has one attribute for each field of ``STATE_DTYPE`` (``state.py`` says what they mean):
numbers, lists of their natural length (one entry a seat: ``MAX_PLAYERS``), sets of cards.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from fastenv.rng import Rng
from fastenv.skullking.state import STATE_DTYPE
from fastenv.skullking.tables import MAX_PLAYERS, Phase

MASK64 = (1 << 64) - 1


class Position:
    """The state of a game that waits for a decision; ``reference.SkullKing`` moves it.

    Parameters
    ----------
    rules : RULES_DTYPE record or SimpleNamespace
        Rule switches, see ``config.py``.
    knobs : KNOBS_DTYPE record or SimpleNamespace
        Opponents and other options that are read at every reset.
    """

    def __init__(self, rules: Any, knobs: Any) -> None:
        self.rules: SimpleNamespace = to_namespace(rules)
        self.knobs: SimpleNamespace = to_namespace(knobs)
        self.rng = Rng(0)
        self.deal_seed = 0
        self.agent = self.actor = 0
        self.phase: int = Phase.BID
        self.clear_episode()

    def clear_episode(self) -> None:
        """Set everything but the stream, the seed of the deals and the seat as in a fresh row."""
        self.ep_return = 0.0
        self.ep_length = 0
        self.total, self.bid_share, self.error = ([0] * MAX_PLAYERS for _ in range(3))
        self.bots, self.bid_sum, self.abs_error = ([0] * MAX_PLAYERS for _ in range(3))
        self.hits, self.zero_bids, self.last_bid = ([0] * MAX_PLAYERS for _ in range(3))
        self.done = self.round_idx = self.rounds_done = self.first_leader = 0
        self.abilities = self.pirates = self.invalid_count = 0
        self.clear_events()
        self.clear_round()

    def clear_round(self) -> None:
        """Forget the cards, bids and tricks of a round."""
        players = self.rules.num_players
        self.played: set[int] = set()
        self.known: set[int] = set()
        self.out: set[int] = set()
        self.seen_strength = 0.0
        self.hand: list[list[int]] = [[] for _ in range(MAX_PLAYERS)]
        self.stock: list[int] = []
        self.stock_pos = 0
        self.discard: list[int] = []
        self.table_card: list[int] = []
        self.table_seat: list[int] = []
        self.table_mode: list[int] = []
        self.bid = [-1] * players + [0] * (MAX_PLAYERS - players)
        self.bonus, self.won, self.cannon = ([0] * MAX_PLAYERS for _ in range(3))
        self.cards = self.tricks = self.destroyed = 0
        self.played_last = [0] * MAX_PLAYERS
        self.leader = self.human_leader = self.turn = 0
        self.alliances: list[tuple[int, int]] = []
        self.counts = [0] * 5
        self.specials_known = 0
        self.harry_seat = self.rascal_seat = self.first_discard = -1
        self.rascal_bet = self.rosie_lead = self.jade_seen = self.abilities_used = 0
        self.drawn: list[int] = []

    def clear_events(self) -> None:
        """Forget the events since the agent's last decision."""
        self.ev_phase = self.ev_card = -1
        self.ev_action = self.ev_invalid = self.ev_needed = self.ev_left = self.ev_estimate = 0
        self.ev_trick = self.ev_cards = self.ev_round = self.ev_bid = self.ev_won = 0
        self.ev_captures = [0] * 5
        self.ev_alliances = self.ev_bet = self.ev_rank = self.ev_points = self.ev_bonus = 0

    @property
    def hand_len(self) -> list[int]:
        """Cards in each hand."""
        return list(map(len, self.hand))

    @property
    def table_len(self) -> int:
        """Cards on the table."""
        return len(self.table_card)

    @property
    def stock_len(self) -> int:
        """Cards not dealt this round, those drawn since included."""
        return len(self.stock)

    @property
    def num_alliances(self) -> int:
        """Alliances of this round."""
        return len(self.alliances)


LENGTHS = {  # lists whose length a row stores, and where
    "hand": "hand_len",
    "stock": "stock_len",
    "table_card": "table_len",
    "table_seat": "table_len",
    "table_mode": "table_len",
    "alliances": "num_alliances",
}
MINUS_PADDED = ("stock", "discard", "table_card", "table_seat", "drawn")
CARD_SETS = ("played", "known", "out")


def to_namespace(record: Any) -> SimpleNamespace:
    """Convert a record of RULES_DTYPE or KNOBS_DTYPE to plain Python values, arrays to tuples.

    ``deck`` and ``schedule`` get their natural length. A namespace is returned as it is.
    """
    if isinstance(record, SimpleNamespace):
        return record
    row = np.asarray(record).reshape(-1)[0]
    values = {name: row[name].tolist() for name in row.dtype.names}
    for name, length in (("deck", "deck_len"), ("schedule", "num_rounds")):
        if name in values:
            values[name] = values[name][: values[length]]
    return SimpleNamespace(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})


def pack(game: Position, row: Any) -> None:
    """Write a game into ``row``, one record of ``STATE_DTYPE`` (a view, such as ``rows[i]``)."""
    for name in STATE_DTYPE.names or ():
        value = getattr(game, name)
        if name == "rng":
            row[name] = np.array(value.state, np.uint64)
        elif name in CARD_SETS:
            bits = sum(1 << card for card in value)
            row[name] = np.array([bits & MASK64, bits >> 64], np.uint64)
        elif name == "hand":
            row[name] = 0
            for seat, hand in enumerate(value):
                row[name][seat, : len(hand)] = hand
        elif name == "alliances":  # pairs
            row[name] = -1
            for i, pair in enumerate(value):
                row[name][i] = pair
        elif isinstance(value, list):
            row[name] = -1 if name in MINUS_PADDED else 0
            row[name][: len(value)] = value
        else:
            row[name] = value


def load(position: Position, row: Any) -> None:
    """Overwrite a position with one record of ``STATE_DTYPE``; the inverse of ``pack``."""
    for name in STATE_DTYPE.names or ():
        if name in LENGTHS.values():
            continue
        value = row[name].tolist()
        if name == "rng":
            position.rng.state = value
            continue
        if name in CARD_SETS:
            bits = value[0] | value[1] << 64
            value = {card for card in range(128) if bits >> card & 1}
        elif name == "hand":
            value = [h[:n] for h, n in zip(value, row["hand_len"].tolist(), strict=True)]
        elif name in LENGTHS:
            value = value[: int(row[LENGTHS[name]])]
        elif name in MINUS_PADDED:
            value = [card for card in value if card >= 0]
        if name == "alliances":  # pairs
            value = [(loot, winner) for loot, winner in value]
        setattr(position, name, value)
