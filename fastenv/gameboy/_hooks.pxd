# Hooks and writes of a RAM map; the readable twins are ram_hooks.py and environment.py
# (docs/gameboy.md, 20.3 and 20.4).
#
# Where instructions are hooked, programs of the ROM run in a copy of it. A trap, an opcode that does
# not exist, stands there at the place of each hook, and at each instruction that would read a trap
# as its operand. At a trap, the processor goes on in the ROM beside the copy, up to a jump.
# Pages with an address that is watched are not plain for writes.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uintptr_t
from libc.string cimport memchr, memcmp, memcpy

from fastenv.gameboy._machine cimport BESIDE, STAMP, Machine, code_page, to_copy
from fastenv.gameboy._program cimport evaluate_term, put_element
from fastenv.gameboy._state cimport MBC2, Episode, Field, Hook, Rules, Shared, State, Trap, Write
from fastenv.gameboy._transfers cimport catch_up

cdef enum:
    ON_RESET = -1
    ON_STEP = -2
    TRAP = 0xD3


cdef inline void count_one(uint8_t* at, bint latches) noexcept nogil:
    cdef uint32_t found
    memcpy(&found, at, 4)
    found = 1 if latches else found + 1
    memcpy(at, &found, 4)


cdef inline void keep_half_bytes(uint8_t* row, const Rules* r) noexcept nogil:
    # Of the RAM of an MBC2 there are the low halves alone.
    cdef uint8_t* cart = row + sizeof(State) + sizeof(Episode)
    cdef int k
    for k in range(r.cart_bytes):
        cart[k] &= 0x0F


cdef inline void write_fields(
    uint8_t* row, const uint8_t* shared, const Rules* r, int on
) noexcept nogil:
    # Set the fields that are set at a time, or where a hook counts.
    cdef const Field* fields = <const Field*>(shared + r.fields_at)
    cdef const Write* w = <const Write*>(shared + r.writes_at)
    cdef int64_t element, begin, end
    cdef int k
    for k in range(r.num_writes):
        if w[k].on != on or (
            w[k].when >= 0 and evaluate_term(row, shared, r, w[k].when, NULL, NULL, 0) == 0
        ):
            continue
        begin = w[k].element if w[k].element >= 0 else 0
        end = begin + 1 if w[k].element >= 0 else fields[w[k].field].count
        for element in range(begin, end):
            put_element(
                row, &fields[w[k].field], element,
                evaluate_term(row, shared, r, w[k].to, NULL, NULL, 0),
            )
        if (<const Shared*>shared).mbc == MBC2:
            keep_half_bytes(row, r)
        count_one(row + r.counted_at + 4 * r.num_hooks, False)


cdef inline void count_hook(Machine* m, int number, int64_t stamp) noexcept nogil:
    # Count for a hook, and set the fields that go with it. A transfer that is under way has copied
    # what it copies before.
    cdef uint8_t* row = <uint8_t*>m.s
    cdef const uint8_t* shared = <const uint8_t*>m.c
    cdef const Hook* hooks = <const Hook*>(shared + m.rules.hooks_at)
    count_one(row + m.rules.counted_at + 4 * number, hooks[number].latch)
    if m.rules.num_writes:
        if m.dma_end:
            catch_up(m, m.now + (stamp >> STAMP))
        write_fields(row, shared, m.rules, number)


cdef inline void see_place(Machine* m, int64_t place, int64_t stamp) noexcept nogil:
    # Count an instruction of the ROM that is about to run, if a hook is there.
    cdef const Hook* hooks = <const Hook*>(<const uint8_t*>m.c + m.rules.hooks_at)
    cdef int k
    for k in range(m.rules.num_hooks):
        if hooks[k].place == place:
            count_hook(m, k, stamp)


cdef inline void see_instruction(Machine* m, unsigned int pc) noexcept nogil:
    # The same of one that is read byte by byte: memory is not plain, or ends, or HALT did not wait.
    cdef int page = code_page(pc)
    if pc < 0x8000 and (m.s.halt_bug or m.codes[page] + pc > m.lasts[page]):
        see_place(m, (m.roms[pc >> 14] - m.rom) + (pc & 0x3FFF), 0)
        m.stop = 1  # it alone


cdef inline int see_trap(Machine* m, int64_t place, int64_t stamp) noexcept nogil:
    # Count what runs at a trap; return how many bytes follow before the next one.
    cdef const Trap* trap = <const Trap*>(<const uint8_t*>m.c + m.rules.traps_at) + (place & 0xFF)
    cdef const uint8_t* begin = m.program + place + 1
    cdef const uint8_t* found
    cdef int size
    if trap.place == place:
        if trap.hook >= 0:
            count_hook(m, trap.hook, stamp)
        return trap.follow
    see_place(m, place, stamp)
    size = 0x3FFF - (place & 0x3FFF)
    found = <const uint8_t*>memchr(begin, TRAP, size)
    return size if found == NULL else <int>(found - begin)


cdef inline bint pass_trap(
    Machine* m, unsigned int pc, uintptr_t ip, int64_t stamp
) noexcept nogil:
    # Return whether an opcode that does not exist stands in the copy of the ROM. If so, count what
    # runs there, and find out how far the processor may go on in the ROM: up to the next trap.
    cdef int64_t place = <int64_t>ip - <int64_t><uintptr_t>m.program
    cdef int page = code_page(pc)
    if place < 0 or place >= <int64_t>m.c.rom_banks << 14:
        return False
    ip += see_trap(m, place, stamp)
    m.codes[BESIDE] = m.codes[page] - to_copy(m)
    m.lasts[BESIDE] = min(m.lasts[page], ip) - to_copy(m)
    return True


cdef inline bint has_hooks(const Machine* m, const uint8_t* begin, unsigned int size) noexcept nogil:
    # Whether a hook counts one of these bytes of a program.
    cdef const Hook* hooks
    cdef int64_t place = begin - m.rom
    cdef int k
    if m.program == m.rom or place < 0 or place >= <int64_t>m.c.rom_banks << 14:
        return False
    if memcmp(begin, m.program + place, size) == 0:
        return False
    hooks = <const Hook*>(<const uint8_t*>m.c + m.rules.hooks_at)
    for k in range(m.rules.num_hooks):
        if place <= hooks[k].place < place + size:
            return True
    return False


cdef inline void see_write(Machine* m, unsigned int address, int64_t stamp) noexcept nogil:
    # Count a byte that was written, and that hooks watch.
    cdef const Hook* hooks = <const Hook*>(<const uint8_t*>m.c + m.rules.hooks_at)
    cdef int k
    for k in range(m.rules.num_hooks):
        if hooks[k].address == <int>address:
            count_hook(m, k, stamp)
