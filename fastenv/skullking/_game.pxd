# The state machine of docs/skullking.md, 8 as inline functions on one row; the readable twin is the
# class SkullKing of reference.py. Same steps, same names, same order of draws.
from libc.stdint cimport int8_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from fastenv._rng cimport rng_bounded, rng_next, rng_seed, rng_uniform, splitmix64
from fastenv.skullking._bots cimport *
from fastenv.skullking._rules cimport *
from fastenv.skullking._state cimport *


# -- reset and deal -----------------------------------------------------------------------------

cdef inline void know(State* s, const Tables* tb, int card) noexcept nogil:
    if not set_has(s.known, card):
        set_add(s.known, card)
        s.specials_known += is_special(tb, card)


cdef inline void deal(State* s, const Rules* r) noexcept nogil:
    cdef int8_t deck[NUM_CARDS + 16]  # fastenv_sort_hand reads 16 from any place
    cdef uint64_t rng[4]  # a local copy stays in registers through the shuffle
    cdef int i, seat, n = s.cards, size = r.deck_len
    cdef uint32_t top, other
    cdef int8_t swap
    if r.duplicate_deals:
        rng_seed(rng, s.deal_seed + ((<uint64_t>s.round_idx + 1) << 40))
    else:
        for i in range(4):
            rng[i] = s.rng[i]
    memcpy(deck, r.deck, NUM_CARDS)
    memset(deck + NUM_CARDS, 0, 16)
    for top in range(<uint32_t>size - 1, 0, -1):
        other = rng_bounded(rng, top + 1)
        swap = deck[top]
        deck[top] = deck[other]
        deck[other] = swap
    if not r.duplicate_deals:
        for i in range(4):
            s.rng[i] = rng[i]
    memset(s.hand, 0, sizeof(s.hand))
    for seat in range(r.num_hands):
        s.hand_len[seat] = n
        if seat < r.num_players:
            fastenv_sort_hand(s.hand[seat], deck + seat * n, n)
        else:  # Graybeard's pile keeps the order of the deal
            for i in range(n):
                s.hand[seat][i] = deck[seat * n + i]
    s.stock_pos = 0
    s.stock_len = size - r.num_hands * n
    memset(s.stock, -1, NUM_CARDS)
    for i in range(s.stock_len):
        s.stock[i] = deck[r.num_hands * n + i]


cdef inline bint has_goal(const Rules* r) noexcept nogil:
    # The agent's bid is given as its goal: a Worker's, but not at a table of seats from outside.
    return (r.tier == WORKER or r.tier == ABILITY) and not r.all_seats


cdef inline void draw_goal(State* s, const Tables* tb, const Knobs* k) noexcept nogil:
    cdef int goal
    if k.goal_mode == GOAL_UNIFORM:
        goal = rng_bounded(s.rng, s.cards + 1)
    elif k.goal_mode == GOAL_FIXED:
        goal = min(k.goal, s.cards)
    else:
        goal = estimate(s, tb, s.agent)
        if k.goal_mode == GOAL_ESTIMATE:
            goal = clamp(goal + <int>rng_bounded(s.rng, 3) - 1, 0, s.cards)
    s.bid[s.agent] = goal


cdef inline void start_round(
    State* s, const Rules* r, const Tables* tb, const Knobs* k
) noexcept nogil:
    cdef int i, seat, agent = s.agent
    s.actor = agent
    s.cards = r.schedule[s.round_idx]
    s.tricks = s.destroyed = 0
    memset(s.played_last, 0, sizeof(s.played_last))
    s.played[0] = s.played[1] = s.known[0] = s.known[1] = s.out[0] = s.out[1] = 0
    s.seen_strength = 0.0
    memset(s.bonus, 0, sizeof(s.bonus))
    memset(s.won, 0, sizeof(s.won))
    memset(s.cannon, 0, sizeof(s.cannon))
    memset(s.voids, 0, sizeof(s.voids))
    memset(s.counts, 0, sizeof(s.counts))
    s.specials_known = 0
    s.discard[0] = s.discard[1] = s.jade_seat = s.bendt_seat = -1
    memset(s.alliances, -1, sizeof(s.alliances))
    s.num_alliances = 0
    s.harry_seat = s.rascal_seat = s.first_discard = -1
    s.rascal_bet = s.rosie_lead = s.jade_pos = s.abilities_used = 0
    clear_table(s)
    deal(s, r)
    for i in range(s.hand_len[agent]):
        know(s, tb, s.hand[agent][i])
    s.leader = s.human_leader = s.turn = s.first_leader
    for seat in range(r.num_players):
        s.bid[seat] = -1
    if has_goal(r):
        draw_goal(s, tb, k)
    for seat in range(r.num_players):
        if seat != agent and s.bots[seat] != EXTERNAL:
            s.bid[seat] = bot_bid(s, tb, seat, s.bots[seat], s.rng)
            if r.scoring == SCORE_CANNON:
                s.cannon[seat] = bot_cannon(s.bots[seat], s.rng)
    s.phase = BID


