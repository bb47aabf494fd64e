"""One game of Asteroid Prospector in plain Python: the oracle of the compiled implementations.

This file is what happens in a step. The world is drawn in ``world.py``; observation, mask, reward
and info are in ``encoding.py``; how a game becomes a row is in ``position.py``.

>>> game = Prospector(seed=0)
>>> game.step(Action.TRAVEL)
>>> game.current_node, game.ev_dt, round(game.fuel, 3)
(1, 8, 953.078)
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fastenv.prospector.arithmetic import clamp, csum, f32, norm6, sigmoid, sum6
from fastenv.prospector.pcg import Pcg
from fastenv.prospector.tables import (
    ALERT_MAX,
    CARGO_MAX,
    FUEL_MAX,
    FUEL_PACKS,
    HEAT_MAX,
    HULL_MAX,
    MAX_ASTEROIDS,
    MINES,
    NUM_ACTIONS,
    NUM_COMMODITIES,
    PRICE_BASE,
    PRICE_DECOY,
    PRICE_MAX,
    PRICE_MIN,
    PRICE_OVERHAUL,
    PRICE_REPAIR_KIT,
    PRICE_STABILIZER,
    SCANS,
    SELL_SHARES,
    SUPPLY_MAX,
    TIME_MAX,
    TOOL_MAX,
    TWO_PI,
    Action,
    NodeType,
    Scan,
)
from fastenv.prospector.world import EMPTY, STATION, Bytes, Singles, World, singles

IRON, NICKEL, RARE = 0, 1, 4
INVALID = 0  # ticks of an action that is not possible now; it becomes a hold of one tick
RUNNING, TERMINATED, TRUNCATED = 0, 1, 2


class Prospector(World):
    """One game. The attributes are the fields of ``STATE_DTYPE``; ``state.py`` explains them.

    Parameters
    ----------
    time_max : float
        Ticks until the episode is truncated.
    seed : int, optional
        Start an episode at once.
    """

    current_node: int
    selected: int
    fuel: float
    hull: float
    heat: float
    tool: float
    alert: float
    repair_kits: int
    stabilizers: int
    decoys: int
    ticks_elapsed: int
    overheat_ticks: int
    pirate_encounters: int
    scan_count: int
    mining_ticks: int
    ep_length: int
    credits: float
    total_spend: float
    value_lost: float
    util_sum: float
    util_count: float
    ep_return: float
    ev_credits: float
    ev_fuel: float
    ev_hull: float
    ev_tool: float
    ev_cargo_value: float

    def __init__(self, time_max: float = TIME_MAX, seed: int | None = None) -> None:
        self.time_max = time_max
        super().__init__()
        self.clear_ship()
        if seed is not None:
            self.reset(seed)

    # -- an episode (docs/prospector.md, 6) ----------------------------------------------------

    def reset(self, seed: int | None = None) -> None:
        """Start an episode: with its own stream if there is a seed, else with the next draws."""
        if seed is not None:
            self.rng: Pcg = Pcg(seed)
        self.generate()
        self.clear_ship()

    def clear_ship(self) -> None:
        """Put a new ship into the station (the values of docs/prospector.md, 4)."""
        self.current_node, self.selected = STATION, EMPTY
        self.fuel, self.hull, self.heat = FUEL_MAX, HULL_MAX, 0.0
        self.tool, self.alert = TOOL_MAX, 0.0
        self.time_remaining: float = self.time_max
        self.credits = self.total_spend = self.value_lost = 0.0
        self.cargo: Singles = singles(NUM_COMMODITIES)
        self.repair_kits, self.stabilizers, self.decoys = 3, 2, 1
        self.escape_ticks: int = 0
        self.stabilize_ticks: Bytes = np.zeros(MAX_ASTEROIDS, np.int8)
        self.ticks_elapsed = self.overheat_ticks = self.pirate_encounters = 0
        self.scan_count = self.mining_ticks = 0
        self.util_sum = self.util_count = 0.0
        self.done: int = RUNNING
        self.ep_return, self.ep_length = 0.0, 0
        self.note_values()
        self.ev_action: int = -1
        self.ev_dt: int = 0
        self.ev_invalid: int = 0
        self.ev_destroyed: int = 0
        self.ev_stranded: int = 0

    # -- a step (docs/prospector.md, 7) --------------------------------------------------------

    def step(self, action: int) -> None:
        """Take one decision; nothing if the episode is over.

        Parameters
        ----------
        action : int
            0..68; any other number is a hold that counts twice, and as invalid.
        """
        # 1 an episode that ended stays as it is
        if self.done:
            return
        # 2 what the reward compares with
        self.note_values()
        # 3 out of range: hold in its place, and once more below
        in_range = 0 <= action < NUM_ACTIONS
        self.ev_action = int(action) if in_range else int(Action.HOLD)
        # 4, 5 apply it
        dt = self.apply(self.ev_action)
        # 6 what is not possible becomes a hold
        self.ev_invalid = int(dt == INVALID or not in_range)
        if self.ev_invalid:
            dt = 1
            self.calm_down()
        self.ev_dt = dt
        # 7 the world goes on
        self.pass_time(dt)
        # 8 the clock
        self.ticks_elapsed += dt
        # 9 the end; reward, observation and info (10) are computed from the state
        self.judge()

    def note_values(self) -> None:
        """Remember the values before a step."""
        self.ev_credits, self.ev_fuel, self.ev_hull = self.credits, self.fuel, self.hull
        self.ev_tool, self.ev_cargo_value = self.tool, self.cargo_value()
        self.ev_value_lost: float = self.value_lost

    def judge(self) -> None:
        """Decide whether the episode is over (11)."""
        self.ev_destroyed = int(self.hull <= 0.0)
        self.ev_stranded = int(self.fuel <= 0.0 and not self.at_station())
        if self.ev_action == Action.CASH_OUT or self.ev_destroyed or self.ev_stranded:
            self.done = TERMINATED
        elif self.time_remaining <= 0.0:
            self.done = TRUNCATED

    # -- what is so ----------------------------------------------------------------------------

    def at_station(self) -> bool:
        """Tell whether the ship is at the station."""
        return self.node_type.item(self.current_node) == NodeType.STATION

    def cargo_total(self) -> float:
        """Return the units in the hold."""
        return csum(self.cargo.tolist())

    def cargo_value(self) -> float:
        """Compute the value of the cargo at today's prices."""
        cargo, price = self.cargo.tolist(), self.price.tolist()
        return sum6([cargo[c] * price[c] for c in range(NUM_COMMODITIES)])

    def can_work(self, a: int) -> bool:
        """Tell whether the current node has an asteroid ``a`` that is not depleted."""
        here = self.current_node
        return 0 <= a < self.asteroid_count.item(here) and self.depletion.item(here, a) < 1.0

    def selected_ok(self) -> bool:
        """Tell whether an asteroid is selected that can be worked."""
        return self.can_work(self.selected)

    def can_pay(self, cost: float) -> bool:
        """Tell whether something of this price can be bought here and now."""
        return self.at_station() and self.credits >= cost

    # -- actions: each returns the ticks it takes, or INVALID (docs/prospector.md, 8) ------------

    def apply(self, action: int) -> int:
        """Carry out an action in range; some cost even if they then turn out invalid."""
        first = max(group for group in HANDLERS if group <= action)
        return HANDLERS[first](self, action - first)

    def travel(self, slot: int) -> int:
        """Fly along an edge (docs/prospector.md, 9.1)."""
        here = self.current_node
        there, dt = self.neighbor.item(here, slot), self.edge_time.item(here, slot)
        fuel, threat = self.edge_fuel.item(here, slot), self.edge_threat.item(here, slot)
        if there == EMPTY:
            return INVALID
        self.fuel -= fuel * (1.0 + 0.5 * (self.cargo_total() / CARGO_MAX))
        self.current_node, self.selected = there, EMPTY
        self.hull -= dt * threat * 0.7 * self.rng.uni(0.85, 1.15)
        self.heat += dt * threat * 0.5
        self.alert += dt * threat * 0.8
        self.meet_pirates(dt, threat)
        return dt

    def hold(self, _: int) -> int:
        """Wait."""
        self.calm_down()
        return 1

    def calm_down(self) -> None:
        """Do what holding does."""
        self.alert = max(0.0, self.alert - 3.0)
        self.heat = max(0.0, self.heat - 2.5)

    def burn(self, _: int) -> int:
        """Burn fuel to be hard to catch for a while."""
        self.fuel -= 18.0
        self.alert += 10.0
        self.escape_ticks = max(self.escape_ticks, 4)
        return 1

    def scan(self, kind: int) -> int:
        """Scan the whole node (0), or the selected asteroid focused (1) or deep (2)."""
        mode = SCANS[Action(Action.SCAN_WIDE + kind)]
        self.fuel -= mode.fuel
        self.alert += mode.alert
        if kind == 0:
            targets = range(self.asteroid_count.item(self.current_node))
        elif self.selected_ok():
            targets = range(self.selected, self.selected + 1)
        else:
            return INVALID
        for a in targets:
            self.scan_asteroid((self.current_node, a), mode)
        self.scan_count += 1
        return mode.dt

    def scan_asteroid(self, at: tuple[int, int], mode: Scan) -> None:
        """Blend a noisy measurement into the estimates (docs/prospector.md, 9.3); 14 draws.

        ``at`` is node and slot.
        """
        rng, b = self.rng, mode.blend
        conf, stability = self.scan_conf.item(at), self.stability.item(at)
        sigma = self.noise.item(at) * (1.0 - conf + 0.1) * mode.noise
        seen = norm6([x + rng.normal(0.0, sigma) for x in self.true_comp[at].tolist()])
        before = self.comp_est[at].tolist()
        self.comp_est[at] = norm6(
            [(1.0 - b) * old + b * new for old, new in zip(before, seen, strict=True)]
        )
        s = clamp(stability + rng.normal(0.0, sigma), 0.0, 1.0)
        blended = (1.0 - b) * self.stability_est.item(at) + b * s
        self.stability_est[at] = clamp(blended, 0.0, 1.0)
        self.scan_conf[at] = clamp(conf + mode.gain, 0.0, 1.0)

    def listen(self, _: int) -> int:
        """Estimate the threat of the edges that leave from here (docs/prospector.md, 9.5)."""
        here = self.current_node
        for slot, there in enumerate(self.neighbor[here].tolist()):
            if there != EMPTY:
                threat = self.edge_threat.item(here, slot)
                heard = clamp(threat + self.rng.normal(0.0, 0.08), 0.0, 1.0)
                before = self.edge_threat_est.item(here, slot)
                self.edge_threat_est[here, slot] = 0.25 * before + 0.75 * heard
        return 2

    def select(self, a: int) -> int:
        """Select an asteroid to work on."""
        if not self.can_work(a):
            return INVALID
        self.selected = a
        return 1

    def mine(self, kind: int) -> int:
        """Mine the selected asteroid: conservative (0), standard (1) or aggressive (2).

        See docs/prospector.md, 9.4.
        """
        if not self.selected_ok():
            return INVALID
        at, rng = (self.current_node, self.selected), self.rng
        mode = MINES[Action(Action.MINE_CONSERVATIVE + kind)]
        # the yield depends on tool and heat as they are before they wear and rise
        base = self.richness.item(at) * max(0.0, 1.0 - self.depletion.item(at))
        tool = clamp(self.tool / 100.0, 0.0, 1.0)
        heat = clamp(self.heat / 100.0, 0.0, 2.0)
        tool_factor = 0.4 + 0.6 * tool
        heat_factor = 1.0 if heat <= 0.7 else max(0.1, 1.0 - (heat - 0.7) / 0.3)
        luck = math.exp(rng.normal(0.0, mode.sigma))
        k = base * tool_factor * heat_factor * mode.factor * luck
        mined = [k * share for share in self.true_comp[at].tolist()]
        total = sum6(mined)
        room = max(0.0, CARGO_MAX - self.cargo_total())
        if total > room and total > 0.0:
            q = room / total
            mined, total = [x * q for x in mined], room
        for c, x in enumerate(mined):
            self.cargo[c] = self.cargo.item(c) + f32(x)
        self.heat += mode.heat
        self.tool -= mode.wear
        self.alert += mode.alert
        self.depletion[at] = clamp(self.depletion.item(at) + 0.01 * total, 0.0, 1.0)
        self.mining_ticks += 1
        logit = (
            -3.1
            + mode.fracture_bias
            + 2.5 * (1.0 - self.stability.item(at))
            + 2.2 * max(0.0, heat - 0.7)
            + 1.5 * (1.0 - tool)
            - (1.1 if self.stabilize_ticks.item(self.selected) > 0 else 0.0)
        )
        if rng.uniform() < sigmoid(logit):
            self.fracture()
        return 1

    def fracture(self) -> None:
        """Break the selected asteroid: it hurts the ship, and its place gets more dangerous."""
        here = self.current_node
        self.hull -= 12.0 * self.rng.uni(0.5, 1.0)
        self.depletion[here, self.selected] = 1.0
        self.node_hazard[here] = clamp(self.node_hazard.item(here) + 0.1, 0.0, 1.0)

    def stabilize(self, _: int) -> int:
        """Make the selected asteroid's slot less likely to fracture for a while."""
        if not self.selected_ok() or self.stabilizers == 0:
            return INVALID
        self.stabilizers -= 1
        self.stabilize_ticks[self.selected] = 6
        return 2

    def refine(self, _: int) -> int:
        """Turn some iron and nickel into rare isotopes (docs/prospector.md, 9.6)."""
        self.fuel -= 4.0
        self.heat += 6.0
        self.alert += 3.0
        cargo = self.cargo.tolist()
        low = f32(cargo[IRON] + cargo[NICKEL])
        if low > 0.0:
            refined = 0.15 * low
            k = f32(1.0 - min(1.0, refined / low))
            self.cargo[IRON] = cargo[IRON] * k
            self.cargo[NICKEL] = cargo[NICKEL] * k
            self.cargo[RARE] = cargo[RARE] + f32(0.65 * refined)
        return 2

    def cool_down(self, _: int) -> int:
        """Cool the ship down."""
        self.fuel -= 2.0
        self.heat = max(0.0, self.heat - 20.0)
        self.alert += 1.0
        return 2

    def maintain_tool(self, _: int) -> int:
        """Use a repair kit for the tool."""
        if self.repair_kits == 0:
            return INVALID
        self.repair_kits -= 1
        self.tool = min(TOOL_MAX, self.tool + 25.0)
        return 2

    def patch_hull(self, _: int) -> int:
        """Use a repair kit for the hull."""
        if self.repair_kits == 0:
            return INVALID
        self.repair_kits -= 1
        self.hull = min(HULL_MAX, self.hull + 20.0)
        return 2

    def jettison(self, c: int) -> int:
        """Throw a commodity overboard, which calms pirates down."""
        self.cargo[c] = 0.0
        self.alert = max(0.0, self.alert - 8.0)
        return 1

    def dock(self, _: int) -> int:
        """Hide in the station."""
        if not self.at_station():
            return INVALID
        self.alert = max(0.0, self.alert - 20.0)
        return 1

    def sell(self, k: int) -> int:
        """Sell a share of a commodity; the more, the lower its price (docs/prospector.md, 9.7)."""
        if not self.at_station():
            return INVALID
        c, bucket = k // len(SELL_SHARES), k % len(SELL_SHARES)
        held, stock = self.cargo.item(c), self.station_inventory.item(c)
        q = held * SELL_SHARES[bucket]
        if q > 0.0:
            ratio = q / max(1.0, stock + q)
            slip = clamp(0.25 * ratio + 0.2 * math.sqrt(ratio), 0.0, 0.70)
            self.credits += q * (self.price.item(c) * (1.0 - slip))
            self.cargo[c] = max(0.0, held - q)
            self.station_inventory[c] = stock + f32(q)
            self.recent_sales[c] = self.recent_sales.item(c) + f32(q)
        return 1

    def pay(self, cost: float) -> None:
        """Pay."""
        self.credits -= cost
        self.total_spend += cost

    def buy_fuel(self, size: int) -> int:
        """Buy a small (0), medium (1) or large (2) amount of fuel."""
        cost, amount = FUEL_PACKS[Action(Action.BUY_FUEL_SMALL + size)]
        if not self.can_pay(cost):
            return INVALID
        self.pay(cost)
        self.fuel = min(FUEL_MAX, self.fuel + amount)
        return 1

    def buy_repair_kit(self, _: int) -> int:
        """Buy a repair kit."""
        if not self.can_pay(PRICE_REPAIR_KIT) or self.repair_kits >= SUPPLY_MAX:
            return INVALID
        self.pay(PRICE_REPAIR_KIT)
        self.repair_kits += 1
        return 1

    def buy_stabilizer(self, _: int) -> int:
        """Buy a stabilizer."""
        if not self.can_pay(PRICE_STABILIZER) or self.stabilizers >= SUPPLY_MAX:
            return INVALID
        self.pay(PRICE_STABILIZER)
        self.stabilizers += 1
        return 1

    def buy_decoy(self, _: int) -> int:
        """Buy a decoy."""
        if not self.can_pay(PRICE_DECOY) or self.decoys >= SUPPLY_MAX:
            return INVALID
        self.pay(PRICE_DECOY)
        self.decoys += 1
        return 1

    def overhaul(self, _: int) -> int:
        """Have hull and tool made new."""
        if not self.can_pay(PRICE_OVERHAUL):
            return INVALID
        self.pay(PRICE_OVERHAUL)
        self.hull, self.tool = HULL_MAX, TOOL_MAX
        return 3

    def cash_out(self, _: int) -> int:
        """End the episode, anywhere; ``judge`` does it after the world went on for a tick."""
        return 1

    # -- pirates (docs/prospector.md, 9.2) -----------------------------------------------------

    def meet_pirates(self, dt: int, intensity: float) -> None:
        """Perhaps lose cargo to pirates; no draw at the station, where there are none."""
        if self.at_station():
            return
        rng, value = self.rng, self.cargo_value()
        logit = (
            -4.0
            + 3.0 * intensity
            + 2.2 * clamp(self.alert / 100.0, 0.0, 1.0)
            + 0.8 * math.log1p(value / 1000.0)
            - 2.8 * (1.0 if self.escape_ticks > 0 else 0.0)
        )
        chance = 1.0 - math.pow(1.0 - sigmoid(logit), float(max(1, dt)))
        if rng.uniform() >= chance:
            return
        self.pirate_encounters += 1
        loss = rng.uni(0.08, 0.20)
        if self.decoys > 0 and rng.uniform() < 0.6:
            self.decoys -= 1
            loss = loss * 0.3
        self.scale_cargo(f32(1.0 - loss))
        self.value_lost += max(0.0, value - self.cargo_value())
        self.hull -= rng.uni(1.0, 4.0)
        self.alert += 8.0

    def scale_cargo(self, k: float) -> None:
        """Keep a share of everything in the hold."""
        for c, x in enumerate(self.cargo.tolist()):
            self.cargo[c] = x * k

    # -- what happens whatever the ship does (docs/prospector.md, 10) ---------------------------

    def pass_time(self, dt: int) -> None:
        """Let the world go on; the numbers are those of docs/prospector.md, 10."""
        # 1 time
        self.time_remaining -= dt
        # 2 heat
        self.heat = max(0.0, self.heat - 2.5 * dt)
        # 3 what lasts for some ticks
        self.escape_ticks = max(0, self.escape_ticks - dt)
        for a, ticks in enumerate(self.stabilize_ticks.tolist()):
            self.stabilize_ticks[a] = max(0, ticks - dt)
        # 4 overheating
        if self.heat > HEAT_MAX:
            self.hull -= 1.25 * (self.heat - HEAT_MAX)
            self.heat = HEAT_MAX
            self.overheat_ticks += dt
        # 5 the place
        if not self.at_station():
            hazard = self.node_hazard.item(self.current_node)
            if hazard > 0.0:
                self.hull -= dt * hazard * 0.7 * self.rng.uni(0.8, 1.2)
                self.heat += dt * hazard * 0.5
                self.alert += dt * hazard * 0.8
            self.meet_pirates(dt, self.node_pirate.item(self.current_node))
        # 6 the market
        self.move_market(dt)
        # 7 limits
        self.apply_limits()
        # 8 how full the hold was
        self.util_sum += clamp(self.cargo_total() / CARGO_MAX, 0.0, 1.0) * dt
        self.util_count += dt

    def move_market(self, dt: int) -> None:
        """Move prices, stock and the memory of recent sales; always twelve draws."""
        t = float(self.ticks_elapsed + dt)
        self.prev_price[:] = self.price
        for c, base in enumerate(PRICE_BASE):
            angle = TWO_PI * (t / self.price_period.item(c)) + self.price_phase.item(c)
            cycle = self.price_amp.item(c) * math.sin(angle)
            noise = self.rng.normal(0.0, 0.03 * base * math.sqrt(float(max(dt, 1))))
            price = (
                base
                + cycle
                - 0.04 * self.station_inventory.item(c)
                - 0.05 * self.recent_sales.item(c)
                + noise
            )
            self.price[c] = clamp(price, PRICE_MIN[c], PRICE_MAX[c])
        for c in range(NUM_COMMODITIES):
            self.recent_sales[c] = self.recent_sales.item(c) * f32(math.exp(-dt / 14.0))
            # once a step, however many ticks it took
            self.station_inventory[c] = max(0.0, self.station_inventory.item(c) * f32(0.998))

    def apply_limits(self) -> None:
        """Bring everything into its range."""
        self.fuel = clamp(self.fuel, 0.0, FUEL_MAX)
        self.hull = clamp(self.hull, 0.0, HULL_MAX)
        self.heat = clamp(self.heat, 0.0, HEAT_MAX)
        self.tool = clamp(self.tool, 0.0, TOOL_MAX)
        self.alert = clamp(self.alert, 0.0, ALERT_MAX)
        self.time_remaining = clamp(self.time_remaining, 0.0, self.time_max)
        for c, x in enumerate(self.cargo.tolist()):
            self.cargo[c] = clamp(x, 0.0, CARGO_MAX)
        total = self.cargo_total()
        if total > CARGO_MAX:
            self.scale_cargo(f32(CARGO_MAX / total))


