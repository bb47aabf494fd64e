"""Observation, mask, reward, info and bots as Numba kernels; twins of ``encoding.py``, ``bots.py``.

Every element of an observation is the float32 nearest to the double that ``encoding.py`` computes,
so both write the same bits. A quotient of two float32 is computed in float32: that is what the
double quotient rounds to, for 53 bits are more than 2*24 + 2. ``cache=True`` notices changes in
this file only: kernels use nothing from other modules but types. Constants are therefore repeated
here; the tests hold them to ``tables.py``, and offsets to ``layout.py``.

How the kernels are fast: no branches where a comparison will do; all elements of a block are read
before the first is written, because for all the compiler knows the observation may lie over the
row, and only then does it handle several at once; and indices are masked (``& 31``), from which
the compiler sees that none is negative and drops Numba's test for it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np
from numba import errors, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from fastenv.prospector.state import RULES_DTYPE, STATE_DTYPE
from fastenv.prospector.tables import TABLES_DTYPE

_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
_INLINE: dict[str, Any] = {"error_model": "numpy", "forceinline": True}
_HELPER: dict[str, Any] = {"error_model": "numpy"}

OBS_DIM, PLACES_DIM = 260, 220
NUM_ACTIONS = 69
NUM_TERMS = 11
NUM_INFO = 20
NUM_COMMODITIES, MAX_NEIGHBORS, MAX_ASTEROIDS = 6, 6, 16
NEIGHBORS, ASTEROIDS, PRICES, PRICE_CHANGES, INVENTORY = 24, 68, 244, 250, 256
FUEL_PRICES = (60.0, 120.0, 210.0)
KIT_PRICE, STABILIZER_PRICE, DECOY_PRICE, OVERHAUL_PRICE = 150.0, 175.0, 110.0, 280.0
SUPPLY_MAX = 12
LOG_CAP = math.log1p(1e7)

# Bot (bots.py)
GREEDY_MINER, CAUTIOUS_SCANNER, MARKET_TIMER, CASH_OUT, HOLD, RANDOM, MASKED_RANDOM = range(7)

# Action (tables.py)
A_HOLD, A_WIDE, A_DEEP, A_SELECT = 6, 8, 10, 12
A_CONSERVATIVE, A_STANDARD, A_AGGRESSIVE, A_STABILIZE, A_COOLDOWN = 28, 29, 30, 31, 33
A_SELL, A_FUEL_MEDIUM, A_FUEL_LARGE, A_KIT, A_CASH_OUT = 43, 62, 63, 64, 68

ZERO, ONE, HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)


# -- outputs ---------------------------------------------------------------------------------------

# Kernels get a row of an output as a record, because Numba counts references to arrays at every
# call. The other fields of an observation are views of its blocks.
_OBS_DTYPE = np.dtype(
    {
        "names": ["obs", "neighbors", "asteroids"],
        "formats": [("f4", (OBS_DIM,)), ("f4", (6, 7)), ("f4", (16, 11))],
        "offsets": [0, 4 * NEIGHBORS, 4 * ASTEROIDS],
    }
)
_PLACES_DTYPE = np.dtype(
    {
        "names": ["neighbors", "padding", "asteroids"],
        "formats": [("f4", (6, 7)), ("f4", (2,)), ("f4", (16, 11))],
        "offsets": [0, 4 * 42, 4 * 44],
    }
)
_OBS, _PLACES = nb.from_dtype(_OBS_DTYPE), nb.from_dtype(_PLACES_DTYPE)
_MASK = nb.from_dtype(np.dtype([("legal", "u1", (NUM_ACTIONS,))]))
_TERMS = nb.from_dtype(np.dtype([("terms", "f8", (NUM_TERMS,))]))
_INFO = nb.from_dtype(np.dtype([("info", "f8", (NUM_INFO,))]))
_RNG = nb.from_dtype(np.dtype([("s", "u8", (4,))]))


def _rows_as(record, dtype, first=0):
    """Return a kernel function: row ``i``, from element ``first`` on, of an array as a record."""
    skip = first * dtype.bitwidth // 8

    @intrinsic
    def row_as_record(typingctx, array, i):
        if array.layout != "C" or array.dtype != dtype:
            raise errors.TypingError(f"expected a C-contiguous array of {dtype}, got {array}")

        def codegen(context, builder, signature, args):
            view = context.make_array(signature.args[0])(context, builder, args[0])
            stride = builder.extract_value(view.strides, 0)
            offset = builder.add(builder.mul(args[1], stride), stride.type(skip))
            start = cgutils.pointer_add(builder, view.data, offset)
            return builder.bitcast(start, context.get_value_type(record))

        return record(array, i), codegen

    return row_as_record


_obs_row, _mask_row = _rows_as(_OBS, types.float32), _rows_as(_MASK, types.uint8)
_places_row = _rows_as(_PLACES, types.float32, NEIGHBORS)
_terms_row, _info_row = _rows_as(_TERMS, types.float64), _rows_as(_INFO, types.float64)
_rng_row = _rows_as(_RNG, types.uint64)


# -- arithmetic ------------------------------------------------------------------------------------


@njit(**_INLINE)
def _unit(x):
    """Return a double clamped to 0..1."""
    return min(1.0, max(0.0, x))


@njit(**_INLINE)
def _unit32(x):
    """Return a float32 clamped to 0..1."""
    return min(ONE, max(ZERO, x))


@njit(**_INLINE)
def _share32(a, b):
    """Return a/b clamped to 0..1, of float32 or integers below 2**24."""
    return _unit32(np.float32(a) / np.float32(b))


@njit(**_INLINE)
def _change(after, before):
    """Return the change of a price as observed."""
    return np.float32(min(1.0, max(-1.0, (np.float64(after) - np.float64(before)) / 100.0)))


@njit(**_INLINE)
def _six(a):
    return a[0], a[1], a[2], a[3], a[4], a[5]


@njit(**_INLINE)
def _cargo_total(row):
    """Return the cargo in the hold, added in float32."""
    c0, c1, c2, c3, c4, c5 = _six(row.cargo)
    return ((((c0 + c1) + c2) + c3) + c4) + c5


@njit(**_INLINE)
def _cargo_value(row):
    c0, c1, c2, c3, c4, c5 = _six(row.cargo)
    p0, p1, p2, p3, p4, p5 = _six(row.price)
    value = np.float64(c0) * np.float64(p0) + np.float64(c1) * np.float64(p1)
    value += np.float64(c2) * np.float64(p2)
    value += np.float64(c3) * np.float64(p3)
    value += np.float64(c4) * np.float64(p4)
    return value + np.float64(c5) * np.float64(p5)


@njit(**_INLINE)
def _selected_ok(row):
    """Return whether an asteroid is selected that can be worked."""
    node, slot = np.intp(row.current_node) & 31, np.intp(row.selected)
    valid = (slot >= 0) & (slot < np.intp(row.asteroid_count[node]))
    return valid & (row.depletion[node, slot & 15] < ONE)


# -- observation (13) ------------------------------------------------------------------------------


@njit(**_INLINE)
def _head(row, rules, tables, out):
    """Write what can change at every step: 0..23 and 244..259."""
    _ship(row, rules, tables, out)
    _hold(row, out)
    _market(row, tables, out)


@njit(**_INLINE)
def _ship(row, rules, tables, out):
    obs = out.obs
    fuel, hull, heat = row.fuel / 1000.0, row.hull / 100.0, row.heat / 100.0
    tool, alert = row.tool / 100.0, row.alert / 100.0
    time = row.time_remaining / rules.time_max
    credits = 0.0
    if row.credits > 0.0:
        credits = math.log1p(row.credits) / tables.log_cap
    node = np.intp(row.current_node) & 31
    kind = np.intp(row.node_type[node])
    hops = row.steps_to_station[node]
    ok = _selected_ok(row)
    kits, stabilizers, decoys = row.repair_kits, row.stabilizers, row.decoys
    total = _cargo_total(row)
    obs[0], obs[1], obs[2], obs[3] = _unit(fuel), _unit(hull), _unit(heat), _unit(tool)
    obs[4] = _share32(total, 200.0)
    obs[5], obs[6], obs[7] = _unit(alert), _unit(time), _unit(credits)
    obs[14] = _share32(kits, 12)
    obs[15] = _share32(stabilizers, 12)
    obs[16] = _share32(decoys, 12)
    obs[17] = np.float32(kind == 0)
    obs[18] = np.float32(ok)
    obs[19] = np.float32(kind == 0)
    obs[20] = np.float32(kind == 1)
    obs[21] = np.float32(kind == 2)
    obs[22] = _share32(node, 31)
    obs[23] = _share32(hops, 31)


@njit(**_INLINE)
def _hold(row, out):
    obs = out.obs
    c0, c1, c2, c3, c4, c5 = _six(row.cargo)
    obs[8], obs[9], obs[10] = _share32(c0, 200.0), _share32(c1, 200.0), _share32(c2, 200.0)
    obs[11], obs[12], obs[13] = _share32(c3, 200.0), _share32(c4, 200.0), _share32(c5, 200.0)


@njit(**_INLINE)
def _market(row, tables, out):
    obs = out.obs
    p0, p1, p2, p3, p4, p5 = _six(row.price)
    q0, q1, q2, q3, q4, q5 = _six(row.prev_price)
    b0, b1, b2, b3, b4, b5 = _six(tables.price_base)
    i0, _, i2, i3, i4, _ = _six(row.station_inventory)
    o = PRICES
    obs[o], obs[o + 1], obs[o + 2] = _share32(p0, b0), _share32(p1, b1), _share32(p2, b2)
    obs[o + 3], obs[o + 4], obs[o + 5] = _share32(p3, b3), _share32(p4, b4), _share32(p5, b5)
    o = PRICE_CHANGES
    obs[o], obs[o + 1], obs[o + 2] = _change(p0, q0), _change(p1, q1), _change(p2, q2)
    obs[o + 3], obs[o + 4], obs[o + 5] = _change(p3, q3), _change(p4, q4), _change(p5, q5)
    o = INVENTORY
    obs[o], obs[o + 1] = _share32(i0, 500.0), _share32(i2, 500.0)
    obs[o + 2], obs[o + 3] = _share32(i3, 500.0), _share32(i4, 500.0)


@njit(**_INLINE)
def _places(row, out):
    """Write the neighbours and asteroids of the current node: 24..243."""
    node = np.intp(row.current_node) & 31
    _neighbors(row, node, out)
    out.padding[0] = ZERO
    out.padding[1] = ZERO
    count = np.intp(row.asteroid_count[node])
    for a in range(min(count, MAX_ASTEROIDS)):
        _asteroid(row, node, a, out)
    for a in range(max(count, 0), MAX_ASTEROIDS):
        for k in range(11):
            out.asteroids[a, k] = ZERO


@njit(**_INLINE)
def _neighbors(row, node, out):
    slots = out.neighbors
    for k in range(MAX_NEIGHBORS):
        neighbor = np.intp(row.neighbor[node, k])
        kind = np.intp(row.node_type[neighbor & 31])
        there = np.float32(neighbor >= 0)
        time = _share32(row.edge_time[node, k], 8)
        fuel = _share32(row.edge_fuel[node, k], 160.0)
        threat = _unit32(row.edge_threat_est[node, k])
        slots[k, 0] = there
        slots[k, 1] = there * np.float32(kind == 0)
        slots[k, 2] = there * np.float32(kind == 1)
        slots[k, 3] = there * np.float32(kind == 2)
        slots[k, 4] = there * time
        slots[k, 5] = there * fuel
        slots[k, 6] = there * threat


@njit(**_INLINE)
def _weight(x):
    return max(np.float64(x), 1e-8)


@njit(**_INLINE)
def _asteroid(row, node, a, out):
    slots = out.asteroids
    comp = row.comp_est
    w0, w1, w2 = _weight(comp[node, a, 0]), _weight(comp[node, a, 1]), _weight(comp[node, a, 2])
    w3, w4, w5 = _weight(comp[node, a, 3]), _weight(comp[node, a, 4]), _weight(comp[node, a, 5])
    stability = row.stability_est[node, a]
    depletion = row.depletion[node, a]
    conf = row.scan_conf[node, a]
    selected = row.selected == a
    total = ((((w0 + w1) + w2) + w3) + w4) + w5
    slots[a, 0] = ONE
    slots[a, 1], slots[a, 2], slots[a, 3] = w0 / total, w1 / total, w2 / total
    slots[a, 4], slots[a, 5], slots[a, 6] = w3 / total, w4 / total, w5 / total
    slots[a, 7] = _unit32(stability)
    slots[a, 8] = _unit32(depletion)
    slots[a, 9] = _unit32(conf)
    slots[a, 10] = np.float32(selected)


# -- action mask (15) ------------------------------------------------------------------------------


@njit(**_INLINE)
def _mask(row, mask):
    """Write which actions would not be flagged invalid."""
    legal = mask.legal
    node = np.intp(row.current_node) & 31
    count = np.intp(row.asteroid_count[node])
    docked = row.node_type[node] == 0
    ok = _selected_ok(row)
    credits = row.credits
    kits, stabilizers, decoys = row.repair_kits, row.stabilizers, row.decoys
    n0, n1, n2, n3, n4, n5 = (
        row.neighbor[node, 0],
        row.neighbor[node, 1],
        row.neighbor[node, 2],
        row.neighbor[node, 3],
        row.neighbor[node, 4],
        row.neighbor[node, 5],
    )
    for a in range(MAX_ASTEROIDS):
        legal[A_SELECT + a] = (a < count) & (row.depletion[node, a] < ONE)
    legal[0], legal[1], legal[2] = n0 >= 0, n1 >= 0, n2 >= 0
    legal[3], legal[4], legal[5] = n3 >= 0, n4 >= 0, n5 >= 0
    legal[6], legal[7], legal[8], legal[9], legal[10], legal[11] = True, True, True, ok, ok, True
    legal[28], legal[29], legal[30], legal[31] = ok, ok, ok, ok & (stabilizers > 0)
    legal[32], legal[33], legal[34], legal[35] = True, True, kits > 0, kits > 0
    for k in range(36, 42):
        legal[k] = True
    for k in range(42, 61):
        legal[k] = docked
    for k in range(3):
        legal[61 + k] = docked & (credits >= FUEL_PRICES[k])
    legal[64] = docked & (credits >= KIT_PRICE) & (kits < SUPPLY_MAX)
    legal[65] = docked & (credits >= STABILIZER_PRICE) & (stabilizers < SUPPLY_MAX)
    legal[66] = docked & (credits >= DECOY_PRICE) & (decoys < SUPPLY_MAX)
    legal[67] = docked & (credits >= OVERHAUL_PRICE)
    legal[68] = True


# -- reward (12) and info (14) ---------------------------------------------------------------------


@njit(**_INLINE)
def _reward(row, columns):
    """Write the terms of the last step's reward, add it to the row's sums and return it."""
    action = np.intp(row.ev_action)
    credits = row.credits
    sell = (credits - row.ev_credits) / 1000.0
    extract = 0.02 * (max(0.0, _cargo_value(row) - row.ev_cargo_value) / 1000.0)
    fuel = -0.10 * max(0.0, row.ev_fuel - row.fuel) / 100.0
    time = -0.001 * np.float64(row.ev_dt)
    wear = -0.05 * max(0.0, row.ev_tool - row.tool) / 10.0
    hot = max(0.0, row.heat - 70.0) / 100.0
    heat = -0.20 * (hot * hot)
    damage = -1.00 * max(0.0, row.ev_hull - row.hull) / 10.0
    scan = -0.005 if (action >= A_WIDE) & (action <= A_DEEP) else 0.0
    invalid = -0.01 if row.ev_invalid != 0 else 0.0
    pirate = -1.00 * (max(0.0, row.value_lost - row.ev_value_lost) / 1000.0)
    lost = (row.ev_stranded != 0) | (row.ev_destroyed != 0)
    terminal = 0.0
    if lost | (row.done != 0):
        terminal -= 50.0 if row.ev_stranded != 0 else 0.0
        terminal -= 100.0 if row.ev_destroyed != 0 else 0.0
        terminal += 0.0 if lost else 0.002 * (credits / 1000.0)
    reward = sell + extract + fuel + time + wear + heat + damage + scan + invalid + pirate
    reward += terminal
    terms = columns.terms
    terms[0], terms[1], terms[2], terms[3], terms[4] = sell, extract, fuel, time, wear
    terms[5], terms[6], terms[7], terms[8], terms[9] = heat, damage, scan, invalid, pirate
    terms[10] = terminal
    row.ep_return += reward
    row.ep_length += 1
    return reward


@njit(**_INLINE)
def _info(row, out):
    info = out.info
    credits, profit = row.credits, row.credits - row.total_spend
    ticks, survival = max(1, np.intp(row.ticks_elapsed)), 1.0
    if (row.ev_stranded != 0) | (row.ev_destroyed != 0):
        survival = 0.0
    used = 0.0
    if row.util_count > 0.0:
        used = _unit(row.util_sum / row.util_count)
    docked = row.node_type[np.intp(row.current_node) & 31] == 0
    fuel, hull, tool = 1000.0 - row.fuel, 100.0 - row.hull, 100.0 - row.tool
    info[0] = row.ev_action
    info[1] = row.ev_dt
    info[2] = row.ev_invalid != 0
    info[3] = row.done == 1
    info[4] = row.done == 2
    info[5] = credits
    info[6] = profit
    info[7] = profit / np.float64(ticks)
    info[8] = survival
    info[9] = row.overheat_ticks
    info[10] = row.pirate_encounters
    info[11] = row.value_lost
    info[12] = max(0.0, fuel)
    info[13] = max(0.0, hull)
    info[14] = max(0.0, tool)
    info[15] = row.scan_count
    info[16] = row.mining_ticks
    info[17] = used
    info[18] = docked
    info[19] = row.time_remaining


# -- bots (28) -------------------------------------------------------------------------------------


@njit(**_HELPER)
def _home(o):
    """Return the slot of the station, or ``A_HOLD``, which is also the number behind the slots."""
    for k in range(MAX_NEIGHBORS):
        if o.neighbors[k, 0] > HALF and o.neighbors[k, 1] > HALF:
            return k
    return A_HOLD


@njit(**_HELPER)
def _first(o):
    for k in range(MAX_NEIGHBORS):
        if o.neighbors[k, 0] > HALF:
            return k
    return A_HOLD


@njit(**_HELPER)
def _back(o):
    k = _home(o)
    return k if k != A_HOLD else _first(o)


@njit(**_HELPER)
def _field(o):
    for k in range(MAX_NEIGHBORS):
        if o.neighbors[k, 0] > HALF and o.neighbors[k, 2] > HALF:
            return k
    for k in range(MAX_NEIGHBORS):
        if o.neighbors[k, 0] > HALF and not o.neighbors[k, 1] > HALF:
            return k
    return _first(o)


@njit(**_HELPER)
def _credits(o):
    return math.expm1(_unit(np.float64(o.obs[7])) * LOG_CAP)


@njit(**_HELPER)
def _best(o, target):
    """Return the asteroid of the highest score, -1 if there is none; target -1: by all prices."""
    best, highest = -1, -np.inf
    for a in range(MAX_ASTEROIDS):
        if o.asteroids[a, 0] > HALF:
            stability, depletion = np.float64(o.asteroids[a, 7]), np.float64(o.asteroids[a, 8])
            if target < 0:
                value = 0.0
                for c in range(NUM_COMMODITIES):
                    value += np.float64(o.obs[PRICES + c] * o.asteroids[a, 1 + c])
                score = np.float64(np.float32(value))
            else:
                conf = np.float64(o.asteroids[a, 9])
                score = np.float64(o.asteroids[a, 1 + target]) * (0.5 + 0.5 * conf)
            score = score * stability * (1.0 - depletion)
            if score > highest:
                best, highest = a, score
    return best


@njit(**_HELPER)
def _first_cargo(o, least):
    """Return the first commodity of which the hold shows more than ``least``, -1 if none."""
    for c in range(NUM_COMMODITIES):
        if np.float64(o.obs[8 + c]) > least:
            return c
    return -1


@njit(**_HELPER)
def _greedy_miner(o):
    fuel, hull = np.float64(o.obs[0]), np.float64(o.obs[1])
    heat, tool = np.float64(o.obs[2]), np.float64(o.obs[3])
    if o.obs[17] > HALF:
        c = _first_cargo(o, 0.01)
        if c >= 0:
            return A_SELL + 3 * c + 2
        if fuel < 0.40 and _credits(o) >= 210.0:
            return A_FUEL_LARGE
        return _field(o)
    if np.float64(o.obs[4]) > 0.85 or heat > 0.80 or hull < 0.40 or fuel < 0.15:
        return _back(o)
    a = _best(o, -1)
    if a < 0:
        return _field(o)
    if not o.asteroids[a, 10] > HALF:
        return A_SELECT + a
    return A_AGGRESSIVE if tool > 0.60 and heat < 0.60 else A_STANDARD


@njit(**_HELPER)
def _cautious_scanner(o):
    fuel, hull, heat = np.float64(o.obs[0]), np.float64(o.obs[1]), np.float64(o.obs[2])
    if o.obs[17] > HALF:
        c = _first_cargo(o, 0.01)
        if c >= 0:
            return A_SELL + 3 * c + 1
        if np.float64(o.obs[14]) < 0.30 and _credits(o) >= 150.0:
            return A_KIT
        if fuel < 0.50 and _credits(o) >= 120.0:
            return A_FUEL_MEDIUM
        return _field(o)
    if np.float64(o.obs[4]) > 0.70 or heat > 0.75 or hull < 0.55 or fuel < 0.20:
        return _back(o)
    count, conf = 0, 0.0
    for a in range(MAX_ASTEROIDS):
        if o.asteroids[a, 0] > HALF:
            count += 1
            conf += np.float64(o.asteroids[a, 9])
    if count and conf / count < 0.35:
        return A_WIDE
    return _work_carefully(o, heat)


@njit(**_HELPER)
def _work_carefully(o, heat):
    a = _best(o, -1)
    if a < 0:
        return _field(o)
    if not o.asteroids[a, 10] > HALF:
        return A_SELECT + a
    if np.float64(o.asteroids[a, 9]) < 0.60:
        return A_DEEP
    if np.float64(o.asteroids[a, 7]) < 0.40 and np.float64(o.obs[15]) > 0.10:
        return A_STABILIZE
    return A_COOLDOWN if heat > 0.70 else A_CONSERVATIVE


@njit(**_HELPER)
def _market_timer(o, target):
    heat, cargo = np.float64(o.obs[2]), np.float64(o.obs[4])
    change = np.float64(o.obs[PRICE_CHANGES + target])
    if o.obs[17] > HALF:
        return _time_the_market(o, target, change, cargo)
    if cargo > 0.12:
        if heat > 0.65:
            return A_COOLDOWN
        k = _home(o)
        if k != A_HOLD:
            return k
    if change < -0.02 and cargo > 0.25:
        return A_COOLDOWN if heat > 0.60 else _back(o)
    if cargo > 0.85 or heat > 0.80:
        return A_COOLDOWN if heat > 0.70 else _home(o)
    a = _best(o, target)
    if a < 0:
        return _field(o)
    if not o.asteroids[a, 10] > HALF:
        return A_SELECT + a
    return A_STANDARD if heat < 0.60 else A_CONSERVATIVE


@njit(**_HELPER)
def _time_the_market(o, target, change, cargo):
    force = cargo > 0.70 or np.float64(o.obs[6]) < 0.15
    good = change > 0.01 and np.float64(o.obs[PRICES + target]) > 0.50
    if np.float64(o.obs[8 + target]) > 0.01 and (good or force):
        return A_SELL + 3 * target
    if force:
        for c in range(NUM_COMMODITIES):
            if c != target and np.float64(o.obs[8 + c]) > 0.05:
                return A_SELL + 3 * c
    if np.float64(o.obs[0]) < 0.50 and _credits(o) >= 120.0:
        return A_FUEL_MEDIUM
    return _field(o)


@njit(**_HELPER)
def _next(rng):
    """Return the next 64 bits of the engine generator (``fastenv/rng.py``)."""
    s = rng.s
    x = s[1] * np.uint64(5)
    x = ((x << np.uint64(7)) | (x >> np.uint64(57))) * np.uint64(9)
    t = s[1] << np.uint64(17)
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = (s[3] << np.uint64(45)) | (s[3] >> np.uint64(19))
    return x


@njit(**_HELPER)
def _bounded(rng, n):
    """Return an unbiased integer in ``[0, n)``: Lemire's method on 32 bits."""
    n = np.uint64(n)
    product = (_next(rng) >> np.uint64(32)) * n
    low = product & np.uint64(0xFFFFFFFF)
    if low < n:
        threshold = (np.uint64(0x100000000) - n) % n
        while low < threshold:
            product = (_next(rng) >> np.uint64(32)) * n
            low = product & np.uint64(0xFFFFFFFF)
    return np.intp(product >> np.uint64(32))


