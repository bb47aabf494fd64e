"""Validation of state rows from outside: everything the compiled code relies on is checked once.

The stepping code has no bounds checks, so a row that passes here must never make it read wild or
loop for ever. The checks are vectorised over rows; the first failing one names lane and field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fastenv.errors import StateError, show
from fastenv.skullking import tables as t
from fastenv.skullking.state import STATE_DTYPE

_IS_SPECIAL = np.isin(np.arange(t.NUM_CARDS), t.SPECIALS)
_SUIT = np.array(t.SUIT)
_CATEGORY = np.stack(  # the categories of `counts`, one row each
    [
        np.isin(np.arange(t.NUM_CARDS), t.PIRATES),
        np.arange(t.NUM_CARDS) == t.KING,
        np.isin(np.arange(t.NUM_CARDS), t.MERMAIDS),
        np.isin(np.arange(t.NUM_CARDS), t.ESCAPES),
        (np.array(t.NUMBER) >= 10) & (np.array(t.SUIT) != t.TRUMP),
    ]
)

MOST_POINTS = 1500  # of a round, won or lost, whatever the row says of bids and bonuses

Check = tuple[str, Any, str]  # field, bool[n] of bad lanes, what is allowed
Range = tuple[str, int, int]  # field, least and largest value


def validate_rows(rows: np.ndarray, rules: np.ndarray) -> None:
    """Check state rows that come from outside.

    Parameters
    ----------
    rows : ndarray of STATE_DTYPE, shape (n,)
    rules : ndarray of RULES_DTYPE, shape (1,)

    Raises
    ------
    StateError
        Naming the first bad lane, the field, its value and what is allowed.
    """
    if rows.dtype != STATE_DTYPE:
        raise StateError(f"state rows must have dtype STATE_DTYPE, got {show(rows.dtype)}.")
    rule = rules[0]
    for section in (_ranges, _cards, _table_and_hands, _last_trick, _order, _sums, _phases):
        for field, bad, allowed in section(rows, rule):
            lanes = np.flatnonzero(bad)
            if lanes.size:
                lane = int(lanes[0])
                raise StateError(
                    f"lane {lane}: {field}={rows[field][lane].tolist()} is not possible: {allowed}."
                )


def _between(rows: np.ndarray, field: str, low: int, high: int) -> Check:
    values = rows[field]
    bad = (values < low) | (values > high)
    return field, bad.any(axis=tuple(range(1, bad.ndim))), f"it must be from {low} to {high}"


def _ranges_of_play(rule: np.void) -> tuple[Range, ...]:
    """Return field, least and largest value of what a round is played with."""
    players, hands = int(rule["num_players"]), int(rule["num_hands"])
    rounds = int(rule["num_rounds"])
    return (
        ("agent", 0, players - 1),
        ("actor", 0, players - 1),
        ("phase", 0, t.Phase.END),
        ("done", 0, 2),
        ("round_idx", 0, rounds - 1),
        ("rounds_done", 0, rounds),
        ("tricks", 0, t.MAX_CARDS),
        ("table_len", 0, hands - 1),
        ("leader", 0, hands - 1),
        ("first_leader", 0, players - 1),
        ("human_leader", 0, players - 1),
        ("turn", 0, hands - 1),
        ("table_card", -1, t.NUM_CARDS - 1),
        ("table_seat", -1, hands - 1),
        ("table_mode", 0, 1),
        ("last_card", -1, t.TIGRESS_AS_PIRATE),
        ("last_seat", -1, hands - 1),
        ("hand", 0, t.NUM_CARDS - 1),
        ("hand_len", 0, t.MAX_HAND),
        ("stock", -1, t.NUM_CARDS - 1),
        ("stock_len", 0, t.NUM_CARDS),
        ("stock_pos", 0, 2),
        ("discard", -1, t.NUM_CARDS - 1),
        ("bid", -1, t.MAX_CARDS),
        ("won", 0, t.MAX_CARDS),
        ("cannon", 0, 1),
        ("bots", 0, t.Bot.EXTERNAL if rule["external"] else t.Bot.HEURISTIC),
        ("abilities", 0, max(t.Abilities)),
        ("pirates", 0, 31),
        ("harry_seat", -1, players - 1),
        ("rascal_seat", -1, players - 1),
        ("rosie_lead", 0, 1),
        ("jade_seat", -1, players - 1),
        ("jade_pos", 0, 2),
        ("bendt_seat", -1, players - 1),
        ("abilities_used", 0, 5),
        ("first_discard", -1, t.MAX_HAND - 1),
        ("invalid_count", 0, t.INVALID_LIMIT),
        ("alliances", -1, players - 1),
        ("num_alliances", 0, 2),
    )


def _ranges_of_events(rule: np.void) -> tuple[Range, ...]:
    """Return field, least and largest value of sums and of what the last step did."""
    return (
        ("bonus", 0, 1000),
        ("ep_length", 0, 2**30),
        ("ev_phase", -1, t.Phase.END),
        ("ev_action", 0, t.NUM_ACTIONS - 1),
        ("ev_invalid", 0, 2),
        ("ev_card", -1, t.NUM_CARDS - 1),
        ("ev_needed", -t.MAX_CARDS, t.MAX_CARDS),
        ("ev_left", 0, t.MAX_CARDS),
        ("ev_estimate", 0, t.MAX_CARDS),
        ("ev_trick", 0, 2),
        ("ev_captures", 0, t.MAX_PLAYERS),
        ("ev_cards", 0, t.MAX_CARDS),
        ("ev_round", 0, int(rule["num_rounds"])),
        ("ev_bid", 0, t.MAX_CARDS),
        ("ev_won", 0, t.MAX_CARDS),
        ("ev_alliances", 0, 2),
        ("ev_rank", 0, int(rule["num_players"])),
    )


def _ranges(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    for field in ("played", "known", "out"):
        none = rows[field][:, 1] >> np.uint64(t.NUM_CARDS - 64)
        yield field, none != 0, f"it has a bit for each of {t.NUM_CARDS} cards"
    yield "rng", ~rows["rng"].any(axis=1), "a generator of zeros is stuck"
    for field, low, high in (*_ranges_of_play(rule), *_ranges_of_events(rule)):
        yield _between(rows, field, low, high)
    yield "rascal_bet", ~np.isin(rows["rascal_bet"], (0, 10, 20)), "it must be 0, 10 or 20"
    yield "ev_bet", ~np.isin(rows["ev_bet"], (0, 10, 20)), "it must be 0, 10 or 20"
    yield "ep_return", ~np.isfinite(rows["ep_return"]), "it must be finite"
    abilities = ~np.isin(rows["abilities"], (t.Abilities.OFF, rule["abilities"]))
    yield "abilities", abilities, "they must be off or as the environment has them"
    # rows of a full game may be shown to a tier of single rounds: a Worker plays in matches
    too_many = rows["rounds_done"] > rows["round_idx"] + (rows["phase"] == t.Phase.END)
    yield "rounds_done", too_many, "not more rounds can have been completed"
    # as far as rounds can bring it, so that play never leaves what is let in here
    most = MOST_POINTS * (rows["round_idx"].astype(np.int64) + (rows["phase"] == t.Phase.END))
    far = (np.abs(rows["total"].astype(np.int64)) > most[:, None]).any(axis=1)
    yield "total", far, f"it must be at most {MOST_POINTS:,} points for each round that is over"
    cards = rule["schedule"][rows["round_idx"]]
    yield "cards", rows["cards"] != cards, "it must be what the schedule deals in this round"
    yield "tricks", rows["tricks"] > cards, "a round has as many tricks as cards"


def _members(cards: np.ndarray, valid: np.ndarray) -> np.ndarray:
    """Count how often each card is among ``cards[:, valid]``: int[n, NUM_CARDS]."""
    n = len(cards)
    count = np.zeros((n, t.NUM_CARDS), np.int64)
    lanes = np.broadcast_to(np.arange(n).reshape(n, *[1] * (cards.ndim - 1)), cards.shape)
    np.add.at(count, (lanes[valid], cards[valid]), 1)
    return count


def _bits(words: np.ndarray) -> np.ndarray:
    """Return the members of bit sets, bool[n, NUM_CARDS]."""
    card = np.arange(t.NUM_CARDS)
    bit = words[:, card // 64] >> (card % 64).astype(np.uint64)
    return (bit & np.uint64(1)).astype(bool)


def _cards(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    deck = np.isin(np.arange(t.NUM_CARDS), rule["deck"][: rule["deck_len"]])
    in_hand = np.arange(t.MAX_HAND) < rows["hand_len"][:, :, None]
    hands = _members(rows["hand"], in_hand)
    slot = np.arange(t.NUM_CARDS)
    in_stock = slot < rows["stock_len"][:, None]
    stock = _members(rows["stock"], in_stock & (rows["stock"] >= 0))
    left = _members(
        rows["stock"], in_stock & (slot >= rows["stock_pos"][:, None]) & (rows["stock"] >= 0)
    )
    discards = _members(rows["discard"], rows["discard"] >= 0)
    played = _bits(rows["played"])
    where = hands + left + discards + played
    yield "hand", (where != deck).any(axis=1), "every card of the deck must be in one place"
    yield "hand", ((rows["hand"] != 0) & ~in_hand).any(axis=(1, 2)), "unused slots must be 0"
    yield "stock", ((rows["stock"] >= 0) != in_stock).any(axis=1), "it must hold stock_len cards"
    yield "stock", (stock > 1).any(axis=1), "a card can be in it only once"
    yield "stock_pos", rows["stock_pos"] > rows["stock_len"], "it must not pass stock_len"
    dealt = rows["cards"].astype(np.int64) * int(rule["num_hands"])
    yield "stock_len", rows["stock_len"] != int(rule["deck_len"]) - dealt, "the rest of the deck"
    table = _members(rows["table_card"], rows["table_card"] >= 0)
    yield "table_card", (table > played).any(axis=1), "cards that were played, each once"
    known = _bits(rows["known"])
    own = np.zeros_like(hands)
    seat = np.arange(t.MAX_PLAYERS) == rows["actor"][:, None]
    own += _members(rows["hand"], in_hand & seat[:, :, None])
    seen = (own > 0) | played
    out = _bits(rows["out"])
    actor = rows["actor"]
    after = in_stock & (slot >= rows["jade_pos"][:, None]) & (rows["stock"] >= 0)
    shown = _members(rows["stock"], after & (rows["jade_seat"] == actor)[:, None]) > 0
    shown |= (discards > 0) & (rows["bendt_seat"] == actor)[:, None]
    yield "out", (out != shown).any(axis=1), "what Jade showed the actor, and his own discards"
    yield "known", (known != (seen | out)).any(axis=1), "what he has seen, and nothing else"
    drew = np.arange(t.MAX_PLAYERS) == rows["bendt_seat"][:, None]
    kept = _members(rows["hand"], in_hand & drew[:, :, None]) + discards + played
    yield from _drawn(rows, kept > 0)
    specials = (known & _IS_SPECIAL).sum(axis=1)
    yield "specials_known", rows["specials_known"] != specials, "the specials among `known`"
    counts = played.astype(np.int64) @ _CATEGORY.T
    yield "counts", (rows["counts"] != counts).any(axis=1), "the categories of `played`"
    yield from _finished_tricks(rows, played & (table == 0))
    yield from _voids(rows, rule, played)
    strength = played @ np.array(t.STRENGTH)
    wrong = ~(np.abs(rows["seen_strength"] - strength) < 1e-9)  # the sum in play order
    yield "seen_strength", wrong, "the sum of the strengths of `played`"


def _voids(rows: np.ndarray, rule: np.void, played: np.ndarray) -> Iterator[Check]:
    """Check what seats have shown against the cards that they hold."""
    voids, place = rows["voids"], np.arange(t.MAX_PLAYERS)
    bad = (voids > 15) | (voids > 0) & (place >= int(rule["num_players"]))
    yield "voids", bad.any(axis=1), "a bit for each of four suits; absent seats must be 0"
    early = voids.any(axis=1) & ~played.any(axis=1)
    yield "voids", early, "nobody has shown anything before the first card"
    suits = np.where(rows["hand_len"][:, :, None] > np.arange(t.MAX_HAND), _SUIT[rows["hand"]], -1)
    held = (suits >= 0) & (voids[:, :, None] >> np.maximum(suits, 0) & 1 == 1)
    yield "voids", held.any(axis=(1, 2)), "the seat holds a card of a suit that it has none of"


def _drawn(rows: np.ndarray, kept: np.ndarray) -> Iterator[Check]:
    """Check what was drawn from the stock; ``kept`` are the cards that may have been."""
    lanes = np.arange(len(rows))[:, None]
    drawn = np.arange(2) < rows["stock_pos"][:, None]
    lost = drawn & ~kept[lanes, rows["stock"][:, :2]]
    yield "stock", lost.any(axis=1), "who drew cards holds them, or they were discarded or played"
    discarding = np.isin(rows["phase"], (t.Phase.BENDT_1, t.Phase.BENDT_2))
    wrong = (rows["jade_pos"] != rows["stock_pos"]) | (rows["jade_seat"] < 0) | discarding
    yield "jade_pos", (rows["jade_pos"] != 0) & wrong, "stock_pos at Jade's look"


def _finished_tricks(rows: np.ndarray, done: np.ndarray) -> Iterator[Check]:
    """Check alliances and pirates' abilities against the cards of finished tricks, ``done``."""
    loots = done[:, t.LOOTS].sum(axis=1)
    yield "num_alliances", rows["num_alliances"] > loots, "one for each Loot of a finished trick"
    for field, unused, pirate in (
        ("stock_pos", 0, t.BENDT),
        ("rascal_seat", -1, t.RASCAL),
        ("jade_seat", -1, t.JADE),
        ("bendt_seat", -1, t.BENDT),
        ("harry_seat", -1, t.HARRY),
    ):
        used = rows[field] != unused
        yield field, used & ~done[:, pirate], "that pirate has not won a trick"
        yield field, used & (rows["abilities"] == t.Abilities.OFF), "abilities are off"
    deciding = np.isin(
        rows["phase"], (t.Phase.ROSIE, t.Phase.BENDT_1, t.Phase.BENDT_2, t.Phase.RASCAL)
    )
    waiting = deciding + (rows["harry_seat"] >= 0).astype(np.int64)
    too_often = rows["abilities_used"] + waiting > done[:, t.PIRATES].sum(axis=1)
    yield "abilities_used", too_often, "one for each pirate of a finished trick"


