/* Generated from fastenv.drmario.state by "python -m tools.structs"; not to be edited. */
#ifndef FASTENV_DRMARIO_STATE_H
#define FASTENV_DRMARIO_STATE_H

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

typedef struct Head {
    uint64_t rng[4];
    uint8_t reserve[128];
    uint32_t frame;
    int32_t ep_length;
    int32_t ep_frames;
    int32_t task_max_frames;
    int32_t task_max_spawns;
    uint8_t seed[2];
    uint8_t demo_at;
    uint8_t demo_left;
    int8_t done;
    uint8_t reason;
    uint8_t unused_head[6];
} Head;
FASTENV_SIZE(Head, 192);
FASTENV_AT(Head, rng, 0);
FASTENV_AT(Head, reserve, 32);
FASTENV_AT(Head, frame, 160);
FASTENV_AT(Head, ep_length, 164);
FASTENV_AT(Head, ep_frames, 168);
FASTENV_AT(Head, task_max_frames, 172);
FASTENV_AT(Head, task_max_spawns, 176);
FASTENV_AT(Head, seed, 180);
FASTENV_AT(Head, demo_at, 182);
FASTENV_AT(Head, demo_left, 183);
FASTENV_AT(Head, done, 184);
FASTENV_AT(Head, reason, 185);
FASTENV_AT(Head, unused_head, 186);

typedef struct View {
    uint8_t board[128];
    uint8_t mode;
    uint8_t next_action;
    uint8_t placed_step;
    uint8_t row;
    uint8_t col;
    uint8_t rot;
    uint8_t color_first;
    uint8_t color_second;
    uint8_t preview_first;
    uint8_t preview_second;
    uint8_t preview_rot;
    uint8_t speed_counter;
    uint8_t hor_velocity;
    uint8_t status_row;
    uint8_t throw_frame;
    uint8_t virus_bcd;
} View;
FASTENV_SIZE(View, 144);
FASTENV_AT(View, board, 0);
FASTENV_AT(View, mode, 128);
FASTENV_AT(View, next_action, 129);
FASTENV_AT(View, placed_step, 130);
FASTENV_AT(View, row, 131);
FASTENV_AT(View, col, 132);
FASTENV_AT(View, rot, 133);
FASTENV_AT(View, color_first, 134);
FASTENV_AT(View, color_second, 135);
FASTENV_AT(View, preview_first, 136);
FASTENV_AT(View, preview_second, 137);
FASTENV_AT(View, preview_rot, 138);
FASTENV_AT(View, speed_counter, 139);
FASTENV_AT(View, hor_velocity, 140);
FASTENV_AT(View, status_row, 141);
FASTENV_AT(View, throw_frame, 142);
FASTENV_AT(View, virus_bcd, 143);

