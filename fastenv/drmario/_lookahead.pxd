# The bots that look two placements ahead and more (docs/drmario.md, 17.3); the readable twin is
# lookahead.py. Costs do not depend on colours: a bottle is planned once for all nine pills.
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from fastenv.drmario._game cimport *
from fastenv.drmario._planner cimport plan
from fastenv.drmario._successors cimport (
    Branch, Decision, branch_with, decision_of, follow, frames_of, gain_of, rest_of
)

cdef extern from *:
    """
    #define FASTENV_NOTHING (-((int64_t)1 << 59))
    #define FASTENV_ROLLOUT_HASH 2654435761u
    """
    const int64_t NOTHING "FASTENV_NOTHING"  # less than any placement weighs
    const uint32_t ROLLOUT_HASH "FASTENV_ROLLOUT_HASH"

cdef enum:
    MAX_CANDIDATES = 256
    NUM_PAIRS = 2 * CELLS
    UPRIGHT = 3 * CELLS  # placements that stand
    FLAT_TURNED = 2 * CELLS + 1  # from one that lies to the one turned round
    UPRIGHT_TURNED = -2 * CELLS - COLUMNS  # likewise from one that stands
    ROLLOUT_BITS = 5  # of the hash that draws a pill


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


# The best placement of a pill.
cdef struct Best:
    int64_t weight
    int action
    int cost


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


cdef inline int is_cheaper_turned(const Pair* pair) noexcept nogil:
    # Which of two alike is taken: the cheaper one, or the first.
    return pair.cost[1] < pair.cost[0] or (
        pair.cost[1] == pair.cost[0] and pair.action[1] < pair.action[0]
    )


cdef inline Candidate candidate_of(
    const Search* s, const Decision* due, int action, int cost
) noexcept nogil:
    # A placement of the pill that is due.
    cdef Candidate found
    cdef Branch branch
    branch_with(
        s.tables, due, action, cost, due.player.color_first, due.player.color_second, &branch
    )
    found.action, found.cost, found.over = action, cost, branch.cleared or branch.lost
    found.gain = gain_of(s.weights, due, &branch) + <int64_t>s.weights.frame * branch.settled
    found.weight = found.gain + rest_of(s.weights, &branch)
    return found


cdef inline int list_candidates(
    const Search* s, const Decision* due, const uint16_t* costs, Candidate* out
) noexcept nogil:
    # All that can be reached.
    cdef int number, i, count = 0
    cdef Pair pair
    for number in range(NUM_PAIRS):
        if not pair_of(costs, number, &pair):
            continue
        if due.player.color_first == due.player.color_second:
            pair.cost[1 - is_cheaper_turned(&pair)] = INFEASIBLE
        for i in range(2):
            if pair.cost[i] != INFEASIBLE:
                out[count] = candidate_of(s, due, pair.action[i], pair.cost[i])
                count += 1
    return count


cdef inline bint is_before(const Candidate* one, const Candidate* other) noexcept nogil:
    return one.weight > other.weight or (one.weight == other.weight and one.action < other.action)


cdef inline void swap(Candidate* given, int i, int j) noexcept nogil:
    cdef Candidate kept = given[i]
    given[i] = given[j]
    given[j] = kept


cdef inline int bring_to_front(
    Candidate* given, int count, int width, Candidate* behind=NULL
) noexcept nogil:
    # Order those that weigh most, and what is behind each; return how many.
    cdef int i, j, best
    if width > count:
        width = count
    for i in range(width):
        best = i
        for j in range(i + 1, count):
            if is_before(given + j, given + best):
                best = j
        swap(given, i, best)
        if behind != NULL:
            swap(behind, i, best)
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


cdef inline void raise_to(
    Best* best, int64_t weight, int64_t frame, int action, int cost
) noexcept nogil:
    weight += frame * cost
    if cost != INFEASIBLE and weight > best.weight:
        best.weight, best.action, best.cost = weight, action, cost


cdef inline int64_t best_of_all_pills(
    const Search* s, const Decision* due, const uint16_t* costs, Best* best
) noexcept nogil:
    # The best placement of each of the nine pills; return the sum of what they weigh.
    cdef int64_t weight, total = 0
    cdef int number, one, other, cheaper
    cdef Pair pair
    cdef Branch branch
    for one in range(NUM_PILLS):
        best[one].weight = NOTHING
    for number in range(NUM_PAIRS):
        if not pair_of(costs, number, &pair):
            continue
        cheaper = is_cheaper_turned(&pair)
        for one in range(NUM_COLORS):
            for other in range(NUM_COLORS):
                branch_with(s.tables, due, pair.action[0], 0, one, other, &branch)
                weight = gain_of(s.weights, due, &branch) + rest_of(s.weights, &branch)
                weight += <int64_t>s.weights.frame * branch.settled
                if one == other:  # as list_candidates has it
                    raise_pill(s, best, one, one, weight, &pair, cheaper)
                    continue
                raise_pill(s, best, one, other, weight, &pair, 0)
                raise_pill(s, best, other, one, weight, &pair, 1)
    for one in range(NUM_PILLS):
        total += best[one].weight
    return total


cdef inline void raise_pill(
    const Search* s, Best* best, int first, int second, int64_t weight, const Pair* pair, int i
) noexcept nogil:
    raise_to(
        best + first * NUM_COLORS + second, weight, s.weights.frame, pair.action[i], pair.cost[i]
    )


cdef inline int drawn_pill(int third, uint32_t hashed, int ply) noexcept nogil:
    # Behind the nine third pills each pill comes once in every ply.
    cdef int turned = (hashed >> (ROLLOUT_BITS * ply & 31)) % NUM_PILLS
    return (third * (1 + (ply & 1)) + ply + turned) % NUM_PILLS


