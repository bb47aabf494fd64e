# What the processor sees: memory, registers and time (docs/gameboy.md, 5.5 to 11 and 13).
# An access at a time first brings up to it whatever it touches.
from libc.stdint cimport int64_t, uint8_t, uintptr_t

from fastenv.gameboy._machine cimport (
    CYCLE, DRAW, HBLANK, NEVER, NO_SOURCE, SCAN, STAMP, STEP_DRAW, STEP_OFF, STEP_SCAN, Machine,
    Mode, VBLANK, code_page, compares, dma_conflicts, is_on, line_start, map_ram, map_rom, mbc1_bits,
    next_frame, open_ram, request, shown_ly, shown_mode,
)
from fastenv.gameboy._hooks cimport see_write
from fastenv.gameboy._oam_bug cimport OAM_PAGE, spoil_by_read, spoil_by_write
from fastenv.gameboy._ppu cimport (
    blank, compare_ly, compare_wy, end_frame, next_ppu_event, run_ppu, update_stat, write_display,
)
from fastenv.gameboy._sound cimport before_clearing_div, read_sound, write_sound
from fastenv.gameboy._state cimport (
    FRAME, INT_JOYPAD, INT_TIMER, M_CYCLE, MBC2, MBC30, MBC5, NO_MBC, R_BGP, R_DIV, R_DMA, R_IE, R_IF,
    R_LCDC, R_LY, R_LYC, R_NR10, R_NR52, R_P1, R_SB, R_SC, R_SCX, R_SCY, R_STAT, R_TAC, R_TIMA,
    R_TMA, R_WX, R_WY, SCAN_END, State,
)
from fastenv.gameboy._transfers cimport (
    catch_up, clear_serial, clock_register, hear_all, latch_clock, next_serial_event, plain_byte, run_serial,
    start_dma, start_serial, write_clock,
)


# -- timer (docs/gameboy.md, 7) --------------------------------------------------------------------


cdef inline int timer_shift(const Machine* m) noexcept nogil:
    # The period of TIMA is 2 to this power.
    cdef int select = m.s.high[R_TAC] & 3
    return 10 if select == 0 else 2 + 2 * select


cdef inline bint timer_signal(const Machine* m, int64_t time) noexcept nogil:
    # What TIMA counts the falling edges of.
    return m.s.high[R_TAC] & 4 and (time - m.div_start) >> (timer_shift(m) - 1) & 1


cdef inline int64_t overflow_at(const Machine* m) noexcept nogil:
    # When TIMA, counted up to timer_at, will overflow.
    cdef int shift = timer_shift(m)
    cdef int64_t edges = (m.timer_at - m.div_start) >> shift
    return m.div_start + ((edges + 256 - m.s.high[R_TIMA]) << shift)


cdef inline void run_timer(Machine* m, int64_t time) noexcept nogil:
    # Count TIMA up to a time.
    cdef uint8_t* io = m.s.high
    cdef int shift = timer_shift(m)
    cdef int64_t overflow
    while True:
        if m.reload_at:
            if m.reload_at > time:
                return
            io[R_TIMA] = io[R_TMA]
            request(m, INT_TIMER, m.reload_at, True)
            m.reloaded_at, m.reload_at = m.reload_at, 0
        if not io[R_TAC] & 4:
            break
        overflow = overflow_at(m)
        if overflow > time:
            io[R_TIMA] += ((time - m.div_start) >> shift) - ((m.timer_at - m.div_start) >> shift)
            break
        io[R_TIMA] = 0
        m.timer_at, m.reload_at = overflow, overflow + M_CYCLE
    m.timer_at = time


cdef inline void fall(Machine* m, bint before, int64_t time) noexcept nogil:
    # Count on if a write let the signal fall.
    if before and not timer_signal(m, time):
        m.s.high[R_TIMA] += 1
        if m.s.high[R_TIMA] == 0:
            m.reload_at = time + M_CYCLE


cdef inline void clear_div(Machine* m, int64_t time) noexcept nogil:
    cdef bint before
    run_timer(m, time)
    before_clearing_div(m, time)
    clear_serial(m, time)
    before = timer_signal(m, time)
    m.div_start = time
    fall(m, before, time)


