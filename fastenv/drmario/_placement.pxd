# Decisions that are placements (docs/drmario.md, 12); the readable twin is placement.py.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from fastenv.drmario._game cimport *
from fastenv.drmario._planner cimport plan, script
from fastenv.drmario._search cimport MAX_FRAMES


cdef inline bint needs_decision(const Player* p) noexcept nogil:
    return (
        p.mode == MODE_PLAYING and p.next_action == NEXT_FALLING
        and p.reserve_index != p.decided
    )


cdef inline bint decision_due(const Player* p, int agents) noexcept nogil:
    return needs_decision(p) or (agents > 1 and needs_decision(p + 1))


# -- costs and scripts (docs/drmario.md, 11) ---------------------------------------------------------

cdef inline void plan_costs(
    const Shared* c, const Head* h, const Player* p, Costs* costs
) noexcept nogil:
    # The costs of the decision that is due; those of the same question are kept.
    cdef uint8_t occupied[ROWS]
    cdef int i, gravity, parity = h.frame & 1
    costs.known = needs_decision(p)
    if not costs.known:
        return
    for i in range(ROWS):
        occupied[i] = occupied_row(p.board + i * COLUMNS)
    gravity = gravity_of(&c.tables, p)
    if (
        costs.feasible > 0 and costs.parity == parity and costs.gravity == gravity
        and memcmp(costs.occupied, occupied, ROWS) == 0
    ):
        return
    memcpy(costs.occupied, occupied, ROWS)
    costs.parity, costs.gravity = parity, gravity
    plan(p.board, parity, gravity, c.rules.extended_inputs, costs.costs)
    costs.feasible = 0
    for i in range(NUM_PLACEMENTS):
        costs.feasible += costs.costs[i] != INFEASIBLE


cdef inline int write_script(
    const Shared* c, const Player* p, uint8_t* buttons
) noexcept nogil:
    # The buttons of the chosen placement; return how many, 0 or less where there are none.
    return script(
        p.board, p.decided_frame & 1, gravity_of(&c.tables, p), c.rules.extended_inputs,
        p.plan_action, buttons,
    )


# -- frames between decisions ------------------------------------------------------------------------

cdef inline void skip(Head* h, Player* p, int frames) noexcept nogil:
    # Frames in which a pill is on its way, and nothing else happens, all at once.
    h.frame += frames
    h.ep_frames += frames
    p.plan_left -= frames
    p.status_row = p.status_row - frames if frames <= p.status_row < IDLE else IDLE
    p.buttons_prev = p.buttons_held = p.buttons_pressed = 0


cdef inline void advance(
    const Shared* c, Head* h, Player* p, int agents
) noexcept nogil:
    # Let frames pass until a decision is due or the episode is over.
    cdef uint8_t buttons[MAX_FRAMES]
    cdef uint8_t raw[2]
    cdef int length = 0, waited = 0
    cdef bint falling
    raw[0] = raw[1] = 0
    if agents == 1 and c.rules.replay:
        length = write_script(c, p, buttons)
    elif agents == 1 and p.plan_left > 1:
        skip(h, p, p.plan_left - 1)
    while True:
        falling = p.plan_left > 0 or (agents > 1 and p[1].plan_left > 0)
        if agents == 1:
            raw[0] = buttons[length - p.plan_left] if length >= p.plan_left > 0 else 0
        play(c, h, p, agents, raw)
        h.ep_frames += 1
        waited += falling == 0
        judge(h, p, agents)
        if h.done or decision_due(p, agents):
            return
        if waited >= c.rules.max_wait_frames:
            h.done, h.reason = 2, REASON_TIMEOUT
            return


# -- reset and step ------------------------------------------------------------------------------------

cdef inline void note_needs(const Player* p, int agents, uint8_t* needs) noexcept nogil:
    cdef int i
    if needs != NULL:
        for i in range(agents):
            needs[i] = needs_decision(p + i)


cdef inline void reset_placement(
    const Shared* c, Head* h, Player* p, int agents, const Knobs* k, const uint64_t* seed,
    uint64_t* bot_rng, uint8_t* needs,
) noexcept nogil:
    cdef uint8_t raw[2]
    cdef int i
    raw[0] = raw[1] = 0
    reset(c, h, p, agents, k, seed, bot_rng, NULL)
    while not decision_due(p, agents):
        play(c, h, p, agents, raw)
    for i in range(agents):
        clear_events(p + i)
    note_needs(p, agents, needs)


cdef inline bint step_placement(
    const Shared* c, Head* h, Player* p, int agents, const Costs* costs, const int32_t* actions,
    int32_t* tau, uint8_t* needs,
) noexcept nogil:
    cdef int i
    cdef bint refused = False
    if h.done:
        return False
    for i in range(agents):
        clear_events(p + i)
        p[i].ev_invalid = costs[i].known and costs[i].costs[actions[i]] == INFEASIBLE
        if agents > 1 and costs[i].known:
            p[i].decisions += 1
        refused = refused or p[i].ev_invalid
    for i in range(agents):
        if refused:
            tau[i] = 1 if costs[i].known else <int32_t>(h.frame - p[i].decided_frame)
        elif costs[i].known:
            p[i].decided, p[i].decided_frame = p[i].reserve_index, h.frame
            p[i].plan_action = p[i].ev_action = actions[i]
            p[i].plan_left = p[i].ev_cost = costs[i].costs[actions[i]]
    if refused:
        return False
    advance(c, h, p, agents)
    for i in range(agents):
        measure(&c.rules, p + i)
        tau[i] = <int32_t>(h.frame - p[i].decided_frame)
    note_needs(p, agents, needs)
    return True
