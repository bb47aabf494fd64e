/* Generated from fastenv.skullking.state by "python -m tools.structs"; not to be edited. */
#ifndef FASTENV_SKULLKING_STATE_H
#define FASTENV_SKULLKING_STATE_H

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
    uint64_t rng[4];
    uint64_t deal_seed;
    uint64_t played[2];
    uint64_t known[2];
    uint64_t out[2];
    double seen_strength;
    double ep_return;
    int32_t ep_length;
    int16_t total[8];
    int16_t bonus[8];
    uint16_t bid_share[8];
    int16_t error[8];
    int8_t hand[8][11];
    int8_t hand_len[8];
    int8_t stock[74];
    int8_t stock_pos;
    int8_t stock_len;
    int8_t discard[2];
    int8_t table_card[8];
    int8_t table_seat[8];
    int8_t table_mode[8];
    int8_t table_len;
    int8_t bid[8];
    int8_t won[8];
    int8_t cannon[8];
    int8_t bots[8];
    uint8_t bid_sum[8];
    uint8_t abs_error[8];
    int8_t hits[8];
    int8_t zero_bids[8];
    int8_t last_bid[8];
    int8_t agent;
    int8_t actor;
    int8_t phase;
    int8_t done;
    int8_t round_idx;
    int8_t rounds_done;
    int8_t cards;
    int8_t tricks;
    int8_t destroyed;
    int8_t first_leader;
    int8_t leader;
    int8_t human_leader;
    int8_t turn;
    int8_t played_last[8];
    int8_t alliances[2][2];
    int8_t num_alliances;
    uint8_t counts[5];
    int8_t specials_known;
    int8_t abilities;
    uint8_t pirates;
    int8_t harry_seat;
    int8_t rascal_seat;
    int8_t rascal_bet;
    int8_t rosie_lead;
    int8_t jade_seat;
    int8_t jade_pos;
    int8_t abilities_used;
    int8_t bendt_seat;
    int8_t first_discard;
    int8_t invalid_count;
    int8_t ev_phase;
    int8_t ev_action;
    int8_t ev_invalid;
    int8_t ev_card;
    int8_t ev_needed;
    int8_t ev_left;
    int8_t ev_estimate;
    int8_t ev_trick;
    int8_t ev_captures[5];
    int8_t ev_cards;
    int8_t ev_round;
    int8_t ev_bid;
    int8_t ev_won;
    int8_t ev_alliances;
    int8_t ev_bet;
    int8_t ev_rank;
    int16_t ev_points;
    int16_t ev_bonus;
    int8_t last_card[8];
    int8_t last_seat[8];
    uint8_t voids[8];
} State;
FASTENV_SIZE(State, 536);
FASTENV_AT(State, rng, 0);
FASTENV_AT(State, deal_seed, 32);
FASTENV_AT(State, played, 40);
FASTENV_AT(State, known, 56);
FASTENV_AT(State, out, 72);
FASTENV_AT(State, seen_strength, 88);
FASTENV_AT(State, ep_return, 96);
FASTENV_AT(State, ep_length, 104);
FASTENV_AT(State, total, 108);
FASTENV_AT(State, bonus, 124);
FASTENV_AT(State, bid_share, 140);
FASTENV_AT(State, error, 156);
FASTENV_AT(State, hand, 172);
FASTENV_AT(State, hand_len, 260);
FASTENV_AT(State, stock, 268);
FASTENV_AT(State, stock_pos, 342);
FASTENV_AT(State, stock_len, 343);
FASTENV_AT(State, discard, 344);
FASTENV_AT(State, table_card, 346);
FASTENV_AT(State, table_seat, 354);
FASTENV_AT(State, table_mode, 362);
FASTENV_AT(State, table_len, 370);
FASTENV_AT(State, bid, 371);
FASTENV_AT(State, won, 379);
FASTENV_AT(State, cannon, 387);
FASTENV_AT(State, bots, 395);
FASTENV_AT(State, bid_sum, 403);
FASTENV_AT(State, abs_error, 411);
FASTENV_AT(State, hits, 419);
FASTENV_AT(State, zero_bids, 427);
FASTENV_AT(State, last_bid, 435);
FASTENV_AT(State, agent, 443);
FASTENV_AT(State, actor, 444);
FASTENV_AT(State, phase, 445);
FASTENV_AT(State, done, 446);
FASTENV_AT(State, round_idx, 447);
FASTENV_AT(State, rounds_done, 448);
FASTENV_AT(State, cards, 449);
FASTENV_AT(State, tricks, 450);
FASTENV_AT(State, destroyed, 451);
FASTENV_AT(State, first_leader, 452);
FASTENV_AT(State, leader, 453);
FASTENV_AT(State, human_leader, 454);
FASTENV_AT(State, turn, 455);
FASTENV_AT(State, played_last, 456);
FASTENV_AT(State, alliances, 464);
FASTENV_AT(State, num_alliances, 468);
FASTENV_AT(State, counts, 469);
FASTENV_AT(State, specials_known, 474);
FASTENV_AT(State, abilities, 475);
FASTENV_AT(State, pirates, 476);
FASTENV_AT(State, harry_seat, 477);
FASTENV_AT(State, rascal_seat, 478);
FASTENV_AT(State, rascal_bet, 479);
FASTENV_AT(State, rosie_lead, 480);
FASTENV_AT(State, jade_seat, 481);
FASTENV_AT(State, jade_pos, 482);
FASTENV_AT(State, abilities_used, 483);
FASTENV_AT(State, bendt_seat, 484);
FASTENV_AT(State, first_discard, 485);
FASTENV_AT(State, invalid_count, 486);
FASTENV_AT(State, ev_phase, 487);
FASTENV_AT(State, ev_action, 488);
FASTENV_AT(State, ev_invalid, 489);
FASTENV_AT(State, ev_card, 490);
FASTENV_AT(State, ev_needed, 491);
FASTENV_AT(State, ev_left, 492);
FASTENV_AT(State, ev_estimate, 493);
FASTENV_AT(State, ev_trick, 494);
FASTENV_AT(State, ev_captures, 495);
FASTENV_AT(State, ev_cards, 500);
FASTENV_AT(State, ev_round, 501);
FASTENV_AT(State, ev_bid, 502);
FASTENV_AT(State, ev_won, 503);
FASTENV_AT(State, ev_alliances, 504);
FASTENV_AT(State, ev_bet, 505);
FASTENV_AT(State, ev_rank, 506);
FASTENV_AT(State, ev_points, 508);
FASTENV_AT(State, ev_bonus, 510);
FASTENV_AT(State, last_card, 512);
FASTENV_AT(State, last_seat, 520);
FASTENV_AT(State, voids, 528);

