"""Sources and trackers as options describe them."""

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError, UnknownOptionError
from tests.tables import walk
from training.callbacks.trackers import (
    GrowthReward,
    StateArchive,
    StepReader,
    VisitCounter,
    base,
    options,
)
from training.callbacks.trackers.base import read
from training.callbacks.trackers.sources import source_of


@pytest.fixture
def engine():
    engine = fastenv.make_engine("SkullKingWorker-v0", 16)
    engine.reset_many(seeds=11)
    rng = np.random.default_rng(0)
    for _ in range(40):
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
    return engine


def values(engine, given):
    return np.asarray(read(source_of(engine, given, "test"), StepReader(engine)))


def test_a_text_is_a_column(engine):
    np.testing.assert_array_equal(values(engine, "cards"), engine.info["cards"])


def test_bins_equality_and_thresholds_are_those_of_the_column(engine):
    info = engine.info
    lanes = range(engine.num_envs)
    binned = values(engine, {"info": "points", "bin": 50})
    assert binned.tolist() == [int(info["points"][i]) // 50 for i in lanes]
    equal = values(engine, {"info": "won", "equals": "bid"})
    assert equal.tolist() == [float(info["won"][i] == info["bid"][i]) for i in lanes]
    assert 0 < equal.sum() < engine.num_envs
    number = values(engine, {"info": "bid", "equals": 1})
    assert number.tolist() == [float(info["bid"][i] == 1) for i in lanes]
    least = values(engine, {"info": "cards", "at_least": 6})
    assert least.tolist() == [float(info["cards"][i] >= 6) for i in lanes]


def test_several_columns_are_one_number(engine):
    info, lanes = engine.info, range(engine.num_envs)
    found = values(engine, {"info": ["round", "cards", "won"], "sizes": [11, 11, 3]})
    expected = [
        (int(info["round"][i]) * 11 + int(info["cards"][i])) * 3 + int(info["won"][i])
        if info["won"][i] < 3
        else -1
        for i in lanes
    ]
    assert found.tolist() == expected
    assert len(set(expected)) > 1
    for given in ({"info": ["won"], "sizes": [3, 4]}, {"info": ["none"], "sizes": [3]}):
        with pytest.raises(ConfigError, match=r"test\.(sizes|info)"):
            source_of(engine, given, "test")


def test_elements_of_the_observation_are_scaled_and_rounded(engine):
    found = values(engine, {"obs": 0, "times": 10})
    engine.refresh()
    assert found.tolist() == [round(float(engine.obs[i, 0]) * 10) for i in range(engine.num_envs)]


@walk(
    "given",
    [
        *(None, 3, {}, {"info": "won"}, {"info": "won", "bin": 2, "equals": 1}),
        *({"obs": -1}, {"obs": True}, {"obs": 1, "bin": 2}, {"info": "won", "at_least": "much"}),
        *({"info": "moon", "bin": 2}, {"info": "won", "equals": "moon"}),
        *({"info": "won", "bin": 2, "size": 3}, {"info": "won", "at_least": 1, "at_laest": 2}),
    ],
)
def test_what_is_no_source_is_refused_by_name(engine, given):
    with pytest.raises(ConfigError, match=r"gate\.success"):
        source_of(engine, given, "gate.success")


def test_trackers_find_each_other_whatever_their_order(engine):
    given = {
        "richer": {"kind": "growth", "source": "won"},
        "archive": {"cell": "round", "visits": "rounds"},
        "rounds": {"kind": "visits", "cell": "round", "num_cells": 11},
    }
    built = options.build(engine, given, seed=3)
    named = built._named
    assert list(named) == ["richer", "rounds", "archive"]  # an archive observes last
    assert isinstance(named["rounds"], VisitCounter)
    assert isinstance(named["archive"], StateArchive)
    assert named["archive"]._counter is named["rounds"]
    assert named["archive"].placed is built.placed


def test_an_archive_finds_the_quests_of_its_swarm(engine):
    archive = {"cell": "round", "swarm": "story"}
    story = {"kind": "quests", "stages": [{"quest": "begun", "when": {"round": 0}}]}
    built = options.build(engine, {"archive": archive, "story": story}, 1)
    assert list(built.tensors()) == ["story", "archive"]
    visits = {"visits": {"cell": "round", "num_cells": 11}}
    for swarm, others in (("story", {}), ("visits", visits), (3, {})):
        with pytest.raises(ConfigError, match=r"trackers.archive.swarm="):
            options.build(engine, {"archive": archive | {"swarm": swarm}, **others}, 1)


def test_a_tracker_called_archive_is_kept_beside_an_archive(engine):
    given = {"far": {"kind": "archive", "cell": "round"}}
    assert [*options.build(engine, given, seed=0).tensors()] == ["archive"]
    given["archive"] = {"kind": "growth", "source": "won"}
    trackers = options.build(engine, given, seed=0)
    assert [*trackers.tensors()] == ["archive", "far"]
    assert "grow" not in trackers.announce()[0]


def test_the_kind_of_a_tracker_is_what_its_option_says(engine):
    given = {"visits": {"kind": "growth", "source": "won"}, "growth": {"source": "won"}}
    named = options.build(engine, given, seed=0)._named
    assert [type(named[name]) for name in given] == [GrowthReward, GrowthReward]


def test_growth_takes_a_source_and_a_weight(engine):
    given = {"richer": {"kind": "growth", "source": {"info": "won", "bin": 2}, "weight": 0.5}}
    growth = options.build(engine, given, seed=0)._named["richer"]
    assert isinstance(growth, GrowthReward)
    for wrong, told in (
        ({"source": "gold"}, "trackers.growth.source='gold' is no info column: there are"),
        ({}, "trackers.growth.source"),
        ({"source": "won", "weight": "much"}, "trackers.growth.weight='much'"),
        ({"source": "won", "weight": float("inf")}, "trackers.growth.weight=inf is not possible"),
        ({"source": "won", "weight": float("nan")}, "trackers.growth.weight=nan is not possible"),
    ):
        with pytest.raises(ConfigError) as raised:
            options.build(engine, {"growth": wrong}, seed=0)
        assert told in str(raised.value)


def test_conditions_are_values_and_intervals(engine):
    stages = [
        {"quest": "a", "when": {"won": 1}, "reward": 2.0},
        {"quest": "a", "when": {"won": [2, None], "cards": [None, 9]}},
        {"quest": "b", "when": {"bid": 3}},
    ]
    quests = options.build(engine, {"quests": {"stages": stages}}, seed=0)._named["quests"]
    assert quests.quests == ["a", "b"]
    inf = np.inf
    np.testing.assert_array_equal(quests._low, [[1, -inf, -inf], [2, -inf, -inf], [-inf, -inf, 3]])
    np.testing.assert_array_equal(quests._high, [[1, inf, inf], [inf, 9, inf], [inf, inf, 3]])


@walk(
    ("given", "named", "allowed"),
    [
        ({"when": 5}, "when=5", "a mapping"),
        ({"when": {"won": [[], 1]}}, "when.won=[[], 1]", "a number or [low, high]"),
        ({"when": {"won": ["a", "b"]}}, "when.won=['a', 'b']", "a number or [low, high]"),
        ({"when": {"won": [True, None]}}, "when.won=[True, None]", "a number or [low, high]"),
        ({"when": {"won": None}}, "when.won=None", "a number or [low, high]"),
        ({"when": {"won": {"bit": 0}}}, "when.won={'bit': 0}", "a number or [low, high]"),
        ({"when": {"won": [5, 1]}}, "when.won=[5, 1]", "a number or [low, high], the lower one fi"),
        ({"when": None}, "when=None", "given"),
        ({"quest": []}, "quest=[]", "a text"),
        ({"quest": None}, "quest=None", "given"),
        ({"reward": "much"}, "reward='much'", "a number"),
        ({"reward": True}, "reward=True", "a finite number"),
        ({"reward": None}, "reward=None", "a finite number"),
        ({"requires": ["a"]}, "requires=['a']", "[] or left out: the option was removed, and qu"),
    ],
)
def test_what_no_stage_can_have_is_refused_by_name(engine, given, named, allowed):
    stage = {"quest": "a", "when": {"won": 1}, **given}
    refused_in_a_sentence(engine, {"quests": {"stages": [stage]}}, "stages[0]", named, allowed)


@walk(
    ("given", "named", "allowed"),
    [
        ({"name": 5}, "name=5", "a text"),
        ({"threshold": "much"}, "threshold='much'", "a number"),
        ({"weight": 2.0}, "weight=2.0", "1.0 or left out: the option was removed, and each"),
        ({"limit": 3}, "limit=3", "null or left out: the option was removed, and an event"),
        ({"prior": [1, 2]}, "prior=[1, 2]", "[1.0, 1.0] or left out: the option was removed, and"),
        ({"kind": []}, "kind=[]", "one of 'rise', 'fall', 'change'"),
        ({"kind": "jump"}, "kind='jump'", "one of 'rise', 'fall', 'change'"),
        ({"source": None}, "source=None", "given"),
    ],
)
def test_what_no_event_can_have_is_refused_by_name(engine, given, named, allowed):
    event = {"name": "a", "source": "won", **given}
    refused_in_a_sentence(engine, {"progress": {"events": [event]}}, "events[0]", named, allowed)


def refused_in_a_sentence(engine, trackers, item, named, allowed):
    (kind,) = trackers
    option, value = f"trackers.{kind}.{item}.{named}".split("=")
    with pytest.raises(ConfigError) as refused:
        options.build(engine, trackers, seed=0)
    text = str(refused.value)
    assert text.startswith(f"{option}={value} is not possible: {option} must be {allowed}")
    assert "\n" not in text


def test_options_that_stages_and_events_do_not_have_or_lack_are_named(engine):
    whole = {"quest": "a", "when": {"won": 1}, "name": "a", "source": "won"}
    for kind, items, needed in (
        ("quests", "stages", ("quest", "when")),
        ("progress", "events", ("name", "source")),
    ):
        item = {name: whole[name] for name in needed}
        for name in needed:
            less = {key: value for key, value in item.items() if key != name}
            with pytest.raises(ConfigError, match=rf"{items}\[0\]\.{name}=None .* must be given"):
                options.build(engine, {kind: {items: [less]}}, seed=0)
        with pytest.raises(UnknownOptionError, match=rf"'trackers\.{kind}\.{items}\[1\]\.colum"):
            options.build(engine, {kind: {items: [item, {**item, "column": 1}]}}, seed=0)


def test_what_is_possible_in_stages_and_events_is_taken(engine):
    event = {"name": "a", "source": "won", "kind": "fall", "threshold": 2}
    stage = {"quest": "a", "when": {}, "reward": 2}
    # The defaults of options that were removed.
    event |= {"limit": None, "prior": [1, 1.0], "weight": 1}
    stage |= {"requires": []}
    given = {"progress": {"events": [event]}, "quests": {"stages": [stage]}}
    named = options.build(engine, given, seed=0)._named
    assert named["progress"]._threshold.tolist() == [2.0]
    assert named["quests"]._reward.tolist() == [2.0]


@walk(
    ("kind", "gone", "other"),
    [
        ("visits", {"inverse_bonus": 0.0}, 0.1),
        ("archive", {"sampling": "inverse_sqrt"}, "least_visited"),
        ("archive", {"capture_min_visits": 3}, 9),
        ("quests", {"scope": "episode"}, "lifetime"),
        ("progress", {"half_life": 256}, None),
    ],
)
def test_options_that_were_removed_are_read_at_their_defaults_alone(engine, kind, gone, other):
    needed = {
        "visits": {"cell": "round"},
        "archive": {"cell": "round"},
        "quests": {"stages": [{"quest": "a", "when": {"won": 1}}]},
        "progress": {"events": [{"name": "a", "source": "won"}]},
    }[kind]
    assert options.build(engine, {kind: {**needed, **gone}}, seed=0) is not None
    (name,) = gone
    with pytest.raises(ConfigError, match=rf"^trackers\.again\.{name}={other!r} .*was removed"):
        options.build(engine, {"again": {"kind": kind, **needed, name: other}}, seed=0)


def test_a_source_that_is_needed_cannot_be_null(engine):
    with pytest.raises(ConfigError, match=r"trackers\.visits\.cell=None .* must be given"):
        options.build(engine, {"visits": {"cell": None}}, seed=0)
    assert options.build(engine, {"archive": {"cell": "round", "score": None}}, seed=0) is not None


@walk(
    ("given", "named"),
    [
        ({"visits": {"cell": "round", "num_cells": 2**40}}, "trackers.visits.num_cells="),
        ({"visits": {"cell": "round", "place": "round", "num_places": 2**22}}, "num_places="),
        ({"archive": {"cell": "round", "max_cells": 2**40}}, "trackers.archive.max_cells="),
    ],
)
def test_tables_that_the_machine_cannot_hold_are_refused_by_name(engine, given, named):
    with pytest.raises(ConfigError, match=rf"{named}.*must be smaller.* allowed are 8,192 MiB"):
        options.build(engine, given, seed=0)


STAGES = [{"quest": "begun", "when": {"round": 0}}]


def test_trackers_say_what_their_tables_take(engine, monkeypatch):
    given = {"visits": {"cell": "round", "num_cells": 1 << 18}}
    given |= {"seen": {"kind": "visits", "cell": "round"}, "quests": {"stages": STAGES}}
    given |= {"archive": {"cell": "round", "max_cells": 2000, "swarm": "quests"}}
    row = engine.spec.state_dtype.itemsize
    counted, kept = (8 + 4 * engine.num_envs) / 4, (2000 * (row + 56) + row) / 2**20
    (line,) = options.build(engine, given, seed=0).announce()
    assert f"visits {counted:,.1f} MiB, seen 0.0 MiB, archive {kept:,.1f} MiB" in line
    assert line.endswith("; seen grow with what is seen")
    assert options.build(engine, {"quests": {"stages": STAGES}}, seed=0).announce() == []
    monkeypatch.setattr(base, "MAX_TABLE_MIB", int(kept))
    with pytest.raises(ConfigError, match=rf"archive\.max_cells=.* {kept:,.0f} MiB; allowed are"):
        options.build(engine, {"archive": given["archive"] | {"swarm": None}}, seed=0)


LONG = "a" * 20_000


@walk(
    "given",
    [
        {LONG: {"kind": "growth"}},
        {"visits": {"cell": LONG}},
        {"visits": {"cell": "round", LONG: 1}},
        {"archive": {"cell": "round", "visits": LONG}},
        {"quests": {"stages": [{"quest": LONG, "column": "round"}]}},
        {"quests": {"stages": [{LONG: 1}]}},
        {"progress": {"events": [{"name": LONG, "column": "round", "kind": "no"}]}},
    ],
)
def test_long_texts_of_strangers_are_shortened_in_messages(engine, given):
    with pytest.raises(ConfigError) as refused:
        options.build(engine, given, seed=0)
    assert len(str(refused.value)) < 600


@walk(
    ("given", "named"),
    [
        ({"rnd": {"weight": 0.01}}, "trackers.rnd.kind='rnd'"),
        ({"memory": {}}, "trackers.memory.kind='memory'"),
        ({"episodes": {}}, "trackers.episodes.kind='episodes'"),
        ({"again": {"kind": "likelihood"}}, "trackers.again.kind='likelihood'"),
    ],
)
def test_kinds_that_were_removed_are_refused_by_name(engine, given, named):
    with pytest.raises(ConfigError, match=rf"^{named} .*another kind: this one was removed"):
        options.build(engine, given, seed=0)


def test_a_name_of_a_removed_kind_may_be_that_of_another(engine):
    given = {"memory": {"kind": "visits", "cell": "round"}}
    assert options.build(engine, given, seed=0) is not None
