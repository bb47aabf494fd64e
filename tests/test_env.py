"""The single environment and the public constructors."""

import numpy as np
import pytest

import fastenv
from fastenv.engine import rng_streams
from fastenv.env import FastEnv
from fastenv.vector import FastVectorEnv
from tests.tables import walk
from tests.toy import WalkGame

BACKENDS = ("reference", "numba", "cython", "fast")


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture
def env(backend):
    return FastEnv(WalkGame(), backend=backend)


def play(env, actions):
    """Return what an episode gives, as bytes."""
    out = []
    for action in actions:
        obs, reward, terminated, truncated, info = env.step(action)
        out.append((obs.tobytes(), reward, terminated, truncated, sorted(info)))
        if terminated or truncated:
            break
    return out


def test_a_seed_also_fixes_the_episodes_after_the_first(env):
    env.reset(seed=3)
    seconds = [env.reset()[0] for _ in range(5)]
    env.reset(seed=3)
    assert all(np.array_equal(o, env.reset()[0]) for o in seconds)


@walk("seed", [-1, 2**64, 10**5000], ids=range(3))
def test_a_seed_that_another_one_would_equal_is_refused(env, seed):
    env.reset(seed=2**64 - 1)
    before, stream = env.get_state(), env.np_random
    with pytest.raises(fastenv.ConfigError, match=r"^seed=.*: it must be from 0 to 2\*\*64 - 1\.$"):
        env.reset(seed=seed)
    assert env.get_state() == before
    assert env.np_random is stream


def test_without_a_seed_one_is_drawn_from_np_random(env):
    env.np_random = np.random.default_rng(0)
    first, _ = env.reset()
    other = FastEnv(WalkGame())
    other.reset(seed=int(np.random.default_rng(0).integers(2**63)))
    assert np.array_equal(first, other.engine.obs[0])


def test_a_step_returns_plain_python_and_fresh_arrays(env):
    env.reset(seed=0)
    obs, reward, terminated, truncated, info = env.step(np.int64(1))
    kept, mask = obs.copy(), info["action_mask"].copy()
    assert type(reward) is float
    assert type(terminated) is bool
    assert type(truncated) is bool
    assert info["action_mask"].dtype == np.int8
    assert type(info["position"]) is np.int32
    assert type(info["distance"]) is np.float32
    assert env.action_masks().dtype == np.bool_
    later = env.step(0)
    assert np.array_equal(obs, kept)
    assert np.array_equal(info["action_mask"], mask)
    assert not np.shares_memory(obs, later[0])


def test_the_end_of_an_episode_is_told_once(env):
    env.reset(seed=0)
    total, length, done = 0.0, 0, False
    while not done:
        _, reward, terminated, truncated, info = env.step(1)
        total, length, done = total + reward, length + 1, terminated or truncated
        assert done == ("episode_return" in info)
    assert (info["episode_return"], info["episode_length"]) == (total, length)
    assert info["action_mask"].all()
    with pytest.raises(fastenv.ResetNeededError, match=r"reset\(\) before step"):
        env.step(1)
    env.reset()
    env.step(1)


def test_integers_of_any_kind_are_taken(env):
    env.reset(seed=0)
    for action in (1, np.int8(0), np.uint64(0), np.array(0)):
        env.step(action)


def test_an_illegal_action_is_refused_by_name():
    env = FastEnv(WalkGame(raise_illegal=True))
    env.reset(seed=0)
    while not env.get_state()["position"] % 2:
        env.step(1)
    with pytest.raises(fastenv.InvalidActionError, match=r"action 2 .* ODD.*\[0, 1\]"):
        env.step(2)


def test_any_integer_goes_through_where_the_game_says_so():
    env = FastEnv(WalkGame(any_integer=True))
    env.reset(seed=0)
    env.step(2**70)
    env.step(-5)
    assert env.get_state()["illegal"] == 2


@pytest.mark.parametrize("action", [True, 1.0, np.float32(1), np.array(1.0), np.bool_(True)])
def test_whole_numbers_of_any_type_count_where_the_game_says_so(action):
    env, twin = FastEnv(WalkGame(any_integer=True)), FastEnv(WalkGame(any_integer=True))
    for one in (env, twin):
        one.reset(seed=1)
    assert env.step(action)[0].tobytes() == twin.step(1)[0].tobytes()


@walk("action", [0.5, float("nan"), float("inf"), None, "1", [1], np.array([1])])
def test_what_is_no_number_is_refused_by_every_game(action):
    env = FastEnv(WalkGame(any_integer=True))
    env.reset(seed=1)
    before = env.get_state()
    with pytest.raises(fastenv.InvalidActionError):
        env.step(action)
    assert env.get_state() == before


