# The search by columns (docs/drmario.md, 11.4) from any root and with either input set; the readable
# twin is `plan` of reachability.py. Fewer velocities are told apart (docs/drmario.md, 11.5).
from libc.stdint cimport uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

cdef enum:
    ROWS = 16
    COLUMNS = 8
    NUM_ACTIONS = 512
    INFEASIBLE = 0xFFFF
    DOWN_ALONE = 1
    MAX_GRAVITY = 69
    MAX_FRAMES = 16 * (MAX_GRAVITY + 1)
    RIGHT = 0x01
    LEFT = 0x02
    DOWN = 0x04
    BUTTON_B = 0x40
    BUTTON_A = 0x80

    # Words of a set of states with one row, counter and orientation.
    NEUTRAL = 0  # no direction held, or one whose press would be fresh again
    LEFT_0 = 1  # left held, with velocity 0 to 15
    LEFT_10 = 11
    LEFT_15 = 16
    PRESSED_RIGHT = 17
    WORDS = 18
    PLAIN = 36  # orientations: horizontal, then vertical
    # With the extended inputs, left and right held with velocity 0 to 15, behind all others.
    TOGETHER_0 = WORDS
    TOGETHER_15 = 33
    SPEEDS = 16
    EVERY = 68


cdef extern from *:
    """
    /* Inputs by number, down alone at 1, what only the extended inputs have at the end. */
    static const unsigned char fastenv_directions[5] = {0, 0x04, 0x02, 0x01, 0x03};
    static const unsigned char fastenv_held[4] = {0, 0x80, 0x40, 0xC0};
    /* One a thread: too large for the stack of some, and the search shall not allocate. */
    typedef struct {
        uint64_t seen[2][16 * 70 * 68], sets[2][16 * 70 * 68];
        uint16_t cells[2][16 * 70];
        uint8_t touched[16 * 70];
    } fastenv_layers;
    static _Thread_local fastenv_layers fastenv_work;
    """
    ctypedef struct Layers "fastenv_layers":
        # By parity and cell: row * (gravity + 1) + counter, PLAIN or EVERY words each.
        uint64_t[76160] seen[2]
        uint64_t[76160] sets[2]  # states of this layer and the next
        uint16_t cells[2][1120]  # that have states
        uint8_t touched[1120]
    Layers WORK "fastenv_work"
    const uint8_t DIRECTIONS "fastenv_directions"[5]
    const uint8_t HELD "fastenv_held"[4]


cdef struct Bottle:
    # Bit x is set where the pose fits; rows are shifted by one, so that row 0 lies below the bottom.
    uint8_t fits[2][ROWS + 1]


cdef struct Root:
    int x, y, rot, counter, velocity, direction, held


# What a layer had for the first time, for the way back.
cdef struct Entry:
    uint64_t bits
    uint16_t depth
    uint16_t cell
    uint8_t word


cdef struct Log:
    Entry* entries
    size_t size
    size_t capacity
    bint failed


cdef inline uint64_t every(int byte) noexcept nogil:
    return <uint64_t>byte * 0x0101010101010101U


cdef inline Bottle bottle_of(const uint8_t* board) noexcept nogil:
    """Find where a pill fits among the cells of a board."""
    cdef Bottle bottle
    cdef uint64_t row
    cdef int y, cells, above = 0xFF  # a half above the top row is always allowed
    bottle.fits[0][0] = bottle.fits[1][0] = 0
    for y in range(ROWS - 1, -1, -1):
        memcpy(&row, board + 8 * (ROWS - 1 - y), 8)
        # The bytes from 0xF0 on, one bit each, gathered by a product whose terms never meet.
        row = row & row << 1 & row << 2 & row << 3 & every(0x80)
        cells = <int>((row >> 7) * 0x0102040810204080U >> 56)
        bottle.fits[0][y + 1] = cells & cells >> 1
        bottle.fits[1][y + 1] = cells & above
        above = cells
    return bottle


cdef inline int action_of(int x, int y, int rot) noexcept nogil:
    """Return the number of the action (docs/drmario.md, 11.3), -1 with a half above the top."""
    cdef int cell = 8 * (ROWS - 1 - y) + x
    if rot == 0:
        return cell
    if rot == 2:
        return 2 * 128 + cell + 1
    if y == ROWS - 1:
        return -1
    return 3 * 128 + cell if rot == 1 else 128 + cell - 8


