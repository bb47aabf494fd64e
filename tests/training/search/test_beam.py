"""The beam over rows: against a plain twin on graphs drawn by chance, and on engines."""

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError
from tests.tables import walk
from training.run.envs import make_engine
from training.search.beam import Beam, Branches, Expansion

ACTIONS = 3
NODE = np.dtype([("id", "i8"), ("done", "i1")])
LOST, WON = 1, 2  # states of a node beside 0, running


class Graph:
    """Nodes with edges to others: in place of an engine, and its judge."""

    def __init__(self, seed, nodes=40, keyed=False):
        rng = np.random.default_rng(seed)
        self.keyed = keyed
        self.next = rng.integers(nodes, size=(nodes, ACTIONS))
        self.legal = rng.random((nodes, ACTIONS)) < 0.8
        self.legal[:, 0] = True
        self.cost = rng.integers(1, 5, size=(nodes, ACTIONS))
        self.far = rng.integers(1, 20, size=nodes)
        self.state = rng.choice([0, LOST, WON], nodes, p=[0.7, 0.2, 0.1])
        self.state[:3] = 0
        self.far[self.state == WON] = 0

    def rows(self, ids):
        rows = np.zeros(len(ids), NODE)
        rows["id"], rows["done"] = ids, self.state[ids] != 0
        return rows

    def masks(self, rows):
        return self.legal[rows["id"]]

    def of(self, rows, masks):
        parents, actions = np.nonzero(masks)
        return Expansion(rows, parents, actions, self.rows(self.next[rows["id"][parents], actions]))

    def costs(self, tried):
        before = tried.before["id"][tried.parents]
        return self.cost[before, tried.actions].astype(np.float32)

    def left(self, tried, level):
        return (self.far[tried.rows["id"]] * level).astype(np.float32)

    def reached(self, tried):
        return self.state[tried.rows["id"]] == WON

    def keys(self, tried):
        return tried.rows["id"] // 2 if self.keyed else None


class Node:
    """A node of the twin: where it is, what led there, and what was tried behind it."""

    def __init__(self, at, paid=0, cost=0, action=None):
        self.at, self.paid, self.cost, self.action, self.behind = at, paid, cost, action, None


def plain(graph, root, depth, width):
    """Return the cost of each first action, by action, as the page of the module says."""
    top = Node(root)
    front = [top]
    for level in range(1, depth + 1):
        tried = []
        for node in front:
            node.behind = [
                Node(
                    int(graph.next[node.at, a]),
                    node.paid + int(graph.cost[node.at, a]),
                    int(graph.cost[node.at, a]),
                    a,
                )
                for a in range(ACTIONS)
                if graph.legal[node.at, a]
            ]
            tried += node.behind
        ranked = sorted(tried, key=lambda n: n.paid + int(graph.far[n.at]) * level)
        if graph.keyed:
            ranked = [
                n for i, n in enumerate(ranked) if n.at // 2 not in {m.at // 2 for m in ranked[:i]}
            ]
        best = [n for n in ranked[:width] if graph.state[n.at] == 0]
        front = [n for n in tried if n in best] if level < depth else []
    found = {n.action: value(graph, n, 1, depth) for n in top.behind}
    if not np.isfinite([*found.values()]).any():
        found = {n.action: n.cost + float(graph.far[n.at]) for n in top.behind}
    return found


def value(graph, node, level, depth):
    """Return what a node takes in all."""
    if level == depth or graph.state[node.at] == WON:
        return node.cost + float(graph.far[node.at]) * level
    if node.behind is None:
        return np.inf
    return node.cost + min(value(graph, n, level + 1, depth) for n in node.behind)


@walk("keyed", [False, True])
@walk("depth", [1, 2, 3, 5])
@walk("width", [1, 2, 6])
def test_values_are_those_of_a_plain_twin(depth, width, keyed):
    for seed in range(25):
        graph = Graph(seed, keyed=keyed)
        roots = [0, 1, 2]
        searched = Beam(graph, graph, depth, width).search(graph.rows(roots))
        first, values = searched.first, searched.values[0]
        for row in roots:
            mine = first.parents == row
            got = dict(zip(first.actions[mine].tolist(), values[mine].tolist(), strict=True))
            assert got == plain(graph, row, depth, width), seed
            walked, at = 0, row
            for action in (plan := searched.plan(row)):
                walked += int(graph.cost[at, action])
                at = int(graph.next[at, action])
            assert plan[0] == first.actions[mine][values[mine].argmin()]
            assert walked + graph.far[at] * len(plan) == min(got.values())


def test_a_search_ends_where_all_is_reached():
    ended = 0
    for seed in range(30):
        graph = Graph(seed, nodes=60)
        searched = Beam(graph, graph, 12, 8, until_reached=True).search(graph.rows([0, 1]))
        if not searched.levels[-1].last or len(searched.levels) == 12:
            continue
        ended += 1
        for row in (0, 1):
            at = row
            for action in searched.plan(row):
                at = int(graph.next[at, action])
            assert graph.state[at] == WON or len(searched.plan(row)) == len(searched.levels)
    assert ended > 5


def test_nothing_is_no_search():
    graph = Graph(0)
    searched = Beam(graph, graph, 3, 2).search(graph.rows([]))
    assert searched.expanded == 0
    for changed in ({"depth": 0}, {"width": 0}):
        with pytest.raises(ConfigError, match=next(iter(changed))):
            Beam(graph, graph, **{"depth": 1, "width": 1, **changed})
    with pytest.raises(ConfigError, match="one agent"):
        Branches(fastenv.make_engine("DrMarioVersus-v0", 1))


def test_stepped_lanes_lead_where_rollouts_do():
    """Of a game with compiled players rollouts are asked, of others lanes."""
    engine = make_engine("DrMarioPlacement-v0", 3, {"level": 3})
    engine.reset_many(seeds=5)
    branches = Branches(make_engine("DrMarioPlacement-v0", 7, {"level": 3}))
    rows = engine.get_states()
    masks = branches.masks(rows)
    np.testing.assert_array_equal(masks, engine.mask != 0)
    tried = branches.of(rows, masks)
    stepped = branches._step(rows, tried.parents, tried.actions)
    np.testing.assert_array_equal(stepped, tried.rows)
