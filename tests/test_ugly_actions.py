"""Actions that nobody should send and somebody will: refused, and nothing has moved."""

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from fastenv.env import FastEnv
from fastenv.errors import InvalidActionError
from fastenv.vector import FastVectorEnv, sample_legal
from tests.race import BACKENDS, N, engine_of, everything
from tests.tables import walk
from tests.toy import RaceGame, WalkGame

every_backend = pytest.mark.parametrize("backend", BACKENDS)


def endless():
    """Return a list that holds itself."""
    made = []
    made.append(made)
    return made


def wide(value, dtype=None):
    return np.full((N, 2), value, dtype)


ACTIONS = {
    "too large for any integer": lambda: [[2**100, 0]] * N,
    "a little too large": lambda: wide(2**63, np.uint64),
    "all bits": lambda: wide(2**64 - 1, np.uint64),
    "wraps to 0": lambda: wide(2**32),
    "wraps to 1, below zero": lambda: wide(-(2**32) + 1),
    "smallest": lambda: wide(-(2**63)),
    "nan": lambda: wide(np.nan),
    "infinite": lambda: wide(-np.inf),
    "whole but float": lambda: wide(1.0),
    "bool": lambda: wide(True),
    "complex": lambda: wide(1j),
    "objects that are integers": lambda: wide(1, object),
    "objects": lambda: wide(None),
    "text": lambda: [["1", "1"]] * N,
    "dates": lambda: wide("2020-01-01", "M8[D]"),
    "records": lambda: np.zeros((N, 2), [("a", "i4")]),
    "nothing": lambda: None,
    "a number": lambda: 1,
    "a scalar array": lambda: np.array(1),
    "empty": lambda: [],
    "a range without end": lambda: range(10**12),
    "a range beyond 64 bits": lambda: range(10**30),
    "empty lanes": lambda: np.zeros((0, 2), int),
    "no agents": lambda: np.zeros((N, 0), int),
    "one agent": lambda: np.zeros(N, int),
    "one agent, with its axis": lambda: np.zeros((N, 1), int),
    "three agents": lambda: np.zeros((N, 3), int),
    "agents before lanes": lambda: np.zeros((2, N), int),
    "an axis more": lambda: np.zeros((N, 2, 1), int),
    "a lane more": lambda: np.zeros((N + 1, 2), int),
    "a dict": lambda: {0: [1, 1]},
    "a set": lambda: {1, 2},
    "a generator": lambda: ([0, 0] for _ in range(N)),
    "bytes": lambda: b"0011223344",
    "an engine": lambda: BatchEngine(WalkGame(), 1, "reference"),
}
RAGGED = {
    "ragged": lambda: [[0, 0]] * (N - 1) + [[0]],
    "too deep for NumPy": lambda: [[[0, 0]], [0, 0]] * N,
    "endless": endless,
    "endless inside": lambda: [[0, endless()]] * N,
}


@walk("kind", ACTIONS | RAGGED)
@every_backend
def test_actions_that_are_none(backend, kind):
    """By the error that is promised, which says what an action must be; no words of NumPy's."""
    engine = engine_of(backend)
    engine.step_many(np.zeros((N, 2), int))
    before = everything(engine)
    for options in ({}, {"autoreset": False}, {"select": np.ones(N, np.uint8)}):
        with pytest.raises(InvalidActionError, match="action"):
            engine.step_many((ACTIONS | RAGGED)[kind](), **options)
        assert everything(engine) == before
    engine.step_many(np.zeros((N, 2), np.int8))
    assert everything(engine) != before


@walk("kind", RAGGED)
def test_one_environment_promises_the_same(kind):
    env = FastEnv(WalkGame(), backend="reference")
    env.reset(seed=0)
    with pytest.raises(InvalidActionError, match="action"):
        env.step(RAGGED[kind]())


@walk("kind", ACTIONS)
@walk("agents", ["one", "all"])
def test_views_pass_the_refusal_on(agents, kind):
    """Of a vector environment, in every state it can be in with NEXT_STEP."""
    options = {"agents": agents, "opponent": "fast" if agents == "one" else None}
    vec = FastVectorEnv(RaceGame(goal=6), N, autoreset_mode="next_step", **options)
    vec.reset(seed=0)
    actions = ACTIONS[kind]()
    if agents == "one" and kind == "one agent":
        actions = np.zeros((N, 2), int)
    pending = 0
    for _ in range(12):
        before = everything(vec.engine)
        with pytest.raises(InvalidActionError):
            vec.step(actions)
        assert everything(vec.engine) == before
        vec.step(sample_legal(vec.action_masks(), 0))
        pending += vec.engine.ended.sum()
    assert pending


NO_ACTIONS = [4, -1, 2**100, -(2**100), float("nan"), 1.0, True, None, "1", [1], [[1]], {}, [], 1j]
NO_ACTIONS += [np.array([1]), np.array([[1, 2]]), np.uint64(2**64 - 1), np.float32(1), object]


@walk("action", NO_ACTIONS, ids=repr)
@every_backend
def test_one_environment_refuses_them_too(backend, action):
    env = FastEnv(RaceGame(), backend=backend, opponent="slow", info_columns=("clock",))
    env.reset(seed=0)
    env.step(1)
    before = everything(env.engine)
    with pytest.raises(InvalidActionError, match="action"):
        env.step(action)
    assert everything(env.engine) == before
    env.step(np.int8(0))
