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

typedef struct Knobs {
    int32_t start_state;
} Knobs;
FASTENV_SIZE(Knobs, 4);
FASTENV_AT(Knobs, start_state, 0);

typedef struct Sound {
    int32_t sums[2];
    uint32_t noise_left;
    uint16_t duty_left[2];
    uint16_t lfsr;
    uint8_t duty_at[2];
    uint8_t duty_high[2];
    uint8_t volumes[3];
    uint8_t envelopes[3];
    uint8_t wave_byte;
    uint8_t unused_sound[3];
} Sound;
FASTENV_SIZE(Sound, 32);
FASTENV_AT(Sound, sums, 0);
FASTENV_AT(Sound, noise_left, 8);
FASTENV_AT(Sound, duty_left, 12);
FASTENV_AT(Sound, lfsr, 16);
FASTENV_AT(Sound, duty_at, 18);
FASTENV_AT(Sound, duty_high, 20);
FASTENV_AT(Sound, volumes, 22);
FASTENV_AT(Sound, envelopes, 25);
FASTENV_AT(Sound, wave_byte, 28);
FASTENV_AT(Sound, unused_sound, 29);

typedef struct Field {
    int64_t mask;
    int32_t at;
    int32_t count;
    int32_t stride;
    int32_t bit;
    int32_t size;
    int32_t form;
    int32_t big;
    int32_t info_at;
    int32_t info_size;
    int32_t source;
} Field;
FASTENV_SIZE(Field, 48);
FASTENV_AT(Field, mask, 0);
FASTENV_AT(Field, at, 8);
FASTENV_AT(Field, count, 12);
FASTENV_AT(Field, stride, 16);
FASTENV_AT(Field, bit, 20);
FASTENV_AT(Field, size, 24);
FASTENV_AT(Field, form, 28);
FASTENV_AT(Field, big, 32);
FASTENV_AT(Field, info_at, 36);
FASTENV_AT(Field, info_size, 40);
FASTENV_AT(Field, source, 44);

typedef struct Load {
    int32_t field;
    int32_t element;
    int32_t each;
} Load;
FASTENV_SIZE(Load, 12);
FASTENV_AT(Load, field, 0);
FASTENV_AT(Load, element, 4);
FASTENV_AT(Load, each, 8);

typedef struct Step {
    int64_t number;
    int32_t op;
    int32_t load;
} Step;
FASTENV_SIZE(Step, 16);
FASTENV_AT(Step, number, 0);
FASTENV_AT(Step, op, 8);
FASTENV_AT(Step, load, 12);

typedef struct Term {
    double weight;
    int32_t begin;
    int32_t end;
    int32_t info_at;
} Term;
FASTENV_SIZE(Term, 24);
FASTENV_AT(Term, weight, 0);
FASTENV_AT(Term, begin, 8);
FASTENV_AT(Term, end, 12);
FASTENV_AT(Term, info_at, 16);

typedef struct Cell {
    int32_t kind;
    int32_t of;
    int32_t load;
} Cell;
FASTENV_SIZE(Cell, 12);
FASTENV_AT(Cell, kind, 0);
FASTENV_AT(Cell, of, 4);
FASTENV_AT(Cell, load, 8);

typedef struct KeySet {
    int32_t at;
    int32_t slots;
    int32_t capacity;
    int32_t key;
    int32_t numbers;
    int32_t when;
} KeySet;
FASTENV_SIZE(KeySet, 24);
FASTENV_AT(KeySet, at, 0);
FASTENV_AT(KeySet, slots, 4);
FASTENV_AT(KeySet, capacity, 8);
FASTENV_AT(KeySet, key, 12);
FASTENV_AT(KeySet, numbers, 16);
FASTENV_AT(KeySet, when, 20);

typedef struct Hook {
    int32_t place;
    int32_t address;
    int32_t latch;
} Hook;
FASTENV_SIZE(Hook, 12);
FASTENV_AT(Hook, place, 0);
FASTENV_AT(Hook, address, 4);
FASTENV_AT(Hook, latch, 8);

typedef struct Trap {
    int32_t place;
    int32_t hook;
    int32_t follow;
} Trap;
FASTENV_SIZE(Trap, 12);
FASTENV_AT(Trap, place, 0);
FASTENV_AT(Trap, hook, 4);
FASTENV_AT(Trap, follow, 8);

typedef struct Write {
    int32_t field;
    int32_t element;
    int32_t to;
    int32_t when;
    int32_t on;
} Write;
FASTENV_SIZE(Write, 20);
FASTENV_AT(Write, field, 0);
FASTENV_AT(Write, element, 4);
FASTENV_AT(Write, to, 8);
FASTENV_AT(Write, when, 12);
FASTENV_AT(Write, on, 16);

