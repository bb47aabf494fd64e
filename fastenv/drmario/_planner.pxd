# The planner of the placement environment, from the spawn. A descent by rows (docs/drmario.md, 11.5)
# answers nearly every query; what it cannot prove, and the extended inputs, go to the search.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from fastenv.drmario._search cimport *

# A set of states of one row is four bytes, a bit for every column: horizontal as at the spawn,
# horizontal in either order, vertical turned in the last frame, vertical in either order.
cdef enum:
    SPAWNED = 0x000000FF
    FLAT = 0x0000FF00
    FRESH = 0x00FF0000
    WALL = 0x01010101
    SPAWN_BIT = 0x08
    NO_LIMIT = 1 << 20
    HISTORY = 128  # frames of a row, more than any gravity


cdef extern from *:
    """
    /* Bytes of the sets, at column 0, that hold a pose with rot 0 to 3. */
    static const unsigned int fastenv_bytes[4] = {0x0101, 0x01010000, 0x0100, 0x01010000};
    """
    const uint32_t BYTES "fastenv_bytes"[4]

cdef extern from "_portable.h":
    int lowest "fastenv_lowest_bit"(uint64_t bits) noexcept nogil


# The states of a row before one frame.
cdef struct Sets:
    uint32_t neutral  # no direction held
    uint32_t pressed_right
    uint32_t left[16]  # held, by velocity


# First and last frame before which a row was looked at.
cdef struct Span:
    int start, end


# Where a pill of one row may go.
cdef struct Room:
    uint32_t flat  # where a vertical pill fits after its turn, in the bytes it comes from
    uint32_t beside  # likewise one column to the left
    uint32_t tall
    uint32_t left
    uint32_t right


# What is needed to know that a row is complete.
cdef struct Reach:
    int spawned, flat, tall


cdef inline uint32_t twice(int byte) noexcept nogil:
    return <uint32_t>byte * 0x0101


cdef inline Room room_of(const Bottle* bottle, int y) noexcept nogil:
    cdef int flat = bottle.fits[0][y + 1], tall = bottle.fits[1][y + 1]
    cdef Room room
    room.flat = twice(flat)
    room.beside = twice(flat << 1 & 0xFF)
    room.tall = twice(tall) << 16
    room.left = room.beside | twice(tall << 1 & 0xFF) << 16
    room.right = twice(flat >> 1) | twice(tall >> 1) << 16
    return room


cdef inline uint32_t unturned(uint32_t states) noexcept nogil:
    """Do the rotation stage without a turn."""
    return states & ~<uint32_t>FRESH | (states & FRESH) << 8


cdef inline uint32_t flipped(const Room* room, uint32_t states, bint left) noexcept nogil:
    """Do the rotation stage with a turn."""
    cdef uint32_t tall = states >> 16
    cdef uint32_t goes = tall & room.beside if left else tall & ~room.flat & room.beside
    return states << 16 & room.tall | goes >> 1 | tall & room.flat & ~goes


cdef inline uint32_t turns(const Room* room, uint32_t states, bint left) noexcept nogil:
    return unturned(states) | flipped(room, states, left)


cdef inline uint32_t lefts(const Sets* sets) noexcept nogil:
    cdef uint32_t states = 0
    cdef int v
    for v in range(16):
        states |= sets.left[v]
    return states


cdef inline uint32_t all_of(const Sets* sets) noexcept nogil:
    return sets.neutral | sets.pressed_right | lefts(sets)


cdef inline void stay(const Room* room, const Sets* sets, Sets* out) noexcept nogil:
    """Advance one frame in the row; what waited with no direction held can go on waiting."""
    cdef uint32_t held = lefts(sets), pressed = sets.neutral | sets.pressed_right
    cdef uint32_t last = sets.left[15]
    cdef uint32_t[16] aged
    cdef int v
    aged[0] = (pressed & room.left) >> 1 | pressed & WALL
    for v in range(1, 16):
        aged[v] = sets.left[v - 1]
    aged[10] |= (last & room.left) >> 1 | last & WALL
    aged[15] |= (pressed | last) & ~(room.left | WALL)
    out.neutral = turns(room, pressed | held, False)
    out.pressed_right = turns(room, ((sets.neutral | held) & room.right) << 1, False)
    for v in range(16):
        out.left[v] = turns(room, aged[v], True)


cdef inline void wait(const Sets* sets, Sets* out) noexcept nogil:
    """Let one frame pass without buttons."""
    memset(out, 0, sizeof(Sets))
    out.neutral = unturned(all_of(sets))