# -- sets of states -----------------------------------------------------------------------------

cdef inline uint64_t released(uint64_t states) noexcept nogil:
    states |= states >> 16
    return (states | states >> 8) & 0x000000FF000000FFU


cdef inline uint64_t turned(
    const Bottle* bottle, uint64_t states, int y, int tall, int button, bint left
) noexcept nogil:
    """Return where a rotation leads, as if its button were not held."""
    cdef uint64_t fits = every(bottle.fits[1 - tall][y + 1])
    cdef uint64_t beside, goes
    if not tall:
        states &= fits
    else:
        beside = every(bottle.fits[0][y + 1] << 1 & 0xFF)
        goes = states & beside if left else states & ~fits & beside
        states = goes >> 1 | states & fits & ~goes
    if (button == 2) == tall:
        states = states >> 32 | states << 32
    return states


cdef inline int words_of(bint extended) noexcept nogil:
    return EVERY if extended else PLAIN


cdef inline int index_of(int tall, int word) noexcept nogil:
    """Return where a word of an orientation is."""
    return WORDS * tall + word if word < WORDS else PLAIN + SPEEDS * tall + word - WORDS


cdef inline uint64_t* touch(int cell, int following, int words, int* count) noexcept nogil:
    """Return the words of a cell in the layer that follows, at first empty."""
    cdef uint64_t* states = WORK.sets[following] + cell * words
    if not WORK.touched[cell]:
        WORK.touched[cell] = True
        WORK.cells[following][count[0]] = cell
        count[0] += 1
        memset(states, 0, sizeof(uint64_t) * words)
    return states


cdef inline void rotate(
    const Bottle* bottle, uint64_t states, int y, int tall, int word, bint left, bint extended,
    uint64_t* out,
) noexcept nogil:
    """Do the rotation stage; a button that does nothing is left out."""
    cdef uint64_t none = 0x000000FF000000FFU, fresh
    cdef int button
    if states == 0:
        return
    out[index_of(tall, word)] |= released(states)
    for button in range(1, 3):
        fresh = (states | states >> 8 * (3 - button)) & none
        fresh = turned(bottle, fresh, y, tall, button, left)
        out[index_of(1 - tall, word)] |= fresh << 8 * button
    if extended:
        fresh = turned(bottle, states & none, y, tall, 1, left)
        fresh = turned(bottle, fresh, y, 1 - tall, 2, left)
        out[index_of(tall, word)] |= fresh << 24


cdef inline uint64_t any_left(const uint64_t* words) noexcept nogil:
    cdef uint64_t states = 0
    cdef int v
    for v in range(16):
        states |= words[LEFT_0 + v]
    return states


cdef inline uint64_t any_together(const uint64_t* states, int tall, bint extended) noexcept nogil:
    cdef uint64_t found = 0
    cdef int v
    if extended:
        for v in range(SPEEDS):
            found |= states[PLAIN + SPEEDS * tall + v]
    return found


cdef inline void move_together(
    const Bottle* bottle, const uint64_t* states, uint64_t pressed, int y, int tall, uint64_t* out
) noexcept nogil:
    """Do both stages with left and right held: to the right, and from there to the left."""
    cdef const uint64_t* words = states + PLAIN + SPEEDS * tall
    cdef uint64_t right = every(bottle.fits[tall][y + 1] >> 1), wall = every(0x40 << tall)
    cdef uint64_t left = every(bottle.fits[tall][y + 1] << 1 & 0xFF), last = words[15], aged
    cdef int v
    for v in range(SPEEDS):
        # What goes right comes back; what a cell stops there, or then to the left, is charged.
        aged = words[v - 1] if v > 0 else pressed & right | (pressed & wall & left) >> 1
        if v == 10:
            aged |= last & right | (last & wall & left) >> 1
        elif v == 15:
            aged |= (pressed | last) & ~(right | left)
            aged |= ((pressed | last) & ~(right | wall) & left) >> 1
        rotate(bottle, aged, y, tall, TOGETHER_0 + v, True, True, out)


