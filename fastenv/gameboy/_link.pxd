# Two machines on a cable (docs/gameboy.md, 22); the readable twin is reference/link.py.
from libc.stdint cimport int64_t, uint8_t

from fastenv.gameboy._frames cimport run_frame, settle_machine
from fastenv.gameboy._machine cimport NEVER, Machine, load_machine, save_machine
from fastenv.gameboy._ppu cimport blank
from fastenv.gameboy._state cimport FRAME, R_SC
from fastenv.gameboy._transfers cimport CLOCKING, LISTENING, take_edges

cdef enum:
    # How far a side that listens may run ahead while no clock runs: a transfer that begins now lets
    # its first bit go after 132 T at the earliest, and an instruction lasts 24 T.
    AHEAD = 100


cdef inline int64_t bound_of(const Machine* m, int64_t end) noexcept nogil:
    # How far a machine may run now; not beyond where it is: not at all.
    cdef const Machine* other = m.other
    if m.edges:
        return m.edge_at[m.edges - 1]
    if m.owed and not m.serial_end:
        return m.now  # what came in is not known
    if m.s.high[R_SC] != LISTENING or other.now >= end:
        return end
    if other.s.high[R_SC] == CLOCKING:
        return m.now  # its bits come first
    return min(end, other.now + AHEAD)


cdef inline void run_until(Machine* m, int64_t bound) noexcept nogil:
    # Run to the border of instructions at or after a time, or to where the other side has to know.
    m.frame_end = bound
    run_frame(m)
    if m.listens_from == NEVER:
        m.listens_from = m.now
    if m.other.edges:
        take_edges(m.other, m.other.now)


cdef inline void catch_up_with(Machine* m) noexcept nogil:
    # Let the other side run until all bits are known that have left this one, which waits amid an
    # instruction. If both do, none of them listens, and the answers are 1s.
    cdef Machine* other = m.other
    if other.stopped_amid:
        take_edges(other, NEVER)
        return
    m.stopped_amid = True
    while m.owed:
        if other.edge_at[other.edges - 1] <= other.now:
            take_edges(other, other.now)
        else:
            run_until(other, other.edge_at[other.edges - 1])
    m.stopped_amid = False


cdef inline void run_linked_frame(Machine* one, Machine* two) noexcept nogil:
    # Run two loaded machines to the end of the frame.
    cdef int64_t end = (one.now // FRAME + 1) * FRAME
    cdef int64_t bound
    one.listens_from = two.listens_from = 0
    blank(one)
    blank(two)
    while True:
        bound = bound_of(one, end)
        if bound > one.now:
            run_until(one, bound)
        else:
            bound = bound_of(two, end)
            if bound <= two.now:
                return
            run_until(two, bound)


cdef inline void connect(Machine* one, Machine* two) noexcept nogil:
    one.other, two.other = two, one
    one.catch_other = catch_up_with
    two.catch_other = catch_up_with


cdef inline void run_linked_frames(
    Machine* one, Machine* two, int frames, uint8_t* first, uint8_t* second
) noexcept nogil:
    # Run frames, of which the last is drawn, unless the pictures are NULL.
    cdef int i
    load_machine(one)
    load_machine(two)
    for i in range(frames):
        one.picture = first if i == frames - 1 else NULL
        two.picture = second if i == frames - 1 else NULL
        run_linked_frame(one, two)
    settle_machine(one)
    settle_machine(two)
    save_machine(one)
    save_machine(two)
