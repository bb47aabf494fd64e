# The bot that looks one placement ahead (docs/drmario.md, 17.2); the readable twin is greedy.py.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from fastenv.drmario._game cimport *


cdef inline int64_t weigh_line(
    const BotParams* w, const uint8_t* board, const int* tops, int cell, int step
) noexcept nogil:
    # Four cells, the first one a cell, that are `step` apart.
    cdef int _i, row, color = -1, count = 0, viruses = 0, gaps = 0
    for _i in range(MATCH):
        row = cell // COLUMNS
        if board[cell] >= FREE:
            if row > tops[cell % COLUMNS]:
                return 0
            gaps += tops[cell % COLUMNS] - 1 - row
        else:
            if color >= 0 and (board[cell] & 15) != color:
                return 0
            color = board[cell] & 15
            count += 1
            viruses += kind_of(board[cell]) == TILE_VIRUS
        cell += step
    if count == 0:
        return 0
    if step == 1:
        return (
            (w.row_pair if count == 2 else w.row_triple if count == 3 else 0)
            + (w.virus_row * count if viruses > 0 else 0) + w.gap * gaps
        )
    return (
        (w.column_pair if count == 2 else w.column_triple if count == 3 else 0)
        + (w.virus_column * count if viruses > 0 else 0)
    )


cdef inline int64_t weigh_column(
    const BotParams* w, const uint8_t* board, int col, int top
) noexcept nogil:
    cdef int row, cell, color = -1, changes = -1, halves = 0, covers = 0, excess = 0
    for row in range(top, ROWS):
        cell = row * COLUMNS + col
        if board[cell] >= FREE:
            continue
        if (board[cell] & 15) != color:
            color = board[cell] & 15
            changes += 1
        if kind_of(board[cell]) == TILE_VIRUS:
            covers += changes
        else:
            halves += 1
    if changes < 0:
        changes = 0
    if NECK_LEFT <= col <= NECK_RIGHT and ROWS - top > NECK_HEIGHT:
        excess = ROWS - top - NECK_HEIGHT
    return w.half * halves + w.cover * covers + w.change * changes + w.neck * excess * excess


cdef inline int64_t weigh_bottle(const BotParams* w, const uint8_t* board) noexcept nogil:
    cdef int tops[COLUMNS]
    cdef int row, col
    cdef int64_t weight = 0
    for col in range(COLUMNS):
        tops[col] = 0
        while tops[col] < ROWS and board[tops[col] * COLUMNS + col] >= FREE:
            tops[col] += 1
        weight += weigh_column(w, board, col, tops[col])
    for row in range(ROWS):
        for col in range(COLUMNS - MATCH + 1):
            weight += weigh_line(w, board, tops, row * COLUMNS + col, 1)
    for row in range(ROWS - MATCH + 1):
        for col in range(COLUMNS):
            weight += weigh_line(w, board, tops, row * COLUMNS + col, COLUMNS)
    return weight


cdef inline void branch(const Tables* tb, Player* p, int action) noexcept nogil:
    # Settle a placement at once: what waits for a counter does not wait.
    cdef Pose pose = pose_of(action)
    p.ev_tiles_virus = p.combo_counter = 0
    write_pill(p, pose.row, pose.col, pose.rot)
    p.next_action = NEXT_PLACED
    while p.next_action == NEXT_PLACED and not p.stage_clear:
        p.status_row = IDLE
        settle(tb, p, 1)


cdef inline int64_t weigh(const BotParams* w, const Player* p, int cost) noexcept nogil:
    cdef bint task = p.level < FEWEST_VIRUSES_LEVEL  # which asks for matches
    cdef int removed = p.combo_counter if task else p.ev_tiles_virus
    cdef int64_t weight = w.virus * removed + w.frame * cost
    if p.stage_clear:
        return weight + DECIDED
    if p.board[SPAWN_COLUMN] < FREE or p.board[SPAWN_COLUMN + 1] < FREE:
        weight -= DECIDED
    return weight + weigh_bottle(w, p.board)


cdef inline int32_t greedy_action(
    const Tables* tb, const Player* p, const uint16_t* costs, const BotParams* w
) noexcept nogil:
    # The first placement of those that weigh most.
    cdef Player after
    cdef int action, best = -1
    cdef int64_t weight, most = 0
    for action in range(NUM_PLACEMENTS):
        if costs[action] == INFEASIBLE:
            continue
        after = p[0]
        branch(tb, &after, action)
        weight = weigh(w, &after, costs[action])
        if best < 0 or weight > most:
            best, most = action, weight
    return best
