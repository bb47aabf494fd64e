# The rules of Skull King as inline functions on one row; the readable twin is reference.py.
from libc.math cimport rint
from libc.stdint cimport int8_t, int16_t, uint64_t

from fastenv.skullking._state cimport *

cdef enum:
    SUIT_OPEN = -1  # nothing decided yet
    SUIT_FREE = -2  # a character or beast came first


cdef struct Outcome:
    int winner  # position in the trick, -1: destroyed
    int base  # position that would have won without the beasts, -1: only beasts were played
    int beast  # CardClass of the beast that acted, 0: none
    int beast_position
    uint64_t tally  # see Tables.tally


cdef extern from "_portable.h":
    int fastenv_lowest_bit(uint64_t bits) noexcept nogil

cdef extern from "_lanes.h":
    void fastenv_remove(int8_t* hand, int card) noexcept nogil
    int fastenv_count(uint64_t low, uint64_t high) noexcept nogil
    int fastenv_lowest(uint64_t low, uint64_t high) noexcept nogil
    int fastenv_middle(uint64_t low, uint64_t high) noexcept nogil
    void fastenv_sort_hand(int8_t* hand, const int8_t* cards, int n) noexcept nogil


cdef inline void set_add(uint64_t* words, int card) noexcept nogil:
    words[card >> 6] |= (<uint64_t>1) << (card & 63)


cdef inline bint set_has(const uint64_t* words, int card) noexcept nogil:
    return (words[card >> 6] >> (card & 63)) & 1


cdef inline int is_special(const Tables* tb, int card) noexcept nogil:
    return tb.card_class[card] != NUMBER


cdef inline int clamp(int x, int low, int high) noexcept nogil:
    return low if x < low else high if x > high else x


# -- which cards may be played (docs/skullking.md, 3.5) -----------------------------------------

cdef inline int face(int card, int mode) noexcept nogil:
    # Index of a card on the table: the Tigress has one for each mode. As an escape she may keep
    # her own, for which the tables of tricks hold the same.
    return card + mode * (NUM_FACES - 1 - CARD_TIGRESS)


cdef inline int next_lead(const Rules* r, const Tables* tb, int lead, int f) noexcept nogil:
    # The lead suit after one more card on the table, `f` its face.
    cdef int decides = tb.lead[f]
    decides = SUIT_OPEN if r.late_suit and decides == SUIT_FREE else decides
    return decides if lead == SUIT_OPEN else lead


cdef inline int lead_suit(const State* s, const Rules* r, const Tables* tb) noexcept nogil:
    cdef int i, lead = SUIT_OPEN
    for i in range(s.table_len):
        lead = next_lead(r, tb, lead, face(s.table_card[i], s.table_mode[i]))
    return lead


cdef inline int free_bits(const Rules* r, int lead) noexcept nogil:
    # `suit_bit` of the cards that may be played although the lead suit could be followed.
    return 1 << lead | 1 << 4 | (1 << <int>TRUMP if r.trump_any_time else 0)


cdef inline bint holds_suit(const State* s, const Tables* tb, int seat, int suit) noexcept nogil:
    cdef int i, found = 0
    for i in range(s.hand_len[seat]):
        found |= tb.suit[s.hand[seat][i]] == suit
    return found


cdef inline bint is_legal_card(
    const State* s, const Rules* r, const Tables* tb, int seat, int slot, int lead
) noexcept nogil:
    if slot >= s.hand_len[seat]:
        return False
    if lead < 0 or tb.suit_bit[s.hand[seat][slot]] & free_bits(r, lead):
        return True
    return not holds_suit(s, tb, seat, lead)


cdef inline unsigned legal_slots(
    const State* s, const Rules* r, const Tables* tb, int seat, int lead
) noexcept nogil:
    # Bit i: the card in slot i may be played.
    cdef int i, bit, allowed
    cdef unsigned held = ((<unsigned>1) << s.hand_len[seat]) - 1, follow = 0, free = 0
    if lead < 0:
        return held
    allowed = free_bits(r, lead)
    for i in range(s.hand_len[seat]):
        bit = tb.suit_bit[s.hand[seat][i]]
        follow |= bit & (1 << lead)
        free |= (<unsigned>((bit & allowed) != 0)) << i
    return free if follow else held


cdef inline int slot_of(const State* s, int seat, int card) noexcept nogil:
    # Where a hand holds a card that is in it.
    cdef int i = 0
    while s.hand[seat][i] != card:
        i += 1
    return i


cdef inline int count_bits(unsigned bits) noexcept nogil:
    cdef int n = 0
    while bits:
        bits &= bits - 1
        n += 1
    return n


cdef inline int nth_bit(unsigned bits, int n) noexcept nogil:
    while n:
        bits &= bits - 1
        n -= 1
    return fastenv_lowest_bit(bits)


# -- trick resolution (docs/skullking.md, 4) ----------------------------------------------------

