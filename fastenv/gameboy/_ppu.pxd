# The display, as late as possible: it catches up when the processor looks at it, changes what it
# draws from, or is to be interrupted (docs/gameboy.md, 8 and 13).
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from fastenv.gameboy._machine cimport (
    DRAW, HBLANK, NEVER, SCAN, STEP_DRAW, STEP_FRAME, STEP_HBLANK, STEP_LY, STEP_SCAN, STEP_VBLANK,
    STEP_VBLANK_LINE, VBLANK, Machine, early, line_start, map_ram, stat_line, vblank_start,
)
from fastenv.gameboy._state cimport (
    DRAW_END, FRAME, HEIGHT, INT_STAT, INT_VBLANK, LINE, LINES, M_CYCLE, NEXT_LY, OBJECTS_A_LINE,
    R_BGP, R_IF, R_LCDC, R_LYC, R_OBP0, R_OBP1, R_SCX, R_SCY, R_STAT, R_WX, R_WY, SCAN_END,
    VISIBLE, WIDTH, State,
)
from fastenv.gameboy._times cimport end_drawing, start_drawing


cdef inline void update_stat(Machine* m) noexcept nogil:
    cdef bint before = m.stat_line
    m.stat_line = stat_line(m)
    if m.stat_line and not before:
        m.s.high[R_IF] |= 1 << INT_STAT


cdef inline void compare_ly(Machine* m) noexcept nogil:
    m.s.lyc_match = m.ly == m.s.high[R_LYC]
    update_stat(m)


# -- the picture (docs/gameboy.md, 8.3) ------------------------------------------------------------


cdef inline int find_objects(const Machine* m, uint8_t* found) noexcept nogil:
    # Write where in OAM the objects of the line are, further left first; return how many.
    cdef const State* s = m.s
    cdef unsigned int tall = 16 if s.high[R_LCDC] & 0x04 else 8
    cdef unsigned int line = m.ly + 16
    cdef int i, k, n = 0
    for i in range(0, 160, 4):
        if line - s.oam[i] < tall:
            k = n
            while k > 0 and s.oam[found[k - 1] + 1] > s.oam[i + 1]:
                found[k] = found[k - 1]
                k -= 1
            found[k] = i
            n += 1
            if n == OBJECTS_A_LINE:
                break
    return n


cdef inline int mode3_delay(const Machine* m) noexcept nogil:
    # By how much scrolling and objects put off the end of mode 3 (docs/gameboy.md, 8.1).
    cdef const State* s = m.s
    cdef unsigned int scx = s.high[R_SCX], x, column, last = 0xFFFF
    cdef int delay = 0 if s.first_frame else ((scx & 7) + 3) & ~3
    cdef int k, n, objects = 0
    cdef uint8_t[10] found
    if not s.high[R_LCDC] & 0x02:
        return delay
    n = find_objects(m, found)
    for k in range(n):
        x = s.oam[found[k] + 1]
        if x >= 168:
            break
        objects += 6
        column = (x + scx) >> 3
        if column != last:
            last = column
            if x == 0:
                objects += 5
            elif (x + scx) & 7 < 5:
                objects += 5 - <int>((x + scx) & 7)
    return delay + (objects & ~3)


cdef struct Palette:
    # Shades as sums over GF(2) of the two bits of an index, for eight pixels in a word at once.
    uint64_t none, low, high, both


cdef inline Palette palette(unsigned int register) noexcept nogil:
    cdef uint64_t p0 = register & 3, p1 = register >> 2 & 3
    cdef uint64_t p2 = register >> 4 & 3, p3 = register >> 6 & 3
    return Palette(p0 * 0x0101010101010101ULL, p0 ^ p1, p0 ^ p2, p0 ^ p1 ^ p2 ^ p3)


cdef inline void draw_tiles(
    const Machine* m, const Palette* pal, const uint8_t* tiles, unsigned int column, int row,
    uint8_t* shades, uint8_t* indices, int count
) noexcept nogil:
    # Draw a row of tiles of a map, eight pixels each, from a column on, around the edge.
    cdef const uint8_t* pixels = m.s.vram + row * 2
    cdef const uint64_t* spread = &m.c.spread[0]
    cdef bint from_8000 = m.s.high[R_LCDC] & 0x10
    cdef unsigned int tile
    cdef uint64_t low, high, word
    cdef int i
    for i in range(count):
        tile = tiles[(column + i) & 31]
        if not from_8000 and tile < 0x80:
            tile += 0x100
        low, high = spread[pixels[tile << 4]], spread[pixels[(tile << 4) + 1]]
        word = pal.none ^ low * pal.low ^ high * pal.high ^ (low & high) * pal.both
        memcpy(shades + 8 * i, &word, 8)
        word = low | high << 1
        memcpy(indices + 8 * i, &word, 8)