cdef inline void spread(const Bottle* bottle, int y, Reach* reach) noexcept nogil:
    """Flood one row, from what the row above had, as if there were no time."""
    cdef int flat = bottle.fits[0][y + 1], tall = bottle.fits[1][y + 1], old
    reach.spawned = slide(reach.spawned & flat, flat)
    reach.flat &= flat
    reach.tall &= tall
    old = -1
    while old != (reach.flat | reach.tall << 8):
        old = reach.flat | reach.tall << 8
        reach.tall = slide((reach.tall | reach.spawned | reach.flat) & tall, tall)
        reach.flat = slide((reach.flat | reach.tall | reach.tall >> 1) & flat, flat)


cdef inline bint complete(const Reach* reach, uint32_t neutral) noexcept nogil:
    """Tell whether all that the flood reached has been reached with no direction held."""
    cdef uint32_t free = <uint32_t>reach.flat << 8 | <uint32_t>reach.tall << 24
    return not free & ~neutral and not reach.spawned & ~(neutral | neutral >> 8)


cdef inline uint32_t rotations_of(uint32_t states) noexcept nogil:
    """Return the columns with rot 0, with rot 2 and with either vertical one, in three bytes."""
    return (states | states >> 8) & 0xFF | states & FLAT | (states | states >> 8) & FRESH


cdef inline void note(uint16_t* costs, int y, uint32_t columns, int cost) noexcept nogil:
    cdef int x
    while columns:
        x = lowest(columns)
        columns &= columns - 1
        if x < 8:
            costs[action_of(x, y, 0)] = cost
        elif x < 16:
            costs[action_of(x - 8, y, 2)] = cost
        else:
            costs[action_of(x - 16, y, 1)] = cost
            costs[action_of(x - 16, y, 3)] = cost


# What a row had before each frame in which down acts, from the frame `first` on.
cdef struct Falls:
    int first, count
    uint32_t states[MAX_GRAVITY]


cdef inline uint32_t fits_of(const Bottle* bottle, int y) noexcept nogil:
    return twice(bottle.fits[0][y + 1]) | twice(bottle.fits[1][y + 1]) << 16


cdef inline uint32_t fallen(
    const Falls* above, int time, const Bottle* bottle, int y
) noexcept nogil:
    """Return the states that fall into row y, before its turn, in the frame after `time`."""
    cdef int k = (time - above.first) >> 1
    return above.states[k] & fits_of(bottle, y) if 0 <= k < above.count else 0


cdef inline int first_fall(const Falls* above, const Bottle* bottle, int y) noexcept nogil:
    """Return the frame after which something has come down to row y, -1 if nothing does."""
    cdef int k
    for k in range(above.count):
        if above.states[k] & fits_of(bottle, y):
            return above.first + 2 * k
    return -1


cdef inline uint32_t resting(const Bottle* bottle, int y, const Reach* reach) noexcept nogil:
    """Return the columns of the flood that can lock in row y, as `rotations_of` does."""
    cdef int flat = ~bottle.fits[0][y], tall = ~bottle.fits[1][y] if y < ROWS - 1 else 0
    cdef uint32_t columns = (reach.spawned | reach.flat) & flat
    return columns | <uint32_t>(reach.flat & flat) << 8 | <uint32_t>(reach.tall & tall) << 16


