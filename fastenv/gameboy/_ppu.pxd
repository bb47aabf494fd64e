# The display, as late as possible: it catches up when the processor looks at it, changes what it
# draws from, or is to be interrupted (docs/gameboy.md, 8 and 13).
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from fastenv.gameboy._machine cimport (
    DRAW, HBLANK, NEVER, NO_SOURCE, SCAN, STEP_DRAW, STEP_FRAME, STEP_HBLANK, STEP_LY, STEP_LY_0,
    STEP_SCAN, STEP_VBLANK, STEP_VBLANK_LINE, VBLANK, Machine, begin_drawing, is_on, line_start, map_ram,
    request, stat_line,
)
from fastenv.gameboy._pipeline cimport DrawnLine, Pipeline, begin_pipeline, run_pipeline
from fastenv.gameboy._state cimport (
    DRAW_END, FIRST_LINE_LATE, FRAME, HEIGHT, INT_STAT, INT_VBLANK, LAST_WX, LINE, LINE_COUNT, LINE_SEEN, LINE_WRITES, LINES, M_CYCLE, MOST_WRITES, NEXT_LY, OBJECTS_A_LINE,
    R_BGP, R_LCDC, R_LYC, R_OBP0, R_OBP1, R_SCX, R_SCY, R_STAT, R_WX, R_WY, SCAN_END,
    VISIBLE, WIDTH, WINDOW_BEGIN, WINDOW_TIME, State,
)
from fastenv.gameboy._times cimport end_drawing, start_drawing


cdef inline void update_stat(Machine* m, int64_t at, bint late) noexcept nogil:
    cdef bint before = m.stat_line
    m.stat_line = stat_line(m, m.s.high[R_STAT])
    if m.stat_line and not before:
        request(m, INT_STAT, at, late)


cdef inline void set_source(Machine* m, int mode, bint late) noexcept nogil:
    m.source = mode
    update_stat(m, m.step_at, late)


cdef inline void compare_ly(Machine* m, int ly, int64_t at, bint late) noexcept nogil:
    m.compared = ly
    m.s.lyc_match = ly == m.s.high[R_LYC]
    update_stat(m, at, late)


cdef inline void scan_interrupt(Machine* m, bint late) noexcept nogil:
    # Line 144 does as if it searched OAM, for a moment.
    if m.s.high[R_STAT] & 0x20 and not m.stat_line:
        request(m, INT_STAT, m.step_at, late)


cdef inline bint wants_window(const Machine* m) noexcept nogil:
    # Whether the window is on lines from now on (docs/gameboy.md, 8.3).
    return m.s.high[R_LCDC] & 0x20 and m.s.wy_seen and m.s.high[R_WX] <= LAST_WX


cdef inline void compare_wy(Machine* m) noexcept nogil:
    cdef const uint8_t* io = m.s.high
    if io[R_LCDC] & 0xA0 == 0xA0 and m.ly == io[R_WY] and m.ly < VISIBLE:
        m.s.wy_seen = True


# -- the picture (docs/gameboy.md, 8.3) ------------------------------------------------------------


cdef inline bint has_objects(const State* s, unsigned int line, unsigned int tall) noexcept nogil:
    # Whether any object is on a line, counted from 16 on. Most lines have none, and compilers make
    # vectors of this loop, but not of one that notes which objects.
    cdef uint8_t least = 0xFF, below
    cdef int i
    for i in range(40):
        below = <uint8_t>(line - s.oam[4 * i])
        least = below if below < least else least
    return least < tall


cdef inline int find_objects(
    const Machine* m, unsigned int lcdc, uint8_t* found
) noexcept nogil:
    # Write where in OAM the objects of the line are, further left first; return how many.
    cdef const State* s = m.s
    cdef unsigned int tall = 16 if lcdc & 0x04 else 8
    cdef unsigned int line = m.ly + 16
    cdef int i, k, n = 0
    if m.dma_byte >= 0 or not has_objects(s, line, tall):  # DMA may have taken OAM
        return 0
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


