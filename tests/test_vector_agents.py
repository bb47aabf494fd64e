"""Many lanes of a game of several agents behind Gymnasium's vector interface, one agent or all."""

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector as wrappers

from fastenv.env import FastEnv
from fastenv.vector import FastVectorEnv, StepBuffers, allocate, sample_legal
from tests.needs import FASTEST
from tests.race import BACKENDS, engine_of
from tests.slow import diagonal
from tests.tables import walk
from tests.toy import RaceGame, WalkGame

N = 4
every_opponent = pytest.mark.parametrize("opponent", ["random", "fast"])


def pair(mode, backend, opponent, **options):
    game = RaceGame(goal=8)
    ours = FastVectorEnv(
        game, N, backend=backend, opponent=opponent, autoreset_mode=mode, **options
    )
    single = {"backend": "reference", "opponent": opponent, **options}
    theirs = SyncVectorEnv([lambda: FastEnv(game, **single)] * N, autoreset_mode=mode)
    return ours, theirs


def explain(ours, theirs):
    """Return what differs, of two results of a step or reset."""
    found = []
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(a, dict):
            keys = [k for k in a | b if k not in a or k not in b]
            keys += [k for k in a if k in b and not data_equivalence(a[k], b[k], exact=True)]
            found += [(i, k, a.get(k), b.get(k)) for k in keys]
        elif not data_equivalence(a, b, exact=True):
            found.append((i, a, b))
    return found


@walk(
    ("mode", "backend", "opponent"),
    diagonal(list(AutoresetMode), ["reference", "fast"], ["random", "fast"]),
)
def test_exactly_equal_to_sync_vector_env(mode, backend, opponent):
    ours, theirs = pair(mode, backend, opponent)
    rng, done, ends = np.random.default_rng(0), np.zeros(N, bool), 0
    a, b = ours.reset(seed=5), theirs.reset(seed=5)
    for step in range(90):
        assert data_equivalence(a, b, exact=True), (step, explain(a, b))
        if mode == AutoresetMode.DISABLED and done.any():
            lanes = done | (rng.random(N) < 0.3)
            a, b = (v.reset(options={"reset_mask": lanes.copy()}) for v in (ours, theirs))
            done[:] = False
            continue
        if step % 40 == 39:
            seeds = [None, 7, None, 9]
            a, b = ours.reset(seed=seeds), theirs.reset(seed=seeds)
            done[:] = False
            continue
        actions = rng.integers(0, 4, N)
        a, b = ours.step(actions), theirs.step(actions)
        done = a[2] | a[3]
        ends += done.sum()
    assert ends > N
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata == theirs.metadata


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_chosen_columns_are_those_of_sync_vector_env(mode):
    ours, theirs = pair(mode, FASTEST, "random", info_columns=("needs", "gain", "mood", "clock"))
    a, b = ours.reset(seed=1), theirs.reset(seed=1)
    for step in range(25):
        assert data_equivalence(a, b, exact=True), (step, explain(a, b))
        if mode == AutoresetMode.DISABLED and step and (a[2] | a[3]).any():
            break
        a, b = (vec.step(np.full(N, step % 4)) for vec in (ours, theirs))


def test_wrappers_of_gymnasium_work_on_dict_observations():
    vec = wrappers.RecordEpisodeStatistics(
        FastVectorEnv(RaceGame(goal=8), N, opponent="random", autoreset_mode="next_step")
    )
    vec = wrappers.DictInfoToList(vec)
    obs, infos = vec.reset(seed=0)
    assert vec.observation_space.contains(obs)
    found = []
    for step in range(60):
        obs, *_, infos = vec.step(np.full(N, step % 4))
        assert vec.observation_space.contains(obs)
        found += [i for i in infos if "episode" in i]
    assert found
    for info in found:
        assert info["episode"]["r"] == info["episode_return"]


@pytest.mark.parametrize("copied", [True, False])
def test_results_are_copies_unless_asked_otherwise(copied):
    vec = FastVectorEnv(RaceGame(), N, opponent="slow", copy=copied)
    vec.reset(seed=0)
    obs, reward, *_, infos = vec.step(np.ones(N, int))
    for name, array in obs.items():
        assert np.shares_memory(array, vec.engine.obs[name]) is not copied
    assert (reward is vec.engine.reward) is not copied
    assert reward.dtype == np.float64
    assert np.shares_memory(infos["places"], vec.engine.info["places"]) is not copied
    assert np.shares_memory(infos["tau"], vec.engine.tau) is not copied


