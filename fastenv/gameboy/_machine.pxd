# One Game Boy while it runs: a row, and what follows from it or is only needed within a frame.
# Times are in T since power-up. Sections are those of docs/gameboy.md.
from libc.stdint cimport int64_t, uint8_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

from fastenv.gameboy._state cimport (
    DRAW_END, FRAME, LINE, LINE_BYTES, LINE_COUNT, LINE_WRITES, LINES, M_CYCLE, MBC1, MBC1M, MBC3, MBC30, NEXT_LY, NO_MBC, R_DMA, R_IF, R_LCDC,
    R_STAT, RELOAD_DONE, RELOAD_NO, RELOAD_OVERFLOWN, SAMPLES, SCAN_END, VISIBLE, Rules, Shared, Sound, State,
)
from fastenv.gameboy._times cimport Watch

cdef enum:
    NEVER = 0x7FFFFFFFFFFFFFFF

cdef enum:
    # A stamp has the T since the processor was last started, and the instructions since then in its
    # lower bits, so that one sum counts both.
    STAMP = 24
    CYCLE = 4 << 24
    NUM_CODES = 18  # pages of 4 KiB, HRAM, and
    BESIDE = 17  # the ROM beside its copy with traps
    NOWHERE = 0x10000  # no place of a program

cdef enum Step:
    # What the display does next; the first four are those of a visible line, in their order.
    STEP_SCAN, STEP_DRAW, STEP_HBLANK, STEP_LY, STEP_VBLANK, STEP_VBLANK_LINE, STEP_LY_0, STEP_FRAME
    STEP_OFF

cdef enum:
    NO_SOURCE = -1

cdef enum Mode:
    HBLANK, VBLANK, SCAN, DRAW

cdef enum Asks:
    # What an instruction leaves to be done at its end; the last for having counted, in its last
    # machine cycle, a register that held an address of OAM (docs/gameboy.md, 9.1).
    CPU_NOTHING, CPU_HALT, CPU_STOP, CPU_COUNT

cdef struct Machine:
    # Who runs it sets the row, what all machines of an engine read, and the other end of a cable.
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
    # which three bytes can be read; 1 and 0 where memory is not plain, so that no place is one --
    uintptr_t codes[NUM_CODES]
    uintptr_t lasts[NUM_CODES]
    uint8_t code[4]  # an instruction that was read byte by byte
    unsigned int next_pc  # behind the last instruction that wrote where memory is not plain
    # -- display --
    int64_t frame_start
    int64_t step_at
    Step step
    Mode mode
    int source  # the mode that may cause the interrupt
    int64_t open_at  # when STAT shows the end of mode 3, where mode is DRAW
    int ly  # of lines from 144 on it is shown by `shown_ly`
    int compared  # with LYC, but for moments
    int delay  # of the end of mode 3
    int window_at  # T of this line at which the window begins; 0: not at all
    int window_line
    bint stat_line
    int64_t ppu_event  # when the display next does what the processor can notice
    # -- timer --
    int64_t div_start  # when the counter was 0
    int64_t timer_at  # TIMA is counted up to here
    int64_t reload_at  # 0: no overflow
    int64_t reloaded_at  # when the last reload was
    int64_t timer_event
    int64_t sound_at  # all that was due by then is done
    # -- what is heard of it (docs/gameboy.md, 10.2) --
    uint8_t* heard  # where that is in the row; NULL: nobody listens
    uint8_t* samples  # of the frames that are run
    int64_t first_sample  # of power-up's, the one that comes first there
    int64_t num_samples
    Sound sound
    # -- transfers; 0: none --
    int64_t serial_end
    int64_t serial_at  # SB is shifted up to here
    # -- the cable (docs/gameboy.md, 22); NEVER: no such time --
    Machine* other  # at its other end; NULL: no cable
    void (*catch_other)(Machine*) noexcept nogil  # lets it come to where all bits are known
    int64_t[8] edge_at  # when bits left the other side
    uint8_t[8] edge_bit
    int edges  # how many did
    int taken  # and how many of them we have taken
    int owed  # bits that left, for which the other side's have not come yet
    bint stopped_amid  # an instruction, which needs them
    int unheard  # as many bits of SB, the lowest ones, are still to come
    int64_t listens_from  # when we began to listen; NEVER until that instruction is over
    int64_t dma_end
    int64_t dma_at  # when the next byte is copied, or the transfer begins
    int dma_byte  # the one that is on the bus; -1: none
    const uint8_t* roms[2]  # what is seen of the ROM at $0000 and at $4000
    int64_t clock_at  # the clock of the cartridge is counted up to here
    # -- bits of IF that HALT does not see yet, and when they were set --
    int64_t late_at
    uint8_t late
    # -- the idle loop that may be one (docs/gameboy.md, 13) --
    uint64_t spin_key
    unsigned int spin_pc
    int64_t spin_now
    unsigned int no_wait  # where a loop ends that is none of those that are known at once
    unsigned int counter  # B, C, D, E, H, L, 7 for A, from 8 on BC, DE, HL
    int counted  # by how much a loop that counts will count this down at once
    # -- writes in mode 3 of this line; NULL: they do not change it (docs/gameboy.md, 8.4) --
    uint8_t* line
    int windows  # lines of the window on the line that was drawn last
    int64_t drawn_at  # when that was
    # -- hooks of a RAM map (docs/gameboy.md, 20.3) --
    const Rules* rules
    const uint8_t* program  # the ROM, or a copy with a trap at each instruction that is counted
    # -- lets the processor pass a trap, at a place of its program and in memory; NULL: no copy --
    bint (*pass_trap)(Machine*, unsigned int, uintptr_t, int64_t) noexcept nogil
    const uint8_t* watched  # addresses, a bit each; NULL: no hook watches any


