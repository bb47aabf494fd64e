# What is heard of the sound (docs/gameboy.md, 10.2); the readable twin is reference/mixer.py. Used
# only where somebody listens. `_sound.pxd` runs the rest of the sound, and lets this hear no more at
# once than the time between two things that the sequencer does.
from libc.stdint cimport int16_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from fastenv.gameboy._machine cimport Machine
from fastenv.gameboy._state cimport (
    DUTIES, DUTY_STEPS, M_CYCLE, NOISE_BITS, R_NR10, R_NR13, R_NR30, R_NR43, R_NR50, R_NR51, R_NR52,
    R_WAVE, SAMPLE, SEQUENCER_BIT, WAVE_BYTES, Sound, State,
)

cdef enum:
    WAVE_CHANNEL = 2
    NOISE = 3
    EACH = 5  # registers of a channel
    TRIGGERS = 0x80  # of the last register of a channel
    RISES = 0x08  # of a volume
    NARROW = 0x08  # of NR43
    ENVELOPE_STEP = 7  # of the sequencer
    LAST_NOISE_SHIFT = 13
    FIRST_STEP = 8
    NEXT_TRIGGER = 4
    NOISE_DELAY = 8


cdef struct Mix:
    # What both sides hear now, and by how much each channel counts on each.
    int[4][2] weights
    int[2] level


cdef inline int volume_of(int channel) noexcept nogil:
    # Where the volume of a channel is that has one.
    return 2 if channel == NOISE else channel


cdef inline uint8_t register_of(const State* s, int channel, int which) noexcept nogil:
    return s.high[R_NR10 + EACH * channel + which]


cdef inline bint plays(const State* s, int channel) noexcept nogil:
    return s.high[R_NR52] >> channel & 1


cdef inline int duty_period(const State* s, int channel) noexcept nogil:
    cdef const uint8_t* low = s.high + R_NR13 + EACH * channel
    return 4 * (2048 - ((low[1] & 7) << 8 | low[0]))


cdef inline int wave_period(const State* s) noexcept nogil:
    return duty_period(s, WAVE_CHANNEL) >> 1


cdef inline int noise_period(const State* s) noexcept nogil:
    cdef int divider = s.high[R_NR43] & 7
    return (16 * divider if divider else 8) << (s.high[R_NR43] >> 4)


# -- channels --------------------------------------------------------------------------------------


cdef inline void step_square(Machine* m, int channel, int64_t steps) noexcept nogil:
    cdef int duty = register_of(m.s, channel, 1) >> 6
    m.sound.duty_at[channel] = (m.sound.duty_at[channel] + steps) & (DUTY_STEPS - 1)
    m.sound.duty_high[channel] = DUTIES >> (DUTY_STEPS * duty + m.sound.duty_at[channel]) & 1


cdef inline void shift_noise(Machine* m) noexcept nogil:
    # Unless the noise stands still; its time is set by who calls this.
    cdef int clock = m.s.high[R_NR43], bit
    if not plays(m.s, NOISE) or clock >> 4 > LAST_NOISE_SHIFT:
        return
    bit = ~(m.sound.lfsr ^ m.sound.lfsr >> 1) & 1
    m.sound.lfsr = m.sound.lfsr >> 1 | bit << (NOISE_BITS - 1)
    if clock & NARROW:
        m.sound.lfsr = (m.sound.lfsr & ~0x40) | bit << 6


cdef inline void skip_square(Machine* m, int channel, int64_t passed) noexcept nogil:
    # Let time pass in a channel that nobody hears.
    cdef int64_t left = m.sound.duty_left[channel], steps
    cdef int every = duty_period(m.s, channel)
    if left == 0:
        return
    if passed >= left:
        steps = (passed - left) // every + 1
        step_square(m, channel, steps)
        left += steps * every
    m.sound.duty_left[channel] = left - passed


