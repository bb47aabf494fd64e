# A line in which registers of the display are written, T by T (docs/gameboy.md, 8.4). It is drawn
# from the writes of the line, which stand in the row while mode 3 lasts, so nothing else is kept.
from libc.stdint cimport uint8_t

from fastenv.gameboy._machine cimport Machine
from fastenv.gameboy._state cimport (
    LAST_DRAW, LAST_WX, LINE_BEGAN, LINE_COUNT, LINE_SEEN, LINE_WRITES, M_CYCLE, PIPELINE_BEGIN,
    R_BGP, R_LCDC, R_OBP0, R_OBP1, R_SCX, R_SCY, R_WX, R_WY, SCAN_END, WIDTH, State,
)

cdef enum:
    BACKGROUND = 0x01
    OBJECTS = 0x02
    TALL = 0x04
    SECOND_MAP = 0x08
    LOW_TILES = 0x10
    WINDOW = 0x20
    SECOND_WINDOW_MAP = 0x40
    TILE_TIME = 6
    READY = 5
    OBJECT_TIME = 6
    OBJECT_LOW = 3
    OBJECT_HIGH = 5
    WY_DELAY = 3

cdef struct DrawnLine:
    int end  # T of the line at which mode 3 ends
    int windows  # how often the window began

cdef struct Pipeline:
    const State* s
    const uint8_t* writes  # of the line: cycle, register and value each
    int count
    int first  # of them, the first that may still reach its register
    uint8_t* shades  # NULL: nobody will look at them
    int ly
    # -- registers --
    uint8_t scy, scx, wx, wy, bgp, obp0, obp1, lcdc, fetch_lcdc, fetch_scx
    int time
    int x
    int scrolled
    # -- queues, the next pixel in the highest bit; objects have 0 behind their last pixel --
    uint8_t low, high
    int size
    uint8_t object_low, object_high, second_palette, behind
    # -- the fetchers --
    int fetched
    unsigned int address
    unsigned int tile
    uint8_t tile_low, tile_high
    bint fetching_object
    uint8_t[10] objects
    int num_objects, next_object
    # -- the window --
    bint wy_seen, wx_is_new, in_window, window_awaited, inserts, no_gap
    int window_row, windows
    unsigned int window_column


# -- registers -------------------------------------------------------------------------------------


cdef inline void see_wy(Pipeline* p) noexcept nogil:
    if p.lcdc & WINDOW and p.wy == p.ly:
        p.wy_seen = True


cdef inline void take_lcdc(Pipeline* p, unsigned int value, int since) noexcept nogil:
    cdef bint first = p.x == 0 and p.scrolled < 0
    cdef unsigned int early = 0
    if since < 0:
        p.fetch_lcdc = value
        if first:
            early = BACKGROUND
        if first or p.fetching_object:
            early |= OBJECTS
        p.lcdc &= value | ~early
    elif since == 0:
        if p.lcdc & WINDOW and not value & WINDOW and p.window_awaited:
            p.no_gap = True
        p.lcdc = value
        see_wy(p)


cdef inline void take_palette(uint8_t* palette, unsigned int value, int since) noexcept nogil:
    if since < 0:
        palette[0] |= value
    elif since == 0:
        palette[0] = value


cdef inline void take_write(Pipeline* p, int register, unsigned int value, int since) noexcept nogil:
    if register == R_LCDC:
        take_lcdc(p, value, since)
    elif register == R_BGP:
        take_palette(&p.bgp, value, since)
    elif register == R_OBP0:
        take_palette(&p.obp0, value, since)
    elif register == R_OBP1:
        take_palette(&p.obp1, value, since)
    elif register == R_WX and since == 1:
        p.wx, p.wx_is_new = value, True
    elif register == R_WY and since == WY_DELAY:
        p.wy = value
        see_wy(p)
    elif register == R_SCX and since == -1:
        p.fetch_scx = value
    elif register == R_SCX and since == 0:
        p.scx = value
    elif register == R_SCY and since == -1:
        p.scy = value


cdef inline void take_writes(Pipeline* p) noexcept nogil:
    cdef int k, since
    p.wx_is_new = False
    for k in range(p.first, p.count):
        since = p.time - p.writes[3 * k] * M_CYCLE
        if since > WY_DELAY:
            p.first = k + 1
        elif since < -1:
            break
        else:
            take_write(p, p.writes[3 * k + 1], p.writes[3 * k + 2], since)


cdef inline void pass_time(Pipeline* p) noexcept nogil:
    p.time += 1
    p.wx_is_new = False
    if p.first < p.count:
        take_writes(p)


# -- window ----------------------------------------------------------------------------------------


cdef inline int place(const Pipeline* p) noexcept nogil:
    return p.x + 7 if p.scrolled < 0 else -1


