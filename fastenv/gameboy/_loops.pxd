# Loops that wait (docs/gameboy.md, 13): iterations of which it is known what they do are left out.
# "now" is a stamp (_machine.pxd).
from libc.stdint cimport int64_t, uint8_t, uint64_t

from fastenv.gameboy._bus cimport read_register
from fastenv.gameboy._hooks cimport has_hooks
from fastenv.gameboy._machine cimport (
    CYCLE, DRAW, NEVER, NOWHERE, STAMP, STEP_LY, STEP_LY_0, STEP_VBLANK_LINE, VBLANK, Machine, code_page,
    code_without_traps, is_on, line_start, next_frame,
)
from fastenv.gameboy._oam_bug cimport OAM_PAGE
from fastenv.gameboy._ppu cimport next_ppu_event
from fastenv.gameboy._state cimport (
    LINE, M_CYCLE, NEXT_LY, R_DIV, R_IF, R_LCDC, R_LY, R_P1, R_SC, R_STAT, R_WX, State,
)

cdef enum:
    WORTH = 4  # iterations for which it is worth while to leave them out


cdef inline bint may_wait(unsigned int op) noexcept nogil:
    # Whether a loop that begins with an opcode may be one of those below that are known at once:
    # it reads a register, counts down, or does nothing yet.
    if op == 0xF0 or op == 0xFA or op == 0x18 or op == 0:
        return True
    return op < 0x40 and (op & 0x0F == 0x0B or (op & 7 == 5 and op != 0x35))


# -- idle loops ------------------------------------------------------------------------------------


cdef inline bint reads_memory(const Machine* m, unsigned int address) noexcept nogil:
    # Whether a byte can only change when it is written.
    return m.reads[address >> 12] != NULL or 0xFF80 <= address < 0xFFFF


cdef inline int idle_length(
    const Machine* m, unsigned int start, unsigned int end, unsigned int hl
) noexcept nogil:
    # The number of instructions from start to the jump back before end, if they do nothing but look
    # at memory: none jumps, writes, changes H, L or SP, or reads what changes by itself. Else 0.
    cdef unsigned int op, y, z, length
    cdef int count = 1
    cdef int page = code_page(start)
    cdef const uint8_t* code = code_without_traps(m, page)
    if m.lasts[page] == 0 or start >= end or m.codes[code_page(end - 1)] != m.codes[page]:
        return 0
    while start + 2 < end:
        op = code[start]
        y, z = op >> 3 & 7, op & 7
        length = 1
        if op >= 0x40 and op < 0x80:
            if y >= 4 and y <= 6:
                return 0
            if z == 6 and not reads_memory(m, hl):
                return 0
        elif op >= 0x80 and op < 0xC0:
            if z == 6 and not reads_memory(m, hl):
                return 0
        elif op < 0x40 and z >= 4:
            if z != 7 and y >= 4 and y <= 6:
                return 0
            length = 2 if z == 6 else 1
        elif op >= 0xC0 and z == 6:
            length = 2
        elif op == 0xF0 and code[start + 1] >= 0x80 and code[start + 1] != 0xFF:
            length = 2
        elif op == 0xFA and reads_memory(m, code[start + 1] | code[start + 2] << 8):
            length = 3
        elif op == 0xCB and 0x40 <= code[start + 1] < 0x80:
            if code[start + 1] & 7 == 6 and not reads_memory(m, hl):
                return 0
            length = 2
        elif op != 0:
            return 0
        start += length
        count += 1
    return count if start + 2 == end else 0


# -- loops that poll -------------------------------------------------------------------------------


cdef inline unsigned int packed(uint64_t key, unsigned int register) noexcept nogil:
    # One of B, C, D, E, H, L (6: flags) and A, which `spins` has in one number.
    if register < 3:
        return key >> (40 + 8 * register) & 0xFF
    if register == 7:
        return key >> 32 & 0xFF
    return key >> (24 if register == 6 else 8 * (register - 3)) & 0xFF