typedef struct Player {
    uint8_t board[128];
    uint8_t mode;
    uint8_t next_action;
    uint8_t placed_step;
    uint8_t row;
    uint8_t col;
    uint8_t rot;
    uint8_t color_first;
    uint8_t color_second;
    uint8_t preview_first;
    uint8_t preview_second;
    uint8_t preview_rot;
    uint8_t speed_counter;
    uint8_t hor_velocity;
    uint8_t status_row;
    uint8_t throw_frame;
    uint8_t virus_bcd;
    uint8_t reserve_index;
    uint8_t pill_count_lo;
    uint8_t pill_count_hi;
    uint8_t speed_setting;
    uint8_t speed_ups;
    uint8_t match_flag;
    uint8_t combo_counter;
    uint8_t chain_length;
    uint8_t buttons_prev;
    uint8_t buttons_held;
    uint8_t buttons_pressed;
    uint8_t intro_wait;
    uint8_t stage_clear;
    uint8_t level_fail;
    uint8_t doublings;
    uint8_t attack_size;
    uint8_t attack_colors[4];
    int8_t level;
    uint8_t initial_viruses;
    uint8_t latches;
    uint8_t clearing;
    uint8_t height;
    uint8_t decided;
    uint8_t ev_invalid;
    uint8_t ev_lock_row;
    uint8_t ev_lock_col;
    uint8_t ev_lock_rot;
    uint8_t ev_height;
    uint8_t ev_adjacency[3];
    uint8_t ev_virus_adjacency[3];
    uint8_t ev_garbage_sent;
    uint8_t ev_volleys;
    uint8_t ev_volley_size;
    uint8_t ev_volley_column;
    uint8_t ev_volley_colors[4];
    uint8_t unused[3];
    uint16_t plan_left;
    int16_t plan_action;
    int16_t ev_action;
    uint16_t ev_cost;
    uint16_t ev_locks;
    uint16_t ev_tiles_virus;
    uint16_t ev_tiles_nonvirus;
    uint16_t ev_matches;
    uint32_t decided_frame;
    uint32_t ev_volley_frame;
    int32_t locks;
    int32_t matches;
    int32_t score;
    uint8_t unused_end[4];
} Player;
FASTENV_SIZE(Player, 232);
FASTENV_AT(Player, board, 0);
FASTENV_AT(Player, mode, 128);
FASTENV_AT(Player, next_action, 129);
FASTENV_AT(Player, placed_step, 130);
FASTENV_AT(Player, row, 131);
FASTENV_AT(Player, col, 132);
FASTENV_AT(Player, rot, 133);
FASTENV_AT(Player, color_first, 134);
FASTENV_AT(Player, color_second, 135);
FASTENV_AT(Player, preview_first, 136);
FASTENV_AT(Player, preview_second, 137);
FASTENV_AT(Player, preview_rot, 138);
FASTENV_AT(Player, speed_counter, 139);
FASTENV_AT(Player, hor_velocity, 140);
FASTENV_AT(Player, status_row, 141);
FASTENV_AT(Player, throw_frame, 142);
FASTENV_AT(Player, virus_bcd, 143);
FASTENV_AT(Player, reserve_index, 144);
FASTENV_AT(Player, pill_count_lo, 145);
FASTENV_AT(Player, pill_count_hi, 146);
FASTENV_AT(Player, speed_setting, 147);
FASTENV_AT(Player, speed_ups, 148);
FASTENV_AT(Player, match_flag, 149);
FASTENV_AT(Player, combo_counter, 150);
FASTENV_AT(Player, chain_length, 151);
FASTENV_AT(Player, buttons_prev, 152);
FASTENV_AT(Player, buttons_held, 153);
FASTENV_AT(Player, buttons_pressed, 154);
FASTENV_AT(Player, intro_wait, 155);
FASTENV_AT(Player, stage_clear, 156);
FASTENV_AT(Player, level_fail, 157);
FASTENV_AT(Player, doublings, 158);
FASTENV_AT(Player, attack_size, 159);
FASTENV_AT(Player, attack_colors, 160);
FASTENV_AT(Player, level, 164);
FASTENV_AT(Player, initial_viruses, 165);
FASTENV_AT(Player, latches, 166);
FASTENV_AT(Player, clearing, 167);
FASTENV_AT(Player, height, 168);
FASTENV_AT(Player, decided, 169);
FASTENV_AT(Player, ev_invalid, 170);
FASTENV_AT(Player, ev_lock_row, 171);
FASTENV_AT(Player, ev_lock_col, 172);
FASTENV_AT(Player, ev_lock_rot, 173);
FASTENV_AT(Player, ev_height, 174);
FASTENV_AT(Player, ev_adjacency, 175);
FASTENV_AT(Player, ev_virus_adjacency, 178);
FASTENV_AT(Player, ev_garbage_sent, 181);
FASTENV_AT(Player, ev_volleys, 182);
FASTENV_AT(Player, ev_volley_size, 183);
FASTENV_AT(Player, ev_volley_column, 184);
FASTENV_AT(Player, ev_volley_colors, 185);
FASTENV_AT(Player, unused, 189);
FASTENV_AT(Player, plan_left, 192);
FASTENV_AT(Player, plan_action, 194);
FASTENV_AT(Player, ev_action, 196);
FASTENV_AT(Player, ev_cost, 198);
FASTENV_AT(Player, ev_locks, 200);
FASTENV_AT(Player, ev_tiles_virus, 202);
FASTENV_AT(Player, ev_tiles_nonvirus, 204);
FASTENV_AT(Player, ev_matches, 206);
FASTENV_AT(Player, decided_frame, 208);
FASTENV_AT(Player, ev_volley_frame, 212);
FASTENV_AT(Player, locks, 216);
FASTENV_AT(Player, matches, 220);
FASTENV_AT(Player, score, 224);
FASTENV_AT(Player, unused_end, 228);

