"""Observation, mask, reward, info and bots as Numba kernels; twins of ``encoding.py``, ``bots.py``.

Every element of an observation is the float32 nearest to the double that ``encoding.py`` computes,
so both write the same bits. A quotient of two float32 is computed in float32: that is what the
double quotient rounds to, for 53 bits are more than 2*24 + 2. The cache notices changes in
this folder: kernels use nothing from elsewhere. Constants are repeated here as plain numbers; the
tests hold them to ``tables.py``, and offsets to ``layout.py``.

How the kernels are fast: most of the time goes into divisions, so these are done several at once
(``_shares``); all elements of a block are read before the first is written, because for all the
compiler knows the observation may lie over the row; small integers index tables; flags are written
as integers (``ONE_BITS``), where a float would be a branch; and indices are masked (``& 31``), from
which the compiler sees that none is negative and drops Numba's test for it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import errors, njit, types
from numba.extending import intrinsic

from fastenv.game import Compiled
from fastenv.numba_cache import cached_cfunc
from fastenv.prospector.layout import INFO_DTYPE
from fastenv.prospector.state import BOT_DTYPE, DERIVED_DTYPE, SHARED_DTYPE, STATE_DTYPE

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_INLINE: dict[str, Any] = {"error_model": "numpy", "forceinline": True}
_HELPER: dict[str, Any] = {"error_model": "numpy"}

OBS_DIM = 260
NUM_ACTIONS = 69
NUM_TERMS = 11
NUM_PLACES = 220  # obs[24:244]
NUM_COMMODITIES, MAX_NEIGHBORS, MAX_ASTEROIDS = 6, 6, 16
NEIGHBORS, ASTEROIDS, PRICES, PRICE_CHANGES, INVENTORY = 24, 68, 244, 250, 256
SHOP = (60.0, 120.0, 210.0, 150.0, 175.0, 110.0, 280.0)  # prices of the actions 61..67
SUPPLY_MAX = 12
LOG_CAP = math.log1p(1e7)

# Bot (bots.py)
GREEDY_MINER, CAUTIOUS_SCANNER, MARKET_TIMER, CASH_OUT, HOLD, RANDOM, MASKED_RANDOM = range(7)
SHORT_HAUL, RICH_HAUL = 7, 8

# Action (tables.py)
A_HOLD, A_WIDE, A_DEEP, A_LISTEN, A_SELECT = 6, 8, 10, 11, 12
A_CONSERVATIVE, A_STANDARD, A_AGGRESSIVE, A_STABILIZE, A_COOLDOWN = 28, 29, 30, 31, 33
A_REFINE, A_JETTISON, A_SELL = 32, 36, 43
A_FUEL_MEDIUM, A_FUEL_LARGE, A_KIT, A_CASH_OUT = 62, 63, 64, 68

ZERO, ONE, HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
BELOW_ONE = np.nextafter(ONE, ZERO)
ONE_BITS = 0x3F800000  # 1.0 as an integer

# k/12 and k/31, at most 1, for the small integers of a row.
TWELFTHS = np.array([min(k / 12, 1.0) for k in range(16)], np.float32)
SHARES_31 = np.array([k / 31 for k in range(32)], np.float32)

LOST = np.array([0.0, -50.0, -100.0, -150.0])  # stranded + 2 * destroyed
SCANNED, INVALID = np.array([0.0, -0.005]), np.array([0.0, -0.01])


# -- outputs ---------------------------------------------------------------------------------------

# Kernels get a row of an output as a record, because Numba counts references to arrays at every
# call. The other fields of an observation are views of its blocks; those that end in ``bits`` are
# the same elements as integers.
_OBS_DTYPE = np.dtype(
    {
        "names": ["obs", "bits", "neighbors", "asteroids"],
        "formats": [("f4", (OBS_DIM,)), ("i4", (OBS_DIM,)), ("f4", (6, 7)), ("f4", (16, 11))],
        "offsets": [0, 0, 4 * NEIGHBORS, 4 * ASTEROIDS],
    }
)
_PLACES_DTYPE = np.dtype(
    {
        "names": ["neighbors", "neighbor_bits", "padding", "asteroids", "asteroid_bits", "all"],
        "formats": [(t, (6, 7)) for t in ("f4", "i4")]
        + [("f4", (2,))]
        + [(t, (16, 11)) for t in ("f4", "i4")]
        + [("f4", (NUM_PLACES,))],
        "offsets": [0, 0, 4 * 42, 4 * 44, 4 * 44, 0],
        "itemsize": DERIVED_DTYPE.itemsize,
    }
)
_OBS, _PLACES = nb.from_dtype(_OBS_DTYPE), nb.from_dtype(_PLACES_DTYPE)
_MASK = nb.from_dtype(np.dtype([("legal", "u1", (NUM_ACTIONS,))]))
_TERMS = nb.from_dtype(np.dtype([("terms", "f8", (NUM_TERMS,))]))
_INFO = nb.from_dtype(INFO_DTYPE)
_RNG = nb.from_dtype(np.dtype([("s", "u8", (4,))]))


# -- arithmetic ------------------------------------------------------------------------------------


def _vector(context, builder, values, kind):
    """Return a tuple of numbers as one vector of LLVM."""
    vector = ir.Constant(
        ir.VectorType(context.get_value_type(kind.dtype), kind.count), ir.Undefined
    )
    for k in range(kind.count):
        element = builder.extract_value(values, k)
        vector = builder.insert_element(vector, element, ir.IntType(32)(k))
    return vector


def _elements(context, builder, vector, kind):
    elements = [builder.extract_element(vector, ir.IntType(32)(k)) for k in range(kind.count)]
    return context.make_tuple(builder, kind, elements)


def _check_floats(a, b):
    if a != b or a.dtype not in (types.float32, types.float64):
        raise errors.TypingError(f"expected two tuples of floats, got {a} and {b}")


def _quotients(low=None):
    """Return a kernel function: the quotients of two tuples, all divided at once.

    If there is a ``low``, 0 or -1, they are rounded to float32 and clamped to ``low``..1; -0.0
    becomes 0.0 there, as in Python's ``max(0.0, x)``.
    """

    @intrinsic
    def quotients(typingctx, a, b):
        _check_floats(a, b)
        result = a if low is None else types.UniTuple(types.float32, a.count)

        def codegen(context, builder, signature, args):
            numerators, denominators = (_vector(context, builder, arg, a) for arg in args)
            out = builder.fdiv(numerators, denominators)
            if low is not None:
                single = ir.VectorType(ir.FloatType(), a.count)
                if out.type != single:
                    out = builder.fptrunc(out, single)
                for order, bound in ((">", low), ("<", 1.0)):
                    limit = single([bound] * a.count)
                    out = builder.select(builder.fcmp_ordered(order, out, limit), out, limit)
            return _elements(context, builder, out, result)

        return result(a, b), codegen

    return quotients


_divide, _shares, _changes = _quotients(), _quotients(0.0), _quotients(-1.0)


@intrinsic
def _at_most(typingctx, values, limit, count):
    """Return 1 for those of the first ``count`` of a tuple that are at most ``limit``, else 0."""
    if values.dtype != limit or count != types.intp:
        raise errors.TypingError(f"expected a tuple of {limit} and a count, got {values}, {count}")
    result = types.UniTuple(types.uint8, values.count)

    def codegen(context, builder, signature, args):
        n = values.count
        limits = context.make_tuple(builder, values, [args[1]] * n)
        left, right = (_vector(context, builder, v, values) for v in (args[0], limits))
        slots = ir.VectorType(ir.IntType(32), n)
        counts = types.UniTuple(types.int32, n)
        number = builder.trunc(args[2], ir.IntType(32))
        number = _vector(
            context, builder, context.make_tuple(builder, counts, [number] * n), counts
        )
        there = builder.icmp_signed("<", slots(list(range(n))), number)
        flags = builder.and_(builder.fcmp_ordered("<=", left, right), there)
        flags = builder.zext(flags, ir.VectorType(ir.IntType(8), n))
        return _elements(context, builder, flags, result)

    return result(values, limit, count), codegen


@njit(**_INLINE)
def _unit(x):
    """Return a double clamped to 0..1."""
    return min(1.0, max(0.0, x))


@njit(**_INLINE)
def _unit32(x):
    """Return a float32 clamped to 0..1."""
    return min(ONE, max(ZERO, x))


@njit(**_INLINE)
def _doubles(v):
    v0, v1, v2, v3, v4, v5 = v
    return (
        np.float64(v0),
        np.float64(v1),
        np.float64(v2),
        np.float64(v3),
        np.float64(v4),
        np.float64(v5),
    )


@njit(**_INLINE)
def _six(a):
    return a[0], a[1], a[2], a[3], a[4], a[5]


@njit(**_INLINE)
def _sixteen(a):
    first = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
    return (*first, a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15])


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
    _hold_and_market(row, tables, out)


@njit(**_INLINE)
def _ship(row, rules, tables, out):
    obs = out.obs
    bits = out.bits
    credits = 0.0
    if row.credits > 0.0:
        credits = _unit(math.log1p(row.credits) / tables.log_cap)
    levels = (row.fuel, row.hull, row.heat, row.tool, row.alert, row.time_remaining)
    most = (1000.0, 100.0, 100.0, 100.0, 100.0, rules.time_max)
    fuel, hull, heat, tool, alert, time = _shares(levels, most)
    node = np.intp(row.current_node) & 31
    kind = np.intp(row.node_type[node])
    hops = SHARES_31[np.intp(row.steps_to_station[node]) & 31]
    ok = _selected_ok(row)
    kits = TWELFTHS[np.intp(row.repair_kits) & 15]
    stabilizers = TWELFTHS[np.intp(row.stabilizers) & 15]
    decoys = TWELFTHS[np.intp(row.decoys) & 15]
    cargo = _unit32(_cargo_total(row) / np.float32(200.0))
    obs[0], obs[1], obs[2], obs[3], obs[4], obs[5] = fuel, hull, heat, tool, cargo, alert
    obs[6], obs[7], obs[14], obs[15], obs[16] = time, credits, kits, stabilizers, decoys
    bits[17] = (kind == 0) * ONE_BITS
    bits[18] = ok * ONE_BITS
    bits[19] = (kind == 0) * ONE_BITS
    bits[20] = (kind == 1) * ONE_BITS
    bits[21] = (kind == 2) * ONE_BITS
    obs[22], obs[23] = SHARES_31[node], hops


@njit(**_INLINE)
def _hold_and_market(row, tables, out):
    obs = out.obs
    c0, c1, c2, c3, c4, c5 = _six(row.cargo)
    p0, p1, p2, p3, p4, p5 = _six(row.price)
    i0, _, i2, i3, i4, _ = _six(row.station_inventory)
    b0, b1, b2, b3, b4, b5 = _six(tables.price_base)
    hold, norm = np.float32(200.0), np.float32(500.0)
    d0, d1, d2 = np.float32(b0), np.float32(b1), np.float32(b2)
    d3, d4, d5 = np.float32(b3), np.float32(b4), np.float32(b5)
    now, before = _doubles((p0, p1, p2, p3, p4, p5)), _doubles(_six(row.prev_price))
    changes = (
        now[0] - before[0],
        now[1] - before[1],
        now[2] - before[2],
        now[3] - before[3],
        now[4] - before[4],
        now[5] - before[5],
    )
    c0, c1, c2, c3, c4, c5, p0, p1, p2, p3, p4, p5, i0, i2, i3, i4 = _shares(
        (c0, c1, c2, c3, c4, c5, p0, p1, p2, p3, p4, p5, i0, i2, i3, i4),
        (hold, hold, hold, hold, hold, hold, d0, d1, d2, d3, d4, d5, norm, norm, norm, norm),
    )
    d0, d1, d2, d3, d4, d5 = _changes(changes, (100.0, 100.0, 100.0, 100.0, 100.0, 100.0))
    obs[8], obs[9], obs[10], obs[11], obs[12], obs[13] = c0, c1, c2, c3, c4, c5
    o = PRICES
    obs[o], obs[o + 1], obs[o + 2], obs[o + 3], obs[o + 4], obs[o + 5] = p0, p1, p2, p3, p4, p5
    o = PRICE_CHANGES
    obs[o], obs[o + 1], obs[o + 2], obs[o + 3], obs[o + 4], obs[o + 5] = d0, d1, d2, d3, d4, d5
    o = INVENTORY
    obs[o], obs[o + 1], obs[o + 2], obs[o + 3] = i0, i2, i3, i4


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
    limit = np.float32(160.0)
    f0, f1, f2, f3, f4, f5 = _shares(
        _six(row.edge_fuel[node]), (limit, limit, limit, limit, limit, limit)
    )
    _neighbor(row, node, 0, f0, out)
    _neighbor(row, node, 1, f1, out)
    _neighbor(row, node, 2, f2, out)
    _neighbor(row, node, 3, f3, out)
    _neighbor(row, node, 4, f4, out)
    _neighbor(row, node, 5, f5, out)


@njit(**_INLINE)
def _neighbor(row, node, k, fuel, out):
    slots = out.neighbors
    bits = out.neighbor_bits
    neighbor = np.intp(row.neighbor[node, k])
    there = neighbor >= 0
    kind = np.intp(row.node_type[neighbor & 31])
    time = min(ONE, np.float32(row.edge_time[node, k]) * np.float32(0.125))
    threat = _unit32(row.edge_threat_est[node, k])
    flag = np.float32(there * 1)
    bits[k, 0] = there * ONE_BITS
    bits[k, 1] = (there & (kind == 0)) * ONE_BITS
    bits[k, 2] = (there & (kind == 1)) * ONE_BITS
    bits[k, 3] = (there & (kind == 2)) * ONE_BITS
    slots[k, 4] = flag * time
    slots[k, 5] = flag * fuel
    slots[k, 6] = flag * threat


@njit(**_INLINE)
def _asteroid(row, node, a, out):
    slots = out.asteroids
    bits = out.asteroid_bits
    c0, c1, c2, c3, c4, c5 = _doubles(_six(row.comp_est[node, a]))
    c0, c1, c2 = max(c0, 1e-8), max(c1, 1e-8), max(c2, 1e-8)
    c3, c4, c5 = max(c3, 1e-8), max(c4, 1e-8), max(c5, 1e-8)
    stability = row.stability_est[node, a]
    depletion = row.depletion[node, a]
    conf = row.scan_conf[node, a]
    selected = row.selected == a
    total = ((((c0 + c1) + c2) + c3) + c4) + c5
    c0, c1, c2, c3, c4, c5 = _shares(
        (c0, c1, c2, c3, c4, c5), (total, total, total, total, total, total)
    )
    bits[a, 0] = ONE_BITS
    slots[a, 1], slots[a, 2], slots[a, 3], slots[a, 4] = c0, c1, c2, c3
    slots[a, 5], slots[a, 6], slots[a, 7] = c4, c5, _unit32(stability)
    slots[a, 8], slots[a, 9] = _unit32(depletion), _unit32(conf)
    bits[a, 10] = selected * ONE_BITS


# -- action mask (15) ------------------------------------------------------------------------------


@njit(**_INLINE)
def _mask(row, mask):
    """Write which actions would not be flagged invalid."""
    legal = mask.legal
    node = np.intp(row.current_node) & 31
    docked = row.node_type[node] == 0
    ok = _selected_ok(row)
    kits, stabilizers, decoys = row.repair_kits, row.stabilizers, row.decoys
    count = np.intp(row.asteroid_count[node]) & 31
    rocks = _at_most(_sixteen(row.depletion[node]), BELOW_ONE, count)
    goods = _at_most(SHOP, row.credits, docked * len(SHOP))
    n0, n1, n2, n3, n4, n5 = _six(row.neighbor[node])
    legal[0], legal[1], legal[2] = n0 >= 0, n1 >= 0, n2 >= 0
    legal[3], legal[4], legal[5] = n3 >= 0, n4 >= 0, n5 >= 0
    legal[6], legal[7], legal[8], legal[9], legal[10], legal[11] = True, True, True, ok, ok, True
    legal[12], legal[13], legal[14], legal[15] = rocks[0], rocks[1], rocks[2], rocks[3]
    legal[16], legal[17], legal[18], legal[19] = rocks[4], rocks[5], rocks[6], rocks[7]
    legal[20], legal[21], legal[22], legal[23] = rocks[8], rocks[9], rocks[10], rocks[11]
    legal[24], legal[25], legal[26], legal[27] = rocks[12], rocks[13], rocks[14], rocks[15]
    legal[28], legal[29], legal[30], legal[31] = ok, ok, ok, ok & (stabilizers > 0)
    legal[32], legal[33], legal[34], legal[35] = True, True, kits > 0, kits > 0
    for k in range(36, 42):
        legal[k] = True
    for k in range(42, 61):
        legal[k] = docked
    legal[61], legal[62], legal[63] = goods[0], goods[1], goods[2]
    legal[64] = goods[3] & (kits < SUPPLY_MAX)
    legal[65] = goods[4] & (stabilizers < SUPPLY_MAX)
    legal[66] = goods[5] & (decoys < SUPPLY_MAX)
    legal[67] = goods[6]
    legal[68] = True


# -- reward (12) and info (14) ---------------------------------------------------------------------


@njit(**_INLINE)
def _reward(row, columns):
    """Write the terms of the last step's reward and return their sum."""
    action = np.intp(row.ev_action)
    credits = row.credits
    sell, extract, fuel, wear, hot, damage, pirate, kept = _divide(
        (
            credits - row.ev_credits,
            max(0.0, _cargo_value(row) - row.ev_cargo_value),
            -0.10 * max(0.0, row.ev_fuel - row.fuel),
            -0.05 * max(0.0, row.ev_tool - row.tool),
            max(0.0, row.heat - 70.0),
            -1.00 * max(0.0, row.ev_hull - row.hull),
            max(0.0, row.value_lost - row.ev_value_lost),
            credits,
        ),
        (1000.0, 1000.0, 100.0, 10.0, 100.0, 10.0, 1000.0, 1000.0),
    )
    extract, heat, pirate = 0.02 * extract, -0.20 * (hot * hot), -1.00 * pirate
    time = -0.001 * np.float64(row.ev_dt)
    scan = SCANNED[np.intp((action >= A_WIDE) & (action <= A_DEEP))]
    invalid = INVALID[np.intp(row.ev_invalid != 0)]
    lost = np.intp(row.ev_stranded != 0) + 2 * np.intp(row.ev_destroyed != 0)
    terminal = LOST[lost]
    if (row.done != 0) & (lost == 0):
        terminal += 0.002 * kept
    reward = sell + extract + fuel + time + wear + heat + damage + scan + invalid + pirate
    reward += terminal
    terms = columns.terms
    terms[0], terms[1], terms[2], terms[3], terms[4] = sell, extract, fuel, time, wear
    terms[5], terms[6], terms[7], terms[8], terms[9] = heat, damage, scan, invalid, pirate
    terms[10] = terminal
    return reward


