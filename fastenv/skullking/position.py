"""A game of Skull King as plain Python values, and its conversion from and to rows.

``Position`` has one attribute for each field of ``STATE_DTYPE`` (``state.py`` says what they mean):
numbers, lists of their natural length (one entry a seat: ``MAX_PLAYERS``), sets of cards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

from fastenv.rng import Rng
from fastenv.rowformat import RowFormat
from fastenv.skullking.state import STATE_DTYPE
from fastenv.skullking.tables import MAX_HAND, MAX_PLAYERS, NUM_CARDS, Abilities, Phase, Tier

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

    total: list[int]
    bid_share: list[int]
    error: list[int]
    bots: list[int]
    bid_sum: list[int]
    abs_error: list[int]
    hits: list[int]
    zero_bids: list[int]
    last_bid: list[int]
    bonus: list[int]
    won: list[int]
    cannon: list[int]
    voids: list[int]

    def __init__(self, rules: Any, knobs: Any) -> None:
        self.rules: SimpleNamespace = to_namespace(rules)
        self.knobs: SimpleNamespace = to_namespace(knobs)
        self.rng: Rng = Rng(0)
        self.deal_seed = 0
        self.agent = self.actor = 0
        self.phase: int = Phase.BID
        self.clear_episode()

    def clear_episode(self) -> None:
        """Set everything but the stream, the seed of the deals and the seat as in a fresh row."""
        self.ep_return: float = 0.0
        self.ep_length = 0
        self.total, self.bid_share, self.error = ([0] * MAX_PLAYERS for _ in range(3))
        self.bots, self.bid_sum, self.abs_error = ([0] * MAX_PLAYERS for _ in range(3))
        self.hits, self.zero_bids, self.last_bid = ([0] * MAX_PLAYERS for _ in range(3))
        self.done = self.round_idx = self.rounds_done = self.first_leader = 0
        self.abilities = self.pirates = self.invalid_count = 0
        self.last_card: list[int] = []
        self.last_seat: list[int] = []
        self.clear_events()
        self.clear_round()

    def clear_round(self) -> None:
        """Forget the cards, bids and tricks of a round."""
        players = self.rules.num_players
        self.played: set[int] = set()
        self.known: set[int] = set()
        self.out: set[int] = set()
        self.seen_strength: float = 0.0
        self.hand: list[list[int]] = [[] for _ in range(MAX_PLAYERS)]
        self.stock: list[int] = []
        self.stock_pos = 0
        self.discard: list[int] = []
        self.table_card: list[int] = []
        self.table_seat: list[int] = []
        self.table_mode: list[int] = []
        self.bid: list[int] = [-1] * players + [0] * (MAX_PLAYERS - players)
        self.bonus, self.won, self.cannon, self.voids = ([0] * MAX_PLAYERS for _ in range(4))
        self.cards = self.tricks = self.destroyed = 0
        self.played_last: list[int] = [0] * MAX_PLAYERS
        self.leader = self.human_leader = self.turn = 0
        self.alliances: list[tuple[int, int]] = []
        self.counts: list[int] = [0] * 5
        self.specials_known = 0
        self.harry_seat = self.rascal_seat = self.jade_seat = self.bendt_seat = -1
        self.rascal_bet = self.rosie_lead = self.jade_pos = self.abilities_used = 0
        self.first_discard = -1

    def clear_events(self) -> None:
        """Forget the events since the agent's last decision."""
        self.ev_phase = self.ev_card = -1
        self.ev_action = self.ev_invalid = self.ev_needed = self.ev_left = self.ev_estimate = 0
        self.ev_trick = self.ev_cards = self.ev_round = self.ev_bid = self.ev_won = 0
        self.ev_captures: list[int] = [0] * 5
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
    def jade_seen(self) -> bool:
        """Whether the actor has seen the stock with Jade this round."""
        return self.jade_seat == self.actor

    @property
    def drawn(self) -> list[int]:
        """Cards the actor drew with Bendt this round."""
        return self.stock[: self.stock_pos] if self.bendt_seat == self.actor else []

    @property
    def num_alliances(self) -> int:
        """Alliances of this round."""
        return len(self.alliances)


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


# -- rows --------------------------------------------------------------------------------------

