"""The window aggregator against its definition, a naive twin, and recorded windows."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastenv
from fastenv.errors import ConfigError
from fastenv.prospector.layout import METRICS
from tests.slow import every
from tests.tables import walk
from training.callbacks.windows import WindowAggregator, Windows

DATA = Path(__file__).parents[1] / "data" / "prospector"
GOLDEN = json.loads((DATA / "golden_public_windows.json").read_text())
NAMES = ["single-" + case["lanes"][0] for case in GOLDEN["cases"] if case["kind"] == "single"]
NAMES += ["batch-" + case["lanes"][0] for case in GOLDEN["cases"] if case["kind"] == "batch"]


class Naive:
    """The definition, word for word; one accumulator of returns a lane."""

    def __init__(self, size, keys):
        self.size, self.keys, self.returns = size, keys, {}
        self.records, self.total, self.episodes = [], 0, 0
        self.clear()

    def clear(self):
        self.ticks = self.calls = self.invalid = self.ended = self.terminated = self.truncated = 0
        self.reward = self.return_sum = 0.0
        self.metrics = dict.fromkeys(self.keys, 0.0)

    def step(self, lane, reward, info, terminated, truncated):
        self.returns[lane] = self.returns.get(lane, 0.0) + reward
        dt = remaining = max(1, info.get("dt", 1))
        while remaining > 0:
            take = min(self.size - self.ticks, remaining)
            final = take == remaining
            self.ticks += take
            self.total += take
            self.calls += final
            self.reward += reward * (take / dt)
            if info.get("invalid_action", False):
                self.invalid += take
            for key in self.keys:
                self.metrics[key] += info.get(key, 0.0) * take
            if final and (terminated or truncated):
                self.episodes += 1
                self.ended += 1
                self.terminated += terminated
                self.truncated += truncated
                self.return_sum += self.returns[lane]
                self.returns[lane] = 0.0
            remaining -= take
            if self.ticks == self.size:
                self.emit()

    def emit(self):
        self.records.append(
            {
                "window_id": len(self.records),
                "window_complete": self.ticks == self.size,
                "env_steps_start": self.total - self.ticks,
                "env_steps_end": self.total,
                "env_steps_in_window": self.ticks,
                "env_steps_total": self.total,
                "agent_steps": self.calls,
                "episodes_completed": self.ended,
                "terminated_episodes": self.terminated,
                "truncated_episodes": self.truncated,
                "reward_sum": self.reward,
                "reward_mean": self.reward / self.ticks,
                "return_mean": self.return_sum / self.ended if self.ended else 0.0,
                "invalid_action_rate": self.invalid / self.ticks,
                **{f"{key}_mean": total / self.ticks for key, total in self.metrics.items()},
            }
        )
        self.clear()


def assert_equal(record, expected):
    """Whole numbers and flags exactly, floats as far as another order of summation allows."""
    for key, value in expected.items():
        if isinstance(value, float):
            assert record[key] == pytest.approx(value, rel=1e-9, abs=1e-12), key
        else:
            assert record[key] == value, key


# -- recorded windows ------------------------------------------------------------------------------


def trace(stem):
    with np.load(DATA / f"{stem}.npz") as file:
        infos = {key: file[f"info_{key}"] for key in METRICS}
        infos |= {"dt": file["dt"], "invalid_action": file["invalid_action"]}
        return file["reward"], infos, file["terminated"], file["truncated"]


def replay(case):
    windows = WindowAggregator("golden", case["window_env_steps"], METRICS)
    traces, records = [trace(stem) for stem in case["lanes"]], []
    for t in range(case.get("steps", len(traces[0][0]))):
        infos = {key: np.array([lane[1][key][t] for lane in traces]) for key in traces[0][1]}
        reward, terminated, truncated = ([lane[k][t] for lane in traces] for k in (0, 2, 3))
        records += windows.record(reward, infos, terminated, truncated)
    last = windows.flush_partial()
    return windows, [*records, *([last] if last else [])]


@walk("case", every(3, GOLDEN["cases"]), ids=NAMES)
def test_recorded_windows_are_reproduced(case):
    windows, records = replay(case)
    assert windows.env_steps_total == case["env_steps_total"]
    assert windows.episodes_total == case["episodes_total"]
    assert windows.current_window_id == len(records) == len(case["records"])
    for record, expected in zip(records, case["records"], strict=True):
        assert set(record) - set(expected) == {"agent_steps"}
        if case["kind"] == "batch":  # of which one return was kept for all lanes together
            expected = {**expected, "return_mean": record["return_mean"]}
        assert_equal(record, expected)


# -- against the twin ------------------------------------------------------------------------------


@st.composite
def plays(draw):
    """Window size, and for each batched step the columns of all lanes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, steps, longest = draw(st.integers(1, 9)), draw(st.integers(1, 12)), draw(st.integers(1, 40))
    size = draw(st.integers(1, 60))
    batches = []
    for _ in range(steps):
        infos = {
            "dt": rng.integers(1, longest + 1, n),
            "invalid_action": rng.random(n) < 0.3,
            "credits": rng.normal(0, 100, n),
            "survival": rng.random(n),
        }
        ended = rng.integers(0, 5, n)
        batches.append((rng.normal(size=n), infos, ended == 0, ended == 1))
    return size, batches


