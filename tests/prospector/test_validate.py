"""The door for rows from outside: what games produce passes, and what passes can be played on."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastenv
from fastenv.errors import StateError
from fastenv.prospector.config import ProspectorConfig
from fastenv.prospector.position import unpack
from fastenv.prospector.reference import Prospector
from fastenv.prospector.state import STATE_DTYPE
from fastenv.prospector.validate import CHUNK, validate_rows
from fastenv.verify import available, first_difference
from tests.prospector.games import away, random_walk, rows_of
from tests.tables import walk

RULES = ProspectorConfig().rules_record()
MESSAGE = re.compile(r"lane (\d+): (\w+)=.* is not possible: .*\.$")
seeds = st.integers(0, 2**64 - 1)


@given(seed=seeds)
def test_rows_of_games_pass_and_come_back(seed):
    for game in random_walk(seed, 12):
        rows = rows_of(game)
        validate_rows(rows, RULES)
        assert rows_of(unpack(rows[0], game.time_max)).tobytes() == rows.tobytes()


# -- one wrong field ----------------------------------------------------------------------------

NAN, INF = np.nan, np.inf
FIRST = (0, 0)  # node 0, slot 0: an edge of the station
WRONG = {  # field: (place in it, value)
    "fuel": ((), NAN),
    "hull": ((), INF),
    "heat": ((), -INF),
    "tool": ((), 1e7),
    "alert": ((), -1e7),
    "time_remaining": ((), 20_001.0),
    "credits": ((), -0.01),
    "total_spend": ((), INF),
    "value_lost": ((), -1.0),
    "util_sum": ((), NAN),
    "util_count": ((), -1.0),
    "ev_credits": ((), NAN),
    "ev_fuel": ((), INF),
    "ev_hull": ((), NAN),
    "ev_tool": ((), NAN),
    "ev_cargo_value": ((), -1.0),
    "ev_value_lost": ((), NAN),
    "ep_return": ((), INF),
    "ep_length": ((), -1),
    "ticks_elapsed": ((), 2**31 - 1),
    "overheat_ticks": ((), -1),
    "pirate_encounters": ((), -1),
    "scan_count": ((), -1),
    "mining_ticks": ((), -1),
    "cargo": (2, -1.0),
    "price": (0, 200.0),
    "prev_price": (3, 10.0),
    "station_inventory": (5, NAN),
    "recent_sales": (1, INF),
    "price_phase": (0, 7.0),
    "price_period": (0, 0.0),
    "price_amp": (4, 1e5),
    "node_count": ((), 33),
    "current_node": ((), 32),
    "selected": ((), 16),
    "repair_kits": ((), 13),
    "stabilizers": ((), -1),
    "decoys": ((), 100),
    "escape_ticks": ((), 5),
    "stabilize_ticks": (15, 7),
    "done": ((), 3),
    "ev_action": ((), 69),
    "ev_dt": ((), 9),
    "ev_invalid": ((), 2),
    "ev_destroyed": ((), -1),
    "ev_stranded": ((), 2),
    "node_type": (0, 1),
    "steps_to_station": (1, 2),
    "asteroid_count": (1, 17),
    "node_hazard": (1, 1.5),
    "node_pirate": (1, NAN),
    "neighbor": (FIRST, 31),
    "edge_time": (FIRST, 9),
    "edge_fuel": (FIRST, NAN),
    "edge_threat": (FIRST, 2.0),
    "edge_threat_est": (FIRST, -1.0),
    "pending": ((), 1),
    "asteroid_rng": (4, 1),
    "depletion": (FIRST, 0.5),
    "scan_conf": ((1, 0), 1.5),
    "stability_est": ((1, 0), NAN),
    "comp_est": ((1, 0, 3), INF),
    "true_comp": ((1, 15, 0), 0.1),
    "richness": ((1, 0), 5.0),
    "stability": ((1, 0), -0.1),
    "noise": ((1, 0), NAN),
    "unused": (7, 1),
}


def put(row, field, place, value):
    """Write one entry of a field; the place in a scalar is ()."""
    array = row[field].copy()
    if place == ():
        array = value
    else:
        array[place] = value
    row[field] = array


def refused(rows):
    """Return the lane and the field that the door names."""
    with pytest.raises(StateError) as error:
        validate_rows(rows, RULES)
    lane, field = MESSAGE.match(str(error.value)).groups()
    return int(lane), field


def test_every_field_is_tried():
    assert WRONG.keys() | {"rng"} == set(STATE_DTYPE.names)  # any generator state is possible


@walk("field", WRONG)
def test_a_wrong_field_is_refused_by_name(field):
    rows = rows_of(away(), away())
    validate_rows(rows, RULES)
    put(rows[1], field, *WRONG[field])
    assert refused(rows) == (1, field)


def set_field(field, place, value):
    return lambda row: put(row, field, place, value)


def one_way(row):
    slot = row["neighbor"][0].tolist().index(-1) if -1 in row["neighbor"][0] else 5
    row["neighbor"][0, slot - 1] = -1
    for field, empty in (("edge_time", 1), ("edge_fuel", 0), ("edge_threat", 0)):
        row[field][0, slot - 1] = empty


def swap_two_neighbors(row):
    row["neighbor"][0, :2] = row["neighbor"][0, 1::-1]


def gap(row):
    for field in ("neighbor", "edge_time", "edge_fuel", "edge_threat", "edge_threat_est"):
        row[field][0, 1:6] = row[field][0, 0:5]
    row["neighbor"][0, 0], row["edge_time"][0, 0] = -1, 1


def twice(row):
    row["neighbor"][0, 1] = row["neighbor"][0, 0]


# Seed 0: nine nodes; the station has the neighbours 1 2 6 4, the ship is at 1 with ten asteroids.
CROSS = [
    ("neighbor", one_way),
    ("edge_time", swap_two_neighbors),
    ("neighbor", gap),
    ("neighbor", twice),
    ("neighbor", set_field("neighbor", (0, 0), 0)),
    ("neighbor", set_field("neighbor", (20, 0), 1)),
    ("edge_time", set_field("edge_time", (0, 0), 1)),
    ("edge_fuel", set_field("edge_fuel", (0, 0), 30.0)),
    ("edge_threat", set_field("edge_threat", (0, 0), 0.0)),
    ("edge_threat_est", set_field("edge_threat_est", (0, 5), 0.0)),
    ("edge_time", set_field("edge_time", (20, 0), 2)),
    ("node_type", set_field("node_type", 1, 0)),
    ("node_type", set_field("node_type", 20, 2)),
    ("node_hazard", set_field("node_hazard", 0, 0.1)),
    ("node_pirate", set_field("node_pirate", 20, 0.1)),
    ("asteroid_count", set_field("asteroid_count", 0, 1)),
    ("asteroid_count", set_field("asteroid_count", 20, 5)),
    ("richness", set_field("richness", (1, 10), 1.0)),
    ("steps_to_station", set_field("steps_to_station", 20, 0)),
    ("current_node", set_field("current_node", (), 9)),
    ("selected", set_field("selected", (), 10)),
    ("ev_dt", set_field("ev_dt", (), 0)),
    ("done", set_field("done", (), 1)),
    ("done", set_field("done", (), 2)),
    ("done", set_field("ev_action", (), 68)),
    ("done", set_field("ev_destroyed", (), 1)),
]


@walk(("field", "change"), CROSS)
def test_fields_must_fit_each_other(field, change):
    rows = rows_of(away())
    change(rows[0])
    assert refused(rows) == (0, field)


def test_after_a_reset_nothing_has_happened():
    for field in ("ev_invalid", "ev_destroyed", "ev_stranded", "done"):
        rows = rows_of(Prospector(seed=0))
        rows[field] = 1
        assert refused(rows) == (0, field)


def test_lanes_are_counted_over_all_rows():
    rows = np.repeat(rows_of(away()), CHUNK + 3)
    rows["decoys"][CHUNK + 1] = 13
    assert refused(rows) == (CHUNK + 1, "decoys")


def test_time_may_not_be_longer_than_the_rules_say():
    rows = rows_of(away())
    with pytest.raises(StateError, match="lane 0: time_remaining="):
        validate_rows(rows, ProspectorConfig(time_max=100).rules_record())


def test_rows_of_another_dtype_are_refused():
    swapped = STATE_DTYPE.newbyteorder()
    for rows in (np.zeros(3, np.uint8), np.zeros(3, swapped)):
        with pytest.raises(StateError, match="STATE_DTYPE") as refused:
            validate_rows(rows, RULES)
        assert len(str(refused.value)) < 300


# -- what passes can be played ------------------------------------------------------------------


def corrupt(row, rng):
    """Change one entry of one field in place."""
    name = rng.choice([name for name in STATE_DTYPE.names if name != "unused"])
    array = row[name].reshape(-1).copy()
    k = rng.integers(array.size)
    if array.size > 1 and rng.random() < 0.3:  # two entries change places
        j = rng.integers(array.size)
        array[[j, k]] = array[[k, j]]
    elif array.dtype.kind == "f":
        big, part = np.finfo(array.dtype).max, array[k] * rng.random()
        array[k] = rng.choice([NAN, INF, -INF, big, 1e6, -1e6, 1e-30, 1.0, part, 0.0, -0.0])
    elif array.dtype.itemsize == 8:
        array[k] = rng.integers(2**64, dtype=np.uint64)
    else:
        info = np.iinfo(array.dtype)
        value = rng.choice([info.min, info.max, 2**30, rng.integers(-2, 70), rng.integers(8)])
        array[k] = np.clip(value, info.min, info.max)
    row[name] = array.reshape(row[name].shape)


def accepted(seed):
    """Return a row after as many changes as the door lets in of forty."""
    rng = np.random.default_rng(seed)
    rows = rows_of(away(seed))
    for _ in range(40):
        changed = rows.copy()
        corrupt(changed[0], rng)
        try:
            validate_rows(changed, RULES)
        except StateError:
            continue
        rows = changed
    return rows


WHY = available(fastenv.make_game("Prospector-v0"))
COMPILED = [name for name, why in WHY.items() if why is None and name != "reference"]


@pytest.mark.parity
@settings(max_examples=max(1, settings.default.max_examples // 3))
@given(seed=seeds)
def test_what_passes_is_played_alike(seed):
    """Every value stays finite, and compiled code, which checks nothing, does as the reference."""
    rng, lanes = np.random.default_rng(seed), 3
    rows = np.concatenate([accepted((seed + lane) % 2**64) for lane in range(lanes)])
    engines = [
        fastenv.make_engine("Prospector-v0", lanes, backend=name)
        for name in ("reference", *COMPILED[-1:])
    ]
    first, *others = engines
    for engine in engines:
        engine.set_states(rows)
    for step in range(12):
        for other in others:
            found = first_difference(first, other)
            assert found is None, f"seed {seed}, step {step}: {found}"
        assert np.isfinite([first.reward, *first.info.values()]).all(), f"seed {seed}"
        assert (np.abs(first.obs) <= 1).all(), f"seed {seed}"
        running = ~first.ended
        if not running.any():
            return
        actions = rng.integers(-1, 70, lanes)
        for engine in engines:
            engine.step_many(actions, select=running, autoreset=False)
