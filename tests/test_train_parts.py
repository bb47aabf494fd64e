"""What parts of a training take, and the speed-up that they allow."""

import json
import time

import pytest

from tools import train_parts
from tools.train_parts import Clock, estimate_speedup


class Sleepless:
    """A trainer whose parts spend CPU time on one thread."""

    def iterate(self):
        self.collect()
        self.update()
        spend(0.01)

    def collect(self):
        spend(0.02)

    def update(self):
        spend(0.04)


def spend(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_parts_are_timed_apart():
    found = Clock(Sleepless()).measure(2)
    assert found.keys() == set(train_parts.PARTS)
    assert found["collect"] == pytest.approx(0.04, abs=0.02)
    assert found["learn"] == pytest.approx(0.08, abs=0.03)
    assert found["rest"] == pytest.approx(0.02, abs=0.015)
    assert found["search"] == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(
    ("cores", "network", "times"),
    [
        (1, 2, 1.0),
        (2, 2, 2.0),  # 6 s of search beside 6 s of the rest
        (3, 1, 2.0),  # the rest takes 6 s, however fast the search is
        (3, 2, 2.0),  # a second thread for the network would leave one for the search
        (4, 2, 12 / 4),  # 3 s of search; 2 s alone and half of 4 s of the network
        (1000, 2, 12 / 4),
        (1000, 4, 12 / 3),
    ],
)
def test_what_is_not_spread_limits_the_speed(cores, network, times):
    parts = {"collect": 1.5, "learn": 4.0, "search": 6.0, "rest": 0.5}
    assert estimate_speedup(parts, cores, network) == pytest.approx(times)


@pytest.mark.slow
def test_a_record_of_make_train(tmp_path, monkeypatch):
    monkeypatch.setattr(train_parts, "WARMUP", 1)
    out = tmp_path / "parts.json"
    assert train_parts.main(["--iterations", "1", "--repeats", "1", "--out", str(out)]) == 0
    record = json.loads(out.read_text())
    assert record["network_threads"] == 2
    assert record["decisions"] == 32_768
    assert all(record["cpu_s"][part][0] > 0 for part in ("collect", "learn", "search"))