@given(plays())
def test_batches_equal_the_definition_lane_by_lane(play):
    size, batches = play
    keys = ("credits", "survival")
    windows, naive = WindowAggregator("r", size, keys), Naive(size, keys)
    records = []
    for reward, infos, terminated, truncated in batches:
        records += windows.record(reward, infos, terminated, truncated)
        for i in range(len(reward)):
            info = {key: column[i].item() for key, column in infos.items()}
            naive.step(i, reward[i], info, bool(terminated[i]), bool(truncated[i]))
        assert windows.env_steps_total == naive.total
        assert windows.episodes_total == naive.episodes
        assert windows.current_window_id == len(naive.records)
    last = windows.flush_partial()
    assert (last is not None) == (naive.ticks > 0)
    if last is not None:
        records.append(last)
        naive.emit()
    assert len(records) == len(naive.records)
    for record, expected in zip(records, naive.records, strict=True):
        assert_equal(record, expected)
    calls = sum(len(reward) for reward, *_ in batches)
    assert sum(r["agent_steps"] for r in records) == windows.agent_steps_total == calls
    assert sum(r["env_steps_in_window"] for r in records) == windows.env_steps_total
    total = sum(reward.sum() for reward, *_ in batches)
    assert sum(r["reward_sum"] for r in records) == pytest.approx(total, abs=1e-9)


@given(plays(), st.data())
def test_going_on_from_a_saved_state_changes_nothing(play, data):
    size, batches = play
    cut = data.draw(st.integers(0, len(batches)))
    straight, first = WindowAggregator("r", size, METRICS), WindowAggregator("r", size, METRICS)
    expected = [r for batch in batches for r in straight.record(*batch)]
    found = [r for batch in batches[:cut] for r in first.record(*batch)]
    second = WindowAggregator("r", size, METRICS)
    second.restore(json.loads(json.dumps(first.state())))
    found += [r for batch in batches[cut:] for r in second.record(*batch)]
    assert found == expected
    assert second.flush_partial() == straight.flush_partial()


# -- what may be missing or wrong ------------------------------------------------------------------


def test_a_long_step_closes_several_windows_and_ends_in_the_last():
    windows = WindowAggregator("r", 10, ("credits",))
    info = {"dt": [25], "credits": [2.0], "invalid_action": [True]}
    first, second = windows.record([5.0], info, [True], [False])
    last = windows.flush_partial()
    assert [r["env_steps_in_window"] for r in (first, second, last)] == [10, 10, 5]
    assert [r["reward_sum"] for r in (first, second, last)] == [2.0, 2.0, 1.0]
    assert [r["episodes_completed"] for r in (first, second, last)] == [0, 0, 1]
    assert (last["return_mean"], last["credits_mean"], last["window_complete"]) == (5, 2, False)
    assert windows.flush_partial() is None


def test_an_end_on_the_border_belongs_to_the_window_it_closes():
    windows = WindowAggregator("r", 3, METRICS)
    (record,) = windows.record([1.0, 1.0], {"dt": [2, 1]}, [False, True], [False] * 2)
    assert (record["episodes_completed"], record["return_mean"]) == (1, 1.0)


@walk("bad", [np.nan, np.inf])
def test_what_is_no_finite_number_counts_as_nothing(bad):
    windows = WindowAggregator("r", 2, ("credits",))
    infos = {"credits": [bad, 4], "dt": [-3, np.nan]}
    (record,) = windows.record([0.0, 0.0], infos, [0, 0], [0, 0])
    assert record["credits_mean"] == 2.0
    assert (record["env_steps_in_window"], record["invalid_action_rate"]) == (2, 0.0)


@walk(
    ("changed", "named"),
    [
        ({"rewards": [[1.0]]}, "rewards"),
        ({"rewards": []}, "rewards"),
        ({"rewards": [1.0, np.nan]}, "rewards"),
        ({"terminated": [0]}, "terminated"),
        ({"truncated": 0}, "truncated"),
        ({"infos": {"dt": [1, 2, 3]}}, "'dt'"),
        ({"infos": {"credits": np.zeros((2, 1))}}, "'credits'"),
        ({"infos": {"dt": [1.5, 1]}}, "whole ticks"),
    ],
)
def test_bad_batch_is_refused_and_changes_nothing(changed, named):
    windows = WindowAggregator("r", 5, METRICS)
    good = {"rewards": [1.0, 2.0], "infos": {}, "terminated": [0, 0], "truncated": [0, 0]}
    before = windows.state()
    with pytest.raises(ValueError, match=named):
        windows.record(**(good | changed))
    assert windows.state() == before


@walk("size", [0, -1, 2.0, True, "10", None])
def test_bad_window_size_is_refused(size):
    with pytest.raises(ValueError, match="window_env_steps"):
        WindowAggregator("r", size, METRICS)


@walk("keys", ["credits", ("credits", "credits")])
def test_bad_metric_keys_are_refused(keys):
    with pytest.raises(ValueError, match="metric_keys"):
        WindowAggregator("r", 5, keys)


def test_game_without_ticks_is_refused():
    engine = fastenv.make_engine("SkullKingWorker-v0", 2)
    with pytest.raises(ConfigError, match="'dt'"):
        Windows(engine, "r", 100)
