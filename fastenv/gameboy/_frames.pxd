# Frames of one machine, event by event (docs/gameboy.md, 13).
from libc.stdint cimport uint8_t

from fastenv.gameboy._bus cimport (
    clear_div, push, run_events, run_timer, schedule, store,
)
from fastenv.gameboy._hooks cimport see_instruction
from fastenv.gameboy._loops cimport count_off
from fastenv.gameboy._machine cimport (
    CPU_COUNT, CPU_NOTHING, CPU_STOP, CYCLE, Machine, load_machine, save_machine,
)
from fastenv.gameboy._oam_bug cimport spoil_by_write
from fastenv.gameboy._opcodes cimport execute
from fastenv.gameboy._ppu cimport blank
from fastenv.gameboy._sound cimport run_sound
from fastenv.gameboy._state cimport FRAME, M_CYCLE, R_IE, R_IF, R_LCDC, State
from fastenv.gameboy._times cimport rarely
from fastenv.gameboy._transfers cimport catch_up, run_clock, run_serial


cdef inline unsigned int pending(const Machine* m) noexcept nogil:
    return m.s.high[R_IF] & m.s.high[R_IE] & 0x1F


cdef inline void catch_events(Machine* m) noexcept nogil:
    # Do all that was due by now; a write may have brought an event forward.
    if m.stop == 0:
        if m.asks == CPU_COUNT:
            spoil_by_write(m, m.now - M_CYCLE)
            m.asks = CPU_NOTHING
        schedule(m)
    run_events(m, m.now)


cdef inline void serve(Machine* m) noexcept nogil:
    # The handler is that of the lowest interrupt pending once PC is half saved (docs/gameboy.md, 6).
    cdef State* s = m.s
    cdef unsigned int requests
    cdef int bit = 0
    s.ime = False
    schedule(m)
    s.sp -= 1
    push(m, s.sp, s.pc >> 8, 2 * CYCLE)
    m.now += 12
    catch_events(m)
    requests = pending(m)
    s.sp -= 1
    store(m, s.sp, s.pc & 0xFF, 0)
    m.now += 8
    catch_events(m)
    s.pc = 0
    if requests:
        while not requests >> bit & 1:
            bit += 1
        s.high[R_IF] &= ~(1 << bit)
        s.pc = 0x40 + 8 * bit


cdef inline void finish(Machine* m) noexcept nogil:
    # Do what the last instruction asked for at its end (docs/gameboy.md, 6).
    cdef State* s = m.s
    if m.asks == CPU_STOP:
        clear_div(m, m.now)
        s.stopped = True
    elif s.ime or not pending(m):
        s.halted = True
    elif s.ime_delay:
        s.pc -= 1
    else:
        s.halt_bug = True
    m.asks = CPU_NOTHING


cdef inline void run_frame(Machine* m) noexcept nogil:
    # Run a loaded machine to the end of the frame, and of the instruction in which it ends.
    cdef State* s = m.s
    cdef unsigned int requests
    m.frame_done = False
    while not m.frame_done:
        requests = pending(m)
        if s.locked or s.stopped or (s.halted and not requests):
            schedule(m)
            m.now = m.limit
            run_events(m, m.now)
            continue
        if s.halted and m.late_at == m.now and not requests & ~m.late:
            m.now += M_CYCLE
            schedule(m)
            run_events(m, m.now)
            continue
        s.halted = False
        if requests and s.ime and not s.ime_delay:
            serve(m)
            continue
        schedule(m)
        if s.ime_delay or s.halt_bug:
            m.stop = 1  # one instruction
        if rarely(m.program != m.rom):
            see_instruction(m, s.pc)
        execute(m)
        catch_events(m)
        if m.counted:
            count_off(m)
        if m.asks != CPU_NOTHING:
            finish(m)
        if s.ime_delay:
            s.ime_delay -= 1
            s.ime |= s.ime_delay == 0


cdef inline void settle_machine(Machine* m) noexcept nogil:
    # Bring all parts up to where the processor is.
    run_timer(m, m.now)
    run_serial(m, m.now)
    run_sound(m, m.now)
    catch_up(m, m.now)
    run_clock(m, m.now)


cdef inline void run_frames(Machine* m, int frames, uint8_t* picture) noexcept nogil:
    # Run frames, of which the last is drawn, unless picture is NULL.
    cdef int i
    load_machine(m)
    for i in range(frames):
        m.picture = picture if i == frames - 1 else NULL
        if m.c.fixed_frames:
            m.frame_end = (m.now // FRAME + 1) * FRAME
        if m.c.fixed_frames or m.s.first_frame or not m.s.high[R_LCDC] & 0x80:
            blank(m)
        run_frame(m)
    settle_machine(m)
    save_machine(m)
