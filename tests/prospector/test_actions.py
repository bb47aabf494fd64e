"""Actions of any type: one environment and many take the same ones, and do the same with them."""

import numpy as np
import pytest

import fastenv
from fastenv.prospector.actions import AnyWholeNumber
from fastenv.prospector.tables import NUM_ACTIONS
from tests.tables import walk

WHOLE = [
    0, 68, 69, -1, 2**31, 2**63, 2**64 - 1, 2**64, 2**64 + 1, -(2**63), -(2**63) - 1, -(2**64),
    10**5000, -(10**5000), True, 7.0, -3.0, 1e300, np.int8(5), np.uint64(2**64 - 1),
    np.float32(6.0), np.bool_(True), np.array(7), np.array(2**64, object), np.array(3.0),
]  # fmt: skip
OTHERS = [7.5, float("nan"), float("inf"), None, "7", 1j, np.array("7"), np.datetime64(3, "ns")]
OTHERS += [np.ma.masked, np.ma.array(7, mask=True), {}]


@pytest.fixture(scope="module")
def env():
    return fastenv.make("Prospector-v0", time_max=50.0)


@pytest.fixture(scope="module")
def vec():
    return fastenv.make_vec("Prospector-v0", 2, time_max=50.0, autoreset_mode="disabled")


def in_lane_1(action):
    """Return actions of two lanes, as a caller has them who does not look at their types."""
    try:
        return np.array([0, action])
    except (OverflowError, TypeError):
        return np.array([0, action], object)


@walk("action", WHOLE, ids=lambda action: f"{type(action).__name__}")
def test_a_whole_number_is_a_move(env, vec, action):
    env.reset(seed=6)
    vec.reset(seed=[5, 6])
    alone, together = env.step(action), vec.step(in_lane_1(action))
    assert np.array_equal(alone[0], together[0][1])
    assert alone[1] == together[1][1]
    assert env.get_state() == vec.get_states()[1]
    expected = min(max(int(action), -1), NUM_ACTIONS)
    assert AnyWholeNumber().encode(action) == expected


@walk("action", OTHERS, ids=lambda action: f"{type(action).__name__}")
def test_anything_else_is_none(env, vec, action):
    env.reset(seed=6)
    vec.reset(seed=[5, 6])
    before = vec.get_states()
    with pytest.raises(fastenv.InvalidActionError, match="action"):
        env.step(action)
    given = np.empty(2, object)
    given[:] = 0, 0
    given[1] = action
    with pytest.raises(fastenv.InvalidActionError, match="lane 1: action"):
        vec.step(given)
    assert np.array_equal(vec.get_states(), before)
