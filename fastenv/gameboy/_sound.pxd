# Sound, as far as programs can tell (docs/gameboy.md, 10.1). Nothing happens until a register is
# touched or the timer's counter is cleared; then all that was due by that time is done at once.
from libc.stdint cimport int64_t, uint8_t, uint16_t
from libc.string cimport memcpy, memset

from fastenv.gameboy._machine cimport Machine
from fastenv.gameboy._mixer cimport (
    count_step, forget_stopped, listen, power_written, register_written,
)
from fastenv.gameboy._state cimport (
    M_CYCLE, R_NR10, R_NR13, R_NR14, R_NR30, R_NR50, R_NR52, R_WAVE, SEQUENCER_BIT, WAVE_BYTES,
    WAVE_DELAY, WAVE_NEXT, WAVE_OPEN, State,
)

cdef enum:
    POWER = 0x80  # of NR52
    TRIGGER = 0x80  # of the last register of a channel
    COUNTS = 0x40
    NEGATES = 0x08  # of NR10
    FIRST = 0  # channels
    WAVE = 2
    REGISTERS = 5  # of a channel
    LAST_PERIOD = 0x7FF


cdef inline int longest(int channel) noexcept nogil:
    return 256 if channel == WAVE else 64


cdef inline void stop(State* s, int channel) noexcept nogil:
    s.high[R_NR52] &= ~(1 << channel)
    if channel == WAVE:
        s.wave_left = s.wave_at = 0


cdef inline int period(const State* s, int channel) noexcept nogil:
    cdef const uint8_t* low = s.high + R_NR13 + REGISTERS * channel
    return (low[1] & 7) << 8 | low[0]


# -- the sweep of the first channel ----------------------------------------------------------------


cdef inline int pace(const State* s) noexcept nogil:
    return s.high[R_NR10] >> 4 & 7


cdef inline int next_period(State* s) noexcept nogil:
    # The channel stops where it is too large.
    cdef int change = s.sweep_period >> (s.high[R_NR10] & 7)
    if s.high[R_NR10] & NEGATES:
        s.sweep_negated = 1
        return s.sweep_period - change
    if s.sweep_period + change > LAST_PERIOD:
        stop(s, FIRST)
    return s.sweep_period + change


cdef inline bint sweep(State* s) noexcept nogil:
    # Return whether anything may come of doing it again.
    cdef int before = s.sweep_period, found = next_period(s)
    if found > LAST_PERIOD or not s.high[R_NR10] & 7:
        return False
    s.sweep_period = found
    s.high[R_NR13] = found & 0xFF
    s.high[R_NR14] = (s.high[R_NR14] & ~7) | found >> 8
    next_period(s)
    return found != before


cdef inline void count_sweep(State* s, int64_t ticks) noexcept nogil:
    cdef int every = pace(s) if pace(s) else 8
    cdef bint goes_on = pace(s) != 0
    if s.sweep_left == 0:
        return
    while ticks >= s.sweep_left:
        ticks -= s.sweep_left
        s.sweep_left = every
        goes_on = goes_on and sweep(s)
        if not goes_on:
            ticks %= every
    s.sweep_left -= ticks


# -- time ------------------------------------------------------------------------------------------


cdef inline void count_lengths(State* s, int64_t ticks) noexcept nogil:
    cdef int channel
    for channel in range(4):
        if s.lengths[channel] and s.high[R_NR14 + REGISTERS * channel] & COUNTS:
            if ticks < s.lengths[channel]:
                s.lengths[channel] -= ticks
            else:
                s.lengths[channel] = 0
                stop(s, channel)


cdef inline void take_steps(State* s, int64_t steps, bint now) noexcept nogil:
    # Let the sequencer go on; what the last step sweeps is due a machine cycle after it, which is
    # later than now if it is taken now.
    cdef int64_t first = s.sound_step, end = first + steps
    cdef int64_t lengths = ((end + 1) >> 1) - ((first + 1) >> 1)
    cdef int64_t sweeps = ((end + 1) >> 2) - ((first + 1) >> 2)
    s.sound_step = end & 7
    if now and (end - 1) & 3 == 2:
        s.sweep_due = 1
        sweeps -= 1
    if lengths:
        count_lengths(s, lengths)
    if sweeps:
        count_sweep(s, sweeps)


