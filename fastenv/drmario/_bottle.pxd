# What happens to the cells of a bottle, and what is measured of them; the readable twins are in
# reference.py and adjacency.py.
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from fastenv.drmario._state cimport *


cdef inline int kind_of(uint8_t tile) noexcept nogil:
    return tile & 0xF0


# -- rows of eight cells as words ----------------------------------------------------------------------

# A row is looked at as a whole first: most have nothing in them that falls, matches or breaks, and
# to find that out cell by cell takes longer than all the rest of a game. Cells are the bytes of a
# word from its lowest one up; what is found is the highest bit of each cell, all others are 0.

cdef inline uint64_t word_of(const uint8_t* board, int row) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, board + row * COLUMNS, COLUMNS)
    return word


cdef inline uint64_t highest(uint64_t word) noexcept nogil:
    return word & <uint64_t>0x8080808080808080


cdef inline uint64_t free_cells(uint64_t word) noexcept nogil:
    return highest(word & word << 1 & word << 2 & word << 3)


cdef inline uint64_t empty_cells(uint64_t word) noexcept nogil:
    # The lower bits of 0xFF carry over when 1 is added.
    return highest(word & ((word & ~highest(~<uint64_t>0)) + <uint64_t>0x0101010101010101))


cdef inline uint64_t of_kind(uint64_t word, uint64_t kind) noexcept nogil:
    # Cells of one kind.
    cdef uint64_t other = word ^ kind * <uint64_t>0x0101010101010101
    return highest(~(other | other << 1 | other << 2 | other << 3))


cdef inline uint64_t alike(uint64_t word, uint64_t other) noexcept nogil:
    # Cells whose colours, the low nibbles, are those of another row.
    cdef uint64_t bits = word ^ other
    return highest(~(bits << 4 | bits << 5 | bits << 6 | bits << 7))


cdef inline uint8_t gathered(uint64_t cells) noexcept nogil:
    # A bit a column, bit 0 the left one.
    return (cells >> 7) * <uint64_t>0x0102040810204080 >> 56


cdef inline uint8_t occupied_row(const uint8_t* cells) noexcept nogil:
    return ~gathered(free_cells(word_of(cells, 0)))


cdef inline uint8_t empty_row(const uint8_t* cells) noexcept nogil:
    return gathered(empty_cells(word_of(cells, 0)))


# -- what falls, breaks and clears -----------------------------------------------------------------------

cdef inline bint drop_into(uint8_t* board, int row) noexcept nogil:
    # Let what is above a row fall into its empty cells.
    cdef int p, q, kind
    cdef bint moved = False
    for p in range(row * COLUMNS + COLUMNS - 1, row * COLUMNS - 1, -1):
        if board[p] < FREE:
            continue
        board[p] = EMPTY
        q = p - COLUMNS
        kind = kind_of(board[q])
        if kind > TILE_SINGLE or kind == TILE_LEFT:
            continue
        if kind == TILE_RIGHT:
            if p % COLUMNS == 0 or board[p - 1] < FREE:
                continue
            board[p - 1] = board[q - 1]
            board[q - 1] = EMPTY
        board[p] = board[q]
        board[q] = EMPTY
        moved = True
    return moved


cdef inline bint drop(uint8_t* board) noexcept nogil:
    # The drop pass (docs/drmario.md, 6).
    cdef int row
    cdef uint64_t word, free, above
    cdef bint moved = False
    for row in range(ROWS - 1, -1, -1):
        word = word_of(board, row)
        free = free_cells(word)
        word |= (free >> 7) * EMPTY
        memcpy(board + row * COLUMNS, &word, COLUMNS)
        if row > 0:
            above = word_of(board, row - 1)
            above = highest(~above) | of_kind(above, TILE_SINGLE)  # halves of pills, and no viruses
            if above & free:
                moved |= drop_into(board, row)
    return moved


cdef inline bint has(const uint8_t* board, int cell, int tile) noexcept nogil:
    return 0 <= cell < CELLS and kind_of(board[cell]) == tile


cdef inline bint is_settled(const uint8_t* board) noexcept nogil:
    # Whether nothing is being cleared and every half has its other one.
    cdef int row
    cdef uint64_t word, left, tops = 0, wrong = 0
    for row in range(ROWS):
        word = word_of(board, row)
        left = of_kind(word, TILE_LEFT)
        wrong |= of_kind(word, TILE_CLEARING) | (tops ^ of_kind(word, TILE_BOTTOM))
        wrong |= left << 8 ^ of_kind(word, TILE_RIGHT) | left >> 63
        tops = of_kind(word, TILE_TOP)
    return (wrong | tops) == 0


cdef inline void update_field(uint8_t* board) noexcept nogil:
    cdef int p, kind
    cdef bint whole
    if is_settled(board):
        return
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
    cdef int row
    cdef uint64_t word, cells = 0  # up to 16 a column
    for row in range(ROWS):
        word = word_of(board, row)
        cells += (of_kind(word, TILE_CLEARING) | (free_cells(word) & ~empty_cells(word))) >> 7
    return cells * <uint64_t>0x0101010101010101 >> 56 >= MATCH


cdef inline bint row_may_match(uint64_t word) noexcept nogil:
    # Whether four cells side by side, the first of them not free, are alike.
    cdef uint64_t pairs = alike(word, word >> 8) << 8 >> 8
    return (pairs & pairs >> 8 & pairs >> 16 & ~free_cells(word)) != 0


cdef inline uint64_t columns_may_match(const uint8_t* board) noexcept nogil:
    # The columns with four such cells one below the other.
    cdef int row
    cdef uint64_t word = word_of(board, ROWS - 1), pairs, two = 0, three = 0, found = 0
    cdef uint64_t below
    for row in range(ROWS - 2, -1, -1):
        below = word
        word = word_of(board, row)
        pairs = alike(word, below)
        found |= pairs & three & ~free_cells(word)
        three = pairs & two
        two = pairs
    return found


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