cdef inline bint descend(
    const Bottle* bottle, int parity, int gravity, uint16_t* costs, Sets* sets, int frames,
    Span* spans,
) noexcept nogil:
    """Fill the costs row by row; return False where they are not proved to be the least.

    The states before frame t of a row are in sets[(t - start) % frames], `frames` a power of two;
    rows follow each other where there is room for all of their frames, HISTORY.
    """
    cdef Falls falls[2]
    cdef Falls* here
    cdef Falls* above
    cdef Reach reach
    cdef Room room
    cdef Sets* row = sets
    cdef Sets* now
    cdef Sets* following
    cdef uint32_t missing, new
    cdef bint done
    cdef int y, time, start = 0, last, limit = NO_LIMIT
    if gravity < 3:
        return False
    memset(costs, 0xFF, sizeof(uint16_t) * NUM_ACTIONS)
    reach.spawned = SPAWN_BIT
    reach.flat = reach.tall = 0
    for y in range(ROWS - 1, -1, -1):
        spread(bottle, y, &reach)
        if not reach.spawned | reach.flat | reach.tall:
            break
        here = &falls[y & 1]
        above = &falls[1 - (y & 1)]
        if y < ROWS - 1:
            start = first_fall(above, bottle, y) + 1
            if start == 0:
                return False
        if frames == HISTORY:
            row = sets + HISTORY * y
        now = row
        memset(now, 0, sizeof(Sets))
        room = room_of(bottle, y)
        missing = resting(bottle, y, &reach)
        here.count = last = 0
        time = start
        while True:
            if y == ROWS - 1:
                now.neutral |= SPAWN_BIT
            elif (parity + time) & 1:
                now.neutral |= turns(&room, fallen(above, time - 1, bottle, y), False)
            done = complete(&reach, now.neutral)
            if not (parity + time) & 1:
                new = all_of(now)
                if here.count == 0:
                    here.first = time
                here.states[here.count] = new
                here.count += 1
                new = rotations_of(new) & missing
                if new:
                    note(costs, y, new, time + 1)
                    missing ^= new
                    last = time + 1
                if done:
                    break
            if time - start == gravity - 1:
                limit = min(limit, start + gravity - 2)
                break
            time += 1
            following = row + ((time - start) & (frames - 1))
            if done:
                wait(now, following)
            else:
                stay(&room, now, following)
            now = following
        spans[y].start = start
        spans[y].end = time
        if missing or last > limit:
            return False
        limit += 2
    return True


cdef inline Root spawn_root() noexcept nogil:
    cdef Root root
    memset(&root, 0, sizeof(Root))
    root.x = 3
    root.y = ROWS - 1
    return root


cdef inline void plan(
    const uint8_t* board, int parity, int gravity, bint extended, uint16_t* costs
) noexcept nogil:
    """Fill costs[512] for a pill at the spawn: frames to the lock by action, 0xFFFF if infeasible.

    `parity` is that of the frame counter before the first frame.
    """
    cdef Bottle bottle = bottle_of(board)
    cdef Root root
    cdef Sets sets[2]
    cdef Span spans[ROWS]
    if extended or not descend(&bottle, parity, gravity, costs, sets, 2, spans):
        root = spawn_root()
        search(&bottle, parity, gravity, &root, extended, -1, costs, NULL)


# -- scripts ------------------------------------------------------------------------------------

# One state on the way back, `bit` one of those of a set.
cdef struct Place:
    int y, word
    uint32_t bit


cdef inline bint pick(
    const Sets* sets, uint32_t bit, bint right, bint left, Place* place
) noexcept nogil:
    """Find the bit with no direction held or, where asked for, one; put it into the place."""
    cdef int v
    if sets.neutral & bit:
        place.word = NEUTRAL
    elif right and sets.pressed_right & bit:
        place.word = PRESSED_RIGHT
    else:
        for v in range(16 if left else 0):
            if sets.left[v] & bit:
                place.word = LEFT_0 + v
                break
        else:
            return False
    place.bit = bit
    return True


cdef inline bint moved_from(
    const Room* room, const Sets* before, uint32_t bit, Place* place
) noexcept nogil:
    """Find what the horizontal stage leads from to `bit` with the place's word."""
    cdef int v = place.word - LEFT_0
    cdef uint32_t beside = bit << 1 & room.left
    cdef bint walled = bit & WALL != 0, blocked = not bit & (room.left | WALL)
    if place.word == NEUTRAL:
        return pick(before, bit, True, True, place)
    if place.word == PRESSED_RIGHT:
        return bit >> 1 & room.right != 0 and pick(before, bit >> 1, False, True, place)
    if v > 0 and before.left[v - 1] & bit:
        place.word -= 1
        place.bit = bit
        return True
    if v == 0 and beside and pick(before, beside, True, False, place):
        return True
    if (v == 0 and walled or v == 15 and blocked) and pick(before, bit, True, False, place):
        return True
    if v == 10 and before.left[15] & beside:
        bit = beside
    elif not (v == 10 and walled or v == 15 and blocked) or not before.left[15] & bit:
        return False
    place.word = LEFT_15
    place.bit = bit
    return True


