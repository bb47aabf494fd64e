# What an address of OAM on the bus does while the display searches it (docs/gameboy.md, 9.1).
from libc.stdint cimport int64_t, uint8_t, uint16_t
from libc.string cimport memcpy

from fastenv.gameboy._machine cimport SCAN, Machine, line_start
from fastenv.gameboy._state cimport M_CYCLE, OAM_ROW, OAM_ROWS
from fastenv.gameboy._transfers cimport catch_up

cdef enum:
    OAM_PAGE = 0xFE  # and of what lies behind it


cdef inline int searched_row(Machine* m, int64_t time) noexcept nogil:
    # The row of eight bytes that the display reads; 0 if none, or the first, which is not spoilt.
    if m.c.video_is_open or m.phase:  # PyBoy has no such bug
        return 0
    catch_up(m, time)
    if m.dma_byte >= 0 or m.mode != SCAN:
        return 0
    return <int>((time - line_start(m)) // M_CYCLE + 1) % OAM_ROWS


cdef inline uint16_t* oam_row(Machine* m, int row) noexcept nogil:
    return <uint16_t*>(m.s.oam + OAM_ROW * row)


cdef inline void spoil(Machine* m, int row, bint reading) noexcept nogil:
    cdef uint16_t* now = oam_row(m, row)
    cdef uint16_t* before = oam_row(m, row - 1)
    cdef unsigned int a = now[0], b = before[0], c = before[2]
    now[0] = b | (a & c) if reading else ((a ^ c) & (b ^ c)) ^ c
    memcpy(now + 1, before + 1, OAM_ROW - 2)


cdef inline void spoil_by_write(Machine* m, int64_t time) noexcept nogil:
    # As well by counting a register up or down that holds an address of OAM.
    cdef int row = searched_row(m, time)
    if row:
        spoil(m, row, False)


cdef inline void spoil_by_read(Machine* m, int64_t time, bint counted) noexcept nogil:
    # `counted`: the register that holds the address is counted up or down as well.
    cdef int row = searched_row(m, time)
    cdef uint16_t* now
    cdef uint16_t* before
    cdef uint16_t* earlier
    cdef unsigned int a, b, c, d
    if counted and 4 <= row < OAM_ROWS - 1:
        now, before, earlier = oam_row(m, row), oam_row(m, row - 1), oam_row(m, row - 2)
        a, b, c, d = earlier[0], before[0], now[0], before[2]
        before[0] = (b & (a | c | d)) | (a & c & d)
        memcpy(now, before, OAM_ROW)
        memcpy(earlier, before, OAM_ROW)
    if row:
        spoil(m, row, True)
