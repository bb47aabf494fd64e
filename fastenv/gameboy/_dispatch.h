/* From one instruction to the next (tools/opcodes.py).

   With GCC and Clang each instruction jumps to the next one by itself: a computer predicts many
   jumps, each by what it led to before, better than one that all instructions share. With other
   compilers, and where the processor has to stop, it leaves the switch and comes to the loop. */
#ifndef FASTENV_GAMEBOY_DISPATCH_H
#define FASTENV_GAMEBOY_DISPATCH_H

#include "../_portable.h"

#if FASTENV_GNU_C
#define FASTENV_ROW(x)                                                                            \
    &&at_##x##0, &&at_##x##1, &&at_##x##2, &&at_##x##3, &&at_##x##4, &&at_##x##5, &&at_##x##6,    \
        &&at_##x##7, &&at_##x##8, &&at_##x##9, &&at_##x##A, &&at_##x##B, &&at_##x##C,             \
        &&at_##x##D, &&at_##x##E, &&at_##x##F
/* Where the instruction of each opcode begins. */
#define FASTENV_PLACES()                                                                          \
    static const void *const fastenv_places[256] = {                                              \
        FASTENV_ROW(0x0), FASTENV_ROW(0x1), FASTENV_ROW(0x2), FASTENV_ROW(0x3), FASTENV_ROW(0x4), \
        FASTENV_ROW(0x5), FASTENV_ROW(0x6), FASTENV_ROW(0x7), FASTENV_ROW(0x8), FASTENV_ROW(0x9), \
        FASTENV_ROW(0xA), FASTENV_ROW(0xB), FASTENV_ROW(0xC), FASTENV_ROW(0xD), FASTENV_ROW(0xE), \
        FASTENV_ROW(0xF)}
#define FASTENV_PLACE(opcode) at_##opcode:
/* Compilers take a goto for unlikely, and put it out of the way unless they are told of each
   condition by itself. */
#define FASTENV_GO_ON(ip, last, now, stop)                                                        \
    if (!FASTENV_RARELY((now) >= (stop)))                                                         \
        if (!FASTENV_RARELY((ip) > (last))) goto *fastenv_places[*(const uint8_t *)(ip)++]
#else
#define FASTENV_PLACES() ((void)0)
#define FASTENV_PLACE(opcode) ((void)0)
#define FASTENV_GO_ON(ip, last, now, stop) ((void)0)
#endif

#endif
