"""Worlds of a Game Boy: the row itself, but for the stream of luck to come."""

import numpy as np
import pytest

import fastenv
from fastenv.engine import BatchEngine
from fastenv.gameboy import make_game
from fastenv.verify import draw_options
from tests.gameboy.lanes import BACKENDS, SHORT
from tests.needs import FASTEST

IDS = ("GameBoyGoal-v0", "GameBoyPixels-v0", "GameBoyOverworld-v0", "LanternWalk-v0")


@pytest.mark.parametrize("env_id", IDS)
def test_worlds_are_copies_with_another_stream(env_id):
    game = fastenv.make_game(env_id, **draw_options(env_id, 5))
    assert not game.spec.hidden
    engines = [BatchEngine(game, 2, backend) for backend in BACKENDS]
    engines[0].reset_many(seeds=3)
    rows = engines[0].get_states()
    worlds = [engine.resample(rows, 0, 11, worlds=2) for engine in engines]
    for other in worlds[1:]:
        assert other.tobytes() == worlds[0].tobytes()
    game.validate(worlds[0])
    assert len(np.unique(worlds[0]["rng"])) == 16
    back = worlds[0].copy()
    back["rng"] = np.repeat(rows["rng"], 2, axis=0)
    assert back.tobytes() == np.repeat(rows, 2).tobytes()


def test_without_sticky_actions_all_worlds_go_on_alike():
    engine = BatchEngine(make_game(**SHORT), 4, FASTEST)
    engine.reset_many(seeds=0)
    engine.set_states(engine.resample(engine.get_states()[:1], 0, 1, worlds=4))
    for action in (1, 4, 5, 0, 7):
        engine.step_many([action] * 4)
    assert (engine.obs == engine.obs[0]).all()
