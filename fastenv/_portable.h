/* What compilers spell differently; the results are the same bits.

   GCC and Clang have builtins, vectors and integers of 128 bits. Other compilers get standard C, and
   so does everyone who defines FASTENV_PLAIN_C (setup.py has a switch, tests use it). */
#ifndef FASTENV_PORTABLE_H
#define FASTENV_PORTABLE_H

#include <stdint.h>

#if defined(__GNUC__) && !defined(FASTENV_PLAIN_C)
#define FASTENV_GNU_C 1
#else
#define FASTENV_GNU_C 0
#endif

#if FASTENV_GNU_C
#define FASTENV_INLINE static inline __attribute__((always_inline))
#define FASTENV_COLD static __attribute__((noinline, cold))
#define FASTENV_RARELY(truth) __builtin_expect((truth) != 0, 0)
#define FASTENV_FETCH(place) __builtin_prefetch((place), 1)
#elif defined(_MSC_VER)
#define FASTENV_INLINE static __forceinline
#define FASTENV_COLD static __declspec(noinline)
#define FASTENV_RARELY(truth) (truth)
#define FASTENV_FETCH(place) ((void)(place))
#else
#define FASTENV_INLINE static inline
#define FASTENV_COLD static
#define FASTENV_RARELY(truth) (truth)
#define FASTENV_FETCH(place) ((void)(place))
#endif

/* Compiled twice, for the named instructions too; which one runs is settled when the module is
   loaded. Clang, other systems and sanitizers get the portable one alone. */
#if FASTENV_GNU_C && defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define FASTENV_CLONED(instructions) static __attribute__((target_clones(instructions, "default")))
#else
#define FASTENV_CLONED(instructions) static
#endif

/* Number of bits set. */
FASTENV_INLINE int fastenv_popcount(uint64_t bits) {
#if FASTENV_GNU_C
    return __builtin_popcountll(bits);
#else
    bits -= (bits >> 1) & 0x5555555555555555u;
    bits = (bits & 0x3333333333333333u) + ((bits >> 2) & 0x3333333333333333u);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (int)((bits * 0x0101010101010101u) >> 56);
#endif
}

/* Position of the lowest bit set; of 0 it is not defined. */
FASTENV_INLINE int fastenv_lowest_bit(uint64_t bits) {
#if FASTENV_GNU_C
    return __builtin_ctzll(bits);
#else
    return fastenv_popcount((bits & (~bits + 1)) - 1);
#endif
}

#endif