HANDLERS: dict[int, Callable[[Prospector, int], int]] = {  # by the first action of a group
    Action.TRAVEL: Prospector.travel,
    Action.HOLD: Prospector.hold,
    Action.BURN: Prospector.burn,
    Action.SCAN_WIDE: Prospector.scan,
    Action.LISTEN: Prospector.listen,
    Action.SELECT: Prospector.select,
    Action.MINE_CONSERVATIVE: Prospector.mine,
    Action.STABILIZE: Prospector.stabilize,
    Action.REFINE: Prospector.refine,
    Action.COOLDOWN: Prospector.cool_down,
    Action.MAINTAIN_TOOL: Prospector.maintain_tool,
    Action.PATCH_HULL: Prospector.patch_hull,
    Action.JETTISON: Prospector.jettison,
    Action.DOCK: Prospector.dock,
    Action.SELL: Prospector.sell,
    Action.BUY_FUEL_SMALL: Prospector.buy_fuel,
    Action.BUY_REPAIR_KIT: Prospector.buy_repair_kit,
    Action.BUY_STABILIZER: Prospector.buy_stabilizer,
    Action.BUY_DECOY: Prospector.buy_decoy,
    Action.OVERHAUL: Prospector.overhaul,
    Action.CASH_OUT: Prospector.cash_out,
}