cdef inline int64_t judging_time(const uint8_t* at, const uint8_t* jump) noexcept nogil:
    # The stamp of what follows a read in a loop, up to the jump, if it makes A and flags of nothing
    # but the value that was read and other registers; else -1.
    cdef unsigned int op
    cdef int64_t found = 0
    while at < jump:
        op = at[0]
        if op >= 0x80 and op != 0xCB and (op < 0xC0 or op & 7 == 6):
            if op >> 3 & 7 in (1, 3) or (op < 0xC0 and op & 7 == 6):
                return -1
            found += (2 if op >= 0xC0 else 1) * CYCLE + 1
            at += 2 if op >= 0xC0 else 1
        elif op == 0xCB and at[1] >> 6 == 1 and at[1] & 7 == 7:
            found += 2 * CYCLE + 1
            at += 2
        elif op in (0x00, 0x07, 0x0F, 0x2F):
            found += CYCLE + 1
            at += 1
        else:
            return -1
    return found if at == jump else -1


cdef inline bint goes_on(
    const uint8_t* at, const uint8_t* jump, uint64_t key, unsigned int a
) noexcept nogil:
    # Whether a loop that polls jumps back if it reads a value.
    cdef unsigned int op, y, v
    cdef bint zero = key >> 31 & 1, carry = key >> 28 & 1
    while at < jump:
        op = at[0]
        y = op >> 3 & 7
        at += 1
        if op >= 0x80 and op != 0xCB:
            v = packed(key, op & 7)
            if op >= 0xC0:
                v = at[0]
                at += 1
            elif op & 7 == 7:
                v = a
            carry = False
            if y == 0:
                a += v
                carry, a = a >> 8, a & 0xFF
            elif y == 4:
                a &= v
            elif y == 5:
                a ^= v
            elif y == 6:
                a |= v
            else:
                carry = a < v
            zero = a == v if y in (2, 7) else a == 0
            if y == 2:
                a = (a - v) & 0xFF
        elif op == 0xCB:
            zero = not a >> (at[0] >> 3 & 7) & 1
            at += 1
        elif op == 0x2F:
            a ^= 0xFF
        elif op == 0x07:
            carry, a, zero = a >> 7, (a << 1 | a >> 7) & 0xFF, False
        elif op == 0x0F:
            carry, a, zero = a & 1, (a >> 1 | a << 7) & 0xFF, False
    y = jump[0] >> 3 & 3
    return (carry if y & 2 else zero) == <bint>(y & 1)


cdef inline int64_t ly_changes(const Machine* m, int64_t time) noexcept nogil:
    # When LY will next change, or earlier.
    if not is_on(m) or m.step > STEP_VBLANK_LINE:
        return m.step_at
    if time < line_start(m) + NEXT_LY:
        return line_start(m) + NEXT_LY
    return m.step_at


cdef inline int64_t stat_changes(const Machine* m, int64_t time) noexcept nogil:
    # When STAT will next change, or earlier.
    cdef int64_t found = m.step_at, other = NEVER
    if m.mode == DRAW:
        other = m.open_at
    elif m.step == STEP_LY_0:
        other = line_start(m) + M_CYCLE
    elif m.step == STEP_VBLANK_LINE:
        other = line_start(m) + NEXT_LY
    if time < other < found:
        found = other
    if m.mode == VBLANK:
        other = next_frame(m) - M_CYCLE
    return other if time < other < found else found


cdef inline int64_t register_changes(const Machine* m, unsigned int low, int64_t time) noexcept nogil:
    # When a register that was read at a time may next show something else without an event; 0: at
    # any time.
    if low >= 0x80 or low == R_P1 or (R_LCDC <= low <= R_WX and low != R_STAT and low != R_LY):
        return NEVER
    if low == R_SC and m.other == NULL:
        return NEVER
    if low == R_DIV:
        return m.div_start + ((((time - m.div_start) >> 8) + 1) << 8)
    if low == R_IF:
        return next_ppu_event(m, 0xFF)
    if low == R_LY:
        return ly_changes(m, time)
    return stat_changes(m, time) if low == R_STAT else 0