typedef struct Rules {
    double goal_bonus;
    int8_t num_players;
    int8_t num_hands;
    int8_t tier;
    int8_t full_game;
    int8_t num_rounds;
    int8_t schedule[20];
    int8_t deck[74];
    int8_t deck_len;
    int8_t scoring;
    int8_t left_of_kraken;
    int8_t whale_void_would_win;
    int8_t late_suit;
    int8_t trump_any_time;
    int8_t tigress_bonus;
    int8_t tigress_agent;
    int8_t duplicate_deals;
    int8_t memory;
    int8_t reward;
    int8_t needed_after;
    int8_t rosie_shaping;
    int8_t abilities;
    int8_t opponent_slots;
    int8_t table_slots;
    int8_t external;
    int8_t all_seats;
    int32_t obs_dim;
} Rules;
FASTENV_SIZE(Rules, 136);
FASTENV_AT(Rules, goal_bonus, 0);
FASTENV_AT(Rules, num_players, 8);
FASTENV_AT(Rules, num_hands, 9);
FASTENV_AT(Rules, tier, 10);
FASTENV_AT(Rules, full_game, 11);
FASTENV_AT(Rules, num_rounds, 12);
FASTENV_AT(Rules, schedule, 13);
FASTENV_AT(Rules, deck, 33);
FASTENV_AT(Rules, deck_len, 107);
FASTENV_AT(Rules, scoring, 108);
FASTENV_AT(Rules, left_of_kraken, 109);
FASTENV_AT(Rules, whale_void_would_win, 110);
FASTENV_AT(Rules, late_suit, 111);
FASTENV_AT(Rules, trump_any_time, 112);
FASTENV_AT(Rules, tigress_bonus, 113);
FASTENV_AT(Rules, tigress_agent, 114);
FASTENV_AT(Rules, duplicate_deals, 115);
FASTENV_AT(Rules, memory, 116);
FASTENV_AT(Rules, reward, 117);
FASTENV_AT(Rules, needed_after, 118);
FASTENV_AT(Rules, rosie_shaping, 119);
FASTENV_AT(Rules, abilities, 120);
FASTENV_AT(Rules, opponent_slots, 121);
FASTENV_AT(Rules, table_slots, 122);
FASTENV_AT(Rules, external, 123);
FASTENV_AT(Rules, all_seats, 124);
FASTENV_AT(Rules, obs_dim, 128);

