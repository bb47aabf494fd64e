import statistics

import numpy as np
import pytest

from tests.training.trackers.trace import SIZES, Trace, run
from training.callbacks.trackers import EpisodeStats


@pytest.mark.parametrize("n", SIZES)
def test_episodes_equal_a_loop_over_environments(n):
    engine = Trace(n, seed=n)
    left_out = np.zeros(n, np.bool_)
    left_out[2::3] = True
    stats = EpisodeStats(engine, lambda v: v["value"] > 0, left_out, size=10)
    every, excluded = [], 0
    for done in run(engine, stats, 60):
        for lane in done:
            if left_out[lane]:
                excluded += 1
                continue
            success = float(engine.last(lane)["value"] > 0)
            every.append([engine.ep_return[lane], engine.ep_length[lane], success])
        assert stats.last().tolist() == every[-10:]
    figures = stats.metrics()
    assert (figures["episodes"], figures["excluded"]) == (len(every), excluded)
    assert figures["return"] == pytest.approx(statistics.fmean(r for r, _, _ in every[-10:]))
    assert figures["window_episodes"] == len(every)
    sums = [0.0, 0.0, 0.0]
    for episode in every:
        sums = [a + b for a, b in zip(sums, episode, strict=True)]
    assert stats.sums.tolist() == sums
    assert figures["window_success"] == sums[2] / len(every)


def test_states_are_restored():
    engine = Trace(7)
    tracker, other = EpisodeStats(engine), EpisodeStats(engine)
    for _ in run(engine, tracker, 20):
        pass
    other.load_state_dict(tracker.state_dict())
    assert other.metrics() == tracker.metrics()
    older = EpisodeStats(engine)
    older.load_state_dict({**tracker.state_dict(), "window_start": 0})
    assert older.metrics() == tracker.metrics()
