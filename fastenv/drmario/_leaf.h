/* What `greedy` counts in a bottle (docs/drmario.md, 17.2), with a bit a cell; the readable twin is
   weigh_bottle in greedy.py.

   Numbers of several bits a cell are kept as one set of cells a bit, the lowest first. */
#ifndef FASTENV_DRMARIO_LEAF_H
#define FASTENV_DRMARIO_LEAF_H

#include <stdint.h>
#include <string.h>

#include "_cells.h"

typedef struct {
    fastenv_cells color[3]; /* cells that are not free */
    fastenv_cells virus;
} fastenv_planes;

/* in the order of GREEDY, which has `virus` before them and `frame` behind */
typedef struct {
    int half, row_pair, row_triple, column_pair, column_triple;
    int virus_row, virus_column, gap, cover, change, neck;
} fastenv_counts;

FASTENV_INLINE void fastenv_set_cell(fastenv_cells *cells, int cell) {
    uint64_t bit = (uint64_t)1 << (cell & 63);
    *cells = cells_or(*cells, cell < 64 ? cells_of(bit, 0) : cells_of(0, bit));
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
    planes.color[0] = cells_of(zero[0], zero[1]);
    planes.color[1] = cells_of(one[0], one[1]);
    planes.color[2] = cells_of(two[0], two[1]);
    planes.virus = cells_of(virus[0], virus[1]);
    return planes;
}

/* whether a colour has four cells beside or above each other */
FASTENV_INLINE int fastenv_matches(fastenv_cells color) {
    const fastenv_cells starts = cells_of(0x1f1f1f1f1f1f1f1fu, 0x1f1f1f1f1f1f1f1fu);
    fastenv_cells row = cells_and(color, cells_down(color, 1));
    fastenv_cells column = cells_and(color, cells_down(color, 8));
    row = cells_and(cells_and(row, cells_down(row, 2)), starts);
    return cells_any(cells_or(row, cells_and(column, cells_down(column, 16))));
}

/* how often each cell is in one of four sets: a number of three bits */
typedef struct {
    fastenv_cells bit[3];
} fastenv_sum;

FASTENV_INLINE fastenv_sum fastenv_sum_of(
    fastenv_cells a, fastenv_cells b, fastenv_cells c, fastenv_cells d
) {
    fastenv_cells odd = cells_xor(a, b), other = cells_xor(c, d), carry = cells_and(odd, other);
    fastenv_cells one = cells_and(a, b), two = cells_and(c, d), twos = cells_xor(one, two);
    fastenv_sum sum;
    sum.bit[0] = cells_xor(odd, other);
    sum.bit[1] = cells_xor(twos, carry);
    sum.bit[2] = cells_or(cells_and(one, two), cells_and(carry, twos));
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
        fastenv_cells cells = planes->color[color], open = cells_or(cells, reached), several;
        fastenv_cells virus = cells_and(cells, planes->virus);
        fastenv_cells viruses = cells_or(virus, cells_down(virus, step));
        fastenv_sum count = fastenv_sum_of(
            cells, cells_down(cells, step), cells_down(cells, 2 * step), cells_down(cells, 3 * step)
        );
        open = cells_and(open, cells_down(open, step));
        open = cells_and(open, cells_down(open, 2 * step));
        open = cells_and(
            cells_and(open, starts), cells_or(cells_or(count.bit[0], count.bit[1]), count.bit[2])
        );
        viruses = cells_and(cells_or(viruses, cells_down(viruses, 2 * step)), open);
        several = cells_and(open, count.bit[1]);
        lines.all = cells_or(lines.all, open);
        lines.pair = cells_or(lines.pair, cells_less(several, count.bit[0]));
        lines.triple = cells_or(lines.triple, cells_and(several, count.bit[0]));
        for (bit = 0; bit < 3; bit++)
            lines.infected.bit[bit] = cells_or(
                lines.infected.bit[bit], cells_and(viruses, count.bit[bit])
            );
    }
    return lines;
}

FASTENV_INLINE int fastenv_total(fastenv_sum sum) {
    return cells_size(sum.bit[0]) + 2 * cells_size(sum.bit[1]) + 4 * cells_size(sum.bit[2]);
}

FASTENV_INLINE uint8_t fastenv_choose(uint8_t which, uint8_t one, uint8_t other) {
    return (which & one) | (~which & other);
}