@njit(**_INLINE)
def _info(row, info):
    credits, profit = row.credits, row.credits - row.total_spend
    ticks, survival = max(1, np.intp(row.ticks_elapsed)), 1.0
    if (row.ev_stranded != 0) | (row.ev_destroyed != 0):
        survival = 0.0
    used = 0.0
    if row.util_count > 0.0:
        used = _unit(row.util_sum / row.util_count)
    docked = row.node_type[np.intp(row.current_node) & 31] == 0
    fuel, hull, tool = 1000.0 - row.fuel, 100.0 - row.hull, 100.0 - row.tool
    info.action = row.ev_action
    info.dt = row.ev_dt
    info.invalid_action = row.ev_invalid != 0
    info.terminated = row.done == 1
    info.truncated = row.done == 2
    info.credits = credits
    info.net_profit = profit
    info.profit_per_tick = profit / np.float64(ticks)
    info.survival = survival
    info.overheat_ticks = row.overheat_ticks
    info.pirate_encounters = row.pirate_encounters
    info.value_lost_to_pirates = row.value_lost
    info.fuel_used = max(0.0, fuel)
    info.hull_damage = max(0.0, hull)
    info.tool_wear = max(0.0, tool)
    info.scan_count = row.scan_count
    info.mining_ticks = row.mining_ticks
    info.cargo_utilization_avg = used
    info.node_context = docked
    info.time_remaining = row.time_remaining


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
def _short_haul(o):
    if o.obs[17] > HALF:
        return _short_haul_trade(o)
    home = _home(o)
    if home == A_HOLD:
        return A_HOLD
    if np.float64(o.obs[4]) > 0.01 or np.float64(o.obs[1]) < 0.90:
        return home
    if np.float64(o.obs[5]) > 0.19:
        for c in range(NUM_COMMODITIES):
            if o.obs[8 + c] <= 0.0:
                return A_JETTISON + c
    best, most = -1, -1.0
    for a in range(MAX_ASTEROIDS):
        depletion = np.float64(o.asteroids[a, 8])
        if o.asteroids[a, 0] > HALF and depletion < 1.0:
            if depletion <= 0.0:
                best = a
                break
            if depletion > most:
                best, most = a, depletion
    if best < 0:
        return home
    return A_CONSERVATIVE if o.asteroids[best, 10] > HALF else A_SELECT + best


