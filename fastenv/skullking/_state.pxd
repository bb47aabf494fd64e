# Generated from fastenv.skullking.state by "python -m tools.structs"; not to be edited.
from libc.stdint cimport int16_t, int32_t, int8_t, uint16_t, uint64_t, uint8_t

cdef enum:
    MAX_PLAYERS = 8
    MAX_HAND = 11
    MAX_CARDS = 10
    NUM_CARDS = 74
    NUM_FACES = 76
    NUM_ACTIONS = 11
    INVALID_LIMIT = 50
    BID_SHARE_UNIT = 2520
    GRAYBEARD = 2
    TRUMP = 3
    CARD_WHALE = 1
    CARD_ROSIE = 5
    CARD_BENDT = 6
    CARD_RASCAL = 7
    CARD_JADE = 8
    CARD_HARRY = 9
    CARD_TIGRESS = 71
    ORDER_KING = 74
    ORDER_WHALE_HIGH = 75
    ORDER_SPECIALS = 4
    ORDER_HIGH = 5

cdef enum CardClass:
    NUMBER = 0
    ESCAPE = 1
    LOOT = 2
    TIGRESS = 3
    PIRATE = 4
    MERMAID = 5
    KING = 6
    KRAKEN = 7
    WHALE = 8

cdef enum Phase:
    BID = 0
    PLAY = 1
    TIGRESS_MODE = 2
    ROSIE = 3
    BENDT_1 = 4
    BENDT_2 = 5
    RASCAL = 6
    HARRY = 7
    CANNON = 8
    END = 9

cdef enum Tier:
    FLAT = 0
    MANAGER = 1
    WORKER = 2
    ABILITY = 3

cdef enum Bot:
    RANDOM = 0
    RULE_EASY = 1
    RULE_MEDIUM = 2
    RULE_HARD = 3
    RULE_PI_EASY = 4
    RULE_PI_MEDIUM = 5
    RULE_PI_HARD = 6
    HEURISTIC = 7
    EXTERNAL = 8

cdef enum Scoring:
    SCORE_SKULL_KING = 0
    SCORE_RASCAL = 1
    SCORE_CANNON = 2

cdef enum Abilities:
    ABILITIES_OFF = 0
    ABILITIES_AUTO = 1
    ABILITIES_AGENT = 2

cdef enum GoalMode:
    GOAL_UNIFORM = 0
    GOAL_FIXED = 1
    GOAL_ESTIMATE = 2
    GOAL_MANAGER = 3

cdef enum Tally:
    FOURTEENS = 0
    TRUMP_FOURTEENS = 4
    MERMAIDS = 8
    PIRATES = 12
    KINGS = 16
    LOOTS = 20
    KRAKENS = 24
    WHALES = 28

cdef extern from "_state.h":
    ctypedef struct State:
        uint64_t rng[4]
        uint64_t deal_seed
        uint64_t played[2]
        uint64_t known[2]
        uint64_t out[2]
        double seen_strength
        double ep_return
        int32_t ep_length
        int16_t total[8]
        int16_t bonus[8]
        uint16_t bid_share[8]
        int16_t error[8]
        int8_t hand[8][11]
        int8_t hand_len[8]
        int8_t stock[74]
        int8_t stock_pos
        int8_t stock_len
        int8_t discard[2]
        int8_t table_card[8]
        int8_t table_seat[8]
        int8_t table_mode[8]
        int8_t table_len
        int8_t bid[8]
        int8_t won[8]
        int8_t cannon[8]
        int8_t bots[8]
        uint8_t bid_sum[8]
        uint8_t abs_error[8]
        int8_t hits[8]
        int8_t zero_bids[8]
        int8_t last_bid[8]
        int8_t agent
        int8_t actor
        int8_t phase
        int8_t done
        int8_t round_idx
        int8_t rounds_done
        int8_t cards
        int8_t tricks
        int8_t destroyed
        int8_t first_leader
        int8_t leader
        int8_t human_leader
        int8_t turn
        int8_t played_last[8]
        int8_t alliances[2][2]
        int8_t num_alliances
        uint8_t counts[5]
        int8_t specials_known
        int8_t abilities
        uint8_t pirates
        int8_t harry_seat
        int8_t rascal_seat
        int8_t rascal_bet
        int8_t rosie_lead
        int8_t jade_seat
        int8_t jade_pos
        int8_t abilities_used
        int8_t bendt_seat
        int8_t first_discard
        int8_t invalid_count
        int8_t ev_phase
        int8_t ev_action
        int8_t ev_invalid
        int8_t ev_card
        int8_t ev_needed
        int8_t ev_left
        int8_t ev_estimate
        int8_t ev_trick
        int8_t ev_captures[5]
        int8_t ev_cards
        int8_t ev_round
        int8_t ev_bid
        int8_t ev_won
        int8_t ev_alliances
        int8_t ev_bet
        int8_t ev_rank
        int16_t ev_points
        int16_t ev_bonus
        int8_t last_card[8]
        int8_t last_seat[8]
        uint8_t voids[8]

    ctypedef struct Rules:
        double goal_bonus
        int8_t num_players
        int8_t num_hands
        int8_t tier
        int8_t full_game
        int8_t num_rounds
        int8_t schedule[20]
        int8_t deck[74]
        int8_t deck_len
        int8_t scoring
        int8_t left_of_kraken
        int8_t whale_void_would_win
        int8_t late_suit
        int8_t trump_any_time
        int8_t tigress_bonus
        int8_t tigress_agent
        int8_t duplicate_deals
        int8_t memory
        int8_t reward
        int8_t needed_after
        int8_t rosie_shaping
        int8_t abilities
        int8_t opponent_slots
        int8_t table_slots
        int8_t external
        int8_t all_seats
        int32_t obs_dim

    ctypedef struct Knobs:
        double round_cdf[20]
        double round_weights[20]
        int8_t opponents[8]
        int8_t agent_seat
        int8_t goal_mode
        int8_t goal
        int8_t abilities
        uint8_t pirates
        uint8_t allowed_phases

    ctypedef struct Tables:
        double strength[74]
        double play_strength[74]
        float features[76][9]
        int16_t bid_value[74]
        int16_t play_rank[74]
        int16_t whale_high_rank
        int8_t order[2][75]
        uint64_t order_bit[2][2][76]
        uint64_t order_suit[2][2][6]
        uint64_t suit_set[4][2]
        uint64_t specials[2]
        int8_t card_class[76]
        int8_t suit[76]
        int8_t number[76]
        int16_t suit_bit[74]
        int8_t lead[76]
        int16_t trick_key[5][76]
        uint64_t tally[76]
        uint8_t count[74][8]

    ctypedef struct Shared:
        Rules rules
        Tables tables

    ctypedef struct Params:
        int32_t kind