@njit(**_HELPER)
def _masked_random(mask, rng):
    legal = mask.legal
    count = 0
    for action in range(NUM_ACTIONS):
        count += legal[action] != 0
    left = _bounded(rng, count)
    for action in range(NUM_ACTIONS):
        left -= legal[action] != 0
        if left < 0:
            return action
    return A_HOLD


@njit(**_HELPER)
def _bot(kind, target, o, mask, rng):
    if kind == GREEDY_MINER:
        return _greedy_miner(o)
    if kind == CAUTIOUS_SCANNER:
        return _cautious_scanner(o)
    if kind == MARKET_TIMER:
        return _market_timer(o, target)
    if kind == RANDOM:
        return _bounded(rng, NUM_ACTIONS)
    if kind == MASKED_RANDOM:
        return _masked_random(mask, rng)
    return A_CASH_OUT if kind == CASH_OUT else A_HOLD


# -- the compiled functions ------------------------------------------------------------------------

_state = types.CPointer(nb.from_dtype(STATE_DTYPE))
_rules = types.CPointer(nb.from_dtype(RULES_DTYPE))
_tables = types.CPointer(nb.from_dtype(TABLES_DTYPE))
_double = types.CPointer(types.float64)


@njit(**_OPTIONS)
def _observe_many(rows, rules, tables, select, obs_out, mask_out):
    for i in range(rows.shape[0]):
        if select[i]:
            _head(rows[i], rules[0], tables[0], _obs_row(obs_out, i))
            _places(rows[i], _places_row(obs_out, i))
            _mask(rows[i], _mask_row(mask_out, i))


