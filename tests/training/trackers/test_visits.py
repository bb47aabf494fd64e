import itertools
import math
from collections import Counter

import numpy as np
import pytest

from fastenv.errors import ConfigError
from tests.training.trackers.trace import SIZES, Trace, make, run
from training.callbacks.trackers import VisitCounter, base
from training.callbacks.trackers.visits import _SMALLEST

FAR = 10**15 + 7  # apart enough to need a hash table


class ClassicVisits:
    """One dict for all environments, one set for each: what the arrays stand for."""

    def __init__(self, n):
        self.counts, self.moves = Counter(), Counter()
        self.seen, self.place = [set() for _ in range(n)], [-1] * n

    def reset(self, lane, place):
        self.seen[lane], self.place[lane] = set(), place

    def step(self, lane, cell, place):
        if self.place[lane] >= 0 and place >= 0:
            self.moves[self.place[lane], place] += 1
        self.place[lane] = place
        if cell < 0:
            return 0, False, 0.0
        self.counts[cell] += 1
        first = cell not in self.seen[lane]
        self.seen[lane].add(cell)
        return self.counts[cell], first, 0.5 / math.sqrt(self.counts[cell]) + 0.25 * first


def cell_of(seen, scale=1):
    return np.where(seen["room"] < 0, -1, seen["room"] * 5 + seen["x"]) * scale


def visits_of(counter):
    """Return the visits of each cell, those of all cells or of cells that were seen."""
    saved = counter.state_dict()
    counts = saved["counts"].tolist()
    return dict(zip(saved.get("cells", np.arange(len(counts))).tolist(), counts, strict=True))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("hashed", [False, True])
def test_counts_equal_a_loop_over_environments(n, hashed):
    engine, classic = Trace(n, seed=n), ClassicVisits(n)
    scale = FAR if hashed else 1
    counter = make(
        *(VisitCounter, engine),
        cell=lambda v: np.where(v["room"] < 0, -1, cell_of(v) * scale),
        num_cells=None if hashed else 20,
        place="room",
        num_places=4,
        count_bonus=0.5,
        episode_bonus=0.25,
    )
    for lane in range(n):
        classic.reset(lane, engine.first(lane)["room"])
    for done in run(engine, counter, 120):
        for lane in range(n):
            last = engine.last(lane)
            cell = -1 if last["room"] < 0 else (last["room"] * 5 + last["x"]) * scale
            expected = classic.step(lane, cell, last["room"])
            found = counter.count[lane], counter.first[lane], counter.bonus[lane]
            assert found == expected
        for lane in done:
            classic.reset(lane, engine.first(lane)["room"])
    assert {(a, b): m for (a, b), m in np.ndenumerate(counter.transitions) if m} == classic.moves
    found = visits_of(counter)
    assert all(found[cell] == count for cell, count in classic.counts.items())
    assert counter.metrics() == {
        "cells": len(classic.counts),
        "visits": sum(classic.counts.values()),
    }


@pytest.mark.parametrize("num_cells", [5, None])
def test_nowhere_is_never_visited(num_cells):
    engine = Trace(3)
    counter = make(VisitCounter, engine, cell=lambda v: np.array([4, -1, 4]), num_cells=num_cells)
    counter.reset(np.arange(3))
    counter.observe(engine, np.zeros(3))
    assert counter.count.tolist() == [1, 0, 2]
    assert {cell: n for cell, n in visits_of(counter).items() if n} == {4: 2}


def test_two_lanes_in_one_new_cell_come_one_after_the_other():
    engine = Trace(3)
    counter = make(VisitCounter, engine, cell=lambda v: np.array([4, 4, 4]), num_cells=5)
    counter.reset(np.arange(3))
    counter.observe(engine, np.zeros(3))
    assert counter.count.tolist() == [1, 2, 3]
    assert counter.first.all()


def test_hash_tables_grow_and_forget_episodes_that_are_over():
    engine, rng = Trace(64, ends=0.5), np.random.default_rng(5)
    counter = make(VisitCounter, engine, cell=lambda v: cells)
    counts, seen = Counter(), [set() for _ in range(64)]
    cells = np.zeros(64, np.int64)
    for _ in range(120):
        cells[:] = rng.integers(0, 5000, 64) * FAR
        done = engine.step()
        counter.observe(engine, cells)
        for lane, cell in enumerate(cells.tolist()):
            counts[cell] += 1
            assert counter.count[lane] == counts[cell]
            assert counter.first[lane] == (cell not in seen[lane])
            seen[lane].add(cell)
        for lane in done:
            seen[lane] = set()
        counter.reset(done)
    assert len(counter.table._index) > len(counts) > _SMALLEST
    assert len(counter.table._pairs) == _SMALLEST  # though 7,680 pairs have been through it


@pytest.mark.parametrize("num_cells", [20, None])
def test_a_restored_counter_goes_on_alike(num_cells):
    one, two = Trace(7, seed=3), Trace(7, seed=3)
    given = {"cell": cell_of_room, "num_cells": num_cells, "count_bonus": 1.0}
    here, there = (make(VisitCounter, engine, **given) for engine in (one, two))
    for _ in run(one, here, 30):
        two.step()
    there.load_state_dict(here.state_dict())
    for _ in range(30):
        done = one.step()
        two.step()
        for engine, counter in ((one, here), (two, there)):
            counter.observe(engine, None)
            counter.reset(done)
        assert np.array_equal(here.bonus, there.bonus)
        assert np.array_equal(here.first, there.first)
    ours, theirs = here.state_dict(), there.state_dict()
    assert all(ours[name].equal(theirs[name]) for name in ours)


def cell_of_room(seen):
    return np.maximum(seen["room"], 0) * 5 + seen["x"]


def test_wrong_cells_and_sources_are_named():
    engine = Trace(3)
    with pytest.raises(ConfigError, match=r"'nowhere'.*room"):
        make(VisitCounter, engine, cell="nowhere", num_cells=3)
    engine.info["party"], engine.spec.num_agents = np.zeros((3, 6)), 1
    with pytest.raises(ConfigError, match=r"'party' .* this info column is a table"):
        make(VisitCounter, engine, cell="party", num_cells=3)
    for wrong, named in (
        ({"place": "room"}, "num_places=0 .* given together with place"),
        ({"num_places": 3}, "num_places=3 .* given together with place"),
        ({"transition_bonus": 0.5}, r"transition_bonus=0\.5 .* given with place"),
        ({"num_cells": 0}, "num_cells=0 .* at least 1"),
    ):
        with pytest.raises(ConfigError, match=named):
            VisitCounter.OPTIONS(**{"cell": "room", **wrong})
    counter = make(VisitCounter, engine, cell=lambda v: np.array([0, 3, 1]), num_cells=3)
    with pytest.raises(ConfigError, match="cell 3 of lane 1 must be from -1 to 2, by num_cells"):
        counter.observe(engine, None)
    assert counter.metrics()["visits"] == 0


def test_a_table_that_grows_above_the_limit_is_refused(monkeypatch):
    engine, cells = Trace(64), itertools.count()
    counter = make(VisitCounter, engine, cell=lambda seen: np.arange(64) + 64 * next(cells))
    monkeypatch.setattr(base, "MAX_TABLE_MIB", 0)
    for _ in range(8):  # of 1,024 slots, which is what it begins with
        counter.observe(engine, None)
    with pytest.raises(ConfigError, match=r"cells seen=\d+: must be smaller: .* allowed are 0 MiB"):
        run_on(counter, engine)


def run_on(counter, engine):
    """Observe so many cells that the table must grow."""
    for _ in range(8):
        counter.observe(engine, None)
