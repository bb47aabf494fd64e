# An environment around a machine; the readable twin is environment.py (docs/gameboy.md, 16 to 20).
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from fastenv._rng cimport rng_bounded, rng_next, rng_seed, rng_uniform
from fastenv.gameboy._bus cimport press
from fastenv.gameboy._frames cimport run_frames
from fastenv.gameboy._hooks cimport ON_RESET, ON_STEP, pass_trap, write_fields
from fastenv.gameboy._machine cimport Machine
from fastenv.gameboy._program cimport evaluate_term, ones, read_loads, remember
from fastenv.gameboy._state cimport (
    HEIGHT, KIND_GOAL, KIND_OVERWORLD, MAX_EVENT_BYTES, MAX_LOADS, MBC2, PLACE_DIALOGUE, PLACE_DONE,
    PLACE_ITEMS, PLACE_MAP, PLACE_STAGE, PLACE_X, PLACE_Y, SAMPLES, WIDTH, Episode, Knobs, Place, Rules, Shared, State,
)
from fastenv.gameboy._times cimport end_drawing, end_step, start_drawing, start_step

cdef enum:
    RUNNING, TERMINATED, TRUNCATED

cdef struct Lane:
    # A row and what stands in it.
    uint8_t* row
    State* s
    Episode* e
    uint8_t* cart
    uint8_t* stack
    uint8_t* visits
    const uint8_t* shared
    const Rules* r

cdef struct Seen:
    # What a step in a world is compared with.
    int items
    int dialogue
    uint8_t[MAX_EVENT_BYTES] events


cdef inline Lane lane_at(uint8_t* row, const uint8_t* shared) noexcept nogil:
    cdef Lane lane
    lane.row, lane.shared = row, shared
    lane.r = &(<const Shared*>shared).rules
    lane.s, lane.e = <State*>row, <Episode*>(row + sizeof(State))
    lane.cart = row + sizeof(State) + sizeof(Episode)
    lane.stack, lane.visits = row + lane.r.stack_at, row + lane.r.visits_at
    return lane


# -- frames ----------------------------------------------------------------------------------------


cdef inline void pack_frame(const Rules* r, const uint8_t* picture, uint8_t* plane) noexcept nogil:
    # Pack the pixels that a frame has, four a byte.
    cdef const uint8_t* line
    cdef const uint8_t* xs
    cdef int i, k, width = r.columns >> 2
    for i in range(r.rows):
        line = picture + WIDTH * r.ys[i]
        for k in range(width):
            xs = &r.xs[4 * k]
            plane[k] = line[xs[0]] | line[xs[1]] << 2 | line[xs[2]] << 4 | line[xs[3]] << 6
        plane += width


cdef inline void press_for(Lane* lane, int action, int frame) noexcept nogil:
    # Press what is pressed from a frame of a step on; with repeated actions, in that frame alone.
    # An action below 0 is what is pressed while a step lasts on.
    cdef const Rules* r = lane.r
    if action < 0:
        if frame == 0 or frame == r.release_after:
            press(lane.s, r.wait_keys if frame == 0 else 0)
        return
    if r.repeat_action_probability > 0:
        if rng_uniform(lane.e.rng) >= r.repeat_action_probability:
            lane.e.last_action = action
        press(lane.s, r.keys[lane.e.last_action] if frame < r.release_after else 0)
        return
    if frame == 0:
        lane.e.last_action = action
        press(lane.s, r.keys[action])
    if frame == r.release_after:
        press(lane.s, 0)


cdef inline int next_stop(const Rules* r, int frame) noexcept nogil:
    # The frame before which the machine stops again: buttons change, or a picture is drawn.
    if r.repeat_action_probability > 0:
        return frame + 1
    if frame < r.release_after and (r.max_pool == 0 or r.release_after < r.frames_per_step):
        return r.release_after
    if r.max_pool and frame < r.frames_per_step - 1:
        return r.frames_per_step - 1
    return r.frames_per_step


cdef inline void pool(const Rules* r, const uint8_t* before, uint8_t* picture) noexcept nogil:
    # Make each pixel as dark as it was in either of two pictures.
    cdef int i, x
    cdef const uint8_t* other
    cdef uint8_t* line
    for i in range(r.rows):
        other, line = before + WIDTH * r.ys[i], picture + WIDTH * r.ys[i]
        for x in range(WIDTH):
            line[x] = other[x] if other[x] > line[x] else line[x]


cdef inline void push_frame(Lane* lane, const uint8_t* picture) noexcept nogil:
    # Make a picture the newest frame.
    cdef const Rules* r = lane.r
    if r.stack_k > 1:
        memmove(lane.stack, lane.stack + r.plane, r.plane * (r.stack_k - 1))
    pack_frame(r, picture, lane.stack + r.plane * (r.stack_k - 1))