@njit(**_OPTIONS)
def _reward_many(rows, select, reward_out, columns_out):
    for i in range(rows.shape[0]):
        if select[i]:
            reward_out[i] = _reward(rows[i], _terms_row(columns_out, i))


@njit(**_OPTIONS)
def _info_many(rows, select, info_out):
    for i in range(rows.shape[0]):
        if select[i]:
            _info(rows[i], _info_row(info_out, i))


@njit(**_OPTIONS)
def _bot_many(kind, target, obs, mask, select, rng_states, actions_out):
    for i in range(obs.shape[0]):
        if select[i]:
            o, legal, rng = _obs_row(obs, i), _mask_row(mask, i), _rng_row(rng_states, i)
            actions_out[i] = _bot(kind, target, o, legal, rng)


@lru_cache
def _cfuncs():
    """Return the five functions of one row as C functions, compiled or from the cache."""

    @nb.cfunc(types.void(_state, _rules, _tables, types.CPointer(_OBS)), **_OPTIONS)
    def head(state, rules, tables, obs_out):
        row, rule = nb.carray(state, (1,))[0], nb.carray(rules, (1,))[0]
        _head(row, rule, nb.carray(tables, (1,))[0], nb.carray(obs_out, (1,))[0])

    @nb.cfunc(types.void(_state, types.CPointer(_PLACES)), **_OPTIONS)
    def places(state, places_out):
        _places(nb.carray(state, (1,))[0], nb.carray(places_out, (1,))[0])

    @nb.cfunc(types.void(_state, types.CPointer(_MASK)), **_OPTIONS)
    def mask(state, mask_out):
        _mask(nb.carray(state, (1,))[0], nb.carray(mask_out, (1,))[0])

    @nb.cfunc(types.void(_state, _double, types.CPointer(_TERMS)), **_OPTIONS)
    def reward(state, reward_out, columns_out):
        columns = nb.carray(columns_out, (1,))[0]
        nb.carray(reward_out, (1,))[0] = _reward(nb.carray(state, (1,))[0], columns)

    @nb.cfunc(types.void(_state, types.CPointer(_INFO)), **_OPTIONS)
    def info(state, info_out):
        _info(nb.carray(state, (1,))[0], nb.carray(info_out, (1,))[0])

    return head, places, mask, reward, info


