# The bots that look two placements ahead and more (docs/drmario.md, 17.3); the readable twin is
# lookahead.py. Costs do not depend on colours: a bottle is planned once for all nine pills.
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from fastenv.drmario._game cimport *
from fastenv.drmario._planner cimport plan
from fastenv.drmario._successors cimport (
    Branch, Decision, branch_with, decision_of, follow, frames_of, gain_of, rest_of
)

cdef extern from *:
    """#define FASTENV_NOTHING (-((int64_t)1 << 59))"""
    const int64_t NOTHING "FASTENV_NOTHING"  # less than any placement weighs

cdef enum:
    MAX_CANDIDATES = 256
    MAX_WIDTHS = 3
    NUM_PAIRS = 2 * CELLS
    UPRIGHT = 3 * CELLS  # placements that stand
    FLAT_TURNED = 2 * CELLS + 1  # from one that lies to the one turned round
    UPRIGHT_TURNED = -2 * CELLS - COLUMNS  # likewise from one that stands


# A placement that may be followed.
cdef struct Candidate:
    int64_t gain  # what it weighs by itself
    int64_t weight  # with the bottle behind it
    int action
    int cost
    bint over  # the game ends with it


# Two placements in the same cells, the second turned round.
cdef struct Pair:
    int action[2]
    int cost[2]


# What a search reads.
cdef struct Search:
    const Tables* tables
    const BotParams* weights
    bint extended


cdef inline bint pair_of(const uint16_t* costs, int number, Pair* pair) noexcept nogil:
    # Numbers below 128 lie from a cell on, others stand on it; tell whether one is reached.
    cdef int cell = number & (CELLS - 1)
    cdef bint flat = number < CELLS
    pair.action[0] = cell if flat else UPRIGHT + cell
    pair.action[1] = pair.action[0] + (FLAT_TURNED if flat else UPRIGHT_TURNED)
    if flat and cell % COLUMNS == COLUMNS - 1:
        return False
    pair.cost[0] = costs[pair.action[0]]
    # one whose upper half is above the bottle is never turned round
    pair.cost[1] = costs[pair.action[1]] if flat or cell >= COLUMNS else INFEASIBLE
    return pair.cost[0] != INFEASIBLE or pair.cost[1] != INFEASIBLE


cdef inline int list_candidates(
    const Search* s, const Decision* due, const uint16_t* costs, Candidate* out
) noexcept nogil:
    # All that can be reached; of two alike in the same cells the cheaper one, or the first.
    cdef int first = due.player.color_first, second = due.player.color_second
    cdef int number, i, dearer, count = 0
    cdef Pair pair
    cdef Branch branch
    for number in range(NUM_PAIRS):
        if not pair_of(costs, number, &pair):
            continue
        if first == second:
            dearer = pair.cost[1] > pair.cost[0] or (
                pair.cost[1] == pair.cost[0] and pair.action[1] > pair.action[0]
            )
            pair.cost[dearer] = INFEASIBLE
        for i in range(2):
            if pair.cost[i] == INFEASIBLE:
                continue
            branch_with(s.tables, due, pair.action[i], pair.cost[i], first, second, &branch)
            out[count].action, out[count].cost = pair.action[i], pair.cost[i]
            out[count].over = branch.cleared or branch.lost
            out[count].gain = gain_of(s.weights, due, &branch)
            out[count].gain += s.weights.frame * <int64_t>branch.settled
            out[count].weight = out[count].gain + rest_of(s.weights, &branch)
            count += 1
    return count


cdef inline bint is_before(const Candidate* one, const Candidate* other) noexcept nogil:
    return one.weight > other.weight or (one.weight == other.weight and one.action < other.action)


cdef inline int bring_to_front(Candidate* given, int count, int width) noexcept nogil:
    # Order those that weigh most; return how many.
    cdef Candidate kept
    cdef int i, j, best
    if width > count:
        width = count
    for i in range(width):
        best = i
        for j in range(i + 1, count):
            if is_before(given + j, given + best):
                best = j
        kept = given[i]
        given[i] = given[best]
        given[best] = kept
    return width


cdef inline uint32_t go_on(
    const Search* s, const Decision* due, const Candidate* first, Player* after, uint16_t* costs
) noexcept nogil:
    # Follow a placement to the next pill, and plan that one; return the frame.
    cdef Branch branch
    cdef uint32_t frame
    follow(s.tables, due, first.action, first.cost, &branch, after)
    frame = due.frame + frames_of(due, &branch)
    after.color_first, after.color_second = after.preview_first, after.preview_second
    after.combo_counter = 0
    count_pill(after)
    plan(after.board, frame & 1, gravity_of(s.tables, after), s.extended, costs)
    return frame