cdef inline bint is_on(const Machine* m) noexcept nogil:
    return m.s.high[R_LCDC] & 0x80


cdef inline const uint8_t* rom_bank(const Machine* m, unsigned int bank) noexcept nogil:
    return m.rom + ((bank & <unsigned int>(m.c.rom_banks - 1)) << 14)


cdef inline int mbc1_bits(const Machine* m) noexcept nogil:
    # How many bits of an MBC1's first register count, below the two of the second one; 0: no MBC1.
    return 5 if m.c.mbc == MBC1 else 4 if m.c.mbc == MBC1M else 0


cdef inline unsigned int last_ram_bank(const Machine* m) noexcept nogil:
    # The last bank that shows RAM; those behind it show none.
    if m.c.mbc == MBC3 and m.c.has_clock:
        return 3
    return 7 if m.c.mbc == MBC3 or m.c.mbc == MBC30 else 15


cdef inline uint8_t* open_ram(const Machine* m, unsigned int address) noexcept nogil:
    # The byte of RAM at $A000 to $BFFF, NULL if none is seen there (docs/gameboy.md, 11). RAM below
    # 8 KiB is seen repeatedly.
    cdef const State* s = m.s
    cdef unsigned int bank = s.ram_bank
    if m.c.ram_bytes == 0:
        return NULL
    if m.c.mbc == NO_MBC:
        bank = 0
    elif not s.ram_enable or bank > last_ram_bank(m):
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
    m.codes[page], m.lasts[page] = 1, 0
    if memory != NULL:
        m.codes[page] = <uintptr_t>memory - start
        m.lasts[page] = <uintptr_t>memory + size - 3


cdef inline uintptr_t to_copy(const Machine* m) noexcept nogil:
    # From the ROM to its copy with traps; 0: there is none.
    return <uintptr_t>m.program - <uintptr_t>m.rom


cdef inline const uint8_t* code_without_traps(const Machine* m, int page) noexcept nogil:
    # Where address 0 would be if it lay in front of a page of the program, whose memory is plain.
    return <const uint8_t*>(m.codes[page] - (to_copy(m) if page < 8 else 0))


cdef inline void map_rom(Machine* m) noexcept nogil:
    cdef const State* s = m.s
    cdef unsigned int low = 0, high = s.rom_bank
    cdef int page, bits = mbc1_bits(m)
    if m.c.mbc == NO_MBC:
        high = 1
    elif bits:
        high = (high & ((1 << bits) - 1)) | s.ram_bank << bits
        low = s.ram_bank << bits if s.bank_mode else 0
    m.roms[0], m.roms[1] = rom_bank(m, low), rom_bank(m, high)
    for page in range(4):
        m.reads[page] = rom_bank(m, low) + (page << 12)
        m.reads[page + 4] = rom_bank(m, high) + (page << 12)
        map_code(m, page, rom_bank(m, low) + to_copy(m), 0, 0x4000)
        map_code(m, page + 4, rom_bank(m, high) + to_copy(m), 0x4000, 0x4000)


