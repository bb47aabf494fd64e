# Generated from fastenv.prospector.state by "python -m tools.structs"; not to be edited.
from libc.stdint cimport int32_t, int8_t, uint32_t, uint64_t, uint8_t

cdef enum:
    NUM_COMMODITIES = 6
    MAX_NODES = 32
    MAX_NEIGHBORS = 6
    MAX_ASTEROIDS = 16
    OBS_DIM = 260
    NUM_ACTIONS = 69
    SUPPLY_MAX = 12
    UNREACHABLE = 31

cdef enum NodeType:
    STATION = 0
    CLUSTER = 1
    HAZARD = 2

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

cdef extern from "_state.h":
    ctypedef struct State:
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
        float cargo[6]
        float price[6]
        float prev_price[6]
        float station_inventory[6]
        float recent_sales[6]
        float price_phase[6]
        float price_period[6]
        float price_amp[6]
        int8_t node_count
        int8_t current_node
        int8_t selected
        int8_t repair_kits
        int8_t stabilizers
        int8_t decoys
        int8_t escape_ticks
        int8_t stabilize_ticks[16]
        int8_t done
        int8_t ev_action
        int8_t ev_dt
        int8_t ev_invalid
        int8_t ev_destroyed
        int8_t ev_stranded
        int8_t node_type[32]
        int8_t steps_to_station[32]
        int8_t asteroid_count[32]
        float node_hazard[32]
        float node_pirate[32]
        int8_t neighbor[32][6]
        int8_t edge_time[32][6]
        float edge_fuel[32][6]
        float edge_threat[32][6]
        float edge_threat_est[32][6]
        uint32_t pending
        uint64_t asteroid_rng[32]
        float depletion[32][16]
        float scan_conf[32][16]
        float stability_est[32][16]
        float comp_est[32][16][6]
        float true_comp[32][16][6]
        float richness[32][16]
        float stability[32][16]
        float noise[32][16]
        uint8_t unused[72]

    ctypedef struct Rules:
        double time_max

    ctypedef struct Tables:
        double price_base[6]
        double price_min[6]
        double price_max[6]
        double price_sigma[9][6]
        float sales_decay[9]
        double log_cap
        uint64_t jump_mul[17]
        uint64_t jump_add[17]

    ctypedef struct Shared:
        Rules rules
        Tables tables
