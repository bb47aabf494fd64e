# Fields and expressions of a RAM map, and what they remember; the readable twins are ram_fields.py,
# expressions.py and ram_memory.py (docs/gameboy.md, 20.1 and 20.2).
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fastenv._rng cimport rng_bounded
from fastenv.gameboy._state cimport (
    CELL_MOST, CELL_SIZE, CELL_VISITS,
    DRAW_END, FORM_BCD, FORM_BIT, FORM_DIGITS, FORM_SIGNED, LINE, LINES, M_CYCLE,
    MAX_EXPRESSION_STACK, MAX_VISITS, NEXT_LY,
    OP_ABS, OP_ADD, OP_AND, OP_BEFORE, OP_DIV, OP_EACH, OP_EQ, OP_GE, OP_GT, OP_LE, OP_LT, OP_MAX,
    OP_MIN, OP_MOD, OP_MUL, OP_NE, OP_NEG, OP_NOT, OP_NOW, OP_NUMBER, OP_OR, OP_RANDOM, OP_SUB,
    R_DIV, R_LCDC, R_LY, R_P1, R_STAT, SCAN_END, SOURCE_REGISTERS, SOURCE_ROM, SOURCE_ROW, VISIBLE,
    Cell, Episode, Field, KeySet, Load, Rules, Shared, State, Step, Term,
)

cdef enum:
    # In place of the number of an element; see LOAD_DTYPE.
    WHOLE_SUM = -1
    WHOLE_COUNT = -2
    WHOLE_LEAST = -3
    WHOLE_MOST = -4
    EACH = -5
    REMEMBERED = -6
    PRODUCTS = -7
    SET_HEAD = 8  # bytes of a set in front of its keys


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
        if line == LINES - 1:
            match = match and (at < M_CYCLE or at >= 2 * M_CYCLE)
        elif line >= 0:
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


