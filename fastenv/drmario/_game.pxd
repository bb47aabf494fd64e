# A game of Dr. Mario as inline functions on its row; the readable twin is reference.py. Same steps,
# same names, same order of draws. A row is a head, one or two players, and what is behind them;
# `agents` is a constant where these functions are called, so that games of one carry nothing of two.
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from fastenv._rng cimport rng_bounded, rng_next, rng_seed
from fastenv.drmario._bottle cimport *
from fastenv.drmario._level cimport *
from fastenv.drmario._state cimport *

cdef enum:
    SIDES = BUTTON_LEFT | BUTTON_RIGHT


# -- small things ----------------------------------------------------------------------------------

cdef inline uint8_t to_bcd(int number) noexcept nogil:
    return number // 10 * 16 + number % 10


cdef inline uint8_t bcd_up(uint8_t byte) noexcept nogil:
    byte += 1
    return byte + 6 if (byte & 15) == 10 else byte


cdef inline uint8_t bcd_down(uint8_t byte) noexcept nogil:
    byte -= 1
    return byte - 6 if (byte & 15) == 15 else byte


cdef inline int cell_of(int row, int col) noexcept nogil:
    return (ROWS - 1 - row) * COLUMNS + col


cdef inline int gravity_of(const Tables* tb, const Player* p) noexcept nogil:
    cdef int i = tb.speed_bases[p.speed_setting] + p.speed_ups
    cdef int last = sizeof(tb.gravity) - 1
    return tb.gravity[i if i < last else last]


cdef inline void clear_events(Player* p) noexcept nogil:
    p.ev_invalid = p.ev_lock_row = p.ev_lock_col = p.ev_lock_rot = 0
    p.ev_height = p.height
    memset(p.ev_adjacency, 0, sizeof(p.ev_adjacency))
    memset(p.ev_virus_adjacency, 0, sizeof(p.ev_virus_adjacency))
    p.ev_garbage_sent = p.ev_volleys = p.ev_volley_size = p.ev_volley_column = 0
    memset(p.ev_volley_colors, 0, sizeof(p.ev_volley_colors))
    p.ev_action = NO_ACTION
    p.ev_cost = p.ev_locks = p.ev_tiles_virus = p.ev_tiles_nonvirus = p.ev_matches = 0
    p.ev_volley_frame = 0


# -- the falling pill (docs/drmario.md, 5) ------------------------------------------------------------

cdef inline bint fits(const Player* p, int row, int col, int rot) noexcept nogil:
    cdef int cell = cell_of(row, col)
    if row < 0 or col < 0:
        return False
    if rot & 1:
        return col < COLUMNS and p.board[cell] == EMPTY and (
            row == ROWS - 1 or p.board[cell - COLUMNS] == EMPTY
        )
    return col < COLUMNS - 1 and p.board[cell] == EMPTY and p.board[cell + 1] == EMPTY


cdef inline void write_pill(Player* p, int row, int col, int rot) noexcept nogil:
    cdef int cell = cell_of(row, col)
    cdef uint8_t low = p.color_first, high = p.color_second  # left or bottom half, right or top one
    p.status_row = ROWS - 1 - row
    if rot >= 2:
        low, high = high, low
    if rot & 1:
        p.board[cell] = TILE_BOTTOM | low
        if row < ROWS - 1:
            p.board[cell - COLUMNS] = TILE_TOP | high
    else:
        p.board[cell] = TILE_LEFT | low
        p.board[cell + 1] = TILE_RIGHT | high


cdef inline void flag_half(const Tables* tb, Player* p, int cell, int other) noexcept nogil:
    cdef int color = tb.canonical[p.board[cell] & 15]
    cdef int halves = adjacency(p.board, cell, other, False)
    cdef int viruses = adjacency(p.board, cell, other, True)
    if halves > p.ev_adjacency[color]:
        p.ev_adjacency[color] = halves
    if viruses > p.ev_virus_adjacency[color]:
        p.ev_virus_adjacency[color] = viruses