cdef inline void map_ram(Machine* m) noexcept nogil:
    # While a DMA transfer is under way, no access is plain that it may have to do with. Video
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
    if closed:
        close_bus(m)
    if m.watched != NULL:
        for page in range(16):
            if m.rules.watched_pages >> page & 1:
                m.writes[page] = NULL


cdef inline bint dma_conflicts(const Machine* m, unsigned int page) noexcept nogil:
    # Whether a transfer has the bus of a page of 4 KiB: that of VRAM, or the other one.
    return (page >> 1 == 4) == (m.s.high[R_DMA] >> 5 == 4)


cdef inline void close_bus(Machine* m) noexcept nogil:
    # While a transfer has it, the processor finds what is copied (docs/gameboy.md, 9).
    cdef int page
    for page in range(15):
        if dma_conflicts(m, page):
            m.reads[page] = NULL
            map_code(m, page, NULL, 0, 0)


cdef inline int64_t line_start(const Machine* m) noexcept nogil:
    # In PyBoy's first frame after the display was turned on lines are early, VBlank even more so.
    cdef int early = m.phase if m.s.first_frame else 0
    return m.frame_start + LINE * m.ly + (2 * early if m.ly == VISIBLE else early)


cdef inline int64_t next_frame(const Machine* m) noexcept nogil:
    # When the next frame begins; before a program's first one the step of line 0 is due.
    return m.frame_start + (0 if m.step == STEP_SCAN else FRAME)


cdef inline int shown_ly(const Machine* m, int64_t time) noexcept nogil:
    if m.ly < VISIBLE or not is_on(m):
        return m.ly
    if m.phase:
        return m.ly - (m.step == STEP_VBLANK)
    if m.ly == LINES - 1:
        return 0
    return m.ly + (m.step == STEP_VBLANK_LINE and time >= line_start(m) + NEXT_LY)


cdef inline Mode shown_mode(const Machine* m, int64_t time) noexcept nogil:
    if m.mode == DRAW and time >= m.open_at:
        return HBLANK
    if m.mode == VBLANK and m.phase == 0 and time >= next_frame(m) - M_CYCLE:
        return HBLANK
    return m.mode


cdef inline bint compares(const Machine* m, int64_t time) noexcept nogil:
    # Whether there is a line that is compared with LYC: LY has just changed where there is none.
    if m.phase:
        return True
    if m.step == STEP_SCAN:
        return m.mode == VBLANK  # the first frame has not begun
    if m.step == STEP_VBLANK_LINE:
        return time < line_start(m) + NEXT_LY
    if m.step == STEP_LY_0:
        return time < line_start(m) + M_CYCLE
    return m.step != STEP_VBLANK


cdef inline void begin_drawing(Machine* m) noexcept nogil:
    # The interrupt at the end of mode 3 comes a T after STAT shows it.
    cdef int ends = DRAW_END + m.delay
    m.mode, m.open_at = DRAW, line_start(m) + ends
    m.step, m.step_at = STEP_HBLANK, line_start(m) + (ends & ~3) + M_CYCLE


cdef inline void place_display(Machine* m) noexcept nogil:
    # Set what follows from the time since the frame began (docs/gameboy.md, 8.1).
    cdef State* s = m.s
    cdef int at = s.dot, ends
    m.frame_start = m.now - s.dot
    m.ly, m.window_line, m.delay, m.mode = 0, s.window_line, s.delay, HBLANK
    m.window_at, m.windows, m.drawn_at = s.window_at, 0, -1
    m.source, m.compared = NO_SOURCE, 0
    if not is_on(m):
        m.step, m.step_at = STEP_OFF, m.frame_start + FRAME
        return
    if at < 0:  # the first frame has not begun
        m.mode, m.source, m.step, m.step_at = VBLANK, VBLANK, STEP_SCAN, m.frame_start
        return
    m.ly, at = at // LINE, at % LINE
    m.compared = m.ly
    if m.ly >= VISIBLE:
        m.mode, m.source = VBLANK, VBLANK
        m.step, m.step_at = STEP_VBLANK_LINE, line_start(m) + LINE
        if m.ly == LINES - 1:
            m.step, m.step_at = STEP_LY_0, line_start(m) + 2 * M_CYCLE
            if at >= 2 * M_CYCLE:
                m.compared, m.step, m.step_at = 0, STEP_FRAME, m.frame_start + FRAME
        return
    ends = DRAW_END + m.delay
    if at < SCAN_END:
        m.mode = HBLANK if s.first_frame and m.ly == 0 else SCAN
        m.step, m.step_at = STEP_DRAW, line_start(m) + SCAN_END
    elif at <= ends:
        begin_drawing(m)
    elif at < NEXT_LY:
        m.source = HBLANK
        m.step, m.step_at = STEP_LY, line_start(m) + NEXT_LY
    else:
        m.ly += 1
        m.source = SCAN if m.ly < VISIBLE else HBLANK
        m.step, m.step_at = STEP_SCAN if m.ly < VISIBLE else STEP_VBLANK, line_start(m)


