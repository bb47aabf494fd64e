"""The Stable-Baselines3 adapter: beside ``DummyVecEnv`` over monitored reference environments."""

import pickle
from functools import partial

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from gymnasium import spaces
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor

import fastenv
from fastenv.adapters.sb3 import BatchVecEnv, make_sb3_vec_env
from fastenv.engine import BatchEngine
from fastenv.env import FastEnv
from tests.slow import late
from tests.toy import WalkGame

N = 4


def batch(backend="auto", **options):
    return BatchVecEnv(BatchEngine(WalkGame(), N, backend), **options)


def dummy():
    return DummyVecEnv([lambda: Monitor(FastEnv(WalkGame(), backend="reference"))] * N)


def assert_same_steps(ours, theirs, steps, actions_of):
    """T1: observations, rewards, dones, masks and infos of ended episodes, bit for bit."""
    ours.seed(11)
    theirs.seed(11)
    a, b = ours.reset(), theirs.reset()
    assert a.tobytes() == b.tobytes()
    ended = 0
    for _ in range(steps):
        masks = np.stack(theirs.env_method("action_masks"))
        assert np.array_equal(np.stack(ours.env_method("action_masks")), masks)
        actions = actions_of(masks)
        (a, ra, da, ia), (b, rb, db, ib) = ours.step(actions), theirs.step(actions)
        assert a.tobytes() == b.tobytes()
        assert (ra.dtype, ra.tobytes()) == (rb.dtype, rb.tobytes())
        assert (da.dtype, da.tobytes()) == (db.dtype, db.tobytes())
        for i in np.flatnonzero(da):
            ended += 1
            assert (
                ia[i]["terminal_observation"].tobytes() == ib[i]["terminal_observation"].tobytes()
            )
            assert ia[i]["TimeLimit.truncated"] is ib[i]["TimeLimit.truncated"]
            for key in "rl":
                assert ia[i]["episode"][key] == ib[i]["episode"][key]
    assert ended


@pytest.mark.parametrize("backend", ["reference", *late("numba", "cython"), "fast"])
def test_equal_to_dummy_vec_env(backend):
    rng = np.random.default_rng(0)
    assert_same_steps(batch(backend), dummy(), 300, lambda masks: rng.integers(0, 3, N))


def test_equal_to_dummy_vec_env_on_skull_king():
    rng = np.random.default_rng(0)
    ours = make_sb3_vec_env("SkullKingWorker-v0", N)
    theirs = make_sb3_vec_env("SkullKingWorker-v0", N, backend="reference")
    assert isinstance(ours, BatchVecEnv)
    assert isinstance(theirs, DummyVecEnv)
    legal = fastenv.sample_legal
    assert_same_steps(ours, theirs, 150, lambda masks: legal(masks, rng).astype(np.int64))


def test_what_sb3_keeps_of_a_step_is_not_overwritten_by_the_next():
    """T2: SB3 stores the last observation after the next step has been taken."""
    venv = batch(obs_buffers="pingpong")
    venv.seed(0)
    kept = venv.reset()
    value = kept.copy()
    stored_done = np.zeros(N, bool)
    for _ in range(50):
        obs, rewards, dones, _ = venv.step(np.ones(N, np.int64))
        assert np.array_equal(kept, value)  # now is when SB3 would store it
        rewards += 1000  # the bootstrap of truncated episodes does that
        before = stored_done.copy()
        assert np.array_equal(stored_done, before)
        kept, value, stored_done = obs, obs.copy(), dones
    venv.step(np.ones(N, np.int64))
    assert venv.engine.reward.max() < 100


@pytest.mark.parametrize("seed", [-1, 2**64 - 3])
def test_seeds_are_those_of_the_single_environment(seed):
    venv = batch()
    venv.seed(seed)
    with pytest.raises(fastenv.ConfigError, match=r"must be from 0 to 2\*\*64 - 1 in 4 lanes"):
        venv.reset()


