"""Foreign environments as lanes of an engine: the same play as by hand, and every refusal."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
from types import SimpleNamespace

import gymnasium
import numpy as np
import psutil
import pytest
from gymnasium import spaces
from pettingzoo.classic.connect_four import connect_four

import fastenv
import training  # noqa: F401 (registers how foreign names are found)
from fastenv.errors import ConfigError, FastEnvError, StateError
from tests.slow import late
from tests.tables import walk
from tests.training.foreign.environments import Ladder, Nim, Race
from training.foreign.spaces import Actions, ForeignError, Observation
from training.nets.layout import fields_of
from training.run import envs

HERE = "tests.training.foreign.environments"
SEED = 5


def play(name, lanes=4, steps=60, threads=1, **options):
    """Play random legal actions; return what every step shows, as bytes."""
    engine = envs.make_engine(name, lanes, options, num_threads=threads)
    engine.reset_many(seeds=SEED)
    rng, seen = np.random.default_rng(0), [bytes_of(engine.obs) + bytes_of(engine.mask)]
    for _ in range(steps):
        engine.step_many(fastenv.sample_legal(engine.mask, rng=rng))
        over = (engine.terminated | engine.truncated) != 0
        ended = engine.final_obs[over], engine.ep_return[over], engine.ep_length[over]
        columns = (engine.obs, engine.mask, engine.reward, engine.terminated, engine.truncated)
        seen.append(b"".join(map(bytes_of, (*columns, *ended))))
    return seen


def bytes_of(array):
    """Return the bytes of an array, field by field: what lies between them is anything."""
    names = array.dtype.names
    return array.tobytes() if names is None else b"".join(bytes_of(array[name]) for name in names)


@walk("name", ["CartPole-v1", "Acrobot-v1", "Taxi-v4", "Blackjack-v1", "FrozenLake-v1"])
def test_lanes_play_as_the_environments_do_by_hand(name):
    lanes, rng = 3, np.random.default_rng(0)
    engine = envs.make_engine(name, lanes)
    alone = [gymnasium.make(name) for _ in range(lanes)]
    engine.reset_many(seeds=SEED)
    shown = [env.reset(seed=SEED + i)[0] for i, env in enumerate(alone)]
    write = engine.game.form.observation.write
    for step in range(80):
        wanted = np.zeros_like(engine.obs)
        for i, obs in enumerate(shown):
            write(obs, wanted[i])
        np.testing.assert_array_equal(engine.obs, wanted, f"step {step}, seed {SEED}")
        actions = rng.integers(engine.num_actions, size=lanes).astype(np.int32)
        engine.step_many(actions)
        for i, env in enumerate(alone):
            shown[i], reward, terminated, truncated, _ = env.step(int(actions[i]))
            assert engine.reward[i] == np.float32(reward)
            assert engine.terminated[i] == terminated
            assert engine.truncated[i] == (truncated and not terminated)
            if terminated or truncated:
                write(shown[i], wanted[i])
                np.testing.assert_array_equal(engine.final_obs[i], wanted[i])
                shown[i], _ = env.reset()


@walk("mode", ["NextStep", "SameStep", "Disabled"])
def test_vectors_play_as_single_environments_in_every_mode(mode):
    for single, vector in (("CartPole-v1", "make_vector"), (f"{HERE}:Ladder", "make_ladders")):
        assert play(f"{HERE}:{vector}", mode=mode) == play(single)


@walk("mode", ["NextStep", "SameStep", "Disabled"])
def test_masks_of_vectors_are_those_of_single_environments(mode):
    """Also where nothing is legal at the end, or some lanes have none, or they have a name more."""
    usual = play(f"{HERE}:Ladder")
    for wrong in ("blind", "plural"):
        assert play(f"{HERE}:Ladder", wrong=wrong) == usual
        assert play(f"{HERE}:make_ladders", mode=mode, wrong=wrong) == usual
    single = play(f"{HERE}:Ladder", wrong="sometimes")
    assert play(f"{HERE}:make_ladders", mode=mode, wrong="sometimes") == single != usual


@walk("mode", ["NextStep", "SameStep", "Disabled", *late("processes")])
def test_masks_of_vectors_come_from_a_method_of_their_environments(mode):
    for env in ("Grid", "Strict"):
        assert play(f"{HERE}:make_by_method", mode=mode, env=env) == play(f"{HERE}:{env}")


def test_a_vector_that_resets_no_single_lanes_is_known_as_such():
    for still in (False, True):
        with pytest.raises(ConfigError, match="resets lanes on the next step alone"):
            fastenv.make_game(f"{HERE}:Counters", still=still)
        game = fastenv.make_game(f"{HERE}:Counters", still=still, mode="SameStep")
        assert not game.form.resets_lanes
    assert fastenv.make_game(f"{HERE}:make_by_method", env="Strict").form.resets_lanes


@walk("name", [f"{HERE}:Ladder", *late("CartPole-v1", f"{HERE}:Race", f"{HERE}:Nim")])
def test_processes_play_as_one_does(name):
    assert play(name, threads=2, steps=30) == play(name, steps=30)


def test_lanes_that_wait_in_a_vector_do_not_move_the_others():
    """As an evaluation plays: lanes whose episode is over wait, and begin again together."""
    for mode in ("NextStep", "SameStep", "Disabled"):
        both = [
            envs.make_engine(name, 3, options)
            for name, options in (
                ("CartPole-v1", {}),
                (f"{HERE}:make_vector", {"mode": mode}),
            )
        ]
        for first in (SEED, SEED + 3):
            for engine in both:
                engine.reset_many(seeds=first)
            while not both[0].ended.all():
                for engine in both:
                    lanes = ~engine.ended
                    actions = np.arange(3, dtype=np.int32) % 2
                    engine.step_many(actions, select=lanes, autoreset=False)
                for name in ("obs", "reward", "terminated", "truncated", "ended"):
                    here, there = (getattr(engine, name) for engine in both)
                    kept = ~both[0].ended if name == "obs" else slice(None)
                    np.testing.assert_array_equal(here[kept], there[kept], f"{mode}: {name}")


def test_a_lane_that_has_waited_in_a_vector_begins_a_new_episode():
    """Where a lane waits, the vector plays on: the episode that it began there has passed."""
    engine = envs.make_engine(f"{HERE}:make_ladders", 2, {"mode": "SameStep"})
    engine.reset_many(seeds=SEED)
    both, second = np.array([True, True]), np.array([False, True])
    for select in [both] * 6 + [second] * 3:
        engine.step_many(np.array([1, 0], np.int32), select=select, autoreset=False)
    assert engine.ended.tolist() == [True, False]
    engine.reset_many(~second)
    engine.step_many(np.zeros(2, np.int32))
    assert engine.obs["board"][0].max() == 1, "steps of its episode"


def test_the_first_lane_of_a_vector_can_be_tried_before_the_others():
    for mode in ("NextStep", "SameStep", "Disabled"):
        engine = envs.make_engine(f"{HERE}:make_vector", 3, {"mode": mode})
        first = np.array([True, False, False])
        engine.reset_many(first, seeds=SEED)
        engine.step_many(np.zeros(3, np.int32), select=first)
        engine.reset_many(seeds=SEED)
        alone = envs.make_engine("CartPole-v1", 3)
        alone.reset_many(seeds=SEED)
        np.testing.assert_array_equal(engine.obs, alone.obs)


def test_numbers_of_several_actions():
    engine = envs.make_engine(f"{HERE}:Grid", 1)
    assert engine.num_actions == 6
    assert engine.obs_shape == (1,)
    decode = engine.game.form.actions.decode
    assert [decode(k).tolist() for k in range(6)] == [[a, b] for a in (0, 1) for b in (1, 2, 3)]
    engine.reset_many(seeds=3)
    place = int(engine.obs[0, 0])
    legal = [(a == 0 or place < 9) and (b != 3 or place > 4) for a in (0, 1) for b in (1, 2, 3)]
    assert engine.mask[0].tolist() == [int(each) for each in legal]


@walk("name", ["MaskInObservation", "MasksInInfo", "masked_in_the_middle"])
def test_masks_are_found_where_a_check_finds_them(name):
    engine = envs.make_engine(f"tests.testing.odd:{name}", 2)
    engine.reset_many(seeds=0)
    for _ in range(3):
        assert engine.mask.tolist() == [[1, 0, 1]] * 2
        engine.step_many(np.full(2, 2))


def test_a_mask_of_combinations_is_told_from_one_of_values_by_its_shape():
    """Where both have as many entries, as of two numbers of two values."""
    actions = Actions("x", spaces.MultiDiscrete([2, 2]))
    diagonal = np.array([[1, 0], [0, 1]])
    assert actions.read_mask(diagonal).tolist() == [1, 0, 0, 1]
    assert actions.read_mask(diagonal.ravel()).tolist() == [0, 1, 0, 0]
    wide = Actions("x", spaces.MultiDiscrete([2, 3]))
    assert wide.read_mask(np.eye(2, 3)).tolist() == [1, 0, 0, 0, 1, 0]
    assert wide.read_mask([1, 1, 1, 0, 0]).tolist() == [1, 0, 0, 1, 0, 0]


def test_whole_numbers_of_a_wide_range_are_not_scaled_away():
    """Where a network divides by the largest one, all that come up would be next to 0."""
    kinds = {
        np.uint8: (0, 255, np.uint8),
        np.int16: (-(2**15), 2**15 - 1, np.int16),
        np.int32: (0, 2**31 - 1, np.float32),
        np.int64: (0, 2**16 - 1, np.int32),
        np.uint16: (0, 2**16 - 1, np.uint16),
        np.uint32: (0, 2**16, np.float32),
    }
    for given, (low, high, shown) in kinds.items():
        observation = Observation("x", spaces.Box(low, high, (2,), given))
        assert observation.dtype == shown
        (field,) = fields_of(observation.dtype, observation.shape, observation.bounds)
        assert field.unit == (1.0 if shown is np.float32 else max(-low, high))


# -- several agents --------------------------------------------------------------------------------


def test_a_game_in_turns_plays_as_pettingzoo_does():
    engine = fastenv.make_engine(f"{HERE}:Nim", 1)
    env, rng = Nim(), np.random.default_rng(1)
    engine.reset_many(seeds=2)
    env.reset(seed=2)
    for _ in range(40):
        turn = env.possible_agents.index(env.agent_selection)
        seen, _, _, _, _ = env.last()
        assert engine.needs_action()[0].tolist() == [turn == 0, turn == 1]
        assert engine.obs[0, turn].argmax() == seen["observation"]
        assert engine.mask[0, turn].tolist() == seen["action_mask"].tolist()
        action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
        engine.step_many(np.full((1, 2), action, np.int32))
        env.step(action)
        assert engine.reward[0].tolist() == [env.rewards[name] for name in env.possible_agents]
        if engine.terminated[0]:
            assert all(env.terminations.values())
            env.reset()


def test_agents_that_leave_a_race_are_asked_no_more():
    engine = fastenv.make_engine(f"{HERE}:Race", 1)
    env, rng = Race(), np.random.default_rng(1)
    engine.reset_many(seeds=2)
    observations, _ = env.reset(seed=2)
    for _ in range(60):
        there = [name in env.agents for name in env.possible_agents]
        assert engine.needs_action()[0].tolist() == there
        for k, name in enumerate(env.possible_agents):
            if there[k]:
                np.testing.assert_array_equal(engine.obs[0, k], observations[name])
        actions = rng.integers(2, size=3).astype(np.int32)
        engine.step_many(actions[None])
        given = {name: int(actions[k]) for k, name in enumerate(env.possible_agents) if there[k]}
        observations, rewards, *_ = env.step(given)
        paid = [rewards.get(name, 0.0) for name in env.possible_agents]
        np.testing.assert_array_equal(engine.reward[0], np.float32(paid))
        assert engine.terminated[0] == (not env.agents)
        if not env.agents:
            observations, _ = env.reset()


@walk("name", ["Fades", "make_fades_in_turns"])
def test_how_the_learner_ended_is_reported_and_not_how_the_others_did(name):
    for seat, terminated in ((0, True), (1, False)):
        options = {"agent_seat": seat, "opponent": "random"}
        engine = envs.make_engine(f"{HERE}:{name}", 1, options)
        engine.reset_many(seeds=0)
        steps = 0
        while not (engine.terminated[0] or engine.truncated[0]):
            engine.step_many(np.zeros(1, np.int32))
            steps += 1
        assert (engine.terminated[0], engine.truncated[0]) == (terminated, not terminated)
        assert engine.final_obs[0, 0] == steps == (2 if seat == 0 else 6)


def test_agents_that_are_out_are_asked_no_more_even_if_they_stay():
    engine = fastenv.make_engine(f"{HERE}:Fades", 1, stays=True)
    engine.reset_many(seeds=0)
    for time in range(1, 7):
        engine.step_many(np.zeros((1, 2), np.int32), autoreset=False)
        assert engine.needs_action()[0].tolist() == [time < 2, time < 6]
    assert engine.ended[0]


def test_pettingzoos_classic_games_are_shown_to_whoever_acts():
    name = "pettingzoo.classic.connect_four.connect_four:env"
    engine, env = fastenv.make_engine(name, 1), connect_four.env()
    engine.reset_many(seeds=0)
    env.reset(seed=0)
    rng = np.random.default_rng(4)
    for _ in range(60):
        turn = env.possible_agents.index(env.agent_selection)
        seen = env.observe(env.agent_selection)
        np.testing.assert_array_equal(engine.obs[0, turn], seen["observation"])
        np.testing.assert_array_equal(engine.mask[0, turn], seen["action_mask"])
        action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
        engine.step_many(np.full((1, 2), action, np.int32))
        env.step(action)
        if engine.terminated[0]:
            env.reset()


# -- refusals --------------------------------------------------------------------------------------


@walk(
    ("name", "options", "message"),
    [
        ("no.such.module:env", {}, "no.such.module:env: No module named"),
        (f"{HERE}:Nothing", {}, "has no attribute 'Nothing'"),
        (f"{HERE}:Ladder", {"rungs": 3}, "cannot be made: TypeError"),
        (f"{HERE}:SEED", {}, "has no attribute"),
        ("Pendulum-v1", {}, "action space Box(-2.0, 2.0, (1,), float32) is continuous"),
        (f"{HERE}:Odd", {}, "observation space Text is not possible"),
        (f"{HERE}:Odd", {"space": "large"}, "1,000,000 values, of which at most 4,096"),
        (f"{HERE}:Odd", {"space": "many", "of": "action"}, "125,000 combinations, at most 4,096"),
        (f"{HERE}:Odd", {"space": "text", "of": "action"}, "action space Text is not possible"),
        (f"{HERE}:Unlike", {}, "its agents have different observation spaces"),
        (f"{HERE}:Alone", {}, "possible_agents=['a']: must be at least two"),
        (f"{HERE}:Bare", {}, "spaces cannot be read: AttributeError: 'Bare' object has no"),
        (f"{HERE}:make_cart_poles", {}, "resets lanes on the next step alone"),
        (f"{HERE}:make_two", {}, "makes a SyncVectorEnv, so it must take num_envs"),
        (f"{HERE}:Ladder", {"step_timeout": -1}, "step_timeout=-1: must be seconds above 0"),
        (f"{HERE}:Ladder", {"length": {1}}, "must be plain values"),
    ],
)
def test_what_cannot_be_trained_on_is_refused_in_a_sentence(name, options, message):
    with pytest.raises(ConfigError) as refused:
        fastenv.make_game(name, **options)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_module_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for k, (code, message) in enumerate(
        [
            ("def make(:", "cannot be imported: SyntaxError: invalid syntax"),
            ("nothing", "cannot be imported: NameError: name 'nothing' is not defined"),
            ("import sys; sys.exit('usage')", "cannot be imported: SystemExit: usage"),
            ("1 / 0", "cannot be imported: ZeroDivisionError: division by zero"),
        ]
    ):
        (tmp_path / f"broken_{k}.py").write_text(code)
        with pytest.raises(ConfigError) as refused:
            fastenv.make_game(f"broken_{k}:make")
        assert str(refused.value).startswith(f"broken_{k}:make: {message}")


def test_an_environment_that_cannot_be_closed_is_named():
    with pytest.raises(ForeignError, match="Bare: close raised OSError: the socket is gone"):
        fastenv.make_game(f"{HERE}:Bare", closes=False)


BYTES = spaces.Box(0, 255, (2,), np.uint8)
WHOLE = spaces.Box(-3, 9, (2, 2), np.int64)


@walk(
    ("space", "value", "message"),
    [
        (BYTES, np.array([7, 300]), "is 300 at [1], must be a whole number from 0 to 255"),
        (BYTES, np.array([0.5, 3.0]), "is 0.5 at [0], must be a whole number from 0 to 255"),
        (BYTES, [1, -1], "is -1 at [1], must be a whole number"),
        (BYTES, np.array([np.nan, 0]), "is nan at [0], must be a whole number"),
        (WHOLE, [[0, 0], [10, 0]], "is 10 at [1, 0], must be a whole number from -3 to 9"),
        (spaces.Box(0, 9, (), np.int32), 10, "is 10, must be a whole number from 0 to 9"),
        (spaces.Box(0, 1, (2,), np.bool_), [0, 2], "is 2 at [1], must be a whole number"),
        (spaces.MultiBinary(2), [2, 0], "is 2 at [0], must be a whole number from 0 to 1"),
        (spaces.Discrete(4), 1.5, "is 1.5, outside Discrete(4)"),
        (spaces.Discrete(4), None, "is None, which is not of Discrete(4)"),
        (spaces.Discrete(4), np.nan, "is nan, outside Discrete(4)"),
        (spaces.Discrete(4), "up", "is 'up', which is not of Discrete(4)"),
        (spaces.MultiDiscrete([2, 2]), [0, None], "is [0, None], which is not of"),
        (spaces.Box(0.0, 1.0, (2,)), None, "has shape (), its space says (2,)"),
        (spaces.Box(0.0, 1.0, ()), None, "is [None]: not finite"),
        (spaces.Box(0.0, 1.0, (2,)), [[1.0], [1.0, 2.0]], "is [[1.0], [1.0, 2.0]], which is not"),
        (spaces.Dict({"a": spaces.Discrete(2)}), None, "has no part 'a'"),
        (spaces.Dict({"a": spaces.Discrete(2)}), {"a": 2}, "'a' is 2, outside Discrete(2)"),
    ],
)
def test_observations_outside_their_space_are_named(space, value, message):
    observation = Observation("that.one:Game", space)
    with pytest.raises(ForeignError) as told:
        observation.write(value, np.zeros((1, *observation.shape), observation.dtype)[0])
    assert message in str(told.value)
    assert str(told.value).startswith("that.one:Game: the observation")


def test_observations_within_their_space_are_taken_in_any_type():
    for space, value in (
        (BYTES, np.array([0, 255])),
        (BYTES, np.array([2.0, 3.0])),
        (WHOLE, [[-3, 9], [0, 0]]),
        (spaces.MultiBinary(2), np.array([True, False])),
        (spaces.Box(0, 1, (2,), np.bool_), np.array([True, False])),
        (spaces.Box(0, 9, (), np.int32), np.int64(9)),
    ):
        observation = Observation("x", space)
        out = np.zeros(observation.shape, observation.dtype)
        observation.write(value, out)
        np.testing.assert_array_equal(out.reshape(np.shape(value)), value)


@walk(
    ("space", "message"),
    [
        (spaces.Box(0, 1, (0,)), "observation space Box([], [], (0,), float32) has no numbers"),
        (
            spaces.Dict({"a": spaces.Dict({"b": BYTES}), "a.b": BYTES}),
            "several parts of its observation space are called 'a.b'",
        ),
        (spaces.Dict({"": BYTES}), "a part of its observation space has an empty key"),
        (spaces.Dict({}), "observation space Dict() has no numbers"),
    ],
)
def test_spaces_that_cannot_be_shown_are_refused(space, message):
    with pytest.raises(ConfigError) as refused:
        Observation("that.one:Game", space).dtype  # noqa: B018
    assert str(refused.value).startswith(f"that.one:Game: {message}")


def _play_a_step(engine):
    engine.reset_many(seeds=0)
    engine.step_many(np.ones(2, np.int32))


@walk(
    ("wrong", "message"),
    [
        ("raises", "Ladder: step raised KeyError: 'a missing rung'"),
        ("nan", "the observation 'noise' is [nan, "),
        ("shape", "the observation 'noise' has shape (1,), its space says (2,)"),
        ("range", "the observation 'place' is 99, outside Discrete(8)"),
        ("mask", "the action mask has shape (2,), must have (3,)"),
        ("nothing", "the action mask allows no action"),
        ("reward", "the reward is nan: must be a finite number"),
        ("riches", "the reward is 1e+300: must be a finite number of float32"),
        ("old reset", "reset returned 3 values: must be (observation, info)"),
        ("old step", "step returned 4 values: must be (observation, reward, terminated, trunc"),
        ("no step", "step returned NoneType: must be (observation, reward, terminated, trunc"),
        ("no info", "the info of step is []: no dict"),
        ("text", "the reward is '1': must be a number"),
        ("leaves", "step raised SystemExit: 3"),
        ("logits", "the action mask is [0.0, 0.0, -1000000.0]: must hold 0 and 1 alone"),
        ("unknown", "the action mask is [nan, nan, nan]: must hold 0 and 1 alone"),
    ],
)
def test_an_environment_that_breaks_its_word_is_named(wrong, message):
    for threads in (1, 2) if wrong == "raises" else (1,):
        engine = envs.make_engine(f"{HERE}:Ladder", 2, {"wrong": wrong}, num_threads=threads)
        with pytest.raises(ForeignError) as told:
            _play_a_step(engine)
        assert message in str(told.value)
        assert f"{HERE}:Ladder" in str(told.value)


def test_a_number_outside_its_bounds_is_told_once_and_taken():
    high = np.array([0.1, np.inf])  # 0.1 is less than the nearest float32
    space = spaces.Box(-1, high, (2,), np.float64)
    observation = Observation("that.one:Game", spaces.Dict({"at": space}))
    out = np.zeros(1, observation.dtype)[0]
    observation.write({"at": np.array([0.1, 7.0])}, out)
    with pytest.warns(RuntimeWarning) as told:
        observation.write({"at": np.array([-3.0, 0.0])}, out)
    observation.write({"at": np.array([-4.0, 0.0])}, out)
    assert out["at"].tolist() == [-4, 0]
    assert [str(each.message) for each in told] == [
        "that.one:Game: the observation 'at' is -3.0 at [0], its space says -1.0 to "
        "0.10000000149011612; such numbers are taken as they are"
    ]


def test_bounds_are_checked_in_the_first_observations_alone(monkeypatch):
    monkeypatch.setattr("training.foreign.spaces.CHECKED", 2)
    observation = Observation("that.one:Game", spaces.Box(-1.0, 1.0, (1,)))
    out = np.zeros(1, np.float32)
    for value in (0.5, -0.5, 7.0):  # a warning would fail the test
        observation.write(np.array([value]), out)
    assert out == 7


def test_an_environment_that_hangs_or_dies_is_named():
    options = {"wrong": "hangs", "step_timeout": 0.5}
    engine = envs.make_engine(f"{HERE}:Ladder", 1, options)
    engine.reset_many(seeds=0)
    with pytest.raises(ForeignError, match=r"no answer for 0\.5 s: the environment hangs"):
        engine.step_many(np.zeros(1, np.int32))
    engine = envs.make_engine(f"{HERE}:Ladder", 2, {"wrong": "dies"}, num_threads=2)
    engine.reset_many(seeds=0)
    for _ in range(2):  # the second step finds nobody to send its actions to
        with pytest.raises(ForeignError, match=r"Ladder: .* has died \(exit status -9\)"):
            engine.step_many(np.zeros(2, np.int32))


def test_the_time_limit_is_that_of_a_lane_and_not_of_all_lanes_of_a_process():
    options = {"wrong": "slow", "step_timeout": 0.9}
    engine = envs.make_engine(f"{HERE}:Ladder", 4, options)
    engine.reset_many(seeds=0)
    engine.step_many(np.zeros(4, np.int32))
    with pytest.raises(ConfigError, match=r"step_timeout: .*:make_vector makes a vector"):
        envs.make_engine(f"{HERE}:make_vector", 2, {"step_timeout": 1.0})


def test_processes_outlive_ctrl_c_and_close_their_environments(tmp_path):
    here = f"{os.getpid()}-"
    options = {"folder": str(tmp_path)}
    for threads in (1, 2):
        engine = envs.make_engine(f"{HERE}:Closes", 2, options, num_threads=threads)
        engine.reset_many(seeds=0)
        before = {path.name for path in tmp_path.iterdir()}  # environments that were looked at
        if threads == 2:
            for each in psutil.Process().children():
                if "--multiprocessing-fork" in each.cmdline():
                    each.send_signal(signal.SIGINT)
            for _ in range(3):
                engine.step_many(np.ones(2, np.int32))
        del engine
        gc.collect()
        closed = {path.name for path in tmp_path.iterdir()} - before
        assert len(closed) == 2
        assert all(name.startswith(here) == (threads == 1) for name in closed)


def test_a_daemonic_process_cannot_have_processes_of_lanes(monkeypatch):
    daemon = SimpleNamespace(daemon=True)
    monkeypatch.setattr(multiprocessing, "current_process", lambda: daemon)
    with pytest.raises(ConfigError, match=r"Ladder: lanes .* not possible in a daemonic process"):
        envs.make_engine(f"{HERE}:Ladder", 1, {"step_timeout": 1.0})


def test_rows_are_refused_and_nothing_moves():
    engine = envs.make_engine(f"{HERE}:Ladder", 2)
    engine.reset_many(seeds=0)
    rows, shown = engine.get_states(), engine.obs.copy()
    with pytest.raises(StateError, match="cannot be set to a saved state"):
        engine.set_states(rows)
    with pytest.raises(StateError, match="cannot be set to a saved state"):
        engine.encode_obs_many(rows)
    with pytest.raises(ConfigError, match="search and worlds are not possible"):
        engine.resample(rows, 0, 0)
    np.testing.assert_array_equal(engine.obs, shown)
    engine.step_many(np.ones(2, np.int32))


def test_games_are_pickled_by_name_and_options():
    game = fastenv.make_game(f"{HERE}:Ladder", length=9)
    other = pickle.loads(pickle.dumps(game))
    assert (other.name, other.options, other.env_id) == (game.name, game.options, game.env_id)
    assert other.spec == game.spec


def test_only_the_present_state_is_drawn():
    engine = envs.make_engine(f"{HERE}:Ladder", 2)
    engine.reset_many(seeds=0)
    before = engine.get_states()
    assert "place: 0" in engine.game.render(before[0], "ansi")
    engine.step_many(np.ones(2, np.int32))
    assert "the state has passed" in engine.game.render(before[0], "ansi")
    assert "place: 1" in engine.game.render(engine.get_states()[0], "ansi")
    row = engine.get_states()[1]
    game = engine.game
    del engine
    gc.collect()
    assert "the state has passed" in game.render(row, "ansi")


def test_gymnasiums_own_pictures_are_shown():
    env = fastenv.make("CartPole-v1", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (400, 600, 3)


def test_environments_that_take_a_render_mode_show_their_own_pictures():
    for name in ("Drawn", "make_drawn"):
        engine = envs.make_engine(f"{HERE}:{name}", 2)
        engine.reset_many(seeds=0)
        picture = engine.game.render(engine.get_states()[1], "rgb_array")
        assert picture.shape == (8, 8, 3)
        assert (picture == 77).all()
    engine = envs.make_engine(f"{HERE}:Drawn", 1, {"wrong": "picture"})
    engine.reset_many(seeds=0)
    row = engine.get_states()[0]
    assert "place: 0" in engine.game.render(row, "ansi")  # for which no picture is drawn
    with pytest.raises(ForeignError, match="Drawn: render raised ValueError: no display"):
        engine.game.render(row, "rgb_array")


def test_a_name_that_nobody_knows_keeps_its_sentence():
    with pytest.raises(FastEnvError, match="must be one of fastenv/"):
        fastenv.make_game("NoSuchGame-v0")
    assert not any("CartPole" in name for name in fastenv.list_envs())
    assert Ladder().observation_space is not None
