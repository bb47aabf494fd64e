# Worlds and rollouts; the readable twin is worlds.py.
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from fastenv._rng cimport rng_bounded, rng_next
from fastenv.drmario._game cimport *
from fastenv.drmario._planner cimport plan


cdef inline int first_hidden(const Player* p) noexcept nogil:
    # The index behind the pills that a player has been shown. Counters in BCD compare as numbers.
    return RESERVE if (p.pill_count_hi << 8 | p.pill_count_lo) >= 0x127 else p.reserve_index


cdef inline void choose_again(
    const Shared* c, const Head* h, Player* p, uint64_t* rng
) noexcept nogil:
    # Draw the placement of a pill on its way from those that would lock in the same frame.
    cdef uint16_t costs[NUM_PLACEMENTS]
    cdef int64_t cost = <int64_t>p.plan_left + <uint32_t>(h.frame - p.decided_frame)
    cdef int i, same = 0, drawn
    if p.plan_left == 0 or cost >= INFEASIBLE:
        return
    plan(
        p.board, p.decided_frame & 1, gravity_of(&c.tables, p), c.rules.extended_inputs, costs
    )
    for i in range(NUM_PLACEMENTS):
        same += costs[i] == cost
    if same == 0:  # a row that no game comes to
        return
    drawn, i = rng_bounded(rng, same), 0
    while costs[i] != cost or drawn > 0:
        drawn -= costs[i] == cost
        i += 1
    if p.ev_action == p.plan_action:
        p.ev_action = i
    p.plan_action = i


cdef inline void draw_world(
    const Shared* c, Head* h, Player* p, int agents, int agent, uint64_t* bot_rng, uint64_t* rng
) noexcept nogil:
    cdef int i, first = first_hidden(p)
    for i in range(4):
        h.rng[i] = rng_next(rng)
    if agents > 1:
        for i in range(4):
            bot_rng[i] = rng_next(rng)
        if first_hidden(p + 1) > first:
            first = first_hidden(p + 1)
    for i in range(first, RESERVE):
        h.reserve[i] = rng_bounded(rng, NUM_PILLS)
    if agents > 1 and c.rules.placement:
        choose_again(c, h, p + 1 - agent, rng)


cdef inline bint placed(
    const Player* p, const Player* start, int agents, int number
) noexcept nogil:
    # Whether every player has placed so many pills since the start of a rollout.
    cdef int i
    for i in range(agents):
        if p[i].locks - start[i].locks < number:
            return False
    return True