cdef inline void set_machine(Machine* m, const Lane* lane) noexcept nogil:
    # Let a machine run in a lane.
    m.s, m.cart, m.c = lane.s, lane.cart, <const Shared*>lane.shared
    m.rom = m.program = lane.shared + sizeof(Shared)
    m.rules, m.watched, m.pass_trap = lane.r, NULL, NULL
    if lane.r.program_at:
        m.program, m.pass_trap = lane.shared + lane.r.program_at, pass_trap
    if lane.r.watched_pages:
        m.watched = lane.shared + lane.r.watched_at
    m.line = lane.row + lane.r.line_at if m.c.by_pixel else NULL
    m.heard = lane.row + lane.r.sound_at if m.c.audio else NULL
    m.samples, m.num_samples = lane.row + lane.r.samples_at, 0
    m.lines = &lane.r.lines[0]
    m.skips, m.phase, m.other = True, 0, NULL


cdef inline void run_part(
    Machine* m, Lane* lane, int action, uint8_t* picture, uint8_t* before
) noexcept nogil:
    # Run the frames of a step, or of what it lasts on; draw the last one, or the last two.
    cdef const Rules* r = lane.r
    cdef uint8_t* target
    cdef int stop, frame = 0
    while frame < r.frames_per_step:
        press_for(lane, action, frame)
        stop, target = next_stop(r, frame), NULL
        if r.hides_pixels:
            target = NULL
        elif stop == r.frames_per_step:
            target = picture
        elif r.max_pool and stop == r.frames_per_step - 1:
            target = before
        m.num_samples = (stop - frame) * SAMPLES
        run_frames(m, stop - frame, target)
        m.samples += 4 * m.num_samples
        frame = stop


cdef inline bint is_over(const Lane* lane) noexcept nogil:
    # Whether a step lasts no longer.
    return evaluate_term(lane.row, lane.shared, lane.r, lane.r.waits, NULL, NULL, 0) != 0


cdef inline void run_step(Lane* lane, int action) noexcept nogil:
    # Run the frames of a step and push the last one, or the darker of the last two.
    cdef Machine m
    cdef uint8_t[23040] picture  # WIDTH * HEIGHT
    cdef uint8_t[23040] before
    cdef const Rules* r = lane.r
    set_machine(&m, lane)
    start_step(&m.watch)
    memset(lane.row + r.samples_at, 0, r.samples_bytes)
    run_part(&m, lane, action, picture, before)
    lane.e.waited = 0
    while r.waits >= 0 and lane.e.waited < r.wait_steps and not is_over(lane):
        lane.e.waited += 1
        run_part(&m, lane, -1, picture, before)
    start_drawing(&m.watch)
    if r.max_pool and not r.hides_pixels:
        pool(r, before, picture)
    if not r.hides_pixels:
        push_frame(lane, picture)
    end_drawing(&m.watch)
    end_step(&m.watch)


# -- a goal (docs/gameboy.md, 19) ------------------------------------------------------------------


cdef inline int goal_distance(const Lane* lane) noexcept nogil:
    # The sum of differences in shade, two pixels at a time.
    cdef const Rules* r = lane.r
    cdef const uint8_t* goal = lane.shared + r.goal_at
    cdef const uint8_t* shown = lane.stack + r.plane * r.stack_k - r.goal_bytes
    cdef int k, found = 0
    for k in range(r.goal_bytes):
        found += r.differences[(shown[k] & 15) | (goal[k] & 15) << 4]
        found += r.differences[shown[k] >> 4 | (goal[k] & 0xF0)]
    return found


cdef inline bint look_at_goal(Lane* lane) noexcept nogil:
    cdef Episode* e = lane.e
    cdef const Rules* r = lane.r
    e.ev_distance, e.distance = e.distance, goal_distance(lane)
    e.near = e.near + 1 if e.distance / r.distance_unit < r.threshold else 0
    return e.near >= r.k_consecutive


# -- a world (docs/gameboy.md, 20) -----------------------------------------------------------------


cdef inline unsigned int at_place(const Lane* lane, int place) noexcept nogil:
    cdef int offset = lane.r.places[place]
    return 0 if offset < 0 else lane.row[offset]


cdef inline void look(const Lane* lane, Seen* seen) noexcept nogil:
    cdef int k, count = (lane.r.num_events + 7) >> 3
    seen.items, seen.dialogue = at_place(lane, PLACE_ITEMS), at_place(lane, PLACE_DIALOGUE)
    for k in range(count):
        seen.events[k] = lane.row[lane.r.events_at + k]


