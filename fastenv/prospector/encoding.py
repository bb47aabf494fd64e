"""Observation, action mask, reward and info in plain Python: what the kernels must reproduce.

Everything is a function of a reference game as it is after a step (``reference.py``). Values are
Python floats; those of the observation are rounded to single precision once, when they are stored.

>>> import numpy as np
>>> from fastenv.prospector.reference import Prospector
>>> obs = np.empty(260, np.float32)
>>> encode_obs(Prospector(seed=0), obs)
>>> obs[:3].tolist(), obs[6:8].tolist(), obs[17:22].tolist()
([1.0, 1.0, 0.0], [1.0, 0.0], [1.0, 0.0, 1.0, 0.0, 0.0])
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fastenv.prospector.arithmetic import clamp, norm6
from fastenv.prospector.layout import (
    ASTEROID_SIZE,
    ASTEROIDS,
    INVENTORY,
    NEIGHBOR_SIZE,
    NEIGHBORS,
    PRICE_CHANGES,
    PRICES,
)
from fastenv.prospector.reference import Prospector
from fastenv.prospector.tables import (
    CARGO_MAX,
    CREDIT_SCALE,
    CREDITS_CAP,
    FUEL_MAX,
    FUEL_PACKS,
    HULL_MAX,
    INVENTORY_NORM,
    MAX_ASTEROIDS,
    MAX_NEIGHBORS,
    MAX_NODES,
    NUM_COMMODITIES,
    OBSERVED_INVENTORY,
    PRICE_BASE,
    PRICE_DECOY,
    PRICE_OVERHAUL,
    PRICE_REPAIR_KIT,
    PRICE_SCALE,
    PRICE_STABILIZER,
    SCANS,
    SUPPLY_MAX,
    TOOL_MAX,
    TRAVEL_FUEL_MAX,
    TRAVEL_TIME_MAX,
    UNREACHABLE,
    Action,
    NodeType,
)
from fastenv.prospector.world import EMPTY

Terms = tuple[float, float, float, float, float, float, float, float, float, float, float]

# -- observation (13) --------------------------------------------------------------------------


def c01(x: float) -> float:
    """Return ``x`` moved into ``[0, 1]``."""
    return clamp(x, 0.0, 1.0)


def one_hot(node_type: int) -> list[float]:
    """Return three flags: station, cluster, hazard."""
    return [float(node_type == kind) for kind in NodeType]


def encode_obs(game: Prospector, out: npt.NDArray[np.float32]) -> None:
    """Write the observation.

    Parameters
    ----------
    game : Prospector
    out : ndarray of float32, shape (260,)
        Overwritten completely; all values are in [-1, 1].
    """
    out[:] = 0.0
    out[:NEIGHBORS] = ship(game)
    for k in range(MAX_NEIGHBORS):
        start = NEIGHBORS + NEIGHBOR_SIZE * k
        out[start : start + NEIGHBOR_SIZE] = neighbor(game, k)
    for a in range(game.asteroid_count.item(game.current_node)):
        start = ASTEROIDS + ASTEROID_SIZE * a
        out[start : start + ASTEROID_SIZE] = asteroid(game, a)
    price, before = game.price.tolist(), game.prev_price.tolist()
    stock = game.station_inventory.tolist()
    for c in range(NUM_COMMODITIES):
        out[PRICES + c] = c01(price[c] / PRICE_BASE[c])
        out[PRICE_CHANGES + c] = clamp((price[c] - before[c]) / PRICE_SCALE, -1.0, 1.0)
    for k, c in enumerate(OBSERVED_INVENTORY):
        out[INVENTORY + k] = c01(stock[c] / INVENTORY_NORM)


def ship(game: Prospector) -> list[float]:
    """Return the ship, its hold, and where it is: 0..23."""
    here = game.current_node
    return [
        c01(game.fuel / FUEL_MAX),
        c01(game.hull / 100.0),
        c01(game.heat / 100.0),
        c01(game.tool / 100.0),
        c01(game.cargo_total() / CARGO_MAX),
        c01(game.alert / 100.0),
        c01(game.time_remaining / game.time_max),
        c01(math.log1p(max(0.0, game.credits)) / math.log1p(CREDITS_CAP)),
        *(c01(x / CARGO_MAX) for x in game.cargo.tolist()),
        *(c01(n / SUPPLY_MAX) for n in (game.repair_kits, game.stabilizers, game.decoys)),
        float(game.at_station()),
        float(game.selected_ok()),
        *one_hot(game.node_type.item(here)),
        c01(here / (MAX_NODES - 1)),
        c01(game.steps_to_station.item(here) / UNREACHABLE),
    ]


def neighbor(game: Prospector, k: int) -> list[float]:
    """Encode an edge of the current node and the node behind it; zeros without an edge."""
    at = (game.current_node, k)
    there = game.neighbor.item(at)
    if there == EMPTY:
        return [0.0] * NEIGHBOR_SIZE
    return [
        1.0,
        *one_hot(game.node_type.item(there)),
        c01(game.edge_time.item(at) / TRAVEL_TIME_MAX),
        c01(game.edge_fuel.item(at) / TRAVEL_FUEL_MAX),
        c01(game.edge_threat_est.item(at)),
    ]


def asteroid(game: Prospector, a: int) -> list[float]:
    """Encode an asteroid of the current node."""
    at = (game.current_node, a)
    return [
        1.0,
        *norm6(game.comp_est[at].tolist()),
        c01(game.stability_est.item(at)),
        c01(game.depletion.item(at)),
        c01(game.scan_conf.item(at)),
        float(a == game.selected),
    ]


# -- action mask (15) --------------------------------------------------------------------------


def action_mask(game: Prospector, out: npt.NDArray[np.uint8]) -> None:
    """Write 1 for each action that would not be flagged invalid now, and 0 for the others.

    Parameters
    ----------
    game : Prospector
    out : ndarray of uint8, shape (69,)
        Overwritten completely; never all 0.
    """
    out[:] = 0
    out[list(valid_actions(game))] = 1


def valid_actions(game: Prospector) -> Iterator[int]:
    """Yield the valid actions, in the order of the table of docs/prospector.md, 15."""
    here = game.current_node
    yield from (k for k in range(MAX_NEIGHBORS) if game.neighbor.item(here, k) != EMPTY)
    yield from (Action.HOLD, Action.BURN, Action.SCAN_WIDE, Action.LISTEN)
    yield from (Action.REFINE, Action.COOLDOWN, Action.CASH_OUT)
    yield from range(Action.JETTISON, Action.JETTISON + NUM_COMMODITIES)
    if game.selected_ok():
        yield from (Action.SCAN_FOCUSED, Action.SCAN_DEEP)
        yield from (Action.MINE_CONSERVATIVE, Action.MINE_STANDARD, Action.MINE_AGGRESSIVE)
        if game.stabilizers > 0:
            yield Action.STABILIZE
    yield from (Action.SELECT + a for a in range(MAX_ASTEROIDS) if game.can_work(a))
    if game.repair_kits > 0:
        yield from (Action.MAINTAIN_TOOL, Action.PATCH_HULL)
    if game.at_station():
        yield from range(Action.DOCK, Action.BUY_FUEL_SMALL)
        yield from (pack for pack, (cost, _) in FUEL_PACKS.items() if game.can_pay(cost))
    if game.can_pay(PRICE_REPAIR_KIT) and game.repair_kits < SUPPLY_MAX:
        yield Action.BUY_REPAIR_KIT
    if game.can_pay(PRICE_STABILIZER) and game.stabilizers < SUPPLY_MAX:
        yield Action.BUY_STABILIZER
    if game.can_pay(PRICE_DECOY) and game.decoys < SUPPLY_MAX:
        yield Action.BUY_DECOY
    if game.can_pay(PRICE_OVERHAUL):
        yield Action.OVERHAUL


# -- reward (12) -------------------------------------------------------------------------------


def rewards(game: Prospector) -> Terms:
    """Return the terms of the last step's reward, in the order of ``layout.REWARD_TERMS``."""
    heat = max(0.0, game.heat - 70.0) / 100.0
    gained = max(0.0, game.cargo_value() - game.ev_cargo_value)
    lost = max(0.0, game.value_lost - game.ev_value_lost)
    return (
        (game.credits - game.ev_credits) / CREDIT_SCALE,
        0.02 * (gained / CREDIT_SCALE),
        -0.10 * max(0.0, game.ev_fuel - game.fuel) / 100.0,
        -0.001 * game.ev_dt,
        -0.05 * max(0.0, game.ev_tool - game.tool) / 10.0,
        -0.20 * (heat * heat),
        -1.00 * max(0.0, game.ev_hull - game.hull) / 10.0,
        -0.005 if game.ev_action in SCANS else 0.0,
        -0.01 if game.ev_invalid else 0.0,
        -1.00 * (lost / CREDIT_SCALE),
        final_reward(game),
    )


