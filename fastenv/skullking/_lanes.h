/* A hand fits one vector register. These helpers work on all of it at once and without branches:
   hands are short and of random length, so that a mispredicted branch costs more than it saves.
   Vector extensions of GCC and Clang, loops elsewhere; no particular processor is needed. */
#ifndef FASTENV_SKULLKING_LANES_H
#define FASTENV_SKULLKING_LANES_H

#include <stdint.h>
#include <string.h>

#include "../_portable.h"

#define FASTENV_HAND 11 /* MAX_HAND */

#if FASTENV_GNU_C
typedef int8_t fastenv_bytes __attribute__((vector_size(16)));
#endif

/* Remove a card from a sorted hand and move the ones above it up; the last slot becomes 0.
   Reads 17 bytes from `hand`, writes 11. */
static inline void fastenv_remove(int8_t *hand, int card) {
#if FASTENV_GNU_C
    fastenv_bytes here, above, moves;
    uint64_t words[2];
    memcpy(&here, hand, 16);
    memcpy(&above, hand + 1, 16);
    moves = here >= (int8_t)card;
    here = (above & moves) | (here & ~moves);
    memcpy(words, &here, 16); /* whole words: vectors of odd lengths would go through memory */
    memcpy(hand, &words[0], 8);
    memcpy(hand + 8, &words[1], 2);
#else
    int i;
    for (i = 0; i < FASTENV_HAND - 1; i++)
        hand[i] = hand[i + (hand[i] >= card)];
#endif
    hand[FASTENV_HAND - 1] = 0;
}

/* Write the first n of 16 readable cards in ascending order: a card's place is the number of
   smaller ones. */
static inline void fastenv_sort_hand(int8_t *hand, const int8_t *cards, int n) {
    int i;
#if FASTENV_GNU_C
    fastenv_bytes keys, place = {0};
    memcpy(&keys, cards, 16);
    for (i = 0; i < n; i++)
        place -= keys > cards[i];
#else
    int k, place[16] = {0};
    for (i = 0; i < n; i++)
        for (k = 0; k < 16; k++)
            place[k] += cards[k] > cards[i];
#endif
    for (i = 0; i < n; i++)
        hand[place[i]] = cards[i];
}

/* Number of bits set in two words together, at most 15 in every eight bits of both. */
static inline int fastenv_count(uint64_t low, uint64_t high) {
    const uint64_t pairs = 0x5555555555555555, fours = 0x3333333333333333;
    low -= (low >> 1) & pairs;
    high -= (high >> 1) & pairs;
    low = (low & fours) + ((low >> 2) & fours) + (high & fours) + ((high >> 2) & fours);
    low = (low & 0x0F0F0F0F0F0F0F0F) + ((low >> 4) & 0x0F0F0F0F0F0F0F0F);
    return (int)((low * 0x0101010101010101) >> 56);
}

/* Position of the lowest bit set in two words, one of which is not 0, and without branches. */
static inline int fastenv_lowest(uint64_t low, uint64_t high) {
    int empty = low == 0;
    return 64 * empty + fastenv_lowest_bit(low | (high & (0 - (uint64_t)empty)));
}

/* Position of the middle bit set in two words: of k, k / 2 lie below. Up to eleven are set. */
static inline int fastenv_middle(uint64_t low, uint64_t high) {
    int i, below = fastenv_count(low, high) >> 1;
    for (i = 0; i < 5; i++) {
        uint64_t drop = -(uint64_t)(i < below);
        uint64_t bit = low & -low;
        high ^= high & -high & drop & -(uint64_t)(bit == 0);
        low ^= bit & drop;
    }
    return fastenv_lowest(low, high);
}

#endif
