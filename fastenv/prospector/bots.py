"""Scripted players of Asteroid Prospector (docs/prospector.md, 17), in plain Python.

A bot sees what an agent sees: the observation, and the masked one the action mask. Observations
are widened to double precision before anything is compared or multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from fastenv.errors import ConfigError, show, with_nearest
from fastenv.prospector.arithmetic import clamp, f32, sum6
from fastenv.prospector.layout import (
    ASTEROID_SIZE,
    ASTEROIDS,
    NEIGHBOR_SIZE,
    NEIGHBORS,
    PRICE_CHANGES,
    PRICES,
)
from fastenv.prospector.tables import (
    CREDITS_CAP,
    MAX_ASTEROIDS,
    MAX_NEIGHBORS,
    NUM_ACTIONS,
    NUM_COMMODITIES,
    SELL_SHARES,
    Action,
)
from fastenv.rng import Rng


class Bot(IntEnum):
    """The players; ``bot_kind`` turns a name into one."""

    GREEDY_MINER = 0
    CAUTIOUS_SCANNER = 1
    MARKET_TIMER = 2
    CASH_OUT = 3
    HOLD = 4
    RANDOM = 5
    MASKED_RANDOM = 6
    SHORT_HAUL = 7
    RICH_HAUL = 8


TARGET = 3  # pge: what the market timer deals in
NONE = -1
QUARTER, HALF, ALL = range(len(SELL_SHARES))


def bot_kind(name: str) -> Bot:
    """Return the player of this name; case and spaces do not matter.

    Raises
    ------
    ConfigError
        A ValueError that lists the names.
    """
    names = {bot.name.lower(): bot for bot in Bot}
    key = "".join(name.lower().split()) if isinstance(name, str) else ""
    if key not in names:
        message = f"bot {show(name)}: must be one of {', '.join(names)}"
        raise ConfigError(with_nearest(message, name, names))
    return names[key]


def bot_action(kind: int, obs: Any, mask: Any, rng: Rng, target: int = TARGET) -> int:
    """Return the action of a scripted player.

    Parameters
    ----------
    kind : Bot
    obs : ndarray of float32, shape (260,)
    mask : ndarray of uint8, shape (69,)
        Used by ``masked_random`` only.
    rng : Rng
        Generator of the player, not of the game. ``random`` draws ``bounded(69)``,
        ``masked_random`` ``bounded(number of legal actions)``, the others nothing.
    target : int
        The commodity that the market timer deals in, 0..5.
    """
    if kind == Bot.RANDOM:
        return rng.bounded(NUM_ACTIONS)
    if kind == Bot.MASKED_RANDOM:
        legal = [action for action, possible in enumerate(mask) if possible]
        return legal[rng.bounded(len(legal))]
    if kind == Bot.CASH_OUT:
        return Action.CASH_OUT
    if kind == Bot.HOLD:
        return Action.HOLD
    view = View(obs.tolist())
    if kind == Bot.GREEDY_MINER:
        return greedy_miner(view)
    if kind == Bot.CAUTIOUS_SCANNER:
        return cautious_scanner(view)
    if kind == Bot.SHORT_HAUL:
        return short_haul(view)
    if kind == Bot.RICH_HAUL:
        return rich_haul(view)
    if not 0 <= target < NUM_COMMODITIES:
        raise ConfigError(
            f"target={show(target)}: must be a commodity from 0 to {NUM_COMMODITIES - 1}"
        )
    return market_timer(view, target)


class View:
    """An observation with names.

    Parameters
    ----------
    obs : list of float
        All 260 values.
    """

    fuel: float
    hull: float
    heat: float
    tool: float
    cargo: float
    alert: float
    time: float
    kits: float
    stabilizers: float

    def __init__(self, obs: list[float]) -> None:
        self.fuel, self.hull, self.heat, self.tool, self.cargo, self.alert, self.time = obs[:7]
        self.credits: float = math.expm1(clamp(obs[7], 0.0, 1.0) * math.log1p(CREDITS_CAP))
        self.load: list[float] = obs[8:14]  # of each commodity
        self.kits, self.stabilizers = obs[14:16]
        self.at_station: bool = obs[17] > 0.5
        self.price: list[float] = obs[PRICES : PRICES + NUM_COMMODITIES]
        self.price_change: list[float] = obs[PRICE_CHANGES : PRICE_CHANGES + NUM_COMMODITIES]
        self.neighbors: list[list[float]] = [
            obs[NEIGHBORS + NEIGHBOR_SIZE * k :][:NEIGHBOR_SIZE] for k in range(MAX_NEIGHBORS)
        ]
        self.asteroids: list[Asteroid] = [
            Asteroid(obs[ASTEROIDS + ASTEROID_SIZE * a :][:ASTEROID_SIZE])
            for a in range(MAX_ASTEROIDS)
        ]

    # -- ways, as actions -----------------------------------------------------------------------

    def slots(self, kind: int = 0) -> Iterator[int]:
        """Yield the slots with a neighbour; ``kind`` 1 of them stations, 2 clusters."""
        for k, neighbor in enumerate(self.neighbors):
            if neighbor[0] > 0.5 and neighbor[kind] > 0.5:
                yield k

    def to_station(self) -> int:
        """Return the way to the station if that is one edge away, else NONE."""
        return next(self.slots(1), NONE)

    def to_field(self) -> int:
        """Return the way to a cluster, else away from the station, else anywhere, else hold."""
        stations = set(self.slots(1))
        others = [k for k in self.slots() if k not in stations]
        return next(iter([*self.slots(2), *others, *self.slots()]), int(Action.HOLD))

    def back(self) -> int:
        """Return the way to the station, else anywhere, else hold."""
        return next(iter([*self.slots(1), *self.slots()]), int(Action.HOLD))

    def risk(self, k: int) -> float:
        """Return how dangerous and dear the way through a slot is."""
        _, _, _, hazard, time, fuel, threat = self.neighbors[k]
        return 8.0 * time * (0.1 + threat) + 1.5 * fuel + 0.5 * hazard

    # -- asteroids ------------------------------------------------------------------------------

    def valid(self) -> list[int]:
        """Return the slots with an asteroid."""
        return [a for a in range(MAX_ASTEROIDS) if self.asteroids[a].valid]

    def mean_conf(self) -> float:
        """Return the mean confidence over all asteroids, of which there must be one."""
        total = 0.0
        for a in self.valid():
            total += self.asteroids[a].conf
        return total / len(self.valid())

    def best(self, target: int = NONE) -> int:
        """Return the most promising asteroid, for one commodity or for all; the first of equals."""
        best, best_score = NONE, -math.inf
        for a in self.valid():
            rock = self.asteroids[a]
            if target == NONE:
                worth = f32(sum6([f32(p * s) for p, s in zip(self.price, rock.comp, strict=True)]))
            else:
                worth = rock.comp[target] * (0.5 + 0.5 * rock.conf)
            score = worth * rock.stability * (1.0 - rock.depletion)
            if score > best_score:
                best, best_score = a, score
        return best

    def held(self, least: float) -> list[int]:
        """Return the commodities of which there is more than ``least`` in the hold."""
        return [c for c in range(NUM_COMMODITIES) if self.load[c] > least]


class Asteroid:
    """One asteroid of an observation."""

    valid: bool
    selected: bool
    stability: float
    depletion: float
    conf: float

    def __init__(self, block: list[float]) -> None:
        self.valid, self.selected = block[0] > 0.5, block[10] > 0.5
        self.comp: list[float] = block[1:7]
        self.stability, self.depletion, self.conf = block[7:10]


def sell(c: int, share: int) -> int:
    """Return the action that sells a share of a commodity."""
    return Action.SELL + len(SELL_SHARES) * c + share


def greedy_miner(o: View) -> int:
    """Mine the best asteroid as hard as it goes, sell everything."""
    if o.at_station:
        if o.held(0.01):
            return sell(o.held(0.01)[0], ALL)
        if o.fuel < 0.40 and o.credits >= 210.0:
            return Action.BUY_FUEL_LARGE
        return o.to_field()
    if o.cargo > 0.85 or o.heat > 0.80 or o.hull < 0.40 or o.fuel < 0.15:
        return o.back()
    a = o.best()
    if a == NONE:
        return o.to_field()
    if not o.asteroids[a].selected:
        return Action.SELECT + a
    if o.tool > 0.60 and o.heat < 0.60:
        return Action.MINE_AGGRESSIVE
    return Action.MINE_STANDARD


def cautious_scanner(o: View) -> int:
    """Scan before mining gently, sell in halves, keep kits and fuel in stock."""
    if o.at_station:
        if o.held(0.01):
            return sell(o.held(0.01)[0], HALF)
        if o.kits < 0.30 and o.credits >= 150.0:
            return Action.BUY_REPAIR_KIT
        if o.fuel < 0.50 and o.credits >= 120.0:
            return Action.BUY_FUEL_MEDIUM
        return o.to_field()
    if o.cargo > 0.70 or o.heat > 0.75 or o.hull < 0.55 or o.fuel < 0.20:
        return o.back()
    if o.valid() and o.mean_conf() < 0.35:
        return Action.SCAN_WIDE
    a = o.best()
    if a == NONE:
        return o.to_field()
    rock = o.asteroids[a]
    if not rock.selected:
        return Action.SELECT + a
    if rock.conf < 0.60:
        return Action.SCAN_DEEP
    if rock.stability < 0.40 and o.stabilizers > 0.10:
        return Action.STABILIZE
    return Action.COOLDOWN if o.heat > 0.70 else Action.MINE_CONSERVATIVE


def market_timer(o: View, t: int) -> int:
    """Mine one commodity and sell it in quarters when its price is good."""
    if o.at_station:
        return market_timer_trade(o, t)
    if o.cargo > 0.12:
        if o.heat > 0.65:
            return Action.COOLDOWN
        if o.to_station() != NONE:
            return o.to_station()
    if o.price_change[t] < -0.02 and o.cargo > 0.25:
        return Action.COOLDOWN if o.heat > 0.60 else o.back()
    if o.cargo > 0.85 or o.heat > 0.80:
        if o.heat > 0.70:
            return Action.COOLDOWN
        return o.to_station() if o.to_station() != NONE else Action.HOLD
    a = o.best(t)
    if a == NONE:
        return o.to_field()
    if not o.asteroids[a].selected:
        return Action.SELECT + a
    return Action.MINE_STANDARD if o.heat < 0.60 else Action.MINE_CONSERVATIVE


def market_timer_trade(o: View, t: int) -> int:
    """Choose the action of the market timer at the station."""
    force = o.cargo > 0.70 or o.time < 0.15
    good = o.price_change[t] > 0.01 and o.price[t] > 0.50
    if o.load[t] > 0.01 and (good or force):
        return sell(t, QUARTER)
    others = [c for c in o.held(0.05) if c != t]
    if force and others:
        return sell(others[0], QUARTER)
    if o.fuel < 0.50 and o.credits >= 120.0:
        return Action.BUY_FUEL_MEDIUM
    return o.to_field()


def short_haul(o: View) -> int:
    """Survive with a profit: one trip to the least risky neighbour, a few units, then cash out.

    Danger grows with time in the field, noise and cargo, so it stays briefly, mines gently and
    drops what it has not loaded, which quiets the ship for nothing. How much of an asteroid one
    careful tick took tells how rich it is, which no scan does.
    """
    if o.at_station:
        return short_haul_trade(o)
    if o.to_station() == NONE:
        return Action.HOLD
    if o.cargo > 0.01 or o.hull < 0.90:
        return o.to_station()
    empty = [c for c in range(NUM_COMMODITIES) if o.load[c] <= 0.0]
    if o.alert > 0.19 and empty:
        return Action.JETTISON + empty[0]
    workable = [a for a in o.valid() if o.asteroids[a].depletion < 1.0]
    if not workable:
        return o.to_station()
    fresh = [a for a in workable if o.asteroids[a].depletion <= 0.0]
    a = fresh[0] if fresh else max(workable, key=lambda a: o.asteroids[a].depletion)
    return Action.MINE_CONSERVATIVE if o.asteroids[a].selected else Action.SELECT + a


def short_haul_trade(o: View) -> int:
    """Choose the action of the short hauler at the station."""
    if o.held(0.004):
        return sell(o.held(0.004)[0], QUARTER)  # little by little costs less than all at once
    if o.held(0.0):
        return sell(o.held(0.0)[0], ALL)
    if o.credits > 0.0 or o.hull < 0.50 or o.fuel < 0.40:
        return Action.CASH_OUT
    if any(o.neighbors[k][6] == 0.5 for k in o.slots()):
        return Action.LISTEN  # a way nobody has listened to
    return min(o.slots(), key=o.risk, default=int(Action.CASH_OUT))


TRIED = 4  # asteroids that the rich hauler mines before it keeps to one


def rich_haul(o: View) -> int:
    """Earn more on one trip: mine a few asteroids once, keep to the richest, refine at the station.

    Nothing tells how rich an asteroid is but mining it. Refining turns iron and nickel, which are
    cheap, into rare isotopes, and at the station nothing can happen meanwhile.
    """
    if o.at_station:
        return Action.REFINE if o.load[0] + o.load[1] > 0.001 else short_haul_trade(o)
    if o.to_station() == NONE:
        return Action.HOLD
    if o.cargo > 0.05 or o.hull < 0.85:
        return o.to_station()
    empty = [c for c in range(NUM_COMMODITIES) if o.load[c] <= 0.0]
    if o.alert > 0.19 and empty:
        return Action.JETTISON + empty[0]
    used = [a for a in o.valid() if o.asteroids[a].depletion > 0.0]
    fresh = [a for a in o.valid() if a not in used]
    left = [a for a in used if o.asteroids[a].depletion < 1.0]
    if fresh and (len(used) < TRIED or not left):
        a = fresh[0]
    elif left:
        a = max(left, key=lambda a: o.asteroids[a].depletion)
    else:
        return o.to_station()
    return Action.MINE_CONSERVATIVE if o.asteroids[a].selected else Action.SELECT + a