cdef inline void move(
    const Bottle* bottle, const uint64_t* states, int y, bint neutral, bint extended, uint64_t* out
) noexcept nogil:
    """Do the horizontal and the rotation stage; `neutral` allows no direction alone."""
    cdef const uint64_t* words
    cdef uint64_t lefts, together, room, wall = every(0x01), pressed, last, aged
    cdef int tall, v
    for tall in range(2):
        words = states + WORDS * tall
        lefts = any_left(words)
        together = any_together(states, tall, extended)
        pressed = words[NEUTRAL] | words[PRESSED_RIGHT]
        rotate(bottle, pressed | lefts | together, y, tall, NEUTRAL, False, extended, out)
        if neutral or not pressed | lefts | together:
            continue
        last = states[index_of(tall, TOGETHER_15)] if extended else 0
        room = every(bottle.fits[tall][y + 1] >> 1)
        room &= words[NEUTRAL] | lefts | last
        rotate(bottle, room << 1, y, tall, PRESSED_RIGHT, False, extended, out)
        if extended:
            move_together(bottle, states, pressed | lefts, y, tall, out)
        room = every(bottle.fits[tall][y + 1] << 1 & 0xFF)
        last |= words[LEFT_15]
        for v in range(16):
            aged = words[LEFT_0 + v - 1] if v > 0 else (pressed & room) >> 1 | pressed & wall
            if extended and v > 0:
                aged |= states[index_of(tall, TOGETHER_0 + v - 1)]
            if v == 10:
                aged |= (last & room) >> 1 | last & wall
            elif v == 15:
                aged |= (pressed | last) & ~(room | wall)
            rotate(bottle, aged, y, tall, LEFT_0 + v, True, extended, out)


cdef inline int poses(const uint64_t* states, int rot, bint extended) noexcept nogil:
    """Return the columns of a set with one rotation, whatever else is true of its states."""
    cdef const uint64_t* words = states + WORDS * (rot & 1)
    cdef uint64_t found = words[NEUTRAL] | words[PRESSED_RIGHT] | any_left(words)
    found |= any_together(states, rot & 1, extended)
    return <int>(released(found) >> 32 * (rot >> 1) & 0xFF)


cdef inline int slide(int x, int fits) noexcept nogil:
    """Return the columns that moves to both sides reach."""
    cdef int other = fits, left = x, right = x
    left |= fits & left << 1
    right |= fits & right >> 1
    other = fits & fits << 1
    left |= other & left << 2
    other &= other << 2
    left |= other & left << 4
    other = fits & fits >> 1
    right |= other & right >> 2
    other &= other >> 2
    right |= other & right >> 4
    return left | right


cdef inline int lockable(
    const Bottle* bottle, const Root* root, bint extended, uint8_t* missing
) noexcept nogil:
    """Fill missing[4 * y + rot] with a superset of the columns that can lock; return how many.

    A flood fill that knows no time.
    """
    cdef int reached[4]
    cdef int y, rot, tall, new, beside, old, total = 0
    memset(reached, 0, sizeof(reached))
    memset(missing, 0, 4 * ROWS)
    for y in range(root.y, -1, -1):
        if y == root.y:
            reached[root.rot] = 1 << root.x
        for rot in range(4):
            reached[rot] &= bottle.fits[rot & 1][y + 1]
        old = -1
        while old != reached[0] + (reached[1] << 8) + (reached[2] << 16) + (reached[3] << 24):
            old = reached[0] + (reached[1] << 8) + (reached[2] << 16) + (reached[3] << 24)
            for rot in range(4):
                new = reached[rot]
                beside = reached[(rot + 1) & 3] | reached[(rot + 3) & 3]
                new |= beside if rot & 1 else beside | beside >> 1
                if extended and rot & 1:
                    new |= reached[rot] >> 1
                reached[rot] = slide(new & bottle.fits[rot & 1][y + 1], bottle.fits[rot & 1][y + 1])
        for rot in range(4):
            tall = rot & 1
            if y < ROWS - 1 or not tall:
                missing[4 * y + rot] = reached[rot] & ~bottle.fits[tall][y]
                for new in range(8):
                    total += missing[4 * y + rot] >> new & 1
    return total


# -- the search ---------------------------------------------------------------------------------

