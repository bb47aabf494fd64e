"""A game of several agents shown as one with one: the engine, and the single environment."""

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env, data_equivalence

import fastenv
from fastenv.env import FastEnv
from fastenv.vector import FastVectorEnv
from tests.race import BACKENDS, engine_of, everything, rows_of
from tests.toy import RaceGame, WalkGame

N = 4
every_backend = pytest.mark.parametrize("backend", BACKENDS)
every_opponent = pytest.mark.parametrize("opponent", ["random", "fast"])


# -- the engine ------------------------------------------------------------------------------------


@every_backend
def test_one_agent_is_shown_without_an_axis(backend):
    engine = engine_of(backend, N, opponent="random")
    assert engine.num_agents == 1
    for name in ("obs", "final_obs", "reward", "tau", "terms", "ep_return", "ep_frames"):
        assert getattr(engine, name).shape == (N,), name
    assert engine.mask.shape == (N, 4)
    assert engine.info["places"].shape == (N, 2)
    assert engine.needs_action().tolist() == [[True]] * N
    rows = engine.get_states()
    assert (rows["needs_action"][:, 0] == 1).all()
    assert engine.encode_obs_many(rows[:3]).shape == (3,)
    assert engine.action_masks_many(rows[:3]).shape == (3, 4)
    assert np.array_equal(engine.encode_obs_many(rows), engine.obs)


@every_backend
@every_opponent
def test_a_step_goes_on_to_the_agents_next_decision(backend, opponent):
    """Beside an engine of both, played by hand with the same bot: rewards add up, tau spans."""
    one = engine_of(backend, N, RaceGame(goal=12), opponent=opponent)
    both = engine_of(backend, N, RaceGame(goal=12))
    both.set_states(one.get_states())
    rng = np.random.default_rng(3)
    waits = 0
    for _ in range(40):
        actions = rng.integers(0, 4, N)
        one.step_many(actions, autoreset=False)
        reward, gain, moving = np.zeros(N), np.zeros(N, np.float32), ~both.ended
        tau, given = one.tau.copy(), actions
        while moving.any():
            rows = both.get_states()
            other = both.bot_actions(opponent, agent=1)
            if not moving.all():  # bots of lanes that wait draw nothing
                both.set_states(rows[~moving], ~moving)
            both.step_many(np.stack([given, other], 1), select=moving, autoreset=False)
            reward += both.reward[:, 0]
            gain += both.terms["gain"][:, 0]
            tau[moving] = both.tau[moving, 0]
            moving = moving & ~both.ended & ~both.needs_action()[:, 0]
            waits += moving.sum()
        assert one.reward.tolist() == reward.tolist()
        assert one.terms["gain"].tolist() == gain.tolist()
        assert one.tau.tolist() == tau.tolist()
        assert np.array_equal(one.get_states(), both.get_states())
        assert np.array_equal(one.obs, both.obs[:, 0])
        assert np.array_equal(one.mask, both.mask[:, 0])
        assert one.ended.tolist() == both.ended.tolist()
        if one.ended.any():
            for name in ("ep_return", "final_obs"):
                ours, theirs = getattr(one, name), getattr(both, name)
                assert np.array_equal(ours[one.ended], theirs[one.ended, 0])
            assert np.array_equal(one.ep_frames[one.ended], both.ep_frames[one.ended])
            one.reset_many(mask=one.ended.copy())
            both.set_states(one.get_states())
    assert waits > N


@every_backend
def test_lanes_that_are_not_selected_show_nothing_of_what_happened_behind_them(backend):
    """Before the agent's first decision the other one has decided already, in some lanes."""
    engine = engine_of(backend, 40, opponent="random")
    assert engine.get_states()["place"][:, 1].any()
    assert not engine.tau.any()
    assert not engine.reward.any()
    obs, select = engine.obs.copy(), np.arange(40) % 2 == 0
    engine.step_many(np.ones(40, int), select=select)
    assert engine.tau[select].all()
    for column in (engine.tau, engine.reward, engine.terms["progress"], engine.info["gain"]):
        assert not column[~select].any()
    assert np.array_equal(engine.obs[~select], obs[~select])


@pytest.mark.parametrize("backend", ["fast"])
def test_the_episodes_length_counts_the_agents_own_decisions(backend):
    """As everybody does who counts the steps of the environment, Monitor of SB3 among them."""
    engine = engine_of(backend, N, RaceGame(goal=12), opponent="random")
    steps, ends = np.zeros(N, int), 0
    for _ in range(60):
        engine.step_many(np.ones(N, int))
        steps += 1
        done = (engine.terminated | engine.truncated) != 0
        assert engine.ep_length[done].tolist() == steps[done].tolist()
        steps[done] = 0
        ends += done.sum()
    assert ends > N