typedef struct Observed {
    double low;
    double span;
    int32_t field;
    int32_t first;
    int32_t count;
    int32_t at;
    int32_t flag;
} Observed;
FASTENV_SIZE(Observed, 40);
FASTENV_AT(Observed, low, 0);
FASTENV_AT(Observed, span, 8);
FASTENV_AT(Observed, field, 16);
FASTENV_AT(Observed, first, 20);
FASTENV_AT(Observed, count, 24);
FASTENV_AT(Observed, at, 28);
FASTENV_AT(Observed, flag, 32);

typedef struct Rules {
    double sticky;
    double repeat_action_probability;
    double step_cost;
    double alpha;
    double goal_bonus;
    double threshold;
    double distance_unit;
    double cell_bonus;
    double item_bonus;
    double dialogue_bonus;
    double event_bonus;
    double finish_bonus;
    int32_t max_steps;
    int32_t frames_per_step;
    int32_t release_after;
    int32_t num_actions;
    int32_t stack_k;
    int32_t plane;
    int32_t rows;
    int32_t columns;
    int32_t k_consecutive;
    int32_t cart_bytes;
    int32_t stack_at;
    int32_t visits_at;
    int32_t visits_bytes;
    int32_t slots;
    int32_t num_starts;
    int32_t start_bytes;
    int32_t goal_bytes;
    int32_t line_at;
    int32_t line_bytes;
    int32_t sound_at;
    int32_t sound_bytes;
    int32_t samples_at;
    int32_t samples_bytes;
    int32_t samples_info_at;
    int32_t values_at;
    int32_t num_fields;
    int32_t num_loads;
    int32_t num_terms;
    int32_t num_rewards;
    int32_t num_numbers;
    int32_t num_cells;
    int32_t num_sets;
    int32_t memory_at;
    int32_t memory_bytes;
    int32_t num_hooks;
    int32_t num_writes;
    int32_t counted_at;
    int32_t counted_bytes;
    int32_t watched_pages;
    int32_t lost_info_at;
    int32_t terminates;
    int32_t truncates;
    int32_t num_events;
    int32_t events_at;
    int32_t max_pool;
    int32_t waits;
    int32_t wait_steps;
    int32_t wait_keys;
    int32_t waited_info_at;
    int32_t plays_on;
    int32_t observes;
    int32_t hides_pixels;
    int32_t num_observed;
    int32_t num_recent;
    int32_t recent_at;
    int32_t actions_at;
    int32_t visited_at;
    int32_t visited[2];
    int32_t fills_ram;
    int32_t size[3];
    int32_t places[10];
    int64_t goal_at;
    int64_t starts_at;
    int64_t fields_at;
    int64_t loads_at;
    int64_t steps_at;
    int64_t terms_at;
    int64_t cells_at;
    int64_t sets_at;
    int64_t hooks_at;
    int64_t writes_at;
    int64_t watched_at;
    int64_t program_at;
    int64_t traps_at;
    int64_t observed_at;
    uint8_t kind;
    uint8_t packed;
    uint8_t keys[256];
    uint8_t allowed[256];
    uint8_t rewarded[8192];
    uint8_t renewing[8192];
    uint8_t ys[144];
    uint8_t xs[160];
    uint8_t lines[144];
    uint32_t unpack[256];
    uint8_t differences[256];
} Rules;
FASTENV_SIZE(Rules, 19136);
FASTENV_AT(Rules, sticky, 0);
FASTENV_AT(Rules, repeat_action_probability, 8);
FASTENV_AT(Rules, step_cost, 16);
FASTENV_AT(Rules, alpha, 24);
FASTENV_AT(Rules, goal_bonus, 32);
FASTENV_AT(Rules, threshold, 40);
FASTENV_AT(Rules, distance_unit, 48);
FASTENV_AT(Rules, cell_bonus, 56);
FASTENV_AT(Rules, item_bonus, 64);
FASTENV_AT(Rules, dialogue_bonus, 72);
FASTENV_AT(Rules, event_bonus, 80);
FASTENV_AT(Rules, finish_bonus, 88);
FASTENV_AT(Rules, max_steps, 96);
FASTENV_AT(Rules, frames_per_step, 100);
FASTENV_AT(Rules, release_after, 104);
FASTENV_AT(Rules, num_actions, 108);
FASTENV_AT(Rules, stack_k, 112);
FASTENV_AT(Rules, plane, 116);
FASTENV_AT(Rules, rows, 120);
FASTENV_AT(Rules, columns, 124);
FASTENV_AT(Rules, k_consecutive, 128);
FASTENV_AT(Rules, cart_bytes, 132);
FASTENV_AT(Rules, stack_at, 136);
FASTENV_AT(Rules, visits_at, 140);
FASTENV_AT(Rules, visits_bytes, 144);
FASTENV_AT(Rules, slots, 148);
FASTENV_AT(Rules, num_starts, 152);
FASTENV_AT(Rules, start_bytes, 156);
FASTENV_AT(Rules, goal_bytes, 160);
FASTENV_AT(Rules, line_at, 164);
FASTENV_AT(Rules, line_bytes, 168);
FASTENV_AT(Rules, sound_at, 172);
FASTENV_AT(Rules, sound_bytes, 176);
FASTENV_AT(Rules, samples_at, 180);
FASTENV_AT(Rules, samples_bytes, 184);
FASTENV_AT(Rules, samples_info_at, 188);
FASTENV_AT(Rules, values_at, 192);
FASTENV_AT(Rules, num_fields, 196);
FASTENV_AT(Rules, num_loads, 200);
FASTENV_AT(Rules, num_terms, 204);
FASTENV_AT(Rules, num_rewards, 208);
FASTENV_AT(Rules, num_numbers, 212);
FASTENV_AT(Rules, num_cells, 216);
FASTENV_AT(Rules, num_sets, 220);
FASTENV_AT(Rules, memory_at, 224);
FASTENV_AT(Rules, memory_bytes, 228);
FASTENV_AT(Rules, num_hooks, 232);
FASTENV_AT(Rules, num_writes, 236);
FASTENV_AT(Rules, counted_at, 240);
FASTENV_AT(Rules, counted_bytes, 244);
FASTENV_AT(Rules, watched_pages, 248);
FASTENV_AT(Rules, lost_info_at, 252);
FASTENV_AT(Rules, terminates, 256);
FASTENV_AT(Rules, truncates, 260);
FASTENV_AT(Rules, num_events, 264);
FASTENV_AT(Rules, events_at, 268);
FASTENV_AT(Rules, max_pool, 272);
FASTENV_AT(Rules, waits, 276);
FASTENV_AT(Rules, wait_steps, 280);
FASTENV_AT(Rules, wait_keys, 284);
FASTENV_AT(Rules, waited_info_at, 288);
FASTENV_AT(Rules, plays_on, 292);
FASTENV_AT(Rules, observes, 296);
FASTENV_AT(Rules, hides_pixels, 300);
FASTENV_AT(Rules, num_observed, 304);
FASTENV_AT(Rules, num_recent, 308);
FASTENV_AT(Rules, recent_at, 312);
FASTENV_AT(Rules, actions_at, 316);
FASTENV_AT(Rules, visited_at, 320);
FASTENV_AT(Rules, visited, 324);
FASTENV_AT(Rules, fills_ram, 332);
FASTENV_AT(Rules, size, 336);
FASTENV_AT(Rules, places, 348);
FASTENV_AT(Rules, goal_at, 392);
FASTENV_AT(Rules, starts_at, 400);
FASTENV_AT(Rules, fields_at, 408);
FASTENV_AT(Rules, loads_at, 416);
FASTENV_AT(Rules, steps_at, 424);
FASTENV_AT(Rules, terms_at, 432);
FASTENV_AT(Rules, cells_at, 440);
FASTENV_AT(Rules, sets_at, 448);
FASTENV_AT(Rules, hooks_at, 456);
FASTENV_AT(Rules, writes_at, 464);
FASTENV_AT(Rules, watched_at, 472);
FASTENV_AT(Rules, program_at, 480);
FASTENV_AT(Rules, traps_at, 488);
FASTENV_AT(Rules, observed_at, 496);
FASTENV_AT(Rules, kind, 504);
FASTENV_AT(Rules, packed, 505);
FASTENV_AT(Rules, keys, 506);
FASTENV_AT(Rules, allowed, 762);
FASTENV_AT(Rules, rewarded, 1018);
FASTENV_AT(Rules, renewing, 9210);
FASTENV_AT(Rules, ys, 17402);
FASTENV_AT(Rules, xs, 17546);
FASTENV_AT(Rules, lines, 17706);
FASTENV_AT(Rules, unpack, 17852);
FASTENV_AT(Rules, differences, 18876);

