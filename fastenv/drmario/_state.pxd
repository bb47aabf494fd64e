# Generated from fastenv.drmario.state by "python -m tools.structs"; not to be edited.
from libc.stdint cimport int16_t, int32_t, int8_t, uint16_t, uint32_t, uint64_t, uint8_t

cdef enum:
    ROWS = 16
    COLUMNS = 8
    CELLS = 128
    SPAWN_ROW = 15
    SPAWN_COLUMN = 3
    NUM_COLORS = 3
    NUM_PILLS = 9
    FREE = 240
    EMPTY = 255
    DPAD = 15
    RESERVE = 128
    ORBIT = 32767
    LAST_VIRUS_LEVEL = 20
    FEWEST_VIRUSES_LEVEL = -3
    LOWEST_LEVEL = -15
    IDLE = 255
    MAX_SPEED_UPS = 49
    FIRST_REPEAT = 16
    NEXT_REPEAT = 10
    BLOCKED_REPEAT = 15
    MATCH = 4
    LAST_THROW = 24
    MAX_SCORED = 13
    MAX_HEIGHT = 40
    MIN_ATTACK = 2
    MAX_ATTACK = 4
    DEMO_LEVEL = 10
    DEMO_SPEED = 1
    DEMO_INTRO = 128
    DEMO_FRAME = 1
    DEMO_PREROLL = 7
    DEMO_INPUTS = 256
    NUM_PLACEMENTS = 512
    INFEASIBLE = 65535
    NO_ACTION = -1
    NO_SPAWN = 255
    REGISTRY_SEEDS = 120
    NECK_LEFT = 2
    NECK_RIGHT = 5
    NECK_HEIGHT = 9
    DECIDED = 1000000000
    STACKED = 3

cdef enum Tile:
    TILE_TOP = 64
    TILE_BOTTOM = 80
    TILE_LEFT = 96
    TILE_RIGHT = 112
    TILE_SINGLE = 128
    TILE_CLEARING = 176
    TILE_VIRUS = 208
    TILE_EMPTIED = 240

cdef enum Button:
    BUTTON_RIGHT = 1
    BUTTON_LEFT = 2
    BUTTON_DOWN = 4
    BUTTON_UP = 8
    BUTTON_START = 16
    BUTTON_SELECT = 32
    BUTTON_B = 64
    BUTTON_A = 128

cdef enum Mode:
    MODE_DEMO = 0
    MODE_PLAYING = 4
    MODE_LOST = 5
    MODE_INTRO = 8

cdef enum Next:
    NEXT_FALLING = 0
    NEXT_PLACED = 1
    NEXT_ATTACK = 2
    NEXT_SENT = 3
    NEXT_ADVANCE = 5
    NEXT_SEND = 6

cdef enum Reason:
    REASON_NONE = 0
    REASON_CLEAR = 1
    REASON_TOPOUT = 2
    REASON_TIMEOUT = 3

cdef enum Actions:
    ACTIONS_BUTTONS = 0
    ACTIONS_LATCHED = 1
    ACTIONS_UNLATCHED = 2

cdef enum Bot:
    BOT_RANDOM = 0
    BOT_FIRST = 1
    BOT_GREEDY = 2
    BOT_LOOKAHEAD2 = 3
    BOT_LOOKAHEAD3 = 4
    BOT_ROLLOUTS = 5
    BOT_ATTACK2 = 6

