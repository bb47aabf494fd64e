# One Game Boy while it runs: a row, and what follows from it or is only needed within a frame.
# Times are in T since power-up. Sections are those of docs/gameboy.md.
from libc.stdint cimport int64_t, uint8_t, uint64_t, uintptr_t

from fastenv.gameboy._state cimport (
    DMA_BLOCKS, DRAW_END, FRAME, LINE, LINES, M_CYCLE, MBC1, MBC1M, MBC3, NEXT_LY, NO_MBC, R_LCDC,
    R_STAT, RELOAD_DONE, RELOAD_NO, RELOAD_OVERFLOWN, SCAN_END, VISIBLE, Shared, State,
)
from fastenv.gameboy._times cimport Watch

cdef enum:
    NEVER = 0x7FFFFFFFFFFFFFFF

cdef enum:
    # A stamp has the T since the processor was last started, and the instructions since then in its
    # lower bits, so that one sum counts both.
    STAMP = 24
    CYCLE = 4 << 24
    NUM_CODES = 17  # pages of 4 KiB, and HRAM

cdef enum Step:
    # What the display does next; the first four are those of a visible line, in their order.
    STEP_SCAN, STEP_DRAW, STEP_HBLANK, STEP_LY, STEP_VBLANK, STEP_VBLANK_LINE, STEP_FRAME, STEP_OFF

cdef enum Mode:
    HBLANK, VBLANK, SCAN, DRAW

cdef enum Asks:
    # What an instruction leaves to be done at its end.
    CPU_NOTHING, CPU_HALT, CPU_STOP

cdef struct Machine:
    State* s
    uint8_t* cart
    const Shared* c
    const uint8_t* rom
    uint8_t* picture  # NULL: nobody will look at this frame
    const uint8_t* lines  # which of its lines somebody will look at; NULL: all
    int64_t now  # where the processor is; while it runs, where it was started
    int64_t limit  # where it has to stop: the next event
    int64_t stop  # the same as a stamp; 0: after this instruction
    int64_t frame_end  # where frames are of fixed length, else NEVER
    bint frame_done
    bint skips  # iterations of idle loops
    int phase  # T later that registers of timer and display are accessed: 0, or -4 like PyBoy
    Watch watch  # of how long the step takes
    Asks asks
    # -- memory: 4 KiB pages that can be read or written without any ado, else NULL --
    const uint8_t* reads[16]
    uint8_t* writes[16]
    # -- the program: where address 0 would be if it lay in front of a page, and the last place at
    # which three bytes can be read; 0 where memory is not plain --
    uintptr_t codes[NUM_CODES]
    uintptr_t lasts[NUM_CODES]
    uint8_t code[4]  # an instruction that was read byte by byte
    # -- display --
    int64_t frame_start
    int64_t step_at
    Step step
    Mode mode
    int ly
    int delay  # of the end of mode 3
    int window_line
    bint stat_line
    int64_t ppu_event  # when the display next does what the processor can notice
    # -- timer --
    int64_t div_start  # when the counter was 0
    int64_t timer_at  # TIMA is counted up to here
    int64_t reload_at  # 0: no overflow
    int64_t reloaded_at  # when the last reload was
    int64_t timer_event
    # -- transfers; 0: none --
    int64_t serial_end
    int64_t dma_end
    int64_t dma_from  # OAM is closed from here
    int64_t clock_at  # the clock of the cartridge is counted up to here
    # -- the idle loop that may be one (docs/gameboy.md, 13) --
    uint64_t spin_key
    unsigned int spin_pc
    int64_t spin_now


cdef inline bint is_on(const Machine* m) noexcept nogil:
    return m.s.high[R_LCDC] & 0x80


cdef inline const uint8_t* rom_bank(const Machine* m, unsigned int bank) noexcept nogil:
    return m.rom + ((bank & <unsigned int>(m.c.rom_banks - 1)) << 14)


cdef inline int mbc1_bits(const Machine* m) noexcept nogil:
    # How many bits of an MBC1's first register count, below the two of the second one; 0: no MBC1.
    return 5 if m.c.mbc == MBC1 else 4 if m.c.mbc == MBC1M else 0


