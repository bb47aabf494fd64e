/* A hand fits one vector register. These helpers work on all of it at once and without branches:
   hands are short and of random length, so that a mispredicted branch costs more than it saves.
   Vector extensions of GCC and Clang; no particular processor is needed. */
#ifndef FASTENV_SKULLKING_LANES_H
#define FASTENV_SKULLKING_LANES_H

#include <stdint.h>
#include <string.h>

#define FASTENV_HAND 11 /* MAX_HAND */

typedef int8_t fastenv_bytes __attribute__((vector_size(16)));
typedef int16_t fastenv_words __attribute__((vector_size(16)));

/* Remove byte `slot` of a hand and move the rest up; the last slot becomes 0.
   Reads 17 bytes from `hand`, writes 11. */
static inline void fastenv_close_gap(int8_t *hand, int slot) {
    const fastenv_bytes place = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    fastenv_bytes here, above, moves;
    memcpy(&here, hand, 16);
    memcpy(&above, hand + 1, 16);
    moves = place >= (int8_t)slot;
    here = (above & moves) | (here & ~moves);
    here[FASTENV_HAND - 1] = 0;
    memcpy(hand, &here, FASTENV_HAND);
}

/* Write the first n of 16 readable cards in ascending order: a card's place is the number of
   smaller ones. */
static inline void fastenv_sort_hand(int8_t *hand, const int8_t *cards, int n) {
    fastenv_bytes keys, place = {0};
    int i;
    memcpy(&keys, cards, 16);
    for (i = 0; i < n; i++)
        place -= keys > cards[i];
    for (i = 0; i < n; i++)
        hand[place[i]] = cards[i];
}

/* Return element `index` in ascending order of k distinct positive keys, k <= 11; keys[k .. 15]
   must be readable. */
static inline int fastenv_nth(const int16_t *keys, int k, int index) {
    const fastenv_words none = {INT16_MAX, INT16_MAX, INT16_MAX, INT16_MAX,
                                INT16_MAX, INT16_MAX, INT16_MAX, INT16_MAX};
    const fastenv_words place = {0, 1, 2, 3, 4, 5, 6, 7};
    fastenv_words low, high, used, below_low = {0}, below_high = {0};
    uint64_t part[2], found;
    int i;
    memcpy(&low, keys, 16);
    memcpy(&high, keys + 8, 16);
    used = place < (int16_t)k;
    low = (low & used) | (none & ~used);
    used = place < (int16_t)(k - 8);
    high = (high & used) | (none & ~used);
    for (i = 0; i < k; i++) {
        below_low -= low > keys[i];
        below_high -= high > keys[i];
    }
    low = (low & (below_low == (int16_t)index)) | (high & (below_high == (int16_t)index));
    memcpy(part, &low, 16);
    found = part[0] | part[1];
    found |= found >> 32;
    return (int)((found | found >> 16) & 0xFFFF);
}

#endif
