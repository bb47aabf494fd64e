"""Asteroid Prospector for the loop over lanes (``fastenv/_batch.pyx``): row functions and their table.

The rules are in ``_world.pxd`` and ``_game.pxd``, worlds in ``_resample.pxd``. Most of an observation is what is around the ship,
and most actions leave that as it is: it is the derived record, which the kernels compute.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from fastenv cimport _batch
from fastenv.prospector cimport _game
from fastenv.prospector._resample cimport resample_row
from fastenv.prospector._state cimport Shared, State, Tables

cdef extern from "_portable.h":
    void FASTENV_FETCH(const void* place) noexcept nogil

cdef extern from "_maths.h":
    double fastenv_neglog(double draw) noexcept nogil
    double fastenv_sine(double y) noexcept nogil
    double fastenv_expo(double x) noexcept nogil


cdef void reset(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef const Shared* c = <const Shared*>shared
    _game.reset_row(<State*>row, &c.rules, &c.tables, seed)


cdef bint step(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    cdef const Shared* c = <const Shared*>shared
    return _game.step_row(<State*>row, &c.rules, &c.tables, actions[0])


cdef bint is_legal(
    const void* row, const void* derived, const void* shared, int32_t agent, int32_t action
) noexcept nogil:
    return _game.is_legal(<const State*>row, action)


cdef void complete(void* row, const void* shared) noexcept nogil:
    # Generate the asteroids of nodes not visited yet.
    _game.materialise_row(<State*>row, &(<const Shared*>shared).tables)


cdef bint look_ahead(const void* row, const void* shared) noexcept nogil:
    # What a step reads behind the first fields depends on where the ship is.
    cdef const State* s = <const State*>row
    FASTENV_FETCH(&s.neighbor[s.current_node])
    FASTENV_FETCH(&s.depletion[s.current_node])
    return False


cdef void resample(
    void* row, const void* shared, int32_t agent, uint64_t* rng
) noexcept nogil:
    resample_row(<State*>row, &(<const Shared*>shared).tables, rng)


cdef _batch.RowTable table
table.reset, table.step, table.is_legal = reset, step, is_legal
table.complete, table.look_ahead, table.resample = complete, look_ahead, resample
table.state_size, table.shared_size = sizeof(State), sizeof(Shared)
table.fetch = 752  # the fields before the edges

TABLE = _batch.export(&table)


# -- for the tests of _maths.h: what the core computes with it, with bounds `slack` times as wide ------


def _approximate(str name, const double[::1] x not None, double[::1] out not None):
    """Write an approximation: ``neglog`` of draws, ``sine`` of quarter turns, or ``expo``."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        if name == "neglog":
            out[i] = fastenv_neglog(x[i])
        elif name == "sine":
            out[i] = fastenv_sine(x[i])
        else:
            out[i] = fastenv_expo(x[i])


def _noises(
    const uint32_t[::1] first not None, const uint32_t[::1] second not None, double slack,
    float[::1] out not None,
):
    """Write the noise of edge threats, one at a time; return how many needed the library."""
    cdef Py_ssize_t i, doubts = 0
    for i in range(first.shape[0]):
        doubts += not _game.find_noises(&first[i], &second[i], 1, slack, &out[i])
    return doubts


def _asteroids(const uint32_t[:, ::1] draws not None, double slack, float[:, ::1] out not None):
    """Write blocks of asteroids, 80 draws to 56 numbers; return how many needed the library."""
    cdef Py_ssize_t i, doubts = 0
    for i in range(draws.shape[0]):
        doubts += not _game.find_asteroids(&draws[i, 0], slack, &out[i, 0])
    return doubts


def _prices(
    uint8_t[:, ::1] states not None, const uint8_t[::1] tables not None,
    const uint32_t[:, ::1] draws not None, int dt, double slack,
):
    """Give rows new prices, first ones if ``dt`` is 0; return how many needed the library."""
    cdef Py_ssize_t i, doubts = 0
    cdef State* s
    cdef const Tables* tb = <const Tables*>&tables[0]
    for i in range(states.shape[0]):
        s = <State*>&states[i, 0]
        if dt:
            doubts += not _game.find_prices(s, tb, dt, &draws[i, 0], slack)
        else:
            doubts += not _game.find_first_prices(s, tb, slack)
    return doubts
