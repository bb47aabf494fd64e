"""Structured observations and several agents where others take them: SB3 and torch."""

import warnings

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

import fastenv
from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.engine import BatchEngine
from fastenv.env import FastEnv
from fastenv.vector import FastVectorEnv, allocate
from tests.needs import FASTEST
from tests.race import BACKENDS, engine_of, without_scalars
from tests.slow import diagonal
from tests.tables import walk
from tests.toy import RACE_OBS, RaceGame

N = 4
every_backend = pytest.mark.parametrize("backend", BACKENDS)


def batch(backend=FASTEST, opponent="random", engine_options=None, **options):
    game = without_scalars(goal=8)
    engine = BatchEngine(game, N, backend, opponent=opponent, **(engine_options or {}))
    return BatchVecEnv(engine, **options)


def dummy(opponent="random"):
    one = lambda: Monitor(FastEnv(without_scalars(goal=8), backend="reference", opponent=opponent))  # noqa: E731
    return DummyVecEnv([one] * N)


@every_backend
def test_sb3_has_nothing_to_say(backend):
    env = FastEnv(without_scalars(), backend=backend, opponent="random", render_mode="ansi")
    with warnings.catch_warnings():  # SB3 would rather have all arrays flat
        warnings.filterwarnings("ignore", message="Your observation me has an unconventional shape")
        check_env(env, skip_render_check=False)


@walk(("opponent", "backend"), diagonal(["random", "slow"], BACKENDS))
def test_equal_to_dummy_vec_env(backend, opponent):
    """All but the length of an episode, which has a test of its own below."""
    ours, theirs = batch(backend, opponent), dummy(opponent)
    assert isinstance(ours.observation_space, spaces.Dict)
    assert ours.observation_space == theirs.observation_space
    for venv in (ours, theirs):
        venv.seed(11)
    a, b = ours.reset(), theirs.reset()
    rng, ended = np.random.default_rng(0), 0
    for _ in range(80):
        assert set(a) == set(b)
        for name in a:
            assert (a[name].dtype, a[name].tobytes()) == (b[name].dtype, b[name].tobytes())
        masks = np.stack(theirs.env_method("action_masks"))
        assert np.array_equal(np.stack(ours.env_method("action_masks")), masks)
        actions = rng.integers(0, 4, N)
        (a, ra, da, ia), (b, rb, db, ib) = ours.step(actions), theirs.step(actions)
        assert (ra.dtype, ra.tobytes()) == (rb.dtype, rb.tobytes())
        assert (da.dtype, da.tobytes()) == (db.dtype, db.tobytes())
        assert [i["tau"] for i in ia] == [i["tau"] for i in ib]
        for i in np.flatnonzero(da):
            ended += 1
            last, like = ia[i]["terminal_observation"], ib[i]["terminal_observation"]
            assert {k: v.tolist() for k, v in last.items()} == {
                k: v.tolist() for k, v in like.items()
            }
            assert ia[i]["TimeLimit.truncated"] is ib[i]["TimeLimit.truncated"]
            assert ia[i]["episode"]["r"] == ib[i]["episode"]["r"]
    assert ended > N


def test_the_length_of_an_episode_is_monitors():
    ours, theirs = batch(), dummy()
    for venv in (ours, theirs):
        venv.seed(11)
        venv.reset()
    ended = 0
    for _ in range(60):
        steps = [venv.step(np.ones(N, np.int64)) for venv in (ours, theirs)]
        for i in np.flatnonzero(steps[0][2]):
            ended += 1
            assert steps[0][3][i]["episode"]["l"] == steps[1][3][i]["episode"]["l"]
    assert ended > N


def test_what_sb3_keeps_of_a_step_is_not_overwritten_by_the_next():
    venv = batch(obs_buffers="pingpong")
    kept = venv.reset()
    for _ in range(20):
        value = {name: array.copy() for name, array in kept.items()}
        obs = venv.step(np.ones(N, np.int64))[0]
        assert all(np.array_equal(kept[name], value[name]) for name in kept)
        kept = obs
    fresh = batch()
    seen = [fresh.reset()] + [fresh.step(np.ones(N, np.int64))[0] for _ in range(4)]
    for i, obs in enumerate(seen):
        assert not any(np.shares_memory(obs["me"], other["me"]) for other in seen[:i])