cdef inline uint8_t* open_ram(const Machine* m, unsigned int address) noexcept nogil:
    # The byte of RAM at $A000 to $BFFF, NULL if none is seen there (docs/gameboy.md, 11). RAM below
    # 8 KiB is seen repeatedly.
    cdef const State* s = m.s
    cdef unsigned int bank = s.ram_bank
    if m.c.ram_bytes == 0:
        return NULL
    if m.c.mbc == NO_MBC:
        bank = 0
    elif not s.ram_enable or (m.c.mbc == MBC3 and bank > 7):
        return NULL
    elif mbc1_bits(m) and not s.bank_mode:
        bank = 0
    return m.cart + ((bank << 13 | address & 0x1FFF) & <unsigned int>(m.c.ram_bytes - 1))


cdef inline int code_page(unsigned int pc) noexcept nogil:
    return (pc >> 12) + (pc >= 0xFF80)


cdef inline void map_code(
    Machine* m, int page, const uint8_t* memory, unsigned int start, unsigned int size
) noexcept nogil:
    # Let the program of a page run in `memory`, which lies at `start`.
    m.codes[page] = m.lasts[page] = 0
    if memory != NULL:
        m.codes[page] = <uintptr_t>memory - start
        m.lasts[page] = <uintptr_t>memory + size - 3


cdef inline void map_rom(Machine* m) noexcept nogil:
    cdef const State* s = m.s
    cdef unsigned int low = 0, high = s.rom_bank
    cdef int page, bits = mbc1_bits(m)
    if m.c.mbc == NO_MBC:
        high = 1
    elif bits:
        high = (high & ((1 << bits) - 1)) | s.ram_bank << bits
        low = s.ram_bank << bits if s.bank_mode else 0
    for page in range(4):
        m.reads[page] = rom_bank(m, low) + (page << 12)
        m.reads[page + 4] = rom_bank(m, high) + (page << 12)
        map_code(m, page, rom_bank(m, low), 0, 0x4000)
        map_code(m, page + 4, rom_bank(m, high), 0x4000, 0x4000)


cdef inline void map_ram(Machine* m) noexcept nogil:
    # While a DMA transfer is under way, writes to what it may copy must find it up to date. Video
    # memory is open while nothing is drawn, and until mode 3 of the next line. RAM that is seen
    # repeatedly is no plain memory.
    cdef uint8_t* ram = NULL if m.c.ram_bytes < 0x2000 else open_ram(m, 0xA000)
    cdef bint closed = m.dma_end != 0
    cdef bint drawn = is_on(m) and m.ly < VISIBLE
    cdef int page
    for page in range(2):
        m.reads[8 + page] = NULL if drawn else m.s.vram + (page << 12)
        m.reads[10 + page] = NULL if ram == NULL else ram + (page << 12)
        m.reads[12 + page] = m.s.wram + (page << 12)
        map_code(m, 8 + page, NULL, 0, 0)
        map_code(m, 10 + page, ram, 0xA000, 0x2000)
        map_code(m, 12 + page, m.s.wram, 0xC000, 0x2000)
    map_code(m, 14, m.s.wram, 0xE000, 0x1000)
    map_code(m, 15, NULL, 0, 0)
    map_code(m, 16, m.s.high + 0x80, 0xFF80, 0x7F)
    m.reads[14], m.reads[15] = m.s.wram, NULL
    for page in range(16):
        m.writes[page] = NULL if page < 8 or closed else <uint8_t*>m.reads[page]


cdef inline int early(const Machine* m) noexcept nogil:
    # In the first frame after it was turned on, the display does all a machine cycle earlier.
    return M_CYCLE if m.s.first_frame else 0


cdef inline int64_t line_start(const Machine* m) noexcept nogil:
    return m.frame_start + LINE * m.ly - early(m)


cdef inline int64_t vblank_start(const Machine* m) noexcept nogil:
    return m.frame_start + LINE * VISIBLE - 2 * early(m)


