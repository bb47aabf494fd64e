"""Where things stand in the observation, the info columns and the reward terms."""

from __future__ import annotations

import numpy as np

from fastenv.prospector import tables as t

# -- observation: name, offset, length; tests compare it with what the encoders write --------------

OBS_LAYOUT: tuple[tuple[str, int, int, str], ...] = (
    ("fuel", 0, 1, "fuel / 1000"),
    ("hull", 1, 1, "hull / 100"),
    ("heat", 2, 1, "heat / 100"),
    ("tool", 3, 1, "tool condition / 100"),
    ("cargo_total", 4, 1, "cargo in the hold / 200"),
    ("alert", 5, 1, "alert / 100"),
    ("time", 6, 1, "time remaining / time_max"),
    ("credits", 7, 1, "log1p(credits) / log1p(1e7)"),
    ("cargo", 8, 6, "cargo of each commodity / 200"),
    ("supplies", 14, 3, "repair kits, stabilizers, decoys / 12"),
    ("at_station", 17, 1, "1 at the station"),
    ("selected_ok", 18, 1, "1 if an asteroid is selected that can be worked"),
    ("node_type", 19, 3, "one-hot: station, cluster, hazard"),
    ("node_index", 22, 1, "number of the node / 31"),
    ("hops_home", 23, 1, "hops to the station / 31"),
    ("neighbors", 24, 42, "6 slots of 7: exists, one-hot type, time / 8, fuel / 160, threat"),
    ("padding", 66, 2, "always 0"),
    ("asteroids", 68, 176, "16 slots of 11: valid, 6 shares, stability, depletion, conf, selected"),
    ("price", 244, 6, "price / base price, saturated at 1"),
    ("price_change", 250, 6, "(price - price before) / 100, -1 to 1"),
    ("inventory", 256, 4, "station inventory of iron, water_ice, pge, rare_isotopes / 500"),
)
NEIGHBORS, NEIGHBOR_SIZE = 24, 7
ASTEROIDS, ASTEROID_SIZE = 68, 11
PRICES, PRICE_CHANGES, INVENTORY = 244, 250, 256
# What changes only when the ship moves, listens, selects, scans or mines: obs[24:244].
PLACES = slice(NEIGHBORS, PRICES)

# -- info: name and type of the columns of a state, in the order of the contract -------------------

INFO_DTYPE = np.dtype(
    [
        ("action", "i8"),
        ("dt", "i8"),
        ("invalid_action", "?"),
        ("terminated", "?"),
        ("truncated", "?"),
        ("credits", "f8"),
        ("net_profit", "f8"),
        ("profit_per_tick", "f8"),
        ("survival", "f8"),
        ("overheat_ticks", "f8"),
        ("pirate_encounters", "f8"),
        ("value_lost_to_pirates", "f8"),
        ("fuel_used", "f8"),
        ("hull_damage", "f8"),
        ("tool_wear", "f8"),
        ("scan_count", "f8"),
        ("mining_ticks", "f8"),
        ("cargo_utilization_avg", "f8"),
        ("node_context", "i8"),
        ("time_remaining", "f8"),
    ],
    align=True,
)
INFO_LABELS = {"node_context": ("field", "station")}
INFO_COLUMNS: tuple[str, ...] = INFO_DTYPE.names or ()
METRICS = INFO_COLUMNS[5:18]  # the 13 that the training side averages
REWARD_TERMS = (
    "reward_sell",
    "reward_extract",
    "reward_fuel",
    "reward_time",
    "reward_wear",
    "reward_heat",
    "reward_damage",
    "reward_scan",
    "reward_invalid",
    "reward_pirate",
    "reward_terminal",
)
TERMS_DTYPE = np.dtype([(name, "f8") for name in REWARD_TERMS], align=True)

assert sum(length for _, _, length, _ in OBS_LAYOUT) == t.OBS_DIM
