/* Generated from fastenv.gameboy.state by "python -m tools.structs"; not to be edited. */
#ifndef FASTENV_GAMEBOY_STATE_H
#define FASTENV_GAMEBOY_STATE_H

#include <stddef.h>
#include <stdint.h>

/* A compiler that lays records out otherwise than NumPy did must not go on. */
#ifdef _MSC_VER
#define FASTENV_HOLDS(truth, otherwise) extern char fastenv_holds[(truth) ? 1 : -1]
#else
#define FASTENV_HOLDS(truth, otherwise) _Static_assert(truth, otherwise)
#endif
#define FASTENV_SIZE(record, bytes) \
    FASTENV_HOLDS(sizeof(record) == bytes, #record " is not " #bytes " bytes long")
#define FASTENV_AT(record, field, byte) \
    FASTENV_HOLDS(offsetof(record, field) == byte, #record "." #field " is not at byte " #byte)

typedef struct Shared {
    int32_t rom_banks;
    int32_t ram_banks;
    int32_t mbc;
    int32_t pad;
    uint8_t read_ones[128];
    uint64_t spread[256];
} Shared;
FASTENV_SIZE(Shared, 2192);
FASTENV_AT(Shared, rom_banks, 0);
FASTENV_AT(Shared, ram_banks, 4);
FASTENV_AT(Shared, mbc, 8);
FASTENV_AT(Shared, pad, 12);
FASTENV_AT(Shared, read_ones, 16);
FASTENV_AT(Shared, spread, 144);

typedef struct State {
    int64_t cyc;
    int64_t instr;
    int32_t dot;
    int32_t serial_count;
    uint16_t pc;
    uint16_t sp;
    uint8_t a;
    uint8_t f;
    uint8_t b;
    uint8_t c;
    uint8_t d;
    uint8_t e;
    uint8_t h;
    uint8_t l;
    uint8_t ime;
    uint8_t ime_delay;
    uint8_t halted;
    uint8_t halt_bug;
    uint8_t stopped;
    uint8_t locked;
    uint16_t div;
    uint16_t serial_left;
    uint16_t dma_left;
    uint8_t dma_blocks;
    uint8_t reload;
    uint8_t keys;
    uint8_t first_frame;
    uint8_t lyc_match;
    uint8_t wy_seen;
    uint16_t rom_bank;
    uint8_t ram_bank;
    uint8_t bank_mode;
    uint8_t ram_enable;
    uint8_t unused[197];
    uint8_t oam[160];
    uint8_t serial[64];
    uint8_t pad[32];
    uint8_t high[256];
    uint8_t vram[8192];
    uint8_t wram[8192];
} State;
FASTENV_SIZE(State, 17152);
FASTENV_AT(State, cyc, 0);
FASTENV_AT(State, instr, 8);
FASTENV_AT(State, dot, 16);
FASTENV_AT(State, serial_count, 20);
FASTENV_AT(State, pc, 24);
FASTENV_AT(State, sp, 26);
FASTENV_AT(State, a, 28);
FASTENV_AT(State, f, 29);
FASTENV_AT(State, b, 30);
FASTENV_AT(State, c, 31);
FASTENV_AT(State, d, 32);
FASTENV_AT(State, e, 33);
FASTENV_AT(State, h, 34);
FASTENV_AT(State, l, 35);
FASTENV_AT(State, ime, 36);
FASTENV_AT(State, ime_delay, 37);
FASTENV_AT(State, halted, 38);
FASTENV_AT(State, halt_bug, 39);
FASTENV_AT(State, stopped, 40);
FASTENV_AT(State, locked, 41);
FASTENV_AT(State, div, 42);
FASTENV_AT(State, serial_left, 44);
FASTENV_AT(State, dma_left, 46);
FASTENV_AT(State, dma_blocks, 48);
FASTENV_AT(State, reload, 49);
FASTENV_AT(State, keys, 50);
FASTENV_AT(State, first_frame, 51);
FASTENV_AT(State, lyc_match, 52);
FASTENV_AT(State, wy_seen, 53);
FASTENV_AT(State, rom_bank, 54);
FASTENV_AT(State, ram_bank, 56);
FASTENV_AT(State, bank_mode, 57);
FASTENV_AT(State, ram_enable, 58);
FASTENV_AT(State, unused, 59);
FASTENV_AT(State, oam, 256);
FASTENV_AT(State, serial, 416);
FASTENV_AT(State, pad, 480);
FASTENV_AT(State, high, 512);
FASTENV_AT(State, vram, 768);
FASTENV_AT(State, wram, 8960);

#undef FASTENV_AT
#undef FASTENV_SIZE
#undef FASTENV_HOLDS

#endif