cdef inline void draw_objects(
    const Machine* m, uint8_t* shades, const uint8_t* indices
) noexcept nogil:
    # The first opaque object at a pixel has it, even if the background hides it.
    cdef const State* s = m.s
    cdef uint8_t[10] found
    cdef uint8_t[176] taken
    cdef int n = find_objects(m, found), tall = 16 if s.high[R_LCDC] & 0x04 else 8
    cdef int k, i, x, row
    cdef unsigned int flags, tile, low, high, index, bit, shade
    if n == 0:
        return
    memset(taken, 0, sizeof(taken))
    for k in range(n):
        i = found[k]
        x, flags = s.oam[i + 1], s.oam[i + 3]
        if x == 0 or x >= 168:
            continue
        row = m.ly + 16 - s.oam[i]
        if flags & 0x40:
            row = tall - 1 - row
        tile = s.oam[i + 2] & (0xFE if tall == 16 else 0xFF)
        low, high = s.vram[(tile << 4) + row * 2], s.vram[(tile << 4) + row * 2 + 1]
        shade = s.high[R_OBP1 if flags & 0x10 else R_OBP0]
        for bit in range(8):
            index = low >> bit & 1 | (high >> bit & 1) << 1
            # pixels are counted from x = -8, where shades and taken begin
            row = x + (<int>bit if flags & 0x20 else 7 - <int>bit)
            if index and not taken[row]:
                taken[row] = 1
                if not (flags & 0x80 and indices[row]):
                    shades[row] = shade >> 2 * index & 3


cdef inline void draw_line(Machine* m, bint window) noexcept nogil:
    cdef const uint8_t* io = m.s.high
    cdef unsigned int lcdc = io[R_LCDC], x, y
    # eight pixels before the line, and room for a tile that begins in its last one
    cdef uint8_t[184] shades
    cdef uint8_t[184] indices
    cdef Palette pal
    cdef int start
    if lcdc & 0x01:
        pal = palette(io[R_BGP])
        x, y = io[R_SCX], (m.ly + io[R_SCY]) & 0xFF
        draw_tiles(
            m, &pal, m.s.vram + (0x1C00 if lcdc & 0x08 else 0x1800) + (y >> 3) * 32, x >> 3, y & 7,
            shades + 8 - (x & 7), indices + 8 - (x & 7), 21,
        )
        if window:
            start, y = io[R_WX] + 1, m.window_line
            draw_tiles(
                m, &pal, m.s.vram + (0x1C00 if lcdc & 0x40 else 0x1800) + (y >> 3) * 32, 0, y & 7,
                shades + start, indices + start, (168 - start + 7) >> 3,
            )
    else:
        memset(shades, 0, sizeof(shades))
        memset(indices, 0, sizeof(indices))
    if lcdc & 0x02:
        draw_objects(m, shades, indices)
    memcpy(m.picture + WIDTH * m.ly, shades + 8, WIDTH)


cdef inline void blank(Machine* m) noexcept nogil:
    if m.picture != NULL:
        memset(m.picture, 0, WIDTH * HEIGHT)


# -- time (docs/gameboy.md, 8.1) -------------------------------------------------------------------


cdef inline void end_frame(Machine* m) noexcept nogil:
    # The display ends a frame, unless frames are of fixed length.
    if m.frame_end == NEVER:
        m.frame_done = True


cdef inline bint has_window(const Machine* m) noexcept nogil:
    # Whether the window is on this line (docs/gameboy.md, 8.3).
    cdef const State* s = m.s
    return s.high[R_LCDC] & 0x21 == 0x21 and s.wy_seen and s.high[R_WX] <= 166


cdef inline void begin_hblank(Machine* m) noexcept nogil:
    cdef bint window = has_window(m)
    m.mode = HBLANK
    update_stat(m)
    if m.picture != NULL and (m.lines == NULL or m.lines[m.ly]):
        start_drawing(&m.watch)
        draw_line(m, window)
        end_drawing(&m.watch)
    m.window_line += window
    if m.ly < VISIBLE - 1:
        m.step, m.step_at = STEP_LY, line_start(m) + NEXT_LY
    else:
        m.step, m.step_at = STEP_VBLANK, vblank_start(m)