cdef inline int64_t next_timer_event(const Machine* m) noexcept nogil:
    if m.reload_at:
        return m.reload_at
    return overflow_at(m) + M_CYCLE if m.s.high[R_TAC] & 4 else NEVER


# -- events (docs/gameboy.md, 13) ------------------------------------------------------------------


cdef inline void run_events(Machine* m, int64_t time) noexcept nogil:
    # Do what requests interrupts up to a time, or ends the frame.
    if m.timer_event <= time:
        run_timer(m, time)
    run_serial(m, time)
    if m.ppu_event <= time or (m.dma_end and m.dma_end <= time):
        catch_up(m, time)
    if m.frame_end <= time:
        m.frame_done = True


cdef inline void schedule(Machine* m) noexcept nogil:
    # Find out when the processor has to stop next.
    m.timer_event, m.ppu_event = next_timer_event(m), next_ppu_event(m, m.s.high[R_IE])
    m.limit = m.ppu_event
    if m.frame_end < m.limit:
        m.limit = m.frame_end
    if m.timer_event < m.limit:
        m.limit = m.timer_event
    if m.serial_end or m.edges:
        m.limit = min(m.limit, next_serial_event(m))
    if m.dma_end and m.dma_end < m.limit:
        m.limit = m.dma_end
    m.stop = (m.limit - m.now) << STAMP


# -- joypad (docs/gameboy.md, 10) ------------------------------------------------------------------


cdef inline unsigned int key_lines(const State* s) noexcept nogil:
    cdef unsigned int down = 0
    if not s.high[R_P1] & 0x10:
        down |= s.keys & 0x0F
    if not s.high[R_P1] & 0x20:
        down |= s.keys >> 4
    return ~down & 0x0F


cdef inline bint key_fall(State* s, unsigned int before) noexcept nogil:
    # Request the interrupt of the keys if a line has fallen; return whether.
    if not before & ~key_lines(s):
        return False
    s.high[R_IF] |= 1 << INT_JOYPAD
    s.stopped = False
    return True


cdef inline void press(State* s, uint8_t keys) noexcept nogil:
    # Set which keys are pressed.
    cdef unsigned int before = key_lines(s)
    s.keys = keys
    key_fall(s, before)


cdef inline bint select_keys(State* s, uint8_t value) noexcept nogil:
    cdef unsigned int before = key_lines(s)
    s.high[R_P1] = value & 0x30
    return key_fall(s, before)


# -- reading ---------------------------------------------------------------------------------------


cdef inline bint has_phase(unsigned int low) noexcept nogil:
    return R_DIV <= low <= R_TAC or (R_LCDC <= low <= R_WX and low != R_DMA)


cdef inline bint shown_match(const Machine* m, int64_t time) noexcept nogil:
    return m.s.lyc_match and (not is_on(m) or compares(m, time))


cdef inline uint8_t read_register(Machine* m, unsigned int low, int64_t time) noexcept nogil:
    cdef State* s = m.s
    if m.phase and has_phase(low):
        time += m.phase
    if low == R_P1:
        return s.high[R_P1] | key_lines(s)
    if low == R_SB:
        hear_all(m, time)
    elif low == R_SC:
        run_serial(m, time)
    elif low == R_DIV:
        return (time - m.div_start) >> 8 & 0xFF
    elif low == R_TIMA:
        run_timer(m, time)
    elif low == R_IF:
        run_timer(m, time)
        run_serial(m, time)
        catch_up(m, time)
    elif low == R_STAT:
        catch_up(m, time)
        return s.high[R_STAT] | shown_match(m, time) << 2 | <int>shown_mode(m, time)
    elif low == R_LY:
        catch_up(m, time)
        return shown_ly(m, time)
    elif R_NR52 <= low < R_LCDC:
        return read_sound(m, low, time)
    return s.high[low]