cdef extern from "_state.h":
    ctypedef struct Head:
        uint64_t rng[4]
        uint8_t reserve[128]
        uint32_t frame
        int32_t ep_length
        int32_t ep_frames
        int32_t task_max_frames
        int32_t task_max_spawns
        uint8_t seed[2]
        uint8_t demo_at
        uint8_t demo_left
        int8_t done
        uint8_t reason
        uint8_t unused_head[6]

    ctypedef struct View:
        uint8_t board[128]
        uint8_t mode
        uint8_t next_action
        uint8_t placed_step
        uint8_t row
        uint8_t col
        uint8_t rot
        uint8_t color_first
        uint8_t color_second
        uint8_t preview_first
        uint8_t preview_second
        uint8_t preview_rot
        uint8_t speed_counter
        uint8_t hor_velocity
        uint8_t status_row
        uint8_t throw_frame
        uint8_t virus_bcd

    ctypedef struct Player:
        uint8_t board[128]
        uint8_t mode
        uint8_t next_action
        uint8_t placed_step
        uint8_t row
        uint8_t col
        uint8_t rot
        uint8_t color_first
        uint8_t color_second
        uint8_t preview_first
        uint8_t preview_second
        uint8_t preview_rot
        uint8_t speed_counter
        uint8_t hor_velocity
        uint8_t status_row
        uint8_t throw_frame
        uint8_t virus_bcd
        uint8_t reserve_index
        uint8_t pill_count_lo
        uint8_t pill_count_hi
        uint8_t speed_setting
        uint8_t speed_ups
        uint8_t match_flag
        uint8_t combo_counter
        uint8_t chain_length
        uint8_t buttons_prev
        uint8_t buttons_held
        uint8_t buttons_pressed
        uint8_t intro_wait
        uint8_t stage_clear
        uint8_t level_fail
        uint8_t scored
        uint8_t attack_size
        uint8_t attack_colors[4]
        int8_t level
        uint8_t initial_viruses
        uint8_t latches
        uint8_t clearing
        uint8_t height
        uint8_t decided
        uint8_t ev_invalid
        uint8_t ev_lock_row
        uint8_t ev_lock_col
        uint8_t ev_lock_rot
        uint8_t ev_height
        uint8_t ev_adjacency[3]
        uint8_t ev_virus_adjacency[3]
        uint8_t ev_garbage_sent
        uint8_t ev_volleys
        uint8_t ev_volley_size
        uint8_t ev_volley_column
        uint8_t ev_volley_colors[4]
        uint8_t unused[3]
        uint16_t plan_left
        int16_t plan_action
        int16_t ev_action
        uint16_t ev_cost
        uint16_t ev_locks
        uint16_t ev_tiles_virus
        uint16_t ev_tiles_nonvirus
        uint16_t ev_matches
        uint32_t decided_frame
        uint32_t ev_volley_frame
        int32_t locks
        int32_t matches
        int32_t score
        int32_t decisions

    ctypedef struct One:
        uint64_t rng[4]
        uint8_t reserve[128]
        uint32_t frame
        int32_t ep_length
        int32_t ep_frames
        int32_t task_max_frames
        int32_t task_max_spawns
        uint8_t seed[2]
        uint8_t demo_at
        uint8_t demo_left
        int8_t done
        uint8_t reason
        uint8_t unused_head[6]
        Player players[1]
        double ep_return
        int32_t tau
        uint8_t unused_agents[4]

    ctypedef struct Two:
        uint64_t rng[4]
        uint8_t reserve[128]
        uint32_t frame
        int32_t ep_length
        int32_t ep_frames
        int32_t task_max_frames
        int32_t task_max_spawns
        uint8_t seed[2]
        uint8_t demo_at
        uint8_t demo_left
        int8_t done
        uint8_t reason
        uint8_t unused_head[6]
        Player players[2]
        double ep_return[2]
        uint64_t bot_rng[4]
        int32_t tau[2]
        uint8_t needs_action[2]
        uint8_t unused_agents[6]

    ctypedef struct Knobs:
        int32_t game_seed
        int32_t task_max_frames
        int32_t task_max_spawns
        int8_t level[2]
        int8_t speed[2]

    ctypedef struct BotParams:
        int32_t kind
        int32_t first
        int32_t second
        int32_t kept
        int32_t plies
        int32_t repeats
        int32_t attack
        int32_t virus
        int32_t half
        int32_t row_pair
        int32_t row_triple
        int32_t column_pair
        int32_t column_triple
        int32_t virus_row
        int32_t virus_column
        int32_t gap
        int32_t cover
        int32_t change
        int32_t neck
        int32_t frame

    ctypedef struct Successor:
        int16_t action
        uint16_t cost
        uint16_t frames
        uint8_t viruses
        uint8_t runs
        uint8_t reason
        uint8_t board[128]

    ctypedef struct Costs:
        uint8_t occupied[16]
        uint8_t known
        uint8_t parity
        uint8_t gravity
        uint8_t unused
        int32_t feasible
        uint16_t costs[512]

    ctypedef struct Rules:
        double virus_clear_bonus
        double non_virus_clear_bonus
        double adjacency_pair_bonus
        double adjacency_triplet_bonus
        double virus_adjacency_pair_bonus
        double virus_adjacency_triplet_bonus
        double terminal_clear_bonus
        double topout_penalty
        double time_penalty_clear_per_60_frames
        double time_bonus_topout_per_60_frames
        double pill_place_base
        double pill_place_growth
        double column_height_penalty
        double action_penalty_scale
        double time_penalty_per_60_frames
        double garbage_coef
        double clear_win_bonus
        int32_t max_wait_frames
        uint32_t first_frame
        int32_t obs_bytes
        uint16_t num_actions
        uint16_t candidates
        uint8_t agents
        uint8_t placement
        uint8_t replay
        uint8_t extended_inputs
        uint8_t actions
        uint8_t intro_frames
        uint8_t stack
        uint8_t demo
        uint8_t obs
        uint8_t bytes
        uint8_t aux
        uint8_t costs
        uint8_t pill
        uint8_t registry

    ctypedef struct Demo:
        uint8_t board[128]
        uint8_t pills[128]
        uint8_t inputs[256][2]

    ctypedef struct Tables:
        uint8_t gravity[81]
        uint8_t speed_bases[3]
        uint8_t virus_colors[16]
        uint8_t virus_heights[21]
        uint8_t canonical[3]
        int32_t scores[3]
        int32_t score_factors[14]

    ctypedef struct Shared:
        Rules rules
        Tables tables
        Demo demo
        uint16_t seeds[21][120]