# -- the public functions --------------------------------------------------------------------------


def _require(array, dtype, *shape):
    """Refuse a buffer that the kernels, which check no bounds, would write beyond."""
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        raise ValueError(
            f"expected a C-contiguous {np.dtype(dtype).name} array of shape {shape}, got "
            f"{array.dtype} {array.shape}"
        )


def observe_many(rows, rules, tables, select, obs_out, mask_out):
    """Write observation and action mask of each selected row.

    Parameters
    ----------
    rows : ndarray of STATE_DTYPE, shape (n,)
        The asteroids of a row's current node must be there; of others nothing is read.
    rules : ndarray of RULES_DTYPE, shape (1,)
    tables : ndarray of TABLES_DTYPE, shape (1,)
    select : ndarray of uint8, shape (n,)
        Rows with 0 are not touched.
    obs_out : ndarray of float32, shape (n, 260), C-contiguous
    mask_out : ndarray of uint8, shape (n, 69), C-contiguous

    Raises
    ------
    ValueError
        If a buffer does not have this type and shape.
    """
    n = len(rows)
    _require(select, np.uint8, n)
    _require(obs_out, np.float32, n, OBS_DIM)
    _require(mask_out, np.uint8, n, NUM_ACTIONS)
    _observe_many(rows, rules, tables, select, obs_out, mask_out)