cdef inline bint oam_closed(const Machine* m, int64_t time, bint writing) noexcept nogil:
    cdef Mode mode
    if m.dma_byte >= 0:
        return True
    if m.c.video_is_open or not is_on(m):
        return False
    if m.mode == VBLANK:
        return not writing and time >= next_frame(m) - M_CYCLE
    mode = shown_mode(m, time)
    if mode == SCAN:
        return not writing or time - line_start(m) < SCAN_END - M_CYCLE
    return mode == DRAW or (not writing and m.step == STEP_SCAN)


cdef inline uint8_t load_oam(
    Machine* m, unsigned int low, int64_t time, bint counted
) noexcept nogil:
    cdef uint8_t value = 0
    catch_up(m, time)
    if oam_closed(m, time, False):
        value = 0xFF
    elif low < 160:
        value = m.s.oam[low]
    spoil_by_read(m, time, counted)
    return value


cdef inline uint8_t load_high(Machine* m, unsigned int low, int64_t stamp) noexcept nogil:
    # Read the byte at $FF00 + low.
    if low >= 0x80:
        return m.s.high[low]
    return read_register(m, low, m.now + (stamp >> STAMP)) | m.c.read_ones[low]


cdef inline uint8_t load_slow(Machine* m, unsigned int address, int64_t stamp) noexcept nogil:
    cdef int64_t time = m.now + (stamp >> STAMP)
    cdef State* s = m.s
    cdef unsigned int low = address & 0xFF
    if address >= 0xFF00:
        return load_high(m, low, stamp)
    if address >= 0xFE00:
        return load_oam(m, low, time, False)
    if m.dma_end:
        catch_up(m, time)
        if m.dma_byte >= 0 and dma_conflicts(m, address >> 12):
            return s.oam[m.dma_byte]
    if 0x8000 <= address < 0xA000 and not m.c.video_is_open:
        catch_up(m, time)
        if shown_mode(m, time) == DRAW:
            return 0xFF
        if m.mode == SCAN and time - line_start(m) >= SCAN_END - M_CYCLE:
            return 0xFF
    return plain_byte(m, address)


cdef inline uint8_t load(Machine* m, unsigned int address, int64_t stamp) noexcept nogil:
    # Return a byte as the processor sees it at a time.
    cdef const uint8_t* page = m.reads[address >> 12]
    if page != NULL:
        return page[address & 0xFFF]
    return load_slow(m, address, stamp)


cdef inline uint8_t load_counted(Machine* m, unsigned int address, int64_t stamp) noexcept nogil:
    # The same where the register that holds the address is counted up or down meanwhile.
    if address >> 8 == OAM_PAGE:
        return load_oam(m, address & 0xFF, m.now + (stamp >> STAMP), True)
    return load(m, address, stamp)


cdef inline uint8_t load_opcode(Machine* m, unsigned int pc) noexcept nogil:
    # After a HALT that did not wait PC does not count on.
    return load(m, pc, 0) if m.s.halt_bug else load_counted(m, pc, 0)


cdef inline uintptr_t load_code(
    Machine* m, unsigned int pc, unsigned int op, int operands
) noexcept nogil:
    # Read the rest of an instruction byte by byte, and return where it is. After a HALT that did
    # not wait, PC has not counted on, and the opcode is read again (docs/gameboy.md, 6).
    cdef int i
    m.code[0] = op
    for i in range(operands):
        m.code[i + 1] = load_counted(m, (pc + i + 1 - m.s.halt_bug) & 0xFFFF, (i + 1) * CYCLE)
    return <uintptr_t>&m.code[0]


# -- writing ---------------------------------------------------------------------------------------


