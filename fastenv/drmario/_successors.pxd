# What is behind a placement, without playing its frames (docs/drmario.md, 12.8); the readable twins
# are successors.py and, for what it weighs, greedy.py.
#
# Most placements match nothing: then the bottle is the one before with two more cells, and the
# frames until the next pill are known. Only the others are settled step by step.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp, memcpy

from fastenv.drmario._game cimport *
from fastenv.drmario._leaf cimport Cells, Planes, has_matches, planes_of, set_cell, weigh_planes

cdef enum:
    THROWS = 21  # frames in which a pill that is thrown moves


# A player that has to decide, and what all of its placements have in common.
cdef struct Decision:
    const Player* player
    Planes planes
    uint32_t frame  # the last one that was played
    int agents
    bint still  # nothing in it falls, matches or breaks


cdef struct Branch:
    Planes planes  # of the bottle that is left
    int settled  # frames until nothing moves any more, or the level is cleared
    int viruses  # that were removed
    int runs  # of four or more cells that were
    bint cleared
    bint lost


cdef inline bint is_still(const uint8_t* board, const Planes* planes) noexcept nogil:
    cdef uint8_t dropped[CELLS]
    cdef int color
    for color in range(NUM_COLORS):
        if has_matches(planes.color[color]):
            return False
    memcpy(dropped, board, CELLS)
    drop(dropped)
    return memcmp(dropped, board, CELLS) == 0 and is_settled(board)


cdef inline Decision decision_of(const Player* p, uint32_t frame, int agents) noexcept nogil:
    cdef Decision due
    due.player, due.frame, due.agents = p, frame, agents
    due.planes = planes_of(p.board)
    due.still = is_still(p.board, &due.planes)
    return due


cdef inline int frames_of_throw(const Player* p, uint32_t frame, int agents) noexcept nogil:
    # Frames from the one after `frame` to the one that brings the next pill into the due.
    if agents > 1:
        return 1
    if p.speed_setting > 0:
        return THROWS + 1
    return 2 * THROWS + (1 if frame & 1 == 0 else 2)  # it moves in odd frames


cdef inline int settle_frames(const Tables* tb, Player* p, int agents) noexcept nogil:
    # Settle what was written into a bottle; return the frames, up to the clear.
    cdef int frames = 0
    p.placed_step = 0
    p.next_action = NEXT_PLACED
    while p.next_action == NEXT_PLACED and not goal_met(p):
        frames += 1
        if p.status_row != IDLE:
            p.status_row -= 1
        if p.placed_step == 3 and p.status_row != IDLE:
            frames += p.status_row + 1
            p.status_row = IDLE
        settle(tb, p, agents)
    return frames


cdef inline bint is_blocked(const uint8_t* board) noexcept nogil:
    return board[SPAWN_COLUMN] != EMPTY or board[SPAWN_COLUMN + 1] != EMPTY


cdef inline int frames_of(const Decision* due, const Branch* branch) noexcept nogil:
    # Frames until the next decision, or the end.
    cdef int frames = branch.settled + 2  # an attack, and the frame before the throw
    if branch.cleared:
        return branch.settled
    frames += frames_of_throw(due.player, due.frame + frames, due.agents)
    return frames + (not branch.lost)


cdef inline void settle_branch(
    const Tables* tb, const Decision* due, int action, Branch* branch, Player* after
) noexcept nogil:
    # Step by step, from a copy of the player with the pill that is placed.
    cdef Pose pose = pose_of(action)
    after.ev_tiles_virus = after.combo_counter = 0
    write_pill(after, pose.row, pose.col, pose.rot)
    branch.settled += settle_frames(tb, after, due.agents)
    branch.viruses, branch.runs = after.ev_tiles_virus, after.combo_counter
    branch.cleared = goal_met(after)
    branch.lost = not branch.cleared and is_blocked(after.board)
    branch.planes = planes_of(after.board)