cdef inline void lock(const Tables* tb, Player* p, int row, int col, int rot) noexcept nogil:
    cdef int cell = cell_of(row, col), other = cell - COLUMNS if rot & 1 else cell + 1
    write_pill(p, row, col, rot)
    p.next_action = NEXT_PLACED
    p.locks += 1
    p.ev_locks += 1
    p.ev_lock_row, p.ev_lock_col, p.ev_lock_rot = row, col, rot
    memset(p.ev_adjacency, 0, sizeof(p.ev_adjacency))
    memset(p.ev_virus_adjacency, 0, sizeof(p.ev_virus_adjacency))
    flag_half(tb, p, cell, other)
    if other >= 0:
        flag_half(tb, p, other, cell)


cdef inline void lower(const Tables* tb, Player* p) noexcept nogil:
    p.speed_counter = 0
    if p.row > 0 and fits(p, p.row - 1, p.col, p.rot):
        p.row -= 1
    else:
        lock(tb, p, p.row, p.col, p.rot)


cdef inline void move_down(const Tables* tb, const Head* h, Player* p) noexcept nogil:
    if h.frame & 1 and (p.buttons_held & DPAD) == BUTTON_DOWN:
        lower(tb, p)
        return
    p.speed_counter += 1
    if p.speed_counter > gravity_of(tb, p):
        lower(tb, p)


# Where actions are random, so is what a pill does sideways and how it turns, and a branch that the
# processor guesses wrongly takes longer than all that is computed here: there are none.

cdef struct Room:
    # Where a pill in its row fits: bit c + 1 is for column c, that of its left half or of both.
    uint32_t flat
    uint32_t upright


cdef inline Room room_of(const Player* p) noexcept nogil:
    cdef const uint8_t* cells = p.board + cell_of(p.row, 0)
    cdef uint32_t here = empty_row(cells)
    cdef Room room
    room.flat = (here & here >> 1) << 1
    room.upright = (here if p.row == ROWS - 1 else here & empty_row(cells - COLUMNS)) << 1
    return room


cdef inline uint32_t has_room(Room room, int col, int rot) noexcept nogil:
    # 0 or 1; columns from -1 on.
    return (room.upright if rot & 1 else room.flat) >> (col + 1) & 1


cdef inline void move_sideways(Player* p, Room room) noexcept nogil:
    # With both directions held, right comes first, and left from where that has led.
    cdef int held = p.buttons_held & SIDES, limit = COLUMNS - 1 if p.rot & 1 else COLUMNS - 2
    cdef bint pressed = (p.buttons_pressed & SIDES) != 0
    cdef uint8_t charged = p.hor_velocity + 1
    cdef bint repeated = (charged >= FIRST_REPEAT) & (held != 0)
    cdef bint attempted = pressed | repeated
    cdef bint right = attempted & held & (p.col != limit), left = attempted & held >> 1
    cdef uint8_t velocity = NEXT_REPEAT if repeated else charged
    cdef uint32_t fitting = has_room(room, p.col + 1, p.rot)
    cdef bint blocked = right & (not fitting)
    velocity = 0 if pressed else velocity
    velocity = velocity if held else p.hor_velocity
    p.col += right & fitting
    left &= p.col > 0
    fitting = has_room(room, p.col - 1, p.rot)
    blocked |= left & (not fitting)
    p.hor_velocity = BLOCKED_REPEAT if blocked else velocity
    p.col -= left & fitting


cdef struct Turned:
    int rot
    int col


cdef inline Turned turned(
    const Player* p, Room room, Turned now, int rot, Turned old
) noexcept nogil:
    # The pose behind an attempt to turn.
    cdef int there = has_room(room, now.col, rot)
    cdef int beside = has_room(room, now.col - 1, rot) & ~rot  # only a pill that lies is moved
    cdef bint left = (p.buttons_held & BUTTON_LEFT) != 0
    now.rot = rot if there | beside else old.rot
    now.col = now.col - (beside & (left | (not there))) if there | beside else old.col
    return now