@pytest.mark.parametrize("call", ["step", "reset"])
def test_a_refused_call_leaves_the_observation_that_is_held(call):
    """The buffers take turns by what was returned, not by what was tried."""
    venv = batch(obs_buffers="pingpong")
    venv.seed(0)
    venv.reset()
    kept = venv.step(np.ones(N, np.int64))[0]
    value = kept.copy()
    venv.seed(0.5)
    with pytest.raises(ValueError, match=r"out of range|seeds must be"):
        venv.step(np.full(N, 3)) if call == "step" else venv.reset()
    venv.step(np.ones(N, np.int64))
    assert np.array_equal(kept, value)


def test_actions_are_given_for_one_step():
    venv = batch()
    venv.seed(0)
    venv.reset()
    before = venv.engine.get_states().tobytes()
    missing = "call step_async.* before step_wait"
    with pytest.raises(fastenv.InvalidActionError, match=missing):
        venv.step_wait()
    with pytest.raises(fastenv.InvalidActionError, match="out of range"):
        venv.step(np.full(N, 3))
    with pytest.raises(fastenv.InvalidActionError, match=missing):
        venv.step_wait()  # a refused step takes its actions with it
    assert venv.engine.get_states().tobytes() == before
    venv.step(np.ones(N, np.int64))
    with pytest.raises(fastenv.InvalidActionError, match=missing):
        venv.step_wait()


def test_running_infos_are_empty_and_read_only_if_they_are_shared():
    venv = batch(infos="shared")
    venv.reset()
    info = venv.step(np.zeros(N, np.int64))[3][0]
    assert info == {}
    with pytest.raises(TypeError, match="infos='fresh'"):
        info["x"] = 1
    with pytest.raises(TypeError, match="infos='fresh'"):
        info.update(x=1)
    assert info.copy() == {}
    assert pickle.loads(pickle.dumps(info)) == {}


def test_masks_as_rows_and_as_one_block():
    rows, block = batch(), batch(masks="block")
    for venv in (rows, block):
        venv.seed(0)
        venv.reset()
        assert venv.has_attr("action_masks")
        venv.step(np.ones(N, np.int64))
    assert len(rows.env_method("action_masks")) == N
    assert rows.env_method("action_masks")[0].dtype == np.bool_
    assert len(rows.env_method("action_masks", indices=[1, 2])) == 2
    (one,) = block.env_method("action_masks")
    assert np.array_equal(one, np.stack(rows.env_method("action_masks")))


@pytest.mark.parametrize("masks", ["rows", "block"])
def test_masks_are_the_engine_s_memory_where_that_is_asked_for(masks):
    venv = batch(masks=masks, mask_buffers="engine")
    for lent in (venv, pickle.loads(pickle.dumps(venv))):
        lent.reset()
        assert all(
            np.shares_memory(each, lent.engine.mask) for each in lent.env_method("action_masks")
        )


def test_there_is_nothing_to_render_before_the_first_reset():
    venv = batch(render_mode="rgb_array")
    for call in (venv.get_images, venv.render, partial(venv.env_method, "render", indices=1)):
        with pytest.raises(fastenv.ResetNeededError, match="nothing to render before the first"):
            call()
    venv.engine.reset_many(mask=np.arange(N) == 1, seeds=1)
    assert venv.env_method("render", indices=1)[0].shape[-1] == 3
    with pytest.raises(fastenv.ResetNeededError, match="nothing to render before the first"):
        venv.render()


