# Fields and expressions of a RAM map; the readable twins are ram_fields.py and expressions.py
# (docs/gameboy.md, 20.1).
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t

from fastenv.gameboy._state cimport (
    DRAW_END, FORM_BCD, FORM_BIT, FORM_DIGITS, FORM_SIGNED, LINE, LINES, M_CYCLE,
    MAX_EXPRESSION_STACK, NEXT_LY,
    OP_ABS, OP_ADD, OP_AND, OP_BEFORE, OP_DIV, OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT, OP_MAX, OP_MIN,
    OP_MOD, OP_MUL, OP_NE, OP_NEG, OP_NOT, OP_NOW, OP_NUMBER, OP_OR, OP_SUB,
    R_DIV, R_LCDC, R_LY, R_P1, R_STAT, SCAN_END, SOURCE_REGISTERS, SOURCE_ROM, VISIBLE,
    Field, Load, Rules, Shared, State, Step, Term,
)


cdef inline uint8_t video_register(const State* s, int low) noexcept nogil:
    # LY, or STAT without its highest bit, of the row of a machine; see line_and_mode and
    # compared_line in position.py.
    cdef int line, at, ly = 0, mode = 0
    cdef bint match = s.lyc_match, last
    if s.high[R_LCDC] & 0x80:
        line = (s.dot + LINE) // LINE - 1  # of a dot from -LINE on
        at = s.dot - line * LINE
        last = line < 0 or line == LINES - 1
        if not last:
            ly = line + (at >= NEXT_LY)
        if last:
            mode = 0 if at >= NEXT_LY else 1
        elif line >= VISIBLE:
            mode = 1
        elif at < SCAN_END:
            mode = 0 if s.first_frame and line == 0 else 2
        elif at < DRAW_END + s.delay:
            mode = 3
        if line < 0:
            match = False
        elif line == LINES - 1:
            match = match and (at < M_CYCLE or at >= 2 * M_CYCLE)
        else:
            match = match and at < NEXT_LY
    return ly if low == R_LY else s.high[R_STAT] | match << 2 | mode


cdef inline uint8_t register_of(const State* s, const Shared* c, int low) noexcept nogil:
    # A byte of page $FF of the row of a machine, as read_between gives it.
    cdef uint8_t value = s.high[low], down = 0
    if low >= 0x80:
        return value
    if low == R_P1:
        if not value & 0x10:
            down |= s.keys & 0x0F
        if not value & 0x20:
            down |= s.keys >> 4
        value |= ~down & 0x0F
    elif low == R_DIV:
        value = s.div >> 8
    elif low == R_LY or low == R_STAT:
        value = video_register(s, low)
    return value | c.read_ones[low]


cdef inline uint8_t byte_of(
    const uint8_t* row, const uint8_t* shared, const Field* f, int64_t k
) noexcept nogil:
    # The byte that is so many behind the first one of a field.
    if f.source == SOURCE_ROM:
        return shared[f.at + k]
    if f.source == SOURCE_REGISTERS:
        return register_of(<const State*>row, <const Shared*>shared, <int>(f.at + k))
    return row[f.at + k]


cdef inline int64_t element(
    const uint8_t* row, const uint8_t* shared, const Field* f, int64_t k
) noexcept nogil:
    # A number of a field. Numbers are joined without a sign: they wrap.
    cdef int64_t bit, begin
    cdef uint64_t number = 0, byte
    cdef int i
    if f.form == FORM_BIT:
        bit = f.bit + k * f.stride
        return byte_of(row, shared, f, bit >> 3) >> (bit & 7) & 1
    begin = k * f.stride
    for i in range(f.size):
        byte = byte_of(row, shared, f, begin + (i if f.big else f.size - 1 - i))
        if f.form == FORM_BCD:
            number = number * 100 + 10 * ((byte >> 4) % 10) + (byte & 15) % 10
        elif f.form == FORM_DIGITS:
            number = number * 10 + (byte & 15) % 10
        elif i == 0 and f.form == FORM_SIGNED:
            number = byte - ((byte & 0x80) << 1)
        else:
            number = number << 8 | byte
    return <int64_t>(number & <uint64_t>f.mask)