@every_backend
def test_an_illegal_action_is_refused_and_nothing_has_moved(backend):
    game = RaceGame(raise_illegal=True)
    engine = engine_of(backend, N, game, opponent="fast")
    fields = {"board": 0, "place": 0, "ready_at": (1, 4), "clock": 1, "needs_action": (1, 0)}
    rows = rows_of(game, N, **fields)
    rows["board"][2, 2] = 9
    engine.set_states(rows)
    before = everything(engine)
    with pytest.raises(fastenv.InvalidActionError, match=r"lane 2: action 3 .*legal are \[0, 1\]"):
        engine.step_many(np.full(N, 3))
    for wrong in (np.full((N, 2), 1), np.full((N, 1), 1), np.full(N, 4), np.full(N, -1)):
        with pytest.raises(fastenv.InvalidActionError):
            engine.step_many(wrong)
    assert everything(engine) == before
    engine.step_many(np.ones(N, int))


# -- Gymnasium: one --------------------------------------------------------------------------------


@every_backend
@every_opponent
def test_gymnasium_has_nothing_to_say(backend, opponent):
    env = FastEnv(RaceGame(), backend=backend, opponent=opponent)
    check_env(env, skip_render_check=True)  # that one needs an id


@every_backend
def test_observations_are_dicts_of_fresh_arrays(backend):
    env = FastEnv(RaceGame(), backend=backend, opponent="random")
    assert list(env.observation_space) == ["ahead", "clock", "me"]
    assert env.observation_space["ahead"] == spaces.Box(0, 9, (6,), np.uint8)
    assert env.observation_space["me"] == spaces.Box(-100, 100, (2, 2), np.float32)
    assert env.observation_space["clock"] == spaces.Box(0, 32767, (), np.int16)
    obs, _ = env.reset(seed=0)
    for name, space in env.observation_space.items():
        assert isinstance(obs[name], np.ndarray), name
        assert space.contains(obs[name]), name
    kept = {name: array.copy() for name, array in obs.items()}
    for _ in range(3):
        after = env.step(1)[0]
    assert data_equivalence(obs, kept, exact=True)
    assert not any(np.shares_memory(after[name], env.engine.obs) for name in after)
    for array in after.values():
        array[...] = 1  # theirs to write


@every_backend
def test_infos_have_all_types_of_columns(backend):
    env = FastEnv(RaceGame(goal=6), backend=backend, opponent="random")
    _, info = env.reset(seed=0)
    columns = ("clock", "places", "apart", "mood", "share", "needs", "gain", "progress", "tau")
    assert set(info) == {*columns, "action_mask"}
    assert info["tau"] == 0
    done, total, frames = False, 0.0, 0
    clock = info["clock"]
    while not done:
        _, reward, terminated, truncated, info = env.step(2)
        assert type(info["clock"]) is int
        assert type(info["apart"]) is bool
        assert info["mood"] in ("behind", "even", "ahead")
        assert type(info["share"]) is np.float32
        assert type(info["progress"]) is float
        assert (info["places"].dtype, info["places"].shape) == (np.int32, (2,))
        assert (info["needs"].dtype, info["needs"].shape) == (np.uint8, (2,))
        assert info["apart"] == (info["places"][0] != info["places"][1])
        frames, clock = frames + info["clock"] - clock, info["clock"]
        total, done = total + reward, terminated or truncated
        assert info["tau"] > 0
    assert info["episode_return"] == total
    assert type(info["episode_length"]) is type(info["episode_frames"])
    assert info["episode_frames"] >= frames  # those before the first decision count too
    assert info["action_mask"].all()


@every_backend
def test_columns_may_be_chosen_and_ordered(backend):
    wanted = ("progress", "needs", "share", "places")
    env = FastEnv(RaceGame(), backend=backend, opponent="slow", info_columns=wanted)
    whole = FastEnv(RaceGame(), backend=backend, opponent="slow", info_columns=(*wanted, "clock"))
    for one in (env, whole):
        one.reset(seed=2)
    for action in (1, 2, 0, 3):
        ours, theirs = env.step(action)[4], whole.step(action)[4]
        assert set(ours) == {*wanted, "tau", "action_mask"}
        del theirs["clock"]
        assert data_equivalence(ours, theirs, exact=True)


def test_a_game_of_several_agents_needs_an_opponent_or_all_of_them():
    for make in (FastEnv, lambda game: FastVectorEnv(game, 2)):
        with pytest.raises(fastenv.ConfigError, match=r"opponent=None: .*name the scripted player"):
            make(RaceGame())
    with pytest.raises(fastenv.ConfigError, match="opponent='slow': with agents='all'"):
        FastVectorEnv(RaceGame(), 2, agents="all", opponent="slow")
    with pytest.raises(fastenv.ConfigError, match="agents='some': must be one of 'one', 'all'"):
        FastVectorEnv(RaceGame(), 2, agents="some", opponent="slow")
    with pytest.raises(fastenv.ConfigError, match="'slowly': must be one of random, slow, fast"):
        FastEnv(RaceGame(), opponent="slowly")
    with pytest.raises(fastenv.ConfigError, match="opponent='walker': this game has one agent"):
        FastEnv(WalkGame(), opponent="walker")