def test_attributes_methods_and_knobs():
    venv = batch(render_mode="ansi")
    assert venv.render_mode == "ansi"
    assert venv.get_attr("render_mode", [0, 2]) == ["ansi"] * 2
    assert isinstance(venv.observation_space, spaces.Box)
    assert venv.action_space == spaces.Discrete(3)
    venv.set_attr("limit", 5, indices=1)
    assert venv.env_method("set_limit", 7, indices=[2]) == [None]
    assert venv.env_method("configure", "limit", 9, indices=3) == [None]
    assert venv.get_attr("limit") == [12, 5, 7, 9]
    venv.reset()
    assert venv.engine.get_states()["limit"].tolist() == [12, 5, 7, 9]
    assert venv.get_attr("position") == [0] * N
    assert len(venv.env_method("render")) == N
    assert not venv.has_attr("colour")
    for call in (venv.env_method, venv.get_attr):
        with pytest.raises(AttributeError):
            call("colour")
        for name in (["colour"], np.array(["a", "b"]), None):
            with pytest.raises(fastenv.ConfigError, match="must be a name"):
                call(name)
    assert venv.env_is_wrapped(Monitor) == [True] * N
    assert venv.env_is_wrapped(FastEnv) == [False] * N
    assert batch(monitor=False).env_is_wrapped(Monitor, 0) == [False]
    pictures = batch(render_mode="rgb_array")
    pictures.reset()
    assert pictures.render().shape == (8, 12, 3)


@pytest.mark.parametrize("masks", ["rows", "block"])
def test_arrays_name_lanes_as_they_do_for_the_engine(masks):
    venv = batch(masks=masks, render_mode="ansi")
    venv.reset()
    numbers = np.array([3, 1])
    for lanes in (numbers, np.isin(np.arange(N), numbers)):
        venv.set_attr("limit", 5, indices=lanes)
        assert venv.get_attr("limit") == [12, 5, 12, 5]
        assert venv.get_attr("limit", lanes) == [5, 5]
        legal = venv.get_attr("action_masks", lanes)
        wanted = venv.engine.mask[lanes]
        assert np.array_equal([each() for each in legal], wanted)
        if masks == "rows":
            assert np.array_equal(venv.env_method("action_masks", indices=lanes), wanted)
    for call in (venv.get_attr, partial(venv.env_method, "render"), venv.env_is_wrapped):
        args = () if isinstance(call, partial) else ("action_masks",)
        with pytest.raises(ValueError, match="idx must be a plain array, got a masked one"):
            call(*args, indices=np.ma.array(numbers))


def test_no_step_between_close_and_reset():
    venv = batch()
    venv.reset()
    venv.close()
    with pytest.raises(fastenv.ResetNeededError, match="closed"):
        venv.step(np.zeros(N, np.int64))
    venv.reset()
    venv.step(np.zeros(N, np.int64))


def test_chosen_columns_reach_the_infos_of_ended_episodes():
    venv = batch(info_columns=("position", "distance"), success_column="position", monitor=False)
    venv.seed(0)
    venv.reset()
    found = []
    for _ in range(20):
        found += [i for i in venv.step(np.ones(N, np.int64))[3] if i]
    assert found
    for info in found:
        assert set(info) == {
            "terminal_observation",
            "TimeLimit.truncated",
            "position",
            "distance",
            "is_success",
        }
        assert type(info["position"]) is int
        assert info["is_success"] is (info["position"] > 0)
    for wrong in (
        {"info_columns": ("colour",)},
        {"masks": "bits"},
        {"obs_buffers": "one"},
        {"mask_buffers": "lent"},
        {"infos": "none"},
        {"success_column": "colour"},
    ):
        with pytest.raises(ValueError, match="must be one of"):
            batch(**wrong)


def test_wrappers_of_sb3_work_on_top():
    venv = VecFrameStack(VecMonitor(batch(monitor=False)), 3)
    venv.seed(0)
    assert venv.reset().shape == (N, 9)
    episodes = []
    for _ in range(40):
        episodes += [i["episode"] for i in venv.step(np.ones(N, np.int64))[3] if "episode" in i]
    assert episodes


def test_a_seeded_env_repeats_itself_without_one_it_does_not():
    a, b, c = batch(), batch(), batch()
    assert a.seed(3) == [3, 4, 5, 6]
    b.seed(3)
    a.reset(), b.reset(), c.reset()
    assert np.array_equal(a.engine.get_state(), b.engine.get_state())
    assert not np.array_equal(a.engine.get_state(), c.engine.get_state())
    a.reset()
    assert not np.array_equal(a.engine.get_state(), b.engine.get_state())