cdef inline bint begins_window(const Pipeline* p) noexcept nogil:
    cdef int at = place(p)
    if p.wx > 0:
        return p.wx == at or (p.wx == at - 1 and not p.wx_is_new)
    if p.scrolled < 0:
        return at == 0
    return p.scrolled > 0 or p.scx & 7


cdef inline void look_for_window(Pipeline* p) noexcept nogil:
    if p.in_window:
        if not p.window_awaited and p.fetched == 0 and p.size == 8 and p.wx == place(p):
            p.inserts = True
    elif p.wy_seen and p.lcdc & WINDOW and p.wx <= LAST_WX and begins_window(p):
        p.size = 0
        if p.wx == 0 and p.scx & 7:
            pass_time(p)
        p.windows += 1
        p.window_column = p.fetched = 0
        p.in_window = p.window_awaited = True


# -- background ------------------------------------------------------------------------------------


cdef inline unsigned int fetched_row(const Pipeline* p) noexcept nogil:
    return (p.window_row + p.windows - 1 if p.in_window else p.ly + p.scy) & 0xFF


cdef inline void find_tile(Pipeline* p) noexcept nogil:
    cdef unsigned int column = p.window_column, second = SECOND_WINDOW_MAP
    if not p.fetch_lcdc & WINDOW:
        p.in_window = False
    if not p.in_window:
        second = SECOND_MAP
        column = (p.fetch_scx + (p.x + 8 if p.scrolled < 0 else 0)) >> 3 & 31
    p.address = 0x1C00 if p.fetch_lcdc & second else 0x1800
    p.address += (fetched_row(p) >> 3) * 32 + column


cdef inline void find_bytes(Pipeline* p) noexcept nogil:
    cdef unsigned int tile = p.tile
    if not p.fetch_lcdc & LOW_TILES and tile < 0x80:
        tile += 0x100
    p.address = tile * 16 + (fetched_row(p) & 7) * 2


cdef inline void fill_queue(Pipeline* p) noexcept nogil:
    cdef int at
    if p.size > 0:
        return
    if p.wy_seen and not p.lcdc & WINDOW and not p.no_gap:
        at = place(p)
        if p.wx == (at if at > 0 else 0):
            p.low, p.high, p.size = 0, 0, 1
            return
    p.low, p.high, p.size, p.fetched = p.tile_low, p.tile_high, 8, 0


cdef inline void fetch(Pipeline* p) noexcept nogil:
    if p.fetched == TILE_TIME:
        fill_queue(p)
        return
    p.fetched += 1
    if p.fetched == 1:
        find_tile(p)
    elif p.fetched == 2:
        p.tile = p.s.vram[p.address]
    elif p.fetched == 3:
        find_bytes(p)
    elif p.fetched == 4:
        p.tile_low = p.s.vram[p.address]
    elif p.fetched == 5:
        find_bytes(p)
        p.address += 1
    else:
        p.tile_high = p.s.vram[p.address]
        if p.in_window:
            p.window_column = (p.window_column + 1) & 31
        fill_queue(p)


# -- objects ---------------------------------------------------------------------------------------


cdef inline unsigned int object_address(const Pipeline* p, int i) noexcept nogil:
    cdef const uint8_t* o = p.s.oam + i
    cdef unsigned int last = 15 if p.fetch_lcdc & TALL else 7
    cdef unsigned int row = (p.ly - o[0]) & last, tile = o[2]
    if o[3] & 0x40:
        row = last - row
    if last == 15:
        tile &= 0xFE
    return tile * 16 + row * 2


cdef inline uint8_t reverse(unsigned int byte) noexcept nogil:
    byte = (byte & 0xF0) >> 4 | (byte & 0x0F) << 4
    byte = (byte & 0xCC) >> 2 | (byte & 0x33) << 2
    return (byte & 0xAA) >> 1 | (byte & 0x55) << 1


cdef inline void lay_object(
    Pipeline* p, unsigned int low, unsigned int high, unsigned int flags
) noexcept nogil:
    cdef unsigned int free
    if flags & 0x20:
        low, high = reverse(low), reverse(high)
    free = (low | high) & ~(p.object_low | p.object_high) & 0xFF
    p.object_low |= low & free
    p.object_high |= high & free
    p.second_palette = (p.second_palette & ~free) | (free if flags & 0x10 else 0)
    p.behind = (p.behind & ~free) | (free if flags & 0x80 else 0)