cdef inline void begin_vblank(Machine* m) noexcept nogil:
    m.s.high[R_IF] |= 1 << INT_VBLANK
    if m.s.high[R_STAT] & 0x20 and not m.stat_line:
        m.s.high[R_IF] |= 1 << INT_STAT
    m.ly, m.mode = VISIBLE, VBLANK
    compare_ly(m)
    m.step, m.step_at = STEP_VBLANK_LINE, m.step_at + LINE
    map_ram(m)


cdef inline void begin_frame(Machine* m) noexcept nogil:
    m.frame_start += FRAME
    m.ly = m.window_line = 0
    if m.s.first_frame:
        blank(m)
    m.s.first_frame = False
    end_frame(m)
    m.mode = SCAN
    m.s.wy_seen = m.s.high[R_WY] == 0
    compare_ly(m)
    m.step, m.step_at = STEP_DRAW, m.frame_start + SCAN_END
    map_ram(m)


cdef inline void take_step(Machine* m) noexcept nogil:
    if m.step == STEP_SCAN:
        if m.ly == m.s.high[R_WY]:
            m.s.wy_seen = True
        m.mode = SCAN
        update_stat(m)
        m.step, m.step_at = STEP_DRAW, line_start(m) + SCAN_END
    elif m.step == STEP_DRAW:
        m.delay = mode3_delay(m)
        m.mode = DRAW
        update_stat(m)
        m.step, m.step_at = STEP_HBLANK, line_start(m) + DRAW_END + m.delay
    elif m.step == STEP_HBLANK:
        begin_hblank(m)
    elif m.step == STEP_LY:
        m.ly += 1
        compare_ly(m)
        m.step, m.step_at = STEP_SCAN, line_start(m)
    elif m.step == STEP_VBLANK:
        begin_vblank(m)
    elif m.step == STEP_VBLANK_LINE:
        m.ly += 1
        compare_ly(m)
        m.step_at += LINE
        if m.ly == LINES - 1:
            m.step, m.step_at = STEP_FRAME, m.frame_start + FRAME
    elif m.step == STEP_FRAME:
        begin_frame(m)
    else:
        m.frame_start += FRAME
        m.step_at += FRAME
        end_frame(m)


cdef inline bint skip_lines(Machine* m, int64_t time) noexcept nogil:
    # Jump to the end of the last visible line before `time`, if nobody can have seen any of it: no
    # picture and no interrupt. Pictures alone need wy_seen and window_line within a frame: where a
    # frame may end amid a picture, they are kept. Return whether there was such a line.
    cdef int64_t ends = time - m.frame_start + early(m) - NEXT_LY, last
    cdef int line
    if ends < 0:
        return False
    last = ends // LINE
    if time >= vblank_start(m):
        last = VISIBLE - 1
    elif last > VISIBLE - 2:
        last = VISIBLE - 2
    if last < m.ly or m.step == STEP_LY and last == m.ly:
        return False
    if m.frame_end != NEVER:
        for line in range(m.ly + (m.step == STEP_LY), <int>last + 1):
            if line == m.s.high[R_WY] and (line > m.ly or m.step == STEP_SCAN):
                m.s.wy_seen = True
            m.window_line += has_window(m)
    m.ly, m.mode = <int>last, HBLANK
    m.s.lyc_match = m.ly == m.s.high[R_LYC]
    if last == VISIBLE - 1:
        m.step, m.step_at = STEP_VBLANK, vblank_start(m)
    else:
        m.step, m.step_at = STEP_LY, line_start(m) + NEXT_LY
    return True


cdef inline void run_ppu(Machine* m, int64_t time) noexcept nogil:
    # Bring the display up to a time.
    cdef bint hidden
    while m.step_at <= time:
        hidden = m.picture == NULL and not m.s.high[R_STAT] & 0x78
        if not (hidden and m.step <= STEP_LY and skip_lines(m, time)):
            take_step(m)


cdef inline int64_t next_ppu_event(const Machine* m) noexcept nogil:
    # When the display will next request an interrupt or end the frame, or earlier.
    if m.s.high[R_STAT] & 0x78 or m.step >= STEP_FRAME:
        return m.step_at
    if m.step <= STEP_VBLANK:
        return vblank_start(m)
    return m.frame_start + FRAME
