"""``num_threads`` and ``FASTENV_NUM_THREADS``: what is taken, what is refused and what is said."""

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, show
from fastenv.vector import FastVectorEnv
from tests.tables import walk
from tests.toy import WalkGame

VARIABLE = "FASTENV_NUM_THREADS"


def threads(given=None, lanes=4):
    return BatchEngine(WalkGame(), lanes, "reference", given).num_threads


@pytest.fixture(autouse=True)
def _unset(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


@walk("given", [1, 2, 4, np.int64(3), np.uint8(2)])
def test_as_many_as_there_are_lanes(given):
    found = threads(given)
    assert found == given
    assert type(found) is int


NONE = [0, -1, -(2**70), True, False, np.bool_(True), 1.5, 2.0, "2", "", b"2", [2], (1,), {}]
NONE += [float("nan"), float("inf"), np.float64(2), np.array([2]), np.array(2), object, 1j]


@walk("given", NONE, ids=repr)
def test_what_is_no_number_of_threads(given):
    with pytest.raises(ConfigError, match=r"num_threads=.*integer of at least 1") as caught:
        threads(given)
    assert repr(given) in str(caught.value)


@walk("given", [5, 257, 100_000, 2**31, 2**63, 2**64 + 1])
def test_more_than_lanes(given):
    with pytest.raises(ConfigError, match=f"num_threads={given}: must be at most 4, .*lanes"):
        threads(given)


@walk("given", [257, 300, 2**31])
def test_more_than_any_machine_has_use_for(given):
    assert threads(256, 300) == 256
    with pytest.raises(ConfigError, match=f"num_threads={given}: must be at most 256"):
        threads(given, 300)


@walk(("text", "lanes", "found"), [("3", 4, 3), ("3", 2, 2), ("256", 300, 256)])
@walk("zeros", ["", "0", "000"])
def test_the_variable_is_the_default(monkeypatch, text, lanes, found, zeros):
    """Legal, but more than there are lanes: as many as there are, for it is meant for all."""
    monkeypatch.setenv(VARIABLE, zeros + text)
    assert threads(None, lanes) == found
    assert threads(1, lanes) == 1
    assert FastVectorEnv(WalkGame(), lanes, backend="reference").engine.num_threads == found


TEXTS = ["", " ", "x", "0", "00", "-1", "+1", " 2", "2 ", "2\n", "1.5", "1e1", "0x2", "1_0", "nan"]
TEXTS += ["257", "100000", "99999999999999999999", "1" * 5000, "²", "٣", "五", "None", "2,3"]
TEXTS += ["000000001999", "0000000001999", "000000001" + "9" * 5000, "0" * 5000]


@walk("text", TEXTS, ids=lambda text: ascii(text[:24]))
def test_what_the_variable_cannot_be(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    for lanes in (1, 3000):
        with pytest.raises(ConfigError, match=f"{VARIABLE}=.*integer from 1 to 256") as caught:
            threads(None, lanes)
        assert show(text) in str(caught.value)
    assert threads(2) == 2  # nobody asked the variable


def test_without_the_variable_one():
    assert threads() == 1
