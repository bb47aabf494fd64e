"""Knobs that a curriculum sets: which rounds are sampled, and what is read back."""

from itertools import permutations

import numpy as np
import pytest

import fastenv
from fastenv.engine import BatchEngine
from fastenv.skullking import SkullKingGame, make_game
from fastenv.skullking import tables as t
from tests.needs import FASTEST
from tests.tables import walk

BOTH = {"round_weights": "linear", "allowed_phases": ("mid", "late")}


def engine_of(n=4, **options):
    return BatchEngine(make_game(tier="worker", **options), n, FASTEST)


def cdf_of(weights, rounds):
    """Return the distribution over ten rounds in which only ``rounds`` may be sampled."""
    kept = np.where(np.isin(np.arange(1, 11), rounds), weights, 0.0)
    return (np.cumsum(kept) / kept.sum()).tolist()


@pytest.mark.parametrize("order", list(permutations(BOTH)))
def test_neither_of_two_knobs_overwrites_the_other(order):
    engine = engine_of()
    for name in order:
        engine.configure(name, BOTH[name])
    for name, value in BOTH.items():
        assert engine.get_knob(name) == [value] * 4
    expected = cdf_of(np.arange(1, 11), range(4, 11))
    assert engine._knobs["round_cdf"][:, :10] == pytest.approx(np.tile(expected, (4, 1)))
    engine.reset_many(seeds=0)
    rounds = set()
    for _ in range(60):
        engine.reset_many()
        rounds |= set(engine.info["round"].tolist())
    assert rounds == set(range(4, 11))


def test_lanes_keep_what_was_set_in_them_alone():
    engine = engine_of()
    engine.configure("allowed_phases", ["late"], [0, 2])
    engine.configure("round_weights", (1.0,) * 9 + (3.5,), [2, 3])
    assert engine.get_knob("allowed_phases") == [("late",), (), ("late",), ()]
    own = (1.0,) * 9 + (3.5,)
    assert engine.get_knob("round_weights") == ["plan", "plan", own, own]
    assert engine.get_knob("round_sampling", 2) == [(own, ("late",))]
    expected = cdf_of(own, range(7, 11))
    assert engine._knobs["round_cdf"][2, :10].tolist() == pytest.approx(expected)
    again = engine_of()
    for lane in range(4):
        again.configure("round_sampling", engine.get_knob("round_sampling", lane)[0], lane)
    assert np.array_equal(again._knobs, engine._knobs)


@walk("name", t.ROUND_WEIGHTS)
@walk("schedule", ["classic", "even_keeled", (10,) * 12])
def test_configured_values_are_read_back(name, schedule):
    engine = engine_of(schedule=schedule, round_weights=name, allowed_phases=["late", "early"])
    if schedule == "classic":
        assert engine.get_knob("round_weights") == [name] * 4
    assert engine.get_knob("allowed_phases") == [("early", "late")] * 4
    before = engine._knobs.copy()
    engine.configure("round_sampling", engine.get_knob("round_sampling", 0)[0])
    assert np.array_equal(engine._knobs, before)


EARLY = (1.0,) + (0.0,) * 9


@walk(
    ("name", "value", "message"),
    [
        ("round_weights", EARLY, r"round_weights=.*at least one of the 10 rounds.*'late'"),
        ("round_weights", (0.0,) * 10, "above 0"),
        ("round_weights", (1.0,) * 9, "10 weights"),
        ("round_weights", (float("nan"),) * 10, "finite"),
        ("round_weights", (-1.0,) + (1.0,) * 9, "none negative"),
        ("round_weights", None, "a name or one weight"),
        ("round_weights", "steep", "'plan'"),
        ("allowed_phases", "late", "a collection"),
        ("allowed_phases", ["noon"], "'early'"),
        ("allowed_phases", None, "a collection"),
        ("round_sampling", "plan", "a pair"),
        ("round_sampling", None, "a pair"),
        ("round_sampling", (EARLY,), "a pair"),
        ("round_sampling", (EARLY, ["late"]), "at least one of the 10 rounds"),
    ],
)
def test_what_samples_no_round_is_refused_and_nothing_is_written(name, value, message):
    engine = engine_of()
    engine.configure("allowed_phases", ["late"], [1, 3])
    before = engine._knobs.copy()
    with pytest.raises(fastenv.ConfigError, match=message):
        engine.configure(name, value)
    assert np.array_equal(engine._knobs, before)


def test_an_option_that_leaves_no_round_is_named():
    allowed = r"^allowed_phases=\('late',\) .* the 1 rounds .* with round_weights='plan'"
    for tier in ("flat", "manager", "worker", "ability"):
        with pytest.raises(fastenv.ConfigError, match=allowed):
            make_game(tier=tier, schedule=[3], allowed_phases=("late",))


COLLECTIONS = {
    "deck": ["no_kraken"],
    "schedule": [2, 3],
    "opponents": ["random", "rule_hard"],
    "round_weights": [1.0] * 10,
    "allowed_phases": ["late"],
    "pirates": ["rosie"],
}


@walk("name", COLLECTIONS)
def test_collections_are_read_once_and_kept(name):
    """Of an iterator the second reader finds nothing: neither cards nor knobs then agree."""
    value = COLLECTIONS[name]
    given = list(value)
    game = make_game(tier="ability", num_players=3, **{name: given})
    twin = make_game(tier="ability", num_players=3, **{name: np.array(value)})
    given.clear()
    assert game.config == twin.config
    assert hash(game.config) == hash(twin.config)
    assert game.shared.tobytes() == twin.shared.tobytes()
    assert game.default_knobs(3).tobytes() == twin.default_knobs(3).tobytes()
    for other, message in ((iter(value), name), (np.ma.array(value), "masked")):
        with pytest.raises(fastenv.ConfigError, match=message):
            make_game(tier="ability", num_players=3, **{name: other})


def test_modes_that_are_none_are_refused_in_every_tier():
    for tier in ("flat", "manager", "worker", "ability"):
        for mode in ("whole", None, ["game"]):
            with pytest.raises(fastenv.ConfigError, match="mode must be one of 'round', 'game'"):
                make_game(tier=tier, mode=mode)


def test_both_can_be_set_at_once_where_no_round_is_left_in_between():
    engine = engine_of(round_weights=EARLY, allowed_phases=["early"])
    late = (0.0,) * 9 + (1.0,)
    for name, value in (("round_weights", late), ("allowed_phases", ["late"])):
        with pytest.raises(fastenv.ConfigError, match="at least one"):
            engine.configure(name, value)
    engine.configure("round_sampling", (late, ["late"]))
    engine.reset_many(seeds=0)
    assert engine.info["round"].tolist() == [10] * 4


def test_every_knob_is_read_back_and_no_other_name():
    game = make_game(tier="ability", num_players=3)
    assert isinstance(game, SkullKingGame)
    knobs = game.default_knobs(1)
    names = ("opponents", "agent_seat", "goal_mode", "goal", "enable_abilities", "pirates", *BOTH)
    for name in names:
        value = game.get_knob(knobs[0], name)
        game.set_knob(knobs, name, value)
        assert game.get_knob(knobs[0], name) == value
    assert np.array_equal(knobs, game.default_knobs(1))
    with pytest.raises(AttributeError, match="colour"):
        game.get_knob(knobs[0], "colour")
