"""The batch engine, on a toy game: composition of the backends, autoreset, state, bad input."""

import pickle

import numpy as np
import pytest

import fastenv
from fastenv.engine import BatchEngine
from fastenv.errors import StateError, show
from tests.needs import needs_core
from tests.tables import walk
from tests.toy import WalkGame

BACKENDS = ("reference", "numba", "cython", "fast")
N = 5


def engine_of(backend="reference", n=N, **options):
    engine = BatchEngine(WalkGame(**options), n, backend)
    engine.reset_many(seeds=7)
    return engine


def snapshot(engine):
    """Everything a step writes, as bytes; stale rows of final values left out."""
    done = (engine.terminated | engine.truncated).astype(bool)
    arrays = [engine.get_state(), engine.obs, engine.mask, engine.reward]
    arrays += [engine.terminated, engine.truncated, *engine.info.values()]
    arrays += [a[done] for a in (engine.final_obs, engine.ep_return, engine.ep_length)]
    arrays += [a[done] for a in engine.final_info.values()]
    return [a.tobytes() for a in arrays]


@pytest.mark.parametrize("backend", BACKENDS)
def test_autoreset_goes_on_with_the_stream_and_keeps_the_final_values(backend):
    auto, manual = engine_of(backend), engine_of(backend)
    ends = 0
    for _ in range(40):
        auto.step_many(np.ones(N, int))
        manual.step_many(np.ones(N, int), autoreset=False)
        done = manual.ended.copy()
        assert np.array_equal(done, (auto.terminated | auto.truncated).astype(bool))
        assert np.array_equal(auto.final_obs[done], manual.obs[done])
        assert np.array_equal(auto.ep_return[done], manual.get_states()["ep_return"][done])
        assert manual.mask[done].all()
        for name, column in auto.final_info.items():
            assert np.array_equal(column[done], manual.info[name][done])
        if done.any():
            manual.reset_many(mask=done)
        assert np.array_equal(auto.obs, manual.obs)
        assert np.array_equal(auto.get_state(), manual.get_state())
        ends += done.sum()
    assert ends > N


@pytest.mark.parametrize("backend", BACKENDS)
def test_unselected_lanes_are_left_alone(backend):
    engine = engine_of(backend)
    engine.step_many(np.ones(N, int))
    before, obs = engine.get_state(), engine.obs.copy()
    select = np.array([1, 0, 1, 0, 1], np.uint8)
    engine.step_many(np.array([1, 99, 1, -5, 1]), select=select)
    rest = select == 0
    assert np.array_equal(engine.get_state()[rest], before[rest])
    assert np.array_equal(engine.obs[rest], obs[rest])
    for column in (engine.reward, engine.terminated, engine.truncated, engine.info["distance"]):
        assert not column[rest].any()
    assert (
        engine.get_states()["steps"][~rest]
        != before.view(engine.spec.state_dtype)["steps"][~rest].ravel()
    ).any()