typedef struct Shared {
    int32_t rom_banks;
    int32_t ram_bytes;
    int16_t mbc;
    int16_t has_clock;
    int16_t video_is_open;
    int16_t fixed_frames;
    int16_t by_pixel;
    int16_t audio;
    uint8_t read_ones[128];
    uint64_t spread[256];
    Rules rules;
} Shared;
FASTENV_SIZE(Shared, 21336);
FASTENV_AT(Shared, rom_banks, 0);
FASTENV_AT(Shared, ram_bytes, 4);
FASTENV_AT(Shared, mbc, 8);
FASTENV_AT(Shared, has_clock, 10);
FASTENV_AT(Shared, video_is_open, 12);
FASTENV_AT(Shared, fixed_frames, 14);
FASTENV_AT(Shared, by_pixel, 16);
FASTENV_AT(Shared, audio, 18);
FASTENV_AT(Shared, read_ones, 20);
FASTENV_AT(Shared, spread, 152);
FASTENV_AT(Shared, rules, 2200);

typedef struct Episode {
    uint64_t rng[4];
    double ep_return;
    int32_t ep_length;
    int32_t start;
    int32_t distance;
    int32_t ev_distance;
    int32_t near;
    int32_t cells;
    int32_t ev_cells;
    int32_t ev_items;
    int32_t ev_dialogue;
    int32_t ev_events;
    int32_t waited;
    uint16_t visit_id;
    uint8_t last_action;
    int8_t done;
    uint8_t unused_episode[40];
} Episode;
FASTENV_SIZE(Episode, 128);
FASTENV_AT(Episode, rng, 0);
FASTENV_AT(Episode, ep_return, 32);
FASTENV_AT(Episode, ep_length, 40);
FASTENV_AT(Episode, start, 44);
FASTENV_AT(Episode, distance, 48);
FASTENV_AT(Episode, ev_distance, 52);
FASTENV_AT(Episode, near, 56);
FASTENV_AT(Episode, cells, 60);
FASTENV_AT(Episode, ev_cells, 64);
FASTENV_AT(Episode, ev_items, 68);
FASTENV_AT(Episode, ev_dialogue, 72);
FASTENV_AT(Episode, ev_events, 76);
FASTENV_AT(Episode, waited, 80);
FASTENV_AT(Episode, visit_id, 84);
FASTENV_AT(Episode, last_action, 86);
FASTENV_AT(Episode, done, 87);
FASTENV_AT(Episode, unused_episode, 88);

