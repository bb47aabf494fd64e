# Transfers, with the clock of the cartridge that memory may show: the serial port and OAM DMA
# (docs/gameboy.md, 9 to 11).
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from fastenv.gameboy._machine cimport (
    Machine, NEVER, dma_conflicts, map_ram, map_rom, open_ram, request,
)
from fastenv.gameboy._ppu cimport run_ppu
from fastenv.gameboy._state cimport (
    CLOCK, DMA_BLOCKS, DMA_BYTES, DMA_TIME, FIRST_CLOCK_BANK, INT_SERIAL, MBC2, M_CYCLE, R_DMA,
    R_SB, R_SC, SERIAL_BIT, SERIAL_BITS, SERIAL_KEPT, SERIAL_PHASE, SERIAL_TIME, State,
)

cdef enum:
    # SC during a transfer, with our clock and with that of the other side.
    CLOCKING = 0x81
    LISTENING = 0x80


cdef inline int bits_left(const Machine* m, int64_t time) noexcept nogil:
    return <int>((m.serial_end - time + SERIAL_BIT - 1) // SERIAL_BIT) if m.serial_end > time else 0


cdef inline int64_t next_serial_event(const Machine* m) noexcept nogil:
    # When a transfer ends, with our clock or with the bits that have left the other side.
    cdef int last
    if m.serial_end:
        return m.serial_end
    last = m.taken + SERIAL_BITS - m.s.serial_bits - 1
    if m.s.high[R_SC] == LISTENING and last < m.edges:
        return m.edge_at[last]
    return NEVER


cdef inline void hear(Machine* m, unsigned int bit) noexcept nogil:
    # Put a bit that came from the other side into SB, the first of those that are owed.
    m.owed -= 1
    if m.owed < m.unheard:
        m.s.high[R_SB] &= ~((bit ^ 1) << m.owed)
        m.unheard = m.owed


cdef inline void take_edges(Machine* m, int64_t time) noexcept nogil:
    # Take the bits that have left the other side by a time, and answer with ours, or with 1s.
    cdef State* s = m.s
    cdef unsigned int answer
    while m.taken < m.edges and m.edge_at[m.taken] <= time:
        answer = 1
        if s.high[R_SC] == LISTENING and m.listens_from < m.edge_at[m.taken]:
            answer = s.high[R_SB] >> 7
            s.high[R_SB] = s.high[R_SB] << 1 | m.edge_bit[m.taken]
            s.serial_bits += 1
            if s.serial_bits == SERIAL_BITS:
                request(m, INT_SERIAL, m.edge_at[m.taken], True)
                s.serial_bits, s.high[R_SC] = 0, 0
        m.taken += 1
        hear(m.other, answer)
    if m.taken == m.edges:
        m.taken = m.edges = 0


cdef inline void send(Machine* m, int bits, int64_t time) noexcept nogil:
    # Send the highest bits of SB to the other side, the last of them at a time.
    cdef Machine* other = m.other
    cdef int k
    for k in range(bits):
        other.edge_at[other.edges] = time - SERIAL_BIT * (bits - 1 - k)
        other.edge_bit[other.edges] = m.s.high[R_SB] >> (7 - k) & 1
        other.edges += 1
    m.owed += bits
    m.unheard += bits


cdef inline void shift_out(Machine* m, int bits, int64_t time, bint late) noexcept nogil:
    # Shift bits out with our clock, the last of them at a time; 1s come in for now.
    if bits == 0:
        return
    if m.other != NULL:
        send(m, bits, time)
    m.s.high[R_SB] = m.s.high[R_SB] << bits | ((1 << bits) - 1)
    if m.serial_end <= time:
        request(m, INT_SERIAL, time, late)
        m.serial_end = 0
        m.s.high[R_SC] &= 0x7F
        if m.other != NULL:
            m.frame_done = True  # the other side has its turn


cdef inline void run_serial(Machine* m, int64_t time) noexcept nogil:
    # Shift SB up to a time.
    cdef int before, left
    if m.edges:
        take_edges(m, time)
    if not m.serial_end:
        return
    before, left = bits_left(m, m.serial_at), bits_left(m, time)
    m.serial_at = time
    shift_out(m, before - left, m.serial_end - SERIAL_BIT * left, True)


cdef inline void hear_all(Machine* m, int64_t time) noexcept nogil:
    # Bring SB up to a time, with all bits that have come.
    run_serial(m, time)
    if m.owed:
        m.catch_other(m)


cdef inline void clear_serial(Machine* m, int64_t time) noexcept nogil:
    # The timer's counter is cleared, whose bit 7 clocks the port: if it is set, it falls.
    cdef int before, phase = (time - m.div_start) & (SERIAL_PHASE - 1)
    run_serial(m, time)
    if not m.serial_end:
        return
    before = bits_left(m, time)
    m.serial_end += phase - (SERIAL_PHASE if phase & (SERIAL_PHASE >> 1) else 0)
    shift_out(m, before - bits_left(m, time), time, False)


cdef inline void start_serial(Machine* m, uint8_t value, int64_t time) noexcept nogil:
    cdef State* s = m.s
    hear_all(m, time)
    s.high[R_SC] = value & 0x81
    m.serial_end, s.serial_bits = 0, 0
    if m.other != NULL:
        m.listens_from = NEVER
        m.frame_done = True
    if s.high[R_SC] == CLOCKING:
        m.serial_at = time
        m.serial_end = time + SERIAL_TIME - ((time - m.div_start) & (SERIAL_PHASE - 1))
        if s.serial_count < SERIAL_KEPT:
            s.serial[s.serial_count] = s.high[R_SB]
        s.serial_count += 1


# -- the clock of an MBC3 (docs/gameboy.md, 11) ----------------------------------------------------


cdef inline void count_second(State* s) noexcept nogil:
    # A register that holds too much goes on to its end, and carries nothing.
    cdef uint8_t* clock = s.clock
    clock[0] = (clock[0] + 1) & 0x3F
    if clock[0] != 60:
        return
    clock[0], clock[1] = 0, (clock[1] + 1) & 0x3F
    if clock[1] != 60:
        return
    clock[1], clock[2] = 0, (clock[2] + 1) & 0x1F
    if clock[2] != 24:
        return
    clock[2] = 0
    clock[3] += 1
    if clock[3] == 0:
        clock[4] = (clock[4] | (clock[4] & 1) << 7) ^ 1


cdef inline void run_clock(Machine* m, int64_t time) noexcept nogil:
    # Count up to a time; bit 6 of the last register stops it.
    cdef State* s = m.s
    cdef int64_t part = s.clock_part + time - m.clock_at
    m.clock_at = time
    if not m.c.has_clock or s.clock[4] & 0x40:
        return
    while part >= CLOCK:
        part -= CLOCK
        count_second(s)
    s.clock_part = <int>part


cdef inline int clock_register(const Machine* m) noexcept nogil:
    # The register that is seen at $A000; -1: none.
    cdef int which = m.s.ram_bank - FIRST_CLOCK_BANK
    return which if m.c.has_clock and m.s.ram_enable and 0 <= which < 5 else -1


cdef inline void write_clock(Machine* m, int which, uint8_t value, int64_t time) noexcept nogil:
    cdef State* s = m.s
    run_clock(m, time)
    s.clock[which] = value & (
        0x1F if which == 2 else 0xFF if which == 3 else 0xC1 if which == 4 else 0x3F
    )
    if which == 0:
        s.clock_part = 0


cdef inline void latch_clock(Machine* m, int64_t time) noexcept nogil:
    # Copy the registers.
    run_clock(m, time)
    memcpy(m.s.clock_latched, m.s.clock, 5)


cdef inline uint8_t plain_byte(const Machine* m, unsigned int address) noexcept nogil:
    # A byte below $FE00, whatever the display is doing.
    cdef const uint8_t* ram
    if address < 0x8000:
        return m.roms[address >> 14][address & 0x3FFF]
    if address < 0xA000:
        return m.s.vram[address & 0x1FFF]
    if address < 0xC000:
        ram = open_ram(m, address)
        if ram != NULL:
            return ram[0] | (0xF0 if m.c.mbc == MBC2 else 0)
        return m.s.clock_latched[clock_register(m)] if clock_register(m) >= 0 else 0xFF
    return m.s.wram[address & 0x1FFF]


cdef inline const uint8_t* dma_source(const Machine* m) noexcept nogil:
    # Where a transfer copies from; NULL: from RAM of the cartridge, which may not be plain.
    cdef unsigned int source = m.s.high[R_DMA] << 8
    if source < 0x8000:
        return m.roms[source >> 14] + (source & 0x3FFF)
    if source < 0xA000:
        return m.s.vram + (source & 0x1FFF)
    return m.s.wram + (source & 0x1FFF) if source >= 0xC000 else NULL


cdef inline void copy_bytes(Machine* m, int start, int end) noexcept nogil:
    # Copy bytes to OAM, up to the one before the end.
    cdef const uint8_t* source = dma_source(m)
    cdef int i
    if source != NULL:
        memcpy(m.s.oam + start, source + start, end - start)
        return
    for i in range(start, end):
        m.s.oam[i] = plain_byte(m, (m.s.high[R_DMA] << 8) + i)


cdef inline void begin_transfer(Machine* m, int64_t time) noexcept nogil:
    # Copy bytes of the transfer before up to a time at which this one begins, and its first.
    while m.dma_byte >= 0 and m.dma_at <= time and m.dma_at < m.dma_end - DMA_BLOCKS:
        m.dma_byte += 1
        if m.dma_byte == DMA_BYTES:
            m.dma_byte = -1
        else:
            copy_bytes(m, m.dma_byte, m.dma_byte + 1)
        m.dma_at += M_CYCLE
    if m.dma_end - DMA_BLOCKS <= time:
        m.dma_at = m.dma_end - DMA_BLOCKS + M_CYCLE
        m.dma_byte = 0
        copy_bytes(m, 0, 1)


cdef inline void run_dma(Machine* m, int64_t time) noexcept nogil:
    # Copy bytes up to a time. One that is under way goes on until another one begins.
    cdef int last
    if m.dma_end == 0 or m.dma_at > time:
        return
    if m.dma_at <= m.dma_end - DMA_BLOCKS:
        begin_transfer(m, time)
    if m.dma_at > time or m.dma_at <= m.dma_end - DMA_BLOCKS:
        return
    last = m.dma_byte + 1 + <int>((time - m.dma_at) // M_CYCLE)
    if last >= DMA_BYTES:
        copy_bytes(m, m.dma_byte + 1, DMA_BYTES)
        m.dma_end, m.dma_byte = 0, -1
        map_rom(m)
        map_ram(m)
        return
    copy_bytes(m, m.dma_byte + 1, last + 1)
    m.dma_at += (last - m.dma_byte) * M_CYCLE
    m.dma_byte = last


cdef inline void run_display(Machine* m, int64_t time) noexcept nogil:
    # Let the display take its steps, and copy what it draws from before each.
    while m.dma_end and m.step_at <= time:
        run_dma(m, m.step_at - M_CYCLE)
        run_ppu(m, m.step_at)
    run_dma(m, time)
    run_ppu(m, time)


cdef inline void catch_up(Machine* m, int64_t time) noexcept nogil:
    # Bring the display up to a time, and what it draws from. Mostly it is: programs look at it more
    # often than it takes a step.
    if m.step_at <= time or m.dma_end:
        run_display(m, time)


cdef inline void start_dma(Machine* m, uint8_t value, int64_t time) noexcept nogil:
    catch_up(m, time)
    m.dma_at = time + M_CYCLE
    m.dma_end = time + DMA_TIME
    m.s.high[R_DMA] = value
    map_rom(m)
    map_ram(m)
    m.stop = 0  # the program may be where it is closed