cdef inline Outcome resolve(
    const Tables* tb, const int8_t* cards, const int8_t* modes, int n
) noexcept nogil:
    # 4.1 is one maximum over keys: class first, then number, then who played earlier.
    cdef int i, f, suit, key, led = -1, best = 0, highest = 0
    cdef uint64_t tally = 0
    cdef Outcome outcome
    for i in range(n):
        f = face(cards[i], modes[i])
        suit = tb.suit[f]
        led = suit if led < 0 else led
        key = tb.trick_key[led + 1][f] - i
        best = key if key > best else best
        tally += tb.tally[f]
    outcome.base = 7 - (best & 7) if best > 7 else -1
    if (tally >> <int>KINGS) & 1 and (tally >> <int>MERMAIDS) & 15:
        for i in range(n - 1, -1, -1):
            if tb.card_class[cards[i]] == MERMAID:
                outcome.base = i
    outcome.winner = outcome.base
    outcome.beast = 0
    outcome.beast_position = -1
    outcome.tally = tally
    if tally & (<uint64_t>15 << <int>KRAKENS | <uint64_t>15 << <int>WHALES):
        for i in range(n):  # of two beasts the second acts
            if tb.card_class[cards[i]] == KRAKEN or tb.card_class[cards[i]] == WHALE:
                outcome.beast = tb.card_class[cards[i]]
                outcome.beast_position = i
            key = (tb.number[cards[i]] << 3) + 7 - i
            highest = key if key > highest else highest
        outcome.winner = -1  # 4.2
        if outcome.beast == WHALE and highest > 7:  # 4.3
            outcome.winner = 7 - (highest & 7)
    return outcome


cdef inline int count_captures(
    const State* s, const Rules* r, const Tables* tb, Outcome outcome, int8_t* captures
) noexcept nogil:
    # 5: write 14s, Jolly Roger 14, mermaids by pirate, pirates by King, King by mermaid;
    # return the points. A Tigress without `tigress_bonus` is nothing here.
    cdef uint64_t tally = outcome.tally
    cdef int f = face(s.table_card[outcome.winner], s.table_mode[outcome.winner])
    cdef int captor = tb.card_class[f], i
    if not r.tigress_bonus:
        captor = ESCAPE if f >= NUM_CARDS else captor
        for i in range(s.table_len):
            tally -= <uint64_t>s.table_mode[i] << <int>PIRATES
    captures[0] = (tally >> <int>FOURTEENS) & 15
    captures[1] = (tally >> <int>TRUMP_FOURTEENS) & 15
    captures[2] = ((tally >> <int>MERMAIDS) & 15) * (captor == PIRATE)
    captures[3] = ((tally >> <int>PIRATES) & 15) * (captor == KING)
    captures[4] = ((tally >> <int>KINGS) & 15) * (captor == MERMAID)
    return (
        10 * captures[0] + 20 * captures[1] + 20 * captures[2] + 30 * captures[3] + 40 * captures[4]
    )


# -- scoring (docs/skullking.md, 5, 7.1) --------------------------------------------------------

cdef inline int score_bid(
    const Rules* r, int cards, int bid, int won, int bonus, int cannon, int* bonus_paid
) noexcept nogil:
    # Points of one seat without Loot and Rascal's bet; `bonus_paid` is the part from captures.
    cdef int off = won - bid if won > bid else bid - won
    bonus_paid[0] = 0
    if r.scoring == SCORE_SKULL_KING:
        if bid == 0:
            return 10 * cards if won == 0 else -10 * cards
        if off:
            return -10 * off
        bonus_paid[0] = bonus
        return 20 * bid + bonus
    if off == 0:
        bonus_paid[0] = bonus
        return (15 if cannon else 10) * cards + bonus
    if off == 1 and not cannon:
        bonus_paid[0] = bonus // 2
        return 5 * cards + bonus // 2
    return 0


# -- estimate (docs/skullking.md, 10.2) ---------------------------------------------------------

cdef inline int estimate(const State* s, const Tables* tb, int seat) noexcept nogil:
    cdef int suits[4]
    cdef int i, card, cls, longest
    cdef int mermaids = 0, strong = 0, pirates = 0, escapes = 0, kings = 0, cards = s.cards
    cdef double x = 0.0
    suits[0] = suits[1] = suits[2] = suits[3] = 0
    for i in range(s.hand_len[seat]):
        card = s.hand[seat][i]
        cls = tb.card_class[card]
        x += tb.strength[card]
        strong += tb.strength[card] > 0.7
        if cls == NUMBER:
            suits[tb.suit[card]] += 1
        mermaids += cls == MERMAID
        pirates += cls == PIRATE
        escapes += cls == ESCAPE
        kings += cls == KING
    longest = max(suits[0], max(suits[1], suits[2]))
    if <double>longest >= max(0.6 * cards, 3.0):
        x += 0.5
    if mermaids and strong >= 2:
        x -= 0.5
    if cards >= 5 and pirates >= 2:
        x += 0.3
    x -= 0.4 * escapes
    if kings:
        x += 0.2
    return clamp(<int>rint(x), 0, cards)
