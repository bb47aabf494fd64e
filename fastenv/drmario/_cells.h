/* A set of the 128 cells of a bottle, with a bit a cell. Cells are numbered from the top, eight a
   row, so that `cells_up` by 8 goes one row down the bottle. Where the compiler has integers of 128
   bits a set is one, elsewhere it is two words. */
#ifndef FASTENV_DRMARIO_CELLS_H
#define FASTENV_DRMARIO_CELLS_H

#include <stdint.h>

#include "../_portable.h"

#if FASTENV_GNU_C && defined(__SIZEOF_INT128__)

__extension__ typedef unsigned __int128 fastenv_cells;

FASTENV_INLINE fastenv_cells cells_of(uint64_t low, uint64_t high) {
    return (fastenv_cells)high << 64 | low;
}

FASTENV_INLINE uint64_t cells_low(fastenv_cells a) { return (uint64_t)a; }
FASTENV_INLINE uint64_t cells_high(fastenv_cells a) { return (uint64_t)(a >> 64); }
FASTENV_INLINE fastenv_cells cells_not(fastenv_cells a) { return ~a; }
FASTENV_INLINE fastenv_cells cells_and(fastenv_cells a, fastenv_cells b) { return a & b; }
FASTENV_INLINE fastenv_cells cells_or(fastenv_cells a, fastenv_cells b) { return a | b; }
FASTENV_INLINE fastenv_cells cells_xor(fastenv_cells a, fastenv_cells b) { return a ^ b; }

/* to higher and to lower numbers, by 1 to 64 */
FASTENV_INLINE fastenv_cells cells_up(fastenv_cells a, int by) { return a << by; }
FASTENV_INLINE fastenv_cells cells_down(fastenv_cells a, int by) { return a >> by; }

#else

typedef struct {
    uint64_t low, high;
} fastenv_cells;

FASTENV_INLINE fastenv_cells cells_of(uint64_t low, uint64_t high) {
    fastenv_cells cells;
    cells.low = low;
    cells.high = high;
    return cells;
}

FASTENV_INLINE uint64_t cells_low(fastenv_cells a) { return a.low; }
FASTENV_INLINE uint64_t cells_high(fastenv_cells a) { return a.high; }
FASTENV_INLINE fastenv_cells cells_not(fastenv_cells a) { return cells_of(~a.low, ~a.high); }

FASTENV_INLINE fastenv_cells cells_and(fastenv_cells a, fastenv_cells b) {
    return cells_of(a.low & b.low, a.high & b.high);
}

FASTENV_INLINE fastenv_cells cells_or(fastenv_cells a, fastenv_cells b) {
    return cells_of(a.low | b.low, a.high | b.high);
}

FASTENV_INLINE fastenv_cells cells_xor(fastenv_cells a, fastenv_cells b) {
    return cells_of(a.low ^ b.low, a.high ^ b.high);
}

FASTENV_INLINE fastenv_cells cells_up(fastenv_cells a, int by) {
    return by == 64 ? cells_of(0, a.low) : cells_of(a.low << by, a.high << by | a.low >> (64 - by));
}

FASTENV_INLINE fastenv_cells cells_down(fastenv_cells a, int by) {
    return by == 64 ? cells_of(a.high, 0) : cells_of(a.low >> by | a.high << (64 - by), a.high >> by);
}

#endif

FASTENV_INLINE int cells_any(fastenv_cells a) { return (cells_low(a) | cells_high(a)) != 0; }

FASTENV_INLINE int cells_size(fastenv_cells a) {
    return fastenv_popcount(cells_low(a)) + fastenv_popcount(cells_high(a));
}

FASTENV_INLINE fastenv_cells cells_less(fastenv_cells a, fastenv_cells b) {
    return cells_and(a, cells_not(b));
}

FASTENV_INLINE uint8_t cells_row(fastenv_cells a, int row) {
    return (uint8_t)((row < 8 ? cells_low(a) : cells_high(a)) >> 8 * (row & 7));
}

#endif