def reward_many(rows, select, reward_out, columns_out):
    """Write reward and reward terms of the last step and add the reward to the rows' sums.

    Parameters
    ----------
    rows : ndarray of STATE_DTYPE, shape (n,)
        ``ep_return`` and ``ep_length`` of selected rows are changed.
    select : ndarray of uint8, shape (n,)
        Rows with 0 are not touched.
    reward_out : ndarray of float64, shape (n,)
    columns_out : ndarray of float64, shape (n, 11), C-contiguous
        In the order of ``layout.REWARD_TERMS``.

    Raises
    ------
    ValueError
        If a buffer does not have this type and shape.
    """
    n = len(rows)
    _require(select, np.uint8, n)
    _require(reward_out, np.float64, n)
    _require(columns_out, np.float64, n, NUM_TERMS)
    _reward_many(rows, select, reward_out, columns_out)


def info_many(rows, select, info_out):
    """Write the info columns of each selected row.

    Parameters
    ----------
    rows : ndarray of STATE_DTYPE, shape (n,)
    select : ndarray of uint8, shape (n,)
        Rows with 0 are not touched.
    info_out : ndarray of float64, shape (n, 20), C-contiguous
        In the order of ``layout.INFO_COLUMNS``.

    Raises
    ------
    ValueError
        If a buffer does not have this type and shape.
    """
    _require(select, np.uint8, len(rows))
    _require(info_out, np.float64, len(rows), NUM_INFO)
    _info_many(rows, select, info_out)


