# The records of state.py as C structs; a test compares size and every offset.
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint64_t

cdef enum:
    MAX_PLAYERS = 8
    MAX_HAND = 11
    NUM_CARDS = 74
    MAX_ROUNDS = 20
    NUM_PLACES = 75  # cards by play strength, the Whale with both of hers
    NUM_FACES = 76  # cards, and the Tigress on the table as escape and as pirate

# The enumerations of tables.py.
cdef enum CardClass:
    NUMBER, ESCAPE, LOOT, TIGRESS, PIRATE, MERMAID, KING, KRAKEN, WHALE

cdef enum Phase:
    BID, PLAY, TIGRESS_MODE, ROSIE, BENDT_1, BENDT_2, RASCAL, HARRY, CANNON, END

cdef enum Tier:
    FLAT, MANAGER, WORKER, ABILITY

cdef enum Bot:
    RANDOM, RULE_EASY, RULE_MEDIUM, RULE_HARD, RULE_PI_EASY, RULE_PI_MEDIUM, RULE_PI_HARD, HEURISTIC, EXTERNAL

cdef enum Scoring:
    SCORE_SKULL_KING, SCORE_RASCAL, SCORE_CANNON

cdef enum Abilities:
    ABILITIES_OFF, ABILITIES_AUTO, ABILITIES_AGENT

cdef enum GoalMode:
    GOAL_UNIFORM, GOAL_FIXED, GOAL_ESTIMATE, GOAL_MANAGER

cdef enum Tally:  # bit positions of the 4-bit fields of Tables.tally
    FOURTEENS = 0
    TRUMP_FOURTEENS = 4
    MERMAIDS = 8
    PIRATES = 12
    KINGS = 16
    LOOTS = 20
    KRAKENS = 24
    WHALES = 28

cdef enum:
    ORDER_KING = 74  # entries of Tables.order_bit and Tables.order_suit behind cards and suits
    ORDER_WHALE_HIGH = 75
    ORDER_SPECIALS = 4
    ORDER_HIGH = 5

cdef enum:
    MAX_CARDS = 10
    NUM_ACTIONS = 11
    INVALID_LIMIT = 50
    BID_SHARE_UNIT = 2520
    GRAYBEARD = 2  # his seat and hand at a two-player table
    CARD_WHALE = 1
    CARD_TIGRESS = 71
    CARD_ROSIE = 5  # the five pirates are consecutive: Rosie, Bendt, Rascal, Jade, Harry
    CARD_BENDT = 6
    CARD_RASCAL = 7
    CARD_JADE = 8
    CARD_HARRY = 9
    TRUMP = 3


cdef struct State:
    uint64_t rng[4]
    uint64_t deal_seed
    uint64_t played[2]
    uint64_t known[2]
    uint64_t out[2]
    double seen_strength
    double ep_return
    int32_t ep_length
    int16_t total[MAX_PLAYERS]
    int16_t bonus[MAX_PLAYERS]
    uint16_t bid_share[MAX_PLAYERS]
    int16_t error[MAX_PLAYERS]
    int8_t hand[MAX_PLAYERS][MAX_HAND]
    int8_t hand_len[MAX_PLAYERS]
    int8_t stock[NUM_CARDS]
    int8_t stock_pos
    int8_t stock_len
    int8_t discard[2]
    int8_t table_card[MAX_PLAYERS]
    int8_t table_seat[MAX_PLAYERS]
    int8_t table_mode[MAX_PLAYERS]
    int8_t table_len
    int8_t bid[MAX_PLAYERS]
    int8_t won[MAX_PLAYERS]
    int8_t cannon[MAX_PLAYERS]
    int8_t bots[MAX_PLAYERS]
    uint8_t bid_sum[MAX_PLAYERS]
    uint8_t abs_error[MAX_PLAYERS]
    int8_t hits[MAX_PLAYERS]
    int8_t zero_bids[MAX_PLAYERS]
    int8_t last_bid[MAX_PLAYERS]
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
    int8_t played_last[MAX_PLAYERS]
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
    int8_t jade_seen
    int8_t abilities_used
    int8_t drawn[2]
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


cdef struct Rules:
    double goal_bonus
    int8_t num_players
    int8_t num_hands
    int8_t tier
    int8_t full_game
    int8_t num_rounds
    int8_t schedule[MAX_ROUNDS]
    int8_t deck[NUM_CARDS]
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
    int32_t obs_dim


cdef struct Knobs:
    double round_cdf[MAX_ROUNDS]
    int8_t opponents[MAX_PLAYERS]
    int8_t agent_seat
    int8_t goal_mode
    int8_t goal
    int8_t abilities
    uint8_t pirates


cdef struct Tables:
    double strength[NUM_CARDS]
    double play_strength[NUM_CARDS]
    float features[NUM_FACES][9]
    int16_t bid_value[NUM_CARDS]
    int16_t play_rank[NUM_CARDS]
    int16_t whale_high_rank
    int8_t order[2][NUM_PLACES]
    uint64_t order_bit[2][2][NUM_FACES]
    uint64_t order_suit[2][2][6]
    int8_t card_class[NUM_FACES]
    int8_t suit[NUM_FACES]
    int8_t number[NUM_FACES]
    int16_t suit_bit[NUM_CARDS]
    int8_t lead[NUM_FACES]
    int16_t trick_key[5][NUM_FACES]
    uint64_t tally[NUM_FACES]
    uint8_t count[NUM_CARDS][8]