cdef inline bint try_branch(
    const Decision* due, int action, int first, int second, Branch* branch
) noexcept nogil:
    # The same without a copy, unless the placement must be settled step by step.
    cdef Pose pose = pose_of(action)
    cdef int cell = cell_of(pose.row, pose.col), other = cell - COLUMNS if pose.rot & 1 else cell + 1
    if not due.still or other < 0:  # a half above the bottle is lost
        return False
    if pose.rot >= 2:
        first, second = second, first
    branch.planes = due.planes
    set_cell(&branch.planes.color[first], cell)
    set_cell(&branch.planes.color[second], other)
    if has_matches(branch.planes.color[first]) or has_matches(branch.planes.color[second]):
        return False
    branch.viruses = branch.runs = 0
    branch.cleared = False
    branch.lost = (
        cell == SPAWN_COLUMN or cell == SPAWN_COLUMN + 1
        or other == SPAWN_COLUMN or other == SPAWN_COLUMN + 1
    )
    branch.settled += (4 if pose.row > SPAWN_ROW - 3 else SPAWN_ROW + 1 - pose.row) + 5
    return True


cdef inline void branch_with(
    const Tables* tb, const Decision* due, int action, int cost, int first, int second,
    Branch* branch,
) noexcept nogil:
    # The branch of a pill with two colours.
    cdef Player after
    branch.settled = cost
    if not try_branch(due, action, first, second, branch):
        after = due.player[0]
        after.color_first, after.color_second = first, second
        settle_branch(tb, due, action, branch, &after)


cdef inline int64_t gain_of(
    const BotParams* w, const Decision* due, const Branch* branch
) noexcept nogil:
    # What a placement weighs by itself, without its cost.
    cdef bint task = due.player.level < FEWEST_VIRUSES_LEVEL  # which asks for matches
    cdef int64_t gain = <int64_t>w.virus * (branch.runs if task else branch.viruses)
    if due.agents > 1 and branch.runs >= MIN_ATTACK:
        gain += <int64_t>w.attack * branch.runs
    return gain + DECIDED if branch.cleared else gain - DECIDED if branch.lost else gain


cdef inline int64_t rest_of(const BotParams* w, const Branch* branch) noexcept nogil:
    # What the bottle behind it weighs.
    return 0 if branch.cleared else weigh_planes(w, &branch.planes)


cdef inline int32_t greedy_action(
    const Tables* tb, const Player* p, const uint16_t* costs, const BotParams* w
) noexcept nogil:
    # The first placement of those that weigh most.
    cdef Decision due = decision_of(p, 0, 1)
    cdef Branch branch
    cdef int action, best = -1
    cdef int64_t weight, most = 0
    for action in range(NUM_PLACEMENTS):
        if costs[action] == INFEASIBLE:
            continue
        branch_with(tb, &due, action, costs[action], p.color_first, p.color_second, &branch)
        weight = gain_of(w, &due, &branch) + <int64_t>w.frame * costs[action] + rest_of(w, &branch)
        if best < 0 or weight > most:
            best, most = action, weight
    return best


cdef inline void follow(
    const Tables* tb, const Decision* due, int action, int cost, Branch* branch, Player* after
) noexcept nogil:
    # The branch, and the player behind it.
    cdef Pose pose = pose_of(action)
    after[0] = due.player[0]
    branch.settled = cost
    if try_branch(due, action, after.color_first, after.color_second, branch):
        write_pill(after, pose.row, pose.col, pose.rot)
    else:
        settle_branch(tb, due, action, branch, after)


cdef inline void write_successor(
    const Tables* tb, const Decision* due, int action, int cost, Successor* out
) noexcept nogil:
    # Everything, the cells too.
    cdef Branch branch
    cdef Player after
    follow(tb, due, action, cost, &branch, &after)
    out.action, out.cost, out.frames = action, cost, frames_of(due, &branch)
    out.viruses, out.runs = branch.viruses, branch.runs
    out.reason = REASON_CLEAR if branch.cleared else REASON_TOPOUT if branch.lost else REASON_NONE
    memcpy(out.board, after.board, CELLS)