cdef inline void record(Log* log, int depth, int cell, int word, uint64_t bits) noexcept nogil:
    cdef Entry* entries
    if log.failed:
        return
    if log.size == log.capacity:
        entries = <Entry*>realloc(log.entries, 2 * (log.capacity + 512) * sizeof(Entry))
        if entries == NULL:
            log.failed = True
            return
        log.entries = entries
        log.capacity = 2 * (log.capacity + 512)
    log.entries[log.size].bits = bits
    log.entries[log.size].depth = depth
    log.entries[log.size].cell = cell
    log.entries[log.size].word = word
    log.size += 1


cdef inline bint keep_unseen(
    uint64_t* states, uint64_t* seen, int words, int depth, int cell, Log* log
) noexcept nogil:
    """Drop what an earlier layer had; with no button held a state covers those with one."""
    cdef uint64_t unheld, found = 0
    cdef int word
    for word in range(words):
        if states[word]:
            unheld = (states[word] | seen[word]) & 0x000000FF000000FFU
            states[word] &= ~(seen[word] | unheld << 8 | unheld << 16 | unheld << 24)
            seen[word] |= states[word]
            found |= states[word]
            if log != NULL and states[word]:
                record(log, depth, cell, word, states[word])
    return found != 0


cdef inline int lock(
    const Bottle* bottle, const uint64_t* states, int y, bint extended, int depth,
    uint8_t* missing, uint16_t* costs,
) noexcept nogil:
    """Note what rests in row y as locked in frame `depth`; return how many are new."""
    cdef int rot, x, columns, count = 0
    for rot in range(4):
        if not missing[4 * y + rot]:
            continue
        columns = poses(states, rot, extended)
        columns &= missing[4 * y + rot]
        missing[4 * y + rot] ^= columns
        for x in range(8):
            if columns >> x & 1:
                costs[action_of(x, y, rot)] = depth
                count += 1
    return count


cdef inline bint lower(
    const Bottle* bottle, const uint64_t* states, int y, bint extended, uint64_t* out
) noexcept nogil:
    """Keep the states that fit one row lower; tell whether there are any."""
    cdef uint64_t flat = every(bottle.fits[0][y]), tall = every(bottle.fits[1][y]), found = 0
    cdef int word
    for word in range(WORDS):
        out[word] = states[word] & flat
        out[WORDS + word] = states[WORDS + word] & tall
        found |= out[word] | out[WORDS + word]
    if extended:
        for word in range(PLAIN, PLAIN + SPEEDS):
            out[word] = states[word] & flat
            out[SPEEDS + word] = states[SPEEDS + word] & tall
            found |= out[word] | out[SPEEDS + word]
    return found != 0


cdef inline int word_of(const Root* root) noexcept nogil:
    """Return the word of a velocity; right with 15 tries to move again, like a fresh press."""
    if root.direction == 1:
        return LEFT_0 + root.velocity
    return PRESSED_RIGHT if root.direction == 2 and root.velocity < 15 else NEUTRAL


cdef inline void search(
    const Bottle* bottle, int parity, int gravity, const Root* root, bint extended, int target,
    uint16_t* costs, Log* log,
) noexcept nogil:
    """Fill the costs, breadth first by frame; stop early once the action `target` is found."""
    cdef uint8_t missing[4 * ROWS]
    cdef uint64_t lowered[EVERY]
    cdef uint64_t* states
    cdef int words = words_of(extended), counters = gravity + 1, now = 0, depth = 0, count = 0, following, cell, y, i, left
    cdef uint64_t* out
    cdef int fresh
    cdef bint down, forced
    memset(costs, 0xFF, sizeof(uint16_t) * NUM_ACTIONS)
    if not bottle.fits[root.rot & 1][root.y + 1] >> root.x & 1:
        return
    left = lockable(bottle, root, extended, missing)
    for i in range(2):
        memset(WORK.seen[i], 0, sizeof(uint64_t) * words * ROWS * counters)
    memset(WORK.touched, 0, sizeof(WORK.touched))
    cell = root.y * counters + root.counter
    states = touch(cell, now, words, &count)
    WORK.touched[cell] = False
    i = index_of(root.rot & 1, word_of(root))
    states[i] = <uint64_t>1 << 8 * (root.rot >> 1 << 2 | root.held) + root.x
    if log != NULL:
        record(log, 0, cell, i, states[i])
    while count and left and (target < 0 or costs[target] == INFEASIBLE):
        down = not (parity + depth) & 1
        depth += 1
        following = 1 - now
        fresh = 0
        for i in range(count):
            cell = WORK.cells[now][i]
            y = cell // counters
            states = WORK.sets[now] + cell * words
            forced = cell % counters == gravity
            if forced or down:
                left -= lock(bottle, states, y, extended, depth, missing, costs)
                if lower(bottle, states, y, extended, lowered):
                    out = touch((y - 1) * counters, following, words, &fresh)
                    move(bottle, lowered, y - 1, not forced, extended, out)
            if not forced:
                out = touch(cell + 1, following, words, &fresh)
                move(bottle, states, y, False, extended, out)
        count = 0
        for i in range(fresh):
            cell = WORK.cells[following][i]
            WORK.touched[cell] = False
            states = WORK.sets[following] + cell * words
            out = WORK.seen[depth & 1] + cell * words
            if keep_unseen(states, out, words, depth, cell, log):
                WORK.cells[following][count] = cell
                count += 1
        now = following


