"""Constants of Asteroid Prospector, shared by its three implementations.

The game contract is frozen: every number here is part of it. ``TABLES`` is the record that the
compiled code reads, so that no constant is typed twice.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

# -- sizes -----------------------------------------------------------------------------------------

NUM_COMMODITIES = 6
COMMODITIES = ("iron", "nickel", "water_ice", "pge", "rare_isotopes", "volatiles")
MAX_NODES = 32
MIN_NODES = 8
MAX_NEIGHBORS = 6
MAX_ASTEROIDS = 16
OBS_DIM = 260
NUM_ACTIONS = 69


class NodeType(IntEnum):
    """What a node of the graph is; node 0 is the only station."""

    STATION = 0
    CLUSTER = 1
    HAZARD = 2


# -- limits ----------------------------------------------------------------------------------------

FUEL_MAX = 1000.0
HULL_MAX = HEAT_MAX = TOOL_MAX = ALERT_MAX = 100.0
CARGO_MAX = 200.0
SUPPLY_MAX = 12  # repair kits, stabilizers, decoys
CREDIT_SCALE = 1000.0
CREDITS_CAP = 1e7  # in the observation only
TIME_MAX = 20_000.0  # default of the only option
TRAVEL_TIME_MAX = 8
TRAVEL_FUEL_MAX = 160.0
PRICE_SCALE = 100.0
INVENTORY_NORM = 500.0
UNREACHABLE = 31  # steps_to_station of a node without a way home
TWO_PI = 2.0 * math.pi

# -- the market ------------------------------------------------------------------------------------

PRICE_BASE = (45.0, 55.0, 85.0, 145.0, 210.0, 120.0)
PRICE_MIN = (12.0, 15.0, 20.0, 50.0, 80.0, 30.0)
PRICE_MAX = (180.0, 200.0, 240.0, 320.0, 420.0, 300.0)
OBSERVED_INVENTORY = (0, 2, 3, 4)

# -- the generator: PCG32, stream 54 ---------------------------------------------------------------

PCG_MUL = 6364136223846793005
PCG_INC = (54 << 1) | 1
DRAWS_PER_ASTEROID = 20


def jump(draws: int) -> tuple[int, int]:
    """Return (A, C) with which ``state * A + C`` modulo 2**64 skips that many draws."""
    mul, add = 1, 0
    for _ in range(draws):
        mul, add = mul * PCG_MUL % 2**64, (add * PCG_MUL + PCG_INC) % 2**64
    return mul, add


# -- actions ---------------------------------------------------------------------------------------


class Action(IntEnum):
    """First index of each group of actions."""

    TRAVEL = 0  # + neighbour slot
    HOLD = 6
    BURN = 7
    SCAN_WIDE = 8
    SCAN_FOCUSED = 9
    SCAN_DEEP = 10
    LISTEN = 11
    SELECT = 12  # + asteroid slot
    MINE_CONSERVATIVE = 28
    MINE_STANDARD = 29
    MINE_AGGRESSIVE = 30
    STABILIZE = 31
    REFINE = 32
    COOLDOWN = 33
    MAINTAIN_TOOL = 34
    PATCH_HULL = 35
    JETTISON = 36  # + commodity
    DOCK = 42
    SELL = 43  # + 3 * commodity + bucket
    BUY_FUEL_SMALL = 61
    BUY_FUEL_MEDIUM = 62
    BUY_FUEL_LARGE = 63
    BUY_REPAIR_KIT = 64
    BUY_STABILIZER = 65
    BUY_DECOY = 66
    OVERHAUL = 67
    CASH_OUT = 68


class Scan(NamedTuple):
    """One way to scan; docs/prospector.md, 9.3."""

    blend: float
    gain: float
    noise: float
    dt: int
    fuel: float
    alert: float


class Mine(NamedTuple):
    """One way to mine; docs/prospector.md, 9.4."""

    factor: float
    heat: float
    wear: float
    alert: float
    sigma: float
    fracture_bias: float


SCANS = {
    Action.SCAN_WIDE: Scan(0.22, 0.10, 1.35, dt=3, fuel=5.0, alert=4.0),
    Action.SCAN_FOCUSED: Scan(0.42, 0.20, 1.00, dt=2, fuel=4.0, alert=3.0),
    Action.SCAN_DEEP: Scan(0.80, 0.45, 0.55, dt=4, fuel=8.0, alert=6.0),
}
MINES = {
    Action.MINE_CONSERVATIVE: Mine(0.80, 2.0, 0.8, 1.2, 0.05, -0.7),
    Action.MINE_STANDARD: Mine(1.15, 4.0, 1.6, 2.2, 0.10, 0.0),
    Action.MINE_AGGRESSIVE: Mine(1.55, 7.0, 2.8, 4.0, 0.16, 0.8),
}
SELL_SHARES = (0.25, 0.50, 1.00)
FUEL_PACKS = {
    Action.BUY_FUEL_SMALL: (60.0, 120.0),
    Action.BUY_FUEL_MEDIUM: (120.0, 260.0),
    Action.BUY_FUEL_LARGE: (210.0, 480.0),
}
PRICE_REPAIR_KIT = 150.0
PRICE_STABILIZER = 175.0
PRICE_DECOY = 110.0
PRICE_OVERHAUL = 280.0

# -- what compiled code reads ----------------------------------------------------------------------

TABLES_DTYPE = np.dtype(
    [
        ("price_base", "f8", (NUM_COMMODITIES,)),
        ("price_min", "f8", (NUM_COMMODITIES,)),
        ("price_max", "f8", (NUM_COMMODITIES,)),
        # for dt = 0 .. 8; dt 0 is never used
        ("price_sigma", "f8", (TRAVEL_TIME_MAX + 1, NUM_COMMODITIES)),
        ("sales_decay", "f4", (TRAVEL_TIME_MAX + 1,)),
        ("log_cap", "f8"),  # log1p(CREDITS_CAP)
        # for n = 0 .. 16 asteroids
        ("jump_mul", "u8", (MAX_ASTEROIDS + 1,)),
        ("jump_add", "u8", (MAX_ASTEROIDS + 1,)),
    ],
    align=True,
)


def _tables() -> np.ndarray:
    record = np.zeros(1, TABLES_DTYPE)
    row = record[0]
    row["price_base"], row["price_min"], row["price_max"] = PRICE_BASE, PRICE_MIN, PRICE_MAX
    for dt in range(TRAVEL_TIME_MAX + 1):
        spread = math.sqrt(float(max(dt, 1)))
        row["price_sigma"][dt] = [0.03 * base * spread for base in PRICE_BASE]
        row["sales_decay"][dt] = math.exp(-dt / 14.0)
    row["log_cap"] = math.log1p(CREDITS_CAP)
    for n in range(MAX_ASTEROIDS + 1):
        row["jump_mul"][n], row["jump_add"][n] = jump(DRAWS_PER_ASTEROID * n)
    record.flags.writeable = False
    return record


TABLES = _tables()