cdef inline void turn(Player* p, Room room) noexcept nogil:
    cdef Turned old, now, other
    old.rot, old.col = p.rot, p.col
    now = old
    other = turned(p, room, now, (now.rot - 1) & 3, old)
    now = other if p.buttons_pressed & BUTTON_A else now
    other = turned(p, room, now, (now.rot + 1) & 3, old)
    now = other if p.buttons_pressed & BUTTON_B else now
    p.rot, p.col = now.rot, now.col


# -- after the lock (docs/drmario.md, 6) --------------------------------------------------------------

cdef inline void remove_virus(const Tables* tb, Player* p, int agents) noexcept nogil:
    if p.virus_bcd == 0:
        return
    p.virus_bcd = bcd_down(p.virus_bcd)
    p.status_row = ROWS - 1
    if agents == 1:
        p.score += tb.scores[p.speed_setting] * tb.score_factors[p.scored]
        p.scored += p.scored < MAX_SCORED
    if p.virus_bcd == 0:
        p.stage_clear = 1


cdef inline void match(
    const Tables* tb, Player* p, int agents, int cell, int step, int length
) noexcept nogil:
    cdef int kind, color = p.board[cell] & 15
    p.combo_counter += 1
    if agents > 1 and p.combo_counter <= MAX_ATTACK:
        p.attack_colors[p.combo_counter - 1] = color
    p.chain_length += length
    p.match_flag += 1
    while length > 0:
        kind = kind_of(p.board[cell])
        if kind == TILE_VIRUS:
            p.ev_tiles_virus += 1
            remove_virus(tb, p, agents)
        elif kind != TILE_CLEARING:
            p.ev_tiles_nonvirus += 1
        p.board[cell] = TILE_CLEARING | color
        cell += step
        length -= 1


cdef inline void scan_line(
    const Tables* tb, Player* p, int agents, int first, int length, int step
) noexcept nogil:
    # Mark runs in a line of `length` cells that are `step` apart.
    cdef int i = 0, end
    cdef uint8_t color
    while i + MATCH <= length:
        if p.board[first + i * step] >= FREE:
            i += 1
            continue
        color = p.board[first + i * step] & 15
        end = i + 1
        while end < length and (p.board[first + end * step] & 15) == color:
            end += 1
        if end - i < MATCH:
            i += 1
            continue
        match(tb, p, agents, first + i * step, step, end - i)
        i = end


cdef inline void scan_rows(const Tables* tb, Player* p, int agents) noexcept nogil:
    cdef int row
    for row in range(ROWS):
        if row_may_match(word_of(p.board, row)):
            scan_line(tb, p, agents, row * COLUMNS, COLUMNS, 1)


cdef inline void scan_columns(const Tables* tb, Player* p, int agents) noexcept nogil:
    cdef int col
    cdef uint64_t found = columns_may_match(p.board)
    if found == 0:
        return
    for col in range(COLUMNS):
        if found >> col * 8 + 7 & 1:
            scan_line(tb, p, agents, col, ROWS, COLUMNS)


cdef inline void count_matches(Player* p) noexcept nogil:
    cdef bint clearing = is_clearing(p.board)
    if clearing and not p.clearing:
        p.ev_matches += 1
        p.matches += 1
    p.clearing = clearing