typedef struct One {
    uint64_t rng[4];
    uint8_t reserve[128];
    uint32_t frame;
    int32_t ep_length;
    int32_t ep_frames;
    int32_t task_max_frames;
    int32_t task_max_spawns;
    uint8_t seed[2];
    uint8_t demo_at;
    uint8_t demo_left;
    int8_t done;
    uint8_t reason;
    uint8_t unused_head[6];
    Player players[1];
    double ep_return;
    int32_t tau;
    uint8_t unused_agents[4];
} One;
FASTENV_SIZE(One, 440);
FASTENV_AT(One, rng, 0);
FASTENV_AT(One, reserve, 32);
FASTENV_AT(One, frame, 160);
FASTENV_AT(One, ep_length, 164);
FASTENV_AT(One, ep_frames, 168);
FASTENV_AT(One, task_max_frames, 172);
FASTENV_AT(One, task_max_spawns, 176);
FASTENV_AT(One, seed, 180);
FASTENV_AT(One, demo_at, 182);
FASTENV_AT(One, demo_left, 183);
FASTENV_AT(One, done, 184);
FASTENV_AT(One, reason, 185);
FASTENV_AT(One, unused_head, 186);
FASTENV_AT(One, players, 192);
FASTENV_AT(One, ep_return, 424);
FASTENV_AT(One, tau, 432);
FASTENV_AT(One, unused_agents, 436);

typedef struct Two {
    uint64_t rng[4];
    uint8_t reserve[128];
    uint32_t frame;
    int32_t ep_length;
    int32_t ep_frames;
    int32_t task_max_frames;
    int32_t task_max_spawns;
    uint8_t seed[2];
    uint8_t demo_at;
    uint8_t demo_left;
    int8_t done;
    uint8_t reason;
    uint8_t unused_head[6];
    Player players[2];
    double ep_return[2];
    uint64_t bot_rng[4];
    int32_t tau[2];
    uint8_t needs_action[2];
    uint8_t unused_agents[6];
} Two;
FASTENV_SIZE(Two, 720);
FASTENV_AT(Two, rng, 0);
FASTENV_AT(Two, reserve, 32);
FASTENV_AT(Two, frame, 160);
FASTENV_AT(Two, ep_length, 164);
FASTENV_AT(Two, ep_frames, 168);
FASTENV_AT(Two, task_max_frames, 172);
FASTENV_AT(Two, task_max_spawns, 176);
FASTENV_AT(Two, seed, 180);
FASTENV_AT(Two, demo_at, 182);
FASTENV_AT(Two, demo_left, 183);
FASTENV_AT(Two, done, 184);
FASTENV_AT(Two, reason, 185);
FASTENV_AT(Two, unused_head, 186);
FASTENV_AT(Two, players, 192);
FASTENV_AT(Two, ep_return, 656);
FASTENV_AT(Two, bot_rng, 672);
FASTENV_AT(Two, tau, 704);
FASTENV_AT(Two, needs_action, 712);
FASTENV_AT(Two, unused_agents, 714);

typedef struct Knobs {
    int32_t game_seed;
    int32_t task_max_frames;
    int32_t task_max_spawns;
    int8_t level[2];
    int8_t speed[2];
} Knobs;
FASTENV_SIZE(Knobs, 16);
FASTENV_AT(Knobs, game_seed, 0);
FASTENV_AT(Knobs, task_max_frames, 4);
FASTENV_AT(Knobs, task_max_spawns, 8);
FASTENV_AT(Knobs, level, 12);
FASTENV_AT(Knobs, speed, 14);

typedef struct BotParams {
    int32_t kind;
} BotParams;
FASTENV_SIZE(BotParams, 4);
FASTENV_AT(BotParams, kind, 0);

typedef struct Costs {
    uint8_t occupied[16];
    uint8_t known;
    uint8_t parity;
    uint8_t gravity;
    uint8_t unused;
    int32_t feasible;
    uint16_t costs[512];
} Costs;
FASTENV_SIZE(Costs, 1048);
FASTENV_AT(Costs, occupied, 0);
FASTENV_AT(Costs, known, 16);
FASTENV_AT(Costs, parity, 17);
FASTENV_AT(Costs, gravity, 18);
FASTENV_AT(Costs, unused, 19);
FASTENV_AT(Costs, feasible, 20);
FASTENV_AT(Costs, costs, 24);

