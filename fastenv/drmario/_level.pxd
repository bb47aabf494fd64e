# The game's own random numbers and what a level is made of them (docs/drmario.md, 2 and 9); the
# readable twin is generator.py.
from libc.stdint cimport uint8_t
from libc.string cimport memset

from fastenv.drmario._state cimport *


cdef struct Generator:
    uint8_t a
    uint8_t b


cdef inline void step_generator(Generator* g) noexcept nogil:
    cdef uint8_t carry = (g.a >> 1 ^ g.b >> 1) & 1
    g.b = g.b >> 1 | (g.a & 1) << 7
    g.a = g.a >> 1 | carry << 7


cdef inline void make_reserve(Generator* g, uint8_t* reserve) noexcept nogil:
    cdef int i, pill = 0
    for i in range(RESERVE - 1, -1, -1):
        step_generator(g)
        pill = (pill + (g.a & 15)) % NUM_PILLS
        reserve[i] = pill


cdef struct Viruses:
    uint8_t* board
    int left
    int height


cdef inline Viruses start_viruses(const Tables* tb, uint8_t* board, int level) noexcept nogil:
    cdef Viruses v
    if level > LAST_VIRUS_LEVEL:
        level = LAST_VIRUS_LEVEL
    memset(board, EMPTY, CELLS)
    v.board, v.left, v.height = board, 4 * (level + 1), tb.virus_heights[level]
    return v


cdef inline int most_attempts(int viruses) noexcept nogil:
    return 64 * viruses if viruses > 4 else 256


cdef inline int color_bit(const uint8_t* board, int cell) noexcept nogil:
    # A bit for the colour of a virus, none for an empty cell.
    return 0 if board[cell] == EMPTY else 1 << (board[cell] & 15)


cdef inline int colors_around(const uint8_t* board, int cell) noexcept nogil:
    cdef int found = 0
    if cell >= 2 * COLUMNS:
        found |= color_bit(board, cell - 2 * COLUMNS)
    if cell + 2 * COLUMNS < CELLS:
        found |= color_bit(board, cell + 2 * COLUMNS)
    if cell % COLUMNS >= 2:
        found |= color_bit(board, cell - 2)
    if cell % COLUMNS < COLUMNS - 2:
        found |= color_bit(board, cell + 2)
    return found


cdef inline bint try_virus(const Tables* tb, Viruses* v, Generator* g) noexcept nogil:
    # Return False if the height was rejected.
    cdef int cell, color, around, height
    step_generator(g)
    height = g.a & 15
    if height > v.height:
        return False
    cell = (ROWS - 1 - height) * COLUMNS + (g.b & 7)
    color = v.left & 3
    if color == 3:
        step_generator(g)
        color = tb.virus_colors[g.b & 15]
    while True:
        while cell < CELLS and v.board[cell] != EMPTY:
            cell += 1
        if cell >= CELLS:
            return True
        around = colors_around(v.board, cell)
        if around != (1 << NUM_COLORS) - 1:
            break
        cell += 1
    while around >> color & 1:
        color = color - 1 if color > 0 else NUM_COLORS - 1
    v.board[cell] = TILE_VIRUS | color
    v.left -= 1
    return True


cdef inline void make_viruses(
    const Tables* tb, uint8_t* board, int level, Generator* g
) noexcept nogil:
    cdef Viruses v = start_viruses(tb, board, level)
    cdef int attempts = most_attempts(v.left)
    while v.left > 0 and attempts > 0:
        try_virus(tb, &v, g)
        attempts -= 1


cdef inline void make_two_bottles(
    const Tables* tb, uint8_t* first, int first_level, uint8_t* second, int second_level,
    Generator* g,
) noexcept nogil:
    # Levels that differ: the players take turns, which end with a virus or with no cell left.
    cdef Viruses a = start_viruses(tb, first, first_level)
    cdef Viruses b = start_viruses(tb, second, second_level)
    cdef int rounds = most_attempts(a.left if a.left > b.left else b.left)
    while (a.left > 0 or b.left > 0) and rounds > 0:
        while a.left > 0 and not try_virus(tb, &a, g):
            pass
        while b.left > 0 and not try_virus(tb, &b, g):
            pass
        rounds -= 1