cdef inline void settle(const Tables* tb, Player* p, int agents) noexcept nogil:
    cdef int step = p.placed_step
    p.placed_step += 1
    if step == 0:
        p.scored = 0
    elif step == 3:
        if p.status_row != IDLE:
            p.placed_step = 3
            return
        p.placed_step = 2 if drop(p.board) else 4
        p.status_row = ROWS - 1
        count_matches(p)
    elif step == 4:
        p.match_flag = 0
    elif step == 5:
        scan_rows(tb, p, agents)
        count_matches(p)
    elif step == 6:
        scan_columns(tb, p, agents)
        count_matches(p)
    elif step == 7:
        update_field(p.board)
        p.status_row = ROWS - 1
        p.placed_step = 1 if p.match_flag else 8
        count_matches(p)
    elif step == 8:
        p.placed_step = 0
        p.next_action = NEXT_ATTACK


# -- spawn and throw (docs/drmario.md, 7) -------------------------------------------------------------

cdef inline void count_up(Player* p) noexcept nogil:
    if p.pill_count_hi == 0x99 and p.pill_count_lo == 0x99:
        return
    p.pill_count_lo = bcd_up(p.pill_count_lo)
    if p.pill_count_lo == 0xA0:
        p.pill_count_lo = 0
        p.pill_count_hi = bcd_up(p.pill_count_hi)


cdef inline void count_pill(Player* p) noexcept nogil:
    # Every tenth pill makes the next ones faster.
    count_up(p)
    if (p.pill_count_lo & 15) == 0 and p.speed_ups < MAX_SPEED_UPS:
        p.speed_ups += 1


cdef inline void next_pill(const Head* h, Player* p) noexcept nogil:
    cdef uint8_t pill = h.reserve[p.reserve_index]
    p.color_first, p.color_second = p.preview_first, p.preview_second
    p.preview_first, p.preview_second = pill // NUM_COLORS, pill % NUM_COLORS
    p.reserve_index = (p.reserve_index + 1) % RESERVE
    p.throw_frame = p.preview_rot = p.combo_counter = 0
    p.row, p.col, p.rot = SPAWN_ROW, SPAWN_COLUMN, 0
    count_pill(p)


cdef inline void throw(Player* p) noexcept nogil:
    p.throw_frame += 1
    if p.throw_frame == 1 or p.throw_frame == 6 or p.throw_frame == 23:
        p.throw_frame += 1
    if p.throw_frame % 2 == 0:
        p.preview_rot = (p.preview_rot - 1) & 3


cdef inline void send(const Head* h, Player* p, int agents) noexcept nogil:
    if agents == 1:
        if p.speed_setting == 0 and not h.frame & 1:
            return
        if p.throw_frame != LAST_THROW:
            throw(p)
            return
    next_pill(h, p)
    p.next_action = NEXT_SENT
    if not fits(p, p.row, p.col, p.rot):
        write_pill(p, p.row, p.col, p.rot)
        p.level_fail = 1
        p.mode = MODE_LOST


# -- attacks (docs/drmario.md, 9) ---------------------------------------------------------------------

cdef inline void attack(const Head* h, Player* p, Player* opponent) noexcept nogil:
    cdef int size, first, step, i
    p.next_action = NEXT_ADVANCE
    if opponent == NULL:
        return
    if p.combo_counter >= MIN_ATTACK:
        p.attack_size += p.combo_counter
    p.combo_counter = 0
    if opponent.attack_size < MIN_ATTACK:
        return
    size = opponent.attack_size if opponent.attack_size < MAX_ATTACK else MAX_ATTACK
    first = h.frame & (1 if size == MAX_ATTACK else 3)
    step = 4 if size == MIN_ATTACK else 2
    for i in range(size):
        p.board[first + i * step] = TILE_SINGLE | opponent.attack_colors[i]
    opponent.attack_size = 0
    p.next_action = NEXT_PLACED
    opponent.ev_garbage_sent += size
    p.ev_volleys += 1
    p.ev_volley_size, p.ev_volley_column = size, first
    memcpy(p.ev_volley_colors, opponent.attack_colors, sizeof(p.ev_volley_colors))
    p.ev_volley_frame = h.frame


# -- a frame (docs/drmario.md, 4) ---------------------------------------------------------------------