cdef struct Poll:
    # A loop that reads one byte, and goes on or not because of it.
    const uint8_t* judges  # where it looks at what it has read
    const uint8_t* jump
    unsigned int low  # the register that it reads; $80: memory
    int64_t each  # the stamp of an iteration
    int64_t reads  # T from its beginning to the read


cdef inline bint find_poll(
    const Machine* m, Poll* poll, unsigned int start, unsigned int end, bint is_long
) noexcept nogil:
    # Find out whether a loop is one that polls; it is plain memory.
    cdef const uint8_t* code = code_without_traps(m, code_page(start)) + start
    cdef unsigned int address
    cdef int64_t judging
    poll.jump = code + (end - start) - (3 if is_long else 2)
    if code[0] == 0xF0:
        poll.low, poll.judges, poll.reads = code[1], code + 2, 2 * M_CYCLE
    else:
        address = code[1] | code[2] << 8
        poll.low, poll.judges, poll.reads = address & 0xFF, code + 3, 3 * M_CYCLE
        if address < 0xFF00:
            if m.reads[address >> 12] == NULL:
                return False
            poll.low = 0x80
    if poll.judges > poll.jump or (not is_long and poll.jump[0] == 0x18):
        return False
    judging = judging_time(poll.judges, poll.jump)
    poll.each = ((poll.reads + M_CYCLE) << STAMP) + 1 + judging + (4 if is_long else 3) * CYCLE + 1
    return judging >= 0