/* A byte a bit of the lowest row, of each column, that is reached from above. */
FASTENV_INLINE void fastenv_lowest_rows(fastenv_cells reached, uint8_t *bits) {
    uint8_t odd[8];
    int i;
    for (i = 0; i < 8; i++)
        odd[i] = cells_row(reached, 2 * i + 1);
    bits[3] = cells_row(reached, 8);
    bits[2] = fastenv_choose(bits[3], cells_row(reached, 12), cells_row(reached, 4));
    bits[1] = fastenv_choose(
        bits[3], fastenv_choose(bits[2], cells_row(reached, 14), cells_row(reached, 10)),
        fastenv_choose(bits[2], cells_row(reached, 6), cells_row(reached, 2))
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
        cells_and(lines, reached), cells_and(cells_up(lines, 1), reached),
        cells_and(cells_up(lines, 2), reached), cells_and(cells_up(lines, 3), reached)
    );
    fastenv_cells borrow = cells_of(0, 0);
    uint8_t lowest[4];
    int i, bit, gaps = 0;
    fastenv_lowest_rows(reached, lowest);
    for (bit = 0; bit < 4; bit++) { /* the lowest row less that of the cell */
        uint64_t bytes = lowest[bit] * 0x0101010101010101u;
        fastenv_cells from = cells_of(bytes, bytes);
        fastenv_cells row = cells_of(rows[bit], bit == 3 ? ~(uint64_t)0 : rows[bit]);
        fastenv_cells under = cells_xor(cells_xor(from, row), borrow);
        fastenv_sum counted;
        for (i = 0; i < 3; i++)
            counted.bit[i] = cells_and(times.bit[i], under);
        borrow = cells_or(cells_less(cells_or(row, borrow), from), cells_and(row, borrow));
        gaps += fastenv_total(counted) << bit;
    }
    return gaps;
}

/* Cells with another colour than the last one above them that is not free. */
FASTENV_INLINE fastenv_cells fastenv_changes(
    const fastenv_planes *planes, fastenv_cells full, fastenv_cells reached
) {
    fastenv_cells one = cells_not(full), two = cells_and(one, cells_up(one, 8));
    fastenv_cells four = cells_and(two, cells_up(two, 16)), eight, same = cells_of(0, 0);
    int color;
    eight = cells_and(four, cells_up(four, 32));
    for (color = 0; color < 3; color++) {
        fastenv_cells last = planes->color[color];
        last = cells_or(last, cells_and(one, cells_up(last, 8)));
        last = cells_or(last, cells_and(two, cells_up(last, 16)));
        last = cells_or(last, cells_and(four, cells_up(last, 32)));
        last = cells_or(last, cells_and(eight, cells_up(last, 64)));
        same = cells_or(same, cells_and(planes->color[color], cells_up(last, 8)));
    }
    return cells_less(cells_and(full, cells_up(cells_not(reached), 8)), same);
}

/* squares of the heights above NECK_HEIGHT in the columns of the neck */
FASTENV_INLINE int fastenv_neck(fastenv_cells reached) {
    /* a square is the sum of the first odd numbers: rows 0 to 6 count 13, 11, ... 1 */
    uint64_t full = ~cells_low(reached) & 0x003c3c3c3c3c3c3cu;
    return fastenv_popcount(full) + 2 * fastenv_popcount(full & 0x0000ff00ff00ff00u) +
           4 * fastenv_popcount(full & 0x000000ffff0000ffu) +
           8 * fastenv_popcount(full & 0x0000000000ffffffu);
}

FASTENV_CLONED("popcnt") fastenv_counts fastenv_count_bottle(const fastenv_planes *planes) {
    const fastenv_cells everywhere = cells_of(~(uint64_t)0, ~(uint64_t)0);
    const fastenv_cells starts = cells_of(0x1f1f1f1f1f1f1f1fu, 0x1f1f1f1f1f1f1f1fu);
    fastenv_cells full = cells_or(cells_or(planes->color[0], planes->color[1]), planes->color[2]);
    fastenv_cells changes, reached = full, viruses = planes->virus;
    fastenv_lines rows, columns;
    fastenv_counts counts;
    reached = cells_or(reached, cells_up(reached, 8));
    reached = cells_or(reached, cells_up(reached, 16));
    reached = cells_or(reached, cells_up(reached, 32));
    reached = cells_not(cells_or(reached, cells_up(reached, 64)));
    rows = fastenv_lines_of(planes, reached, starts, 1);
    columns = fastenv_lines_of(planes, reached, everywhere, 8);
    changes = fastenv_changes(planes, full, reached);
    counts.half = cells_size(cells_less(full, planes->virus));
    counts.row_pair = cells_size(rows.pair);
    counts.row_triple = cells_size(rows.triple);
    counts.column_pair = cells_size(columns.pair);
    counts.column_triple = cells_size(columns.triple);
    counts.virus_row = fastenv_total(rows.infected);
    counts.virus_column = fastenv_total(columns.infected);
    counts.gap = fastenv_gaps(rows.all, reached);
    counts.change = cells_size(changes);
    counts.cover = 0;
    for (; cells_any(viruses); viruses = cells_down(viruses, 8)) /* viruses so many rows below a change */
        counts.cover += cells_size(cells_and(changes, viruses));
    counts.neck = fastenv_neck(reached);
    return counts;
}

#endif