cdef inline void press(Player* p, uint8_t raw) noexcept nogil:
    p.buttons_pressed = raw & ~p.buttons_prev
    p.buttons_held = p.buttons_prev = raw


cdef inline void demo_input(const Demo* demo, Head* h, Player* p) noexcept nogil:
    # docs/drmario.md, 10
    cdef uint8_t raw = p.buttons_prev
    if h.demo_left > 0:
        h.demo_left -= 1
    elif h.demo_at == DEMO_INPUTS - 1:
        p.mode = MODE_PLAYING
    else:
        raw = demo.inputs[h.demo_at][0]
        h.demo_left = demo.inputs[h.demo_at][1]
        h.demo_at += 1
    press(p, raw)


cdef struct Pose:
    int row
    int col
    int rot


cdef inline Pose pose_of(int action) noexcept nogil:
    # What a placement means (docs/drmario.md, 11.3).
    cdef Pose pose
    cdef int orientation = action // CELLS, cell = action % CELLS
    pose.row, pose.col = ROWS - 1 - cell // COLUMNS, cell % COLUMNS
    pose.rot = (4 - orientation) & 3
    pose.row -= orientation == 1
    pose.col -= orientation == 2
    return pose


cdef inline void lock_plan(const Tables* tb, Player* p) noexcept nogil:
    cdef Pose pose = pose_of(p.plan_action)
    p.speed_counter = 0
    lock(tb, p, pose.row, pose.col, pose.rot)


cdef inline void complete_plan(const Shared* c, const Head* h, Player* p) noexcept nogil:
    # Lock the pill where it was to lie (docs/drmario.md, 12.2).
    if c.rules.replay:
        move_down(&c.tables, h, p)
    else:
        lock_plan(&c.tables, p)
    p.row, p.col, p.rot = p.ev_lock_row, p.ev_lock_col, p.ev_lock_rot
    p.hor_velocity, p.plan_action = 0, NO_ACTION


cdef inline void fall(const Shared* c, const Head* h, Player* p) noexcept nogil:
    cdef Room room
    p.chain_length = 0
    if p.plan_left > 0:
        p.plan_left -= 1
        if p.plan_left == 0:
            complete_plan(c, h, p)
            return
        if not c.rules.replay:
            return
    move_down(&c.tables, h, p)
    room = room_of(p)
    move_sideways(p, room)
    turn(p, room)


cdef inline void play_player(
    const Shared* c, Head* h, Player* p, Player* opponent, int agents, uint8_t raw
) noexcept nogil:
    if p.status_row != IDLE:
        p.status_row -= 1
    if p.mode == MODE_DEMO:
        demo_input(&c.demo, h, p)
    else:
        press(p, raw)
    if p.stage_clear or p.level_fail:
        return
    if p.intro_wait > 0:
        p.intro_wait -= 1
        if p.intro_wait == 0 and p.mode != MODE_DEMO:
            p.mode = MODE_PLAYING
        return
    if p.next_action == NEXT_FALLING:
        fall(c, h, p)
    elif p.next_action == NEXT_PLACED:
        settle(&c.tables, p, agents)
    elif p.next_action == NEXT_ATTACK:
        attack(h, p, opponent)
    elif p.next_action == NEXT_SENT:
        p.next_action = NEXT_FALLING
    elif p.next_action == NEXT_ADVANCE:
        p.next_action = NEXT_SEND
    else:
        send(h, p, agents)


cdef inline void play(
    const Shared* c, Head* h, Player* p, int agents, const uint8_t* raw
) noexcept nogil:
    # One frame: the first player acts, then the second.
    h.frame += 1
    if agents == 1:
        play_player(c, h, p, NULL, 1, raw[0])
    else:
        play_player(c, h, p, p + 1, 2, raw[0])
        play_player(c, h, p + 1, p, 2, raw[1])