cdef inline void write_bank(
    Machine* m, unsigned int address, uint8_t value, int64_t time
) noexcept nogil:
    # Registers of the bank controller (docs/gameboy.md, 11).
    cdef State* s = m.s
    cdef unsigned int region = address >> 13
    cdef int page = code_page(m.next_pc)
    cdef uintptr_t before = m.codes[page]
    if m.c.mbc == NO_MBC or (m.c.mbc == MBC2 and region > 1):
        return
    if m.c.mbc == MBC2 and address & 0x100:
        s.rom_bank = value & 0x0F
        s.rom_bank += s.rom_bank == 0
    elif region == 0 or m.c.mbc == MBC2:
        s.ram_enable = value & 0x0F == 0x0A
    elif m.c.mbc == MBC5:
        if region == 1 and address < 0x3000:
            s.rom_bank = (s.rom_bank & 0x100) | value
        elif region == 1:
            s.rom_bank = (s.rom_bank & 0xFF) | (value & 1) << 8
        elif region == 2:
            s.ram_bank = value & 0x0F
    elif region == 1:
        s.rom_bank = value & (0x1F if mbc1_bits(m) else 0xFF if m.c.mbc == MBC30 else 0x7F)
        s.rom_bank += s.rom_bank == 0
    elif region == 2:
        s.ram_bank = value & (3 if mbc1_bits(m) else 0x0F)
    elif mbc1_bits(m):
        s.bank_mode = value & 1
    elif m.c.has_clock:
        latch_clock(m, time)
    map_rom(m)
    if region != 1 or m.c.mbc == MBC2 or m.dma_end:
        map_ram(m)
    if m.codes[page] != before:
        m.stop = 0  # the program goes on in another bank


cdef inline void write_lcdc(Machine* m, uint8_t value, int64_t time) noexcept nogil:
    # Turning the display on or off ends the frame, and the next one begins.
    cdef bint was_on = is_on(m)
    catch_up(m, time)
    if was_on and not value & 0x80:
        m.s.lyc_match = shown_match(m, time)
    if value & 0x80 == m.s.high[R_LCDC] & 0x80:
        write_display(m, R_LCDC, value, time)
        return
    m.s.high[R_LCDC] = value
    m.frame_start = time if was_on else time - 2 * m.phase  # PyBoy's begins a machine cycle late
    end_frame(m)
    m.ly = m.window_line = m.compared = 0
    m.mode, m.source = HBLANK, NO_SOURCE
    m.s.wy_seen, m.s.first_frame = False, not was_on
    blank(m)
    if was_on:
        m.step, m.step_at = STEP_OFF, m.frame_start + FRAME
        update_stat(m, time, False)
    else:
        m.step, m.step_at = STEP_DRAW, line_start(m) + SCAN_END
        compare_wy(m)
        compare_ly(m, 0, time, False)
    map_ram(m)


cdef inline void write_stat(Machine* m, uint8_t value, int64_t time) noexcept nogil:
    # While it is written, all sources are chosen (docs/gameboy.md, 8.2).
    catch_up(m, time)
    if is_on(m):
        m.s.high[R_STAT] = 0x78
        update_stat(m, time, False)
    m.s.high[R_STAT] = value & 0x78
    update_stat(m, time, False)


cdef inline void write_register(
    Machine* m, unsigned int low, uint8_t value, int64_t time
) noexcept nogil:
    # The processor stops afterwards where an interrupt may have become due.
    cdef uint8_t* io = m.s.high
    cdef bint before
    if low == R_P1:
        if select_keys(m.s, value):
            m.stop = 0
        return
    if m.phase and has_phase(low):
        time += m.phase
    if R_SCY <= low <= R_SCX or R_BGP <= low <= R_WX:
        catch_up(m, time)
        write_display(m, low, value, time)
        if low >= R_WY:
            m.stop = 0
        return
    if R_NR10 <= low < R_LCDC:
        write_sound(m, low, value, time)
        return
    m.stop = 0
    if low == R_SB:
        run_serial(m, time)
        io[low] = value
        m.unheard = 0
    elif low == R_SC:
        start_serial(m, value, time)
    elif low == R_DIV:
        clear_div(m, time)
    elif low == R_TIMA:
        run_timer(m, time)
        if m.reloaded_at != time or m.reload_at:
            io[low] = value
            m.reload_at = 0
    elif low == R_TMA:
        run_timer(m, time)
        io[low] = value
        if m.reloaded_at == time and not m.reload_at:
            io[R_TIMA] = value
    elif low == R_TAC:
        run_timer(m, time)
        before = timer_signal(m, time)
        io[low] = value & 7
        fall(m, before, time)
    elif low == R_IF:
        run_timer(m, time)
        run_serial(m, time)
        catch_up(m, time)
        io[low] = value & 0x1F
    elif low == R_LCDC:
        write_lcdc(m, value, time)
    elif low == R_STAT:
        write_stat(m, value, time)
    elif low == R_LYC:
        catch_up(m, time)
        io[low] = value
        if is_on(m) and compares(m, time):
            compare_ly(m, m.compared, time, False)
    elif low == R_DMA:
        start_dma(m, value, time)


