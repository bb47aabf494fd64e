"""What bots that look ahead find of placements: both implementations, and what they then choose."""

import numpy as np
import pytest

import fastenv
from fastenv.drmario import make_game
from fastenv.drmario import tables as t
from fastenv.engine import BatchEngine, rng_streams
from fastenv.errors import ConfigError
from tests.needs import needs_core
from tests.slow import late, together

pytestmark = needs_core


def played(pills, **options):
    """Return an engine of two games, some random placements on."""
    engine = BatchEngine(make_game(obs="none", **options), 2, "fast")
    engine.reset_many(seeds=3)
    rng = np.random.default_rng(pills)
    for _ in range(pills):
        drawn = rng.random(engine.mask.shape) * engine.mask
        engine.step_many(drawn.argmax(-1).astype(np.int32))
    return engine


@pytest.mark.parametrize(
    ("bot", "level"),
    [("lookahead2", 20), *late(*together([("lookahead2", 0), ("lookahead3", 20)]))],
)
def test_core_and_reference_find_the_same(bot, level):
    for pills in (0, 3, 9):
        engine = played(pills, level=level, speed="high")
        row = engine.get_states()[0]
        found = engine.game.considered(row, 0, bot, "cython")
        wanted = engine.game.considered(row, 0, bot, "reference")
        np.testing.assert_array_equal(found, wanted, err_msg=f"{bot}, {pills} pills")


@pytest.mark.slow
def test_core_and_reference_find_the_same_by_rollouts():
    engine = played(4, level=5)
    row = engine.get_states()[0]
    found = engine.game.considered(row, 0, "rollouts", "cython")
    np.testing.assert_array_equal(found, engine.game.considered(row, 0, "rollouts", "reference"))


@pytest.mark.parametrize("bot", list(t.LOOKING_AHEAD))
def test_the_best_one_is_what_the_bot_does(bot):
    engine = played(2, agents=2, level=(10, 10))
    actions = engine.bot_actions(bot, rng_streams(0, 2))
    looking = t.LOOKING_AHEAD[bot]
    for row, action in zip(engine.get_states(), actions, strict=True):
        found = engine.game.considered(row, 0, bot)
        assert found["action"][0] == action
        assert 1 < len(found) <= looking.first
        kept = found["count"] == found["count"][0]
        assert (np.diff(found["value"][kept]) <= 0).all()
        assert kept.sum() == (looking.kept or len(found))


def test_nothing_is_found_without_a_decision_or_by_others():
    engine = played(1, level=0)
    row = engine.get_states()[0]
    assert engine.game.considered(row, 0, "greedy") is None
    assert engine.game.bots_that_look_ahead == ("lookahead2", "lookahead3", "rollouts")
    while not engine.ended[0]:
        drawn = engine.mask.argmax(-1).astype(np.int32)
        engine.step_many(drawn, autoreset=False, select=np.array([True, False]))
    assert engine.game.considered(engine.get_states([0])[0], 0, "lookahead3") is None
    with pytest.raises(ConfigError, match="genius"):
        engine.game.considered(row, 0, "genius")


def test_bots_of_frames_tell_nothing():
    game = fastenv.make_game("DrMarioFrame-v0")
    assert "lookahead3" in game.bot_names
    assert game.bots_that_look_ahead == ()
