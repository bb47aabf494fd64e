"""The Game Boy in C: one machine, and environments for the loop over lanes (``fastenv/_batch.pyx``).

``_opcodes.pxd`` is the processor, ``_bus.pxd`` what it sees, ``_ppu.pxd`` the display,
``_transfers.pxd`` copies and sends, ``_machine.pxd`` is their state, ``_frames.pxd`` runs them,
``_lane.pxd`` is an environment, ``_program.pxd`` and ``_hooks.pxd`` are its RAM map;
``_link.pxd`` and ``_linked_lane.pxd`` are the same for two machines on a cable. The row of a machine is the machine between two frames.
``_times.h`` counts where the time goes.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.string cimport memset

from fastenv cimport _batch
from fastenv._rng cimport rng_bounded, rng_next
from fastenv.gameboy._bus cimport press
from fastenv.gameboy._frames cimport run_frames
from fastenv.gameboy._lane cimport Lane, reset_lane, step_lane
from fastenv.gameboy._link cimport connect, run_linked_frames
from fastenv.gameboy._linked_lane cimport reset_link, side_at, step_link
from fastenv.gameboy._machine cimport Machine
from fastenv.gameboy._state cimport (
    HEIGHT, LINE_BYTES, SAMPLES, WIDTH, Episode, Knobs, LinkHead, Shared, Sound, State,
)
from fastenv.gameboy cimport _times


cdef int set_machine(
    Machine* m, uint8_t[::1] row, const uint8_t[::1] shared, bint skips, int phase
) except -1:
    m.s, m.c = <State*>&row[0], <const Shared*>&shared[0]
    m.cart = &row[0] + sizeof(State)
    m.rom = m.program = &shared[0] + sizeof(Shared)
    m.rules, m.watched, m.pass_trap = NULL, NULL, NULL
    m.lines, m.other = NULL, NULL
    m.line = &row[0] + sizeof(State) + m.c.ram_bytes if m.c.by_pixel else NULL
    m.heard, m.num_samples = NULL, 0
    m.skips, m.phase = skips, phase
    memset(&m.watch, 0, sizeof(m.watch))
    if row.shape[0] != <Py_ssize_t>sizeof(State) + m.c.ram_bytes + m.c.by_pixel * LINE_BYTES + (
        m.c.audio * <Py_ssize_t>sizeof(Sound)
    ):
        raise ValueError(f"row has {row.shape[0]} bytes, the cartridge's machines have others")
    if m.c.audio:
        m.heard = &row[0] + row.shape[0] - sizeof(Sound)
    if shared.shape[0] < <Py_ssize_t>sizeof(Shared) + (m.c.rom_banks << 14):
        raise ValueError(f"shared has {shared.shape[0]} bytes, too few for the ROM")
    return 0


cdef uint8_t* checked_picture(uint8_t[::1] picture) except? NULL:
    if picture is None:
        return NULL
    if picture.shape[0] != WIDTH * HEIGHT:
        raise ValueError(f"picture has {picture.shape[0]} bytes, must have {WIDTH * HEIGHT}")
    return &picture[0]


def advance(
    uint8_t[::1] row not None, const uint8_t[::1] shared not None, int frames,
    uint8_t[::1] picture=None, bint skip_idle=True, int bus_phase=0, int16_t[::1] samples=None,
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
    samples : int16 array of frames * 532 * 2, optional
        Left and right of each sample of the sound, of machines that have them.
    """
    cdef Machine m
    cdef uint8_t* target = checked_picture(picture)
    set_machine(&m, row, shared, skip_idle, bus_phase)
    if samples is not None and m.c.audio and frames > 0:
        if samples.shape[0] != <Py_ssize_t>frames * SAMPLES * 2:
            raise ValueError(f"samples has {samples.shape[0]}, must have {frames * SAMPLES * 2}")
        m.samples, m.num_samples = <uint8_t*>&samples[0], <int64_t>frames * SAMPLES
    with nogil:
        run_frames(&m, frames, target)


def advance_linked(
    uint8_t[::1] row not None, const uint8_t[::1] shared not None,
    uint8_t[::1] other_row not None, const uint8_t[::1] other_shared not None, int frames,
    uint8_t[::1] picture=None, uint8_t[::1] other_picture=None, bint skip_idle=True,
):
    """Run frames of two machines on a cable; see `advance`.

    Their clocks must be in the same frame, which :func:`fastenv.gameboy.console.LinkedConsoles`
    looks at.
    """
    cdef Machine one
    cdef Machine two
    cdef uint8_t* first = checked_picture(picture)
    cdef uint8_t* second = checked_picture(other_picture)
    set_machine(&one, row, shared, skip_idle, 0)
    set_machine(&two, other_row, other_shared, skip_idle, 0)
    connect(&one, &two)
    with nogil:
        run_linked_frames(&one, &two, frames, first, second)


