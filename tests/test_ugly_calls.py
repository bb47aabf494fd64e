"""Selections, lanes, seeds, rows and calls out of turn that are refused, and move nothing."""

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from fastenv.errors import ResetNeededError, StateError
from tests.race import N, engine_of, everything
from tests.tables import walk
from tests.test_ugly_actions import endless, every_backend
from tests.toy import RaceGame

SELECTIONS = {
    "a lane less": lambda: np.ones(N - 1, bool),
    "a lane more": lambda: [True] * (N + 1),
    "both agents": lambda: np.ones((N, 2), bool),
    "numbers": lambda: np.ones(N, int),
    "lane numbers": lambda: [0, 2],
    "signed": lambda: np.ones(N, np.int8),
    "float": lambda: np.full(N, np.nan),
    "objects": lambda: np.array([True, None, 1, "", {}], object),
    "scalar": lambda: True,
    "empty": lambda: [],
    "text": lambda: "11111",
    "endless": endless,
    "ragged": lambda: [True, [True], False],
    "a dict": lambda: {0: True},
}


@walk("kind", SELECTIONS)
@every_backend
def test_selections_that_are_none(backend, kind):
    engine = engine_of(backend)
    before = everything(engine)
    with pytest.raises(ValueError, match=r"select must be|array element"):
        engine.step_many(np.zeros((N, 2), int), select=SELECTIONS[kind]())
    with pytest.raises(ValueError, match=r"mask must be|array element"):
        engine.reset_many(mask=SELECTIONS[kind]())
    assert everything(engine) == before


@every_backend
@pytest.mark.parametrize("opponent", [None, "random"])
def test_nothing_selected_is_nothing_moved(backend, opponent):
    """But reward and flags, which are those of this step."""
    engine = engine_of(backend, opponent=opponent)
    shape = engine.mask.shape[:-1]
    engine.step_many(np.ones(shape, int))
    rows, kept = engine.get_states(), (engine.obs.copy(), engine.mask.copy(), engine.tau.copy())
    nobody = np.zeros(N, bool)
    for autoreset in (True, False):
        engine.step_many(np.full(shape, 10**9), select=nobody, autoreset=autoreset)
        engine.step_many(np.full(shape, -1), select=nobody.view(np.uint8), autoreset=autoreset)
    engine.reset_many(mask=nobody, seeds=4)
    assert np.array_equal(engine.get_states(), rows)
    assert np.array_equal(engine.obs, kept[0])
    assert np.array_equal(engine.mask, kept[1])
    assert np.array_equal(engine.tau, kept[2])
    for column in (engine.reward, engine.terminated, engine.truncated, engine.terms["progress"]):
        assert not column.any()
    assert engine.get_states([]).shape == (0,)
    assert engine.get_states(nobody).shape == (0,)
    assert engine.get_knob("limit", []) == []
    engine.configure("limit", 5, [])
    assert engine.get_knob("limit") == [90] * N


@every_backend
def test_no_rows_are_loaded_into_no_lanes(backend):
    engine = engine_of(backend)
    before = everything(engine)
    engine.set_states(engine.get_states([]), [])
    assert everything(engine) == before


LANES = {
    "outside": lambda: N,
    "below": lambda: -1,
    "far outside": lambda: [0, 2**62],
    "wraps below": lambda: np.array([2**63, 2**64 - 1], np.uint64),
    "too large for any integer": lambda: 2**100,
    "float": lambda: 1.0,
    "nan": lambda: [np.nan],
    "text": lambda: "0",
    "short mask": lambda: [True, False],
    "long mask": lambda: [True] * (N + 1),
    "two axes": lambda: [[0, 1]],
    "endless": endless,
    "a dict": lambda: {0: 1},
    "a slice": lambda: slice(0, 2),
}


@walk("kind", LANES)
@walk("backend", ["reference", "fast"])
def test_lanes_that_are_none(backend, kind):
    engine = engine_of(backend)
    before, row = everything(engine), engine.get_states(0)
    for call in (
        lambda lanes: engine.get_states(lanes),
        lambda lanes: engine.set_states(row, lanes),
        lambda lanes: engine.configure("limit", 3, lanes),
        lambda lanes: engine.get_knob("limit", lanes),
    ):
        with pytest.raises(ValueError, match=r"idx|array element"):
            call(LANES[kind]())
    assert everything(engine) == before


SEEDS = {
    "float": 1.5,
    "nan": float("nan"),
    "bool": True,
    "text": "12345",
    "short": [1, 2],
    "deep": [[1]] * N,
    "floats": [1.0] * N,
    "bools": [True] * N,
    "array of floats": np.ones(N),
    "column": np.ones((N, 1), int),
    "endless": endless(),
    "a set": set(range(N)),
}


