# Where the time of steps goes; the header says how it is counted.
from libc.stdint cimport int64_t

cdef extern from "_times.h":
    ctypedef struct Spent:
        int64_t steps, watched, drawing, stepping, encoding, resetting

    ctypedef struct Watch:
        pass

    Spent spent
    bint counts
    bint rarely "FASTENV_RARELY"(bint truth) noexcept nogil
    int64_t clock_ns() noexcept nogil
    void start_step(Watch* watch) noexcept nogil
    void start_drawing(Watch* watch) noexcept nogil
    void end_drawing(Watch* watch) noexcept nogil
    void end_step(Watch* watch) noexcept nogil
    int64_t FASTENV_ADD(int64_t* number, int64_t amount) noexcept nogil