def press_keys(uint8_t[::1] row not None, uint8_t keys):
    """Set which keys are pressed, bits of ``tables.Key``, on the machine of a row."""
    press(<State*>&row[0], keys)


# -- environments ----------------------------------------------------------------------------------


cdef void reset(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef int64_t began = _times.clock_ns() if _times.counts else 0
    reset_lane(<uint8_t*>row, <const uint8_t*>shared, <const Knobs*>knobs, seed)
    if began:
        _times.FASTENV_ADD(&_times.spent.resetting, _times.clock_ns() - began)


cdef bint step(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    step_lane(<uint8_t*>row, <const uint8_t*>shared, actions[0])
    return False


cdef bint is_legal(
    const void* row, const void* derived, const void* shared, int32_t agent, int32_t action
) noexcept nogil:
    return (<const Shared*>shared).rules.allowed[action]


cdef void resample(
    void* row, const void* shared, int32_t agent, uint64_t* rng
) noexcept nogil:
    # Nothing is hidden but the luck to come.
    cdef Episode* e = <Episode*>(<char*>row + sizeof(State))
    cdef int k
    for k in range(4):
        e.rng[k] = rng_next(rng)


cdef _batch.RowTable table
table.reset, table.step, table.is_legal = reset, step, is_legal
table.resample = resample
table.state_size, table.knobs_size = sizeof(State) + sizeof(Episode), sizeof(Knobs)
table.fetch = 256  # registers; programs differ in what else they read
table.chunk = 4  # some programs take much longer than others

TABLE = _batch.export(&table)

# -- two machines on a cable -----------------------------------------------------------------------


cdef void reset_two(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    reset_link(<uint8_t*>row, <const uint8_t*>shared, <const Knobs*>knobs, seed)


cdef bint step_two(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    step_link(<uint8_t*>row, <const uint8_t*>shared, actions)
    return False


cdef bint is_legal_of_two(
    const void* row, const void* derived, const void* shared, int32_t agent, int32_t action
) noexcept nogil:
    return side_at(<uint8_t*>row, <const uint8_t*>shared, agent).r.allowed[action]


cdef void resample_two(
    void* row, const void* shared, int32_t agent, uint64_t* rng
) noexcept nogil:
    # Nothing is hidden but the luck to come.
    cdef LinkHead* h = <LinkHead*>row
    cdef Lane side
    cdef int i, k
    for i in range(2):
        side = side_at(<uint8_t*>row, <const uint8_t*>shared, i)
        for k in range(4):
            side.e.rng[k] = rng_next(rng)
    for k in range(4):
        h.rng[k] = rng_next(rng)
    for k in range(4):
        h.bot_rng[k] = rng_next(rng)


cdef int32_t random_bot(
    const void* row, const void* derived, const void* shared, const void* params, int32_t agent,
    const void* obs, const uint8_t* mask, uint64_t* rng
) noexcept nogil:
    # Any legal action; the readable twin is linked/bots.py.
    cdef int count = side_at(<uint8_t*>row, <const uint8_t*>shared, agent).r.num_actions
    cdef int k, left = 0
    for k in range(count):
        left += mask[k] != 0
    left = rng_bounded(rng, left)
    for k in range(count):
        left -= mask[k] != 0
        if left < 0:
            return k
    return 0


cdef _batch.RowTable link_table
link_table.reset, link_table.step, link_table.is_legal = reset_two, step_two, is_legal_of_two
link_table.resample, link_table.bot = resample_two, random_bot
link_table.state_size, link_table.knobs_size = sizeof(LinkHead), sizeof(Knobs)
link_table.bot_size = sizeof(int32_t)
link_table.fetch, link_table.chunk = 256, 2

LINK_TABLE = _batch.export(&link_table)
SHARED_SIZE = sizeof(Shared)  # what lies in front of the ROM

# -- where the time of steps goes (docs/gameboy.md, 15) --------------------------------------------


cdef _batch.observe_fn untimed_observe = NULL


cdef void timed_observe(
    const void* row, const void* derived, const void* shared, void* obs, uint8_t* mask
) noexcept nogil:
    cdef int64_t began = _times.clock_ns() if _times.counts else 0
    untimed_observe(row, derived, shared, obs, mask)
    if began:
        _times.FASTENV_ADD(&_times.spent.encoding, _times.clock_ns() - began)


def with_times(uintptr_t observe):
    """Return the address of a function that does what ``observe`` does, and is timed.

    There is one for all engines, as there is one ``observe``.
    """
    global untimed_observe
    untimed_observe = <_batch.observe_fn>observe
    return <uintptr_t>timed_observe


def count_times(bint on):
    """Begin to count where the time of steps goes in this process, or leave it."""
    _times.counts = on


def times_spent():
    """Return the counters of time: the fields of ``Spent`` in ``_times.h``, by name."""
    return _times.spent
