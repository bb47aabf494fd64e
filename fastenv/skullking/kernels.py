"""Observation, action mask, reward and info as Numba kernels over rows; twins of ``encoding.py``.

Every element is the float32 nearest to the double that ``encoding.py`` computes, so both write the
same bits. The cache notices changes in this folder: kernels use nothing from elsewhere. Card ids
and enumerations are repeated here as plain numbers; the tests hold them to ``tables.py``, and
offsets to ``layout.py``.

How the kernels are fast: an observation is zero-filled, then written without branches wherever a
table or a comparison will do; a hand is counted by adding one packed integer a card; and indices
are masked (``& 127``), from which the compiler sees that none is negative and drops Numba's test
for it. Sums run in the order of ``encoding.py``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np
from numba import njit, types

from fastenv.game import Compiled
from fastenv.numba_cache import cached_cfunc
from fastenv.skullking.state import SHARED_DTYPE, STATE_DTYPE

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_INLINE: dict[str, Any] = {"error_model": "numpy", "forceinline": True}
_HELPER: dict[str, Any] = {"error_model": "numpy"}

# Phase, Tier, Reward (tables.py)
BID, PLAY, TIGRESS, ROSIE, BENDT_1, BENDT_2, RASCAL, HARRY, CANNON, END = range(10)
FLAT, MANAGER, WORKER, ABILITY = range(4)
DECIDES = 2  # Abilities.AGENT
POINTS_RANK = 2

NUM_ACTIONS = 11
NUM_REWARDS = 3
NUM_INFO = 18
NUM_SEATS_INFO = 9  # behind them, at a table of seats from outside
NUM_CARDS = 74
MAX_OBS = 640  # more than the longest observation
NUMBERED = 56
HAND_SLOTS = 10
TIGRESS_CARD = 71
OPEN, FREE = -1, -2
BID_SHARE_UNIT = 2520

# -- tables: values whose index is a small integer -------------------------------------------------

# A hand counts as the sum of its cards' entries of PACKED. Counts take four bits (a hand has at
# most eleven cards), single cards one.
AT_SUIT, AT_HIGH, AT_PIRATE, AT_MERMAID, AT_KING, AT_ESCAPE, AT_LOOT = 0, 16, 20, 24, 28, 32, 36
AT_ROSIE, AT_BENDT, AT_RASCAL, AT_JADE, AT_HARRY = 40, 41, 42, 43, 44
AT_TIGRESS, AT_KRAKEN, AT_WHALE = 45, 46, 47


def _packed() -> np.ndarray:
    packed = np.zeros(128, np.int64)
    for card in range(10, 66):  # Jolly Roger, Parrot, Map, Chest
        suit = (3, 0, 1, 2)[(card - 10) // 14]
        high = suit < 3 and (card - 10) % 14 + 1 >= 10
        packed[card] = (1 << (AT_SUIT + 4 * suit)) | (high << AT_HIGH)
    packed[5:10] = [1 << AT_PIRATE | 1 << (AT_ROSIE + k) for k in range(5)]
    packed[3:5] = 1 << AT_MERMAID
    packed[66:71] = 1 << AT_ESCAPE
    packed[72:74] = 1 << AT_LOOT
    packed[[0, 1, 2]] = 1 << AT_KING, 1 << AT_WHALE, 1 << AT_KRAKEN
    packed[TIGRESS_CARD] = 1 << AT_TIGRESS
    return packed


def _lead() -> np.ndarray:
    """Build the table of a first card's effect on the led suit; 74, 75: Tigress escape, pirate."""
    lead = np.full(128, FREE, np.int64)
    for card in range(10, 66):
        lead[card] = (3, 0, 1, 2)[(card - 10) // 14]
    lead[66:75] = OPEN
    return lead


def _ratios() -> np.ndarray:
    """Return clip(a / max(b, 1)) at index ``[b & 15, a & 31]``; ``a`` may be negative."""
    signed = [a if a < 16 else a - 32 for a in range(32)]
    values = [[min(max(a / max(b, 1), -1.0), 1.0) for a in signed] for b in range(16)]
    return np.array(values, np.float32)


def _tenths() -> np.ndarray:
    """Return clip(a / 10) at index ``a & 63``; ``a`` may be negative."""
    signed = [a if a < 32 else a - 64 for a in range(64)]
    return np.array([min(max(a / 10, -1.0), 1.0) for a in signed], np.float32)


PACKED = _packed()
LEAD = _lead()
RATIOS = _ratios()
TENTHS = _tenths()
LEAD_VALUE = np.array([-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 0.0, 0.0], np.float32)
RANK_REWARD = np.array([0.0, 10.0, 3.0, -2.0] + [-5.0] * 12)
DISTANCE_REWARD = np.array([5.0, 2.0, -1.0, -5.0])
CAPTURE_REWARD = np.array([0.3, 0.5, 0.5, 0.7, 1.0])

ONE = np.float32(1.0)
ONE_BITS = 0x3F800000  # 1.0 as an integer: a flag is a product, where a float would be a branch
ZERO = np.float32(0.0)


# -- outputs ---------------------------------------------------------------------------------------

# Kernels get a row of an output as a record, because Numba counts references to arrays at every
# call. `bits` are the same elements as `obs`, as integers.
_OBS = nb.from_dtype(
    np.dtype(
        {
            "names": ["obs", "bits"],
            "formats": [("f4", (MAX_OBS,)), ("i4", (MAX_OBS,))],
            "offsets": [0, 0],
        }
    )
)
_MASK = nb.from_dtype(np.dtype([("legal", "u1", (NUM_ACTIONS,))]))
_REWARDS = nb.from_dtype(np.dtype([("rewards", "f4", (NUM_REWARDS,))]))
_INFO = nb.from_dtype(np.dtype([("info", "i4", (NUM_INFO + NUM_SEATS_INFO,))]))


@njit(**_INLINE)
def _quotient(a, b):
    """Return a/b of integers below 2**24.

    The float32 quotient is what the double quotient rounds to: 53 bits are more than 2*24 + 2.
    """
    return np.float32(a) / np.float32(b)


@njit(**_INLINE)
def _score(total):
    """Return clip(total/500)."""
    return min(max(_quotient(total, 500), np.float32(-1.0)), ONE)


@njit(**_INLINE)
def _round_half_even(x):
    """Round a double far below 2**51: behind the sum there is no room for a fraction."""
    return np.intp((x + 6755399441055744.0) - 6755399441055744.0)


# -- blocks of several tiers -----------------------------------------------------------------------


@njit(**_INLINE)
def _clear(rules, out):
    obs = out.obs
    for k in range(rules.obs_dim):
        obs[k] = ZERO


@njit(**_INLINE)
def _card(features, card, out, o):
    """Copy the nine features of a card; all loads first, so that they become two moves."""
    obs = out.obs
    f0, f1, f2 = features[card, 0], features[card, 1], features[card, 2]
    f3, f4, f5 = features[card, 3], features[card, 4], features[card, 5]
    f6, f7, f8 = features[card, 6], features[card, 7], features[card, 8]
    obs[o], obs[o + 1], obs[o + 2] = f0, f1, f2
    obs[o + 3], obs[o + 4], obs[o + 5] = f3, f4, f5
    obs[o + 6], obs[o + 7], obs[o + 8] = f6, f7, f8


@njit(**_INLINE)
def _hand(row, tables, agent, size, out, o):
    """Write the hand and return the sum of its cards' entries of PACKED."""
    packed = 0
    features = tables.features
    for k in range(min(size, HAND_SLOTS)):
        card = np.intp(row.hand[agent, k]) & 127
        packed += PACKED[card]
        _card(features, card, out, o + 9 * k)
    if size > HAND_SLOTS:
        packed += PACKED[np.intp(row.hand[agent, HAND_SLOTS]) & 127]
    return packed


@njit(**_INLINE)
def _table(row, rules, tables, size, out, o):
    """Write the cards on the table; return the lead suit, and 1 if one is pirate-like, else 0."""
    features = tables.features
    lead, pirates = OPEN, 0
    lowest = OPEN if rules.late_suit else FREE
    for k in range(size):
        card = np.intp(row.table_card[k]) & 127
        if card == TIGRESS_CARD:
            card = 74 + (np.intp(row.table_mode[k]) & 1)
        lead = lead if lead != OPEN else max(LEAD[card], lowest)
        pirates |= PACKED[card] >> AT_PIRATE & 1 | np.intp(card == 75)
        _card(features, card, out, o + 9 * k)
    return lead, pirates


@njit(**_INLINE)
def _rounds(row, out, o):
    """Write the one-hots of round (10) and stage (3)."""
    obs = out.obs
    idx = np.intp(row.round_idx) & 31
    obs[o + min(idx, 9)] = ONE
    obs[o + 10 + min(idx // 3, 2)] = ONE


@njit(**_INLINE)
def _is_ally(row, agent, seat):
    found = False
    for i in range(np.intp(row.num_alliances) & 3):
        a, b = np.intp(row.alliances[i, 0]), np.intp(row.alliances[i, 1])
        found |= (a == seat and b == agent) or (a == agent and b == seat)
    return found


@njit(**_HELPER)
def _allies(row, rules, agent, needed, left, out, allied, o):
    """Write the block ``allies`` at ``o`` and, if ``allied > 0``, a flag for each seat there."""
    obs = out.obs
    players = np.intp(rules.num_players) & 15
    count, good, total = 0, 0, 0.0
    seat = agent
    for j in range(1, players):
        seat = (seat + 1 if seat + 1 < players else 0) & 7
        if _is_ally(row, agent, seat):
            error = np.intp(row.won[seat]) - np.intp(row.bid[seat])
            total += min(max(error / np.intp(row.cards), -1.0), 1.0)
            count += 1
            good += 0 <= -error <= left
            if allied > 0:
                obs[allied + j] = ONE
    if count:
        obs[o] = total / count
        obs[o + 1] = 0.2 * (good if 0 <= needed <= left else 0)


@njit(**_HELPER)
def _bits(low, high, out, o):
    """Write one of the blocks of card memory (docs/skullking.md, 10.7)."""
    obs = out.obs
    for card in range(64):
        obs[o + card] = np.float32((low >> np.uint64(card)) & np.uint64(1))
    for card in range(NUM_CARDS - 64):
        obs[o + 64 + card] = np.float32((high >> np.uint64(card)) & np.uint64(1))


@njit(**_HELPER)
def _memory(row, agent, size, out, o):
    """Write the card memory at ``o`` (docs/skullking.md, 10.7)."""
    obs = out.obs
    for k in range(size):
        obs[o + (np.intp(row.hand[agent, k]) & 127)] = ONE
    _bits(row.played[0], row.played[1], out, o + NUM_CARDS)
    _bits(row.out[0], row.out[1], out, o + 2 * NUM_CARDS)


@njit(**_INLINE)
def _first_actions(row, rules, size):
    """Return how many actions, from 0 on, may be legal in a phase other than PLAY."""
    phase = row.phase
    count = 2  # TIGRESS, CANNON
    if phase == BID:
        count = np.intp(row.cards) + 1
    elif phase == ROSIE:
        count = np.intp(rules.num_players)
    elif phase in (BENDT_1, BENDT_2):
        count = size
    elif phase in (RASCAL, HARRY):
        count = 3
    elif phase == END:
        count = NUM_ACTIONS
    return count


@njit(**_INLINE)
def _mask(row, rules, tables, agent, size, packed, lead, mask):
    """Write the legal actions (docs/skullking.md, 8.1 and 10.3 to 10.6)."""
    legal = mask.legal
    phase = row.phase
    if phase == PLAY:
        allowed = 31  # bit 0: specials, bit 1 + suit
        if lead >= 0 and (packed >> 4 * lead & 15):
            allowed = 1 | (2 << lead) | (16 if rules.trump_any_time else 0)
        for k in range(NUM_ACTIONS):
            legal[k] = 0
        for k in range(size):
            suit = tables.suit[np.intp(row.hand[agent, k]) & 127]
            legal[k] = (allowed >> (np.intp(suit) + 1)) & 1
        return
    count = _first_actions(row, rules, size)
    for k in range(NUM_ACTIONS):
        legal[k] = k < count
    if phase == BENDT_2:
        legal[np.intp(row.first_discard) & 15] = 0
    elif phase == HARRY:
        bid = np.intp(row.bid[agent])
        legal[0] = bid > 0
        legal[2] = bid < row.cards


# -- Worker and Ability tiers (docs/skullking.md, 10.5, 10.6) --------------------------------------


@njit(**_INLINE)
def _worker_part(row, rules, tables, out, mask):
    """Write 0..202 and the mask; return the index behind."""
    _clear(rules, out)
    obs = out.obs
    bits = out.bits
    agent = np.intp(row.actor) & 7
    size = np.intp(row.hand_len[agent]) & 15
    on_table = np.intp(row.table_len) & 7
    slots = np.intp(rules.table_slots) & 15
    players = np.intp(rules.num_players) & 15
    phase = row.phase
    packed = _hand(row, tables, agent, size, out, np.intp(0))
    lead, pirate_played = _table(row, rules, tables, on_table, out, np.intp(90))
    has_bid = row.bid[agent] >= 0
    bid, won = max(np.intp(row.bid[agent]), 0), np.intp(row.won[agent])
    cards, tricks = np.intp(row.cards), np.intp(row.tricks)
    needed, left = bid - won, cards - tricks
    o = 90 + 9 * slots
    # status, needed_flags, urgency, goal, must_win_all
    obs[o] = TENTHS[bid & 63]
    obs[o + 1] = TENTHS[won & 63]
    obs[o + 2] = TENTHS[needed & 63]
    obs[o + 3] = TENTHS[left & 63]
    bits[o + 4] = (needed <= left) * ONE_BITS
    bits[o + 5] = (needed == 0) * ONE_BITS
    bits[o + 6] = (needed < 0) * ONE_BITS
    obs[o + 7] = ZERO if phase == END else RATIOS[left & 15, needed & 31]
    bits[o + 8 + (bid & 15)] = has_bid * ONE_BITS
    bits[o + 19] = ((needed == left) & (left > 0)) * ONE_BITS
    _ability_state(row, agent, out, o + 26)
    # pirates, ability_value, pirate_chance
    pirates = packed >> AT_PIRATE & 15
    if pirates:
        _pirates(packed, pirates, needed, out, o + 20)
        obs[o + 37] = np.float32(0.3) if pirate_played else np.float32(0.8)
    # specials_unseen, progress, position
    specials = np.intp(rules.deck_len) - NUMBERED
    obs[o + 36] = _quotient(specials - np.intp(row.specials_known), specials)
    obs[o + 38] = TENTHS[cards & 63]
    obs[o + 39] = TENTHS[size & 63]
    obs[o + 40] = TENTHS[tricks & 63]
    o += 41
    bits[o + on_table] = ((phase == PLAY) | (phase == TIGRESS)) * ONE_BITS
    o += slots
    # opponents; bids are secret until all have bid
    open_bids = np.intp((phase != BID) & (phase != CANNON))
    seat = agent
    for _ in range(1, players):
        seat = (seat + 1 if seat + 1 < players else 0) & 7
        his_bid, his_won = np.intp(row.bid[seat]) * open_bids, np.intp(row.won[seat])
        his_needed = his_bid - his_won
        obs[o] = TENTHS[his_bid & 63]
        obs[o + 1] = TENTHS[his_won & 63]
        obs[o + 2] = TENTHS[his_needed & 63]
        bits[o + 3] = ((his_needed >= 0) & (his_needed <= left)) * ONE_BITS
        o += 4
    o = 131 + 10 * slots + 4 * (np.intp(rules.opponent_slots) & 15)
    # lead_suit, round, stage, loot, alliances, allies, tigress_pending
    obs[o] = LEAD_VALUE[(lead + 2) & 7]
    _rounds(row, out, o + 1)
    loots = packed >> AT_LOOT & 15
    bits[o + 14] = (loots > 0) * ONE_BITS
    obs[o + 15] = np.float32(0.5) * loots
    if row.num_alliances:
        mine = 0
        for i in range(np.intp(row.num_alliances) & 3):
            mine += (row.alliances[i, 0] == agent) | (row.alliances[i, 1] == agent)
        obs[o + 16] = 0.25 * mine
        _allies(row, rules, agent, needed, left, out, np.intp(0), o + 17)
    bits[o + 19] = (phase == TIGRESS) * ONE_BITS
    _mask(row, rules, tables, agent, size, packed, lead, mask)
    return o + 20


@njit(**_INLINE)
def _ability_state(row, agent, out, o):
    """Write the block ``ability_state`` at ``o``."""
    obs = out.obs
    bits = out.bits
    bits[o] = (row.harry_seat == agent) * ONE_BITS
    obs[o + 1] = TENTHS[row.rascal_bet // 2 * (row.rascal_seat == agent) & 63]
    bits[o + 2] = ((row.phase >= ROSIE) & (row.phase <= HARRY)) * ONE_BITS
    bits[o + 3] = row.rosie_lead * ONE_BITS
    obs[o + 4] = TENTHS[5 * np.intp(row.stock_pos) * (row.bendt_seat == agent) & 63]
    obs[o + 5] = TENTHS[(2 * np.intp(row.abilities_used)) & 63]


@njit(**_HELPER)
def _pirates(packed, pirates, needed, out, o):
    """Write ``pirates`` at ``o`` and ``ability_value`` 12 behind it; there is one in hand."""
    obs = out.obs
    harry, rascal = (packed >> AT_HARRY) & 1, (packed >> AT_RASCAL) & 1
    leader = (packed >> AT_ROSIE) & 1 | (packed >> AT_BENDT) & 1
    distance = abs(needed)
    obs[o] = np.float32(harry)
    obs[o + 1] = np.float32(packed >> AT_ROSIE & 1)
    obs[o + 2] = np.float32(packed >> AT_BENDT & 1)
    obs[o + 3] = np.float32(rascal)
    obs[o + 4] = np.float32(packed >> AT_JADE & 1)
    obs[o + 5] = TENTHS[(2 * pirates) & 63]
    obs[o + 12] = min(0.25 * pirates, 1.0)
    if harry and distance <= 2:
        obs[o + 13] = 0.8
    elif rascal and needed >= 0:
        obs[o + 13] = 0.6
    elif leader:
        obs[o + 13] = 0.4
    if harry:
        obs[o + 14] = 0.3 if distance == 0 else 0.9 if distance == 1 else 0.5
    if rascal:
        obs[o + 15] = 0.8 if needed <= 0 else 0.5 if needed == 1 else 0.2


@njit(**_HELPER)
def _asked_for_bid(row, rules, tables, out, mask):
    """Write what an external seat gets for bid and cannon where the agent has a goal: nothing."""
    _clear(rules, out)
    _mask(row, rules, tables, np.intp(0), np.intp(0), np.intp(0), np.intp(OPEN), mask)


@njit(**_HELPER)
def _worker(row, rules, tables, out, mask):
    """Write observation and mask of the Worker tier."""
    if row.phase in (BID, CANNON) and not rules.all_seats:
        _asked_for_bid(row, rules, tables, out, mask)
        return
    end = _worker_part(row, rules, tables, out, mask)
    if rules.memory:
        agent = np.intp(row.actor) & 7
        _memory(row, agent, np.intp(row.hand_len[agent]) & 15, out, end)


@njit(**_INLINE)
def _ability(row, rules, tables, out, mask):
    """Write observation and mask of the Ability tier."""
    if row.phase in (BID, CANNON) and not rules.all_seats:
        _asked_for_bid(row, rules, tables, out, mask)
    else:
        _ability_view(row, rules, tables, out, mask)


@njit(**_INLINE)
def _ability_view(row, rules, tables, out, mask):
    o = _worker_part(row, rules, tables, out, mask)
    o = _decisions(row, rules, tables, out, o)
    if rules.memory:
        agent = np.intp(row.actor) & 7
        _memory(row, agent, np.intp(row.hand_len[agent]) & 15, out, o)


@njit(**_INLINE)
def _decisions(row, rules, tables, out, o):
    """Write the blocks from ``decision`` on at ``o``; return the index behind."""
    obs = out.obs
    bits = out.bits
    agent = np.intp(row.actor) & 7
    players = np.intp(rules.num_players) & 15
    phase = np.intp(row.phase)
    bid, won = np.intp(row.bid[agent]), np.intp(row.won[agent])
    needed, left = bid - won, np.intp(row.cards) - np.intp(row.tricks)
    seats = max(6, players)
    if phase in (PLAY, TIGRESS):
        obs[o] = ONE
    elif ROSIE <= phase <= HARRY:
        obs[o + phase - 2] = ONE
    if phase == ROSIE:
        seat = agent
        for j in range(players):
            wanted = np.intp(row.bid[seat]) - np.intp(row.won[seat])
            obs[o + 6 + j] = min(max(0.5 + wanted / (2 * max(left, 1)), -1.0), 1.0)
            seat = (seat + 1 if seat + 1 < players else 0) & 7
    o += 6 + seats
    if phase in (BENDT_1, BENDT_2):
        for k in range(min(np.intp(row.stock_pos), 2)):  # who discards has drawn them
            _card(tables.features, np.intp(row.stock[k]) & 127, out, o + 9 * k)
    bits[o + 18] = (phase == BENDT_2) * ONE_BITS
    bits[o + 19] = (row.first_discard >= 0) * ONE_BITS
    if phase == RASCAL:
        obs[o + 20] = RATIOS[left & 15, needed & 31]
        bits[o + 21] = (needed <= 0) * ONE_BITS
    elif phase == HARRY:
        obs[o + 22] = TENTHS[bid & 63]
        obs[o + 23] = TENTHS[won & 63]
        obs[o + 24] = TENTHS[-needed & 63]
        bits[o + 25] = (needed == 0) * ONE_BITS
    bits[o + 26] = (phase == TIGRESS) * ONE_BITS
    if row.jade_seat == agent:
        obs[o + 27] = _hidden_specials(row, rules)
    return o + 28


@njit(**_HELPER)
def _hidden_specials(row, rules):
    """Return the share of specials among the cards the agent has not seen."""
    known = 0
    for card in range(NUM_CARDS):
        known += np.intp((row.known[card >> 6] >> np.uint64(card & 63)) & np.uint64(1))
    unseen = np.intp(rules.deck_len) - known
    specials = np.intp(rules.deck_len) - NUMBERED - np.intp(row.specials_known)
    return _quotient(specials, unseen) if unseen else ZERO


# -- flat tier (docs/skullking.md, 10.3) -----------------------------------------------------------


@njit(**_INLINE)
def _strengths(row, tables, agent, size):
    """Return sum, maximum and the number above 0.7 of the strengths in hand."""
    total, best, high = 0.0, 0.0, 0
    for k in range(size):
        s = tables.strength[np.intp(row.hand[agent, k]) & 127]
        total += s
        best = max(best, s)
        high += s > 0.7
    return total, best, high


@njit(**_INLINE)
def _estimate(x, high, packed, cards):
    """Return est(hand) (docs/skullking.md, 10.2), from the sum ``x`` of its strengths on."""
    longest = max((packed >> 0 & 15), (packed >> 4 & 15), (packed >> 8 & 15))
    if longest >= max(0.6 * cards, 3.0):
        x += 0.5
    if (packed >> AT_MERMAID & 15) and high >= 2:
        x -= 0.5
    if cards >= 5 and (packed >> AT_PIRATE & 15) >= 2:
        x += 0.3
    x -= 0.4 * (packed >> AT_ESCAPE & 15)
    if packed >> AT_KING & 15:
        x += 0.2
    return min(max(_round_half_even(x), 0), cards)


@njit(**_INLINE)
def _flat(row, rules, tables, out, mask):
    """Write observation and mask of the flat tier."""
    _clear(rules, out)
    obs = out.obs
    bits = out.bits
    agent = np.intp(row.actor) & 7
    size = np.intp(row.hand_len[agent]) & 15
    on_table = np.intp(row.table_len) & 7
    slots = np.intp(rules.table_slots) & 15
    players = np.intp(rules.num_players) & 15
    opponents = np.intp(rules.opponent_slots) & 15
    phase = row.phase
    bidding = row.bid[agent] < 0
    bid, won = max(np.intp(row.bid[agent]), 0), np.intp(row.won[agent])
    cards, tricks = np.intp(row.cards), np.intp(row.tricks)
    needed, left = bid - won, cards - tricks
    rounds = np.intp(row.rounds_done) & 31
    obs[1 if phase == BID else 2 if phase == PLAY else 3 if phase == END else 0] = ONE
    packed = _hand(row, tables, agent, size, out, np.intp(4))
    lead, _ = _table(row, rules, tables, on_table, out, np.intp(94))
    total, best, high = _strengths(row, tables, agent, size)
    o = 94 + 9 * slots
    # status
    obs[o] = TENTHS[cards & 63]
    obs[o + 1] = TENTHS[size & 63]
    obs[o + 2] = TENTHS[bid & 63]
    obs[o + 3] = TENTHS[won & 63]
    obs[o + 4] = TENTHS[needed & 63]
    obs[o + 5] = TENTHS[left & 63]
    bits[o + 6] = ((needed >= 0) & (needed <= left)) * ONE_BITS
    obs[o + 7] = TENTHS[(_estimate(total, high, packed, cards)) & 63]
    # opponents and, behind hand_counts and position, opponent_history
    o += 8
    h = o + 3 * opponents + 4 + slots
    secret = (phase == BID) | (phase == CANNON)
    seat = agent
    for _ in range(1, players):
        seat = (seat + 1 if seat + 1 < players else 0) & 7
        obs[o] = ZERO if secret else TENTHS[row.bid[seat] & 63]
        obs[o + 1] = _score(row.total[seat])
        obs[o + 2] = TENTHS[row.won[seat] & 63]
        obs[h] = _quotient(row.bid_sum[seat], max(10 * rounds, 1))
        obs[h + 1] = min(_quotient(row.abs_error[seat], max(5 * rounds, 1)), ONE)
        o += 3
        h += 2
    o = 102 + 9 * slots + 3 * opponents
    # hand_counts, position
    obs[o] = TENTHS[(2 * (packed >> AT_PIRATE & 15)) & 63]
    obs[o + 1] = np.float32(packed >> AT_KING & 15)
    obs[o + 2] = np.float32(0.5) * (packed >> AT_MERMAID & 15)
    obs[o + 3] = TENTHS[(packed >> AT_HIGH & 15) & 63]
    bits[o + 4 + on_table] = ((phase == PLAY) | (phase == TIGRESS)) * ONE_BITS
    o += 4 + slots + 2 * opponents
    # played_counts, progress, pressure, played_last
    for k in range(5):
        obs[o + k] = min(_quotient(row.counts[k], cards * players), ONE)
    obs[o + 5] = RATIOS[cards & 15, tricks & 31]
    pressure = (
        np.float32(-0.5) if needed <= 0 else RATIOS[left & 15, needed & 31] * np.float32(left > 0)
    )
    obs[o + 6] = ZERO if bidding else pressure
    obs[o + 7] = RATIOS[tricks & 15, row.played_last[agent] & 31]
    # strength
    if size:
        seen = tricks * np.intp(rules.num_hands) + on_table
        mean = row.seen_strength / seen if seen else 0.0
        obs[o + 8] = best - mean
        obs[o + 9] = total / size - mean
    # round, goal, loot, allied, allies; there is no stage, the goal lies where it would begin
    _rounds(row, out, o + 10)
    o += 20
    obs[o] = TENTHS[bid & 63]
    loots = packed >> AT_LOOT & 15
    bits[o + 1] = (loots > 0) * ONE_BITS
    obs[o + 2] = np.float32(0.5) * loots
    if row.num_alliances:
        _allies(row, rules, agent, needed, left, out, o + 3, o + 3 + slots)
    _mask(row, rules, tables, agent, size, packed, lead, mask)
    o += 5 + slots
    if rules.abilities == DECIDES:
        _ability_state(row, agent, out, o)
        o = _some_decisions(row, rules, tables, out, o + 6)
    if rules.memory:
        _memory(row, agent, size, out, o)


@njit(**_HELPER)
def _some_decisions(row, rules, tables, out, o):
    """Do the same as ``_decisions``, apart from the flat tier, which seldom has them."""
    return _decisions(row, rules, tables, out, o)


# -- Manager tier (docs/skullking.md, 10.4) --------------------------------------------------------


@njit(**_HELPER)
def _hit_rate(hits, rounds):
    return _quotient(hits, rounds) if rounds else np.float32(0.5)


@njit(**_HELPER)
def _manager(row, rules, tables, out, mask):
    """Write observation and mask of the Manager tier."""
    _clear(rules, out)
    obs = out.obs
    bits = out.bits
    agent = np.intp(row.actor) & 7
    size = np.intp(row.hand_len[agent]) & 15
    packed = _hand(row, tables, agent, size, out, np.intp(0))
    _manager_hand(row, tables, agent, size, packed, out)
    o = _manager_record(row, rules, agent, packed, out)
    _rounds(row, out, o)
    loots = packed >> AT_LOOT & 15
    bits[o + 13] = (loots > 0) * ONE_BITS
    obs[o + 14] = np.float32(0.5) * loots
    if row.phase == CANNON:
        obs[o + 16] = ONE
        obs[o + 17] = TENTHS[row.bid[agent] & 63]
    _mask(row, rules, tables, agent, size, packed, np.intp(OPEN), mask)
    if rules.memory:
        _memory(row, agent, size, out, o + 19)


@njit(**_HELPER)
def _manager_hand(row, tables, agent, size, packed, out):
    """Write what depends on the hand alone: 90..109 and the block ``abilities``."""
    obs = out.obs
    pirates, kings = (packed >> AT_PIRATE & 15), (packed >> AT_KING & 15)
    mermaids, trumps = (packed >> AT_MERMAID & 15), (packed >> 12 & 15)
    strength, _, _ = _strengths(row, tables, agent, size)
    mean = strength / size if size else 0.0
    best, numbers, points = 0, 0, 0
    for k in range(size):
        card = np.intp(row.hand[agent, k]) & 127
        number = np.intp(tables.number[card])
        points += number
        numbers += number > 0
        if tables.suit[card] == 3:
            best = max(best, number)
    obs[90] = TENTHS[row.cards & 63]
    obs[91] = TENTHS[size & 63]
    obs[92] = TENTHS[(2 * pirates) & 63]
    obs[93] = np.float32(kings)
    obs[94] = np.float32(0.5) * mermaids
    obs[95] = TENTHS[(2 * (packed >> AT_ESCAPE & 15)) & 63]
    obs[96] = TENTHS[(packed >> AT_HIGH & 15) & 63]
    obs[97] = np.float32(0.5) * (packed >> AT_LOOT & 15)
    tigress = (packed >> AT_TIGRESS) & 1
    obs[98] = _quotient(pirates + kings + mermaids + tigress, 9)
    obs[99] = mean
    obs[100] = np.float32(tigress)
    obs[101] = min(0.25 * trumps, 1.0)
    obs[102] = TENTHS[trumps & 63]
    obs[103] = RATIOS[size & 15, trumps & 31]
    obs[104] = _quotient(best, 14)
    obs[105] = _quotient(points, 14 * max(numbers, 1))
    for suit in range(4):
        obs[106 + suit] = TENTHS[(packed >> 4 * suit & 15) & 63]
    harry, bendt = np.float32(packed >> AT_HARRY & 1), np.float32(packed >> AT_BENDT & 1)
    rosie, rascal = np.float32(packed >> AT_ROSIE & 1), np.float32(packed >> AT_RASCAL & 1)
    jade = np.float32(packed >> AT_JADE & 1)
    obs[118] = harry
    obs[119] = 0.5 + 0.5 * (1 - 2 * abs(mean - 0.5)) if harry else 0.0
    obs[120] = rosie
    obs[121] = bendt
    obs[122] = rascal
    obs[123] = jade
    obs[124] = TENTHS[(2 * pirates) & 63]
    obs[125] = min(0.2 * pirates, 1.0)
    obs[126] = min((1.0 * harry + 0.3 * bendt) / 1.5, 1.0)
    obs[127] = 0.15 * rascal + 0.05 * jade + 0.10 * rosie


@njit(**_HELPER)
def _manager_record(row, rules, agent, packed, out):
    """Write the public record, 110..117 and ``opponents``; return the index of ``round``."""
    players = np.intp(rules.num_players) & 15
    rounds = np.intp(row.rounds_done) & 31
    some = max(rounds, 1)
    first = np.intp(row.first_leader)
    obs = out.obs
    bits = out.bits
    shares, hits = 0, 0
    for seat in range(players):
        shares += np.intp(row.bid_share[seat])
        hits += np.intp(row.hits[seat])
    mine = np.intp(row.hits[agent])
    obs[110] = min(_quotient(shares, 2 * BID_SHARE_UNIT * some), ONE)
    obs[111] = _hit_rate(mine, rounds)
    obs[112] = _quotient(row.error[agent], 10 * some)
    bits[113] = (first == agent) * ONE_BITS
    obs[114] = _quotient((agent - first + players) % players, players - 1)
    obs[115] = np.float32(packed >> AT_KRAKEN & 1)
    obs[116] = np.float32(packed >> AT_WHALE & 1)
    obs[117] = _score(row.total[agent])
    o = 128
    seat = agent
    for _ in range(1, players):
        seat = (seat + 1 if seat + 1 < players else 0) & 7
        better = 0
        for other in range(players):
            better += row.total[other] > row.total[seat]
        obs[o] = _score(row.total[seat])
        obs[o + 1] = TENTHS[row.last_bid[seat] & 63]
        obs[o + 2] = _hit_rate(np.intp(row.hits[seat]), rounds)
        obs[o + 3] = _quotient(row.error[seat], 10 * some)
        obs[o + 4] = _quotient(row.bid_share[seat], BID_SHARE_UNIT * some)
        obs[o + 5] = _quotient((seat - first + players) % players, players - 1)
        obs[o + 6] = _quotient(row.zero_bids[seat], some)
        obs[o + 7] = _quotient(better, players - 1)
        o += 8
    o = 128 + 8 * (np.intp(rules.opponent_slots) & 15)
    obs[o + 15] = _hit_rate(hits - mine, (players - 1) * rounds)
    return o


# -- rewards (docs/skullking.md, 10.3 to 10.6) and info --------------------------------------------


@njit(**_INLINE)
def _is_paid(row):
    """While a seat is asked that is played from outside, nothing is paid yet."""
    return row.done != 0 or (row.actor == row.agent and row.ev_phase >= 0)


@njit(**_INLINE)
def _pay(row, rules, shaped, columns):
    """Write the three rewards and return the selected one."""
    rewards = columns.rewards
    points = np.intp(row.ev_points) / 10 if row.ev_round else 0.0
    ranked = points + RANK_REWARD[row.ev_rank & 15]
    if row.ev_invalid:
        shaped = -0.5 + (-5.0 if row.ev_invalid == 2 else 0.0)
        points = ranked = shaped
    rewards[0] = shaped
    rewards[1] = points
    rewards[2] = ranked
    return rewards[rules.reward & 3]


@njit(**_HELPER)
def _card_quality(s, wanted):
    if wanted > 0:
        return 1.0 if s > 0.6 else -0.5 if s < 0.3 else 0.0
    if wanted == 0:
        return 0.5 if s < 0.4 else -0.3 if s > 0.7 else 0.0
    return 0.0


@njit(**_INLINE)
def _flat_reward(row, rules, tables, columns):
    reward = 0.0
    wanted = np.intp(row.ev_needed)
    phase = row.ev_phase
    if phase == BID:
        distance = abs(np.intp(row.ev_action) - np.intp(row.ev_estimate))
        reward += 0.1 + 2 * (1 - distance / np.intp(row.ev_cards))
    if row.ev_card >= 0 and phase in (PLAY, TIGRESS):
        reward += 0.1
        reward += _card_quality(tables.strength[np.intp(row.ev_card) & 127], wanted)
    if row.ev_trick == 1:
        reward += 3.0 if wanted > 0 else -2.0 if wanted == 0 else 0.0
        for k in range(5):
            reward += CAPTURE_REWARD[k] * np.intp(row.ev_captures[k])
    elif row.ev_trick == 2:
        if wanted == 0:
            reward += 1.5
        elif wanted > 0 and wanted <= row.ev_left - 1:
            reward += -1.0
    if row.ev_round:
        distance = abs(np.intp(row.ev_bid) - np.intp(row.ev_won))
        reward += DISTANCE_REWARD[min(distance, 3) & 3]
        reward += 2.0 * np.intp(row.ev_alliances)
    return _pay(row, rules, reward + RANK_REWARD[row.ev_rank & 15], columns)


@njit(**_INLINE)
def _manager_reward(row, rules, tables, columns):
    distance = abs(np.intp(row.ev_bid) - np.intp(row.ev_won))
    reward = 0.0
    if row.ev_round:
        if distance == 0:
            reward = 5.0 + (0.5 * np.intp(row.ev_cards) if row.ev_bid == 0 else 0.0)
        elif distance < 3:
            reward = 1.0 if distance == 1 else -1.0
        else:
            reward = -2.0 - 0.5 * distance
    return _pay(row, rules, reward, columns)


@njit(**_HELPER)
def _trick_reward(row, rules):
    wanted, rest = np.intp(row.ev_needed), np.intp(row.ev_left) - 1
    if row.ev_trick == 1:
        if rules.needed_after:
            wanted -= 1
        return 3.0 if wanted > 0 else -1.5 if wanted == 0 else -2.0
    if row.ev_trick == 2:
        return 0.5 if wanted <= rest else 0.0 if wanted == rest + 1 else -1.0
    return 0.0


@njit(**_HELPER)
def _ability_reward(row, rules, tables):
    """Judge a decision of the phases ROSIE to HARRY (docs/skullking.md, 10.6)."""
    phase, wanted, action = row.ev_phase, np.intp(row.ev_needed), np.intp(row.ev_action)
    if phase == ROSIE:
        if rules.rosie_shaping:
            return 0.1 if action == 0 else -0.05
    elif phase in (BENDT_1, BENDT_2):
        return _discard_reward(np.intp(row.ev_card) & 127, wanted > 0, tables)
    elif phase == RASCAL:
        bet = 10 * action
        return 0.005 * (bet if wanted <= 0 else -bet if wanted > row.ev_left else 0)
    elif phase == HARRY:
        change = action - 1
        if change == -wanted:
            return 0.3 if change else 0.1
        if change != 0 and change == wanted:
            return -0.2
    return 0.0


@njit(**_HELPER)
def _discard_reward(card, wants_tricks, tables):
    packed = PACKED[card]
    if packed >> AT_ESCAPE & 15:
        return 0.1 if wants_tricks else -0.05
    if (packed >> AT_PIRATE & 15) or (packed >> AT_KING & 15) or (packed >> AT_MERMAID & 15):
        return -0.15 if wants_tricks else 0.05
    if packed >> AT_HIGH & 15:
        return -0.1 if wants_tricks else 0.05
    standard = 0 <= tables.suit[card] <= 2
    return 0.1 if standard and tables.number[card] <= 5 else 0.0


@njit(**_INLINE)
def _worker_reward(row, rules, tables, columns):
    reward = _trick_reward(row, rules)
    exact = row.ev_won == row.ev_bid
    if row.ev_round and exact:
        reward += rules.goal_bonus
    if row.ev_phase >= ROSIE and row.ev_phase <= HARRY:
        reward += _ability_reward(row, rules, tables)
    if row.ev_round:
        bet = np.intp(row.ev_bet)
        reward += 0.01 * (bet if exact else -bet)
    return _pay(row, rules, reward, columns)


@njit(**_HELPER)
def _allies_on_track(row, rules, agent):
    left, count = np.intp(row.cards) - np.intp(row.tricks), 0
    for seat in range(np.intp(rules.num_players) & 15):
        needed = max(np.intp(row.bid[seat]), 0) - np.intp(row.won[seat])
        count += 0 <= needed <= left and _is_ally(row, agent, seat)
    return count


@njit(**_INLINE)
def _info(row, rules, out):
    info = out.info
    agent = np.intp(row.agent) & 7
    total = row.total[agent]
    rank = 1
    for seat in range(np.intp(rules.num_players) & 15):
        rank += row.total[seat] > total
    idx = np.intp(row.round_idx) & 31
    info[0] = idx + 1
    info[1] = row.cards
    info[2] = row.bid[agent]
    info[3] = row.won[agent]
    info[4] = row.ev_points
    info[5] = total
    info[6] = rank
    info[7] = min(idx // 3, 2)
    info[8] = row.phase
    info[9] = row.ev_round
    info[10] = row.ev_cards if row.ev_round else 0
    info[11] = row.ev_bid
    info[12] = row.ev_won
    info[13] = row.ev_bonus
    info[14] = row.ev_alliances
    info[15] = row.ev_rank
    info[16] = row.ev_invalid != 0
    info[17] = _allies_on_track(row, rules, agent) if row.num_alliances else 0
    if rules.all_seats:
        _seats_info(row, rules, out)


@njit(**_HELPER)
def _seats_info(row, rules, out):
    """Write who decides, and ten times what each seat has been paid (docs/skullking.md, 9.5)."""
    info = out.info
    players = np.intp(rules.num_players) & 15
    ranked = row.ev_rank > 0 and rules.reward == POINTS_RANK
    info[18] = row.actor
    for seat in range(8):
        rank = 1
        for other in range(players):
            rank += row.total[other] > row.total[seat]
        paid = RANK_REWARD[rank & 15] if ranked and seat < players else 0.0
        info[19 + seat] = np.intp(row.total[seat]) + np.intp(10 * paid)


# -- the compiled functions of a tier --------------------------------------------------------------

_state = types.CPointer(nb.from_dtype(STATE_DTYPE))
_shared = types.CPointer(nb.from_dtype(SHARED_DTYPE))
_derived = types.voidptr  # there is none
_reward_out = types.CPointer(types.float32)


@lru_cache
def _cfuncs(tier):
    """Return observe, reward and info of one row as C functions, compiled or from the cache.

    ``tier`` is a constant for the compiler, which leaves out what other tiers need.
    """

    @cached_cfunc(
        types.void(_state, _derived, _shared, types.CPointer(_OBS), types.CPointer(_MASK)),
        **_OPTIONS,
    )
    def observe(state, derived, shared, obs_out, mask_out):
        row, both = nb.carray(state, (1,))[0], nb.carray(shared, (1,))[0]
        rules, tables = both.rules, both.tables
        out, mask = nb.carray(obs_out, (1,))[0], nb.carray(mask_out, (1,))[0]
        if tier == FLAT:
            _flat(row, rules, tables, out, mask)
        elif tier == MANAGER:
            _manager(row, rules, tables, out, mask)
        elif tier == WORKER:
            _worker(row, rules, tables, out, mask)
        else:
            _ability(row, rules, tables, out, mask)

    @cached_cfunc(
        types.int32(_state, _derived, _shared, _reward_out, types.CPointer(_REWARDS)), **_OPTIONS
    )
    def reward(state, derived, shared, reward_out, terms_out):
        row, both = nb.carray(state, (1,))[0], nb.carray(shared, (1,))[0]
        rules, tables = both.rules, both.tables
        terms, out = nb.carray(terms_out, (1,))[0], nb.carray(reward_out, (1,))
        if not _is_paid(row):
            out[0] = terms.rewards[0] = terms.rewards[1] = terms.rewards[2] = ZERO
            return 0
        if tier == FLAT:
            out[0] = _flat_reward(row, rules, tables, terms)
        elif tier == MANAGER:
            out[0] = _manager_reward(row, rules, tables, terms)
        else:
            out[0] = _worker_reward(row, rules, tables, terms)
        return 1

    @cached_cfunc(types.void(_state, _derived, _shared, types.CPointer(_INFO)), **_OPTIONS)
    def info(state, derived, shared, info_out):
        row, both = nb.carray(state, (1,))[0], nb.carray(shared, (1,))[0]
        _info(row, both.rules, nb.carray(info_out, (1,))[0])

    return observe, reward, info


def functions(tier: int, all_seats: bool = False) -> Compiled:
    """Return the functions of one row for the loop over lanes; compiled at the first call.

    Parameters
    ----------
    tier : Tier
        The one that the rules in ``shared`` name.
    all_seats : bool
        The same; the info is then longer.
    """
    observe, reward, info = (function.address for function in _cfuncs(int(tier)))
    sizes = {"state_size": STATE_DTYPE.itemsize, "shared_size": SHARED_DTYPE.itemsize}
    columns = NUM_INFO + (NUM_SEATS_INFO if all_seats else 0)
    sizes |= {"info_size": 4 * columns, "terms_size": _REWARDS.size}
    return Compiled(observe=observe, reward=reward, info=info, **sizes)