NONE = b"\xff"  # -1, an unused card or seat
NO_HAND = bytes(MAX_HAND)
NO_CARDS = bytes(16)
NO_ALLIANCES = 4 * NONE
AROUND_HAND = [(k * NO_HAND, (MAX_PLAYERS - 1 - k) * NO_HAND) for k in range(MAX_PLAYERS)]
RAW = (  # sets of cards and lists of their natural length, which are easily filled up as bytes
    "played", "out", "hand", "stock", "discard", "table_card", "table_seat", "table_mode",
    "alliances", "known", "last_card", "last_seat",
)  # fmt: skip
LENGTHS = ("hand_len", "stock_len", "table_len", "num_alliances")  # of such lists; properties here
# What the kernels of any tier, and of one, do not read: rows made for them alone go without.
UNSEEN = {
    "rng", "deal_seed", "ep_return", "ep_length", "bonus", "stock_len", "discard", "table_seat",
    "cannon", "voids", "bots", "destroyed", "leader", "human_leader", "turn", "abilities",
    "pirates", "jade_pos", "invalid_count", "last_card", "last_seat",
}  # fmt: skip
_OF_GAMES = {
    "seen_strength", "bid_share", "error", "bid_sum", "abs_error", "hits", "zero_bids", "last_bid",
    "rounds_done", "first_leader", "played_last", "counts", "ev_estimate", "ev_captures",
}  # fmt: skip
_OF_RECORDS = {"bid_share", "error", "hits", "zero_bids", "last_bid"}
_OF_JADE, _OF_BENDT = {"known", "specials_known", "jade_seat"}, {"stock", "stock_pos", "bendt_seat"}
UNSEEN_BY = {  # tier, and whether it shows decisions about abilities
    (Tier.FLAT, False): UNSEEN | _OF_RECORDS | _OF_JADE | _OF_BENDT
    | {"harry_seat", "rascal_seat", "rascal_bet", "rosie_lead"},
    (Tier.FLAT, True): UNSEEN | _OF_RECORDS,
    (Tier.MANAGER, False): UNSEEN | {"played_last", "counts", "ev_captures"} | _OF_JADE | _OF_BENDT,
    (Tier.WORKER, False): UNSEEN | _OF_GAMES | {"known", "jade_seat", "stock"},
    (Tier.ABILITY, False): UNSEEN | _OF_GAMES,
    (Tier.ABILITY, True): UNSEEN | _OF_GAMES,
}  # fmt: skip


class _Rows:
    """How the attributes of a game become some fields of a row, and back; the others are 0.

    Most fields are one number, or a list that is as long as the field, and have the name of their
    attribute: they are taken all at once. ``rng``, ``RAW`` and ``LENGTHS`` are not.
    """

    def __init__(self, names: list[str]) -> None:
        raw = [name for name in RAW if name in names]
        self.format: RowFormat = RowFormat(STATE_DTYPE[names], raw=raw)
        self.fields: dict[str, Any] = self.format.fields
        plain = {k: v for k, v in self.fields.items() if k not in ("rng", *RAW, *LENGTHS)}
        self.numbers: list[str] = [name for name, where in plain.items() if isinstance(where, int)]
        self.lists: list[str] = [name for name, where in plain.items() if isinstance(where, slice)]
        self.special: list[str] = [name for name in ("rng", *LENGTHS, *RAW) if name in names]
        self.numbers_of: itemgetter[tuple[str, str, *tuple[str, ...]]] = itemgetter(*self.numbers)
        self.lists_of: itemgetter[tuple[str, str, *tuple[str, ...]]] = itemgetter(*self.lists)
        where_numbers = (plain[name] for name in self.numbers)
        self.numbers_in: Callable[[Any], tuple[int, ...]] = itemgetter(*where_numbers)
        places: list[int] = []
        for name in (*self.numbers, *self.lists, *self.special):
            where = self.fields[name]
            places += range(where.start, where.stop) if isinstance(where, slice) else [where]
        self._in_order = itemgetter(*(places.index(place) for place in range(len(places))))

    def values(self, game: Position, special: Iterable[Any]) -> tuple[Any, ...]:
        """Return the values that the format packs; ``special`` has those of :attr:`special`."""
        attributes = vars(game)
        lists = chain.from_iterable(self.lists_of(attributes))
        values: tuple[Any, ...] = self._in_order((*self.numbers_of(attributes), *lists, *special))
        return values


ROW = _Rows(list(STATE_DTYPE.names or ()))
SEEN = {
    shown: _Rows([name for name in STATE_DTYPE.names or () if name not in unseen])
    for shown, unseen in UNSEEN_BY.items()
}

