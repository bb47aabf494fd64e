# What a bottle weighs, with a bit a cell (docs/drmario.md, 17.2); the readable twin is greedy.py.
from libc.stdint cimport int64_t, uint8_t

from fastenv.drmario._state cimport BotParams

cdef extern from "_leaf.h":
    # Only moved about here: it has 128 bits, or is a structure of two words.
    ctypedef unsigned long long Cells "fastenv_cells"

    ctypedef struct Planes "fastenv_planes":
        Cells color[3]
        Cells virus

    ctypedef struct Counts "fastenv_counts":
        int half, row_pair, row_triple, column_pair, column_triple
        int virus_row, virus_column, gap, cover, change, neck

    bint has_matches "fastenv_matches"(Cells color) noexcept nogil
    void set_cell "fastenv_set_cell"(Cells* cells, int cell) noexcept nogil
    Planes planes_of "fastenv_planes_of"(const uint8_t* board) noexcept nogil
    Counts count_bottle "fastenv_count_bottle"(const Planes* planes) noexcept nogil


cdef inline int64_t weigh_planes(const BotParams* w, const Planes* planes) noexcept nogil:
    cdef Counts n = count_bottle(planes)
    return (
        <int64_t>w.half * n.half + w.row_pair * n.row_pair + w.row_triple * n.row_triple
        + w.column_pair * n.column_pair + w.column_triple * n.column_triple
        + w.virus_row * n.virus_row + w.virus_column * n.virus_column + w.gap * n.gap
        + w.cover * n.cover + w.change * n.change + w.neck * n.neck
    )