cdef inline void raise_to(int64_t* best, int64_t weight, int64_t frame, int cost) noexcept nogil:
    weight += frame * cost
    if cost != INFEASIBLE and weight > best[0]:
        best[0] = weight


cdef inline int64_t best_of_all_pills(
    const Search* s, const Decision* due, const uint16_t* costs
) noexcept nogil:
    # The sum of what the best placement of each of the nine pills weighs.
    cdef int64_t best[NUM_COLORS][NUM_COLORS]
    cdef int64_t weight, total = 0, frame = s.weights.frame
    cdef int number, one, other
    cdef Pair pair
    cdef Branch branch
    for one in range(NUM_COLORS):
        for other in range(NUM_COLORS):
            best[one][other] = NOTHING
    for number in range(NUM_PAIRS):
        if not pair_of(costs, number, &pair):
            continue
        for one in range(NUM_COLORS):
            for other in range(NUM_COLORS):
                branch_with(s.tables, due, pair.action[0], 0, one, other, &branch)
                weight = gain_of(s.weights, due, &branch) + rest_of(s.weights, &branch)
                weight += frame * branch.settled
                if one == other:  # as list_candidates has it
                    raise_to(&best[one][one], weight, frame, min(pair.cost[0], pair.cost[1]))
                    continue
                raise_to(&best[one][other], weight, frame, pair.cost[0])
                raise_to(&best[other][one], weight, frame, pair.cost[1])
    for one in range(NUM_COLORS):
        for other in range(NUM_COLORS):
            total += best[one][other]
    return total


cdef inline int64_t best_of_pill(
    const Search* s, const Decision* due, const uint16_t* costs, const int32_t* widths
) noexcept nogil:
    # What the best placement of the pill that is due weighs, times NUM_PILLS for each width.
    cdef Candidate found[MAX_CANDIDATES]
    cdef int64_t best = NOTHING, scale = 1
    cdef int i, count = list_candidates(s, due, costs, found), depth = 0
    while widths[depth] > 0:
        scale *= NUM_PILLS
        depth += 1
    count = bring_to_front(found, count, max(widths[0], 1))
    if depth == 0:
        return found[0].weight
    for i in range(count):
        best = max(best, worth_of(s, due, found + i, scale, widths))
    return best


cdef inline int64_t worth_of(
    const Search* s, const Decision* due, const Candidate* first, int64_t scale,
    const int32_t* widths,
) noexcept nogil:
    # What a placement weighs with those of all pills behind it.
    cdef uint16_t costs[NUM_PLACEMENTS]
    cdef Player after
    cdef Decision following
    cdef int64_t total = 0
    cdef int pill
    cdef uint32_t frame
    if first.over:
        return scale * first.weight
    frame = go_on(s, due, first, &after, costs)
    following = decision_of(&after, frame, due.agents)
    if widths[1] == 0:
        return scale * first.gain + best_of_all_pills(s, &following, costs)
    for pill in range(NUM_PILLS):
        after.color_first, after.color_second = pill // NUM_COLORS, pill % NUM_COLORS
        total += best_of_pill(s, &following, costs, widths + 1)
    return scale * first.gain + total


cdef inline int32_t lookahead_action(
    const Shared* c, const Head* h, const Player* p, const uint16_t* costs, const BotParams* w
) noexcept nogil:
    # The placement that weighs most with those behind it.
    cdef Candidate found[MAX_CANDIDATES]
    cdef uint16_t planned[NUM_PLACEMENTS]
    cdef Decision due = decision_of(p, h.frame, c.rules.agents), following
    cdef Player after
    cdef Search s
    cdef int64_t weight, most = 0, scale = 1
    cdef int i, count, best = -1
    cdef int32_t widths[MAX_WIDTHS + 1]
    s.tables, s.weights, s.extended = &c.tables, w, c.rules.extended_inputs
    for i in range(MAX_WIDTHS):
        widths[i] = w.followed[i]
        scale *= NUM_PILLS if i > 0 and w.followed[i] > 0 else 1
    widths[MAX_WIDTHS] = 0
    count = bring_to_front(found, list_candidates(&s, &due, costs, found), widths[0])
    for i in range(count):
        weight = scale * found[i].weight
        if not found[i].over:
            following = decision_of(
                &after, go_on(&s, &due, found + i, &after, planned), due.agents
            )
            weight = scale * found[i].gain + best_of_pill(&s, &following, planned, widths + 1)
        if best < 0 or weight > most or (weight == most and found[i].action < found[best].action):
            best, most = i, weight
    return found[best].action
