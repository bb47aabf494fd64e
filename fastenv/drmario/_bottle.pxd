# What happens to the cells of a bottle, and what is measured of them; the readable twins are in
# reference.py and adjacency.py.
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from fastenv.drmario._state cimport *


cdef inline int kind_of(uint8_t tile) noexcept nogil:
    return tile & 0xF0


cdef inline bint drop(uint8_t* board) noexcept nogil:
    # The drop pass (docs/drmario.md, 6).
    cdef int p, q, kind
    cdef bint moved = False
    for p in range(CELLS - 1, -1, -1):
        if board[p] < FREE:
            continue
        board[p] = EMPTY
        q = p - COLUMNS
        if q < 0:
            continue
        kind = kind_of(board[q])
        if kind > TILE_SINGLE or kind == TILE_LEFT:
            continue
        if kind == TILE_RIGHT:
            if board[p - 1] < FREE:
                continue
            board[p - 1] = board[q - 1]
            board[q - 1] = EMPTY
        board[p] = board[q]
        board[q] = EMPTY
        moved = True
    return moved


cdef inline bint has(const uint8_t* board, int cell, int tile) noexcept nogil:
    return 0 <= cell < CELLS and kind_of(board[cell]) == tile


cdef inline void update_field(uint8_t* board) noexcept nogil:
    cdef int p, kind
    cdef bint whole
    for p in range(CELLS - 1, -1, -1):
        kind = kind_of(board[p])
        if kind == TILE_CLEARING:
            board[p] |= TILE_EMPTIED
            continue
        if kind == TILE_TOP:
            whole = has(board, p + COLUMNS, TILE_BOTTOM)
        elif kind == TILE_BOTTOM:
            whole = has(board, p - COLUMNS, TILE_TOP)
        elif kind == TILE_LEFT:
            whole = has(board, p + 1, TILE_RIGHT)
        elif kind == TILE_RIGHT:
            whole = has(board, p - 1, TILE_LEFT)
        else:
            continue
        if not whole:
            board[p] = TILE_SINGLE | (board[p] & 15)


cdef inline bint is_clearing(const uint8_t* board) noexcept nogil:
    # Whether at least four cells are marked or just emptied (docs/drmario.md, 12.3).
    cdef int p, cells = 0
    for p in range(CELLS):
        cells += (board[p] & 0xF0) == TILE_CLEARING or (board[p] >= FREE and board[p] != EMPTY)
    return cells >= MATCH


# -- adjacency (docs/drmario.md, 12.4) ---------------------------------------------------------------

cdef inline bint is_static(uint8_t tile) noexcept nogil:
    return TILE_TOP <= tile < TILE_CLEARING


cdef struct Run:
    int length
    int before  # of it, without the pill's other half and what is behind it
    bint virus


cdef inline Run run_from(
    const uint8_t* board, int cell, int other, int way, int room, bint viruses
) noexcept nogil:
    # Cells of a colour from a cell on, without it, at most `room`.
    cdef Run run
    cdef uint8_t tile, color = board[cell] & 15
    cdef bint broken = False
    run.length = run.before = 0
    run.virus = False
    while room > 0:
        cell += way
        room -= 1
        tile = board[cell]
        if (tile & 15) != color or not (
            is_static(tile) or (viruses and kind_of(tile) == TILE_VIRUS)
        ):
            break
        broken = broken or cell == other
        run.length += 1
        run.before += not broken
        run.virus = run.virus or kind_of(tile) == TILE_VIRUS
    return run


cdef inline int adjacency(
    const uint8_t* board, int cell, int other, bint viruses
) noexcept nogil:
    # 0 none, 1 pair, 2 triplet, of one half of a pill that has just been written.
    cdef int row = cell // COLUMNS, col = cell % COLUMNS, axis, best, now, found = 0
    cdef bint infected = False
    cdef Run back, on
    for axis in range(2):
        if axis == 0:
            back = run_from(board, cell, other, -1, col, viruses)
            on = run_from(board, cell, other, 1, COLUMNS - 1 - col, viruses)
        else:
            back = run_from(board, cell, other, -COLUMNS, row, viruses)
            on = run_from(board, cell, other, COLUMNS, ROWS - 1 - row, viruses)
        best = back.before if back.before > on.before else on.before
        now = back.length + 1 + on.length
        infected = infected or back.virus or on.virus
        if best < 3 <= now:
            found = 2
        elif best < 2 <= now and found == 0:
            found = 1
    return found if infected or not viruses else 0


# -- height (docs/drmario.md, 14.1) --------------------------------------------------------------------

cdef inline int first_row(const uint8_t* board, bint viruses) noexcept nogil:
    # The highest row, as its height from the bottom, that has a cell not free, or a virus; 0: none.
    cdef int row, col
    cdef uint64_t cells, free = <uint64_t>0xF0F0F0F0F0F0F0F0
    for row in range(ROWS):
        memcpy(&cells, board + row * COLUMNS, COLUMNS)
        if (cells & free) == free:
            continue
        if not viruses:
            return ROWS - row
        for col in range(COLUMNS):
            if kind_of(board[row * COLUMNS + col]) == TILE_VIRUS:
                return ROWS - row
    return 0


cdef inline int height_of(const uint8_t* board) noexcept nogil:
    cdef int tallest = first_row(board, False), virus = first_row(board, True)
    cdef int height = tallest + 2 * (tallest - virus if tallest > virus else 0)
    return height if height < MAX_HEIGHT else MAX_HEIGHT


# -- what a falling pill meets -------------------------------------------------------------------------

cdef inline uint8_t occupied_row(const uint8_t* cells) noexcept nogil:
    # A bit a column, bit 0 the left one, for the cells that are not free.
    cdef int col
    cdef uint8_t bits = 0
    for col in range(COLUMNS):
        bits |= (cells[col] < FREE) << col
    return bits