cdef inline int64_t roll_out(
    const Search* s, const Decision* due, const Best* best, int third, uint32_t hashed
) noexcept nogil:
    # Place the third pill and those drawn behind it; return what all of them weigh.
    cdef Candidate found[MAX_CANDIDATES]
    cdef uint16_t costs[NUM_PLACEMENTS]
    cdef Player players[2]
    cdef Player* here = &players[0]
    cdef Decision now = due[0]
    cdef Candidate placed
    cdef int64_t total = 0
    cdef int ply, pill
    cdef uint32_t frame
    players[0] = due.player[0]
    here.color_first, here.color_second = third // NUM_COLORS, third % NUM_COLORS
    now.player = here
    placed = candidate_of(s, &now, best.action, best.cost)
    for ply in range(s.weights.plies):
        if placed.over:
            break
        total += placed.gain
        pill = drawn_pill(third, hashed, ply)
        here.preview_first, here.preview_second = pill // NUM_COLORS, pill % NUM_COLORS
        frame = go_on(s, &now, &placed, &players[(ply + 1) & 1], costs)
        here = &players[(ply + 1) & 1]
        now = decision_of(here, frame, due.agents)
        bring_to_front(found, list_candidates(s, &now, costs, found), 1)
        placed = found[0]
    return total + placed.weight


cdef inline int64_t weigh_third(
    const Search* s, const Decision* due, const Candidate* second,
    Player* after, Decision* following, Best* best,
) noexcept nogil:
    # Follow a second placement to the best placement of each third pill; return the sum of what
    # those weigh.
    cdef uint16_t costs[NUM_PLACEMENTS]
    following[0] = decision_of(after, go_on(s, due, second, after, costs), due.agents)
    return best_of_all_pills(s, following, costs, best)


cdef inline int64_t worth_of(
    const Search* s, const Decision* due, const Candidate* second
) noexcept nogil:
    # Nine times what a second placement weighs with the best third ones behind it.
    cdef Best best[NUM_PILLS]
    cdef Player after
    cdef Decision following
    if second.over:
        return NUM_PILLS * second.weight
    return NUM_PILLS * second.gain + weigh_third(s, due, second, &after, &following, best)


cdef inline int64_t look_behind(
    const Search* s, const Decision* due, Candidate* first, Candidate* second
) noexcept nogil:
    # What a first placement weighs with the best second one, which is written: nine times that
    # where third ones are looked at.
    cdef Candidate found[MAX_CANDIDATES]
    cdef uint16_t costs[NUM_PLACEMENTS]
    cdef Player after
    cdef Decision following
    cdef int64_t worth, most = NOTHING
    cdef int i, count, best = 0
    cdef int64_t scale = NUM_PILLS if s.weights.second > 0 else 1
    second.over = True
    if first.over:
        return scale * first.weight
    following = decision_of(&after, go_on(s, due, first, &after, costs), due.agents)
    count = list_candidates(s, &following, costs, found)
    count = bring_to_front(found, count, max(s.weights.second, 1))
    if s.weights.second == 0:
        most = found[0].weight
    else:
        for i in range(count):
            worth = worth_of(s, &following, found + i)
            if worth > most:
                best, most = i, worth
    second[0] = found[best]
    return scale * first.gain + most


cdef inline int64_t play_on(
    const Search* s, const Decision* due, const Candidate* first, const Candidate* second,
    int64_t worth,
) noexcept nogil:
    # The sum of a placement's rollouts, or as many times what it is worth if the game ends before.
    cdef uint16_t costs[NUM_PLACEMENTS]
    cdef Best best[NUM_PILLS]
    cdef Player after, behind
    cdef Decision following, last
    cdef int64_t total
    cdef int i, third
    cdef uint32_t hashed
    if first.over or second.over:
        return s.weights.repeats * worth
    following = decision_of(&after, go_on(s, due, first, &after, costs), due.agents)
    weigh_third(s, &following, second, &behind, &last, best)
    total = s.weights.repeats * NUM_PILLS * (first.gain + second.gain)
    for i in range(s.weights.repeats):
        hashed = ROLLOUT_HASH * (due.frame * <uint32_t>s.weights.repeats + <uint32_t>i + 1)
        for third in range(NUM_PILLS):
            total += roll_out(s, &last, best + third, third, hashed)
    return total


cdef inline int consider(
    const Shared* c, const Head* h, const Player* p, const uint16_t* costs, const BotParams* w,
    Candidate* found, int* kept,
) noexcept nogil:
    # Weigh the first placements that are followed, and those that are kept by their rollouts; the
    # best one is the first. Return how many are followed.
    cdef Candidate second[MAX_CANDIDATES]
    cdef Decision due = decision_of(p, h.frame, c.rules.agents)
    cdef Search s
    cdef int i, count
    s.tables, s.weights, s.extended = &c.tables, w, c.rules.extended_inputs
    count = bring_to_front(found, list_candidates(&s, &due, costs, found), w.first)
    for i in range(count):
        found[i].weight = look_behind(&s, &due, found + i, second + i)
    kept[0] = bring_to_front(found, count, w.kept, second)
    for i in range(kept[0]):
        found[i].weight = play_on(&s, &due, found + i, second + i, found[i].weight)
    bring_to_front(found, kept[0] if kept[0] > 0 else count, 1)
    return count


cdef inline int32_t lookahead_action(
    const Shared* c, const Head* h, const Player* p, const uint16_t* costs, const BotParams* w
) noexcept nogil:
    # The placement that weighs most with those behind it.
    cdef Candidate found[MAX_CANDIDATES]
    cdef int kept
    consider(c, h, p, costs, w, found, &kept)
    return found[0].action
