"""The world of an episode: nodes, edges, asteroids and the market (docs/prospector.md, 5).

The order of the draws is part of the contract: a seed names a world.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fastenv.prospector.arithmetic import clamp, f32
from fastenv.prospector.pcg import Pcg
from fastenv.prospector.tables import (
    MAX_ASTEROIDS,
    MAX_NEIGHBORS,
    MAX_NODES,
    MIN_NODES,
    NUM_COMMODITIES,
    PRICE_BASE,
    PRICE_MAX,
    PRICE_MIN,
    TRAVEL_FUEL_MAX,
    TRAVEL_TIME_MAX,
    TWO_PI,
    UNREACHABLE,
    NodeType,
)

Singles = npt.NDArray[np.float32]  # storing rounds to single precision
Bytes = npt.NDArray[np.int8]

STATION = 0  # node 0, the only one
EMPTY = -1  # an edge slot without a neighbour
ESTIMATE = 0.5  # of what has not been looked at
FIRST_CONFIDENCE = 0.10


def singles(*shape: int) -> Singles:
    """Return zeros in single precision."""
    return np.zeros(shape, np.float32)


class World:
    """What is generated at a reset; the attributes are fields of ``STATE_DTYPE``.

    Edges are stored in both directions, each end with its own estimate of the threat. The
    asteroids of a node fill its first ``asteroid_count`` slots.
    """

    node_count: int
    node_hazard: Singles
    node_pirate: Singles
    edge_fuel: Singles
    edge_threat: Singles
    depletion: Singles
    scan_conf: Singles
    stability_est: Singles
    comp_est: Singles
    true_comp: Singles
    richness: Singles
    stability: Singles
    noise: Singles
    price: Singles
    prev_price: Singles
    station_inventory: Singles
    recent_sales: Singles
    price_phase: Singles
    price_period: Singles
    price_amp: Singles

    def __init__(self) -> None:
        self.rng: Pcg = Pcg()
        self.clear_world()

    def clear_world(self) -> None:
        """Set everything as behind the last node, the last edge and the last asteroid."""
        nodes, edges = (MAX_NODES,), (MAX_NODES, MAX_NEIGHBORS)
        asteroids = (MAX_NODES, MAX_ASTEROIDS)
        self.node_count = 0
        self.node_type: Bytes = np.full(nodes, NodeType.CLUSTER, np.int8)
        self.steps_to_station: Bytes = np.full(nodes, UNREACHABLE, np.int8)
        self.asteroid_count: Bytes = np.zeros(nodes, np.int8)
        self.node_hazard = singles(*nodes)
        self.node_pirate = singles(*nodes)
        self.neighbor: Bytes = np.full(edges, EMPTY, np.int8)
        self.edge_time: Bytes = np.ones(edges, np.int8)
        self.edge_fuel = singles(*edges)
        self.edge_threat = singles(*edges)
        self.edge_threat_est: Singles = np.full(edges, ESTIMATE, np.float32)
        # what the ship knows of an asteroid, and what it does not
        self.depletion, self.scan_conf, self.stability_est = (singles(*asteroids) for _ in range(3))
        self.comp_est = singles(*asteroids, NUM_COMMODITIES)
        self.true_comp = singles(*asteroids, NUM_COMMODITIES)
        self.richness, self.stability, self.noise = (singles(*asteroids) for _ in range(3))
        self.price, self.prev_price = singles(NUM_COMMODITIES), singles(NUM_COMMODITIES)
        self.station_inventory = singles(NUM_COMMODITIES)
        self.recent_sales = singles(NUM_COMMODITIES)
        self.price_phase, self.price_period = singles(NUM_COMMODITIES), singles(NUM_COMMODITIES)
        self.price_amp = singles(NUM_COMMODITIES)

    def generate(self) -> None:
        """Draw a world; the numbers are those of docs/prospector.md, 5."""
        rng = self.rng
        self.clear_world()
        # 1 how many nodes
        self.node_count = count = rng.below(MIN_NODES, MAX_NODES + 1)
        # 2 what they are
        self.node_type[STATION] = NodeType.STATION
        for node in range(1, count):
            self.draw_node(node)
        # 3, 4 a tree
        for node in range(1, count):
            self.add_edge(node, rng.below(0, node))
        # 5 more edges
        for _ in range(count):
            u, v = rng.below(0, count), rng.below(0, count)
            if u != v:
                self.add_edge(u, v)
        self.measure_ways_home()
        # 6 asteroids
        for node in range(1, count):
            self.asteroid_count[node] = number = rng.below(5, MAX_ASTEROIDS + 1)
            for a in range(number):
                self.draw_asteroid(node, a)
        # 7 the market
        for c in range(NUM_COMMODITIES):
            self.draw_market(c)

    def draw_node(self, node: int) -> None:
        """Draw type, hazard and pirates of a field node; three draws."""
        if self.rng.uniform() < 0.25:
            self.node_type[node] = NodeType.HAZARD
        self.draw_dangers(node)

    def draw_dangers(self, node: int) -> None:
        """Draw hazard and pirates of a field node, whose type is known; two draws."""
        self.node_hazard[node] = self.rng.uni(0.05, 0.35)
        self.node_pirate[node] = self.rng.uni(0.05, 0.30)
        if self.node_type.item(node) == NodeType.HAZARD:
            self.node_hazard[node] = clamp(self.node_hazard.item(node) + 0.25, 0.0, 1.0)
            self.node_pirate[node] = clamp(self.node_pirate.item(node) + 0.12, 0.0, 1.0)

    def add_edge(self, u: int, v: int) -> None:
        """Join two nodes: four draws; none if they are neighbours or one has no slot left."""
        rng = self.rng
        if v in self.neighbor[u] or EMPTY not in self.neighbor[u] or EMPTY not in self.neighbor[v]:
            return
        time = rng.below(1, TRAVEL_TIME_MAX + 1)
        fuel = rng.uni(20.0, TRAVEL_FUEL_MAX * 0.7)
        noise = rng.normal(0.0, 0.05)
        hazard = f32(0.5 * f32(self.node_hazard.item(u) + self.node_hazard.item(v)))
        pirate = f32(0.5 * f32(self.node_pirate.item(u) + self.node_pirate.item(v)))
        threat = clamp(f32(f32(hazard + pirate) + f32(noise)), 0.0, 1.0)
        for here, there in ((u, v), (v, u)):
            slot = self.neighbor[here].tolist().index(EMPTY)  # the lowest
            self.neighbor[here, slot] = there
            self.edge_time[here, slot] = time
            self.edge_fuel[here, slot] = fuel
            self.edge_threat[here, slot] = threat

    def measure_ways_home(self) -> None:
        """Write the hops from each node to the station; a node may have no way there."""
        self.steps_to_station[STATION] = 0
        reached = [STATION]  # in order of distance
        for node in reached:
            for other in self.neighbor[node].tolist():
                if other != EMPTY and other not in reached:
                    self.steps_to_station[other] = self.steps_to_station.item(node) + 1
                    reached.append(other)

    def draw_asteroid(self, node: int, a: int) -> None:
        """Draw an asteroid and a first, uninformed estimate of it; always twenty draws."""
        rng = self.rng
        self.true_comp[node, a] = rng.dir6()
        self.richness[node, a] = clamp(math.exp(rng.normal(-0.2, 0.65)), 0.2, 4.0)
        self.stability[node, a] = rng.beta32()
        self.noise[node, a] = rng.uni(0.04, 0.22)
        self.comp_est[node, a] = rng.dir6()
        self.stability_est[node, a] = ESTIMATE
        self.scan_conf[node, a] = FIRST_CONFIDENCE

    def draw_market(self, c: int) -> None:
        """Draw stock, price cycle and first price of a commodity; four draws."""
        rng, base = self.rng, PRICE_BASE[c]
        self.station_inventory[c] = rng.uni(20.0, 120.0)
        self.price_phase[c] = rng.uni(0.0, TWO_PI)
        self.price_period[c] = rng.uni(180.0, 380.0)
        self.price_amp[c] = base * rng.uni(0.10, 0.30)
        cycle = self.price_amp.item(c) * math.sin(self.price_phase.item(c))
        self.price[c] = self.prev_price[c] = clamp(base + cycle, PRICE_MIN[c], PRICE_MAX[c])