typedef struct Knobs {
    double round_cdf[20];
    double round_weights[20];
    int8_t opponents[8];
    int8_t agent_seat;
    int8_t goal_mode;
    int8_t goal;
    int8_t abilities;
    uint8_t pirates;
    uint8_t allowed_phases;
} Knobs;
FASTENV_SIZE(Knobs, 336);
FASTENV_AT(Knobs, round_cdf, 0);
FASTENV_AT(Knobs, round_weights, 160);
FASTENV_AT(Knobs, opponents, 320);
FASTENV_AT(Knobs, agent_seat, 328);
FASTENV_AT(Knobs, goal_mode, 329);
FASTENV_AT(Knobs, goal, 330);
FASTENV_AT(Knobs, abilities, 331);
FASTENV_AT(Knobs, pirates, 332);
FASTENV_AT(Knobs, allowed_phases, 333);

typedef struct Tables {
    double strength[74];
    double play_strength[74];
    float features[76][9];
    int16_t bid_value[74];
    int16_t play_rank[74];
    int16_t whale_high_rank;
    int8_t order[2][75];
    uint64_t order_bit[2][2][76];
    uint64_t order_suit[2][2][6];
    uint64_t suit_set[4][2];
    uint64_t specials[2];
    int8_t card_class[76];
    int8_t suit[76];
    int8_t number[76];
    int16_t suit_bit[74];
    int8_t lead[76];
    int16_t trick_key[5][76];
    uint64_t tally[76];
    uint8_t count[74][8];
} Tables;
FASTENV_SIZE(Tables, 9488);
FASTENV_AT(Tables, strength, 0);
FASTENV_AT(Tables, play_strength, 592);
FASTENV_AT(Tables, features, 1184);
FASTENV_AT(Tables, bid_value, 3920);
FASTENV_AT(Tables, play_rank, 4068);
FASTENV_AT(Tables, whale_high_rank, 4216);
FASTENV_AT(Tables, order, 4218);
FASTENV_AT(Tables, order_bit, 4368);
FASTENV_AT(Tables, order_suit, 6800);
FASTENV_AT(Tables, suit_set, 6992);
FASTENV_AT(Tables, specials, 7056);
FASTENV_AT(Tables, card_class, 7072);
FASTENV_AT(Tables, suit, 7148);
FASTENV_AT(Tables, number, 7224);
FASTENV_AT(Tables, suit_bit, 7300);
FASTENV_AT(Tables, lead, 7448);
FASTENV_AT(Tables, trick_key, 7524);
FASTENV_AT(Tables, tally, 8288);
FASTENV_AT(Tables, count, 8896);

typedef struct Shared {
    Rules rules;
    Tables tables;
} Shared;
FASTENV_SIZE(Shared, 9624);
FASTENV_AT(Shared, rules, 0);
FASTENV_AT(Shared, tables, 136);

typedef struct Params {
    int32_t kind;
} Params;
FASTENV_SIZE(Params, 4);
FASTENV_AT(Params, kind, 0);

#undef FASTENV_AT
#undef FASTENV_SIZE
#undef FASTENV_HOLDS

#endif
