"""Dr. Mario for the loop over lanes (``fastenv/_batch.pyx``): row functions and their tables.

The rules are in ``_game.pxd`` and, for placements, in ``_placement.pxd``. There is a table for each
kind of decision and number of players.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

from fastenv cimport _batch
from fastenv._rng cimport rng_bounded
from fastenv.drmario._falling cimport buttons_to, can_be_placed, is_falling, plan_falling
from fastenv.drmario._game cimport reset as start_episode, step_frame
from fastenv.drmario._leaf cimport Counts, Planes, count_bottle, planes_of
from fastenv.drmario._lookahead cimport MAX_CANDIDATES, Candidate, consider, lookahead_action
from fastenv.drmario._placement cimport plan_costs, reset_placement, step_placement
from fastenv.drmario._state cimport (
    BOT_GREEDY, BOT_LOOKAHEAD2, BOT_RANDOM, INFEASIBLE, NUM_PLACEMENTS, BotParams, Costs, Head,
    Knobs, One, Player, Shared, Successor, Two, View
)
from fastenv.drmario._successors cimport Decision, decision_of, greedy_action, write_successor
from fastenv.drmario._worlds cimport draw_world, placed

# -- frames ----------------------------------------------------------------------------------------


cdef void reset_one(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef One* s = <One*>row
    start_episode(
        <const Shared*>shared, <Head*>row, s.players, 1, <const Knobs*>knobs, seed, NULL,
        <View*>(s + 1),
    )
    s.ep_return, s.tau = 0.0, 0


cdef void reset_two(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef Two* s = <Two*>row
    start_episode(
        <const Shared*>shared, <Head*>row, s.players, 2, <const Knobs*>knobs, seed, s.bot_rng,
        <View*>(s + 1),
    )
    s.ep_return[0] = s.ep_return[1] = 0.0
    s.tau[0] = s.tau[1] = 0
    s.needs_action[0] = s.needs_action[1] = 1


cdef bint step_one(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    cdef One* s = <One*>row
    return step_frame(
        <const Shared*>shared, <Head*>row, s.players, 1, actions, &s.tau, <View*>(s + 1)
    )


cdef bint step_two(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    cdef Two* s = <Two*>row
    return step_frame(
        <const Shared*>shared, <Head*>row, s.players, 2, actions, s.tau, <View*>(s + 1)
    )


cdef bint always(
    const void* row, const void* derived, const void* shared, int32_t agent, int32_t action
) noexcept nogil:
    return True


# -- placements ------------------------------------------------------------------------------------

cdef void reset_placement_one(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef One* s = <One*>row
    reset_placement(
        <const Shared*>shared, <Head*>row, s.players, 1, <const Knobs*>knobs, seed, NULL, NULL
    )
    s.ep_return, s.tau = 0.0, 0


cdef void reset_placement_two(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef Two* s = <Two*>row
    reset_placement(
        <const Shared*>shared, <Head*>row, s.players, 2, <const Knobs*>knobs, seed, s.bot_rng,
        s.needs_action,
    )
    s.ep_return[0] = s.ep_return[1] = 0.0
    s.tau[0] = s.tau[1] = 0


cdef bint step_placement_one(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    cdef One* s = <One*>row
    return step_placement(
        <const Shared*>shared, <Head*>row, s.players, 1, <const Costs*>derived, actions, &s.tau,
        NULL,
    )


cdef bint step_placement_two(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    cdef Two* s = <Two*>row
    return step_placement(
        <const Shared*>shared, <Head*>row, s.players, 2, <const Costs*>derived, actions, s.tau,
        s.needs_action,
    )


cdef bint is_feasible(
    const void* row, const void* derived, const void* shared, int32_t agent, int32_t action
) noexcept nogil:
    cdef const Costs* costs = <const Costs*>derived + agent
    return not costs.known or costs.costs[action] != INFEASIBLE


cdef void derive(const void* row, void* derived, const void* shared) noexcept nogil:
    # The costs of placements of each player, of as many as the rules have.
    cdef const Shared* c = <const Shared*>shared
    cdef const Player* players = <const Player*>(<const Head*>row + 1)
    cdef int k
    for k in range(c.rules.agents):
        plan_costs(c, <const Head*>row, players + k, <Costs*>derived + k)


# -- scripted players ------------------------------------------------------------------------------

cdef int32_t choose(
    const Shared* c, const Head* h, const Player* p, const uint16_t* costs, const BotParams* who
) noexcept nogil:
    # The placement, of those that can be reached.
    cdef int i, best = 0
    if who.kind == BOT_GREEDY:
        return greedy_action(&c.tables, p, costs, who)
    if who.kind >= BOT_LOOKAHEAD2:
        return lookahead_action(c, h, p, costs, who)
    for i in range(NUM_PLACEMENTS):
        if costs[i] < costs[best]:
            best = i
    return best


cdef int32_t bot(
    const void* row, const void* derived, const void* shared, const void* params, int32_t agent,
    const void* obs, const uint8_t* mask, uint64_t* rng
) noexcept nogil:
    # The readable twin is bots.py.
    cdef const Shared* c = <const Shared*>shared
    cdef const Head* h = <const Head*>row
    cdef const BotParams* who = <const BotParams*>params
    cdef const Player* p = <const Player*>(h + 1) + agent
    cdef const Costs* costs
    cdef uint16_t falling[NUM_PLACEMENTS]
    cdef int i, left = 0, action
    if who.kind == BOT_RANDOM:
        for i in range(c.rules.num_actions):
            left += mask[i] != 0
        left = rng_bounded(rng, left)
        i = 0
        while not mask[i] or left > 0:
            left -= mask[i] != 0
            i += 1
        return i
    if c.rules.placement:
        costs = <const Costs*>derived + agent
        return choose(c, h, p, costs.costs, who) if costs.known else 0
    if not is_falling(p):
        return 0
    plan_falling(c, p, h.frame, -1, falling)
    if not can_be_placed(falling):
        return 0
    action = choose(c, h, p, falling, who)
    return buttons_to(c, h, p, action, falling[action])


# -- worlds and rollouts ---------------------------------------------------------------------------

cdef void resample_one(
    void* row, const void* shared, int32_t agent, uint64_t* rng
) noexcept nogil:
    draw_world(<const Shared*>shared, <Head*>row, (<One*>row).players, 1, agent, NULL, rng)


cdef void resample_two(
    void* row, const void* shared, int32_t agent, uint64_t* rng
) noexcept nogil:
    cdef Two* s = <Two*>row
    draw_world(<const Shared*>shared, <Head*>row, s.players, 2, agent, s.bot_rng, rng)


cdef bint stop(
    const void* row, const void* start, const void* shared, int32_t until, int32_t number
) noexcept nogil:
    cdef const Player* p = <const Player*>(<const Head*>row + 1)
    cdef const Player* before = <const Player*>(<const Head*>start + 1)
    return placed(p, before, (<const Shared*>shared).rules.agents, number)


# -- successors ------------------------------------------------------------------------------------

def write_successors(
    const uint8_t[:, ::1] rows, const uint8_t[::1] shared, int agent, const uint16_t[:, ::1] costs,
    int32_t[::1] parents, uint8_t[:, ::1] out
):
    """Write what is behind the placements of rows; the readable twin is successors.py.

    Parameters
    ----------
    rows : (n, bytes of a row)
    shared : (bytes of the shared record,)
    agent : whose decisions
    costs : (n, 512), INFEASIBLE for what is not asked for
    parents : (k,), written
    out : (k, bytes of SUCCESSOR_DTYPE), written
    """
    cdef const Shared* c = <const Shared*>&shared[0]
    cdef const Head* head
    cdef Decision due
    cdef Py_ssize_t i, k = 0
    cdef int action
    with nogil:
        for i in range(rows.shape[0]):
            head = <const Head*>&rows[i, 0]
            due = decision_of(<const Player*>(head + 1) + agent, head.frame, c.rules.agents)
            for action in range(NUM_PLACEMENTS):
                if costs[i, action] != INFEASIBLE:
                    parents[k] = i
                    write_successor(
                        &c.tables, &due, action, costs[i, action], <Successor*>&out[k, 0]
                    )
                    k += 1


def plan_rows(const uint8_t[:, ::1] rows, const uint8_t[::1] shared, int agent, uint16_t[:, ::1] out):
    """Write the costs of placements of rows, (n, 512); INFEASIBLE where no decision is due."""
    cdef const Shared* c = <const Shared*>&shared[0]
    cdef const Head* head
    cdef Costs costs
    cdef Py_ssize_t i
    with nogil:
        memset(&costs, 0, sizeof(Costs))
        for i in range(rows.shape[0]):
            head = <const Head*>&rows[i, 0]
            plan_costs(c, head, <const Player*>(head + 1) + agent, &costs)
            if costs.known and not head.done:
                memcpy(&out[i, 0], costs.costs, sizeof(costs.costs))
            else:
                memset(&out[i, 0], 0xFF, sizeof(costs.costs))


def consider_placements(
    const uint8_t[::1] row, const uint8_t[::1] shared, int agent, const uint16_t[::1] costs,
    const uint8_t[::1] params, int32_t[::1] actions, int64_t[::1] weights
):
    """Write which placements a bot that looks ahead follows and what they weigh, the best one first.

    Parameters
    ----------
    row : (bytes of a row,)
    shared : (bytes of the shared record,)
    agent : whose decision it is
    costs : (512,); one is finite
    params : (bytes of BOT_DTYPE,)
    actions, weights : (256,), written

    Returns
    -------
    followed, kept : int
        How many were written, and how many of the first of them are weighed by rollouts.
    """
    cdef const Head* head = <const Head*>&row[0]
    cdef Candidate found[MAX_CANDIDATES]
    cdef int i, count, kept
    with nogil:
        count = consider(
            <const Shared*>&shared[0], head, <const Player*>(head + 1) + agent, &costs[0],
            <const BotParams*>&params[0], found, &kept
        )
        for i in range(count):
            actions[i], weights[i] = found[i].action, found[i].weight
    return count, kept


def count_bottles(const uint8_t[:, ::1] boards, int32_t[:, ::1] out):
    """Write what ``greedy`` weighs in bottles, (n, 128) cells; the readable twin is greedy.py."""
    cdef Planes planes
    cdef Counts counts
    cdef Py_ssize_t i
    with nogil:
        for i in range(boards.shape[0]):
            planes = planes_of(&boards[i, 0])
            counts = count_bottle(&planes)
            memcpy(&out[i, 0], &counts, sizeof(Counts))


cdef _batch.RowTable frames_one, frames_two, placements_one, placements_two
frames_one.reset, frames_one.step, frames_one.is_legal = reset_one, step_one, always
frames_two.reset, frames_two.step, frames_two.is_legal = reset_two, step_two, always
placements_one.reset, placements_one.step = reset_placement_one, step_placement_one
placements_two.reset, placements_two.step = reset_placement_two, step_placement_two
placements_one.is_legal = placements_two.is_legal = is_feasible
placements_one.derive = placements_two.derive = derive
placements_one.derived_size, placements_two.derived_size = sizeof(Costs), 2 * sizeof(Costs)
frames_one.resample = placements_one.resample = resample_one
frames_two.resample = placements_two.resample = resample_two
placements_one.chunk = placements_two.chunk = 8  # some pills take much longer to plan than others


cdef object exported(_batch.RowTable* table, size_t row_size):
    table.state_size = table.fetch = row_size
    table.bot, table.bot_size = bot, sizeof(BotParams)
    table.stop = stop
    table.knobs_size, table.shared_size = sizeof(Knobs), sizeof(Shared)
    return _batch.export(table)


# by number of players
FRAMES = {1: exported(&frames_one, sizeof(One)), 2: exported(&frames_two, sizeof(Two))}
PLACEMENTS = {
    1: exported(&placements_one, sizeof(One)), 2: exported(&placements_two, sizeof(Two))
}
