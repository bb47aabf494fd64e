/* What `greedy` counts in a bottle (docs/drmario.md, 17.2), with a bit a cell; the readable twin is
   weigh_bottle in greedy.py.

   Cells are numbered from the top, eight a row, so that `<< 8` goes one row down. Numbers of
   several bits a cell are kept as one set of cells a bit, the lowest first. */
#ifndef FASTENV_DRMARIO_LEAF_H
#define FASTENV_DRMARIO_LEAF_H

#include <stdint.h>
#include <string.h>

typedef unsigned __int128 fastenv_cells;

typedef struct {
    fastenv_cells color[3]; /* cells that are not free */
    fastenv_cells virus;
} fastenv_planes;

/* in the order of GREEDY, which has `virus` before them and `frame` behind */
typedef struct {
    int half, row_pair, row_triple, column_pair, column_triple;
    int virus_row, virus_column, gap, cover, change, neck;
} fastenv_counts;

#define FASTENV_INLINE static inline __attribute__((always_inline))

/* Compiled twice, for the instruction that counts bits too; see prospector/_maths.h. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define FASTENV_COUNTING static __attribute__((target_clones("popcnt", "default")))
#else
#define FASTENV_COUNTING static
#endif

FASTENV_INLINE fastenv_cells fastenv_both(uint64_t low, uint64_t high) {
    return (fastenv_cells)high << 64 | low;
}

FASTENV_INLINE int fastenv_size(fastenv_cells cells) {
    return __builtin_popcountll((uint64_t)cells) + __builtin_popcountll((uint64_t)(cells >> 64));
}

FASTENV_INLINE void fastenv_set_cell(fastenv_cells *cells, int cell) {
    *cells |= (fastenv_cells)1 << cell;
}

FASTENV_INLINE uint8_t fastenv_row(fastenv_cells cells, int row) {
    return (uint8_t)(cells >> 8 * row);
}

/* one bit of each of eight bytes, which has been shifted to its highest, as a byte */
FASTENV_INLINE uint64_t fastenv_gathered(uint64_t word) {
    return ((word >> 7) & 0x0101010101010101u) * 0x0102040810204080u >> 56;
}

/* the planes of 128 tiles (docs/drmario.md, 1) */
FASTENV_INLINE fastenv_planes fastenv_planes_of(const uint8_t *board) {
    uint64_t zero[2] = {0, 0}, one[2] = {0, 0}, two[2] = {0, 0}, virus[2] = {0, 0};
    fastenv_planes planes;
    int row;
    for (row = 0; row < 16; row++) {
        uint64_t word, full;
        int shift = 8 * (row & 7), half = row >> 3;
        memcpy(&word, board + 8 * row, 8);
        full = ~(word & word << 1 & word << 2 & word << 3);
        zero[half] |= fastenv_gathered(full & ~(word << 7 | word << 6)) << shift;
        one[half] |= fastenv_gathered(full & word << 7) << shift;
        two[half] |= fastenv_gathered(full & word << 6) << shift;
        virus[half] |= fastenv_gathered(word & word << 1 & ~(word << 2) & word << 3) << shift;
    }
    planes.color[0] = fastenv_both(zero[0], zero[1]);
    planes.color[1] = fastenv_both(one[0], one[1]);
    planes.color[2] = fastenv_both(two[0], two[1]);
    planes.virus = fastenv_both(virus[0], virus[1]);
    return planes;
}

/* whether a colour has four cells beside or above each other */
FASTENV_INLINE int fastenv_matches(fastenv_cells color) {
    const fastenv_cells starts = fastenv_both(0x1f1f1f1f1f1f1f1fu, 0x1f1f1f1f1f1f1f1fu);
    fastenv_cells row = color & color >> 1, column = color & color >> 8;
    return ((row & row >> 2 & starts) | (column & column >> 16)) != 0;
}

/* how often each cell is in one of four sets: a number of three bits */
typedef struct {
    fastenv_cells bit[3];
} fastenv_sum;

FASTENV_INLINE fastenv_sum fastenv_sum_of(
    fastenv_cells a, fastenv_cells b, fastenv_cells c, fastenv_cells d
) {
    fastenv_cells odd = a ^ b, other = c ^ d, one = a & b, two = c & d, carry = odd & other;
    fastenv_sum sum = {{odd ^ other, one ^ two ^ carry, (one & two) | (carry & (one ^ two))}};
    return sum;
}

/* open lines by the first of their four cells, which are `step` apart */
typedef struct {
    fastenv_cells all, pair, triple;
    fastenv_sum infected; /* cells of their colour, where one of them is a virus */
} fastenv_lines;

FASTENV_INLINE fastenv_lines fastenv_lines_of(
    const fastenv_planes *planes, fastenv_cells reached, fastenv_cells starts, int step
) {
    fastenv_lines lines;
    int color, bit;
    memset(&lines, 0, sizeof lines);
    for (color = 0; color < 3; color++) {
        fastenv_cells cells = planes->color[color], open = cells | reached;
        fastenv_cells virus = cells & planes->virus, viruses = virus | virus >> step;
        fastenv_sum count = fastenv_sum_of(
            cells, cells >> step, cells >> 2 * step, cells >> 3 * step
        );
        open &= open >> step;
        open &= open >> 2 * step;
        open &= starts & (count.bit[0] | count.bit[1] | count.bit[2]);
        viruses = (viruses | viruses >> 2 * step) & open;
        lines.all |= open;
        lines.pair |= open & count.bit[1] & ~count.bit[0];
        lines.triple |= open & count.bit[1] & count.bit[0];
        for (bit = 0; bit < 3; bit++)
            lines.infected.bit[bit] |= viruses & count.bit[bit];
    }
    return lines;
}