cdef inline bint writes_into_dma(
    Machine* m, unsigned int address, uint8_t value, int64_t time
) noexcept nogil:
    # Write to a bus that a transfer may have, where its byte changes; return whether it has.
    catch_up(m, time)
    if m.dma_byte < 0 or not dma_conflicts(m, address >> 12):
        return False
    m.s.oam[m.dma_byte] = value & (m.s.oam[m.dma_byte] if m.s.high[R_DMA] >= 0xC0 else 0xFF)
    return True


cdef inline void store_anywhere(
    Machine* m, unsigned int address, uint8_t value, int64_t stamp
) noexcept nogil:
    cdef int64_t time = m.now + (stamp >> STAMP)
    cdef State* s = m.s
    cdef unsigned int low = address & 0xFF
    cdef uint8_t* ram
    if address >= 0xFF80:
        s.high[low] = value
        if low == R_IE:
            m.stop = 0
    elif address >= 0xFF00:
        write_register(m, low, value, time)
    elif m.dma_end and address < 0xFE00 and writes_into_dma(m, address, value, time):
        return
    elif 0x8000 <= address < 0xA000:
        catch_up(m, time)
        if m.c.video_is_open or shown_mode(m, time) != DRAW:
            s.vram[address & 0x1FFF] = value
    elif address >= 0xFE00:
        catch_up(m, time)
        if low < 160 and not oam_closed(m, time, True):
            s.oam[low] = value
        spoil_by_write(m, time)
    else:
        if address < 0x8000:
            write_bank(m, address, value, time)
        elif address < 0xC000:
            ram = open_ram(m, address)
            if ram != NULL:
                ram[0] = value & (0x0F if m.c.mbc == MBC2 else 0xFF)
            elif clock_register(m) >= 0:
                write_clock(m, clock_register(m), value, time)
        else:
            s.wram[address & 0x1FFF] = value


cdef inline void store_slow(
    Machine* m, unsigned int address, uint8_t value, int64_t stamp
) noexcept nogil:
    # Write a byte to a page that is not plain for writes, and count it where a hook watches it.
    if m.watched != NULL and address - 0xC000 < 0x2000 and m.dma_end == 0:
        m.s.wram[address & 0x1FFF] = value
    else:
        store_anywhere(m, address, value, stamp)
    if m.watched != NULL and m.watched[address >> 3] >> (address & 7) & 1:
        see_write(m, address, stamp)


cdef inline void store_high(
    Machine* m, unsigned int low, uint8_t value, int64_t stamp
) noexcept nogil:
    # Write the byte at $FF00 + low: that which need not be looked at by anybody, without a detour.
    if low == R_IE or m.watched != NULL:
        store_slow(m, 0xFF00 | low, value, stamp)
    elif low >= 0x80:
        m.s.high[low] = value
    else:
        write_register(m, low, value, m.now + (stamp >> STAMP))


cdef inline void store(
    Machine* m, unsigned int address, uint8_t value, int64_t stamp
) noexcept nogil:
    # Write a byte as the processor does at a time.
    cdef uint8_t* page = m.writes[address >> 12]
    if page != NULL:
        page[address & 0xFFF] = value
    else:
        store_slow(m, address, value, stamp)


cdef inline void push(Machine* m, unsigned int sp, uint8_t value, int64_t stamp) noexcept nogil:
    # Write the first byte of a word to the stack, behind a machine cycle in which SP was counted.
    if (sp + 1) >> 8 == OAM_PAGE:
        spoil_by_write(m, m.now + (stamp >> STAMP) - M_CYCLE)
    store(m, sp, value, stamp)