cdef inline void skip_noise(Machine* m, int64_t passed) noexcept nogil:
    cdef int64_t left = m.sound.noise_left, every = noise_period(m.s)
    if left == 0:
        return
    if passed >= left:
        left += ((passed - left) // every + 1) * every
    m.sound.noise_left = left - passed


cdef inline int wave_now(const State* s, int at, int byte) noexcept nogil:
    # What the wave says, 0 to 15.
    cdef int volume = register_of(s, WAVE_CHANNEL, 2) >> 5 & 3
    cdef int nibble = byte & 0x0F if at & 1 else byte >> 4
    return nibble >> (volume - 1) if volume else 0


# -- what is heard ---------------------------------------------------------------------------------


cdef inline bint is_heard(const State* s, int channel) noexcept nogil:
    # Whether the converter of a channel is on.
    if channel == WAVE_CHANNEL:
        return s.high[R_NR30] & 0x80
    return register_of(s, channel, 2) & 0xF8


cdef inline void weigh(const State* s, Mix* mix) noexcept nogil:
    cdef int side, channel, shift
    for side in range(2):
        shift = 0 if side else 4
        for channel in range(4):
            mix.weights[channel][side] = 0
            if s.high[R_NR51] >> shift >> channel & 1 and is_heard(s, channel):
                mix.weights[channel][side] = (s.high[R_NR50] >> shift & 7) + 1


cdef inline void mix_now(const Machine* m, Mix* mix, int wave) noexcept nogil:
    cdef const Sound* h = &m.sound
    cdef int[4] says
    cdef int side, channel
    says[0] = h.volumes[0] if h.duty_high[0] else 0
    says[1] = h.volumes[1] if h.duty_high[1] else 0
    says[2] = wave
    says[3] = h.volumes[2] if h.lfsr & 1 else 0
    for side in range(2):
        mix.level[side] = 0
        for channel in range(4):
            mix.level[side] += mix.weights[channel][side] * (15 - 2 * says[channel])


cdef inline void hear(Machine* m, int64_t begin, int64_t end, const Mix* mix) noexcept nogil:
    # Add what is heard from a time to another to the samples.
    cdef int64_t until, number
    cdef int side
    cdef int16_t value
    while begin < end:
        until = begin - begin % SAMPLE + SAMPLE
        if until > end:
            until = end
        for side in range(2):
            m.sound.sums[side] += mix.level[side] * <int>((until - begin) >> 1)
        begin = until
        if begin % SAMPLE == 0:
            number = begin // SAMPLE - 1 - m.first_sample
            for side in range(2):
                value = m.sound.sums[side]
                if 0 <= number < m.num_samples:
                    memcpy(m.samples + 4 * number + 2 * side, &value, 2)
                m.sound.sums[side] = 0


cdef inline int64_t first_of(int64_t time, int64_t passed, int64_t left) noexcept nogil:
    # The earlier one of a time and of what is due so late; nothing is due in 0 T.
    return passed + left if left and passed + left < time else time


cdef inline void listen(Machine* m, int64_t end) noexcept nogil:
    # Hear all from where the sound is to a time; the sequencer does nothing in between. The wave is
    # fetched here as well, but up to that time alone, and without a trace but its byte.
    cdef State* s = m.s
    cdef Sound* h = &m.sound
    cdef Mix mix
    cdef int64_t now = m.sound_at, then, passed
    cdef int64_t wave_left = s.wave_left
    cdef int wave_at = s.wave_at, k, wave
    weigh(s, &mix)
    while now < end:
        wave = wave_now(s, wave_at, h.wave_byte) if plays(s, WAVE_CHANNEL) else 0
        mix_now(m, &mix, wave)
        then = first_of(end, now, wave_left)
        for k in range(2):
            if h.volumes[k]:
                then = first_of(then, now, h.duty_left[k])
        if plays(s, NOISE):
            then = first_of(then, now, h.noise_left)
        hear(m, now, then, &mix)
        passed, now = then - now, then
        for k in range(2):
            skip_square(m, k, passed)
        if plays(s, NOISE) and h.noise_left == passed:
            shift_noise(m)
        skip_noise(m, passed)
        if wave_left:
            wave_left -= passed
            if wave_left == 0 and now < end:
                wave_left, wave_at = wave_period(s), (wave_at + 1) & (2 * WAVE_BYTES - 1)
                h.wave_byte = s.high[R_WAVE + (wave_at >> 1)]


cdef inline void count_step(Machine* m, int step) noexcept nogil:
    # Count what a step of the sequencer counts.
    cdef Sound* h = &m.sound
    cdef int k, volume, register
    if step != ENVELOPE_STEP:
        return
    for k in range(3):
        if h.envelopes[k] == 0:
            continue
        h.envelopes[k] -= 1
        if h.envelopes[k]:
            continue
        register = register_of(m.s, NOISE if k == 2 else k, 2)
        volume = h.volumes[k] + (1 if register & RISES else -1)
        if register & 7 == 0:
            h.envelopes[k] = 8
        elif 0 <= volume <= 15:
            h.volumes[k], h.envelopes[k] = volume, register & 7


cdef inline void forget_stopped(Machine* m) noexcept nogil:
    # Leave nothing of channels that no longer play.
    cdef int k
    for k in range(3):
        if not plays(m.s, NOISE if k == 2 else k):
            m.sound.volumes[k] = m.sound.envelopes[k] = 0
    if not plays(m.s, NOISE):
        m.sound.lfsr = 0


# -- what the processor does -----------------------------------------------------------------------


cdef inline void power_written(Machine* m, bint was_on) noexcept nogil:
    cdef int[2] sums
    if not m.s.high[R_NR52] & 0x80:
        memcpy(sums, m.sound.sums, sizeof(sums))
        memset(&m.sound, 0, sizeof(m.sound))
        memcpy(m.sound.sums, sums, sizeof(sums))
    elif not was_on:
        m.sound.noise_left = noise_period(m.s)


cdef inline void trigger_heard(
    Machine* m, int channel, bint played, int64_t time
) noexcept nogil:
    cdef State* s = m.s
    cdef Sound* h = &m.sound
    cdef int k = volume_of(channel), register, step = s.sound_step
    if channel < WAVE_CHANNEL:
        h.duty_left[channel] = duty_period(s, channel) + (NEXT_TRIGGER if played else FIRST_STEP)
    if channel == WAVE_CHANNEL or not plays(s, channel):
        return
    # A step at the end of this machine cycle is as good as over.
    if (time + M_CYCLE - m.div_start) & (2 * SEQUENCER_BIT - 1) == 0:
        step = (step + 1) & 7
    register = register_of(s, channel, 2)
    h.volumes[k] = register >> 4
    h.envelopes[k] = (register & 7 if register & 7 else 8) + (step == ENVELOPE_STEP)
    if channel == NOISE:
        h.lfsr = 0
        h.noise_left = (h.noise_left if h.noise_left else noise_period(s)) + NOISE_DELAY


cdef inline void nudge(Machine* m, int k, int before, int value) noexcept nogil:
    # Change the volume of a channel that plays, as writing its register does.
    cdef bint counts = m.sound.envelopes[k] != 0, once = False
    cdef bint turned = (before ^ value) & RISES
    cdef int volume = m.sound.volumes[k]
    if counts and value & 7 and not before & 7:
        once = True
    if counts and value & 0x0F == RISES and before & 0x0F == RISES:
        once = True
    if turned and value & RISES:
        volume, once = (15 if counts and not before & 7 else 14) - volume, False
    elif turned:
        volume = 16 - volume
    if once:
        volume += 1 if value & RISES else -1
    m.sound.volumes[k] = volume & 15


cdef inline void register_written(
    Machine* m, int channel, int which, int before, bint played, int64_t time
) noexcept nogil:
    # A register of a channel was written, while there is power.
    cdef int value = register_of(m.s, channel, which)
    forget_stopped(m)
    if which == 4 and value & TRIGGERS:
        trigger_heard(m, channel, played, time)
    elif which == 3 and channel == NOISE:
        shift_noise(m)
        m.sound.noise_left = noise_period(m.s)
    elif which == 2 and channel != WAVE_CHANNEL and plays(m.s, channel):
        nudge(m, volume_of(channel), before, value)