cdef inline int64_t of_table(
    const uint8_t* row, const uint8_t* shared, const Field* f, bint counts
) noexcept nogil:
    # The sum of all elements, or how many are not 0.
    cdef uint64_t found = 0
    cdef int64_t k, number
    for k in range(f.count):
        number = element(row, shared, f, k)
        found += <uint64_t>(number != 0) if counts else <uint64_t>number
    return <int64_t>found


cdef inline void read_loads(
    const uint8_t* row, const uint8_t* shared, const Rules* r, int64_t* out
) noexcept nogil:
    # Read from memory what expressions read.
    cdef const Field* fields = <const Field*>(shared + r.fields_at)
    cdef const Load* loads = <const Load*>(shared + r.loads_at)
    cdef const Field* f
    cdef int k
    for k in range(r.num_loads):
        f = &fields[loads[k].field]
        if loads[k].element >= 0:
            out[k] = element(row, shared, f, loads[k].element)
        else:
            out[k] = of_table(row, shared, f, loads[k].element == -2)


@cython.cdivision(True)
cdef inline int64_t divided(int64_t a, int64_t b, bint rest) noexcept nogil:
    # Division of Python, rounded down; by 0 it gives 0.
    cdef int64_t found
    if b == 0 or (rest and b == -1):
        return 0
    if b == -1:
        return <int64_t>(0 - <uint64_t>a)
    found = a % b
    if rest:
        return found + b if found != 0 and (found < 0) != (b < 0) else found
    return a / b - (found != 0 and (found < 0) != (b < 0))


cdef inline int64_t of_one(int op, int64_t a) noexcept nogil:
    if op == OP_NOT:
        return a == 0
    if op == OP_ABS and a >= 0:
        return a
    return <int64_t>(0 - <uint64_t>a)


cdef inline int64_t of_two(int op, int64_t a, int64_t b) noexcept nogil:
    if op == OP_ADD:
        return <int64_t>(<uint64_t>a + <uint64_t>b)
    if op == OP_SUB:
        return <int64_t>(<uint64_t>a - <uint64_t>b)
    if op == OP_MUL:
        return <int64_t>(<uint64_t>a * <uint64_t>b)
    if op == OP_DIV or op == OP_MOD:
        return divided(a, b, op == OP_MOD)
    if op == OP_EQ:
        return a == b
    if op == OP_NE:
        return a != b
    if op == OP_LT:
        return a < b
    if op == OP_LE:
        return a <= b
    if op == OP_GT:
        return a > b
    if op == OP_GE:
        return a >= b
    if op == OP_AND:
        return a != 0 and b != 0
    if op == OP_OR:
        return a != 0 or b != 0
    if op == OP_MIN:
        return a if a < b else b
    return a if a > b else b


cdef inline int64_t evaluate(
    const Step* step, int count, const int64_t* now, const int64_t* before
) noexcept nogil:
    # What an expression comes to.
    cdef int64_t[MAX_EXPRESSION_STACK] stack
    cdef int k, top = -1
    for k in range(count):
        if step[k].op <= OP_BEFORE:
            top += 1
            if step[k].op == OP_NUMBER:
                stack[top] = step[k].number
            else:
                stack[top] = now[step[k].load] if step[k].op == OP_NOW else before[step[k].load]
        elif step[k].op <= OP_ABS:
            stack[top] = of_one(step[k].op, stack[top])
        else:
            top -= 1
            stack[top] = of_two(step[k].op, stack[top], stack[top + 1])
    return stack[0]


cdef inline int64_t evaluate_term(
    const uint8_t* shared, const Rules* r, int number, const int64_t* now, const int64_t* before
) noexcept nogil:
    cdef const Term* term = <const Term*>(shared + r.terms_at) + number
    cdef const Step* steps = <const Step*>(shared + r.steps_at)
    return evaluate(steps + term.begin, term.end - term.begin, now, before)
