"""What an engine reads beside its rows: the shared record, replaced as a whole, and knobs."""

import copy
import pickle

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.verify import first_difference
from tests.needs import FASTEST
from tests.race import BACKENDS, N, engine_of, everything, rows_of
from tests.tables import walk
from tests.toy import RACE_SHARED, RaceGame, WalkGame

every_backend = pytest.mark.parametrize("backend", BACKENDS)


def shared_of(game, **fields):
    made = game.shared.copy()
    for name, value in fields.items():
        made[name] = value
    return made


def near_the_goal(game):
    """Return rows in which agent 0 stands at 8, is awake and has an open road."""
    fields = {"board": 0, "place": (8, 0), "ready_at": (1, 9), "clock": 1, "needs_action": (1, 0)}
    return rows_of(game, **fields)


@every_backend
def test_all_lanes_of_one_engine_see_the_new_record(backend):
    game = RaceGame()
    engine, other = engine_of(backend, game=game), engine_of(backend, game=game)
    for each in (engine, other):
        each.set_states(near_the_goal(game))
    rows, obs = engine.get_states(), engine.obs.copy()
    engine.set_shared(shared_of(game, goal=10, bonus=4.0))
    assert np.array_equal(engine.get_states(), rows)
    assert np.array_equal(engine.obs, obs)
    assert engine.ended.tolist() == [False] * N
    for each in (engine, other):
        each.step_many(np.tile([2, 0], (N, 1)))
    assert engine.terminated.tolist() == [1] * N
    assert engine.reward.tolist() == [[8.0, 0.0]] * N
    assert engine.terms["progress"][:, 0].tolist() == [1.0] * N
    assert not other.terminated.any()
    assert other.reward.tolist() == [[3.0, 0.0]] * N
    assert other.terms["progress"][:, 0].tolist() == [0.5] * N
    assert (game.shared["goal"][0], other.game.shared["goal"][0]) == (20, 20)
    assert engine.game is not game
    assert engine.game.shared["goal"][0] == 10
    fresh = BatchEngine(game, 1, backend)
    assert fresh.game.shared["goal"][0] == 20


@every_backend
@pytest.mark.parametrize("opponent", [None, "fast"])
def test_an_engine_given_a_record_is_one_made_with_it(backend, opponent):
    """Also in what follows from rows alone: derived records, masks, infos; and in new episodes."""
    made = BatchEngine(RaceGame(goal=7), N, backend, opponent=opponent)
    given = BatchEngine(RaceGame(), N, backend, opponent=opponent)
    given.reset_many(seeds=99)
    given.set_shared(made.game.shared)
    rng = np.random.default_rng(0)
    for engine in (made, given):
        engine.reset_many(seeds=5)
    for _ in range(30):
        actions = rng.integers(0, 4, made.mask.shape[:-1])
        for engine in (made, given):
            engine.step_many(actions)
        assert first_difference(made, given) is None


