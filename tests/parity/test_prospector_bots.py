"""Scripted players of Prospector through the engine: alike in every backend, and what they earn."""

import numpy as np
import pytest

import fastenv
from fastenv.engine import rng_streams
from fastenv.prospector.bots import Bot
from fastenv.verify import available
from tests.slow import every
from tests.tables import walk

pytestmark = pytest.mark.parity

RUNNABLE = [n for n, why in available(fastenv.make_game("Prospector-v0")).items() if why is None]
NAMES = [*(bot.name.lower() for bot in Bot), "market_timer_iron"]


@walk("name", every(2, NAMES))
def test_players_act_alike_in_every_backend(name):
    lanes = 3
    engines = [
        fastenv.make_engine("Prospector-v0", lanes, backend=b, time_max=200.0) for b in RUNNABLE
    ]
    streams = [rng_streams(1, lanes) for _ in engines]
    for engine in engines:
        engine.reset_many(seeds=1)
    for _ in range(40):
        chosen = [e.bot_actions(name, s) for e, s in zip(engines, streams, strict=True)]
        for engine, actions, stream in zip(engines, chosen, streams, strict=True):
            np.testing.assert_array_equal(actions, chosen[0])
            np.testing.assert_array_equal(stream, streams[0])
            engine.step_many(actions)


@pytest.mark.parametrize(("name", "mean_profit"), [("short_haul", 200), ("rich_haul", 1000)])
def test_haulers_survive_with_a_profit(name, mean_profit):
    worlds = 200
    engine = fastenv.make_engine("Prospector-v0", worlds)
    engine.reset_many(seeds=1000)
    streams = rng_streams(0, worlds)
    running = np.ones(worlds, np.bool_)
    survival, credits = np.zeros(worlds), np.zeros(worlds)
    for _ in range(500):
        actions = engine.bot_actions(name, streams)
        engine.step_many(actions, select=running, autoreset=False)
        over = (engine.terminated | engine.truncated) != 0
        survival[over], credits[over] = engine.info["survival"][over], engine.info["credits"][over]
        running &= ~over
        if not running.any():
            break
    assert not running.any()
    assert survival.all()
    assert (credits > 0).mean() > 0.98  # the game starts with none
    assert credits.mean() > mean_profit