_bit = [1 << card for card in range(NUM_CARDS)].__getitem__
# CARDS_IN[k][byte]: the cards of a set whose k-th byte this is. Bit by bit, the three sets of a
# row would take longer than all the rest of it.
CARDS_IN = [
    [tuple(8 * k + bit for bit in range(8) if byte >> bit & 1) for byte in range(256)]
    for k in range((NUM_CARDS + 7) // 8)
]


def pack(game: Position) -> bytes:
    """Return the row of a game."""
    hands = [bytes(hand).ljust(MAX_HAND, b"\0") if hand else NO_HAND for hand in game.hand]
    special = (
        *game.rng.state,
        *game.hand_len,
        len(game.stock),
        len(game.table_card),
        len(game.alliances),
        _bits(game.played),
        _bits(game.out),
        b"".join(hands),
        bytes(game.stock).ljust(NUM_CARDS, NONE),
        bytes(game.discard).ljust(2, NONE),
        bytes(game.table_card).ljust(MAX_PLAYERS, NONE),
        bytes(game.table_seat).ljust(MAX_PLAYERS, NONE),
        bytes(game.table_mode).ljust(MAX_PLAYERS, b"\0"),
        bytes(chain.from_iterable(game.alliances)).ljust(4, NONE),
        _bits(game.known),
        bytes(game.last_card).ljust(MAX_PLAYERS, NONE),
        bytes(game.last_seat).ljust(MAX_PLAYERS, NONE),
    )
    return ROW.format.pack(*ROW.values(game, special))


def pack_seen(game: Position) -> bytes:
    """Return a row that has what the kernels of the game's tier read: no hidden hands either."""
    rules, memory = game.rules, game.rules.memory
    rows = SEEN[rules.tier, rules.abilities == Abilities.AGENT]
    if game.agent == game.actor:
        before, after = AROUND_HAND[game.agent]
        hand = before + bytes(game.hand[game.agent]).ljust(MAX_HAND, b"\0") + after
    else:
        hands = [NO_HAND] * MAX_PLAYERS
        for seat in (game.agent, game.actor):
            hands[seat] = bytes(game.hand[seat]).ljust(MAX_HAND, b"\0")
        hand = b"".join(hands)
    special = [
        *map(len, game.hand),
        len(game.table_card),
        len(game.alliances),
        _bits(game.played) if memory else NO_CARDS,
        _bits(game.out) if memory else NO_CARDS,
        hand,
        *([bytes(game.stock[:2]).ljust(NUM_CARDS, NONE)] if "stock" in rows.fields else ()),
        bytes(game.table_card).ljust(MAX_PLAYERS, NONE),
        bytes(game.table_mode).ljust(MAX_PLAYERS, b"\0"),
        bytes(chain(*game.alliances)).ljust(4, NONE) if game.alliances else NO_ALLIANCES,
    ]
    if "known" in rows.fields:
        special.append(_bits(game.known) if game.jade_seen else NO_CARDS)
    return rows.format.pack_as_is(*rows.values(game, special))  # of the right sizes, all of them


def load(position: Position, row: Any) -> None:
    """Set everything but rules and knobs to what a row says; the inverse of :func:`pack`.

    Parameters
    ----------
    position : Position
        May be one on which ``__init__`` was not called.
    row : object with the buffer protocol
        One record of ``STATE_DTYPE``; not changed.
    """
    values, at = ROW.format.unpack(row), ROW.fields
    # numbers and lists of fixed length: attributes have the names of their fields
    attributes = vars(position)
    attributes.update(zip(ROW.numbers, ROW.numbers_in(values), strict=True))
    attributes.update({name: [*values[at[name]]] for name in ROW.lists})
    # the rest
    position.rng = Rng.__new__(Rng)  # a seed would be computed for nothing
    position.rng.state = [*values[at["rng"]]]
    position.played = _cards(values[at["played"]])
    position.known = _cards(values[at["known"]])
    position.out = _cards(values[at["out"]])
    hands, starts = values[at["hand"]], range(0, MAX_PLAYERS * MAX_HAND, MAX_HAND)
    lengths = zip(starts, values[at["hand_len"]], strict=True)
    position.hand = [[*hands[start : start + length]] for start, length in lengths]
    position.stock = [*values[at["stock"]][: values[at["stock_len"]]]]
    position.discard = [*values[at["discard"]].rstrip(NONE)]
    laid = values[at["table_len"]]
    position.table_card = [*values[at["table_card"]][:laid]]
    position.table_seat = [*values[at["table_seat"]][:laid]]
    position.table_mode = [*values[at["table_mode"]][:laid]]
    seats = values[at["alliances"]][: 2 * values[at["num_alliances"]]]
    position.alliances = [*zip(seats[::2], seats[1::2], strict=True)]
    position.last_card = [*values[at["last_card"]].rstrip(NONE)]
    position.last_seat = [*values[at["last_seat"]].rstrip(NONE)]


def _bits(cards: set[int]) -> bytes:
    """Return a set of cards as two words of bits; card c is bit c % 64 of word c // 64."""
    return sum(map(_bit, cards)).to_bytes(16, "little")


def _cards(bits: bytes) -> set[int]:
    """Return the cards of two words of bits."""
    return set().union(*[cards[byte] for cards, byte in zip(CARDS_IN, bits, strict=False)])
