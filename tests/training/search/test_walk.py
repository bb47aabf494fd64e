"""The example of a beam through Lantern Walk, on the committed ROM."""

import numpy as np
import pytest

from docs.examples.walk_search import Quest, search_walk, start_engine
from fastenv.errors import ConfigError
from fastenv.gameboy.lantern_walk import Cell, load_world
from tests.needs import needs_core
from training.games.gameboy.players import Scripted
from training.players.player import every_lane

WALK = {"states": "lantern_walk"}


def played(engine, actions):
    """Let lane 0 play; return how many steps that took until the quest was finished, or None."""
    for taken, action in enumerate(actions, 1):
        engine.step_many([action], autoreset=False)
        if engine.terminated[0]:
            return taken
    return None


def solved(engine):
    """Return the steps that the scripted player takes."""
    solver, lanes = Scripted(engine), every_lane(engine)
    return played(engine, (int(solver.act(engine, lanes)[0]) for _ in range(512)))


@needs_core
@pytest.mark.slow
def test_the_quest_is_finished_sooner_than_by_the_solver():
    engine = start_engine(**WALK)
    engine.reset_many(seeds=0)
    rows = engine.get_states()
    searched = search_walk(engine)
    np.testing.assert_array_equal(engine.get_states(), rows)
    plan = searched.plan()
    assert (len(plan), searched.expanded) == (160, 15_204)  # docs/lantern_walk.md, 5
    assert played(engine, plan) == len(plan)
    engine.set_states(rows)
    assert solved(engine) == 174


@needs_core
def test_plans_of_several_lanes_are_those_of_each():
    """From the last part of the quest, with a beam of a few positions."""
    engine = start_engine(2, **WALK)
    engine.reset_many(seeds=0)
    solver, lanes = Scripted(engine), every_lane(engine)
    for _ in range(150):
        engine.step_many(solver.act(engine, lanes), autoreset=False)
    engine.step_many(solver.act(engine, lanes), select=lanes < 1, autoreset=False)
    both = search_walk(engine, width=4, lanes=7)
    alone = start_engine(**WALK)
    alone.reset_many(seeds=0)
    for lane, row in enumerate(engine.get_states()):
        alone.set_states(np.array([row]))
        assert search_walk(alone, width=4).plan() == both.plan(lane)
        assert played(alone, both.plan(lane)) == len(both.plan(lane))


@needs_core
def test_a_plan_ends_where_an_episode_does():
    engine = start_engine(max_steps=3, **WALK)
    engine.reset_many(seeds=0)
    assert len(search_walk(engine, width=2, depth=8).plan()) == 3


@needs_core
@pytest.mark.parametrize("name", ["width", "depth"])
def test_a_search_of_nothing_is_refused(name):
    with pytest.raises(ConfigError, match=f"{name}=0 is not possible: {name} must be at least 1"):
        search_walk(start_engine(), **{name: 0})


def test_ways_are_those_of_the_map():
    world = load_world()
    quest = Quest(world)
    for cell in (Cell(0, 2, 4), Cell(1, 8, 13), Cell(2, 13, 14)):
        taken = (False,) * len(quest.candles)
        for candle in range(len(quest.candles)):
            others = [t != candle for t in range(len(quest.candles))]
            assert quest._to_candle[candle][cell] == len(world.way(cell, [quest.candles[candle]]))
            assert quest.left(cell, tuple(others), False, False) > 0
        assert quest.left(cell, taken, False, False) > quest.left(cell, taken, True, False)
        assert quest.left(cell, taken, True, False) > quest.left(cell, taken, True, True)
        beside = quest._find_cells_beside("bram")
        assert quest.left(cell, taken, True, True) == len(world.way(cell, beside))
    door, behind = next(iter(world.doors.items()))
    assert quest.left(door, taken, True, True) == quest.left(behind, taken, True, True)


def test_steps_by_chance_are_refused():
    engine = start_engine(sticky=0.25, **WALK)
    with pytest.raises(ConfigError, match="sticky"):
        search_walk(engine)