# -- who is asked -------------------------------------------------------------------------------

cdef inline int next_bidder(const State* s, const Rules* r, int seat) noexcept nogil:
    # The next external seat after `seat` on the way round from the agent, -1 if there is none.
    cdef int players = r.num_players
    if not r.external:
        return -1
    while True:
        seat = seat + 1 - players * (seat + 1 == players)
        if seat == s.agent:
            return -1
        if s.bots[seat] == EXTERNAL:
            return seat


cdef inline int first_bidder(const State* s, const Rules* r) noexcept nogil:
    if has_goal(r):
        return next_bidder(s, r, s.agent)
    return s.agent


cdef inline bint ask(State* s, const Tables* tb, int phase, int seat) noexcept nogil:
    # Ask a seat for a decision; False if it is nobody's (-1).
    if seat < 0:
        return False
    s.phase = phase
    give_turn(s, tb, seat)
    return True


cdef inline void give_turn(State* s, const Tables* tb, int seat) noexcept nogil:
    # Make a seat the actor; what counts as known is what that seat has seen.
    if seat != s.actor:
        s.actor = seat
        look_again(s, tb)


cdef inline void look_again(State* s, const Tables* tb) noexcept nogil:
    # Write down what the actor has seen.
    cdef int i, seat = s.actor
    s.out[0] = s.out[1] = 0
    if seat == s.jade_seat:
        for i in range(s.jade_pos, s.stock_len):
            set_add(s.out, s.stock[i])
    if seat == s.bendt_seat:
        for i in range(2):
            if s.discard[i] >= 0:
                set_add(s.out, s.discard[i])
    s.known[0], s.known[1] = s.played[0] | s.out[0], s.played[1] | s.out[1]
    for i in range(s.hand_len[seat]):
        set_add(s.known, s.hand[seat][i])
    s.specials_known = fastenv_count(s.known[0] & tb.specials[0], s.known[1] & tb.specials[1])


cdef inline void clear_table(State* s) noexcept nogil:
    memset(s.table_card, -1, sizeof(s.table_card))
    memset(s.table_seat, -1, sizeof(s.table_seat))
    memset(s.table_mode, 0, sizeof(s.table_mode))
    s.table_len = 0


cdef inline void clear_events(State* s) noexcept nogil:
    s.ev_phase = s.ev_card = -1
    s.ev_action = s.ev_invalid = s.ev_needed = s.ev_left = s.ev_estimate = s.ev_trick = 0
    memset(s.ev_captures, 0, sizeof(s.ev_captures))
    s.ev_cards = s.ev_round = s.ev_bid = s.ev_won = s.ev_alliances = s.ev_bet = s.ev_rank = 0
    s.ev_points = s.ev_bonus = 0


cdef inline int sample_round(State* s, const Rules* r, const Knobs* k) noexcept nogil:
    cdef double u = rng_uniform(s.rng)
    cdef int i
    for i in range(r.num_rounds):
        if u < k.round_cdf[i]:
            return i
    return r.num_rounds - 1