cdef inline void plan_line(Machine* m) noexcept nogil:
    # When the window begins, and by how many T all puts off the end of mode 3 (docs/gameboy.md, 8.1).
    cdef const State* s = m.s
    cdef unsigned int scx = s.high[R_SCX], x, column, last = 0xFFFF, beyond = 0xFFFF
    cdef int k, n, takes, before = 0
    cdef uint8_t[10] found
    m.delay, m.window_at = scx & 7, 0
    if wants_window(m):
        beyond = s.high[R_WX]  # objects from here on are fetched between tiles of the window
        m.window_at = WINDOW_BEGIN + beyond + m.delay
        m.delay += 0 if m.phase else WINDOW_TIME
    if s.first_frame and m.ly == 0:
        m.delay += FIRST_LINE_LATE
        return
    if not s.high[R_LCDC] & 0x02:
        return
    n = find_objects(m, s.high[R_LCDC], found)
    for k in range(n):
        x = s.oam[found[k] + 1]
        if x >= 168:
            break
        takes = 6
        column = x + scx
        if x > beyond:
            column = x - beyond - 1 + 0x1000
        if column >> 3 != last:
            last = column >> 3
            if x == 0:
                takes += 5
            elif column & 7 < 5:
                takes += 5 - <int>(column & 7)
        m.delay += takes
        if x <= beyond:
            before += takes
    if m.window_at:
        m.window_at += before


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
    cdef int n = find_objects(m, s.high[R_LCDC], found), tall = 16 if s.high[R_LCDC] & 0x04 else 8
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
        memset(shades, io[R_BGP] & 3, sizeof(shades))
        memset(indices, 0, sizeof(indices))
    if lcdc & 0x02:
        draw_objects(m, shades, indices)
    memcpy(m.picture + WIDTH * m.ly, shades + 8, WIDTH)


cdef inline bint is_seen(const Machine* m) noexcept nogil:
    # Whether somebody will look at the line.
    return m.picture != NULL and (m.lines == NULL or m.lines[m.ly])


cdef inline DrawnLine draw_writes(Machine* m, int window_row, bint shown) noexcept nogil:
    # Draw a line in which registers were written (docs/gameboy.md, 8.4).
    cdef Pipeline p
    begin_pipeline(&p, m, window_row, m.picture + WIDTH * m.ly if shown else NULL)
    if m.s.first_frame and m.ly == 0:
        p.time += FIRST_LINE_LATE
    else:
        p.num_objects = find_objects(m, p.lcdc, p.objects)
    return run_pipeline(&p)


cdef inline bint has_writes(const Machine* m) noexcept nogil:
    return m.line != NULL and m.line[LINE_COUNT]


cdef inline int count_windows(Machine* m) noexcept nogil:
    # How many lines of the window are on this line, of which mode 3 is over or will end as planned.
    if has_writes(m):
        return draw_writes(m, m.window_line, False).windows
    return m.window_at and m.s.high[R_LCDC] & 0x01


cdef inline void blank(Machine* m) noexcept nogil:
    if m.picture != NULL:
        memset(m.picture, 0, WIDTH * HEIGHT)


# -- time (docs/gameboy.md, 8.1) -------------------------------------------------------------------


cdef inline void end_frame(Machine* m) noexcept nogil:
    # The display ends a frame, unless frames are of fixed length.
    if m.frame_end == NEVER:
        m.frame_done = True


cdef inline void begin_hblank(Machine* m) noexcept nogil:
    cdef int ends = DRAW_END + m.delay
    m.mode = HBLANK
    set_source(m, HBLANK, ends & 3 >= 2)
    if is_seen(m):
        start_drawing(&m.watch)
        if has_writes(m):
            m.windows = draw_writes(m, m.window_line, True).windows
        else:
            m.windows = count_windows(m)
            draw_line(m, m.windows)
        end_drawing(&m.watch)
    else:
        m.windows = count_windows(m)
    m.window_line, m.drawn_at = (m.window_line + m.windows) & 0xFF, m.step_at
    m.step, m.step_at = STEP_LY, line_start(m) + NEXT_LY


cdef inline void leave_line(Machine* m) noexcept nogil:
    m.ly += 1
    if m.ly < VISIBLE:
        set_source(m, HBLANK if m.phase else SCAN, True)
        m.step, m.step_at = STEP_SCAN, line_start(m)
    else:
        scan_interrupt(m, True)
        m.step, m.step_at = STEP_VBLANK, line_start(m)


cdef inline void begin_line(Machine* m) noexcept nogil:
    # A visible line searches OAM, which is a source of the interrupt for a moment only.
    compare_wy(m)
    m.mode = SCAN
    if m.ly == 0 or m.phase:
        m.source = SCAN
    compare_ly(m, m.ly, m.step_at, False)
    set_source(m, NO_SOURCE, False)
    m.step, m.step_at = STEP_DRAW, line_start(m) + SCAN_END


cdef inline void begin_vblank(Machine* m) noexcept nogil:
    compare_ly(m, VISIBLE, m.step_at, False)
    request(m, INT_VBLANK, m.step_at, False)
    scan_interrupt(m, False)
    m.mode = VBLANK
    set_source(m, VBLANK, False)
    m.step, m.step_at = STEP_VBLANK_LINE, m.step_at + LINE
    map_ram(m)


