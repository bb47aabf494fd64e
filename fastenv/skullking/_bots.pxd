# The bots of docs/skullking.md, 9 as inline functions; the readable twin is bots.py.
# `rng` is the row's generator inside a game and the policy's own for `bot_actions`.
from libc.math cimport rint
from libc.stdint cimport int8_t, int16_t, uint64_t

from fastenv._rng cimport rng_bounded, rng_uniform
from fastenv.skullking._rules cimport *
from fastenv.skullking._state cimport *


cdef enum Plan:
    PLAN_WIN, PLAN_LOSE, PLAN_MEDIUM


cdef inline int difficulty(int kind) noexcept nogil:
    # 0 EASY, 1 MEDIUM, 2 HARD; the heuristic decides what it shares with the rule bots as HARD.
    return 2 if kind == HEURISTIC else kind - (RULE_PI_EASY if kind >= RULE_PI_EASY else RULE_EASY)


cdef inline double bid_noise(int level) noexcept nogil:
    return 1.0 if level == 0 else 0.5 if level == 1 else 0.2


cdef inline int rule_bid(
    const State* s, const Tables* tb, int seat, int level, uint64_t* rng
) noexcept nogil:
    cdef int i, value = 0
    cdef double x
    for i in range(s.hand_len[seat]):
        value += tb.bid_value[s.hand[seat][i]]
    x = value / 100.0 + (2.0 * rng_uniform(rng) - 1.0) * bid_noise(level)
    return clamp(<int>rint(x), 0, s.cards)


cdef inline int bot_bid(
    const State* s, const Tables* tb, int seat, int kind, uint64_t* rng
) noexcept nogil:
    cdef int bid
    if kind == RANDOM:
        return rng_bounded(rng, s.cards + 1)
    bid = rule_bid(s, tb, seat, difficulty(kind), rng)
    if kind == HEURISTIC:
        bid = clamp(<int>rint((bid + estimate(s, tb, seat)) / 2.0), 0, s.cards)
    return bid


cdef inline int bot_cannon(int kind, uint64_t* rng) noexcept nogil:
    return rng_bounded(rng, 2) if kind == RANDOM else 0


cdef inline int tigress_mode(const State* s, int seat, int card) noexcept nogil:
    return s.bid[seat] > s.won[seat] if card == CARD_TIGRESS else 0


# -- cards --------------------------------------------------------------------------------------

cdef inline int whale_rank(const State* s, const Tables* tb, int seat) noexcept nogil:
    # Stronger with two high numbers among the cards to choose from, here all of the hand.
    cdef int i, high = 0
    for i in range(s.hand_len[seat]):
        high += tb.number[s.hand[seat][i]] >= 12
    return tb.whale_high_rank if high >= 2 else tb.play_rank[CARD_WHALE]


cdef inline void rank_hand(const State* s, const Tables* tb, int seat, int16_t* rank) noexcept nogil:
    # Play strength of every card of a hand as a rank, all of them legal.
    cdef int i
    for i in range(MAX_HAND):
        rank[i] = tb.play_rank[s.hand[seat][i]]
        if s.hand[seat][i] == CARD_WHALE:
            rank[i] = whale_rank(s, tb, seat)


cdef inline int extreme_slot(const int16_t* rank, unsigned slots, bint strongest) noexcept nogil:
    # First slot of maximal or of minimal rank.
    cdef int i, key, best = 0, flip = 0 if strongest else 63
    for i in range(MAX_HAND):
        key = ((64 + (rank[i] ^ flip)) << 4) + 15 - i
        key *= (slots >> i) & 1
        best = key if key > best else best
    return 15 - (best & 15)


cdef inline int rule_card(
    const State* s, const Rules* r, const Tables* tb, int seat, int lead, int kind, uint64_t* rng
) noexcept nogil:
    cdef int rest = s.hand_len[seat] - (kind >= RULE_PI_EASY)
    cdef int needed = s.bid[seat] - s.won[seat]
    cdef int lose = (needed > rest) | (needed <= 0)
    cdef int win = (1 - lose) & ((needed == rest) | (needed > (rest >> 1)))
    cdef int plan = lose + 2 * (1 - lose - win)
    if difficulty(kind) == 0 and rng_uniform(rng) < 0.3:
        plan = rng_bounded(rng, 3)
    return planned_card(s, r, tb, seat, lead, plan)


