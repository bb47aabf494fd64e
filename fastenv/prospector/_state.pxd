# The records of state.py and tables.py as C structs; a test compares size and every offset.
from libc.stdint cimport int8_t, int32_t, uint8_t, uint32_t, uint64_t

cdef enum:
    NUM_COMMODITIES = 6
    MAX_NODES = 32
    MIN_NODES = 8
    MAX_NEIGHBORS = 6
    MAX_ASTEROIDS = 16
    OBS_DIM = 260
    NUM_ACTIONS = 69
    SUPPLY_MAX = 12
    UNREACHABLE = 31
    NUM_TICKS = 9  # rows of the tables by dt = 0 .. TRAVEL_TIME_MAX
    NUM_JUMPS = 17  # rows of the tables by n = 0 .. MAX_ASTEROIDS
    NUM_PAD = 72

# The enumerations of tables.py.
cdef enum NodeType:
    STATION, CLUSTER, HAZARD

cdef enum Action:
    TRAVEL = 0
    HOLD = 6
    BURN = 7
    SCAN_WIDE = 8
    SCAN_FOCUSED = 9
    SCAN_DEEP = 10
    LISTEN = 11
    SELECT = 12
    MINE_CONSERVATIVE = 28
    MINE_STANDARD = 29
    MINE_AGGRESSIVE = 30
    STABILIZE = 31
    REFINE = 32
    COOLDOWN = 33
    MAINTAIN_TOOL = 34
    PATCH_HULL = 35
    JETTISON = 36
    DOCK = 42
    SELL = 43
    BUY_FUEL_SMALL = 61
    BUY_FUEL_MEDIUM = 62
    BUY_FUEL_LARGE = 63
    BUY_REPAIR_KIT = 64
    BUY_STABILIZER = 65
    BUY_DECOY = 66
    OVERHAUL = 67
    CASH_OUT = 68


cdef struct State:
    uint64_t rng
    double fuel
    double hull
    double heat
    double tool
    double alert
    double time_remaining
    double credits
    double total_spend
    double value_lost
    double util_sum
    double util_count
    double ev_credits
    double ev_fuel
    double ev_hull
    double ev_tool
    double ev_cargo_value
    double ev_value_lost
    double ep_return
    int32_t ep_length
    int32_t ticks_elapsed
    int32_t overheat_ticks
    int32_t pirate_encounters
    int32_t scan_count
    int32_t mining_ticks
    float cargo[NUM_COMMODITIES]
    float price[NUM_COMMODITIES]
    float prev_price[NUM_COMMODITIES]
    float station_inventory[NUM_COMMODITIES]
    float recent_sales[NUM_COMMODITIES]
    float price_phase[NUM_COMMODITIES]
    float price_period[NUM_COMMODITIES]
    float price_amp[NUM_COMMODITIES]
    int8_t node_count
    int8_t current_node
    int8_t selected
    int8_t repair_kits
    int8_t stabilizers
    int8_t decoys
    int8_t escape_ticks
    int8_t stabilize_ticks[MAX_ASTEROIDS]
    int8_t done
    int8_t ev_action
    int8_t ev_dt
    int8_t ev_invalid
    int8_t ev_destroyed
    int8_t ev_stranded
    int8_t node_type[MAX_NODES]
    int8_t steps_to_station[MAX_NODES]
    int8_t asteroid_count[MAX_NODES]
    float node_hazard[MAX_NODES]
    float node_pirate[MAX_NODES]
    int8_t neighbor[MAX_NODES][MAX_NEIGHBORS]
    int8_t edge_time[MAX_NODES][MAX_NEIGHBORS]
    float edge_fuel[MAX_NODES][MAX_NEIGHBORS]
    float edge_threat[MAX_NODES][MAX_NEIGHBORS]
    float edge_threat_est[MAX_NODES][MAX_NEIGHBORS]
    uint32_t pending
    uint64_t asteroid_rng[MAX_NODES]
    float depletion[MAX_NODES][MAX_ASTEROIDS]
    float scan_conf[MAX_NODES][MAX_ASTEROIDS]
    float stability_est[MAX_NODES][MAX_ASTEROIDS]
    float comp_est[MAX_NODES][MAX_ASTEROIDS][NUM_COMMODITIES]
    float true_comp[MAX_NODES][MAX_ASTEROIDS][NUM_COMMODITIES]
    float richness[MAX_NODES][MAX_ASTEROIDS]
    float stability[MAX_NODES][MAX_ASTEROIDS]
    float noise[MAX_NODES][MAX_ASTEROIDS]
    uint8_t unused[NUM_PAD]


cdef struct Rules:
    double time_max


cdef struct Tables:
    double price_base[NUM_COMMODITIES]
    double price_min[NUM_COMMODITIES]
    double price_max[NUM_COMMODITIES]
    double price_sigma[NUM_TICKS][NUM_COMMODITIES]
    float sales_decay[NUM_TICKS]
    double log_cap
    uint64_t jump_mul[NUM_JUMPS]
    uint64_t jump_add[NUM_JUMPS]
