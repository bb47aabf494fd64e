# Rollouts: a row played on by bots in all seats, as inline functions. How one begins and ends is
# as in the readable twin, rollouts.py. Between decisions about cards nobody looks at what the actor
# has seen: it is written down once, when the cards are played.
from libc.stdint cimport uint64_t

from fastenv.skullking._bots cimport *
from fastenv.skullking._game cimport *
from fastenv.skullking._rules cimport *
from fastenv.skullking._state cimport *

cdef enum:
    UNTIL_ROUND = 0  # as in the spec's `stops`
    UNTIL_TRICKS = 1
    NOBODY = -1


cdef struct Rollout:
    Rules rules
    const Tables* tables
    const Knobs* knobs
    const Params* players
    uint64_t* rng
    int taken  # decisions until now
    int limit
    int rounds_done  # when it began
    int tricks  # of this round with which it ends


cdef inline void choose_again(State* s, Rollout* roll, int seat) noexcept nogil:
    # Let a seat that has chosen in secret choose anew: it is another from now on.
    if s.phase == BID:
        s.bid[seat] = bot_bid(s, roll.tables, seat, roll.players[seat].kind, roll.rng)
    else:
        s.cannon[seat] = bot_cannon(roll.players[seat].kind, roll.rng)


cdef inline void begin_bids(State* s, Rollout* roll, bint goal, bint asked_none) noexcept nogil:
    # On the way round from the agent: before the actor all choose anew, unless no player decides
    # anything; after it they will be asked.
    cdef int i, seat = s.agent, phase = s.phase, players = roll.rules.num_players
    cdef bint asked = False
    if phase == BID:
        memset(s.cannon, 0, sizeof(s.cannon))
    for i in range(players):
        if seat == s.actor:
            asked = True
        elif asked:
            s.cannon[seat] = 0
            if phase == BID:
                s.bid[seat] = -1
        elif (i or not goal) and not asked_none:
            choose_again(s, roll, seat)
        seat = seat + 1 - players * (seat + 1 == players)


cdef inline void begin_rollout(
    State* s, Rollout* roll, int until, int number, bint asked_none
) noexcept nogil:
    cdef Rules* r = &roll.rules
    cdef bint goal = has_goal(r)
    cdef int seat
    roll.taken, roll.rounds_done = 0, s.rounds_done
    roll.tricks = MAX_CARDS + 1
    if until == UNTIL_TRICKS:
        roll.tricks = s.tricks + min(number, MAX_CARDS + 1)
    r.tier, r.external = FLAT, 1
    if until == UNTIL_ROUND:
        r.full_game = 0
    for seat in range(r.num_players):
        s.bots[seat] = EXTERNAL
    s.bots[s.agent] = RULE_HARD
    if s.phase == BID or s.phase == CANNON:
        begin_bids(s, roll, goal, asked_none)


cdef inline bint ends(const State* s, const Rollout* roll, int until) noexcept nogil:
    if s.done or roll.taken == roll.limit:
        return True
    return until >= 0 and (s.rounds_done != roll.rounds_done or s.tricks >= roll.tricks)


cdef inline bint next_player(State* s, Rollout* roll, int* lead) noexcept nogil:
    # Go on until a player is to play a card; False if something else comes first.
    cdef const Rules* r = &roll.rules
    cdef const Tables* tb = roll.tables
    cdef int seat
    while True:
        if s.table_len == r.num_hands:
            if finish_trick(s, r, tb):
                return False
            lead[0] = SUIT_OPEN
            if s.tricks == s.cards:
                advance(s, r, tb, roll.knobs)
                return False
        seat = next_seat(s, r)
        if seat < r.num_players:
            s.turn = seat
            return True
        lead[0] = next_lead(r, tb, lead[0], play_bot(s, r, tb, seat, lead[0]))


cdef inline void play_cards(State* s, Rollout* roll, int until) noexcept nogil:
    # Play cards until a player decides about something else or the rollout ends.
    cdef const Rules* r = &roll.rules
    cdef const Tables* tb = roll.tables
    cdef int seat, card, mode, lead = lead_suit(s, r, tb)
    s.actor = NOBODY
    while True:
        seat = s.turn
        card = bot_card(s, r, tb, seat, lead, roll.players[seat].kind, roll.rng)
        roll.taken += 1
        if seat == s.agent:
            note_decision(s, slot_of(s, seat, card))
        if card == CARD_TIGRESS and r.tigress_agent:
            s.phase = TIGRESS_MODE
            break
        if seat == s.agent:
            s.ev_card = card
        mode = tigress_mode(s, seat, card)
        show_void(s, r, tb, seat, card, lead)
        fastenv_remove(s.hand[seat], card)
        put_card(s, tb, seat, card, mode)
        lead = next_lead(r, tb, lead, face(card, mode))
        if not next_player(s, roll, &lead):
            return
        if ends(s, roll, until):
            break
    give_turn(s, tb, s.turn)


cdef inline int rollout_row(
    State* s, const Rules* rules, const Tables* tb, const Knobs* k, const Params* players,
    int action, int until, int number, int limit, uint64_t* rng
) noexcept nogil:
    cdef Rollout roll
    roll.rules, roll.tables, roll.knobs = rules[0], tb, k
    roll.players, roll.rng, roll.limit = players, rng, limit
    begin_rollout(s, &roll, until, number, action >= 0 and limit == 1)
    while True:
        if action < 0 and s.phase == PLAY:
            play_cards(s, &roll, until)
        else:
            if action < 0:
                action = bot_action(s, &roll.rules, tb, players[s.actor].kind, rng)
            step_row(s, &roll.rules, tb, k, action)
            roll.taken += 1
            action = -1
        if ends(s, &roll, until):
            return roll.taken