cdef inline int planned_card(
    const State* s, const Rules* r, const Tables* tb, int seat, int lead, int plan
) noexcept nogil:
    # The first strongest, first weakest or middle legal card. Hands are short and of random
    # length, so that a mispredicted branch costs more than it saves: all slots are looked up.
    cdef int order = plan != PLAN_WIN, i, card
    cdef const int8_t* hand = s.hand[seat]
    cdef const uint64_t* low_bit = tb.order_bit[order][0]
    cdef const uint64_t* high_bit = tb.order_bit[order][1]
    cdef const uint64_t* low_suit = tb.order_suit[order][0]
    cdef const uint64_t* high_suit = tb.order_suit[order][1]
    cdef uint64_t low_legal, high_legal, low, high, free
    card = hand[0] if hand[0] else ORDER_KING
    low, high = low_bit[card], high_bit[card]
    for i in range(1, MAX_CARDS):
        low |= low_bit[hand[i]]
        high |= high_bit[hand[i]]
    # 3.5
    i = lead & 3
    free = (lead < 0) | (((low & low_suit[i]) | (high & high_suit[i])) == 0)
    free = 0 - free
    low_legal = free | low_suit[i] | low_suit[<int>ORDER_SPECIALS]
    high_legal = free | high_suit[i] | high_suit[<int>ORDER_SPECIALS]
    if r.trump_any_time:
        low_legal |= low_suit[<int>TRUMP]
        high_legal |= high_suit[<int>TRUMP]
    low &= low_legal
    high &= high_legal
    if hand[0] == CARD_WHALE or hand[1] == CARD_WHALE:  # only the King can lie before her
        low_legal, high_legal = low & low_suit[<int>ORDER_HIGH], high & high_suit[<int>ORDER_HIGH]
        if low_legal & (low_legal - 1) or high_legal & (high_legal - 1) or (
            low_legal and high_legal
        ):
            low = low & ~low_bit[<int>CARD_WHALE] | low_bit[<int>ORDER_WHALE_HIGH]
            high = high & ~high_bit[<int>CARD_WHALE] | high_bit[<int>ORDER_WHALE_HIGH]
    if plan == PLAN_MEDIUM:
        return tb.order[order][fastenv_middle(low, high)]
    return tb.order[order][fastenv_lowest(low, high)]


cdef inline double win_chance(
    const State* s, const Rules* r, const Tables* tb, int seat, int card
) noexcept nogil:
    # 9.3: 0 if the card would not be winning, 1 if it would and nobody plays after it.
    cdef int8_t cards[MAX_PLAYERS]
    cdef int8_t modes[MAX_PLAYERS]
    cdef int i, n = s.table_len
    for i in range(n):
        cards[i], modes[i] = s.table_card[i], s.table_mode[i]
    cards[n], modes[n] = card, tigress_mode(s, seat, card)
    if resolve(tb, cards, modes, n + 1).winner != n:
        return 0.0
    if n == r.num_hands - 1:
        return 1.0
    return min(1.0, max(0.0, tb.strength[card] + 0.1 * n - 0.1))


cdef inline int heuristic_card(
    const State* s, const Rules* r, const Tables* tb, int seat, unsigned slots
) noexcept nogil:
    cdef int i, card, best = -1
    cdef bint wants = s.bid[seat] > s.won[seat]
    cdef double pw, strength, value, best_value = 0.0
    while slots:
        i = fastenv_lowest_bit(slots)
        slots &= slots - 1
        card = s.hand[seat][i]
        strength = tb.strength[card]
        pw = win_chance(s, r, tb, seat, card)
        if wants:
            value = pw - (0.15 * strength if pw <= 0.5 else 0.0)
        else:
            value = -pw + (0.15 * strength if pw < 0.3 else 0.0)
        if best < 0 or value > best_value:
            best, best_value = i, value
    return best