def bot_many(kind, obs, mask, select, rng_states, actions_out, target=3):
    """Write the action of a bot for each selected observation.

    Parameters
    ----------
    kind : Bot
    obs : ndarray of float32, shape (n, 260), C-contiguous
    mask : ndarray of uint8, shape (n, 69), C-contiguous
        Read by ``MASKED_RANDOM`` only.
    select : ndarray of uint8, shape (n,)
        Rows with 0 are not touched.
    rng_states : ndarray of uint64, shape (n, 4), C-contiguous
        Engine generators, advanced by ``RANDOM`` and ``MASKED_RANDOM`` only.
    actions_out : ndarray of int32, shape (n,)
    target : int
        Commodity that ``MARKET_TIMER`` trades, 0 to 5.

    Raises
    ------
    ValueError
        If a buffer does not have this type and shape, or there is no such bot or commodity.
    """
    n = len(obs)
    _require(obs, np.float32, n, OBS_DIM)
    _require(mask, np.uint8, n, NUM_ACTIONS)
    _require(select, np.uint8, n)
    _require(rng_states, np.uint64, n, 4)
    _require(actions_out, np.int32, n)
    if not GREEDY_MINER <= kind <= MASKED_RANDOM:
        raise ValueError(f"expected a bot from 0 to {MASKED_RANDOM}, got {kind}")
    if not 0 <= target < NUM_COMMODITIES:
        raise ValueError(f"expected a target commodity from 0 to 5, got {target}")
    _bot_many(int(kind), int(target), obs, mask, select, rng_states, actions_out)


def addresses() -> tuple[int, int, int, int, int]:
    """Return the addresses of five C functions over one row; compiled at the first call.

    ``void head(State*, Rules*, Tables*, float* obs)`` writes ``obs[0:24]`` and ``obs[244:260]``,
    ``void places(State*, float* places)`` what belongs to ``obs[24:244]``. The others are
    ``void mask(State*, uint8_t* mask)``, ``void reward(State*, double* reward, double* columns)``
    and ``void info(State*, double* info)``.
    """
    head, places, mask, reward, info = _cfuncs()
    return head.address, places.address, mask.address, reward.address, info.address