cdef inline void reset_row(
    State* s, const Rules* r, const Tables* tb, const Knobs* k, const uint64_t* seed
) noexcept nogil:
    # Start an episode: with a seed, or (NULL) going on with the row's stream.
    cdef uint64_t rng[4]
    cdef uint64_t deal_seed = 0
    cdef int i, agent
    if seed != NULL:
        rng_seed(rng, seed[0])
        agent = max(k.agent_seat, 0)
        if r.duplicate_deals:
            deal_seed = seed[0]
    else:
        for i in range(4):
            rng[i] = s.rng[i]
        agent = k.agent_seat if k.agent_seat >= 0 else (s.agent + 1) % r.num_players
        if r.duplicate_deals:
            deal_seed = splitmix64(s.deal_seed + <uint64_t>0x9E3779B97F4A7C15)
    memset(s, 0, sizeof(State))
    for i in range(4):
        s.rng[i] = rng[i]
    s.deal_seed = deal_seed
    s.agent = agent
    for i in range(1, r.num_players):
        s.bots[(agent + i) % r.num_players] = k.opponents[i]
    s.bots[agent] = RULE_HARD
    s.abilities = r.abilities if k.abilities else ABILITIES_OFF
    s.pirates = k.pirates
    if not r.full_game:
        s.round_idx = sample_round(s, r, k)
    if r.duplicate_deals:
        rng_seed(rng, deal_seed)
        s.first_leader = rng_bounded(rng, r.num_players)
    else:
        s.first_leader = rng_bounded(s.rng, r.num_players)
    memset(s.last_card, -1, sizeof(s.last_card))
    memset(s.last_seat, -1, sizeof(s.last_seat))
    clear_events(s)
    start_round(s, r, tb, k)
    if has_goal(r):
        if not ask(s, tb, BID, first_bidder(s, r)):
            advance(s, r, tb, k)


# -- playing cards ------------------------------------------------------------------------------

cdef inline int next_seat(const State* s, const Rules* r) noexcept nogil:
    # Whose turn it is; with two players Graybeard is second unless he leads (docs/skullking.md, 7.2).
    cdef int seat
    if r.num_hands == r.num_players:
        seat = s.leader + s.table_len
        return seat - r.num_players * (seat >= r.num_players)
    if s.table_len == 0:
        return s.leader
    if s.leader == GRAYBEARD:
        return s.human_leader if s.table_len == 1 else 1 - s.human_leader
    return GRAYBEARD if s.table_len == 1 else 1 - s.leader


cdef inline void show_void(
    State* s, const Rules* r, const Tables* tb, int seat, int card, int lead
) noexcept nogil:
    # Note what everybody sees: a number card that does not follow. Before the card is laid.
    cdef int suit = lead & 3
    cdef bint follows = (tb.suit_bit[card] & free_bits(r, suit)) != 0
    s.voids[seat] |= <uint8_t>(((lead >= 0) & (1 - follows)) << suit)


cdef inline void put_card(State* s, const Tables* tb, int seat, int card, int mode) noexcept nogil:
    # Put a card on the table that has left the hand.
    cdef uint64_t counts, more
    s.hand_len[seat] -= 1
    s.table_card[s.table_len] = card
    s.table_seat[s.table_len] = seat
    s.table_mode[s.table_len] = mode
    s.table_len += 1
    set_add(s.played, card)
    s.seen_strength += tb.strength[card]
    # five counters as bytes of one word; the last three bytes belong to other fields and get 0
    memcpy(&counts, s.counts, 8)
    memcpy(&more, tb.count[card], 8)
    counts += more
    memcpy(s.counts, &counts, 8)


cdef inline void lay(State* s, const Tables* tb, int seat, int card, int mode) noexcept nogil:
    # Put a card on the table, where the actor sees it.
    put_card(s, tb, seat, card, mode)
    know(s, tb, card)


cdef inline int bot_of(const State* s, int seat) noexcept nogil:
    # Who decides for a seat what is not asked of it.
    return RULE_HARD if s.bots[seat] == EXTERNAL else s.bots[seat]


cdef inline int play_bot(
    State* s, const Rules* r, const Tables* tb, int seat, int lead
) noexcept nogil:
    # Returns the face of the card on the table.
    cdef int mode = 0, card
    if seat < r.num_players:
        card = bot_card(s, r, tb, seat, lead, bot_of(s, seat), s.rng)
        mode = tigress_mode(s, seat, card)
        show_void(s, r, tb, seat, card, lead)
        fastenv_remove(s.hand[seat], card)
    else:  # the top of Graybeard's pile
        card = s.hand[seat][0]
        memmove(s.hand[seat], s.hand[seat] + 1, MAX_HAND - 1)
        s.hand[seat][MAX_HAND - 1] = 0
    lay(s, tb, seat, card, mode)
    return face(card, mode)


cdef inline void ally(State* s, const Rules* r, const Tables* tb, int winner) noexcept nogil:
    cdef int i, seat, n
    for i in range(s.table_len):
        seat = s.table_seat[i]
        if tb.card_class[s.table_card[i]] != LOOT or seat == winner:
            continue
        if seat >= r.num_players or winner >= r.num_players:
            continue  # Graybeard has no bid to keep
        n = s.num_alliances
        s.alliances[n][0] = seat
        s.alliances[n][1] = winner
        s.num_alliances += 1