cdef inline void put_element(
    uint8_t* row, const Field* f, int64_t k, int64_t number
) noexcept nogil:
    # Set a number of a field of the row, modulo what it holds.
    cdef int64_t bit, digits, base = 256
    cdef uint8_t* at
    cdef int i
    if f.form == FORM_BIT:
        bit = f.bit + k * f.stride
        at = row + f.at + (bit >> 3)
        at[0] = (at[0] & ~(1 << (bit & 7))) | (number != 0) << (bit & 7)
        return
    if f.form == FORM_BCD:
        base = 100
    elif f.form == FORM_DIGITS:
        base = 10
    for i in range(f.size):
        at = row + f.at + k * f.stride + (f.size - 1 - i if f.big else i)
        digits = divided(number, base, True)
        number = divided(number, base, False)
        if f.form == FORM_BCD:
            at[0] = <uint8_t>(digits // 10 << 4 | digits % 10)
        elif f.form == FORM_DIGITS:
            at[0] = (at[0] & 0xF0) | <uint8_t>digits
        else:
            at[0] = <uint8_t>digits


cdef inline int ones(unsigned int byte) noexcept nogil:
    # How many bits of a byte are 1.
    byte -= byte >> 1 & 0x55
    byte = (byte & 0x33) + (byte >> 2 & 0x33)
    return (byte + (byte >> 4)) & 0x0F


cdef inline bint is_plain(const Field* f) noexcept nogil:
    # Whether a table is bits one behind the other, in bytes of the row.
    return f.form == FORM_BIT and f.stride == 1 and f.source == SOURCE_ROW


cdef inline int64_t count_flags(const uint8_t* row, const Field* f) noexcept nogil:
    # How many bits of a plain table are 1, byte by byte.
    cdef int64_t bit = f.bit, end = f.bit + f.count, found = 0, last
    cdef unsigned int byte
    while bit < end:
        last = min((bit | 7) + 1, end)
        byte = row[f.at + (bit >> 3)] >> (bit & 7) & ((1 << (last - bit)) - 1)
        found += ones(byte)
        bit = last
    return found


cdef inline int64_t sum_of_products(
    const uint8_t* row, const uint8_t* shared, const Field* f, const Field* factor
) noexcept nogil:
    # Of flags and numbers; bytes without a flag are left out.
    cdef int64_t bit, k = 0
    cdef uint64_t found = 0
    while k < f.count:
        bit = f.bit + k
        if row[f.at + (bit >> 3)] >> (bit & 7) == 0:
            k += 8 - (bit & 7)
            continue
        if row[f.at + (bit >> 3)] >> (bit & 7) & 1:
            found += <uint64_t>element(row, shared, factor, k)
        k += 1
    return <int64_t>found


cdef inline int64_t of_all(
    const uint8_t* row, const uint8_t* shared, const Rules* r, const Load* load
) noexcept nogil:
    # What all elements of tables come to.
    cdef const Field* fields = <const Field*>(shared + r.fields_at)
    cdef const Field* f = &fields[load.field]
    cdef int64_t k, number, found = 0
    if load.element == PRODUCTS:
        return sum_of_products(row, shared, f, &fields[load.each])
    if load.each < 0 and load.element >= WHOLE_COUNT and is_plain(f):
        return count_flags(row, f)
    for k in range(f.count):
        if load.each < 0:
            number = element(row, shared, f, k)
        else:
            number = evaluate_term(row, shared, r, load.each, NULL, NULL, k)
        if load.element == WHOLE_SUM:
            found = <int64_t>(<uint64_t>found + <uint64_t>number)
        elif load.element == WHOLE_COUNT:
            found += number != 0
        elif k == 0 or (number < found if load.element == WHOLE_LEAST else number > found):
            found = number
    return found


cdef inline int64_t word(const uint8_t* at) noexcept nogil:
    cdef int64_t found
    memcpy(&found, at, 8)
    return found


cdef inline int64_t read_load(
    const uint8_t* row, const uint8_t* shared, const Rules* r, int number, int64_t k
) noexcept nogil:
    # What an expression reads; k is the element where each is taken.
    cdef const Load* load = <const Load*>(shared + r.loads_at) + number
    cdef const Field* f = <const Field*>(shared + r.fields_at) + load.field
    if load.element >= 0:
        return element(row, shared, f, load.element)
    if load.element == EACH:
        return element(row, shared, f, k)
    if load.element == REMEMBERED:
        return word(row + r.memory_at + 8 * load.field)
    return of_all(row, shared, r, load)


cdef inline void read_loads(
    const uint8_t* row, const uint8_t* shared, const Rules* r, int64_t* out
) noexcept nogil:
    # Read what expressions read from memory, and what they remember.
    cdef int k
    for k in range(r.num_loads):
        out[k] = read_load(row, shared, r, k, 0)


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


cdef inline int64_t evaluate_term(
    const uint8_t* row, const uint8_t* shared, const Rules* r, int number, const int64_t* now,
    const int64_t* before, int64_t each
) noexcept nogil:
    # What an expression comes to. Without `now` what it reads is read at once, where each element
    # of tables is taken that of a number.
    cdef const Term* term = <const Term*>(shared + r.terms_at) + number
    cdef const Step* step = <const Step*>(shared + r.steps_at)
    cdef int64_t[MAX_EXPRESSION_STACK] stack
    cdef int k, top = -1
    for k in range(term.begin, term.end):
        if step[k].op <= OP_RANDOM:
            top += 1
            if step[k].op == OP_NUMBER:
                stack[top] = step[k].number
            elif step[k].op == OP_BEFORE:
                stack[top] = before[step[k].load]
            elif step[k].op == OP_RANDOM:
                stack[top] = rng_bounded(
                    (<Episode*>(row + sizeof(State))).rng, <uint32_t>step[k].number
                )
            elif now != NULL:
                stack[top] = now[step[k].load]
            else:
                stack[top] = read_load(row, shared, r, step[k].load, each)
        elif step[k].op <= OP_ABS:
            stack[top] = of_one(step[k].op, stack[top])
        else:
            top -= 1
            stack[top] = of_two(step[k].op, stack[top], stack[top + 1])
    return stack[0]


# -- what is remembered (docs/gameboy.md, 20.2) ----------------------------------------------------


cdef inline int64_t visit_key(uint8_t* row, const KeySet* of, uint64_t key) noexcept nogil:
    # Count a key; return how often it came, 0 if there was no room for it.
    cdef uint8_t* keys = row + of.at + SET_HEAD
    cdef uint8_t* counts = keys + 8 * <int64_t>of.slots
    cdef uint32_t[2] head  # size, lost
    cdef uint64_t at = (key * <uint64_t>0x9E3779B97F4A7C15 >> 32) * <uint64_t>of.slots >> 32
    cdef uint64_t found
    cdef uint16_t count
    cdef int _k
    memcpy(head, row + of.at, SET_HEAD)
    for _k in range(of.slots):
        memcpy(&count, counts + 2 * at, 2)
        if count == 0:
            if head[0] >= <uint32_t>of.capacity:
                break
            count = 1
            head[0] += 1
            memcpy(keys + 8 * at, &key, 8)
            memcpy(counts + 2 * at, &count, 2)
            memcpy(row + of.at, head, SET_HEAD)
            return 1
        memcpy(&found, keys + 8 * at, 8)
        if found == key:
            if count < MAX_VISITS:
                count += 1
                memcpy(counts + 2 * at, &count, 2)
            return count
        at += 1
        if at == <uint64_t>of.slots:
            at = 0
    head[1] += 1
    memcpy(row + of.at, head, SET_HEAD)
    return 0


cdef inline int64_t visits(
    uint8_t* row, const uint8_t* shared, const Rules* r, const KeySet* of, const int64_t* now,
    const int64_t* before
) noexcept nogil:
    cdef uint64_t key = 0, number
    cdef int k, width = 64 // of.numbers
    if of.when >= 0 and evaluate_term(row, shared, r, of.when, now, before, 0) == 0:
        return 0
    for k in range(of.numbers):
        number = <uint64_t>evaluate_term(row, shared, r, of.key + k, now, before, 0)
        if width < 64:
            number &= (<uint64_t>1 << width) - 1
        key |= number << (k * width)
    return visit_key(row, of, key)


cdef inline void remember(
    uint8_t* row, const uint8_t* shared, const Rules* r, int64_t* now, const int64_t* before,
    bint first
) noexcept nogil:
    # Look at what a step has brought, or at a start state, and add to `now` what is remembered.
    cdef const Cell* cells = <const Cell*>(shared + r.cells_at)
    cdef const KeySet* sets = <const KeySet*>(shared + r.sets_at)
    cdef uint8_t* at = row + r.memory_at
    cdef int64_t number, old
    cdef uint32_t size
    cdef int k
    if first:
        memset(at, 0, r.memory_bytes)
    for k in range(r.num_cells):
        old = word(at + 8 * k)
        if cells[k].kind == CELL_VISITS:
            number = visits(row, shared, r, &sets[cells[k].of], now, before)
        elif cells[k].kind == CELL_SIZE:
            memcpy(&size, row + sets[cells[k].of].at, 4)
            number = size
        else:
            number = evaluate_term(row, shared, r, cells[k].of, now, before, 0)
            if first:
                pass
            elif cells[k].kind == CELL_MOST:
                number = number if number > old else old
            else:
                number = <int64_t>(<uint64_t>old + <uint64_t>number)
        memcpy(at + 8 * k, &number, 8)
        now[cells[k].load] = number
