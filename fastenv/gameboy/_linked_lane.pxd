# An environment around two machines on a cable; the readable twin is linked/environment.py
# (docs/gameboy.md, 22.1).
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from fastenv._rng cimport rng_next, rng_seed
from fastenv.gameboy._bus cimport press
from fastenv.gameboy._lane cimport (
    RUNNING, TERMINATED, TRUNCATED, Lane, lane_at, look_at_memory, looks, push_frame, reset_lane,
    set_machine,
)
from fastenv.gameboy._link cimport connect, run_linked_frames
from fastenv.gameboy._machine cimport Machine
from fastenv.gameboy._program cimport read_loads
from fastenv.gameboy._state cimport MAX_LOADS, Knobs, LinkHead, LinkShared, Rules


cdef inline Lane side_at(uint8_t* row, const uint8_t* shared, int k) noexcept nogil:
    cdef const LinkShared* c = <const LinkShared*>shared
    return lane_at(row + c.row_at[k], shared + c.shared_at[k])


cdef inline void reset_link(
    uint8_t* row, const uint8_t* shared, const Knobs* knobs, const uint64_t* seed
) noexcept nogil:
    cdef const LinkShared* c = <const LinkShared*>shared
    cdef LinkHead* h = <LinkHead*>row
    cdef uint64_t own
    cdef int k
    if seed != NULL:
        rng_seed(h.rng, seed[0])
    for k in range(2):
        if seed != NULL:
            own = rng_next(h.rng)
        reset_lane(
            row + c.row_at[k], shared + c.shared_at[k], knobs, NULL if seed == NULL else &own
        )
        side_at(row, shared, k).s.cyc = 0  # both clocks begin together
        h.ep_return[k], h.needs_action[k] = 0.0, 1
    for k in range(4):
        h.bot_rng[k] = rng_next(h.rng)
    h.ep_length, h.done = 0, RUNNING


cdef inline void run_sides(Lane* sides, const int32_t* actions) noexcept nogil:
    # Run the frames of a step and push the last one of each side.
    cdef Machine one
    cdef Machine two
    cdef uint8_t[23040] first  # WIDTH * HEIGHT
    cdef uint8_t[23040] second
    cdef const Rules* r = sides[0].r
    cdef int k
    set_machine(&one, &sides[0])
    set_machine(&two, &sides[1])
    memset(&one.watch, 0, sizeof(one.watch))
    memset(&two.watch, 0, sizeof(two.watch))
    connect(&one, &two)
    for k in range(2):
        sides[k].e.last_action = actions[k]
        press(sides[k].s, sides[k].r.keys[actions[k]])
    if r.release_after < r.frames_per_step:
        if r.release_after:
            run_linked_frames(&one, &two, r.release_after, NULL, NULL)
        for k in range(2):
            press(sides[k].s, 0)
        run_linked_frames(&one, &two, r.frames_per_step - r.release_after, first, second)
    else:
        run_linked_frames(&one, &two, r.frames_per_step, first, second)
    push_frame(&sides[0], first)
    push_frame(&sides[1], second)


cdef inline void step_link(
    uint8_t* row, const uint8_t* shared, const int32_t* actions
) noexcept nogil:
    cdef LinkHead* h = <LinkHead*>row
    cdef Lane[2] sides
    cdef const Rules* r
    cdef int64_t[2][MAX_LOADS] loads
    cdef int[2] ends
    cdef int k
    cdef bint locked = False
    for k in range(2):
        sides[k] = side_at(row, shared, k)
        if looks(sides[k].r):
            read_loads(sides[k].row, sides[k].shared, sides[k].r, loads[k])
    r = sides[0].r
    run_sides(sides, actions)
    for k in range(2):
        ends[k] = RUNNING
        if looks(sides[k].r):
            ends[k] = look_at_memory(&sides[k], loads[k])
        locked |= sides[k].s.locked
    if ends[0] == TERMINATED and ends[1] == TERMINATED:
        h.done = TERMINATED
    elif (
        locked or ends[0] == TRUNCATED or ends[1] == TRUNCATED
        or (r.max_steps and h.ep_length + 1 >= r.max_steps)
    ):
        h.done = TRUNCATED