def test_columns_of_any_shape_reach_the_infos_of_ended_episodes():
    venv = batch(info_columns=("clock", "mood", "apart", "places", "progress"))
    venv.reset()
    found = []
    for _ in range(40):
        found += [i for i in venv.step(np.full(N, 2))[3] if "episode" in i]
    assert found
    for info in found:
        assert type(info["clock"]) is int
        assert info["mood"] in ("behind", "even", "ahead")
        assert type(info["apart"]) is bool
        assert type(info["progress"]) is float
        assert np.shape(info["places"]) == (2,)
    assert [len(v) for v in venv.get_attr("places")] == [2] * N
    assert set(venv.get_attr("mood")) <= {"behind", "even", "ahead"}


def test_an_engine_of_several_agents_is_refused():
    with pytest.raises(ValueError, match=r"engine shows 2 agents, SB3 takes one: .*opponent="):
        BatchVecEnv(BatchEngine(RaceGame(), N, "reference"))


def test_wrappers_of_sb3_work_on_top():
    venv = VecNormalize(VecMonitor(batch(monitor=False)), norm_obs_keys=["me"])
    venv.reset()
    episodes = []
    for _ in range(40):
        obs, rewards, _, infos = venv.step(np.ones(N, np.int64))
        assert np.isfinite(obs["me"]).all()
        assert np.isfinite(rewards).all()
        episodes += [i["episode"] for i in infos if "episode" in i]
    assert episodes


@pytest.mark.parametrize("backend", ["reference", "fast"])
def test_ppo_learns_from_dicts(backend):
    options = {"n_steps": 16, "batch_size": 32, "n_epochs": 1, "device": "cpu", "seed": 0}
    venv = batch(backend)
    model = PPO("MultiInputPolicy", venv, policy_kwargs={"net_arch": [8]}, **options)
    before = model.policy.state_dict()["action_net.weight"].clone()
    model.learn(3 * 16 * N)
    assert model.num_timesteps == 3 * 16 * N
    assert not before.equal(model.policy.state_dict()["action_net.weight"])


# -- torch -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("opponent", [None, "random"])
@pytest.mark.parametrize("n", [1, 7])
def test_torch_takes_every_field_where_it_lies(opponent, n):
    torch = pytest.importorskip("torch")
    engine = engine_of(FASTEST, n, opponent=opponent)
    tensors = {name: torch.from_numpy(engine.obs[name]) for name in RACE_OBS.names}
    final = {name: torch.from_numpy(engine.final_obs[name]) for name in RACE_OBS.names}
    info = {name: torch.from_numpy(column) for name, column in engine.info.items()}
    engine.step_many(np.zeros(engine.mask.shape[:-1], int))
    for name, tensor in tensors.items():
        assert tensor.data_ptr() == engine.obs[name].ctypes.data
        assert np.array_equal(tensor.numpy(), engine.obs[name])
    for name, tensor in info.items():
        assert tensor.data_ptr() == engine.info[name].ctypes.data
        assert np.array_equal(tensor.numpy(), engine.info[name])
    for name, tensor in final.items():
        assert tensor.data_ptr() == engine.final_obs[name].ctypes.data


def test_torch_takes_destinations_and_views_without_a_copy():
    torch = pytest.importorskip("torch")
    vec = FastVectorEnv(RaceGame(), N, opponent="fast", copy=False)
    obs, _ = vec.reset(seed=0)
    for name, array in obs.items():
        assert torch.from_numpy(array).data_ptr() == vec.engine.obs[name].ctypes.data
    out = allocate(vec)
    tensors = {name: torch.from_numpy(out.obs[name]) for name in RACE_OBS.names}
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    for _ in range(5):
        vec.step_into(np.full(N, 2), out)
    assert not before["clock"].equal(tensors["clock"])
    assert np.array_equal(fastenv.sample_legal(torch.from_numpy(out.mask), 0).shape, (N,))