cdef inline int64_t steady_until(
    Machine* m, const Poll* poll, uint64_t key, int64_t time, int64_t limit, bint* varied
) noexcept nogil:
    # Until when a loop that has read a register at a time will go on, or less; nothing beyond
    # `limit` counts. The display may run ahead of the processor, which looks at nothing meanwhile.
    cdef int64_t each = poll.each >> STAMP, found = register_changes(m, poll.low, time)
    cdef unsigned int value
    cdef bint visible
    if poll.low != R_LY and poll.low != R_STAT:
        return found
    while found + 2 * each < limit:
        visible = poll.low == R_LY and m.step <= STEP_LY and is_on(m)
        if visible:
            value = <unsigned int>((found - m.frame_start + M_CYCLE) // LINE)
        else:
            value = read_register(m, poll.low, found) | m.c.read_ones[poll.low]
        if not goes_on(poll.judges, poll.jump, key, value):
            break
        varied[0] = True
        found = found + LINE if visible else register_changes(m, poll.low, found)
    return found


cdef inline int64_t poll(
    Machine* m, unsigned int start, unsigned int end, int64_t now, uint64_t key, bint is_long
) noexcept nogil:
    # Return the stamp of iterations that may be left out of a loop that polls; -1: it is none.
    # Where the value has changed, a whole one is left before the next event, for A and flags.
    cdef Poll p
    cdef int64_t each, here = m.now + (now >> STAMP), limit = m.now + (m.stop >> STAMP), until, count
    cdef bint varied = False
    if m.phase or not find_poll(m, &p, start, end, is_long):
        return -1
    each = p.each >> STAMP
    if here - each + p.reads < m.now:
        return 0  # events have come between the read and now
    until = steady_until(m, &p, key, here - each + p.reads, limit, &varied)
    count = (limit - here - 1) // each - varied
    if until < limit:
        count = min(count, (until - here - p.reads + each - 1) // each)
    return count * p.each if count > 0 else 0


# -- loops that count ------------------------------------------------------------------------------


cdef inline int64_t count_down(
    Machine* m, unsigned int start, unsigned int end, int64_t now, uint64_t key, bint is_long
) noexcept nogil:
    # Return the stamp of iterations that may be left out of a loop that only counts a register or a
    # pair down to 0, which `m.counter` and `m.counted` then say; -1: it is none. A whole one is left
    # before the next event, for A and flags.
    cdef const uint8_t* at = code_without_traps(m, code_page(start)) + start
    cdef const uint8_t* jump = at + (end - start) - (3 if is_long else 2)
    cdef unsigned int op, high, left
    cdef int64_t each = (4 if is_long else 3) * CYCLE + 1, count
    while at < jump and (at[0] == 0 or (at[0] == 0x18 and at[1] == 0)):
        each += (3 if at[0] else 1) * CYCLE + 1
        at += 2 if at[0] else 1
    op = at[0]
    if jump[0] != (0xC2 if is_long else 0x20):
        return -1
    if at + 1 == jump and op < 0x40 and op & 7 == 5 and op != 0x35:
        m.counter = op >> 3
        left = packed(key, m.counter)
        each += CYCLE + 1
    elif at + 3 == jump and op < 0x30 and op & 0x0F == 0x0B:
        high = op >> 4 << 1
        if not (at[1] == 0x78 + high and at[2] == 0xB1 + high) and not (
            at[1] == 0x79 + high and at[2] == 0xB0 + high
        ):
            return -1
        m.counter = 8 + (high >> 1)
        left = packed(key, high) << 8 | packed(key, high + 1)
        each += 4 * CYCLE + 3
        if left >= OAM_PAGE << 8:
            return 0
    else:
        return -1
    count = min(<int64_t>left - 1, (m.stop - now - 1) // each - 1)
    if count < WORTH:
        return 0
    m.counted, m.stop = <int>count, 0
    return count * each


cdef inline void count_off(Machine* m) noexcept nogil:
    # Count what was left out of a loop that counts.
    cdef State* s = m.s
    cdef uint8_t* of_each = &s.a
    cdef uint8_t* high = &s.b
    cdef uint8_t* low = &s.c
    cdef unsigned int left, which = m.counter
    if which in (2, 3, 9):
        high, low = &s.d, &s.e
    elif which in (4, 5, 10):
        high, low = &s.h, &s.l
    if which < 7:
        of_each = low if which & 1 else high
    if which < 8:
        of_each[0] -= m.counted
    else:
        left = (high[0] << 8 | low[0]) - m.counted
        high[0], low[0] = left >> 8, left & 0xFF
    m.counted = 0


# -- all of them -----------------------------------------------------------------------------------


cdef inline int64_t spins(
    Machine* m, unsigned int start, unsigned int end, int64_t now, unsigned int again, uint64_t key,
    bint is_long
) noexcept nogil:
    # A jump back to `start` ends before `end`. Return the stamp of those iterations that may be left
    # out. An idle loop is known by its second iteration: if the last one went straight from start
    # to end, and changed nothing that it looks at, all will be like it until the next event. Of a
    # loop in which hooks count instructions nothing is left out.
    cdef unsigned int hl = (key >> 8 & 0xFF) << 8 | (key >> 16 & 0xFF), op
    cdef int64_t each = now - m.spin_now, found
    cdef int page = code_page(start)
    if m.lasts[page] == 0 or start >= end or m.codes[code_page(end - 1)] != m.codes[page] or m.stop <= now:
        m.spin_pc = NOWHERE
        return 0
    if has_hooks(m, code_without_traps(m, page) + start, end - start):
        m.spin_pc = NOWHERE
        return 0
    op = code_without_traps(m, page)[start]
    if may_wait(op) and end != m.no_wait:
        if op == 0xF0 or op == 0xFA:
            found = poll(m, start, end, now, key, is_long)
        else:
            found = count_down(m, start, end, now, key, is_long)
        if found >= 0:
            m.spin_pc = NOWHERE
            return found
        m.no_wait = end
    if is_long or again > 1:
        return 0
    if (
        again and m.spin_key == key and m.spin_pc == start
        and each & ((1 << STAMP) - 1) == idle_length(m, start, end, hl)
    ):
        return (m.stop - now - 1) // each * each
    m.spin_key, m.spin_pc, m.spin_now = key, start, now
    return 0