@walk("kind", SEEDS)
@walk("backend", ["reference", "fast"])
def test_seeds_that_are_none(backend, kind):
    engine = engine_of(backend)
    before = everything(engine)
    with pytest.raises(ValueError, match="seeds must be"):
        engine.reset_many(seeds=SEEDS[kind])
    assert everything(engine) == before


@every_backend
def test_rows_that_are_none(backend):
    engine = engine_of(backend)
    engine.step_many(np.zeros((N, 2), int))
    before, rows = everything(engine), engine.get_states()
    other = engine_of("reference", game=RaceGame(size=80)).get_states()
    below = rows.copy()
    below["place"][3, 1] = -1
    stuck = rows.copy()
    stuck["bot_rng"][2] = 0
    for wrong, message in (
        (other, "^rows"),
        (np.zeros(N), "^rows"),
        (None, "^rows"),
        ([1] * N, "^rows"),
        (rows.tobytes(), "^rows"),
        (rows[:4], "4 rows for 5 lanes"),
        (np.concatenate([rows, rows]), "10 rows for 5 lanes"),
        (rows.reshape(N, 1), "rows"),
        (below, "lane 3: place"),
        (stuck, "lane 2: bot_rng is all zeros"),
    ):
        with pytest.raises(StateError, match=message):
            engine.set_states(wrong)
        assert everything(engine) == before
    for blob in (np.zeros((N, 3), np.uint8), np.zeros((N, 192), np.int8), np.zeros(N, "V192")):
        with pytest.raises(StateError, match="need uint8 and"):
            engine.set_state(None, blob)
    assert everything(engine) == before
    engine.set_states(rows[::-1])  # not contiguous, in another order: the same rows
    assert np.array_equal(engine.get_states(), rows[::-1])
    engine.set_states(rows[[1, 2]], [4, 4])  # the last one stays
    assert np.array_equal(engine.get_states(4), rows[[2]])


@every_backend
@pytest.mark.parametrize("opponent", [None, "fast"])
def test_nothing_runs_before_a_reset(backend, opponent):
    engine = BatchEngine(RaceGame(), N, backend, opponent=opponent)
    shape = engine.mask.shape[:-1]
    for _ in range(2):
        with pytest.raises(ResetNeededError, match="lane 0 has no running episode"):
            engine.step_many(np.zeros(shape, int))
    with pytest.raises(ResetNeededError, match="lane 0 has never been reset"):
        engine.bot_actions("random", agent=1)
    engine.reset_many(mask=np.array([1, 1, 0, 1, 1], bool))
    before = everything(engine)
    with pytest.raises(ResetNeededError, match="lane 2 has no running episode"):
        engine.step_many(np.zeros(shape, int))
    with pytest.raises(ResetNeededError, match="lane 2 has never been reset"):
        engine.bot_actions("random", agent=1)
    assert everything(engine) == before
    engine.step_many(np.zeros(shape, int), select=~engine.ended)
    engine.encode_obs_many()
    engine.refresh()


@every_backend
def test_an_ended_lane_must_be_reset_and_the_others_wait_for_it(backend):
    engine = engine_of(backend)
    row = engine.get_states(2)
    row["place"] = 19, 0
    row["board"], row["needs_action"], row["ready_at"] = 0, 1, row["clock"][0]
    engine.set_states(row, 2)
    engine.step_many(np.tile([1, 0], (N, 1)), autoreset=False)
    assert engine.ended.tolist() == [False, False, True, False, False]
    before = everything(engine)
    for autoreset in (True, False):
        with pytest.raises(ResetNeededError, match="lane 2"):
            engine.step_many(np.zeros((N, 2), int), autoreset=autoreset)
        assert everything(engine) == before
    engine.step_many(np.zeros((N, 2), int), select=~engine.ended)
    engine.reset_many(mask=engine.ended.copy())
    engine.step_many(np.zeros((N, 2), int))


@walk("columns", ["clock", ("weather",), ("clock", "clock"), (1,), (None,), 5])
def test_columns_that_are_none(columns):
    with pytest.raises((ValueError, TypeError)):
        BatchEngine(RaceGame(), 1, "reference", info_columns=columns)


def test_columns_from_a_generator_are_all_there_or_refused():
    columns = (name for name in ("clock", "share"))
    try:
        engine = BatchEngine(RaceGame(), 1, "reference", info_columns=columns)
    except (ValueError, TypeError):
        return
    assert engine.info_columns == ("clock", "share")