cdef inline bint finish_trick(State* s, const Rules* r, const Tables* tb) noexcept nogil:
    # Resolve the full table; return True if somebody is now asked about an ability.
    cdef int8_t captures[5]
    cdef Outcome outcome = resolve(tb, s.table_card, s.table_mode, s.table_len)
    cdef int winner = -1, leader, points, i, card = -1
    if outcome.winner >= 0:
        winner = leader = s.table_seat[outcome.winner]
        card = s.table_card[outcome.winner]
        s.won[winner] += 1
        points = count_captures(s, r, tb, outcome, captures)
        if winner < r.num_players:
            s.bonus[winner] += points
        if winner == s.agent and r.tier != MANAGER:
            for i in range(5):
                s.ev_captures[i] = captures[i]
        if (outcome.tally >> <int>LOOTS) & 15:
            ally(s, r, tb, winner)
    else:
        s.destroyed += 1
        leader = void_leader(s, r, outcome)
    if r.tier != MANAGER:
        s.ev_trick = 1 if winner == s.agent else 2
    s.played_last[s.table_seat[s.table_len - 1]] += 1
    s.tricks += 1
    memcpy(s.last_seat, s.table_seat, sizeof(s.last_seat))
    for i in range(s.table_len):
        s.last_card[i] = face(s.table_card[i], s.table_mode[i])
    clear_table(s)
    s.rosie_lead = 0
    set_leader(s, r, leader)
    if CARD_ROSIE <= card <= CARD_HARRY and s.abilities != ABILITIES_OFF and winner < r.num_players:
        return gain_ability(s, r, tb, winner, card)
    return False


cdef inline int void_leader(const State* s, const Rules* r, Outcome outcome) noexcept nogil:
    # 4.4: who leads after a destroyed trick.
    cdef int beast_seat = s.table_seat[outcome.beast_position]
    cdef bint would_win
    if outcome.beast == KRAKEN:
        if r.left_of_kraken:
            return s.table_seat[(outcome.beast_position + 1) % s.table_len]
        would_win = True
    else:
        would_win = r.whale_void_would_win
    if would_win and outcome.base >= 0:
        return s.table_seat[outcome.base]
    return beast_seat


cdef inline void set_leader(State* s, const Rules* r, int seat) noexcept nogil:
    s.leader = seat
    if seat < r.num_players:
        s.human_leader = seat


# -- pirate abilities (docs/skullking.md, 6) ----------------------------------------------------

cdef inline bint decides(const State* s, int seat, int pirate) noexcept nogil:
    # Whether a seat is asked about a pirate, instead of a bot's rule.
    return (
        s.abilities == ABILITIES_AGENT
        and (seat == s.agent or s.bots[seat] == EXTERNAL)
        and ((s.pirates >> (pirate - CARD_ROSIE)) & 1) != 0
    )


cdef inline bint gain_ability(
    State* s, const Rules* r, const Tables* tb, int seat, int pirate
) noexcept nogil:
    # The winner of a trick uses the winning pirate; True if he is asked how.
    cdef int i, kind = bot_of(s, seat)
    if pirate == CARD_HARRY:
        s.harry_seat = seat
        return False
    if s.tricks == s.cards:
        return False
    if pirate == CARD_JADE:
        s.abilities_used += 1
        s.jade_seat = seat
        s.jade_pos = s.stock_pos
        if seat == s.actor:
            for i in range(s.stock_pos, s.stock_len):
                know(s, tb, s.stock[i])
                set_add(s.out, s.stock[i])
        return False
    if pirate == CARD_BENDT and not draw_cards(s, tb, seat):
        return False
    if decides(s, seat, pirate):
        s.turn = seat
        i = ROSIE if pirate == CARD_ROSIE else BENDT_1 if pirate == CARD_BENDT else RASCAL
        return ask(s, tb, i, seat)
    if pirate == CARD_ROSIE:
        use_rosie(s, r, bot_lead(r, seat, kind, s.rng))
    elif pirate == CARD_RASCAL:
        use_rascal(s, seat, bot_bet(s, tb, seat, kind, s.rng))
    else:
        i = bot_discard(s, tb, seat, kind, -1, s.rng)
        if s.hand_len[seat] - (s.cards - s.tricks) == 2:
            s.first_discard = i
            i = bot_discard(s, tb, seat, kind, i, s.rng)
        use_bendt(s, seat, i)
    return False


cdef inline void use_rosie(State* s, const Rules* r, int seat) noexcept nogil:
    set_leader(s, r, seat)
    s.rosie_lead = 1
    s.abilities_used += 1