def final_reward(game: Prospector) -> float:
    """Return the reward for how the episode ended; 0 while it runs."""
    reward = 0.0
    if game.ev_stranded:
        reward -= 50.0
    if game.ev_destroyed:
        reward -= 100.0
    if game.done and not (game.ev_stranded or game.ev_destroyed):
        reward += 0.002 * (game.credits / CREDIT_SCALE)
    return reward


def reward(game: Prospector) -> tuple[float, Terms]:
    """Return the reward of the last step and its terms."""
    terms = rewards(game)
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total, terms


# -- info (14) ---------------------------------------------------------------------------------


def info(game: Prospector) -> tuple[int | bool | float, ...]:
    """Return the info columns, in the order of ``layout.INFO_DTYPE``.

    ``node_context`` is 1 at the station.
    """
    net_profit = game.credits - game.total_spend  # spending counts twice: part of the contract
    used = 0.0
    if game.util_count > 0.0:
        used = clamp(game.util_sum / game.util_count, 0.0, 1.0)
    return (
        game.ev_action,
        game.ev_dt,
        game.ev_invalid,
        game.done == 1,
        game.done == 2,
        game.credits,
        net_profit,
        net_profit / max(1, game.ticks_elapsed),
        0.0 if game.ev_destroyed or game.ev_stranded else 1.0,
        game.overheat_ticks,
        game.pirate_encounters,
        game.value_lost,
        max(0.0, FUEL_MAX - game.fuel),
        max(0.0, HULL_MAX - game.hull),
        max(0.0, TOOL_MAX - game.tool),
        game.scan_count,
        game.mining_ticks,
        used,
        game.at_station(),
        game.time_remaining,
    )