cdef inline void begin_vblank_line(Machine* m) noexcept nogil:
    m.ly += 1
    compare_ly(m, m.ly, m.step_at, m.ly == LINES - 1)
    m.step_at += LINE
    if m.ly == LINES - 1:
        m.step, m.step_at = STEP_LY_0, line_start(m) + 2 * M_CYCLE


cdef inline void begin_frame(Machine* m) noexcept nogil:
    m.frame_start += FRAME
    m.ly = m.window_line = 0
    m.s.wy_seen = False
    if m.s.first_frame:
        blank(m)
    m.s.first_frame = False
    end_frame(m)
    begin_line(m)
    map_ram(m)


cdef inline void take_step(Machine* m) noexcept nogil:
    if m.step == STEP_SCAN:
        begin_line(m)
    elif m.step == STEP_DRAW:
        plan_line(m)
        set_source(m, NO_SOURCE, False)
        begin_drawing(m)
        if m.line != NULL:
            m.line[LINE_COUNT] = 0
    elif m.step == STEP_HBLANK:
        begin_hblank(m)
    elif m.step == STEP_LY:
        leave_line(m)
    elif m.step == STEP_VBLANK:
        begin_vblank(m)
    elif m.step == STEP_VBLANK_LINE:
        begin_vblank_line(m)
    elif m.step == STEP_LY_0:
        if m.phase == 0:
            compare_ly(m, 0, m.step_at, False)
        m.step, m.step_at = STEP_FRAME, m.frame_start + FRAME
    elif m.step == STEP_FRAME:
        begin_frame(m)
    else:
        m.frame_start += FRAME
        m.step_at += FRAME
        end_frame(m)


cdef inline void write_window(Machine* m, unsigned int low, uint8_t value, int64_t time) noexcept nogil:
    # A window that has not begun on this line may begin elsewhere, or not at all.
    cdef int64_t at = time - line_start(m)
    cdef bint planned = m.mode == DRAW and (m.window_at == 0 or at <= m.window_at)
    cdef int delay = m.delay - (WINDOW_TIME if m.window_at else 0)
    m.s.high[low] = value
    compare_wy(m)
    if planned:
        plan_line(m)
        if m.window_at and m.window_at < at:
            m.delay, m.window_at = delay, 0
        begin_drawing(m)


cdef inline void note_write(Machine* m, unsigned int low, uint8_t value, int at) noexcept nogil:
    # Let a write in mode 3 change the line; one as mode 3 ends changes its last pixels.
    cdef uint8_t* io = m.s.high
    cdef uint8_t* line = m.line
    cdef int end
    if line[LINE_COUNT] == MOST_WRITES:  # in rows from outside alone
        line[LINE_COUNT] -= 1
    if line[LINE_COUNT] == 0:
        line[0], line[1], line[2], line[3] = io[R_SCY], io[R_SCX], io[R_LCDC], io[R_WX]
        line[4], line[5], line[6], line[7] = io[R_WY], io[R_BGP], io[R_OBP0], io[R_OBP1]
        line[LINE_SEEN] = m.s.wy_seen
    line += LINE_WRITES + 3 * line[LINE_COUNT]
    line[0], line[1], line[2] = at // M_CYCLE, low, value
    m.line[LINE_COUNT] += 1
    io[low] = value
    if low == R_LCDC or low == R_WY:
        compare_wy(m)
    if m.mode != DRAW:
        if is_seen(m):
            draw_writes(m, (m.window_line - m.windows) & 0xFF, True)
        return
    m.window_at = 0
    if low == R_LCDC or low == R_SCX or low == R_WX or low == R_WY:
        end = draw_writes(m, m.window_line, False).end
        m.delay = (end if end > at else at) - DRAW_END
        begin_drawing(m)
        m.stop = 0


cdef inline void write_display(
    Machine* m, unsigned int low, uint8_t value, int64_t time
) noexcept nogil:
    # Write a register that the picture is drawn from; the display has caught up.
    if m.line != NULL and is_on(m) and (m.mode == DRAW or m.drawn_at == time):
        note_write(m, low, value, <int>(time - line_start(m)))
    elif low == R_LCDC or low == R_WX or low == R_WY:
        write_window(m, low, value, time)
    else:
        m.s.high[low] = value