cdef inline int between_samples(const State* s) noexcept nogil:
    # T from one sample of the wave to the next.
    return 2 * (LAST_PERIOD + 1 - period(s, WAVE))


cdef inline void fetch_samples(State* s, int64_t passed) noexcept nogil:
    cdef int64_t left = s.wave_left - passed, count
    if left <= 0:
        count = -left // between_samples(s) + 1
        left += count * between_samples(s)
        s.wave_at = (s.wave_at + count) & (2 * WAVE_BYTES - 1)
    s.wave_left = <uint16_t>left


cdef inline int64_t steps_by(const Machine* m, int64_t time) noexcept nogil:
    return (time - m.div_start) // (2 * SEQUENCER_BIT)


cdef inline void run_channels(Machine* m, int64_t time) noexcept nogil:
    # Do all that is due by a time and that programs can tell.
    cdef State* s = m.s
    cdef int64_t passed = time - m.sound_at, steps
    if passed <= 0:
        return
    steps = steps_by(m, time) - steps_by(m, m.sound_at)
    m.sound_at = time
    if not s.high[R_NR52] & POWER:
        return
    if s.sweep_due:
        s.sweep_due = 0
        count_sweep(s, 1)
    if steps:
        take_steps(s, steps, (time - m.div_start) & (2 * SEQUENCER_BIT - 1) == 0)
    if s.wave_left:
        fetch_samples(s, passed)


cdef inline void run_heard(Machine* m, int64_t time) noexcept nogil:
    # The same where somebody listens, from one thing that the sequencer does to the next.
    cdef State* s = m.s
    cdef int64_t until, begin
    cdef int step, left
    while m.sound_at < time:
        begin, step, left = m.sound_at, s.sound_step, s.wave_left
        until = m.div_start + (steps_by(m, begin) + 1) * (2 * SEQUENCER_BIT)
        if s.sweep_due and begin + M_CYCLE < until:
            until = begin + M_CYCLE
        if until > time:
            until = time
        listen(m, until)
        run_channels(m, until)
        if s.wave_left and 0 < left <= until - begin:
            m.sound.wave_byte = s.high[R_WAVE + (s.wave_at >> 1)]
        if s.sound_step != step:
            count_step(m, step)
        forget_stopped(m)


cdef inline void run_sound(Machine* m, int64_t time) noexcept nogil:
    # Do all that is due by a time.
    if m.heard == NULL:
        run_channels(m, time)
    else:
        run_heard(m, time)


cdef inline void before_clearing_div(Machine* m, int64_t time) noexcept nogil:
    # The sequencer goes on if its bit of the counter falls.
    cdef int step
    run_sound(m, time)
    if m.s.high[R_NR52] & POWER and (time - m.div_start) & SEQUENCER_BIT:
        step = m.s.sound_step
        take_steps(m.s, 1, True)
        if m.heard != NULL:
            count_step(m, step)
            forget_stopped(m)


# -- the samples of the wave -----------------------------------------------------------------------


cdef inline int fetched_in(const State* s, int time) noexcept nogil:
    # Where the byte is that is fetched in so many T; -1: none is then.
    cdef int left = s.wave_left, at = s.wave_at + 1
    while left < time:
        left += between_samples(s)
        at += 1
    return R_WAVE + (at >> 1 & (WAVE_BYTES - 1)) if left == time else -1


cdef inline int place_in_wave(const State* s, int low) noexcept nogil:
    # Where a byte of the wave is seen; -1: none is.
    return fetched_in(s, WAVE_OPEN) if s.wave_left else low


cdef inline void spoil_wave(Machine* m) noexcept nogil:
    # A byte that is fetched when the channel is triggered is copied to the first, or four to four.
    cdef State* s = m.s
    cdef int place = fetched_in(s, WAVE_NEXT)
    if place >= 0:
        m.sound.wave_byte = s.high[R_WAVE]
    if R_WAVE <= place < R_WAVE + 4:
        s.high[R_WAVE] = s.high[place]
    elif place >= 0:
        memcpy(s.high + R_WAVE, s.high + (place & ~3), 4)


# -- what the processor does -----------------------------------------------------------------------