# -- all agents ------------------------------------------------------------------------------------


@walk("mode", ["next_step", "same_step"])
@walk("backend", BACKENDS)
def test_all_agents_through_the_vector_interface(backend, mode):
    vec = FastVectorEnv(
        RaceGame(goal=8), N, backend=backend, agents="all", autoreset_mode=mode, render_mode="ansi"
    )
    assert vec.single_action_space == spaces.MultiDiscrete([4, 4])
    assert vec.action_space.shape == (N, 2)
    assert vec.action_space.contains(np.full((N, 2), 3))
    assert vec.single_observation_space["me"].shape == (2, 2, 2)
    assert vec.single_observation_space["clock"].shape == (2,)
    assert vec.observation_space["ahead"].shape == (N, 2, 6)
    obs, infos = vec.reset(seed=3)
    assert vec.observation_space.contains(obs)
    assert infos["action_mask"].shape == vec.action_masks().shape == (N, 2, 4)
    assert len(vec.render()) == N
    engine = engine_of(backend, N, RaceGame(goal=8), seed=3)
    rng, ends, pending = np.random.default_rng(0), 0, np.zeros(N, bool)
    for _ in range(60):
        actions = sample_legal(vec.action_masks(), rng)
        obs, reward, terminated, truncated, infos = vec.step(actions)
        if mode == "same_step":
            engine.step_many(actions)
        else:
            engine.step_many(actions, select=~pending, autoreset=False)
            kept = engine.reward.copy(), engine.terminated.copy(), engine.truncated.copy()
            if pending.any():
                engine.reset_many(mask=pending)
            assert np.array_equal(kept[0], reward)
        assert vec.observation_space.contains(obs)
        for name, array in obs.items():
            assert np.array_equal(array, engine.obs[name]), name
        if mode == "same_step":
            assert np.array_equal(reward, engine.reward)
        assert reward.shape == infos["tau"].shape == infos["gain"].shape == (N, 2)
        done = terminated | truncated
        assert done.shape == (N,)
        if done.any():
            ends += done.sum()
            known = infos["final_info"] if mode == "same_step" else infos
            assert known["episode_return"].shape == (N, 2)
            assert known["episode_length"].shape == known["episode_frames"].shape == (N,)
            assert known["episode_return"][~done].any() == 0
            assert np.array_equal(known["episode_return"][done], engine.ep_return[done])
            if mode == "same_step":
                lane = int(done.argmax())
                assert infos["final_obs"][lane]["me"].shape == (2, 2, 2)
        pending = done if mode == "next_step" else pending
    assert ends > N


def test_all_of_one_agent_is_that_agent():
    vec, plain = FastVectorEnv(WalkGame(), N, agents="all"), FastVectorEnv(WalkGame(), N)
    assert vec.observation_space == plain.observation_space
    assert data_equivalence(vec.reset(seed=0), plain.reset(seed=0), exact=True)


@pytest.mark.parametrize("agents", ["one", "all"])
@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_step_into_writes_what_step_returns(mode, agents):
    options = {"agents": agents, "opponent": "random" if agents == "one" else None}
    a, b = (FastVectorEnv(RaceGame(goal=8), N, autoreset_mode=mode, **options) for _ in "ab")
    for vec in (a, b):
        vec.reset(seed=1)
    out, rng = allocate(b), np.random.default_rng(0)
    assert out.obs.dtype.names == ("ahead", "me", "clock")
    for step in range(40):
        actions = rng.integers(0, 4, a.action_space.shape)
        obs, reward, terminated, truncated, infos = a.step(actions)
        b.step_into(actions, out if step % 2 else vars(out))
        for name, array in obs.items():
            assert np.array_equal(array, out.obs[name])
        assert np.array_equal(reward, out.reward)
        assert np.array_equal(terminated, out.terminated)
        assert np.array_equal(truncated, out.truncated)
        assert np.array_equal(a.action_masks(), out.mask)
        fresh = terminated | truncated if mode == "same_step" else np.zeros(N, bool)
        assert np.array_equal(infos["tau"][~fresh], out.tau[~fresh])
    b.step_into(actions, StepBuffers(terminated=np.zeros(N, bool)))