# -- scripts ------------------------------------------------------------------------------------

# One state of a set.
cdef struct State:
    int x, y, rot, counter, word, held


cdef inline bint fits(const Bottle* bottle, int x, int y, int rot) noexcept nogil:
    return x >= 0 and bottle.fits[rot & 1][y + 1] >> x & 1


cdef inline bint turn(
    const Bottle* bottle, State* state, int step, bint left
) noexcept nogil:
    """Try one rotation; tell whether it fits."""
    cdef int rot = (state.rot + step) & 3
    cdef bint here = fits(bottle, state.x, state.y, rot)
    cdef bint beside = not rot & 1 and fits(bottle, state.x - 1, state.y, rot)
    if not here and not beside:
        return False
    state.rot = rot
    if beside and (left or not here):
        state.x -= 1
    return True


cdef inline void shift_together(const Bottle* bottle, State* state) noexcept nogil:
    """Do the horizontal stage with left and right held."""
    cdef int limit = COLUMNS - 2 + (state.rot & 1)
    cdef bint held = state.word >= TOGETHER_0
    if held and state.word < TOGETHER_15:
        state.word += 1
        return
    state.word = TOGETHER_0 + (10 if held else 0)
    if state.x != limit:
        if fits(bottle, state.x + 1, state.y, state.rot):
            state.x += 1
        else:
            state.word = TOGETHER_15
    if state.x > 0:
        if fits(bottle, state.x - 1, state.y, state.rot):
            state.x -= 1
        else:
            state.word = TOGETHER_15


cdef inline bint shift(const Bottle* bottle, State* state, int direction) noexcept nogil:
    """Do the horizontal stage; return False for an input that the search leaves out."""
    cdef bint held = state.word >= LEFT_0 and state.word != PRESSED_RIGHT
    if direction == 0:
        state.word = NEUTRAL
    elif direction == 3:
        shift_together(bottle, state)
    elif direction == 2:
        # Right that goes on being held does nothing, unless both were charged.
        if state.word == PRESSED_RIGHT or TOGETHER_0 <= state.word < TOGETHER_15:
            return False
        if not fits(bottle, state.x + 1, state.y, state.rot):
            return False
        state.x += 1
        state.word = PRESSED_RIGHT
    elif held and state.word != LEFT_15 and state.word != TOGETHER_15:
        # Left goes on being held, with right or without it in the frame before.
        state.word += 1 if state.word < LEFT_15 else 1 + LEFT_0 - TOGETHER_0
    elif state.x > 0 and not fits(bottle, state.x - 1, state.y, state.rot):
        state.word = LEFT_15
    else:
        state.x -= state.x > 0
        state.word = LEFT_10 if held else LEFT_0
    return True