cdef inline uint8_t read_sound(Machine* m, int low, int64_t time) noexcept nogil:
    cdef int place = low
    run_sound(m, time)
    if low >= R_WAVE:
        place = place_in_wave(m.s, low)
    return 0xFF if place < 0 else m.s.high[place]


cdef inline void write_power(Machine* m, uint8_t value, int64_t time) noexcept nogil:
    # Off, all is cleared but what is left of the lengths. When it is turned on, the sequencer's bit
    # is looked at when the machine cycle ends, and a step is lost where it is high.
    cdef State* s = m.s
    if value & POWER:
        if not s.high[R_NR52] & POWER:
            s.high[R_NR52] = POWER
            s.sound_step = 7 if (time + M_CYCLE - m.div_start) & SEQUENCER_BIT else 0
        return
    memset(s.high + R_NR10, 0, R_WAVE - R_NR10)
    s.sound_step = s.sweep_due = s.sweep_left = s.sweep_period = s.sweep_negated = 0
    s.wave_left = s.wave_at = 0


cdef inline bint heard(const State* s, int channel) noexcept nogil:
    # Whether the converter of a channel is on.
    if channel == WAVE:
        return s.high[R_NR30] & 0x80
    return s.high[R_NR10 + REGISTERS * channel + 2] & 0xF8


cdef inline void enable_length(State* s, int channel, int before, int value) noexcept nogil:
    # Count once more where counting begins between two steps that do, the next not being one.
    cdef bint between = s.sound_step & 1 and value & COUNTS
    if between and not before & COUNTS and s.lengths[channel]:
        s.lengths[channel] -= 1
        if s.lengths[channel] == 0 and not value & TRIGGER:
            stop(s, channel)
    if value & TRIGGER and s.lengths[channel] == 0:
        s.lengths[channel] = longest(channel) - between


cdef inline void trigger_sweep(State* s) noexcept nogil:
    cdef bint sweeps = s.high[R_NR10] & 0x77
    s.sweep_left = (pace(s) if pace(s) else 8) if sweeps else 0
    s.sweep_period = period(s, FIRST) if sweeps else 0
    s.sweep_negated = 0
    if s.high[R_NR10] & 7:
        next_period(s)


cdef inline void trigger(Machine* m, int channel) noexcept nogil:
    cdef State* s = m.s
    if channel == WAVE and s.wave_left:
        spoil_wave(m)
    if heard(s, channel):
        s.high[R_NR52] |= 1 << channel
        if channel == WAVE:
            s.wave_left, s.wave_at = between_samples(s) + WAVE_DELAY, 0
    if channel == FIRST:
        trigger_sweep(s)


cdef inline void write_channel(
    Machine* m, int channel, int which, uint8_t value
) noexcept nogil:
    cdef State* s = m.s
    cdef uint8_t* register = s.high + R_NR10 + REGISTERS * channel + which
    cdef int before = register[0]
    if which == 4:
        enable_length(s, channel, before, value)
    register[0] = value
    if not heard(s, channel):
        stop(s, channel)
    if which == 4 and value & TRIGGER:
        trigger(m, channel)
    if which == 0 and channel == FIRST and before & NEGATES & ~value and s.sweep_negated:
        stop(s, FIRST)


cdef inline void write_sound(Machine* m, int low, uint8_t value, int64_t time) noexcept nogil:
    # Without power nothing can be written but the wave and, on this model, lengths.
    cdef State* s = m.s
    cdef int channel = (low - R_NR10) // REGISTERS, which = (low - R_NR10) % REGISTERS, place
    cdef int before, playing
    run_sound(m, time)
    before, playing = s.high[low], s.high[R_NR52]
    if low >= R_WAVE:
        place = place_in_wave(s, low)
        if place >= 0:
            s.high[place] = value
    elif low == R_NR52:
        write_power(m, value, time)
        if m.heard != NULL:
            power_written(m, playing & POWER)
    elif low >= R_NR50:
        if s.high[R_NR52] & POWER:
            s.high[low] = value
    else:
        if which == 1:
            s.lengths[channel] = longest(channel) - (value & (longest(channel) - 1))
        if s.high[R_NR52] & POWER:
            write_channel(m, channel, which, value)
            if m.heard != NULL:
                register_written(m, channel, which, before, playing >> channel & 1, time)
