/* Generated from fastenv.prospector.state by "python -m tools.structs"; not to be edited. */
#ifndef FASTENV_PROSPECTOR_STATE_H
#define FASTENV_PROSPECTOR_STATE_H

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

typedef struct State {
    uint64_t rng;
    double fuel;
    double hull;
    double heat;
    double tool;
    double alert;
    double time_remaining;
    double credits;
    double total_spend;
    double value_lost;
    double util_sum;
    double util_count;
    double ev_credits;
    double ev_fuel;
    double ev_hull;
    double ev_tool;
    double ev_cargo_value;
    double ev_value_lost;
    double ep_return;
    int32_t ep_length;
    int32_t ticks_elapsed;
    int32_t overheat_ticks;
    int32_t pirate_encounters;
    int32_t scan_count;
    int32_t mining_ticks;
    float cargo[6];
    float price[6];
    float prev_price[6];
    float station_inventory[6];
    float recent_sales[6];
    float price_phase[6];
    float price_period[6];
    float price_amp[6];
    int8_t node_count;
    int8_t current_node;
    int8_t selected;
    int8_t repair_kits;
    int8_t stabilizers;
    int8_t decoys;
    int8_t escape_ticks;
    int8_t stabilize_ticks[16];
    int8_t done;
    int8_t ev_action;
    int8_t ev_dt;
    int8_t ev_invalid;
    int8_t ev_destroyed;
    int8_t ev_stranded;
    int8_t node_type[32];
    int8_t steps_to_station[32];
    int8_t asteroid_count[32];
    float node_hazard[32];
    float node_pirate[32];
    int8_t neighbor[32][6];
    int8_t edge_time[32][6];
    float edge_fuel[32][6];
    float edge_threat[32][6];
    float edge_threat_est[32][6];
    uint32_t pending;
    uint64_t asteroid_rng[32];
    float depletion[32][16];
    float scan_conf[32][16];
    float stability_est[32][16];
    float comp_est[32][16][6];
    float true_comp[32][16][6];
    float richness[32][16];
    float stability[32][16];
    float noise[32][16];
    uint8_t unused[72];
} State;
FASTENV_SIZE(State, 40640);
FASTENV_AT(State, rng, 0);
FASTENV_AT(State, fuel, 8);
FASTENV_AT(State, hull, 16);
FASTENV_AT(State, heat, 24);
FASTENV_AT(State, tool, 32);
FASTENV_AT(State, alert, 40);
FASTENV_AT(State, time_remaining, 48);
FASTENV_AT(State, credits, 56);
FASTENV_AT(State, total_spend, 64);
FASTENV_AT(State, value_lost, 72);
FASTENV_AT(State, util_sum, 80);
FASTENV_AT(State, util_count, 88);
FASTENV_AT(State, ev_credits, 96);
FASTENV_AT(State, ev_fuel, 104);
FASTENV_AT(State, ev_hull, 112);
FASTENV_AT(State, ev_tool, 120);
FASTENV_AT(State, ev_cargo_value, 128);
FASTENV_AT(State, ev_value_lost, 136);
FASTENV_AT(State, ep_return, 144);
FASTENV_AT(State, ep_length, 152);
FASTENV_AT(State, ticks_elapsed, 156);
FASTENV_AT(State, overheat_ticks, 160);
FASTENV_AT(State, pirate_encounters, 164);
FASTENV_AT(State, scan_count, 168);
FASTENV_AT(State, mining_ticks, 172);
FASTENV_AT(State, cargo, 176);
FASTENV_AT(State, price, 200);
FASTENV_AT(State, prev_price, 224);
FASTENV_AT(State, station_inventory, 248);
FASTENV_AT(State, recent_sales, 272);
FASTENV_AT(State, price_phase, 296);
FASTENV_AT(State, price_period, 320);
FASTENV_AT(State, price_amp, 344);
FASTENV_AT(State, node_count, 368);
FASTENV_AT(State, current_node, 369);
FASTENV_AT(State, selected, 370);
FASTENV_AT(State, repair_kits, 371);
FASTENV_AT(State, stabilizers, 372);
FASTENV_AT(State, decoys, 373);
FASTENV_AT(State, escape_ticks, 374);
FASTENV_AT(State, stabilize_ticks, 375);
FASTENV_AT(State, done, 391);
FASTENV_AT(State, ev_action, 392);
FASTENV_AT(State, ev_dt, 393);
FASTENV_AT(State, ev_invalid, 394);
FASTENV_AT(State, ev_destroyed, 395);
FASTENV_AT(State, ev_stranded, 396);
FASTENV_AT(State, node_type, 397);
FASTENV_AT(State, steps_to_station, 429);
FASTENV_AT(State, asteroid_count, 461);
FASTENV_AT(State, node_hazard, 496);
FASTENV_AT(State, node_pirate, 624);
FASTENV_AT(State, neighbor, 752);
FASTENV_AT(State, edge_time, 944);
FASTENV_AT(State, edge_fuel, 1136);
FASTENV_AT(State, edge_threat, 1904);
FASTENV_AT(State, edge_threat_est, 2672);
FASTENV_AT(State, pending, 3440);
FASTENV_AT(State, asteroid_rng, 3448);
FASTENV_AT(State, depletion, 3704);
FASTENV_AT(State, scan_conf, 5752);
FASTENV_AT(State, stability_est, 7800);
FASTENV_AT(State, comp_est, 9848);
FASTENV_AT(State, true_comp, 22136);
FASTENV_AT(State, richness, 34424);
FASTENV_AT(State, stability, 36472);
FASTENV_AT(State, noise, 38520);
FASTENV_AT(State, unused, 40568);

typedef struct Rules {
    double time_max;
} Rules;
FASTENV_SIZE(Rules, 8);
FASTENV_AT(Rules, time_max, 0);

typedef struct Tables {
    double price_base[6];
    double price_min[6];
    double price_max[6];
    double price_sigma[9][6];
    float sales_decay[9];
    double log_cap;
    uint64_t jump_mul[17];
    uint64_t jump_add[17];
} Tables;
FASTENV_SIZE(Tables, 896);
FASTENV_AT(Tables, price_base, 0);
FASTENV_AT(Tables, price_min, 48);
FASTENV_AT(Tables, price_max, 96);
FASTENV_AT(Tables, price_sigma, 144);
FASTENV_AT(Tables, sales_decay, 576);
FASTENV_AT(Tables, log_cap, 616);
FASTENV_AT(Tables, jump_mul, 624);
FASTENV_AT(Tables, jump_add, 760);

typedef struct Shared {
    Rules rules;
    Tables tables;
} Shared;
FASTENV_SIZE(Shared, 904);
FASTENV_AT(Shared, rules, 0);
FASTENV_AT(Shared, tables, 8);

#undef FASTENV_AT
#undef FASTENV_SIZE
#undef FASTENV_HOLDS

#endif