cdef inline bint leads(
    const Bottle* bottle, int gravity, State state, int buttons, bint down, const State* goal
) noexcept nogil:
    """Tell whether a frame leads from a state to another; `down` says that down acts."""
    cdef int pressed = ((buttons & BUTTON_A) >> 7 | (buttons & BUTTON_B) >> 5) & ~state.held
    cdef int direction = (buttons & LEFT) >> 1 | (buttons & RIGHT) << 1
    cdef bint left = direction & 1
    cdef int x = state.x, rot = state.rot
    state.counter += 1
    if state.counter > gravity or (down and buttons & DOWN):
        state.counter = 0
        if not fits(bottle, x, state.y - 1, rot):
            return False
        state.y -= 1
    if not shift(bottle, &state, direction):
        return False
    x = state.x
    if pressed & 1 and not turn(bottle, &state, -1, left):
        return False
    if pressed & 2 and not turn(bottle, &state, 1, left):
        return False
    state.held = (buttons & BUTTON_A) >> 7 | (buttons & BUTTON_B) >> 5
    return (
        state.x == goal.x and state.y == goal.y and state.rot == goal.rot
        and state.counter == goal.counter and state.word == goal.word and state.held == goal.held
    )


cdef inline State state_of(const Entry* entry, int bit, int counters) noexcept nogil:
    cdef State state
    state.x = bit & 7
    state.y = entry.cell // counters
    cdef int behind = entry.word - PLAIN
    cdef bint tall = entry.word >= WORDS if behind < 0 else behind >= SPEEDS
    state.rot = tall + (bit >> 5 << 1)
    state.counter = entry.cell % counters
    state.word = entry.word - WORDS * tall if behind < 0 else TOGETHER_0 + behind - SPEEDS * tall
    state.held = bit >> 3 & 3
    return state


cdef inline int before(
    const Bottle* bottle, int gravity, const Entry* entry, bint down, bint extended, State* goal
) noexcept nogil:
    """Find a state of the entry that a frame leads from to the goal; return the buttons or -1."""
    cdef uint64_t bits = entry.bits
    cdef State state
    cdef int bit, direction, buttons
    cdef int y = entry.cell // (gravity + 1), counter = entry.cell % (gravity + 1)
    # Most entries have another row or counter than any state before the goal.
    if not (
        (y == goal.y and counter + 1 == goal.counter) or (y == goal.y + 1 and goal.counter == 0)
    ):
        return -1
    for bit in range(64):
        if not bits >> bit & 1:
            continue
        state = state_of(entry, bit, gravity + 1)
        for direction in range(5 if extended else 4):
            if direction == DOWN_ALONE and not down:
                continue
            buttons = DIRECTIONS[direction] | HELD[goal.held]
            if leads(bottle, gravity, state, buttons, down, goal):
                goal[0] = state
                return buttons
    return -1


cdef inline bint rests(
    const Bottle* bottle, int gravity, const Entry* entry, bint down, int action, State* goal
) noexcept nogil:
    """Find a state of the entry that locks as the action in the next frame."""
    cdef int bit
    for bit in range(64):
        if entry.bits >> bit & 1:
            goal[0] = state_of(entry, bit, gravity + 1)
            if (
                action_of(goal.x, goal.y, goal.rot) == action
                and (down or goal.counter == gravity)
                and not fits(bottle, goal.x, goal.y - 1, goal.rot)
            ):
                return True
    return False


cdef inline int search_script(
    const Bottle* bottle, int parity, int gravity, const Root* root, bint extended, int action,
    uint8_t* buttons,
) noexcept nogil:
    """Write the buttons of a shortest way to the action; return its length, 0 if there is none.

    -1 without memory: the way back needs what every frame reached for the first time.
    """
    cdef uint16_t costs[NUM_ACTIONS]
    cdef Log log
    cdef State goal
    cdef int cost, depth, found
    cdef size_t i
    memset(&goal, 0, sizeof(State))
    log.entries = NULL
    log.size = log.capacity = 0
    log.failed = False
    search(bottle, parity, gravity, root, extended, action, costs, &log)
    cost = costs[action] if costs[action] != INFEASIBLE else 0
    if log.failed:
        cost = -1
    i = log.size
    depth = cost - 1
    while depth >= 0:
        i -= 1
        if log.entries[i].depth != depth:
            continue
        if depth == cost - 1:
            found = -1
            if rests(bottle, gravity, &log.entries[i], not (parity + depth) & 1, action, &goal):
                found = DOWN
        else:
            found = before(
                bottle, gravity, &log.entries[i], not (parity + depth) & 1, extended, &goal
            )
        if found >= 0:
            buttons[depth] = found
            depth -= 1
    free(log.entries)
    return cost
