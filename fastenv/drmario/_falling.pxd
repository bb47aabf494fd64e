# Placements of a pill on its way, and the buttons to them, a frame at a time (docs/drmario.md, 17.4);
# the readable twin is planning.py.
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from fastenv.drmario._game cimport *
from fastenv.drmario._search cimport DIRECTIONS, DOWN_ALONE, HELD, Bottle, Root, bottle_of, search

cdef enum:
    MOST_CHARGED = 15  # what a search knows of a direction that is held


cdef inline bint is_falling(const Player* p) noexcept nogil:
    return p.mode == MODE_PLAYING and p.next_action == NEXT_FALLING


cdef inline Root root_of(const Player* p, int gravity) noexcept nogil:
    # Of left and right held together a search sees the left.
    cdef int held = p.buttons_prev
    cdef Root root
    root.x, root.y, root.rot = p.col, p.row, p.rot
    root.counter = min(<int>p.speed_counter, gravity)
    root.direction = 1 if held & BUTTON_LEFT else 2 if held & BUTTON_RIGHT else 0
    root.velocity = min(<int>p.hor_velocity, MOST_CHARGED) if root.direction else 0
    root.held = (held & BUTTON_A) >> 7 | (held & BUTTON_B) >> 5
    return root


cdef inline void plan_falling(
    const Shared* c, const Player* p, uint32_t frame, int target, uint16_t* costs
) noexcept nogil:
    # Up to the costs of the target, all of them without one (-1).
    cdef Bottle bottle = bottle_of(p.board)
    cdef int gravity = gravity_of(&c.tables, p)
    cdef Root root = root_of(p, gravity)
    search(&bottle, frame & 1, gravity, &root, False, target, costs, NULL)


cdef inline bint can_be_placed(const uint16_t* costs) noexcept nogil:
    cdef int action
    for action in range(NUM_PLACEMENTS):
        if costs[action] != INFEASIBLE:
            return True
    return False


cdef inline bint leads_to(
    const Shared* c, const Head* h, const Player* p, int buttons, int action, int cost
) noexcept nogil:
    # Play a frame with these buttons, and ask what the placement costs from there.
    cdef uint16_t costs[NUM_PLACEMENTS]
    cdef Player after = p[0]
    cdef Head head = h[0]
    cdef Pose pose = pose_of(action)
    head.frame += 1
    after.plan_left = 0
    press(&after, buttons)
    fall(c, &head, &after)
    if after.next_action == NEXT_PLACED:
        return (
            cost == 1 and after.ev_lock_row == pose.row and after.ev_lock_col == pose.col
            and after.ev_lock_rot == pose.rot
        )
    plan_falling(c, &after, head.frame, action, costs)
    return costs[action] == cost - 1


cdef inline int buttons_to(
    const Shared* c, const Head* h, const Player* p, int action, int cost
) noexcept nogil:
    # What is pressed next on a shortest way, the first input that leads there.
    cdef int direction, turning, buttons
    for direction in range(4):
        if direction == DOWN_ALONE and h.frame & 1:
            continue
        for turning in range(3):
            buttons = DIRECTIONS[direction] | HELD[turning]
            if leads_to(c, h, p, buttons, action, cost):
                return buttons
    return 0