cdef inline int bot_card(
    const State* s, const Rules* r, const Tables* tb, int seat, int lead, int kind, uint64_t* rng
) noexcept nogil:
    # The card the bot plays when `lead` is the lead suit.
    cdef unsigned slots
    if kind != RANDOM and kind != HEURISTIC:
        return rule_card(s, r, tb, seat, lead, kind, rng)
    slots = legal_slots(s, r, tb, seat, lead)
    if kind == RANDOM:
        return s.hand[seat][nth_bit(slots, rng_bounded(rng, count_bits(slots)))]
    return s.hand[seat][heuristic_card(s, r, tb, seat, slots)]


# -- abilities ----------------------------------------------------------------------------------

cdef inline int bot_discard(
    const State* s, const Tables* tb, int seat, int kind, int taken, uint64_t* rng
) noexcept nogil:
    # One discard for Bendt: a slot other than `taken` (-1: none yet).
    cdef int16_t rank[MAX_HAND]
    cdef unsigned held = ((<unsigned>1) << s.hand_len[seat]) - 1, slots = held
    if taken >= 0:
        slots &= ~((<unsigned>1) << taken)
    if kind == RANDOM:
        return nth_bit(slots, rng_bounded(rng, count_bits(slots)))
    if difficulty(kind) == 0:
        return fastenv_lowest_bit(slots)
    rank_hand(s, tb, seat, rank)
    return extreme_slot(rank, slots, s.bid[seat] <= s.won[seat])


cdef inline int bot_bet(
    const State* s, const Tables* tb, int seat, int kind, uint64_t* rng
) noexcept nogil:
    # Rascal's bet: 0, 1 or 2 for 0, 10 or 20 points.
    cdef int i, n = s.hand_len[seat], needed = s.bid[seat] - s.won[seat]
    if kind == RANDOM:
        return rng_bounded(rng, 3)
    if difficulty(kind) < 2:
        return 1
    if needed > n or needed < 0:
        return 0
    if needed > 0:
        return 1
    for i in range(n):
        if not tb.play_strength[s.hand[seat][i]] < 0.3:  # the Whale never is
            return 1
    return 2


cdef inline int bot_harry(const State* s, int seat, int kind, uint64_t* rng) noexcept nogil:
    # Harry's change of the bid: -1, 0 or +1.
    cdef int bid = s.bid[seat], change = s.won[seat] - bid
    cdef int low = 0 if bid == 0 else -1, high = 0 if bid == s.cards else 1
    if kind == RANDOM:
        return low + <int>rng_bounded(rng, high - low + 1)
    return change if low <= change <= high else 0


cdef inline int bot_lead(const Rules* r, int seat, int kind, uint64_t* rng) noexcept nogil:
    # The seat Rosie lets lead.
    return rng_bounded(rng, r.num_players) if kind == RANDOM else seat


cdef inline int bot_action(
    const State* s, const Rules* r, const Tables* tb, int kind, uint64_t* rng
) noexcept nogil:
    # What the bot would answer to the actor's pending decision.
    cdef int actor = s.actor
    if s.phase == BID:
        return bot_bid(s, tb, actor, kind, rng)
    if s.phase == CANNON:
        return bot_cannon(kind, rng)
    if s.phase == PLAY:
        return slot_of(s, actor, bot_card(s, r, tb, actor, lead_suit(s, r, tb), kind, rng))
    if s.phase == TIGRESS_MODE:
        return s.bid[actor] > s.won[actor]
    if s.phase == ROSIE:
        return (bot_lead(r, actor, kind, rng) - actor + r.num_players) % r.num_players
    if s.phase == BENDT_1 or s.phase == BENDT_2:
        return bot_discard(s, tb, actor, kind, s.first_discard, rng)
    if s.phase == RASCAL:
        return bot_bet(s, tb, actor, kind, rng)
    if s.phase == HARRY:
        return bot_harry(s, actor, kind, rng) + 1
    return 0
