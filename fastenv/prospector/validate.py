"""Validation of state rows from outside: everything the compiled code relies on is checked once.

The stepping code has no bounds checks, so a row that passes here must never make it read wild or
loop for ever. Rows of games always pass. Numbers that a person may want to set (cargo above the
limit, any credits) get in as long as they make sense; the next step applies the limits. The checks
are vectorised over rows; the first failing one names lane and field.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fastenv.errors import StateError, show
from fastenv.prospector import tables as t
from fastenv.prospector.state import STATE_DTYPE
from fastenv.prospector.world import EMPTY, ESTIMATE, STATION

Check = tuple[str, Any, str]  # field, bool[n] of bad lanes, what is allowed

LEVEL = 1e6  # fuel, hull, heat, tool, alert: beyond their limits, which the next step applies
COUNT = 2**30  # counters stay far from the end of 32 bits
MOST_CARGO = 1e6
MAX_ESCAPE, MAX_STABILIZE = 4, 6
CHUNK = 256  # rows checked at once: the largest temporary array has 6144 entries a row
_BIG = float(np.finfo(np.float64).max)
_BIG_SINGLE = float(np.finfo(np.float32).max)


def _single(x: float) -> float:
    return float(np.float32(x))


def validate_rows(rows: np.ndarray, rules: np.ndarray) -> None:
    """Check state rows that come from outside.

    Parameters
    ----------
    rows : ndarray of STATE_DTYPE, shape (n,)
    rules : ndarray of RULES_DTYPE, shape (1,)

    Raises
    ------
    StateError
        Naming the first bad lane, the field, its value and what is allowed.
    """
    if rows.dtype != STATE_DTYPE:
        raise StateError(f"state rows must have dtype STATE_DTYPE, got {show(rows.dtype)}.")
    for start in range(0, len(rows), CHUNK):
        _validate(rows[start : start + CHUNK], rules[0], start)


def _validate(rows: np.ndarray, rule: np.void, first_lane: int) -> None:
    for section in (_complete, _counts, _numbers, _last_step, _nodes, _edges, _asteroids):
        for field, bad, allowed in section(rows, rule):
            lanes = np.flatnonzero(bad)
            if lanes.size:
                lane = int(lanes[0])
                value = _shown(rows[field][lane])
                raise StateError(
                    f"lane {first_lane + lane}: {field}={value} is not possible: {allowed}."
                )


def _shown(value: Any) -> str:
    """Return a value as text; the tables of a whole world are too long to be read."""
    text = str(value.tolist())
    return text if len(text) <= 400 else text[:397] + "..."


def _any(bad: np.ndarray) -> Any:
    """Return for each lane whether anything is bad in it."""
    return bad.reshape(len(bad), -1).any(axis=1)


def _between(rows: np.ndarray, field: str, low: float, high: float) -> Check:
    """Check a range; what is not a number is in none."""
    bad = ~((rows[field] >= low) & (rows[field] <= high))
    return field, _any(bad), f"it must be from {low} to {high}"


def _complete(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    for field in ("pending", "asteroid_rng", "unused"):
        yield field, _any(rows[field] != 0), "it must be 0, as in every row that an engine returns"


def _counts(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    for field, low, high in (
        ("ep_length", 0, COUNT),
        ("ticks_elapsed", 0, COUNT),
        ("overheat_ticks", 0, COUNT),
        ("pirate_encounters", 0, COUNT),
        ("scan_count", 0, COUNT),
        ("mining_ticks", 0, COUNT),
        ("node_count", t.MIN_NODES, t.MAX_NODES),
        ("current_node", 0, t.MAX_NODES - 1),
        ("selected", -1, t.MAX_ASTEROIDS - 1),
        ("repair_kits", 0, t.SUPPLY_MAX),
        ("stabilizers", 0, t.SUPPLY_MAX),
        ("decoys", 0, t.SUPPLY_MAX),
        ("escape_ticks", 0, MAX_ESCAPE),
        ("stabilize_ticks", 0, MAX_STABILIZE),
        ("done", 0, 2),
        ("ev_action", -1, t.NUM_ACTIONS - 1),
        ("ev_dt", 0, t.TRAVEL_TIME_MAX),
        ("ev_invalid", 0, 1),
        ("ev_destroyed", 0, 1),
        ("ev_stranded", 0, 1),
        ("asteroid_count", 0, t.MAX_ASTEROIDS),
        ("neighbor", EMPTY, t.MAX_NODES - 1),
        ("edge_time", 1, t.TRAVEL_TIME_MAX),
    ):
        yield _between(rows, field, low, high)


def _numbers(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    for field in ("fuel", "hull", "heat", "tool", "alert", "ev_fuel", "ev_hull", "ev_tool"):
        yield _between(rows, field, -LEVEL, LEVEL)
    yield _between(rows, "time_remaining", 0.0, float(rule["time_max"]))
    for field in ("credits", "total_spend", "value_lost", "util_sum", "util_count"):
        yield _between(rows, field, 0.0, _BIG)
    for field in ("ev_credits", "ev_cargo_value", "ev_value_lost"):
        yield _between(rows, field, 0.0, _BIG)
    yield _between(rows, "ep_return", -_BIG, _BIG)
    yield _between(rows, "cargo", 0.0, MOST_CARGO)
    for field in ("station_inventory", "recent_sales"):
        yield _between(rows, field, 0.0, _BIG_SINGLE)
    for field in ("price", "prev_price"):
        bad = ~((rows[field] >= t.PRICE_MIN) & (rows[field] <= t.PRICE_MAX))
        yield field, _any(bad), f"it must be from {t.PRICE_MIN} to {t.PRICE_MAX}"
    yield _between(rows, "price_phase", 0.0, _single(t.TWO_PI))
    yield _between(rows, "price_period", 180.0, 380.0)
    most = [_single(base * 0.30) for base in t.PRICE_BASE]
    bad = ~((rows["price_amp"] >= 0.0) & (rows["price_amp"] <= most))
    yield "price_amp", _any(bad), f"it must be from 0 to {most}"
    for field in ("node_hazard", "node_pirate", "edge_threat", "edge_threat_est"):
        yield _between(rows, field, 0.0, 1.0)
    yield _between(rows, "edge_fuel", 0.0, t.TRAVEL_FUEL_MAX)
    for field in ("depletion", "scan_conf", "stability_est", "stability", "noise"):
        yield _between(rows, field, 0.0, 1.0)
    for field in ("comp_est", "true_comp"):
        yield _between(rows, field, 0.0, 1.0)
    yield _between(rows, "richness", 0.0, 4.0)


def _last_step(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    """Check that the events of the last step go together, and with the end of the episode."""
    fresh = rows["ev_action"] < 0
    yield "ev_dt", (rows["ev_dt"] == 0) != fresh, "0 goes with ev_action -1 and nothing else"
    for field in ("ev_invalid", "ev_destroyed", "ev_stranded", "done"):
        yield field, fresh & (rows[field] != 0), "nothing has happened yet: ev_action is -1"
    cashed = rows["ev_action"] == t.Action.CASH_OUT
    over = cashed | (rows["ev_destroyed"] != 0) | (rows["ev_stranded"] != 0)
    terminated = rows["done"] == 1
    yield "done", terminated != over, "1 goes with cash-out, destroyed and stranded, nothing else"
    yield "done", (rows["done"] == 2) & (rows["time_remaining"] > 0.0), "2 needs time_remaining 0"


def _nodes(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    nodes = np.arange(t.MAX_NODES)
    exists = nodes < rows["node_count"][:, None]
    field_node = exists & (nodes != STATION)
    here = rows["current_node"]
    yield "current_node", here >= rows["node_count"], "it must be below node_count"
    kind = rows["node_type"]
    good = np.where(nodes == STATION, kind == t.NodeType.STATION, kind == t.NodeType.CLUSTER)
    good |= field_node & (kind == t.NodeType.HAZARD)
    yield "node_type", _any(~good), "0 for node 0, else 1 or 2, 1 behind the last node"
    for field in ("node_hazard", "node_pirate", "asteroid_count"):
        bad = ~field_node & (rows[field] != 0)
        yield field, _any(bad), "it must be 0 for the station and behind the last node"
    count = rows["asteroid_count"][np.arange(len(rows)), here]
    yield "selected", rows["selected"] >= count, "the current node must have that asteroid"


def _edges(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    neighbor = rows["neighbor"].astype(np.int64)
    nodes, used = np.arange(t.MAX_NODES), neighbor != EMPTY
    exists = nodes < rows["node_count"][:, None]
    yield "neighbor", _any(neighbor >= rows["node_count"][:, None, None]), "an existing node"
    yield "neighbor", _any(used & ~exists[:, :, None]), "-1 behind the last node"
    yield "neighbor", _any(used[:, :, 1:] & ~used[:, :, :-1]), "neighbours fill the first slots"
    yield "neighbor", _any(neighbor == nodes[:, None]), "no node is its own neighbour"
    # [lane, from, to]: how many edges there are, and through which slot
    between = neighbor[:, :, :, None] == nodes
    yield "neighbor", _any(between.sum(axis=2) > 1), "a node is a neighbour only once"
    joined = between.any(axis=2)
    yield "neighbor", _any(joined != joined.transpose(0, 2, 1)), "edges go both ways"
    for field in ("edge_time", "edge_fuel", "edge_threat"):
        value = np.where(between, rows[field][:, :, :, None], 0).sum(axis=2)
        yield field, _any(value != value.transpose(0, 2, 1)), "both directions are the same edge"
    for field, empty in (
        ("edge_time", 1),
        ("edge_fuel", 0),
        ("edge_threat", 0),
        ("edge_threat_est", ESTIMATE),
    ):
        yield field, _any(~used & (rows[field] != empty)), f"it must be {empty} in empty slots"
    hops = _hops(neighbor)
    yield "steps_to_station", _any(rows["steps_to_station"] != hops), "the hops along the edges"


def _hops(neighbor: np.ndarray) -> np.ndarray:
    """Return the hops of each node to the station, shape (n, 32), by relaxing edge by edge."""
    lanes = np.arange(len(neighbor))[:, None, None]
    hops = np.full(neighbor.shape[:2], t.UNREACHABLE)
    hops[:, STATION] = 0
    for _ in range(t.MAX_NODES - 1):
        beyond = np.where(neighbor == EMPTY, t.UNREACHABLE, hops[lanes, neighbor])
        closer = np.minimum(hops, beyond.min(axis=2) + 1)
        if (closer == hops).all():
            break
        hops = closer
    return hops


def _asteroids(rows: np.ndarray, rule: np.void) -> Iterator[Check]:
    empty = np.arange(t.MAX_ASTEROIDS) >= rows["asteroid_count"][:, :, None]
    for field in (
        "depletion",
        "scan_conf",
        "stability_est",
        "comp_est",
        "true_comp",
        "richness",
        "stability",
        "noise",
    ):
        values = rows[field] != 0
        if values.ndim == 4:
            values = values.any(axis=3)
        yield field, _any(values & empty), "asteroids fill the first slots, the others are 0"