@every_backend
@pytest.mark.parametrize("how", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_the_record_is_pickled_with_the_engine(backend, how):
    engine = engine_of(backend)
    engine.set_shared(shared_of(engine.game, goal=9))
    twin = how(engine)
    assert twin.game.shared["goal"][0] == 9
    engine.set_shared(shared_of(engine.game, goal=15))
    assert twin.game.shared["goal"][0] == 9
    twin.set_states(near_the_goal(RaceGame()))
    twin.step_many(np.tile([1, 0], (N, 1)))
    assert twin.terminated.all()


@every_backend
def test_the_record_is_copied_and_cannot_be_written(backend):
    engine = engine_of(backend)
    mine = shared_of(engine.game, goal=10)
    engine.set_shared(mine)
    mine["goal"] = 3
    assert engine.game.shared["goal"][0] == 10
    with pytest.raises(ValueError, match="read-only"):
        engine.game.shared["goal"] = 3


@every_backend
def test_lanes_without_an_episode_stay_so(backend):
    engine = BatchEngine(RaceGame(), N, backend)
    engine.set_shared(shared_of(engine.game, goal=11))
    assert engine.never_reset().all()
    engine.reset_many(mask=np.array([0, 1, 1, 0, 0], bool), seeds=3)
    rows = near_the_goal(RaceGame())[:1]
    rows["place"] = 10
    engine.set_states(rows, 1)
    engine.step_many(np.ones((N, 2), int), select=engine.ended == 0, autoreset=False)
    assert engine.ended.tolist() == [True, True, False, True, True]
    kept = engine.get_states([1, 2])
    engine.set_shared(shared_of(engine.game, goal=12))
    assert engine.ended.tolist() == [True, True, False, True, True]
    assert engine.never_reset().tolist() == [True, False, False, True, True]
    assert np.array_equal(engine.get_states([1, 2]), kept)
    assert engine.mask[1].all()


def packed(kind):
    return np.zeros(1, np.dtype([("goal", "i4"), ("bonus", kind), ("board_at", "i4")]))


WRONG = {
    "type of a field": (lambda g: packed("f8"), "shared: field 'bonus' must be float32 at byte 4"),
    "a field less": (lambda g: packed("f4"), "shared has no field 'size'"),
    "no fields": (lambda g: np.zeros(1, np.uint8), "shared must be a record of .*, got uint8"),
    "two records": (lambda g: np.zeros(2, RACE_SHARED), r"shared must be .* of shape \(1,\)"),
    "no axis": (lambda g: g.shared[0], "shared must be a NumPy array, got void"),
    "scalar": (lambda g: g.shared.reshape(()), r"of shape \(1,\)"),
    "bytes": (lambda g: g.shared.tobytes(), "shared must be a NumPy array, got bytes"),
    "none": (lambda g: None, "shared must be a NumPy array"),
    "a game": (lambda g: g, "shared must be a NumPy array"),
}


@walk("kind", WRONG)
@walk("backend", ["reference", "fast"])
def test_another_record_is_refused_and_nothing_has_moved(backend, kind):
    engine = engine_of(backend)
    engine.step_many(np.ones((N, 2), int))
    before, game = everything(engine), engine.game
    make, message = WRONG[kind]
    with pytest.raises(ValueError, match=message):
        engine.set_shared(make(game))
    assert engine.game is game
    assert everything(engine) == before


def test_the_record_of_a_made_engine_cannot_be_written_behind_its_back():
    """What compiled code reads is a copy, what the reference reads is not: they would part."""
    engines = [engine_of(backend) for backend in ("reference", FASTEST)]
    for engine in engines:
        try:
            engine.game.shared["goal"] = 3
        except ValueError:
            continue
        engine.reset_many(seeds=0)
        engine.set_states(near_the_goal(RaceGame()))
        engine.step_many(np.zeros((N, 2), int))
    assert engines[0].terminated.tolist() == engines[1].terminated.tolist()


@every_backend
@pytest.mark.parametrize("opponent", [None, "slow"])
def test_a_knob_is_taken_at_the_next_reset(backend, opponent):
    engine = engine_of(backend, opponent=opponent)
    engine.configure("limit", 3, idx=[1, 3])
    engine.configure("limit", 4, idx=np.array([0, 0, 0, 0, 1], bool))
    assert engine.get_states()["limit"].tolist() == [90] * N
    assert engine.get_knob("limit") == [90, 3, 90, 3, 4]
    before = everything(engine)
    for name, value in (("limit", 0), ("colour", 3)):
        with pytest.raises(ConfigError, match=name):
            engine.configure(name, value)
    assert everything(engine) == before
    engine.reset_many(mask=np.array([1, 1, 0, 0, 0], bool))
    assert engine.get_states()["limit"].tolist() == [90, 3, 90, 90, 90]
    row = engine.get_states(2)
    row["clock"], row["limit"] = 89, 1
    engine.set_states(row, 3)
    engine.step_many(np.zeros(engine.mask.shape[:-1], int))
    assert engine.truncated[3] == 1
    assert engine.get_states(3)["limit"][0] == 3  # so does one that begins by itself
    assert pickle.loads(pickle.dumps(engine)).get_knob("limit") == [90, 3, 90, 3, 4]


def test_a_game_without_knobs_says_so():
    from fastenv.game import Game

    walk = WalkGame()
    with pytest.raises(ConfigError, match="'pace' is not a knob"):
        Game.set_knob(walk, walk.default_knobs(1), "pace", 1)
    with pytest.raises(AttributeError, match="no knob 'pace'"):
        Game.get_knob(walk, walk.default_knobs(1)[0], "pace")