@njit(**_HELPER)
def _rich_haul(o):
    if o.obs[17] > HALF:
        low = np.float64(o.obs[8]) + np.float64(o.obs[9])
        return A_REFINE if low > 0.001 else _short_haul_trade(o)
    home = _home(o)
    if home == A_HOLD:
        return A_HOLD
    if np.float64(o.obs[4]) > 0.05 or np.float64(o.obs[1]) < 0.85:
        return home
    if np.float64(o.obs[5]) > 0.19:
        for c in range(NUM_COMMODITIES):
            if o.obs[8 + c] <= 0.0:
                return A_JETTISON + c
    best = _sampled(o)
    if best < 0:
        return home
    return A_CONSERVATIVE if o.asteroids[best, 10] > HALF else A_SELECT + best


@njit(**_HELPER)
def _sampled(o):
    """Return a new asteroid until four have been mined, then the most depleted; -1 if none."""
    used, fresh, left, most = 0, -1, -1, -1.0
    for a in range(MAX_ASTEROIDS):
        if o.asteroids[a, 0] > HALF:
            depletion = np.float64(o.asteroids[a, 8])
            if depletion > 0.0:
                used += 1
                if depletion < 1.0 and depletion > most:
                    left, most = a, depletion
            elif fresh < 0:
                fresh = a
    return fresh if fresh >= 0 and (used < 4 or left < 0) else left


