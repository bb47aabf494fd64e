# The rules of Skull King as inline functions on one row; the readable twin is reference.py.
from libc.math cimport rint
from libc.stdint cimport int8_t, uint8_t, uint64_t

from fastenv.skullking._state cimport *

cdef enum:
    SUIT_OPEN = -1  # nothing decided yet
    SUIT_FREE = -2  # a character or beast came first


cdef struct Outcome:
    int winner  # position in the trick, -1: destroyed
    int base  # position that would have won without the beasts, -1: only beasts were played
    int beast  # CardClass of the beast that acted, 0: none
    int beast_position


cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline int fastenv_ctz(unsigned __int64 x) {
        unsigned long i; _BitScanForward64(&i, x); return (int)i;
    }
    #else
    static inline int fastenv_ctz(unsigned long long x) { return __builtin_ctzll(x); }
    #endif
    """
    int fastenv_ctz(uint64_t x) noexcept nogil


cdef inline void set_add(uint64_t* words, int card) noexcept nogil:
    words[card >> 6] |= (<uint64_t>1) << (card & 63)


cdef inline bint set_has(const uint64_t* words, int card) noexcept nogil:
    return (words[card >> 6] >> (card & 63)) & 1


cdef inline int is_special(const Tables* tb, int card) noexcept nogil:
    return tb.card_class[card] != NUMBER


cdef inline int clamp(int x, int low, int high) noexcept nogil:
    return low if x < low else high if x > high else x


# -- 3.5 which cards may be played --------------------------------------------------------------

cdef inline int lead_suit(const State* s, const Rules* r, const Tables* tb) noexcept nogil:
    cdef int i, card, cls
    for i in range(s.table_len):
        card = s.table_card[i]
        cls = tb.card_class[card]
        if cls == NUMBER:
            return tb.suit[card]
        if cls == ESCAPE or cls == LOOT or (cls == TIGRESS and s.table_mode[i] == 0):
            continue
        if not r.late_suit:
            return SUIT_FREE
    return SUIT_OPEN


cdef inline int free_bits(const Rules* r, int lead) noexcept nogil:
    # `suit_bit` of the cards that may be played although the lead suit could be followed.
    return 1 << lead | 1 << 4 | (1 << <int>TRUMP if r.trump_any_time else 0)


cdef inline unsigned legal_slots(
    const State* s, const Rules* r, const Tables* tb, int seat
) noexcept nogil:
    # Bit i: the card in slot i may be played.
    cdef int lead = lead_suit(s, r, tb), i, bit, allowed
    cdef unsigned held = ((<unsigned>1) << s.hand_len[seat]) - 1, follow = 0, free = 0
    if lead < 0:
        return held
    allowed = free_bits(r, lead)
    for i in range(s.hand_len[seat]):
        bit = tb.suit_bit[s.hand[seat][i]]
        follow |= bit & (1 << lead)
        free |= (<unsigned>((bit & allowed) != 0)) << i
    return free if follow else held


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
    return fastenv_ctz(bits)


# -- 4 trick resolution -------------------------------------------------------------------------

cdef inline int face(int card, int mode) noexcept nogil:
    # Index of a card on the table: the Tigress has one for each mode.
    return card + (card == CARD_TIGRESS) * (NUM_CARDS - CARD_TIGRESS + mode)


cdef inline Outcome resolve(
    const Tables* tb, const int8_t* cards, const int8_t* modes, int n
) noexcept nogil:
    # 4.1 is one maximum over keys: class first, then number, then who played earlier.
    cdef int i, f, suit, key, number, standard, best = 0, highest = 0, lead = -1, classes = 0
    cdef Outcome outcome
    for i in range(n):
        f = face(cards[i], modes[i])
        lead = tb.suit[f] if lead < 0 else lead
        classes |= 1 << tb.card_class[f]
    for i in range(n):
        f = face(cards[i], modes[i])
        suit = tb.suit[f]
        number = tb.number[f]
        key = tb.trick_key[f]
        standard = (suit >= 0) & (suit != TRUMP) & (suit != lead)
        key *= 1 - standard
        key += 30 * ((tb.card_class[f] == MERMAID) & (classes >> <int>KING) & 1)
        key = (key << 3) + (7 - i) * (key != 0)
        best = key if key > best else best
        key = (number << 3) + (7 - i) * (number != 0)
        highest = key if key > highest else highest
    outcome.base = 7 - (best & 7) if best else -1
    outcome.winner = outcome.base
    outcome.beast = 0
    outcome.beast_position = -1
    if classes & (1 << <int>KRAKEN | 1 << <int>WHALE):
        for i in range(n):  # of two beasts the second acts
            if tb.card_class[cards[i]] == KRAKEN or tb.card_class[cards[i]] == WHALE:
                outcome.beast = tb.card_class[cards[i]]
                outcome.beast_position = i
        outcome.winner = -1  # 4.2
        if outcome.beast == WHALE and highest:  # 4.3
            outcome.winner = 7 - (highest & 7)
    return outcome


cdef inline int count_captures(
    const State* s, const Rules* r, const Tables* tb, int winner, int8_t* captures
) noexcept nogil:
    # 5: write 14s, Jolly Roger 14, mermaids by pirate, pirates by King, King by mermaid;
    # return the points. A Tigress without `tigress_bonus` is nothing here.
    cdef int i, f, captor, cls, last, trump
    cdef int fourteens = 0, trumps = 0, mermaids = 0, pirates = 0, kings = 0
    captor = tb.card_class[face(s.table_card[winner], s.table_mode[winner] & r.tigress_bonus)]
    for i in range(s.table_len):
        f = face(s.table_card[i], s.table_mode[i] & r.tigress_bonus)
        cls = tb.card_class[f]
        last = tb.number[f] == 14
        trump = tb.suit[f] == TRUMP
        fourteens += last & (1 - trump)
        trumps += last & trump
        mermaids += cls == MERMAID
        pirates += cls == PIRATE
        kings += cls == KING
    captures[0] = fourteens
    captures[1] = trumps
    captures[2] = mermaids * (captor == PIRATE)
    captures[3] = pirates * (captor == KING)
    captures[4] = kings * (captor == MERMAID)
    return (
        10 * captures[0] + 20 * captures[1] + 20 * captures[2] + 30 * captures[3] + 40 * captures[4]
    )


# -- 5, 7.1 scoring -----------------------------------------------------------------------------

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


# -- 10.2 estimate ------------------------------------------------------------------------------

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
