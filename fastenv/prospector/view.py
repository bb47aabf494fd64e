"""What a player may know of a game, in words and numbers: the source of every picture.

The chart of the belt is public: nodes, their types, the ways between them and what these cost. What
instruments only estimate gets into a :class:`ShipView` as the estimate; true compositions,
richness, stability, threats, hazards and the cycle of the prices do not get into it at all, so no
drawing code can give them away.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, NamedTuple

from fastenv.prospector import tables as t
from fastenv.prospector.arithmetic import norm6
from fastenv.prospector.encoding import valid_actions
from fastenv.prospector.position import unpack
from fastenv.prospector.reference import Prospector
from fastenv.prospector.tables import Action, NodeType
from fastenv.prospector.world import EMPTY, ESTIMATE

NAMES = tuple(name.replace("_", " ") for name in t.COMMODITIES)
SYMBOLS = ("Fe", "Ni", "ice", "PGE", "iso", "vol")  # three letters at most, for narrow columns
KINDS = {NodeType.STATION: "station", NodeType.CLUSTER: "cluster", NodeType.HAZARD: "hazard"}
SINGLE_NAMES = {
    Action.HOLD: "hold",
    Action.BURN: "emergency burn",
    Action.SCAN_WIDE: "wide scan",
    Action.SCAN_FOCUSED: "focused scan",
    Action.SCAN_DEEP: "deep scan",
    Action.LISTEN: "threat listen",
    Action.MINE_CONSERVATIVE: "mine conservative",
    Action.MINE_STANDARD: "mine standard",
    Action.MINE_AGGRESSIVE: "mine aggressive",
    Action.STABILIZE: "stabilize",
    Action.REFINE: "refine",
    Action.COOLDOWN: "cooldown",
    Action.MAINTAIN_TOOL: "tool maintenance",
    Action.PATCH_HULL: "hull patch",
    Action.DOCK: "dock",
    Action.BUY_FUEL_SMALL: "buy fuel small",
    Action.BUY_FUEL_MEDIUM: "buy fuel medium",
    Action.BUY_FUEL_LARGE: "buy fuel large",
    Action.BUY_REPAIR_KIT: "buy repair kit",
    Action.BUY_STABILIZER: "buy stabilizer",
    Action.BUY_DECOY: "buy decoy",
    Action.OVERHAUL: "overhaul",
    Action.CASH_OUT: "cash out",
}
COSTS = {
    **{action: cost for action, (cost, _) in t.FUEL_PACKS.items()},
    Action.BUY_REPAIR_KIT: t.PRICE_REPAIR_KIT,
    Action.BUY_STABILIZER: t.PRICE_STABILIZER,
    Action.BUY_DECOY: t.PRICE_DECOY,
    Action.OVERHAUL: t.PRICE_OVERHAUL,
}
# Where a gauge starts to matter and where it gets dangerous; rising ones are bad when high. Above
# heat 70 a tool yields less and reward is lost.
LIMITS = {
    "fuel": (t.FUEL_MAX, 350.0, 150.0),
    "hull": (t.HULL_MAX, 50.0, 25.0),
    "heat": (t.HEAT_MAX, 70.0, 85.0),
    "tool": (t.TOOL_MAX, 50.0, 25.0),
    "alert": (t.ALERT_MAX, 40.0, 70.0),
}


class Gauge(NamedTuple):
    """A reading of the ship."""

    name: str
    value: float
    limit: float
    level: int  # 0 fine, 1 worth a look, 2 dangerous

    @property
    def share(self) -> float:
        """Value as a part of the limit, 0 to 1."""
        return min(1.0, max(0.0, self.value / self.limit))


class Good(NamedTuple):
    """A commodity in the hold and at the station."""

    symbol: str
    name: str
    held: float
    price: float
    change: float  # of the price in the last step
    stock: float  # at the station


class Way(NamedTuple):
    """An edge that leaves from here."""

    slot: int  # also the action that takes it
    node: int
    kind: str
    ticks: int
    fuel: float  # with what is in the hold now
    threat: float  # estimated
    heard: bool  # something has been heard of the threat
    hops_home: int | None  # from the node behind it


class Asteroid(NamedTuple):
    """An asteroid of the current node, as far as it has been scanned."""

    slot: int
    shares: tuple[float, ...]  # estimated composition, sums to 1
    value: float  # credits a unit of that composition would bring at today's prices
    stability: float
    confidence: float
    depletion: float
    selected: bool
    steadied: int  # ticks for which a stabilizer still holds it together


class Edge(NamedTuple):
    """A way between two nodes; None is a threat of which nothing has been heard at that end."""

    ends: tuple[int, int]
    threats: tuple[float | None, float | None]


@dataclass(frozen=True)
class ShipView:
    """What the player may know, ready to be drawn."""

    node: int
    kind: str
    hops_home: int | None  # None: there is no way
    fuel_home: float | None  # of the cheapest way with what is in the hold now
    time: Gauge
    credits: float
    gauges: tuple[Gauge, ...]
    hold: Gauge
    goods: tuple[Good, ...]
    supplies: tuple[str, ...]
    record: tuple[str, ...]  # what the episode has brought so far
    ways: tuple[Way, ...]
    asteroids: tuple[Asteroid, ...]
    node_kinds: tuple[str, ...]  # the chart: by number of the node
    node_hops: tuple[int | None, ...]
    edges: tuple[Edge, ...]
    legal: frozenset[int]  # actions that are possible now; empty at the end
    news: tuple[str, ...]  # the last step and what it did
    ending: str  # how the episode ended, "" while it runs


def _action_names() -> tuple[str, ...]:
    groups: dict[int, tuple[str, ...]] = {
        Action.TRAVEL: tuple(f"travel slot {k}" for k in range(t.MAX_NEIGHBORS)),
        Action.SELECT: tuple(f"select asteroid {a}" for a in range(t.MAX_ASTEROIDS)),
        Action.JETTISON: tuple(f"jettison {name}" for name in NAMES),
        Action.SELL: tuple(f"sell {name} {p:.0%}" for name in NAMES for p in t.SELL_SHARES),
        **{action: (name,) for action, name in SINGLE_NAMES.items()},
    }
    return tuple(name for first in sorted(groups) for name in groups[first])


ACTION_NAMES = _action_names()
assert len(ACTION_NAMES) == t.NUM_ACTIONS


def offer(action: Action) -> str:
    """Return the name of an action and, if it is for sale, how much one gets for how much."""
    amount = f" ({t.FUEL_PACKS[action][1]:.0f})" if action in t.FUEL_PACKS else ""
    price = f" for {COSTS[action]:.0f}" if action in COSTS else ""
    return ACTION_NAMES[action] + amount + price


def ship_view(row: Any, time_max: float) -> ShipView:
    """Return the player's view of the game in ``row``.

    Parameters
    ----------
    row : record of STATE_DTYPE
        A complete game, not changed.
    time_max : float
        Ticks of an episode, from the rules.
    """
    game = unpack(row, time_max)
    here, chart = game.current_node, range(game.node_count)
    load = 1.0 + 0.5 * (game.cargo_total() / t.CARGO_MAX)
    fuel_home = _fuel_home(game, load)
    kinds = [KINDS[NodeType(game.node_type.item(node))] for node in chart]
    hops = [_hops(game, node) for node in chart]
    return ShipView(
        node=here,
        kind=kinds[here],
        hops_home=hops[here],
        fuel_home=fuel_home,
        time=Gauge("time", game.time_remaining, time_max, 0),
        credits=game.credits,
        gauges=tuple(_gauges(game, fuel_home)),
        hold=Gauge("hold", game.cargo_total(), t.CARGO_MAX, 0),
        goods=tuple(_goods(game)),
        supplies=tuple(_supplies(game)),
        record=tuple(_record(game)),
        ways=tuple(
            Way(
                slot=k,
                node=node,
                kind=kinds[node],
                ticks=game.edge_time.item(here, k),
                fuel=game.edge_fuel.item(here, k) * load,
                threat=game.edge_threat_est.item(here, k),
                heard=game.edge_threat_est.item(here, k) != ESTIMATE,
                hops_home=hops[node],
            )
            for k, node in enumerate(game.neighbor[here].tolist())
            if node != EMPTY
        ),
        asteroids=tuple(_asteroid(game, a) for a in range(game.asteroid_count.item(here))),
        node_kinds=tuple(kinds),
        node_hops=tuple(hops),
        edges=tuple(_edges(game)),
        legal=frozenset() if game.done else frozenset(int(a) for a in valid_actions(game)),
        news=tuple(_news(game)),
        ending=_ending(game),
    )


def _hops(game: Prospector, node: int) -> int | None:
    hops = game.steps_to_station.item(node)
    return None if hops == t.UNREACHABLE else hops


def _fuel_home(game: Prospector, load: float) -> float | None:
    """Return the least fuel from here to the station, or None without a way."""
    queue, done = [(0.0, game.current_node)], set[int]()
    while queue:
        fuel, node = heappop(queue)
        if game.node_type.item(node) == NodeType.STATION:
            return fuel
        if node in done:
            continue
        done.add(node)
        for k, other in enumerate(game.neighbor[node].tolist()):
            if other != EMPTY:
                heappush(queue, (fuel + game.edge_fuel.item(node, k) * load, other))
    return None


def _gauges(game: Prospector, fuel_home: float | None) -> list[Gauge]:
    gauges = []
    for name, (limit, first, second) in LIMITS.items():
        value = float(getattr(game, name))
        if name == "fuel":  # what matters is the way home
            way = fuel_home or 0.0
            first, second = max(first, way * 1.5), max(second, way)
        sign = 1 if second > first else -1
        level = (sign * value >= sign * first) + (sign * value >= sign * second)
        gauges.append(Gauge(name, value, limit, int(level)))
    return gauges


def _goods(game: Prospector) -> list[Good]:
    held, price, before, stock = (
        values.tolist()
        for values in (game.cargo, game.price, game.prev_price, game.station_inventory)
    )
    return [
        Good(SYMBOLS[c], NAMES[c], held[c], price[c], price[c] - before[c], stock[c])
        for c in range(t.NUM_COMMODITIES)
    ]


def _asteroid(game: Prospector, a: int) -> Asteroid:
    at = (game.current_node, a)
    shares = norm6(game.comp_est[at].tolist())
    return Asteroid(
        slot=a,
        shares=tuple(shares),
        value=sum(share * price for share, price in zip(shares, game.price.tolist(), strict=True)),
        stability=game.stability_est.item(at),
        confidence=game.scan_conf.item(at),
        depletion=game.depletion.item(at),
        selected=a == game.selected,
        steadied=game.stabilize_ticks.item(a),
    )


def _edges(game: Prospector) -> list[Edge]:
    def heard(node: int, slot: int) -> float | None:
        estimate = game.edge_threat_est.item(node, slot)
        return None if estimate == ESTIMATE else estimate

    return [
        Edge(
            (node, other), (heard(node, k), heard(other, game.neighbor[other].tolist().index(node)))
        )
        for node in range(game.node_count)
        for k, other in enumerate(game.neighbor[node].tolist())
        if other > node
    ]


def count(number: float, name: str) -> str:
    """Return a number with its noun, such as ``"1 tick"`` or ``"12 ticks"``."""
    return f"{number:,.0f} {name}{'s' * (number != 1)}"


def _supplies(game: Prospector) -> list[str]:
    supplies = [
        count(game.repair_kits, "repair kit"),
        count(game.stabilizers, "stabilizer"),
        count(game.decoys, "decoy"),
    ]
    if game.escape_ticks:
        supplies.append(f"escape burn for {count(game.escape_ticks, 'tick')}")
    return supplies


def _record(game: Prospector) -> list[str]:
    record = [f"spent {game.total_spend:,.0f}"]
    record += [f"{count(game.scan_count, 'scan')}", f"mined {count(game.mining_ticks, 'tick')}"]
    record.append(f"met {count(game.pirate_encounters, 'pirate')}")
    record.append(f"lost {game.value_lost:,.0f} to them")
    record.append(f"overheated {count(game.overheat_ticks, 'tick')}")
    return record


def _news(game: Prospector) -> list[str]:
    """Describe the last step in sentences, from the events of the row."""
    if game.ev_action < 0:
        return ["The ship is ready at the station."]
    name, ticks = ACTION_NAMES[game.ev_action], count(game.ev_dt, "tick")
    text = f"{name.capitalize()}, {ticks}"
    if game.ev_invalid and game.ev_action == Action.HOLD:
        text = f"There is no such action, the ship held for {ticks}"
    elif game.ev_invalid:
        text = f"{name.capitalize()} was not possible, the ship held for {ticks}"
    changes = [
        f"{what} {after - before:+,.1f}"
        for what, before, after in (
            ("credits", game.ev_credits, game.credits),
            ("fuel", game.ev_fuel, game.fuel),
            ("hull", game.ev_hull, game.hull),
            ("tool", game.ev_tool, game.tool),
            ("worth of the hold", game.ev_cargo_value, game.cargo_value()),
        )
        if abs(after - before) >= 0.05
    ]
    news = [f"{text}: {', '.join(changes)}." if changes else f"{text}."]
    if game.value_lost > game.ev_value_lost:
        news.append(f"Pirates took cargo worth {game.value_lost - game.ev_value_lost:,.0f}.")
    mines = (Action.MINE_CONSERVATIVE, Action.MINE_STANDARD, Action.MINE_AGGRESSIVE)
    if game.ev_action in mines and not (game.ev_invalid or game.selected_ok()):
        news.append(f"Asteroid {game.selected} is used up or broken.")
    return news


def _ending(game: Prospector) -> str:
    if not game.done:
        return ""
    if game.ev_destroyed:
        return "The ship is destroyed."
    if game.ev_stranded:
        return "The ship is stranded without fuel."
    if game.done == 2:
        return f"Time is up, with {game.credits:,.0f} credits."
    return f"Cashed out, with {game.credits:,.0f} credits."