@njit(**_HELPER)
def _short_haul_trade(o):
    for c in range(NUM_COMMODITIES):
        if np.float64(o.obs[8 + c]) > 0.004:
            return A_SELL + 3 * c
    for c in range(NUM_COMMODITIES):
        if o.obs[8 + c] > 0.0:
            return A_SELL + 3 * c + 2
    if _credits(o) > 0.0 or np.float64(o.obs[1]) < 0.50 or np.float64(o.obs[0]) < 0.40:
        return A_CASH_OUT
    best, least = A_CASH_OUT, np.inf
    for k in range(MAX_NEIGHBORS):
        if o.neighbors[k, 0] > HALF:
            threat = np.float64(o.neighbors[k, 6])
            if threat == 0.5:
                return A_LISTEN
            time, fuel = np.float64(o.neighbors[k, 4]), np.float64(o.neighbors[k, 5])
            risk = 8.0 * time * (0.1 + threat) + 1.5 * fuel + 0.5 * np.float64(o.neighbors[k, 3])
            if risk < least:
                best, least = k, risk
    return best


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
    if kind == SHORT_HAUL:
        return _short_haul(o)
    if kind == RICH_HAUL:
        return _rich_haul(o)
    return A_CASH_OUT if kind == CASH_OUT else A_HOLD


