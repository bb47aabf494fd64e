# Fields and expressions of a RAM map; the readable twins are ram_fields.py and expressions.py
# (docs/gameboy.md, 20.1).
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint64_t

from fastenv.gameboy._state cimport (
    FORM_BCD, FORM_BIT, FORM_DIGITS, FORM_SIGNED, MAX_EXPRESSION_STACK,
    OP_ABS, OP_ADD, OP_AND, OP_BEFORE, OP_DIV, OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT, OP_MAX, OP_MIN,
    OP_MOD, OP_MUL, OP_NE, OP_NEG, OP_NOT, OP_NOW, OP_NUMBER, OP_OR, OP_SUB,
    Field, Load, Rules, Step, Term,
)


cdef inline int64_t element(const uint8_t* row, const Field* f, int64_t k) noexcept nogil:
    # A number of a field. Numbers are joined without a sign: they wrap.
    cdef int64_t bit
    cdef uint64_t number = 0, byte
    cdef const uint8_t* begin
    cdef int i
    if f.form == FORM_BIT:
        bit = f.bit + k * f.stride
        return row[f.at + (bit >> 3)] >> (bit & 7) & 1
    begin = row + f.at + k * f.stride
    for i in range(f.size):
        byte = begin[i] if f.big else begin[f.size - 1 - i]
        if f.form == FORM_BCD:
            number = number * 100 + 10 * (byte >> 4) + (byte & 15)
        elif f.form == FORM_DIGITS:
            number = number * 10 + (byte & 15)
        elif i == 0 and f.form == FORM_SIGNED:
            number = byte - ((byte & 0x80) << 1)
        else:
            number = number << 8 | byte
    return <int64_t>(number & <uint64_t>f.mask)


cdef inline int64_t of_table(const uint8_t* row, const Field* f, bint counts) noexcept nogil:
    # The sum of all elements, or how many are not 0.
    cdef uint64_t found = 0
    cdef int64_t k, number
    for k in range(f.count):
        number = element(row, f, k)
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
            out[k] = element(row, f, loads[k].element)
        else:
            out[k] = of_table(row, f, loads[k].element == -2)


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