@pytest.mark.parametrize("backend", BACKENDS)
def test_states_can_be_taken_out_put_back_and_branched(backend):
    engine = engine_of(backend)
    for _ in range(3):
        engine.step_many(np.ones(N, int))
    saved, blob = engine.get_states(), engine.get_state([1, 3])
    first = []
    for _ in range(15):
        engine.step_many(np.ones(N, int))
        first.append(snapshot(engine))
    engine.set_states(saved)
    for expected in first:
        engine.step_many(np.ones(N, int))
        assert snapshot(engine) == expected
    engine.set_state([0, 2], blob)
    assert np.array_equal(engine.get_state([0, 2]), blob)
    assert np.array_equal(engine.obs[[0, 2]], engine.encode_obs_many(saved[[1, 3]]))
    assert np.array_equal(engine.mask[[0, 2]], engine.action_masks_many(saved[[1, 3]]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_trusted_rows_are_not_checked_and_otherwise_the_same(backend, monkeypatch):
    engine = engine_of(backend)
    engine.step_many(np.ones(N, int))
    saved, obs = engine.get_states(), engine.obs.copy()
    engine.step_many(np.ones(N, int))

    def refuse(_rows):
        raise StateError("checked")

    monkeypatch.setattr(engine.game, "validate", refuse)
    with pytest.raises(StateError, match="checked"):
        engine.set_states(saved)
    with pytest.raises(StateError, match="checked"):
        engine.encode_obs_many(saved)
    engine.set_states(saved, trusted=True)
    assert np.array_equal(engine.get_states(), saved)
    assert np.array_equal(engine.obs, obs)
    assert np.array_equal(engine.encode_obs_many(saved, trusted=True), obs)


def test_seeds_are_taken_modulo_two_to_the_64_and_one_a_lane():
    engine = engine_of()
    engine.reset_many(seeds=-1)
    assert engine.get_states()["rng"][1].tolist() != engine.get_states()["rng"][0].tolist()
    by_list = engine_of()
    by_list.reset_many(seeds=[2**64 - 1, 0, 1, 2, 3])
    assert np.array_equal(by_list.get_state(), engine.get_state())
    before = by_list.get_state()
    by_list.reset_many(seeds=[None, 4, None, None, None], mask=np.array([0, 1, 0, 0, 0], bool))
    assert np.array_equal(by_list.get_state([0, 2, 3, 4]), before[[0, 2, 3, 4]])


BAD_ACTIONS = {
    "out of range": (np.array([0, 1, 3, 0, 0]), "lane 2: action 3 is out of range.*0..2"),
    "negative": (np.array([0, -1, 0, 0, 0]), "lane 1: action -1"),
    "wraps in int32": (np.array([0, 0, 0, 0, 2**32]), "lane 4"),
    "float": (np.zeros(N), "integers, got dtype float64"),
    "nan": (np.full(N, np.nan), "integers"),
    "bool": (np.ones(N, bool), "integers, got dtype bool"),
    "objects": (np.array([None] * N), "integers"),
    "short": (np.zeros(N - 1, int), r"shape \(5,\), got \(4,\)"),
    "column": (np.zeros((N, 1), int), "shape"),
    "scalar": (1, "shape"),
}


@walk("backend", BACKENDS)
@walk("kind", BAD_ACTIONS)
def test_a_bad_action_moves_nothing(backend, kind):
    engine = engine_of(backend)
    engine.step_many(np.ones(N, int))
    before = snapshot(engine)
    actions, message = BAD_ACTIONS[kind]
    with pytest.raises(fastenv.InvalidActionError, match=message):
        engine.step_many(actions)
    assert snapshot(engine) == before


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_any_integer_dtype_is_taken(dtype):
    engine, like = engine_of(), engine_of()
    engine.step_many(np.array([0, 1, 2, 1, 0], dtype))
    like.step_many([0, 1, 2, 1, 0])
    assert snapshot(engine) == snapshot(like)


@pytest.mark.parametrize("backend", BACKENDS)
def test_illegal_actions_are_refused_by_name_or_left_to_the_rules(backend):
    engine = engine_of(backend, raise_illegal=True)
    while not (engine.get_states()["position"] % 2).any():
        engine.step_many(np.ones(N, int))
    lane = int((engine.get_states()["position"] % 2).argmax())
    before = snapshot(engine)
    with pytest.raises(
        fastenv.InvalidActionError, match=rf"lane {lane}: action 2 .*phase ODD.*\[0, 1\]"
    ):
        engine.step_many(np.full(N, 2))
    assert snapshot(engine) == before
    lenient = engine_of(backend)
    for _ in range(4):
        lenient.step_many(np.full(N, 2))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_game_may_take_any_integer(backend):
    engine = engine_of(backend, any_integer=True)
    engine.step_many(np.array([-7, 2**40, 3, -1, 1]))
    assert engine.get_states()["illegal"].tolist() == [1, 1, 1, 1, 0]


def test_buffers_are_aligned_contiguous_and_persistent():
    engine = engine_of()
    names = ["obs", "mask", "reward", "terminated", "truncated"]
    names += ["final_obs", "ep_return", "ep_length"]
    addresses = {name: getattr(engine, name).ctypes.data for name in names}
    for name in names:
        array = getattr(engine, name)
        assert array.flags.c_contiguous
        assert array.ctypes.data % 64 == 0
    engine.step_many(np.ones(N, int))
    engine.reset_many()
    assert addresses == {name: getattr(engine, name).ctypes.data for name in names}
    assert engine.tau.tolist() == [1] * N


@pytest.mark.parametrize("lanes", [10**13, 10**18, 2**63, 10**400])
def test_lanes_that_no_memory_holds_are_refused(lanes):
    with pytest.raises(fastenv.ConfigError) as caught:
        BatchEngine(WalkGame(), lanes)
    said = str(caught.value)
    assert said.startswith(f"num_envs={show(lanes)}: must be fewer: ")
    assert said.endswith(" MiB for one of the buffers cannot be allocated here")
    assert len(said) < 200


def test_impossible_sizes_are_refused():
    for wrong in (0, -1, 1.5, True, "4"):
        with pytest.raises(fastenv.ConfigError, match="num_envs"):
            BatchEngine(WalkGame(), wrong)


@needs_core
def test_backend_names_and_flags():
    from fastenv.backend import Backend, resolve

    have = {"kernel_module": "fastenv.rng", "core_module": "fastenv.rng"}
    assert resolve(**have).name == "fast"
    assert resolve("auto", True, None, **have).name == "numba"
    assert resolve("auto", None, True, **have).name == "cython"
    assert resolve("auto", False, None, **have).name == "reference"
    assert resolve(Backend(True, True), **have) == resolve("fast", True, True, **have)
    with pytest.raises(fastenv.ConfigError, match="use_numba"):
        resolve("cython", True, **have)
    with pytest.raises(fastenv.ConfigError, match="'auto', 'reference', 'numba'"):
        resolve("turbo", **have)
    broken = {"kernel_module": "fastenv.rng", "core_module": "fastenv.not_built"}
    assert resolve(**broken).name == "numba"
    with pytest.raises(fastenv.BackendUnavailableError, match="make build"):
        resolve("fast", **broken)
    with pytest.raises(fastenv.BackendUnavailableError, match="no Cython core"):
        resolve("cython", kernel_module=None, core_module=None)
    assert resolve(kernel_module=None, core_module=None).name == "reference"


@walk("backend", BACKENDS)
@walk("wanted", [(), ("goal",), ("twice", "goal", "position"), ("distance",)])
def test_only_the_wanted_columns_are_written(backend, wanted):
    rng = np.random.default_rng(5)
    whole, part = (BatchEngine(WalkGame(), 3, backend, info_columns=c) for c in (None, wanted))
    for engine in (whole, part):
        engine.reset_many(seeds=3)
    assert set(part.info) == set(part.final_info) == set(wanted)
    ended = 0
    for _ in range(40):
        actions = rng.integers(0, 3, 3)
        for engine in (whole, part):
            engine.step_many(actions)
        done = (whole.terminated | whole.truncated) != 0
        ended += done.sum()
        for name in wanted:
            np.testing.assert_array_equal(part.info[name], whole.info[name])
            np.testing.assert_array_equal(part.final_info[name][done], whole.final_info[name][done])
        np.testing.assert_array_equal(part.obs, whole.obs)
    assert ended
    copy = pickle.loads(pickle.dumps(part))
    assert (copy.info_columns, copy.term_columns) == (part.info_columns, part.term_columns)


@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64])
def test_whole_numbers_count_where_a_game_takes_any_integer(dtype):
    engine, twin = (engine_of(any_integer=True) for _ in range(2))
    engine.step_many(np.ones(N, dtype))
    twin.step_many(np.ones(N, np.int32))
    assert snapshot(engine) == snapshot(twin)


@pytest.mark.parametrize("bad", [0.5, np.nan, np.inf])
def test_broken_numbers_are_refused_by_every_game(bad):
    engine = engine_of(any_integer=True)
    before = snapshot(engine)
    actions = np.ones(N)
    actions[2] = bad
    with pytest.raises(fastenv.InvalidActionError, match=f"lane 2: action {bad} must be a whole"):
        engine.step_many(actions)
    with pytest.raises(fastenv.InvalidActionError, match="shape"):
        engine.step_many(np.ones((N, 1)))
    assert snapshot(engine) == before
