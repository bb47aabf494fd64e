"""One game of Asteroid Prospector as one row of bytes, and the record of its rules.

``STATE_DTYPE`` is the contract between the three implementations: the C struct of the compiled core
is generated from it (``python -m tools.structs`` after a change), Numba reads the record directly,
and the reference converts with ``pack`` and ``unpack`` in ``position.py``. Equal states are equal
bytes: what is not used has the value named below.

Hot fields come first (under 1 KB), the graph next, the asteroids, nine tenths of the row, last.
The compiled core fills the asteroids of a node when the ship first comes there; until then bit
``node`` of ``pending`` is set and ``asteroid_rng[node]`` is the generator where they begin. Rows
that are read out are complete: ``pending`` and ``asteroid_rng`` are 0.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from fastenv.prospector import tables as t

C, N, K, A = t.NUM_COMMODITIES, t.MAX_NODES, t.MAX_NEIGHBORS, t.MAX_ASTEROIDS

STATE_DTYPE = np.dtype(
    [
        ("rng", "u8"),  # PCG32
        # -- ship --
        ("fuel", "f8"),
        ("hull", "f8"),
        ("heat", "f8"),
        ("tool", "f8"),
        ("alert", "f8"),
        ("time_remaining", "f8"),
        ("credits", "f8"),
        ("total_spend", "f8"),
        ("value_lost", "f8"),  # to pirates
        ("util_sum", "f8"),  # cargo utilization, weighted with ticks
        ("util_count", "f8"),
        # -- before the last step: what the reward compares with; after a reset the values now --
        ("ev_credits", "f8"),
        ("ev_fuel", "f8"),
        ("ev_hull", "f8"),
        ("ev_tool", "f8"),
        ("ev_cargo_value", "f8"),
        ("ev_value_lost", "f8"),
        ("ep_return", "f8"),  # running sums of the episode, written by the reward functions
        ("ep_length", "i4"),
        ("ticks_elapsed", "i4"),
        ("overheat_ticks", "i4"),
        ("pirate_encounters", "i4"),
        ("scan_count", "i4"),
        ("mining_ticks", "i4"),
        # -- hold and market --
        ("cargo", "f4", (C,)),
        ("price", "f4", (C,)),
        ("prev_price", "f4", (C,)),
        ("station_inventory", "f4", (C,)),
        ("recent_sales", "f4", (C,)),
        ("price_phase", "f4", (C,)),
        ("price_period", "f4", (C,)),
        ("price_amp", "f4", (C,)),
        # -- where the ship is and what it has --
        ("node_count", "i1"),
        ("current_node", "i1"),
        ("selected", "i1"),  # asteroid slot at the current node, -1
        ("repair_kits", "i1"),
        ("stabilizers", "i1"),
        ("decoys", "i1"),
        ("escape_ticks", "i1"),
        ("stabilize_ticks", "i1", (A,)),  # by slot: goes with the ship
        # -- the last step: what reward and info are computed from --
        ("done", "i1"),  # 0 running, 1 terminated, 2 truncated
        ("ev_action", "i1"),  # as resolved, 6 for one out of range; -1 after a reset
        ("ev_dt", "i1"),  # ticks it took; 0 after a reset
        ("ev_invalid", "i1"),
        ("ev_destroyed", "i1"),
        ("ev_stranded", "i1"),
        # -- nodes; behind node_count: type 1, hops 31, else 0 --
        ("node_type", "i1", (N,)),
        ("steps_to_station", "i1", (N,)),
        ("asteroid_count", "i1", (N,)),
        ("node_hazard", "f4", (N,)),
        ("node_pirate", "f4", (N,)),
        # -- edges, both directions; empty slots: -1, 1, 0, 0, 0.5 --
        ("neighbor", "i1", (N, K)),
        ("edge_time", "i1", (N, K)),
        ("edge_fuel", "f4", (N, K)),
        ("edge_threat", "f4", (N, K)),
        ("edge_threat_est", "f4", (N, K)),
        # -- asteroids; empty slots: 0 --
        ("pending", "u4"),
        ("asteroid_rng", "u8", (N,)),
        ("depletion", "f4", (N, A)),
        ("scan_conf", "f4", (N, A)),
        ("stability_est", "f4", (N, A)),
        ("comp_est", "f4", (N, A, C)),
        ("true_comp", "f4", (N, A, C)),
        ("richness", "f4", (N, A)),
        ("stability", "f4", (N, A)),
        ("noise", "f4", (N, A)),
        # Rows an odd number of cache lines apart spread over all sets of the cache.
        ("unused", "u1", (72,)),
    ],
    align=True,
)

RULES_DTYPE = np.dtype([("time_max", "f8")], align=True)

# What is around the ship, obs[24:244], in whole cache lines: it is the derived record of a lane,
# because it takes most of an observation to write and most actions leave it as it is.
DERIVED_DTYPE = np.dtype([("places", "f4", (224,))], align=True)

# How a scripted player plays: a Bot, and the commodity that a market timer deals in.
BOT_DTYPE = np.dtype([("kind", "i4"), ("target", "i4")], align=True)

# What all lanes of an engine read and none writes.
SHARED_DTYPE = np.dtype([("rules", RULES_DTYPE), ("tables", t.TABLES_DTYPE)], align=True)

# What the compiled code is given; see tools/structs.py.
STRUCTS = {
    "State": STATE_DTYPE,
    "Rules": RULES_DTYPE,
    "Tables": t.TABLES_DTYPE,
    "Shared": SHARED_DTYPE,
}
CONSTANTS = {
    "NUM_COMMODITIES": t.NUM_COMMODITIES,
    "MAX_NODES": t.MAX_NODES,
    "MAX_NEIGHBORS": t.MAX_NEIGHBORS,
    "MAX_ASTEROIDS": t.MAX_ASTEROIDS,
    "OBS_DIM": t.OBS_DIM,
    "NUM_ACTIONS": t.NUM_ACTIONS,
    "SUPPLY_MAX": t.SUPPLY_MAX,
    "UNREACHABLE": t.UNREACHABLE,
}
ENUMS: dict[type[IntEnum], str] = {t.NodeType: "", t.Action: ""}
