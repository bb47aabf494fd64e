"""The Game Boy in C: one machine, and environments for the loop over lanes (``fastenv/_batch.pyx``).

``_opcodes.pxd`` is the processor, ``_bus.pxd`` what it sees, ``_ppu.pxd`` the display,
``_machine.pxd`` their state, ``_frames.pxd`` runs them, ``_lane.pxd`` is an environment. The row of
a machine is the machine between two frames.
"""
from libc.stdint cimport int32_t, uint8_t, uint64_t

from fastenv cimport _batch
from fastenv.gameboy._bus cimport press
from fastenv.gameboy._frames cimport run_frames
from fastenv.gameboy._lane cimport reset_lane, step_lane
from fastenv.gameboy._machine cimport Machine
from fastenv.gameboy._state cimport HEIGHT, WIDTH, Episode, Knobs, Shared, State


cdef int set_machine(
    Machine* m, uint8_t[::1] row, const uint8_t[::1] shared, bint skips, int phase
) except -1:
    m.s, m.c = <State*>&row[0], <const Shared*>&shared[0]
    m.cart = &row[0] + sizeof(State)
    m.rom = &shared[0] + sizeof(Shared)
    m.lines = NULL
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


# -- environments ----------------------------------------------------------------------------------


cdef void reset(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    reset_lane(<uint8_t*>row, <const uint8_t*>shared, <const Knobs*>knobs, seed)


cdef bint step(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    step_lane(<uint8_t*>row, <const uint8_t*>shared, actions[0])
    return False


cdef bint is_legal(
    const void* row, const void* derived, const void* shared, int32_t agent, int32_t action
) noexcept nogil:
    return (<const Shared*>shared).rules.allowed[action]


cdef _batch.RowTable table
table.reset, table.step, table.is_legal = reset, step, is_legal
table.state_size, table.knobs_size = sizeof(State) + sizeof(Episode), sizeof(Knobs)
table.fetch = 256  # registers; programs differ in what else they read
table.chunk = 4  # some programs take much longer than others

TABLE = _batch.export(&table)
SHARED_SIZE = sizeof(Shared)  # what lies in front of the ROM