cdef inline void forget_visits(Lane* lane) noexcept nogil:
    # Make all cells new again.
    if lane.r.slots:
        lane.e.visit_id += 1
    if lane.r.slots == 0 or lane.e.visit_id == 0:
        memset(lane.visits, 0, lane.r.visits_bytes)
        lane.e.visit_id = lane.r.slots != 0


cdef inline bint visit(Lane* lane) noexcept nogil:
    # Note the cell of now; return whether it was new.
    cdef const Rules* r = lane.r
    cdef uint64_t number = at_place(lane, PLACE_MAP), x = at_place(lane, PLACE_X)
    cdef uint64_t y = at_place(lane, PLACE_Y), cell
    cdef uint16_t* slot
    cdef bint new
    if r.slots:
        cell = number * 73856093 ^ x * 19349663 ^ y * 83492791
        cell ^= <uint64_t>at_place(lane, PLACE_STAGE) * 536870909
        slot = <uint16_t*>lane.visits + cell % <uint64_t>r.slots
        new = slot[0] != lane.e.visit_id
        slot[0] = lane.e.visit_id
        return new
    if number >= <uint64_t>r.size[0] or y >= <uint64_t>r.size[1] or x >= <uint64_t>r.size[2]:
        return False
    cell = (number * r.size[1] + y) * r.size[2] + x
    new = not lane.visits[cell >> 3] >> (cell & 7) & 1
    lane.visits[cell >> 3] |= 1 << (cell & 7)
    return new


cdef inline bint look_around(Lane* lane, const Seen* before) noexcept nogil:
    cdef Episode* e = lane.e
    cdef const Rules* r = lane.r
    cdef Seen now
    cdef unsigned int fired
    cdef int k
    cdef bint renewed = False
    look(lane, &now)
    e.ev_items = now.items - before.items if now.items > before.items else 0
    e.ev_dialogue = before.dialogue == 0 and now.dialogue != 0
    e.ev_events = 0
    for k in range((r.num_events + 7) >> 3):
        fired = now.events[k] & ~before.events[k]
        if fired:
            e.ev_events += ones(fired & r.rewarded[k])
            renewed |= (fired & r.renewing[k]) != 0
    if renewed:
        forget_visits(lane)
    e.ev_cells = visit(lane)
    e.cells += e.ev_cells
    return at_place(lane, PLACE_DONE) != 0


# -- expressions of a RAM map (docs/gameboy.md, 20.1) ----------------------------------------------


cdef inline bint looks(const Rules* r) noexcept nogil:
    # Whether a RAM map looks at anything after a step.
    return r.num_terms or r.num_cells


cdef inline void note(Lane* lane, int begin, int end, const int64_t* now, const int64_t* before) noexcept nogil:
    # Note rewards and numbers.
    cdef int64_t value
    cdef int k
    for k in range(begin, end):
        value = evaluate_term(lane.row, lane.shared, lane.r, k, now, before, 0)
        memcpy(lane.row + lane.r.values_at + 8 * k, &value, 8)


cdef inline void begin_memory(Lane* lane) noexcept nogil:
    # Look at the start state of an episode.
    cdef const Rules* r = lane.r
    cdef int64_t[MAX_LOADS] now
    memset(lane.row + r.values_at, 0, 8 * r.num_rewards)
    if not r.num_cells and not r.num_numbers:
        return
    read_loads(lane.row, lane.shared, r, now)
    remember(lane.row, lane.shared, r, now, now, True)
    note(lane, r.num_rewards, r.num_rewards + r.num_numbers, now, now)


cdef inline int look_at_memory(Lane* lane, const int64_t* before) noexcept nogil:
    # Note rewards and numbers; return how the episode ends.
    cdef const Rules* r = lane.r
    cdef int64_t[MAX_LOADS] now
    read_loads(lane.row, lane.shared, r, now)
    if r.num_cells:
        remember(lane.row, lane.shared, r, now, before, False)
    note(lane, 0, r.num_rewards + r.num_numbers, now, before)
    if r.terminates >= 0 and evaluate_term(
        lane.row, lane.shared, r, r.terminates, now, before, 0
    ) != 0:
        return TERMINATED
    if r.truncates >= 0 and evaluate_term(
        lane.row, lane.shared, r, r.truncates, now, before, 0
    ) != 0:
        return TRUNCATED
    return RUNNING


# -- episodes --------------------------------------------------------------------------------------


cdef inline uint64_t fill(uint8_t* memory, int count, uint64_t x) noexcept nogil:
    # Write bytes of a xorshift generator; return its state.
    cdef int k
    for k in range(count):
        if k & 7 == 0:
            x ^= x << 13
            x ^= x >> 7
            x ^= x << 17
        memory[k] = x >> 8 * (k & 7) & 0xFF
    return x