def test_a_state_can_be_branched_from(env):
    env.reset(seed=5)
    env.step(1)
    row = env.get_state()
    a = play(env, [1, 0, 1, 1])
    env.set_state(row)
    assert play(env, [1, 0, 1, 1]) == a
    other = FastEnv(WalkGame())
    other.set_state(row)
    assert play(other, [1, 0, 1, 1]) == a


@walk("n", [0, 2, 3])
def test_one_environment_loads_one_state(env, n):
    env.reset(seed=5)
    before = env.get_state()
    with pytest.raises(fastenv.StateError, match=f"row: must be one state, got {n}"):
        env.set_state(np.repeat(before, n))
    assert env.get_state() == before
    env.set_state(np.repeat(before, 1))


def test_render_modes_are_those_of_the_game():
    env = FastEnv(WalkGame(), render_mode="ansi")
    with pytest.raises(fastenv.ResetNeededError):
        env.render()
    env.reset(seed=0)
    assert env.render().startswith("0 of ")
    picture = FastEnv(WalkGame(), render_mode="rgb_array")
    picture.reset(seed=0)
    assert picture.render().dtype == np.uint8
    with pytest.raises(fastenv.ConfigError, match="'ansi', 'rgb_array'"):
        FastEnv(WalkGame(), render_mode="human")


def test_close_may_be_called_twice(env):
    env.reset(seed=0)
    env.close()
    env.close()
    with pytest.raises(fastenv.ResetNeededError):
        env.step(0)


@pytest.mark.parametrize("prefix", ["", "fastenv/"])
def test_make_takes_ids_with_and_without_the_namespace(prefix):
    env = fastenv.make(prefix + "SkullKingWorker-v0", backend="reference")
    assert env.backend == "reference"
    assert env.spec.id == "fastenv/SkullKingWorker-v0"
    vec = fastenv.make_vec(prefix + "SkullKingWorker-v0", 2, use_cython=False)
    assert (vec.backend, vec.num_envs) == ("reference", 2)


@walk(
    ("options", "message"),
    [
        ({"env_id": "Chess-v0"}, "SkullKingFlat-v0"),
        ({"num_players": 9}, "num_players.*2 to 8"),
        ({"opponents": "wizard"}, "opponents.*rule_hard"),
        ({"schedule": (3, 0)}, "schedule.*1 to 10"),
        ({"schedule": 5}, "schedule=5.*a name or one hand size a round"),
        ({"deck": None}, "deck=None.*the name of a deck"),
        ({"colour": "red"}, "colour"),
        ({"tier": "flat"}, "tier is fixed"),
        ({"backend": "turbo"}, "backend.*'fast'"),
        ({"backend": "fast", "use_numba": False}, "use_numba"),
        ({"render_mode": "human"}, "render_mode.*'ansi'"),
    ],
)
def test_impossible_configurations_are_refused_by_name(options, message):
    options = {"env_id": "SkullKingWorker-v0", **options}
    with pytest.raises(fastenv.ConfigError, match=message):
        fastenv.make(**options)
    with pytest.raises(fastenv.ConfigError, match=message):
        fastenv.make_vec(num_envs=2, **options)


@walk("env_id", [[], None, 3, b"Prospector-v0", {}, "", "fastenv/"], ids=repr)
@walk(
    "make",
    [
        fastenv.make,
        lambda name: fastenv.make_vec(name, 2),
        lambda name: fastenv.make_engine(name, 2),
    ],
    ids=["make", "make_vec", "make_engine"],
)
def test_ids_that_are_none_are_refused(make, env_id):
    with pytest.raises(fastenv.ConfigError, match="must be one of fastenv/"):
        make(env_id)


@walk("game", [[], None, 3, b"Prospector-v0", WalkGame], ids=repr)
def test_games_that_are_none_are_refused(game):
    for make in (FastEnv, lambda each, **options: FastVectorEnv(each, 2, **options)):
        for options in ({}, {"goal": 3}):
            with pytest.raises(fastenv.ConfigError, match=r"game=.* must be an id or a Game"):
                make(game, **options)


@walk("env_id", ["SkullKingFlat-v0", "Prospector-v0"])
@walk("kind", [True, None, [], {}, 3, "", np.array(["random"])], ids=repr)
def test_bots_that_are_none_are_refused(env_id, kind):
    env = fastenv.make(env_id, backend="reference")
    env.reset(seed=0)
    with pytest.raises(fastenv.ConfigError, match=r"bot .* must be one of"):
        env.engine.bot_actions(kind, rng_streams(0, 1))
