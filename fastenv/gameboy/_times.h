/* Where the time of steps goes, in all environments of a process (docs/gameboy.md, 15).

   Nothing is counted until somebody asks. Then a step reads the clock twice, and in one of 32 every
   line that is drawn is timed as well: to read a clock takes as long as some instructions of the
   console. From those steps follows which share of all of them drawing has. */
#ifndef FASTENV_GAMEBOY_TIMES_H
#define FASTENV_GAMEBOY_TIMES_H

#include <stdint.h>
#include <time.h>

#include "../_portable.h"

#if FASTENV_GNU_C
#define FASTENV_ADD(number, amount) __atomic_fetch_add(number, amount, __ATOMIC_RELAXED)
#elif defined(_MSC_VER)
#include <intrin.h>
#define FASTENV_ADD(number, amount) _InterlockedExchangeAdd64(number, amount)
#else
static inline int64_t fastenv_add(int64_t *number, int64_t amount) {
    int64_t before = *number; /* of several threads at once some may be lost: these are statistics */
    *number += amount;
    return before;
}
#define FASTENV_ADD(number, amount) fastenv_add(number, amount)
#endif

enum { ONE_OF = 32 };

/* All in ns, but the first, and the second and third, which only their ratio matters of. */
typedef struct Spent {
    int64_t steps, watched, drawing, stepping, encoding, resetting;
} Spent;

/* A step that is counted; drawing and lines are those of its machine. */
typedef struct Watch {
    int64_t began;   /* ns; 0: nobody asks */
    int64_t watched; /* ticks at the beginning; 0: not one of those whose drawing is timed */
    int64_t drawing; /* ticks */
    int lines;
} Watch;

static Spent spent;
static int counts = 0;

static inline int64_t clock_ns(void) {
    struct timespec now;
#if defined(CLOCK_MONOTONIC)
    clock_gettime(CLOCK_MONOTONIC, &now); /* nobody sets it while a step is timed */
#else
    timespec_get(&now, TIME_UTC);
#endif
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of a clock that is read more quickly, where there is one. */
static inline int64_t clock_ticks(void) {
#if defined(__x86_64__) && FASTENV_GNU_C
    return (int64_t)__builtin_ia32_rdtsc();
#else
    return clock_ns();
#endif
}

static inline void start_step(Watch *watch) {
    watch->began = watch->watched = watch->drawing = watch->lines = 0;
    if (counts) {
        watch->began = clock_ns();
        if (FASTENV_ADD(&spent.steps, 1) % ONE_OF == 0) watch->watched = clock_ticks();
    }
}

/* Out of the way of the other 31 steps. */
FASTENV_COLD void start_watched(Watch *watch) {
    watch->drawing -= clock_ticks();
}

FASTENV_COLD void end_watched(Watch *watch) {
    watch->drawing += clock_ticks();
    watch->lines++;
}

static inline void start_drawing(Watch *watch) {
    if (FASTENV_RARELY(watch->watched)) start_watched(watch);
}

static inline void end_drawing(Watch *watch) {
    if (FASTENV_RARELY(watch->watched)) end_watched(watch);
}

/* What it takes to look at that clock: the least of a few times, as one may be interrupted. */
static inline int64_t reading_ticks(void) {
    int64_t least = INT64_MAX;
    for (int k = 0; k < 4; k++) {
        int64_t before = clock_ticks(), took = clock_ticks() - before;
        if (took < least) least = took;
    }
    return least;
}

static inline void end_step(Watch *watch) {
    if (!watch->began) return;
    if (watch->watched) {
        int64_t ticks = clock_ticks(), reading = reading_ticks();
        FASTENV_ADD(&spent.watched, ticks - watch->watched - 2 * watch->lines * reading);
        FASTENV_ADD(&spent.drawing, watch->drawing - watch->lines * reading);
    }
    FASTENV_ADD(&spent.stepping, clock_ns() - watch->began);
}

#endif