typedef struct Rules {
    double virus_clear_bonus;
    double non_virus_clear_bonus;
    double adjacency_pair_bonus;
    double adjacency_triplet_bonus;
    double virus_adjacency_pair_bonus;
    double virus_adjacency_triplet_bonus;
    double terminal_clear_bonus;
    double topout_penalty;
    double time_penalty_clear_per_60_frames;
    double time_bonus_topout_per_60_frames;
    double pill_place_base;
    double pill_place_growth;
    double column_height_penalty;
    double action_penalty_scale;
    double time_penalty_per_60_frames;
    double garbage_coef;
    double clear_win_bonus;
    int32_t max_wait_frames;
    uint32_t first_frame;
    int32_t obs_bytes;
    uint16_t num_actions;
    uint16_t candidates;
    uint8_t agents;
    uint8_t placement;
    uint8_t replay;
    uint8_t extended_inputs;
    uint8_t actions;
    uint8_t intro_frames;
    uint8_t stack;
    uint8_t demo;
    uint8_t obs;
    uint8_t bytes;
    uint8_t aux;
    uint8_t costs;
    uint8_t pill;
    uint8_t registry;
} Rules;
FASTENV_SIZE(Rules, 168);
FASTENV_AT(Rules, virus_clear_bonus, 0);
FASTENV_AT(Rules, non_virus_clear_bonus, 8);
FASTENV_AT(Rules, adjacency_pair_bonus, 16);
FASTENV_AT(Rules, adjacency_triplet_bonus, 24);
FASTENV_AT(Rules, virus_adjacency_pair_bonus, 32);
FASTENV_AT(Rules, virus_adjacency_triplet_bonus, 40);
FASTENV_AT(Rules, terminal_clear_bonus, 48);
FASTENV_AT(Rules, topout_penalty, 56);
FASTENV_AT(Rules, time_penalty_clear_per_60_frames, 64);
FASTENV_AT(Rules, time_bonus_topout_per_60_frames, 72);
FASTENV_AT(Rules, pill_place_base, 80);
FASTENV_AT(Rules, pill_place_growth, 88);
FASTENV_AT(Rules, column_height_penalty, 96);
FASTENV_AT(Rules, action_penalty_scale, 104);
FASTENV_AT(Rules, time_penalty_per_60_frames, 112);
FASTENV_AT(Rules, garbage_coef, 120);
FASTENV_AT(Rules, clear_win_bonus, 128);
FASTENV_AT(Rules, max_wait_frames, 136);
FASTENV_AT(Rules, first_frame, 140);
FASTENV_AT(Rules, obs_bytes, 144);
FASTENV_AT(Rules, num_actions, 148);
FASTENV_AT(Rules, candidates, 150);
FASTENV_AT(Rules, agents, 152);
FASTENV_AT(Rules, placement, 153);
FASTENV_AT(Rules, replay, 154);
FASTENV_AT(Rules, extended_inputs, 155);
FASTENV_AT(Rules, actions, 156);
FASTENV_AT(Rules, intro_frames, 157);
FASTENV_AT(Rules, stack, 158);
FASTENV_AT(Rules, demo, 159);
FASTENV_AT(Rules, obs, 160);
FASTENV_AT(Rules, bytes, 161);
FASTENV_AT(Rules, aux, 162);
FASTENV_AT(Rules, costs, 163);
FASTENV_AT(Rules, pill, 164);
FASTENV_AT(Rules, registry, 165);

typedef struct Demo {
    uint8_t board[128];
    uint8_t pills[128];
    uint8_t inputs[256][2];
} Demo;
FASTENV_SIZE(Demo, 768);
FASTENV_AT(Demo, board, 0);
FASTENV_AT(Demo, pills, 128);
FASTENV_AT(Demo, inputs, 256);

typedef struct Tables {
    uint8_t gravity[81];
    uint8_t speed_bases[3];
    uint8_t virus_colors[16];
    uint8_t virus_heights[21];
    uint8_t canonical[3];
    int32_t scores[3];
} Tables;
FASTENV_SIZE(Tables, 136);
FASTENV_AT(Tables, gravity, 0);
FASTENV_AT(Tables, speed_bases, 81);
FASTENV_AT(Tables, virus_colors, 84);
FASTENV_AT(Tables, virus_heights, 100);
FASTENV_AT(Tables, canonical, 121);
FASTENV_AT(Tables, scores, 124);

typedef struct Shared {
    Rules rules;
    Tables tables;
    Demo demo;
    uint16_t seeds[21][120];
} Shared;
FASTENV_SIZE(Shared, 6112);
FASTENV_AT(Shared, rules, 0);
FASTENV_AT(Shared, tables, 168);
FASTENV_AT(Shared, demo, 304);
FASTENV_AT(Shared, seeds, 1072);

#undef FASTENV_AT
#undef FASTENV_SIZE
#undef FASTENV_HOLDS

#endif
