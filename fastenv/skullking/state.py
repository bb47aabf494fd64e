"""One game of Skull King as one row of bytes, and the records that go with it.

``STATE_DTYPE`` is the contract between the three implementations: the C struct of the compiled core
is generated from it (``python -m tools.structs`` after a change), Numba reads the record directly,
and the reference converts with ``pack`` and ``unpack`` in ``reference.py``. Seats are absolute;
``agent`` names the learning seat, ``actor`` the one whose decision is due: the agent's, or that of
a seat played from outside.

Hands ``0 .. num_hands-1`` belong to the seats; with Graybeard's ghost hand (and seat) 2 is his.
Unused array entries are 0, unused cards and seats -1, so that equal states are equal bytes.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from fastenv.skullking import tables as t

P = t.MAX_PLAYERS

STATE_DTYPE = np.dtype(
    [
        # -- generator and bit sets (card c is bit c % 64 of word c // 64) --
        ("rng", "u8", (4,)),
        ("deal_seed", "u8"),  # deals="duplicate": seed of this episode's deals, else 0
        ("played", "u8", (2,)),  # cards laid on the table this round, current trick included
        ("known", "u8", (2,)),  # cards the actor has seen this round: own hand, played, Jade's
        ("out", "u8", (2,)),  # stock as Jade showed it to the actor, and his own Bendt discards
        ("seen_strength", "f8"),  # sum of STRENGTH of the cards in `played`, in play order
        ("ep_return", "f8"),  # running sums of the episode, written by the reward functions
        ("ep_length", "i4"),
        # -- scores: one entry a seat --
        ("total", "i2", (P,)),  # official points
        ("bonus", "i2", (P,)),  # capture bonuses of this round (paid only if the bid is exact)
        ("bid_share", "u2", (P,)),  # completed rounds: sum of bid/N in units of 1/2520
        ("error", "i2", (P,)),  # completed rounds: sum of won - bid
        # -- cards --
        ("hand", "i1", (P, t.MAX_HAND)),
        ("hand_len", "i1", (P,)),
        ("stock", "i1", (t.NUM_CARDS,)),  # cards not dealt, in drawing order, -1 behind its end
        ("stock_pos", "i1"),  # next card to draw; cards before it were drawn by Bendt
        ("stock_len", "i1"),
        ("discard", "i1", (2,)),  # Bendt's discards of this round (whoever made them), -1
        ("table_card", "i1", (P,)),  # the current trick in play order, -1 behind its end
        ("table_seat", "i1", (P,)),  # -1 behind its end
        ("table_mode", "i1", (P,)),  # 1: Tigress as pirate; else 0
        ("table_len", "i1"),
        # -- this round: one entry a seat --
        ("bid", "i1", (P,)),  # after Harry; -1: not chosen yet (in BID)
        ("won", "i1", (P,)),  # tricks won; Graybeard counts as seat 2
        ("cannon", "i1", (P,)),  # rascal_cannon: 1 cannonball, 0 grapeshot
        ("bots", "i1", (P,)),  # Bot of each seat; the agent's entry plays what he does not decide
        # -- completed rounds: one entry a seat (see also bid_share, error) --
        ("bid_sum", "u1", (P,)),
        ("abs_error", "u1", (P,)),
        ("hits", "i1", (P,)),
        ("zero_bids", "i1", (P,)),
        ("last_bid", "i1", (P,)),
        # -- where the game stands --
        ("agent", "i1"),
        ("actor", "i1"),  # who decides: the agent, or a seat of Bot.EXTERNAL
        ("phase", "i1"),  # Phase: the actor's pending decision, or END
        ("done", "i1"),  # 0 running, 1 terminated, 2 truncated
        ("round_idx", "i1"),  # index into the schedule
        ("rounds_done", "i1"),  # completed rounds of this episode
        ("cards", "i1"),  # N: cards dealt to a hand this round
        ("tricks", "i1"),  # completed tricks of this round
        ("destroyed", "i1"),  # of these, tricks that nobody won
        ("first_leader", "i1"),  # of this round
        ("leader", "i1"),  # of the current trick
        ("human_leader", "i1"),  # Graybeard: last player who led; plays second when he leads
        ("turn", "i1"),  # seat to act; before the first card the leader
        ("played_last", "i1", (P,)),  # completed tricks of this round in which a seat came last
        ("alliances", "i1", (2, 2)),  # (loot seat, winner seat), -1 where none
        ("num_alliances", "i1"),
        ("counts", "u1", (5,)),  # of `played`: pirates, Kings, mermaids, Escapes, standard >= 10
        ("specials_known", "i1"),  # of `known`: specials
        # -- abilities --
        ("abilities", "i1"),  # Abilities of this episode
        ("pirates", "u1"),  # bit k: pirate card 5 + k is decided by who won with it (with AGENT)
        ("harry_seat", "i1"),  # who holds Harry's change until the round's end, -1
        ("rascal_seat", "i1"),  # who bet with Rascal, -1
        ("rascal_bet", "i1"),  # 0, 10 or 20
        ("rosie_lead", "i1"),  # 1: the current trick's leader was chosen with Rosie
        ("jade_seat", "i1"),  # who has seen the stock with Jade this round, -1
        ("jade_pos", "i1"),  # `stock_pos` then
        ("abilities_used", "i1"),  # this round, all players
        ("bendt_seat", "i1"),  # who drew the stock's first `stock_pos` cards with Bendt, -1
        ("first_discard", "i1"),  # BENDT_2: hand slot of the first discard, else -1
        ("invalid_count", "i1"),  # invalid actions of this episode
        # -- events since the agent's last decision: what reward and info are computed from --
        ("ev_phase", "i1"),  # Phase of the decision that was taken; -1: none (after a reset)
        ("ev_action", "i1"),
        ("ev_invalid", "i1"),  # 1: it was illegal and changed nothing; 2: and was the 50th
        ("ev_card", "i1"),  # card the agent laid on the table or discarded, -1
        ("ev_needed", "i1"),  # bid - won of the agent before the decision; 0 in BID
        ("ev_left", "i1"),  # tricks not completed before the decision, the current one included
        ("ev_estimate", "i1"),  # BID: est(hand) of docs/skullking.md, 10.2, else 0
        ("ev_trick", "i1"),  # the agent's trick resolved: 1 he won, 2 not; 0 none resolved
        ("ev_captures", "i1", (5,)),  # in a trick he won: 14s, Jolly Roger 14, mermaids by
        #   pirate, pirates by King, King by mermaid
        ("ev_cards", "i1"),  # N of the round the decision was taken in
        ("ev_round", "i1"),  # 1-based round that ended in this step, 0: none
        ("ev_bid", "i1"),  # of that round, after Harry
        ("ev_won", "i1"),
        ("ev_alliances", "i1"),  # alliances paid to the agent
        ("ev_bet", "i1"),  # the agent's Rascal bet, 0 if none
        ("ev_rank", "i1"),  # rank by total at the end of a full game (1 is best), 0: no game ended
        ("ev_points", "i2"),  # the agent's official points of that round
        ("ev_bonus", "i2"),  # of these, capture bonuses
        # -- for people: no step reads it --
        ("last_card", "i1", (P,)),  # the last complete trick of the episode as `table_card`, the
        #   Tigress as a pirate is TIGRESS_AS_PIRATE; -1 before the first
        ("last_seat", "i1", (P,)),
        # -- for drawing worlds and for people: a step adds to it --
        ("voids", "u1", (P,)),  # bit s: did not follow suit s though the rules ask for it, so that
        #   the hand held no card of it; Bendt's draw clears what a seat has shown
    ],
    align=True,
)

# Rules and options of an environment: constant for all lanes. See config.py for the meanings.
RULES_DTYPE = np.dtype(
    [
        ("goal_bonus", "f8"),
        ("num_players", "i1"),
        ("num_hands", "i1"),  # num_players, or 3 with Graybeard
        ("tier", "i1"),
        ("full_game", "i1"),  # 1: flat and Manager game mode; 0: one sampled round an episode
        ("num_rounds", "i1"),
        ("schedule", "i1", (t.MAX_ROUNDS,)),  # cards a hand, capped (docs/skullking.md, 3.2)
        ("deck", "i1", (t.NUM_CARDS,)),  # ids ascending, -1 behind its end
        ("deck_len", "i1"),
        ("scoring", "i1"),
        ("left_of_kraken", "i1"),
        ("whale_void_would_win", "i1"),
        ("late_suit", "i1"),
        ("trump_any_time", "i1"),
        ("tigress_bonus", "i1"),
        ("tigress_agent", "i1"),
        ("duplicate_deals", "i1"),
        ("memory", "i1"),
        ("reward", "i1"),
        ("needed_after", "i1"),
        ("rosie_shaping", "i1"),
        ("abilities", "i1"),
        ("opponent_slots", "i1"),  # max(3, num_players - 1)
        ("table_slots", "i1"),  # max(4, num_players)
        ("external", "i1"),  # 1: seats may be played from outside (Bot.EXTERNAL)
        ("all_seats", "i1"),  # 1: everybody bids, whatever the tier, and `info` tells of all
        ("obs_dim", "i4"),
    ],
    align=True,
)

# Curriculum knobs of a lane, read at each reset of the lane.
KNOBS_DTYPE = np.dtype(
    [
        ("round_cdf", "f8", (t.MAX_ROUNDS,)),  # cumulative probabilities; the sampled round is the
        #   first r with u < round_cdf[r]. It follows from the next field and allowed_phases
        ("round_weights", "f8", (t.MAX_ROUNDS,)),  # 0 behind the schedule's end
        ("opponents", "i1", (P,)),  # Bot of the j-th seat after the agent, j = 1..; entry 0 unused
        ("agent_seat", "i1"),  # absolute seat, or -1: the next seat in every new episode
        ("goal_mode", "i1"),
        ("goal", "i1"),  # FIXED: the goal, clamped to N
        ("abilities", "i1"),  # 0 switches them off
        ("pirates", "u1"),  # see STATE_DTYPE
        ("allowed_phases", "u1"),  # bit k: phase k of config.PHASE_ROUNDS; 0: all
    ],
    align=True,
)

# Card tables for the compiled code. Rows 74 and 75, where a table has them, are the Tigress on the
# table as escape and as pirate.
TABLES_DTYPE = np.dtype(
    [
        ("strength", "f8", (t.NUM_CARDS,)),
        ("play_strength", "f8", (t.NUM_CARDS,)),
        ("features", "f4", (t.NUM_CARDS + 2, t.NUM_FEATURES)),
        ("bid_value", "i2", (t.NUM_CARDS,)),
        ("play_rank", "i2", (t.NUM_CARDS,)),  # order of play_strength, equal where it is equal
        ("whale_high_rank", "i2"),  # of the Whale's PLAY_STRENGTH_WHALE_HIGH
        # Cards by play strength: [0] strongest first, [1] weakest first, equals as in a hand, and
        # the Whale twice, with her two strengths. A set of cards is then two words of bits whose
        # lowest is the card to play; `order_bit` is the bit of a card, see ORDER_* for the rest.
        ("order", "i1", (2, t.NUM_CARDS + 1)),
        ("order_bit", "u8", (2, 2, t.NUM_CARDS + 2)),  # [order, word, card]
        ("order_suit", "u8", (2, 2, 6)),  # [order, word, suit]: its cards; specials; numbers >= 12
        ("suit_set", "u8", (4, 2)),  # the cards of a suit as in `played`
        ("specials", "u8", (2,)),
        ("card_class", "i1", (t.NUM_CARDS + 2,)),
        ("suit", "i1", (t.NUM_CARDS + 2,)),
        ("number", "i1", (t.NUM_CARDS + 2,)),
        ("suit_bit", "i2", (t.NUM_CARDS,)),  # 1 << suit, and 1 << 4 for specials
        ("lead", "i1", (t.NUM_CARDS + 2,)),  # of a first card (docs/skullking.md, 3.5): its suit,
        #   -1 nothing (escape-like), -2 that the trick is free of suit
        # [suit of the first number + 1, card]: who wins without beasts and without both King and
        # mermaid is who has the highest key less his place in the trick; 0 never wins
        # (docs/skullking.md, 4.1)
        ("trick_key", "i2", (5, t.NUM_CARDS + 2)),
        # What the compiled code counts in a trick: 4-bit fields at the places of Tally, so that one
        # addition counts all; and the entries of STATE_DTYPE `counts` as the bytes of one word.
        ("tally", "u8", (t.NUM_CARDS + 2,)),
        ("count", "u1", (t.NUM_CARDS, 8)),
    ],
    align=True,
)

# How a scripted player plays: a Bot.
BOT_DTYPE = np.dtype([("kind", "i4")], align=True)

# What all lanes of an engine read and none writes.
SHARED_DTYPE = np.dtype([("rules", RULES_DTYPE), ("tables", TABLES_DTYPE)], align=True)


def _trick_key(card: int, led: int) -> int:
    """Order of effective classes in a trick, with room below for the place; 0 never wins."""
    if card in (t.TIGRESS_AS_ESCAPE, t.TIGRESS_AS_PIRATE):
        rank = 70 if card == t.TIGRESS_AS_PIRATE else 1
    elif t.SUIT[card] == t.TRUMP:
        rank = 40 + t.NUMBER[card]
    elif t.CLASS[card] == t.CardClass.NUMBER:
        rank = 20 + t.NUMBER[card] if t.SUIT[card] == led else 0
    else:
        rank = {
            t.CardClass.MERMAID: 60,
            t.CardClass.PIRATE: 70,
            t.CardClass.KING: 80,
            t.CardClass.KRAKEN: 0,
            t.CardClass.WHALE: 0,
        }.get(t.CLASS[card], 1)
    return 8 * rank + 7 if rank else 0


# The entry of card 0 in `order_bit` is empty, because unused slots of a hand are 0: the King, and
# the Whale with two high numbers, have entries behind the cards. Behind the four suits of
# `order_suit` are the specials and the high numbers.
ORDER_KING, ORDER_WHALE_HIGH = t.NUM_CARDS, t.NUM_CARDS + 1
ORDER_SPECIALS, ORDER_HIGH = 4, 5


def _order(row: np.ndarray) -> None:
    """Fill the tables of cards by play strength."""
    entries = [(t.PLAY_STRENGTH[card], card, card) for card in range(t.NUM_CARDS)]
    entries[t.KING] = (t.PLAY_STRENGTH[t.KING], t.KING, ORDER_KING)
    entries.append((t.PLAY_STRENGTH_WHALE_HIGH, t.WHALE, ORDER_WHALE_HIGH))
    for order, sign in enumerate((-1, 1)):
        for place, (_, card, entry) in enumerate(sorted((sign * s, c, e) for s, c, e in entries)):
            word, bit = place // 64, np.uint64(1 << place % 64)
            row["order"][0, order, place] = card
            row["order_bit"][0, order, word, entry] = bit
            if entry != ORDER_WHALE_HIGH:
                suit = t.SUIT[card] if t.SUIT[card] >= 0 else ORDER_SPECIALS
                row["order_suit"][0, order, word, suit] |= bit
                if t.NUMBER[card] >= 12:
                    row["order_suit"][0, order, word, ORDER_HIGH] |= bit


class Tally(IntEnum):
    """Lowest bit of what `tally` counts of a trick."""

    FOURTEENS = 0  # but the Jolly Roger's
    TRUMP_FOURTEENS = 4
    MERMAIDS = 8
    PIRATES = 12
    KINGS = 16
    LOOTS = 20
    KRAKENS = 24
    WHALES = 28


def _tally(card: int) -> int:
    if card >= t.NUM_CARDS:
        return 1 << Tally.PIRATES if card == t.TIGRESS_AS_PIRATE else 0
    if t.NUMBER[card] == 14:
        return 1 << (Tally.TRUMP_FOURTEENS if t.SUIT[card] == t.TRUMP else Tally.FOURTEENS)
    name = f"{t.CLASS[card].name}S"
    return 1 << Tally[name] if name in Tally.__members__ else 0


def _count(card: int) -> tuple[int, ...]:
    classes = (t.CardClass.PIRATE, t.CardClass.KING, t.CardClass.MERMAID, t.CardClass.ESCAPE)
    high = t.NUMBER[card] >= 10 and t.SUIT[card] != t.TRUMP
    return (*(int(t.CLASS[card] == c) for c in classes), int(high), 0, 0, 0)


def _lead(card: int) -> int:
    if card in (t.TIGRESS, t.TIGRESS_AS_ESCAPE, t.TIGRESS_AS_PIRATE):
        return -2 if card == t.TIGRESS_AS_PIRATE else -1
    if t.CLASS[card] in (t.CardClass.ESCAPE, t.CardClass.LOOT):
        return -1
    return t.SUIT[card] if t.CLASS[card] == t.CardClass.NUMBER else -2


def _tables() -> np.ndarray:
    row = np.zeros(1, TABLES_DTYPE)
    tigress = (t.CardClass.ESCAPE, t.CardClass.PIRATE)
    levels = sorted({*t.PLAY_STRENGTH, t.PLAY_STRENGTH_WHALE_HIGH})
    row["strength"] = t.STRENGTH
    row["play_strength"] = t.PLAY_STRENGTH
    row["features"] = t.FEATURES
    row["bid_value"] = t.BID_VALUE
    row["play_rank"] = [levels.index(x) for x in t.PLAY_STRENGTH]
    row["whale_high_rank"] = levels.index(t.PLAY_STRENGTH_WHALE_HIGH)
    row["card_class"] = (*t.CLASS, *tigress)
    row["suit"] = (*t.SUIT, -1, -1)
    row["number"] = (*t.NUMBER, 0, 0)
    _order(row)
    for card, suit in enumerate(t.SUIT):
        members = row["suit_set"][0, suit] if suit >= 0 else row["specials"][0]
        members[card // 64] |= np.uint64(1 << card % 64)
    row["suit_bit"] = [1 << (suit if suit >= 0 else 4) for suit in t.SUIT]
    row["lead"] = [_lead(c) for c in range(t.NUM_CARDS + 2)]
    for led in range(-1, 4):
        row["trick_key"][0, led + 1] = [_trick_key(c, led) for c in range(t.NUM_CARDS + 2)]
    row["tally"] = [_tally(c) for c in range(t.NUM_CARDS + 2)]
    row["count"] = [_count(c) for c in range(t.NUM_CARDS)]
    row.flags.writeable = False
    return row


TABLES = _tables()

# What the compiled code is given; see tools/structs.py.
STRUCTS = {
    "State": STATE_DTYPE,
    "Rules": RULES_DTYPE,
    "Knobs": KNOBS_DTYPE,
    "Tables": TABLES_DTYPE,
    "Shared": SHARED_DTYPE,
    "Params": BOT_DTYPE,
}
CONSTANTS = {
    "MAX_PLAYERS": t.MAX_PLAYERS,
    "MAX_HAND": t.MAX_HAND,
    "MAX_CARDS": t.MAX_CARDS,
    "NUM_CARDS": t.NUM_CARDS,
    "NUM_FACES": t.NUM_CARDS + 2,  # with the Tigress on the table
    "NUM_ACTIONS": t.NUM_ACTIONS,
    "INVALID_LIMIT": t.INVALID_LIMIT,
    "BID_SHARE_UNIT": t.BID_SHARE_UNIT,
    "GRAYBEARD": t.GRAYBEARD,
    "TRUMP": t.TRUMP,
    "CARD_WHALE": t.WHALE,
    "CARD_ROSIE": t.ROSIE,
    "CARD_BENDT": t.BENDT,
    "CARD_RASCAL": t.RASCAL,
    "CARD_JADE": t.JADE,
    "CARD_HARRY": t.HARRY,
    "CARD_TIGRESS": t.TIGRESS,
    "ORDER_KING": ORDER_KING,
    "ORDER_WHALE_HIGH": ORDER_WHALE_HIGH,
    "ORDER_SPECIALS": ORDER_SPECIALS,
    "ORDER_HIGH": ORDER_HIGH,
}
ENUMS: dict[type[IntEnum], str] = {
    t.CardClass: "",
    t.Phase: "",
    t.Tier: "",
    t.Bot: "",
    t.Scoring: "SCORE_",
    t.Abilities: "ABILITIES_",
    t.GoalMode: "GOAL_",
    Tally: "",
}
RENAMED: dict[str, IntEnum] = {
    "TIGRESS_MODE": t.Phase.TIGRESS,  # TIGRESS is the class of cards
    "SCORE_CANNON": t.Scoring.RASCAL_CANNON,
}