cdef inline void use_rascal(State* s, int seat, int bet) noexcept nogil:
    s.rascal_seat = seat
    s.rascal_bet = 10 * bet
    s.abilities_used += 1


cdef inline int draw_cards(State* s, const Tables* tb, int seat) noexcept nogil:
    # Bendt draws up to two cards to the end of the hand.
    cdef int k = min(2, s.stock_len - s.stock_pos), _i, card
    if k:
        s.bendt_seat = seat
        s.voids[seat] = 0  # the new cards may be of any suit
    for _i in range(k):
        card = s.stock[s.stock_pos]
        s.stock_pos += 1
        s.hand[seat][s.hand_len[seat]] = card
        s.hand_len[seat] += 1
        if seat == s.actor:
            know(s, tb, card)
    return k


cdef inline void use_bendt(State* s, int seat, int slot) noexcept nogil:
    # Discard the card at `slot`, after the one at `first_discard` if two go.
    cdef int8_t cards[16]
    cdef int i, n = 0, first = s.first_discard
    s.abilities_used += 1
    if first >= 0:
        s.discard[0] = s.hand[seat][first]
        n = 1
    s.discard[n] = s.hand[seat][slot]
    if seat == s.actor:
        for i in range(n + 1):
            set_add(s.out, s.discard[i])
    n = 0
    memset(cards, 0, 16)
    for i in range(s.hand_len[seat]):
        if i != slot and i != first:
            cards[n] = s.hand[seat][i]
            n += 1
    memset(s.hand[seat], 0, MAX_HAND)
    fastenv_sort_hand(s.hand[seat], cards, n)
    s.hand_len[seat] = n
    s.first_discard = -1


cdef inline void use_harry(State* s, int change) noexcept nogil:
    s.bid[s.harry_seat] += change
    s.abilities_used += 1
    s.harry_seat = -1


# -- end of a round -----------------------------------------------------------------------------

cdef inline void score_round(State* s, const Rules* r) noexcept nogil:
    cdef int seat, i, loot, partner, points, off, paid, bonus_paid = 0
    s.ev_round = s.round_idx + 1
    for seat in range(r.num_players):
        points = score_bid(
            r, s.cards, s.bid[seat], s.won[seat], s.bonus[seat], s.cannon[seat], &bonus_paid
        )
        paid = 0
        for i in range(s.num_alliances):
            loot, partner = s.alliances[i][0], s.alliances[i][1]
            if s.bid[loot] == s.won[loot] and s.bid[partner] == s.won[partner]:
                paid += seat == loot or seat == partner
        points += 20 * paid
        off = s.won[seat] - s.bid[seat]
        if seat == s.rascal_seat:
            points += s.rascal_bet if off == 0 else -s.rascal_bet
        s.total[seat] += points
        s.bid_sum[seat] += s.bid[seat]
        s.bid_share[seat] += s.bid[seat] * BID_SHARE_UNIT // s.cards
        s.error[seat] += off
        s.abs_error[seat] += off if off >= 0 else -off
        s.hits[seat] += off == 0
        s.zero_bids[seat] += s.bid[seat] == 0
        s.last_bid[seat] = s.bid[seat]
        if seat == s.agent:
            s.ev_bid = s.bid[seat]
            s.ev_won = s.won[seat]
            s.ev_points = points
            s.ev_bonus = bonus_paid
            s.ev_alliances = paid
            s.ev_bet = s.rascal_bet if s.rascal_seat == seat else 0
    s.rounds_done += 1


cdef inline void end_round(State* s, const Rules* r, const Tables* tb, const Knobs* k) noexcept nogil:
    cdef int seat
    score_round(s, r)
    if r.full_game and s.round_idx + 1 < r.num_rounds:
        s.round_idx += 1
        s.first_leader = (s.first_leader + 1) % r.num_players
        start_round(s, r, tb, k)
        return
    s.done = 1
    s.phase = END
    s.turn = s.agent
    give_turn(s, tb, s.agent)
    if r.full_game:
        s.ev_rank = 1
        for seat in range(r.num_players):
            s.ev_rank += s.total[seat] > s.total[s.agent]


# -- the state machine --------------------------------------------------------------------------