# -- the end (docs/drmario.md, 8, 9 and 14.3) ---------------------------------------------------------

cdef inline bint goal_met(const Player* p) noexcept nogil:
    if p.level < FEWEST_VIRUSES_LEVEL:
        return p.matches >= 1 + p.level - LOWEST_LEVEL
    return p.stage_clear


cdef inline void judge(Head* h, const Player* p, int agents) noexcept nogil:
    if goal_met(p) or (agents > 1 and goal_met(p + 1)):
        h.done, h.reason = 1, REASON_CLEAR
    elif p.level_fail or (agents > 1 and p[1].level_fail):
        h.done, h.reason = 1, REASON_TOPOUT


cdef inline void measure(const Rules* rules, Player* p) noexcept nogil:
    if rules.column_height_penalty != 0.0:
        p.height = height_of(p.board)


# -- reset (docs/drmario.md, 3) -----------------------------------------------------------------------

cdef inline void start_player(
    const Rules* rules, const Head* h, Player* p, int level, int speed
) noexcept nogil:
    # The bottle has its viruses; everything else is set.
    cdef int i
    memset(<char*>p + CELLS, 0, sizeof(Player) - CELLS)
    p.mode, p.next_action, p.status_row = MODE_INTRO, NEXT_SEND, IDLE
    p.level, p.speed_setting = level, speed
    for i in range(CELLS):
        p.initial_viruses += kind_of(p.board[i]) == TILE_VIRUS
    p.virus_bcd = to_bcd(p.initial_viruses)
    p.intro_wait = rules.intro_frames
    p.decided = NO_SPAWN
    p.plan_action = NO_ACTION
    next_pill(h, p)
    next_pill(h, p)
    p.pill_count_lo, p.pill_count_hi = 1, 0
    measure(rules, p)
    clear_events(p)


cdef inline void thin_out(uint64_t* rng, uint8_t* board, int level) noexcept nogil:
    # Leave as many viruses as a level below 0 has (docs/drmario.md, 14.3).
    cdef int kept = 4 + level if level >= FEWEST_VIRUSES_LEVEL else 0
    cdef int viruses = 4, cell, drawn
    if kept == 0:
        memset(board, EMPTY, CELLS)
        return
    while viruses > kept:
        drawn = rng_bounded(rng, viruses)
        cell = 0
        while board[cell] == EMPTY or drawn > 0:
            drawn -= board[cell] != EMPTY
            cell += 1
        board[cell] = EMPTY
        viruses -= 1


cdef inline void start_demo(const Shared* c, Head* h, Player* p) noexcept nogil:
    cdef int _i
    h.frame = DEMO_FRAME
    h.demo_at = h.demo_left = h.seed[0] = h.seed[1] = 0
    memcpy(h.reserve, c.demo.pills, RESERVE)
    memcpy(p.board, c.demo.board, CELLS)
    start_player(&c.rules, h, p, DEMO_LEVEL, DEMO_SPEED)
    p.mode, p.intro_wait = MODE_DEMO, DEMO_INTRO
    for _i in range(DEMO_PREROLL):
        demo_input(&c.demo, h, p)
    p.buttons_pressed = 0


