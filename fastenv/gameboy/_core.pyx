"""The Game Boy in C: frames of one machine, event by event (docs/gameboy.md, 13).

``_opcodes.pxd`` is the processor, ``_bus.pxd`` what it sees, ``_ppu.pxd`` the display,
``_machine.pxd`` their state. The row is the machine between two frames.
"""
from libc.stdint cimport uint8_t

from fastenv.gameboy._bus cimport clear_div, press, run_events, run_timer, schedule, store
from fastenv.gameboy._machine cimport (
    CPU_NOTHING, CPU_STOP, CYCLE, Machine, load_machine, save_machine,
)
from fastenv.gameboy._opcodes cimport execute
from fastenv.gameboy._ppu cimport blank, run_ppu
from fastenv.gameboy._state cimport HEIGHT, R_IE, R_IF, R_LCDC, WIDTH, Shared, State


cdef inline unsigned int pending(const Machine* m) noexcept nogil:
    return m.s.high[R_IF] & m.s.high[R_IE] & 0x1F


cdef void catch_events(Machine* m) noexcept nogil:
    # Do all that was due by now; a write may have brought an event forward.
    if m.stop == 0:
        schedule(m)
    run_events(m, m.now)


cdef void serve(Machine* m) noexcept nogil:
    # The handler is that of the lowest interrupt pending once PC is half saved (docs/gameboy.md, 6).
    cdef State* s = m.s
    cdef unsigned int requests
    cdef int bit = 0
    s.ime = False
    schedule(m)
    s.sp -= 1
    store(m, s.sp, s.pc >> 8, 2 * CYCLE)
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


cdef void finish(Machine* m) noexcept nogil:
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


cdef void run_frame(Machine* m) noexcept nogil:
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
        s.halted = False
        if requests and s.ime and not s.ime_delay:
            serve(m)
            continue
        schedule(m)
        if s.ime_delay or s.halt_bug:
            m.stop = 1  # one instruction
        execute(m)
        catch_events(m)
        if m.asks != CPU_NOTHING:
            finish(m)
        if s.ime_delay:
            s.ime_delay -= 1
            s.ime |= s.ime_delay == 0


cdef void run_frames(Machine* m, int frames, uint8_t* picture) noexcept nogil:
    # Run frames, of which the last is drawn, unless picture is NULL.
    cdef int i
    load_machine(m)
    for i in range(frames):
        m.picture = picture if i == frames - 1 else NULL
        if m.picture != NULL and (m.s.first_frame or not m.s.high[R_LCDC] & 0x80):
            blank(m)
        run_frame(m)
    run_timer(m, m.now)
    run_ppu(m, m.now)
    save_machine(m)


cdef int set_machine(
    Machine* m, uint8_t[::1] row, const uint8_t[::1] shared, bint skips, int phase
) except -1:
    m.s, m.c = <State*>&row[0], <const Shared*>&shared[0]
    m.cart = &row[0] + sizeof(State)
    m.rom = &shared[0] + sizeof(Shared)
    m.skips, m.phase = skips, phase
    if row.shape[0] != <Py_ssize_t>sizeof(State) + (m.c.ram_banks << 13):
        raise ValueError(f"row has {row.shape[0]} bytes, the cartridge's machines have others")
    if shared.shape[0] < <Py_ssize_t>sizeof(Shared) + (m.c.rom_banks << 14):
        raise ValueError(f"shared has {shared.shape[0]} bytes, too few for the ROM")
    return 0


def advance(
    uint8_t[::1] row not None, const uint8_t[::1] shared not None, int frames,
    uint8_t[::1] picture=None, bint skip_idle=True, int bus_phase=0,
):
    """Run frames of the machine of a row, which was validated.

    Parameters
    ----------
    row : uint8 array
        Of ``state_dtype``; changed.
    shared : uint8 array
        A ``shared_record``.
    frames : int
    picture : uint8 array of 160 * 144, optional
        Where the last frame is drawn, in shades from 0 (white) to 3.
    skip_idle : bool
        Whether iterations of idle loops are left out; nobody can tell.
    bus_phase : int
        -4 makes accesses of registers of timer and display a machine cycle early, like PyBoy's.
    """
    cdef Machine m
    if picture is not None and picture.shape[0] != WIDTH * HEIGHT:
        raise ValueError(f"picture has {picture.shape[0]} bytes, must have {WIDTH * HEIGHT}")
    set_machine(&m, row, shared, skip_idle, bus_phase)
    cdef uint8_t* target = NULL if picture is None else &picture[0]
    with nogil:
        run_frames(&m, frames, target)


def press_keys(uint8_t[::1] row not None, uint8_t keys):
    """Set which keys are pressed, bits of ``tables.Key``, on the machine of a row."""
    press(<State*>&row[0], keys)