FASTENV_INLINE int fastenv_total(fastenv_sum sum) {
    return fastenv_size(sum.bit[0]) + 2 * fastenv_size(sum.bit[1]) + 4 * fastenv_size(sum.bit[2]);
}

FASTENV_INLINE uint8_t fastenv_choose(uint8_t which, uint8_t one, uint8_t other) {
    return (which & one) | (~which & other);
}

/* A byte a bit of the lowest row, of each column, that is reached from above. */
FASTENV_INLINE void fastenv_lowest_rows(fastenv_cells reached, uint8_t *bits) {
    uint8_t odd[8];
    int i;
    for (i = 0; i < 8; i++)
        odd[i] = fastenv_row(reached, 2 * i + 1);
    bits[3] = fastenv_row(reached, 8);
    bits[2] = fastenv_choose(bits[3], fastenv_row(reached, 12), fastenv_row(reached, 4));
    bits[1] = fastenv_choose(
        bits[3], fastenv_choose(bits[2], fastenv_row(reached, 14), fastenv_row(reached, 10)),
        fastenv_choose(bits[2], fastenv_row(reached, 6), fastenv_row(reached, 2))
    );
    for (i = 0; i < 4; i++)
        odd[i] = fastenv_choose(bits[1], odd[2 * i + 1], odd[2 * i]);
    bits[0] = fastenv_choose(
        bits[3], fastenv_choose(bits[2], odd[3], odd[2]), fastenv_choose(bits[2], odd[1], odd[0])
    );
}

/* free cells under the free cells of lines that lie in rows, one for each line */
FASTENV_INLINE int fastenv_gaps(fastenv_cells lines, fastenv_cells reached) {
    const uint64_t rows[4] = {0xff00ff00ff00ff00u, 0xffff0000ffff0000u, 0xffffffff00000000u, 0};
    fastenv_sum times = fastenv_sum_of(
        lines & reached, lines << 1 & reached, lines << 2 & reached, lines << 3 & reached
    );
    fastenv_cells borrow = 0;
    uint8_t lowest[4];
    int bit, gaps = 0;
    fastenv_lowest_rows(reached, lowest);
    for (bit = 0; bit < 4; bit++) { /* the lowest row less that of the cell */
        uint64_t bytes = lowest[bit] * 0x0101010101010101u;
        fastenv_cells from = fastenv_both(bytes, bytes);
        fastenv_cells row = fastenv_both(rows[bit], bit == 3 ? ~(uint64_t)0 : rows[bit]);
        fastenv_cells under = from ^ row ^ borrow;
        fastenv_sum counted = {{times.bit[0] & under, times.bit[1] & under, times.bit[2] & under}};
        borrow = (~from & (row | borrow)) | (row & borrow);
        gaps += fastenv_total(counted) << bit;
    }
    return gaps;
}

/* Cells with another colour than the last one above them that is not free. */
FASTENV_INLINE fastenv_cells fastenv_changes(
    const fastenv_planes *planes, fastenv_cells full, fastenv_cells reached
) {
    fastenv_cells one = ~full, two = one & one << 8, four = two & two << 16;
    fastenv_cells eight = four & four << 32, same = 0;
    int color;
    for (color = 0; color < 3; color++) {
        fastenv_cells last = planes->color[color];
        last |= one & last << 8;
        last |= two & last << 16;
        last |= four & last << 32;
        last |= eight & last << 64;
        same |= planes->color[color] & last << 8;
    }
    return full & ~reached << 8 & ~same;
}

/* squares of the heights above NECK_HEIGHT in the columns of the neck */
FASTENV_INLINE int fastenv_neck(fastenv_cells reached) {
    /* a square is the sum of the first odd numbers: rows 0 to 6 count 13, 11, ... 1 */
    uint64_t full = ~(uint64_t)reached & 0x003c3c3c3c3c3c3cu;
    return __builtin_popcountll(full) + 2 * __builtin_popcountll(full & 0x0000ff00ff00ff00u) +
           4 * __builtin_popcountll(full & 0x000000ffff0000ffu) +
           8 * __builtin_popcountll(full & 0x0000000000ffffffu);
}

FASTENV_COUNTING fastenv_counts fastenv_count_bottle(const fastenv_planes *planes) {
    const fastenv_cells everywhere = ~(fastenv_cells)0;
    const fastenv_cells starts = fastenv_both(0x1f1f1f1f1f1f1f1fu, 0x1f1f1f1f1f1f1f1fu);
    fastenv_cells full = planes->color[0] | planes->color[1] | planes->color[2], reached = full;
    fastenv_cells changes, viruses = planes->virus;
    fastenv_lines rows, columns;
    fastenv_counts counts;
    reached |= reached << 8;
    reached |= reached << 16;
    reached |= reached << 32;
    reached = ~(reached | reached << 64);
    rows = fastenv_lines_of(planes, reached, starts, 1);
    columns = fastenv_lines_of(planes, reached, everywhere, 8);
    changes = fastenv_changes(planes, full, reached);
    counts.half = fastenv_size(full & ~planes->virus);
    counts.row_pair = fastenv_size(rows.pair);
    counts.row_triple = fastenv_size(rows.triple);
    counts.column_pair = fastenv_size(columns.pair);
    counts.column_triple = fastenv_size(columns.triple);
    counts.virus_row = fastenv_total(rows.infected);
    counts.virus_column = fastenv_total(columns.infected);
    counts.gap = fastenv_gaps(rows.all, reached);
    counts.change = fastenv_size(changes);
    counts.cover = 0;
    for (; viruses; viruses >>= 8) /* viruses so many rows below a change */
        counts.cover += fastenv_size(changes & viruses);
    counts.neck = fastenv_neck(reached);
    return counts;
}

#endif