def _order(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    """Hands are sorted, but Graybeard's and what Bendt has just drawn."""
    lanes, place = np.arange(len(rows)), np.arange(t.MAX_HAND)
    position = rows["stock_pos"].astype(np.int64)
    yield "bendt_seat", (rows["bendt_seat"] >= 0) != (position > 0), "who drew, if cards are drawn"
    discarding = np.isin(rows["phase"], (t.Phase.BENDT_1, t.Phase.BENDT_2))
    size = position * discarding
    gone = (rows["discard"] >= 0).sum(axis=1)
    gap = (rows["discard"][:, 0] < 0) & (gone > 0)
    yield "discard", gap | (gone + size != position), "as many cards as Bendt has drawn"
    sizes = rows["hand_len"].astype(np.int64)
    sizes[lanes, rows["actor"]] -= size
    hand = rows["hand"].astype(np.int64)
    falls = (hand[:, :, 1:] <= hand[:, :, :-1]) & (place[1:] < sizes[:, :, None])
    players = int(rule["num_players"])
    yield "hand", falls[:, :players].any(axis=(1, 2)), "hands are sorted"
    last = np.arange(2) + sizes[lanes, rows["actor"]][:, None]
    own = hand[lanes[:, None], rows["actor"][:, None], last % t.MAX_HAND]
    new = (own != rows["stock"][:, :2]) & (np.arange(2) < size[:, None])
    yield "hand", new.any(axis=1), "cards that were drawn are its last"


def _last_trick(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    hands = int(rule["num_hands"])
    seats, cards = rows["last_seat"], rows["last_card"]
    none = (seats == -1).all(axis=1) & (cards == -1).all(axis=1)
    sat = (np.sort(seats[:, :hands], axis=1) == np.arange(hands)).all(axis=1)
    yield "last_seat", ~none & ~sat, "every seat once, or none"
    yield "last_seat", (seats[:, hands:] != -1).any(axis=1), "absent seats have no card"
    laid = np.where(cards == t.TIGRESS_AS_PIRATE, t.TIGRESS, cards)
    in_deck = (laid >= 0) & np.isin(laid, rule["deck"])
    order = np.sort(laid, axis=1)
    twice = ((order[:, 1:] == order[:, :-1]) & (order[:, 1:] >= 0)).any(axis=1)
    yield "last_card", ~none & ~in_deck[:, :hands].all(axis=1), "a card of every seat, or none"
    yield "last_card", (cards[:, hands:] != -1).any(axis=1), "absent seats have no card"
    yield "last_card", twice, "cards of the deck, each once"


def _table_and_hands(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    players, hands = int(rule["num_players"]), int(rule["num_hands"])
    place = np.arange(t.MAX_PLAYERS)
    laid = place < rows["table_len"][:, None]
    seats = _seat_order(rows, players, hands)
    good = np.where(laid, seats, -1)
    yield "table_seat", (rows["table_seat"] != good).any(axis=1), "turns go on from the leader"
    yield (
        "table_card",
        ((rows["table_card"] >= 0) != laid).any(axis=1),
        "it must hold table_len cards",
    )
    modes = (rows["table_mode"] == 1) & (rows["table_card"] != t.TIGRESS)
    yield "table_mode", modes.any(axis=1), "only the Tigress can be played as a pirate"
    has_played = np.zeros((len(rows), t.MAX_PLAYERS), np.int64)
    lanes, places = np.nonzero(laid)
    has_played[lanes, rows["table_seat"][lanes, places]] = 1
    rest = (rows["cards"].astype(np.int64) - rows["tricks"])[:, None]
    expected = np.where(place < hands, rest - has_played, 0)
    discarding = np.isin(rows["phase"], (t.Phase.BENDT_1, t.Phase.BENDT_2))
    drawn = np.where(discarding, rows["stock_pos"], 0)
    expected[np.arange(len(rows)), rows["actor"]] += drawn
    yield (
        "hand_len",
        (rows["hand_len"] != expected).any(axis=1),
        "one card for each trick to come",
    )
    other = (rows["leader"] < players) & (rows["human_leader"] != rows["leader"])
    yield "human_leader", other, "the leader, or the last one before Graybeard"
    for field in ("bid", "won", "total", "bonus", "bots", "cannon", "last_bid", "played_last"):
        limit = hands if field in ("won", "played_last") else players
        yield field, rows[field][:, limit:].any(axis=1), "absent seats must be 0"


def _seat_order(rows: np.ndarray, players: int, hands: int) -> np.ndarray:
    """Return who plays first, second, ... in the current trick: int[n, MAX_PLAYERS]."""
    leader = rows["leader"].astype(np.int64)[:, None]
    order = (leader + np.arange(t.MAX_PLAYERS)) % hands
    if hands != players:  # Graybeard, seat 2, is second unless he leads
        human = rows["human_leader"].astype(np.int64)
        graybeard = leader[:, 0] == 2
        order[:, 1] = np.where(graybeard, human, 2)
        order[:, 2] = np.where(graybeard, 1 - human, 1 - leader[:, 0])
    return order


def _sums(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    players = int(rule["num_players"])
    tricks = rows["won"].sum(axis=1, dtype=np.int64) + rows["destroyed"]
    yield "won", tricks != rows["tricks"], "won and destroyed tricks must add up to `tricks`"
    yield "destroyed", rows["destroyed"] < 0, "it must not be negative"
    last = rows["played_last"].astype(np.int64)
    bad = (last < 0).any(axis=1) | (last.sum(axis=1) != rows["tricks"])
    yield "played_last", bad, "they must add up to `tricks`"
    done = rows["rounds_done"].astype(np.int64)[:, None]
    for field, most in (
        ("bid_sum", 10),
        ("abs_error", 10),
        ("hits", 1),
        ("zero_bids", 1),
        ("bid_share", t.BID_SHARE_UNIT),
    ):
        values = rows[field].astype(np.int64)
        bad = (
            (values < 0)
            | (values > most * done)
            | (np.arange(t.MAX_PLAYERS) >= players) & (values != 0)
        )
        yield field, bad.any(axis=1), f"at most {most} for each completed round"
    too_far = np.abs(rows["error"].astype(np.int64)) > rows["abs_error"]
    yield "error", too_far.any(axis=1), "not more than abs_error"
    bad_last = (rows["last_bid"] < 0) | (rows["last_bid"] > t.MAX_CARDS)
    yield "last_bid", bad_last.any(axis=1), "it must be from 0 to 10"
    pairs = np.arange(2) < rows["num_alliances"][:, None]
    wrong = (rows["alliances"] >= 0) != pairs[:, :, None]
    yield "alliances", wrong.any(axis=(1, 2)), "it must hold num_alliances pairs"


def _phases(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    players, hands = int(rule["num_players"]), int(rule["num_hands"])
    phase, agent, actor = rows["phase"], rows["agent"], rows["actor"]
    lanes = np.arange(len(rows))
    external = rows["bots"] == t.Bot.EXTERNAL
    own = actor == agent
    yield "bots", external[lanes, agent], "the agent decides for its own seat"
    yield "actor", ~own & ~external[lanes, actor], "the agent or a seat played from outside"
    bids = np.isin(phase, (t.Phase.BID, t.Phase.CANNON))
    has_goal = rule["tier"] in (t.Tier.WORKER, t.Tier.ABILITY) and not rule["all_seats"]
    bad = bids & (own & has_goal | (rows["tricks"] > 0))
    yield "phase", bad | (bids & (rows["table_len"] > 0)), "bids come first, in flat and Manager"
    cannon = (phase == t.Phase.CANNON) & (rule["scoring"] != t.Scoring.RASCAL_CANNON)
    yield "phase", cannon, "CANNON needs scoring='rascal_cannon'"
    cannon = rows["cannon"].any(axis=1) & (rule["scoring"] != t.Scoring.RASCAL_CANNON)
    yield "cannon", cannon, "cannonballs need scoring='rascal_cannon'"
    chosen = (rows["bid"] >= 0) & (rows["bid"] <= rows["cards"][:, None])
    chosen |= np.arange(t.MAX_PLAYERS) >= players
    place = np.arange(t.MAX_PLAYERS)
    asked = (external | (place == agent[:, None])) & (phase == t.Phase.BID)[:, None]
    asked &= (place - agent[:, None]) % players >= ((actor - agent) % players)[:, None]
    chosen = np.where(asked, rows["bid"] == -1, chosen)
    yield "bid", ~chosen.all(axis=1), "from 0 to the cards dealt; -1 in BID: who is still to bid"
    over = (rows["done"] == 1) != (phase == t.Phase.END)
    yield "done", over, "1 goes with phase END and nothing else"
    truncated = (rows["done"] == 2) != (rows["invalid_count"] >= t.INVALID_LIMIT)
    yield "done", truncated, "2 goes with the 50th invalid action and nothing else"
    empty = rows["tricks"] == rows["cards"]
    late = np.isin(phase, (t.Phase.HARRY, t.Phase.END))
    yield "tricks", empty != late, "all tricks are completed in HARRY and END, and only then"
    turn = np.where(bids, rows["leader"], actor)
    yield "turn", rows["turn"] != turn, "the actor's turn; before the first card the leader's"
    yield "actor", ~own & (rows["done"] != 0), "the agent when the episode is over"
    turn = rows["table_len"]
    order = _seat_order(rows, players, hands)
    playing = np.isin(phase, (t.Phase.PLAY, t.Phase.TIGRESS))
    if rule["tier"] == t.Tier.MANAGER:
        yield "phase", playing, "a Manager plays no cards"
    yield "actor", playing & (order[lanes, turn] != actor), "it must be the actor's turn"
    her = (rows["hand"][lanes, actor] == t.TIGRESS).any(axis=1) & (rule["tigress_agent"] != 0)
    yield "phase", (phase == t.Phase.TIGRESS) & ~her, "TIGRESS needs her in the actor's hand"
    ability = np.isin(
        phase, (t.Phase.ROSIE, t.Phase.BENDT_1, t.Phase.BENDT_2, t.Phase.RASCAL, t.Phase.HARRY)
    )
    allowed = rows["abilities"] == t.Abilities.AGENT
    yield "phase", ability & ~allowed, "ability decisions need abilities='agent'"
    yield "phase", ability & (rows["table_len"] > 0), "abilities are used between tricks"
    drawing = np.isin(phase, (t.Phase.BENDT_1, t.Phase.BENDT_2))
    yield "bendt_seat", drawing & (rows["bendt_seat"] != actor), "BENDT needs cards he has drawn"
    second = phase == t.Phase.BENDT_2
    two = rows["stock_pos"] == 2
    slot = rows["first_discard"]
    bad = np.where(second, (slot < 0) | (slot >= rows["hand_len"][lanes, actor]) | ~two, slot != -1)
    yield "first_discard", bad, "a hand slot in BENDT_2, -1 otherwise"
    harry = (phase == t.Phase.HARRY) & (rows["harry_seat"] != actor)
    yield "harry_seat", harry, "the actor must hold Harry in phase HARRY"