typedef struct LinkHead {
    uint64_t rng[4];
    uint64_t bot_rng[4];
    double ep_return[2];
    int32_t ep_length;
    int8_t done;
    uint8_t needs_action[2];
    uint8_t unused_link[41];
} LinkHead;
FASTENV_SIZE(LinkHead, 128);
FASTENV_AT(LinkHead, rng, 0);
FASTENV_AT(LinkHead, bot_rng, 32);
FASTENV_AT(LinkHead, ep_return, 64);
FASTENV_AT(LinkHead, ep_length, 80);
FASTENV_AT(LinkHead, done, 84);
FASTENV_AT(LinkHead, needs_action, 85);
FASTENV_AT(LinkHead, unused_link, 87);

typedef struct LinkShared {
    int64_t row_at[2];
    int64_t shared_at[2];
} LinkShared;
FASTENV_SIZE(LinkShared, 32);
FASTENV_AT(LinkShared, row_at, 0);
FASTENV_AT(LinkShared, shared_at, 16);

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
    uint8_t window_line;
    uint16_t delay;
    uint8_t clock[5];
    uint8_t clock_latched[5];
    int32_t clock_part;
    uint8_t clock_armed;
    uint8_t dma_byte;
    uint16_t window_at;
    uint8_t late;
    uint8_t sound_step;
    uint16_t lengths[4];
    uint16_t wave_left;
    uint16_t sweep_period;
    uint8_t sweep_left;
    uint8_t sweep_due;
    uint8_t sweep_negated;
    uint8_t wave_at;
    uint8_t serial_bits;
    uint8_t unused[157];
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
FASTENV_AT(State, window_line, 59);
FASTENV_AT(State, delay, 60);
FASTENV_AT(State, clock, 62);
FASTENV_AT(State, clock_latched, 67);
FASTENV_AT(State, clock_part, 72);
FASTENV_AT(State, clock_armed, 76);
FASTENV_AT(State, dma_byte, 77);
FASTENV_AT(State, window_at, 78);
FASTENV_AT(State, late, 80);
FASTENV_AT(State, sound_step, 81);
FASTENV_AT(State, lengths, 82);
FASTENV_AT(State, wave_left, 90);
FASTENV_AT(State, sweep_period, 92);
FASTENV_AT(State, sweep_left, 94);
FASTENV_AT(State, sweep_due, 95);
FASTENV_AT(State, sweep_negated, 96);
FASTENV_AT(State, wave_at, 97);
FASTENV_AT(State, serial_bits, 98);
FASTENV_AT(State, unused, 99);
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