cdef inline bint came_from(
    const Bottle* bottle, const Sets* before, const Sets* above, Place* place, uint8_t* buttons
) noexcept nogil:
    """Step back by one frame, in the row or, where down acted, to the row above; either may be NULL.

    A turn is noted as A; which button it is, is decided at the end.
    """
    cdef Room room = room_of(bottle, place.y)
    cdef uint32_t bit = place.bit, fits = fits_of(bottle, place.y), result
    cdef uint32_t bits[4]
    cdef bint left = place.word >= LEFT_0 and place.word <= LEFT_15
    cdef int i
    # Without a turn, then with one.
    bits[0] = bit
    bits[1] = bit >> 8
    bits[2] = bit >> 16 if bit >> 16 else bit << 16
    bits[3] = 0 if bit >> 16 else bit << 17
    for i in range(4):
        result = unturned(bits[i]) if i < 2 else flipped(&room, bits[i], left)
        if not result & bit:
            continue
        buttons[0] = BUTTON_A if i >= 2 else 0
        if left:
            buttons[0] |= LEFT
        elif place.word == PRESSED_RIGHT:
            buttons[0] |= RIGHT
        if before != NULL and moved_from(&room, before, bits[i], place):
            return True
        if above != NULL and place.word == NEUTRAL and bits[i] & fits:
            if pick(above, bits[i], True, True, place):
                place.y += 1
                buttons[0] |= DOWN
                return True
    return False


cdef inline int end_of_run(const uint8_t* buttons, int frame, int length) noexcept nogil:
    while frame < length and buttons[frame] & BUTTON_A:
        frame += 1
    return frame


cdef inline void choose_buttons(uint8_t* buttons, int length, int rot) noexcept nogil:
    """Make the turns A or B, so that the pill ends with `rot` (docs/drmario.md, 11.5).

    In a run of turns without a pause the buttons alternate, so that an odd run turns the pill by
    one, to the side of its first button, and an even one not at all.
    """
    cdef int odd = 0, run = 0, frame = 0, end
    cdef bint b
    while frame < length:
        end = end_of_run(buttons, frame, length)
        odd += (end - frame) & 1
        frame = end + 1
    frame = 0
    while frame < length:
        end = end_of_run(buttons, frame, length)
        b = False
        if (end - frame) & 1:
            # Pairs of odd runs cancel out, but for the first with rot 2 and a last one alone.
            b = run & 1 or rot == 2
            run += 1
            if odd & 1 and run == odd:
                b = rot == 1
            elif run > 2:
                b = run & 1
        while frame < end:
            buttons[frame] ^= BUTTON_A if b else 0
            buttons[frame] |= BUTTON_B if b else 0
            b = not b
            frame += 1
        frame = end + 1


cdef inline void trace(
    const Bottle* bottle, const Sets* sets, const Span* spans, int parity, int length,
    uint32_t bits, int y, uint8_t* buttons,
) noexcept nogil:
    """Write the way to where one of the bits of row y locks in frame `length`, turns as A."""
    cdef Place place
    cdef const Sets* before
    cdef const Sets* above
    cdef int time = length - 1, bit
    memset(&place, 0, sizeof(Place))
    place.y = y
    before = sets + HISTORY * y + (time - spans[y].start)
    for bit in range(32):
        if bits >> bit & 1 and pick(before, <uint32_t>1 << bit, True, True, &place):
            break
    buttons[time] = DOWN
    while time > 0:
        time -= 1
        y = place.y
        before = above = NULL
        if time >= spans[y].start:
            before = sets + HISTORY * y + (time - spans[y].start)
        if y < ROWS - 1 and not (parity + time) & 1:
            if spans[y + 1].start <= time <= spans[y + 1].end:
                above = sets + HISTORY * (y + 1) + (time - spans[y + 1].start)
        came_from(bottle, before, above, &place, &buttons[time])


cdef inline int script(
    const uint8_t* board, int parity, int gravity, bint extended, int action, uint8_t* buttons
) noexcept nogil:
    """Write the buttons of a shortest way to the action, one byte a frame, at most MAX_FRAMES.

    Returns how many, 0 if the action is infeasible, -1 if memory ran out.
    """
    cdef Bottle bottle = bottle_of(board)
    cdef Sets* sets = <Sets*>WORK.sets  # the search that may follow starts anew
    cdef uint16_t costs[NUM_ACTIONS]
    cdef Span spans[ROWS]
    cdef Root root
    cdef int orientation = action >> 7, y = ROWS - 1 - (action >> 3 & 15), x = action & 7
    cdef int rot = (4 - orientation) & 3
    if extended or not descend(&bottle, parity, gravity, costs, sets, HISTORY, spans):
        root = spawn_root()
        return search_script(&bottle, parity, gravity, &root, extended, action, buttons)
    if costs[action] == INFEASIBLE:
        return 0
    if rot == 3:
        y -= 1
    elif rot == 2:
        x -= 1
    trace(&bottle, sets, spans, parity, costs[action], BYTES[rot] << x, y, buttons)
    choose_buttons(buttons, costs[action], rot)
    return costs[action]