cdef inline void place_display(Machine* m) noexcept nogil:
    # Set what follows from the time since the frame began (docs/gameboy.md, 8.1).
    cdef State* s = m.s
    cdef int at = s.dot + early(m)
    m.frame_start = m.now - s.dot
    m.ly, m.window_line, m.delay, m.mode = 0, s.window_line, s.delay, HBLANK
    if not is_on(m):
        m.step, m.step_at = STEP_OFF, m.frame_start + FRAME
    elif at < 0:  # turned on, and not yet begun
        m.mode, m.step, m.step_at = VBLANK, STEP_SCAN, m.frame_start
    elif m.now >= vblank_start(m):
        at = <int>(m.now - vblank_start(m)) // LINE
        m.ly, m.mode = VISIBLE + at, VBLANK
        m.step, m.step_at = STEP_VBLANK_LINE, vblank_start(m) + LINE * (at + 1)
        if m.ly >= LINES - 1:
            m.ly, m.step, m.step_at = LINES - 1, STEP_FRAME, m.frame_start + FRAME
    else:
        m.ly, at = at // LINE, at % LINE
        if at < SCAN_END:
            m.mode = HBLANK if s.first_frame and m.ly == 0 else SCAN
            m.step, m.step_at = STEP_DRAW, line_start(m) + SCAN_END
        elif at < DRAW_END + m.delay:
            m.mode = DRAW
            m.step, m.step_at = STEP_HBLANK, line_start(m) + DRAW_END + m.delay
        elif m.ly == VISIBLE - 1:
            m.step, m.step_at = STEP_VBLANK, vblank_start(m)
        elif at < NEXT_LY:
            m.step, m.step_at = STEP_LY, line_start(m) + NEXT_LY
        else:
            m.ly += 1
            m.step, m.step_at = STEP_SCAN, line_start(m)


cdef inline void load_machine(Machine* m) noexcept nogil:
    # Set what follows from the row, which is between two frames (docs/gameboy.md, 4).
    cdef State* s = m.s
    m.now, m.frame_done, m.asks = s.cyc, False, CPU_NOTHING
    m.frame_end = NEVER
    place_display(m)
    m.stat_line = stat_line(m)
    m.div_start, m.timer_at = m.now - s.div, m.now
    m.reload_at = m.now + M_CYCLE if s.reload == RELOAD_OVERFLOWN else 0
    m.reloaded_at = m.now if s.reload == RELOAD_DONE else m.now - M_CYCLE
    m.serial_end = m.now + s.serial_left if s.serial_left else 0
    m.dma_end = m.now + s.dma_left if s.dma_left else 0
    m.dma_from = m.now if s.dma_blocks else m.dma_end - DMA_BLOCKS
    m.clock_at = m.now
    map_rom(m)
    map_ram(m)


cdef inline void save_machine(Machine* m) noexcept nogil:
    # The opposite; all parts have been brought up to m.now.
    cdef State* s = m.s
    s.cyc, s.dot = m.now, <int>(m.now - m.frame_start)
    s.window_line, s.delay = m.window_line, m.delay if m.mode == DRAW else 0
    s.div = (m.now - m.div_start) & 0xFFFF
    s.reload = (
        RELOAD_OVERFLOWN if m.reload_at else RELOAD_DONE if m.reloaded_at == m.now else RELOAD_NO
    )
    s.serial_left = <int>(m.serial_end - m.now) if m.serial_end else 0
    s.dma_left = <int>(m.dma_end - m.now) if m.dma_end else 0
    s.dma_blocks = m.dma_end != 0 and m.now >= m.dma_from


cdef inline bint stat_line(const Machine* m) noexcept nogil:
    # Whether any source of the STAT interrupt is active (docs/gameboy.md, 8.2).
    cdef unsigned int enabled = m.s.high[R_STAT]
    if is_on(m) and m.mode != DRAW and enabled & (0x08 << <int>m.mode):
        return True
    return m.s.lyc_match and enabled & 0x40