# -- the compiled functions ------------------------------------------------------------------------

_state = types.CPointer(nb.from_dtype(STATE_DTYPE))
_shared = types.CPointer(nb.from_dtype(SHARED_DTYPE))
_derived = types.CPointer(_PLACES)
_double = types.CPointer(types.float64)


@lru_cache
def _cfuncs():
    """Return the functions of one row as C functions, compiled or from the cache."""

    @cached_cfunc(types.void(_state, _derived, _shared), **_OPTIONS)
    def derive(state, derived, shared):
        _places(nb.carray(state, (1,))[0], nb.carray(derived, (1,))[0])

    @cached_cfunc(
        types.void(_state, _derived, _shared, types.CPointer(_OBS), types.CPointer(_MASK)),
        **_OPTIONS,
    )
    def observe(state, derived, shared, obs_out, mask_out):
        row, both = nb.carray(state, (1,))[0], nb.carray(shared, (1,))[0]
        out = nb.carray(obs_out, (1,))[0]
        _head(row, both.rules, both.tables, out)
        places = nb.carray(derived, (1,))[0].all
        for k in range(NUM_PLACES):
            out.obs[NEIGHBORS + k] = places[k]
        _mask(row, nb.carray(mask_out, (1,))[0])

    @cached_cfunc(
        types.int32(_state, _derived, _shared, _double, types.CPointer(_TERMS)), **_OPTIONS
    )
    def reward(state, derived, shared, reward_out, terms_out):
        terms = nb.carray(terms_out, (1,))[0]
        nb.carray(reward_out, (1,))[0] = _reward(nb.carray(state, (1,))[0], terms)
        return 1

    @cached_cfunc(types.void(_state, _derived, _shared, types.CPointer(_INFO)), **_OPTIONS)
    def info(state, derived, shared, info_out):
        _info(nb.carray(state, (1,))[0], nb.carray(info_out, (1,))[0])

    @cached_cfunc(
        types.int32(
            _state,
            _derived,
            _shared,
            types.CPointer(nb.from_dtype(BOT_DTYPE)),
            types.int32,
            types.CPointer(_OBS),
            types.CPointer(_MASK),
            types.CPointer(_RNG),
        ),
        **_OPTIONS,
    )
    def bot(state, derived, shared, params, agent, obs, mask, rng):
        player, seen = nb.carray(params, (1,))[0], nb.carray(obs, (1,))[0]
        legal, words = nb.carray(mask, (1,))[0], nb.carray(rng, (1,))[0]
        return _bot(player.kind, player.target, seen, legal, words)

    return derive, observe, reward, info, bot


def functions() -> Compiled:
    """Return the functions of one row for the loop over lanes; compiled at the first call."""
    derive, observe, reward, info, bot = (function.address for function in _cfuncs())
    return Compiled(
        derive=derive,
        observe=observe,
        reward=reward,
        info=info,
        bot=bot,
        state_size=STATE_DTYPE.itemsize,
        shared_size=SHARED_DTYPE.itemsize,
        derived_size=_PLACES_DTYPE.itemsize,
        bot_size=BOT_DTYPE.itemsize,
        obs_size=4 * OBS_DIM,
        info_size=INFO_DTYPE.itemsize,
        terms_size=_TERMS.size,
    )