cdef inline void advance(State* s, const Rules* r, const Tables* tb, const Knobs* k) noexcept nogil:
    # Play on until somebody has to be asked or the episode ends.
    cdef int seat, lead = lead_suit(s, r, tb)
    while True:
        if s.table_len == r.num_hands:
            if finish_trick(s, r, tb):
                return
            lead = SUIT_OPEN
        if s.tricks == s.cards:
            if s.harry_seat >= 0:
                seat = s.harry_seat
                if decides(s, seat, CARD_HARRY):
                    s.turn = seat
                    ask(s, tb, HARRY, seat)
                    return
                use_harry(s, bot_harry(s, seat, bot_of(s, seat), s.rng))
            end_round(s, r, tb, k)
            return
        seat = next_seat(s, r)
        if r.tier != MANAGER and (seat == s.agent or s.bots[seat] == EXTERNAL):
            s.turn = seat
            ask(s, tb, PLAY, seat)
            return
        lead = next_lead(r, tb, lead, play_bot(s, r, tb, seat, lead))


cdef inline bint is_legal(
    const State* s, const Rules* r, const Tables* tb, int a, int lead
) noexcept nogil:
    cdef int actor = s.actor
    if s.phase == PLAY:
        return is_legal_card(s, r, tb, actor, a, lead)
    if s.phase == BID:
        return a <= s.cards
    if s.phase == TIGRESS_MODE or s.phase == CANNON:
        return a <= 1
    if s.phase == ROSIE:
        return a < r.num_players
    if s.phase == BENDT_1 or s.phase == BENDT_2:
        return a < s.hand_len[actor] and a != s.first_discard
    if s.phase == RASCAL:
        return a <= 2
    if s.phase == HARRY:
        return 0 <= s.bid[actor] + a - 1 <= s.cards and a <= 2
    return True


cdef inline void apply_action(
    State* s, const Rules* r, const Tables* tb, const Knobs* k, int a, int lead
) noexcept nogil:
    cdef int actor = s.actor, agent = s.agent, phase = s.phase, card = CARD_TIGRESS
    if phase == PLAY or phase == TIGRESS_MODE:
        if phase == PLAY:
            card = s.hand[actor][a]
            if card == CARD_TIGRESS and r.tigress_agent:
                s.phase = TIGRESS_MODE  # she stays in the hand until her mode is chosen
                return
            a = tigress_mode(s, actor, card)
        if actor == agent:
            s.ev_card = card
        show_void(s, r, tb, actor, card, lead)
        fastenv_remove(s.hand[actor], card)
        lay(s, tb, actor, card, a)
    elif phase == BID:
        if actor == agent:
            s.ev_estimate = estimate(s, tb, agent)
        s.bid[actor] = a
        if ask(s, tb, BID, next_bidder(s, r, actor)):
            return
        if r.scoring == SCORE_CANNON and ask(s, tb, CANNON, first_bidder(s, r)):
            return
    elif phase == CANNON:
        s.cannon[actor] = a
        if ask(s, tb, CANNON, next_bidder(s, r, actor)):
            return
    elif phase == ROSIE:
        use_rosie(s, r, (actor + a) % r.num_players)
    elif phase == RASCAL:
        use_rascal(s, actor, a)
    elif phase == HARRY:
        use_harry(s, a - 1)
    else:
        if actor == agent:
            s.ev_card = s.hand[agent][a]
        if phase == BENDT_1 and s.hand_len[actor] - (s.cards - s.tricks) == 2:
            s.first_discard = a
            s.phase = BENDT_2
            return
        use_bendt(s, actor, a)
    advance(s, r, tb, k)


cdef inline void note_decision(State* s, int a) noexcept nogil:
    # The agent's: the events are those since then.
    clear_events(s)
    s.ev_phase = s.phase
    s.ev_action = a
    s.ev_left = s.cards - s.tricks
    s.ev_cards = s.cards
    if s.phase != BID and s.phase != CANNON:
        s.ev_needed = s.bid[s.agent] - s.won[s.agent]


cdef inline void step_row(
    State* s, const Rules* r, const Tables* tb, const Knobs* k, int a
) noexcept nogil:
    cdef int lead = SUIT_OPEN
    if s.done:
        return
    if s.actor == s.agent:  # what external seats decide follows from that, as with bots
        note_decision(s, a)
    if s.phase == PLAY or s.phase == TIGRESS_MODE:
        lead = lead_suit(s, r, tb)
    if not is_legal(s, r, tb, a, lead):
        s.invalid_count += 1
        s.ev_invalid = 1
        if s.invalid_count >= INVALID_LIMIT:
            s.ev_invalid = 2
            s.done = 2
        return
    apply_action(s, r, tb, k, a, lead)