cdef inline void load_machine(Machine* m) noexcept nogil:
    # Set what follows from the row, which is between two frames (docs/gameboy.md, 4).
    cdef State* s = m.s
    m.now, m.frame_done, m.asks = s.cyc, False, CPU_NOTHING
    m.no_wait, m.counted, m.next_pc = NOWHERE, 0, 0
    m.frame_end = NEVER
    place_display(m)
    m.stat_line = stat_line(m, s.high[R_STAT])
    m.late, m.late_at = s.late, m.now
    m.div_start, m.timer_at = m.now - s.div, m.now
    m.reload_at = m.now + M_CYCLE if s.reload == RELOAD_OVERFLOWN else 0
    m.reloaded_at = m.now if s.reload == RELOAD_DONE else m.now - M_CYCLE
    m.serial_end = m.now + s.serial_left if s.serial_left else 0
    m.serial_at = m.sound_at = m.now
    m.edges = m.taken = m.owed = m.unheard = 0
    m.listens_from, m.stopped_amid = 0, False
    m.dma_end = m.now + s.dma_left if s.dma_left else 0
    m.dma_at = m.now + M_CYCLE
    m.dma_byte = s.dma_byte if s.dma_blocks else -1
    m.clock_at = m.now
    if m.heard != NULL:
        memcpy(&m.sound, m.heard, sizeof(m.sound))
        m.first_sample = m.now // FRAME * SAMPLES
    map_rom(m)
    map_ram(m)


cdef inline void save_line(Machine* m) noexcept nogil:
    # Leave nothing of earlier lines behind what is noted of this one.
    cdef int size = LINE_WRITES + 3 * m.line[LINE_COUNT]
    if m.mode != DRAW or m.line[LINE_COUNT] == 0:
        size = 0
    memset(m.line + size, 0, LINE_BYTES - size)


cdef inline void save_machine(Machine* m) noexcept nogil:
    # The opposite; all parts have been brought up to m.now.
    cdef State* s = m.s
    s.cyc, s.dot = m.now, <int>(m.now - m.frame_start)
    s.window_line = m.window_line
    s.delay, s.window_at = 0, 0
    if m.mode == DRAW:
        s.delay, s.window_at = m.delay, m.window_at
    if m.line != NULL:
        save_line(m)
    if m.heard != NULL:
        memcpy(m.heard, &m.sound, sizeof(m.sound))
    s.late = m.late if m.late_at == m.now else 0
    s.div = (m.now - m.div_start) & 0xFFFF
    s.reload = (
        RELOAD_OVERFLOWN if m.reload_at else RELOAD_DONE if m.reloaded_at == m.now else RELOAD_NO
    )
    s.serial_left = <int>(m.serial_end - m.now) if m.serial_end else 0
    s.dma_left = <int>(m.dma_end - m.now) if m.dma_end else 0
    s.dma_blocks, s.dma_byte = m.dma_byte >= 0, m.dma_byte if m.dma_byte >= 0 else 0
    s.clock_armed = 0


cdef inline bint stat_line(const Machine* m, unsigned int enabled) noexcept nogil:
    # Whether any of the enabled sources of the STAT interrupt is active (docs/gameboy.md, 8.2).
    if m.source >= 0 and enabled & (0x08 << m.source):
        return True
    return m.s.lyc_match and enabled & 0x40


cdef inline void request(Machine* m, int source, int64_t at, bint late) noexcept nogil:
    # Set a bit of IF; a late one is not seen by HALT at that very time (docs/gameboy.md, 6).
    cdef uint8_t bit = 1 << source
    if late and m.phase == 0 and at >= m.late_at and not m.s.high[R_IF] & bit:
        m.late = bit | (m.late if at == m.late_at else 0)
        m.late_at = at
    m.s.high[R_IF] |= bit