cdef inline void start(
    const Shared* c, Head* h, Player* p, int agents, const Knobs* k
) noexcept nogil:
    # Draws the seed first, then the viruses that stay.
    cdef Generator g
    cdef int number, i, level = k.level[0]
    h.frame = c.rules.first_frame
    h.demo_at = h.demo_left = 0
    if k.game_seed < 0 and c.rules.registry:
        level = 0 if level < 0 else LAST_VIRUS_LEVEL if level > LAST_VIRUS_LEVEL else level
        number = c.seeds[level][rng_bounded(h.rng, REGISTRY_SEEDS)]
        h.seed[0], h.seed[1] = number >> 8, number & 0xFF
    elif k.game_seed < 0:
        number = 1 + rng_bounded(h.rng, ORBIT)
        h.seed[0] = number >> 8 | ((number >> 8 ^ number) & 1) << 7
        h.seed[1] = number & 0xFF
    else:
        h.seed[0], h.seed[1] = k.game_seed >> 8, k.game_seed & 0xFF
    g.a, g.b = h.seed[0], h.seed[1]
    make_reserve(&g, h.reserve)
    if agents == 1:
        make_viruses(&c.tables, p.board, k.level[0] if k.level[0] > 0 else 0, &g)
        if k.level[0] < 0:
            thin_out(h.rng, p.board, k.level[0])
    elif k.level[0] == k.level[1]:
        make_viruses(&c.tables, p.board, k.level[0], &g)
        memcpy(p[1].board, p.board, CELLS)
    else:
        make_two_bottles(&c.tables, p.board, k.level[0], p[1].board, k.level[1], &g)
    for i in range(agents):
        start_player(&c.rules, h, p + i, k.level[i], k.speed[i])


cdef inline void reset(
    const Shared* c, Head* h, Player* p, int agents, const Knobs* k, const uint64_t* seed,
    uint64_t* bot_rng, View* stack,
) noexcept nogil:
    cdef int i
    if seed != NULL:
        rng_seed(h.rng, seed[0])
    h.task_max_frames, h.task_max_spawns = k.task_max_frames, k.task_max_spawns
    h.done, h.reason, h.ep_length, h.ep_frames = 0, REASON_NONE, 0, 0
    if c.rules.demo:
        start_demo(c, h, p)
    else:
        start(c, h, p, agents, k)
    if agents > 1:
        for i in range(4):
            bot_rng[i] = rng_next(h.rng)
    if stack != NULL and c.rules.stack > 1:
        for i in range(agents * STACKED):
            memcpy(stack + i, p + i // STACKED, sizeof(View))


# -- a step of one frame (docs/drmario.md, 12.5) ------------------------------------------------------

cdef inline uint8_t latch(uint8_t latches, int direction) noexcept nogil:
    if direction == 2:
        return latches | BUTTON_DOWN
    return (latches & ~SIDES) | (BUTTON_LEFT if direction == 0 else BUTTON_RIGHT)


cdef inline uint8_t buttons_of(const Rules* rules, Player* p, int32_t action) noexcept nogil:
    cdef uint8_t raw, taps = 0, latches = p.latches
    if rules.actions == ACTIONS_BUTTONS:
        return <uint8_t>action
    if action == 4 or action == 9:
        taps |= BUTTON_A
    if action == 5 or action == 9:
        taps |= BUTTON_B
    if 1 <= action <= 3:
        latches = latch(latches if rules.actions == ACTIONS_LATCHED else 0, action - 1) | (
            0 if rules.actions == ACTIONS_LATCHED else p.latches
        )
    raw = latches | taps
    if rules.actions == ACTIONS_UNLATCHED:
        latches = 0
    if 6 <= action <= 8:
        latches = latch(latches, action - 6)
    p.latches = latches
    return raw


cdef inline bint step_frame(
    const Shared* c, Head* h, Player* p, int agents, const int32_t* actions, int32_t* tau,
    View* stack,
) noexcept nogil:
    cdef uint8_t raw[2]
    cdef int i
    if h.done:
        return False
    for i in range(agents):
        clear_events(p + i)
        if c.rules.stack > 1:
            memmove(stack + i * STACKED, stack + i * STACKED + 1, (STACKED - 1) * sizeof(View))
            memcpy(stack + i * STACKED + STACKED - 1, p + i, sizeof(View))
        raw[i] = buttons_of(&c.rules, p + i, actions[i])
    play(c, h, p, agents, raw)
    h.ep_frames += 1
    for i in range(agents):
        tau[i] = 1
        measure(&c.rules, p + i)
    judge(h, p, agents)
    return False
