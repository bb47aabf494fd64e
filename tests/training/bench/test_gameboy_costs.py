"""Pairs that say what hooks, fields of an observation and a live map cost."""

import pytest

from benchmarks import gameboy_costs
from tests.needs import needs_core
from tests.training.bench.described import assert_described
from tools.figures import records, speeds
from training.bench import targets

SMALL = {"ppo": {"batch_size": 32, "n_epochs": 1, "net_arch": [8]}, "native": {"recurrent": "none"}}


@pytest.fixture(scope="module")
def rows():
    brief = {"repeats": 1, "seconds": 1e-6}
    made = [
        *gameboy_costs.hook_rows(**brief, lanes=2),
        *gameboy_costs.field_rows(**brief, lanes=2),
        *gameboy_costs.live_map_rows(**brief, lanes=2, changes=SMALL),
    ]
    return [row | {"game": "Game Boy"} for row in made]


@needs_core
def test_each_pair_is_judged(rows):
    asked = {bar["what"]: bar for bar in targets.judge("bars", rows, max_mem_delta=1)}
    shown = "game boy: steps of parcel that show 32 fields over none, n=2"
    assert asked["game boy: steps of parcel with eight hooks over none, n=2"]["asked"].endswith(
        "0.97"
    )
    assert asked[shown]["asked"] == "at least 0.95"
    live = asked["game boy: live map of 2 lanes: share of a training's CPU time"]
    assert live["asked"] == "at most 0.01"
    assert 0 < live["measured"] < 1


@needs_core
def test_a_pair_differs_in_one_thing(rows):
    assert_described(rows)
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        assert (one["name"], other["name"]) == ("with", "without")
        assert one["what"] == other["what"] == one["ran"]["beside"] == other["ran"]["beside"]
        ours, theirs = one["ran"], other["ran"]
        differ = {name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name)}
        assert differ in ({"options"}, {"config"})
    assert "observe" in rows[2]["ran"]["options"]
    assert "live_map" in rows[4]["ran"]["config"]


@needs_core
def test_hooks_are_of_instructions_that_run(monkeypatch):
    """Most of them: the hero hardly talks when buttons are drawn at random."""
    made = []
    prepare = gameboy_costs.prepare
    monkeypatch.setattr(
        gameboy_costs, "prepare", lambda plan: made.append(prepare(plan)) or made[-1]
    )
    gameboy_costs.hook_rows(1, 1e-6, lanes=2)
    info = made[0].engine.info
    ran = [name for name in gameboy_costs.HOOKED if info[name].any()]
    assert len(gameboy_costs.HOOKED) == 8
    assert {"loop", "draw_hero", "look", "begin_step", "walk_on"} <= {*ran}
    assert not {*gameboy_costs.HOOKED} & {*made[1].engine.info}


def test_the_page_says_what_hooks_cost_once_it_is_measured(monkeypatch):
    record = records.newest("bars-gameboy.jsonl")
    monkeypatch.setattr(speeds, "newest", lambda _name: record)
    record.rows = [row for row in record.rows if row.get("what") != "hooks"]
    assert speeds.hooks().endswith("takes the core some nanoseconds.")
    every = {"with": [50.0, 100.0, 80.0], "without": [51.0, 104.0, 81.0]}
    about = {"what": "hooks", "rom": "parcel", "num_envs": 64}
    record.rows += [{**about, "name": k, "steps_per_cpu_s_all": v} for k, v in every.items()]
    assert "With eight hooks, a step of `parcel` takes 2.0 (1.2 to 4.0) % longer" in speeds.hooks()
