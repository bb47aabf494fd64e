"""Every backend, any number of threads and any schedule: the same bits of a game of two agents."""

import copy
import pickle

import numpy as np
import pytest

from fastenv.engine import BatchEngine, rng_streams
from fastenv.vector import sample_legal
from fastenv.verify import Case, first_difference
from tests.needs import needs_core
from tests.race import BACKENDS, ENGINES, HERE, N, OtherFunctions, engine_of, everything
from tests.slow import diagonal
from tests.tables import walk
from tests.toy import RaceGame

pytestmark = pytest.mark.parity

VARIANTS = {
    "default": {},
    "small": {"size": 7, "goal": 5},
    "long": {"size": 61, "goal": 200},
    "refuses": {"raise_illegal": True},
}


SEATINGS = {"all": (None, None), "a bot": ("random", 1), "outside": ("external", "rotate")}


@walk(("variant", "seated"), diagonal(VARIANTS, SEATINGS))
@walk("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_all_backends_agree_after_every_step(variant, seed, seated):
    """With illegal actions, lanes left out, resets, reloads, and steps without automatic reset."""
    game = RaceGame(**VARIANTS[variant])
    case = Case(game, seed, N, ENGINES, VARIANTS[variant], *SEATINGS[seated])
    difference, ended, illegal, idle = case.check(), 0, 0, 0
    for _ in range(120):
        assert difference is None, str(difference)  # says which seed
        difference = case.advance(illegal=0.25, events=0.2)
        ended += int((case.standard.terminated | case.standard.truncated).sum())
        rows = case.standard.get_states()
        illegal += int(rows["ev_illegal"].sum())
        idle += int((rows["needs_action"] == 0).sum())
    assert difference is None, str(difference)
    assert ended > N
    assert idle > N
    assert (illegal > 0) == (variant != "refuses")


EVENTS = ("reset", "seeds", "load", "shared", "knob", "elsewhere", "copy", "some")


def lead(engines, rng, word):
    """Do one thing, the same to all engines: what ``Case`` does, and what else users do."""
    first, n = engines[0], engines[0].num_envs
    lanes = rng.random(n) < 0.5
    if first.ended.any():
        lanes |= first.ended
        word = "reset"
    actions = sample_legal(first.mask, rng)
    wild = rng.random(actions.shape) < 0.2
    actions = np.where(wild, rng.integers(0, first.num_actions, actions.shape), actions)
    number = int(rng.integers(1, 40))
    rows, blob = first.get_states(), first.game.shared.copy()
    blob["goal"], blob["bonus"] = 5 + number, number / 7
    for i, engine in enumerate(engines):
        if word == "reset":
            engine.reset_many(mask=lanes)
        elif word == "seeds":
            engine.reset_many(seeds=[None if lane else number for lane in lanes])
        elif word == "load":
            engine.set_states(rows[lanes][::-1], lanes)
        elif word == "shared":
            engine.set_shared(blob)
        elif word == "knob":
            engine.configure("limit", 20 + number, lanes)
        elif word == "elsewhere":
            obs, mask = np.zeros_like(engine.obs), np.zeros_like(engine.mask)
            engine.step_many(actions, obs_out=obs, mask_out=mask)
            engine.refresh()
            for name in obs.dtype.names:
                assert np.array_equal(obs[name], engine.obs[name])
            assert np.array_equal(mask, engine.mask)
        elif word == "copy":
            engines[i] = pickle.loads(pickle.dumps(engine))
            engines[i].step_many(actions)  # what belongs to the last step is not pickled
        elif word == "some":
            engine.step_many(actions, select=lanes, autoreset=False)
        else:
            engine.step_many(actions)


@walk(("seed", "opponent"), diagonal([0, 1], [None, "random", "slow"]))
def test_nothing_that_can_be_done_to_them_tells_engines_apart(opponent, seed):
    print("seed", seed)
    rng, game = np.random.default_rng(seed), RaceGame(goal=9)
    engines = [
        BatchEngine(game, N, backend, threads, opponent=opponent)
        for backend, threads in ENGINES.values()
    ]
    for engine in engines:
        engine.reset_many(seeds=seed)
    for step in range(96):
        lead(engines, rng, EVENTS[step // 4 % len(EVENTS)] if step % 4 == 3 else "step")
        for engine, name in zip(engines, ENGINES, strict=True):
            found = first_difference(engines[0], engine)
            assert found is None, (name, step, found)


@needs_core
@walk(("opponent", "chunk"), diagonal([None, "fast"], [0, 1, 3, 64]))
def test_schedules_do_not_matter(chunk, opponent):
    n, rng = 11, np.random.default_rng(chunk)
    engines = [
        engine_of("fast", n, OtherFunctions({"chunk": c}, {}), num_threads=k, opponent=opponent)
        for c, k in ((0, 1), (chunk, 1), (chunk, 2), (chunk, 3), (chunk, n))
    ]
    for _ in range(60):
        actions = rng.integers(0, 4, engines[0].mask.shape[:-1])
        select = rng.random(n) < 0.8
        for engine in engines:
            engine.step_many(actions, select=select)
            assert first_difference(engines[0], engine) is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_the_core_leaves_open_is_filled_in_where_it_is_read(backend):
    engine = engine_of(backend)
    assert engine.completes_rows == (backend in ("cython", "fast"))
    if engine.completes_rows:
        assert not engine._states["stamp"].any()
    rows = engine.get_states([1, 3])
    assert np.array_equal(rows["stamp"], (rows["bot_rng"][:, 0] | np.uint64(1)) * np.uint64(3) + 1)
    assert not rows["stamp_from"].any()
    if engine.completes_rows:
        assert engine._states["stamp"].astype(bool).tolist() == [False, True, False, True, False]
    engine.step_many(np.zeros((N, 2), int))
    assert np.array_equal(engine.get_states([1, 3])["stamp"], rows["stamp"])
    engine.set_states(rows, [0, 2])
    assert np.array_equal(engine.get_states([0, 2]), rows)


PLAYERS = ("random", "slow", "fast")


@walk("agent", [0, 1])
@walk("player", PLAYERS)
def test_bots_play_the_same_on_all_backends(player, agent):
    """From generators of their own and from the rows'; those that are given move, others do not."""
    engines = [engine_of(backend) for backend in HERE]
    given = [rng_streams(3, N) for _ in engines]
    ended = np.zeros(N, bool)
    for step in range(25):
        if ended.all():
            break
        chosen = []
        for engine, streams in zip(engines, given, strict=True):
            kept, rows = streams.copy(), engine.get_states()
            own = step % 2 == 0
            found = engine.bot_actions(player, None if own else streams, agent=agent)
            drew = player == "random"
            moved = engine.get_states()["bot_rng"] != rows["bot_rng"]
            assert moved.any(axis=1).tolist() == (~ended & (own and drew)).tolist()
            assert (streams != kept).any(axis=1).tolist() == (~ended & (not own and drew)).tolist()
            assert not found[ended].any()
            chosen.append(found.copy())
        assert all(np.array_equal(chosen[0], other) for other in chosen)
        legal = engines[0].mask[np.arange(N), agent, chosen[0]]
        assert legal.all()
        actions = np.ones((N, 2), int)
        actions[:, agent] = chosen[0]
        for engine, streams in zip(engines, given, strict=True):
            engine.step_many(actions, select=~ended, autoreset=False)
            assert first_difference(engines[0], engine) is None
            assert np.array_equal(streams, given[0])
        ended = engines[0].ended.copy()
    assert ended.any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_parameters_of_a_bot_are_read(backend):
    """The row's ``stride`` decides how far it walks: as far as it wants and may."""
    engine = engine_of(backend, 40)
    reach = engine.mask[:, 1].sum(axis=1) - 1
    assert set(reach.tolist()) == {0, 1, 2, 3}
    assert np.array_equal(engine.bot_actions("slow", agent=1), np.minimum(reach, 1))
    assert np.array_equal(engine.bot_actions("fast", agent=1), reach)
    out = np.full(40, 9, np.int32)
    assert engine.bot_actions("fast", agent=1, out=out) is out
    assert np.array_equal(out, reach)


COPIES = {
    "pickle": lambda engine: pickle.loads(pickle.dumps(engine)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@walk(("backend", "opponent", "how"), diagonal(BACKENDS, [None, "random"], COPIES))
def test_a_copy_goes_on_as_the_original_and_alone(backend, opponent, how):
    columns = ("share", "gain", "places")
    engine = engine_of(backend, opponent=opponent, info_columns=columns)
    engine.configure("limit", 33, [1])
    rng, shape = np.random.default_rng(1), engine.mask.shape[:-1]
    for _ in range(5):
        engine.step_many(rng.integers(0, 4, shape), select=~engine.ended, autoreset=False)
    twin = COPIES[how](engine)
    assert (twin.opponent, twin.info_columns) == (opponent, ("share", "places"))
    assert (twin.term_columns, twin.num_agents) == (("gain",), engine.num_agents)
    assert np.array_equal(twin.get_states(), engine.get_states())
    before = everything(engine)
    script = rng.integers(0, 4, (30, *shape))
    seen = []
    for one in (twin, engine):
        if one is engine:
            assert everything(engine) == before  # the twin's steps moved nothing here
        if one.ended.any():
            one.reset_many(mask=one.ended.copy())
        for actions in script:
            one.step_many(actions)
        seen.append(everything(one))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("backend", ["reference", "fast"])
def test_a_copy_of_an_engine_that_was_never_reset_is_one_too(backend):
    twin = pickle.loads(pickle.dumps(BatchEngine(RaceGame(), N, backend)))
    assert twin.never_reset().all()
    assert twin.ended.all()
    half = BatchEngine(RaceGame(), N, backend)
    half.reset_many(mask=np.array([0, 1, 0, 0, 1], bool), seeds=3)
    twin = pickle.loads(pickle.dumps(half))
    assert twin.never_reset().tolist() == [True, False, True, True, False]
    assert np.array_equal(twin.get_states([1, 4]), half.get_states([1, 4]))