cdef inline void fill_memory(Lane* lane) noexcept nogil:
    # Fill the memory that the boot program has not cleared (docs/gameboy.md, 18).
    cdef State* s = lane.s
    cdef uint64_t x = rng_next(lane.e.rng)
    cdef int k
    x = fill(s.oam, sizeof(s.oam), x if x else 1)
    x = fill(s.high + 0x80, 0x7F, x)
    x = fill(s.wram, sizeof(s.wram), x)
    fill(lane.cart, lane.r.cart_bytes, x)
    if (<const Shared*>lane.shared).mbc == MBC2:
        for k in range(lane.r.cart_bytes):
            lane.cart[k] &= 0x0F


cdef inline void load_start(Lane* lane, int number) noexcept nogil:
    # Load the machine of a start state, and its frame.
    cdef const Rules* r = lane.r
    cdef uint8_t* row = lane.row
    cdef const uint8_t* start = lane.shared + r.starts_at + <int64_t>number * r.start_bytes
    cdef int k
    memcpy(lane.s, start, sizeof(State))
    memcpy(lane.cart, start + sizeof(State), r.cart_bytes)
    if r.fills_ram:
        fill_memory(lane)
    start += sizeof(State) + r.cart_bytes
    memcpy(row + r.line_at, start, r.line_bytes)
    memcpy(row + r.sound_at, start + r.line_bytes, r.sound_bytes)
    start += r.start_bytes - r.plane - sizeof(State) - r.cart_bytes  # the frame
    for k in range(r.stack_k):
        memcpy(lane.stack + r.plane * k, start, r.plane)


cdef inline void reset_lane(
    uint8_t* row, const uint8_t* shared, const Knobs* knobs, const uint64_t* seed
) noexcept nogil:
    cdef Lane lane = lane_at(row, shared)
    cdef Episode* e = lane.e
    cdef const Rules* r = lane.r
    cdef uint64_t[4] rng
    cdef uint16_t visit_id = e.visit_id
    cdef int number = knobs.start_state
    cdef bint plays_on = r.plays_on and seed == NULL and e.done == TRUNCATED and not lane.s.locked
    memcpy(rng, e.rng, sizeof(rng))
    if seed != NULL:
        rng_seed(rng, seed[0])
        memset(lane.visits, 0, r.visits_bytes)
        visit_id = 0
    if plays_on:
        number = e.start
    elif number < 0:
        number = rng_bounded(rng, r.num_starts) if r.num_starts > 1 else 0
    memset(e, 0, sizeof(Episode))
    memcpy(e.rng, rng, sizeof(rng))
    e.visit_id, e.start = visit_id, number
    memset(row + r.samples_at, 0, r.samples_bytes)
    memset(row + r.recent_at, 0, 2 * r.num_recent)
    if not plays_on:
        load_start(&lane, number)
    memset(row + r.counted_at, 0, r.counted_bytes)
    if r.num_writes:
        write_fields(row, shared, r, ON_RESET)
    if r.kind == KIND_GOAL:
        e.distance = e.ev_distance = goal_distance(&lane)
    elif r.kind == KIND_OVERWORLD:
        forget_visits(&lane)
        visit(&lane)
    begin_memory(&lane)


cdef inline void note_action(Lane* lane, int action) noexcept nogil:
    # Remember an action, if some are. Behind an odd number of bytes of visits they are not aligned.
    cdef uint8_t* recent = lane.row + lane.r.recent_at
    cdef uint16_t last = action + 1
    cdef int older = 2 * (lane.r.num_recent - 1)
    if lane.r.num_recent:
        memmove(recent, recent + 2, older)
        memcpy(recent + older, &last, 2)


cdef inline void step_lane(uint8_t* row, const uint8_t* shared, int action) noexcept nogil:
    cdef Lane lane = lane_at(row, shared)
    cdef Episode* e = lane.e
    cdef const Rules* r = lane.r
    cdef Seen before
    cdef int64_t[MAX_LOADS] loads
    cdef bint reached = False
    cdef int ends = RUNNING
    if r.num_writes:
        write_fields(row, shared, r, ON_STEP)
    look(&lane, &before)
    note_action(&lane, action)
    if looks(r):
        read_loads(row, shared, r, loads)
    if r.sticky > 0 and rng_uniform(e.rng) < r.sticky:
        action = e.last_action
    run_step(&lane, action)
    if r.kind == KIND_GOAL:
        reached = look_at_goal(&lane)
    elif r.kind == KIND_OVERWORLD:
        reached = look_around(&lane, &before)
    if looks(r):
        ends = look_at_memory(&lane, loads)
    if reached or ends == TERMINATED:
        e.done = TERMINATED
    elif ends == TRUNCATED or lane.s.locked or (r.max_steps and e.ep_length + 1 >= r.max_steps):
        e.done = TRUNCATED
