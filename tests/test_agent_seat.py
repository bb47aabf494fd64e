"""``agent_seat`` and ``opponent`` of the views that show one agent of several."""

import numpy as np
import pytest

import fastenv
from fastenv.env import FastEnv
from fastenv.vector import FastVectorEnv
from tests.race import engine_of
from tests.toy import RaceGame

VERSUS = "DrMarioVersus-v0"


def test_a_seat_is_shown_by_all_views():
    engine = engine_of(n=3, opponent="slow", agent_seat=1)
    env, vec = (
        FastEnv(RaceGame(), opponent=["slow"], agent_seat=1),
        FastVectorEnv(RaceGame(), 3, opponent="slow", agent_seat=1),
    )
    single, several = env.reset(seed=7)[0], vec.reset(seed=7)[0]
    for name in ("ahead", "me"):
        assert np.array_equal(several[name], engine.obs[name])
        assert np.array_equal(single[name], engine.obs[name][0])
    first = engine_of(n=3, opponent="slow").obs
    assert not np.array_equal(several["ahead"], first["ahead"]) or (
        not np.array_equal(several["me"], first["me"])
    )


def test_seats_rotate_in_views_by_id():
    vec = fastenv.make_vec(VERSUS, 4, agent_seat="rotate", opponent=["first"])
    assert vec.engine.get_agents().tolist() == [0, 1, 0, 1]
    assert vec.engine.opponent == ["first"]
    assert fastenv.make(VERSUS).engine.agent_seat == 0
    assert fastenv.make(VERSUS, agent_seat=1).engine.get_agents().tolist() == [1]
    sb3 = pytest.importorskip("fastenv.adapters.sb3")
    for backend in ("auto", "reference"):
        venv = sb3.make_sb3_vec_env(VERSUS, 2, backend, agent_seat="rotate")
        engine = venv.engine if backend == "auto" else venv.envs[0].unwrapped.engine
        assert (engine.agent_seat, engine.opponent) == ("rotate", "random")


def test_a_seat_that_is_not_there_is_refused():
    with pytest.raises(fastenv.ConfigError, match=r"agent_seat=2: must be 'rotate' or a seat 0"):
        fastenv.make(VERSUS, agent_seat=2)
    with pytest.raises(fastenv.ConfigError, match="agent_seat=1: must be 0 without an opponent"):
        fastenv.make_vec(VERSUS, 2, agents="all", agent_seat=1)
    with pytest.raises(fastenv.ConfigError, match="'agent_seat'"):
        fastenv.make("Prospector-v0", agent_seat=0)
    assert fastenv.make("SkullKingFlat-v0", agent_seat="rotate").game.config.agent_seat == "rotate"