cdef inline bint skip_requests(Machine* m, int first, int last) noexcept nogil:
    # Request the interrupts of lines that begin on the way, from `first` to `last`, where the mode
    # is 0 again. Return False where that is too intricate. With bit 3 or 5 there is one in a whole
    # line whose LY is not LYC, and of two lines one is not.
    cdef unsigned int chosen = m.s.high[R_STAT] & 0x78
    cdef int lyc = m.s.high[R_LYC]
    if chosen == 0:
        return True
    if m.phase or (m.step == STEP_SCAN and m.ly == 0):
        return False
    if chosen & 0x28:
        if last - first < 2:
            return False
        request(m, INT_STAT, m.step_at, False)
    elif chosen & 0x40 and first <= lyc <= last and not (lyc == first and m.stat_line):
        request(m, INT_STAT, m.step_at, False)
    return True


cdef inline bint skip_lines(Machine* m, int64_t time) noexcept nogil:
    # Jump to the end of the last visible line before `time`, of which nobody draws anything. Return
    # whether there was such a line.
    cdef int64_t ends = time - m.frame_start - NEXT_LY - m.phase, last
    cdef int first, wy = m.s.high[R_WY]
    if ends < 0:
        return False
    last = ends // LINE
    if last > VISIBLE - 1:
        last = VISIBLE - 1
    if last < m.ly or m.step == STEP_LY and last == m.ly:
        return False
    if not skip_requests(m, m.ly + (m.step != STEP_SCAN), <int>last):
        return False
    first = m.ly + (m.step == STEP_LY)
    if m.step == STEP_HBLANK:  # how this line goes is known
        m.window_line += count_windows(m)
        first += 1
    if m.s.high[R_LCDC] & 0x20:
        if not m.s.wy_seen and m.ly + (m.step != STEP_SCAN) <= wy <= last:
            m.s.wy_seen = True
            first = wy
        if wants_window(m) and m.s.high[R_LCDC] & 0x01:
            m.window_line += <int>last + 1 - first
        m.window_line &= 0xFF
    m.ly, m.mode, m.source, m.compared = <int>last, HBLANK, HBLANK, <int>last
    m.s.lyc_match = m.ly == m.s.high[R_LYC]
    m.stat_line = stat_line(m, m.s.high[R_STAT])
    m.step, m.step_at = STEP_LY, line_start(m) + NEXT_LY
    return True


cdef inline void run_ppu(Machine* m, int64_t time) noexcept nogil:
    # Bring the display up to a time.
    while m.step_at <= time:
        if m.picture != NULL or m.step > STEP_LY or not skip_lines(m, time):
            take_step(m)


cdef inline int64_t next_match(const Machine* m) noexcept nogil:
    # When LY will next be found to be LYC in this frame, or earlier; else NEVER.
    cdef int lyc = m.s.high[R_LYC], first = m.ly
    if lyc == 0:
        return m.step_at if m.step == STEP_SCAN else m.frame_start + LINE * (LINES - 1) + 2 * M_CYCLE
    first += m.step != STEP_SCAN and m.step != STEP_VBLANK
    return m.frame_start + LINE * lyc if first <= lyc < LINES else NEVER


cdef inline int64_t next_mode_0(const Machine* m) noexcept nogil:
    # When mode 0 will next interrupt, or earlier: mode 3 is as short as it can be, until it begins.
    if m.step == STEP_HBLANK:
        return m.step_at
    return line_start(m) + (LINE if m.step == STEP_LY else 0) + (DRAW_END & ~3) + M_CYCLE


cdef inline int64_t next_stat_event(const Machine* m, unsigned int chosen) noexcept nogil:
    # When the display may next request the interrupt of STAT in lines that are seen, or by LYC.
    cdef int64_t found = NEVER
    if chosen & 0x40:
        found = next_match(m)
    if m.step <= STEP_LY and chosen & 0x08:
        found = min(found, next_mode_0(m))
    if m.step <= STEP_LY and chosen & 0x20:
        found = min(found, m.step_at if m.step == STEP_SCAN else line_start(m) + NEXT_LY)
    return found


cdef inline int64_t next_ppu_event(const Machine* m, unsigned int enabled) noexcept nogil:
    # When the display will next end the frame, or request an interrupt that is enabled, or earlier.
    cdef unsigned int chosen = m.s.high[R_STAT] & 0x78 if enabled & 1 << INT_STAT else 0
    cdef int64_t found = m.frame_start + FRAME
    if m.step >= STEP_FRAME or (chosen and m.phase):
        return m.step_at
    if m.step <= STEP_VBLANK:
        found = m.frame_start + VISIBLE * LINE + (2 * m.phase if m.s.first_frame else 0)
    return min(found, next_stat_event(m, chosen)) if chosen else found
