# The bots of spec section 9 as inline functions; the readable twin is bots.py.
# `rng` is the row's generator inside a game and the policy's own for `bot_actions`.
from libc.math cimport rint
from libc.stdint cimport int8_t, int16_t, uint64_t
from libc.string cimport memset

from fastenv._rng cimport rng_bounded, rng_uniform
from fastenv.skullking._rules cimport *
from fastenv.skullking._state cimport *

cdef enum:
    ANY_SUIT = 31  # all suit bits


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

cdef inline int whale_rank(
    const State* s, const Tables* tb, int seat, int allowed
) noexcept nogil:
    # Stronger with two high numbers among the legal cards, those with a `suit_bit` in `allowed`.
    cdef int i, card, high = 0
    for i in range(s.hand_len[seat]):
        card = s.hand[seat][i]
        high += tb.number[card] >= 12 and (tb.suit_bit[card] & allowed) != 0
    return tb.whale_high_rank if high >= 2 else tb.play_rank[CARD_WHALE]


cdef inline void rank_hand(const State* s, const Tables* tb, int seat, int16_t* rank) noexcept nogil:
    # Play strength of every card of a hand as a rank, all of them legal.
    cdef int i
    for i in range(MAX_HAND):
        rank[i] = tb.play_rank[s.hand[seat][i]]
        if s.hand[seat][i] == CARD_WHALE:
            rank[i] = whale_rank(s, tb, seat, ANY_SUIT)


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
    # The first weakest, first strongest or middle legal card: one element of the ascending order
    # by strength and slot, or, to win, by the flipped strength.
    cdef int16_t key[16]
    cdef int16_t legal[16]
    cdef int16_t* chosen = <int16_t*>key
    cdef const int8_t* hand = s.hand[seat]
    cdef int follows = lead >= 0
    cdef int follow_bit = follows << (lead & 3)
    cdef int allowed = free_bits(r, lead & 3)
    cdef int flip = 63 * (plan == PLAN_WIN)
    cdef int i, bit, follow = 0, k = 0, n = s.hand_len[seat]
    memset(key, 0, sizeof(key))
    memset(legal, 0, sizeof(legal))
    for i in range(n):
        bit = tb.suit_bit[hand[i]]
        follow |= bit & follow_bit
        key[i] = legal[k] = ((tb.play_rank[hand[i]] ^ flip) << 4) + i
        k += (bit & allowed) != 0
    if follow:
        chosen = <int16_t*>legal
    else:
        k = n
    if hand[0] == CARD_WHALE or hand[1] == CARD_WHALE:  # sorted: only the King can lie before her
        i = hand[1] == CARD_WHALE
        bit = ((whale_rank(s, tb, seat, allowed if follow else ANY_SUIT) ^ flip) << 4) + i
        chosen[i] = bit  # specials are always legal, so that she has the same place in both
    return fastenv_nth(chosen, k, (k >> 1) * (plan == PLAN_MEDIUM)) & 15


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
        i = fastenv_ctz(slots)
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
    # The hand slot the bot plays when `lead` is the lead suit.
    cdef unsigned slots
    if kind != RANDOM and kind != HEURISTIC:
        return rule_card(s, r, tb, seat, lead, kind, rng)
    slots = legal_slots(s, r, tb, seat, lead)
    if kind == RANDOM:
        return nth_bit(slots, rng_bounded(rng, count_bits(slots)))
    return heuristic_card(s, r, tb, seat, slots)


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
        return fastenv_ctz(slots)
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
    # What the bot would answer to the agent's pending decision.
    cdef int agent = s.agent
    if s.phase == BID:
        return bot_bid(s, tb, agent, kind, rng)
    if s.phase == CANNON:
        return bot_cannon(kind, rng)
    if s.phase == PLAY:
        return bot_card(s, r, tb, agent, lead_suit(s, r, tb), kind, rng)
    if s.phase == TIGRESS_MODE:
        return s.bid[agent] > s.won[agent]
    if s.phase == ROSIE:
        return (bot_lead(r, agent, kind, rng) - agent + r.num_players) % r.num_players
    if s.phase == BENDT_1 or s.phase == BENDT_2:
        return bot_discard(s, tb, agent, kind, s.first_discard, rng)
    if s.phase == RASCAL:
        return bot_bet(s, tb, agent, kind, rng)
    if s.phase == HARRY:
        return bot_harry(s, agent, kind, rng) + 1
    return 0