cdef inline bint fetch_object(Pipeline* p, int i) noexcept nogil:
    # False if objects are turned off meanwhile.
    cdef unsigned int low = 0, high = 0
    cdef int passed
    while p.fetched < READY or p.size == 0:
        fetch(p)
        pass_time(p)
        if not p.lcdc & OBJECTS:
            return False
    for passed in range(OBJECT_TIME):
        if passed < 2:
            fetch(p)
        if passed == OBJECT_LOW:
            low = p.s.vram[object_address(p, i)]
        elif passed == OBJECT_HIGH:
            high = p.s.vram[object_address(p, i) + 1]
            p.fetching_object = False
        pass_time(p)
        if p.fetching_object and not p.lcdc & OBJECTS:
            return False
    lay_object(p, low, high, p.s.oam[i + 3])
    return True


cdef inline void fetch_objects(Pipeline* p) noexcept nogil:
    cdef int at = p.x + 8 if p.scrolled < 0 else 0
    cdef bint complete
    while p.next_object < p.num_objects and p.s.oam[p.objects[p.next_object] + 1] < at:
        p.next_object += 1
    while (
        p.next_object < p.num_objects and p.lcdc & OBJECTS
        and p.s.oam[p.objects[p.next_object] + 1] == at
    ):
        p.fetching_object = True
        complete = fetch_object(p, p.objects[p.next_object])
        p.fetching_object = False
        if not complete:
            break
        p.next_object += 1


# -- pixels ----------------------------------------------------------------------------------------


cdef inline uint8_t mix(
    const Pipeline* p, unsigned int index, unsigned int covering, bint second, bint behind
) noexcept nogil:
    cdef bint shown = p.lcdc & BACKGROUND
    if covering and p.lcdc & OBJECTS and not (behind and index and shown):
        return (p.obp1 if second else p.obp0) >> 2 * covering & 3
    return p.bgp >> 2 * (index if shown else 0) & 3


cdef inline void shift(Pipeline* p) noexcept nogil:
    cdef unsigned int index = 0, covering
    cdef bint second, behind
    if p.size == 0:
        return
    if not p.inserts:
        index = p.low >> 7 | (p.high >> 7) << 1
        p.low, p.high, p.size = p.low << 1, p.high << 1, p.size - 1
    p.inserts = False
    covering = p.object_low >> 7 | (p.object_high >> 7) << 1
    second, behind = p.second_palette >> 7, p.behind >> 7
    p.object_low, p.object_high = p.object_low << 1, p.object_high << 1
    p.second_palette, p.behind = p.second_palette << 1, p.behind << 1
    if p.scrolled >= 0:
        if p.scrolled != p.scx & 7:
            p.scrolled = (p.scrolled + 1) & 7
            if p.scrolled:
                p.window_awaited = False
            return
        p.scrolled = -1
    p.window_awaited = False
    if p.x >= 0 and p.shades != NULL:
        p.shades[p.x] = mix(p, index, covering, second, behind)
    p.x += 1


# -- a line ----------------------------------------------------------------------------------------


cdef inline DrawnLine run_pipeline(Pipeline* p) noexcept nogil:
    cdef int begin = p.time, x
    p.time = SCAN_END - 2
    while p.time < begin:
        pass_time(p)
    while True:
        look_for_window(p)
        fetch_objects(p)
        shift(p)
        fetch(p)
        if p.x == WIDTH or p.time >= LAST_DRAW:
            break
        pass_time(p)
    if p.shades != NULL:
        for x in range(p.x if p.x > 0 else 0, WIDTH):
            p.shades[x] = 0  # the line took too long
    return DrawnLine(p.time if p.time < LAST_DRAW else LAST_DRAW, p.windows)


cdef inline void begin_pipeline(
    Pipeline* p, const Machine* m, int window_row, uint8_t* shades
) noexcept nogil:
    # All but the objects, which the caller finds.
    cdef const uint8_t* began = m.line + LINE_BEGAN
    p.s, p.ly, p.shades = m.s, m.ly, shades
    p.writes, p.count, p.first = m.line + LINE_WRITES, m.line[LINE_COUNT], 0
    p.scy, p.scx, p.lcdc, p.wx = began[0], began[1], began[2], began[3]
    p.wy, p.bgp, p.obp0, p.obp1 = began[4], began[5], began[6], began[7]
    p.fetch_lcdc, p.fetch_scx, p.wy_seen = p.lcdc, p.scx, m.line[LINE_SEEN]
    p.time = PIPELINE_BEGIN
    p.x, p.scrolled = -8, 0
    p.low = p.high = 0
    p.size = 8
    p.object_low = p.object_high = p.second_palette = p.behind = 0
    p.fetched, p.address, p.tile, p.tile_low, p.tile_high = 0, 0, 0, 0, 0
    p.fetching_object = p.wx_is_new = p.in_window = p.window_awaited = p.inserts = p.no_gap = False
    p.window_row, p.windows, p.window_column = window_row, 0, 0
    p.num_objects = p.next_object = 0
