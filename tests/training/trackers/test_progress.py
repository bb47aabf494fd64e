import math

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.training.trackers.trace import SIZES, Trace, make, run
from training.callbacks.trackers import BayesProgressTracker, Event

EVENTS = [
    Event(name="gain", source="value", threshold=3),
    Event(name="loss", source="value", threshold=4, kind="fall"),
    Event(name="other room", source=lambda v: v["room"], kind="change"),
]


@pytest.mark.parametrize("n", SIZES)
def test_posteriors_equal_a_loop_over_environments(n):
    engine = Trace(n, seed=n)
    tracker = make(BayesProgressTracker, engine, events=EVENTS)
    keep = 0.5 ** (1 / 256)
    posterior = [[1.0, 1.0] for _ in EVENTS]
    start, hit = [engine.first(lane) for lane in range(n)], [[False] * 3 for _ in range(n)]
    for done in run(engine, tracker, 80):
        for lane in range(n):
            at = engine.last(lane)
            change = at["value"] - start[lane]["value"]
            met = change >= 3, change <= -4, at["room"] != start[lane]["room"]
            hit[lane] = [h or m for h, m in zip(hit[lane], met, strict=True)]
        assert tracker.hit.tolist() == hit
        for lane in done:
            for k, ((a, b), seen) in enumerate(zip(posterior, hit[lane], strict=True)):
                posterior[k] = [1 + keep * (a - 1) + seen, 1 + keep * (b - 1) + (not seen)]
            start[lane], hit[lane] = engine.first(lane), [False] * 3
        assert np.stack([tracker.alpha, tracker.beta], 1).tolist() == posterior


def below(x, a, b):
    """P(Beta(a, b) <= x) for whole a and b: at least a successes in a + b - 1 trials."""
    n = a + b - 1
    return sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))


def test_figures_are_those_of_the_beta_distribution():
    tracker = make(BayesProgressTracker, Trace(3), events=EVENTS)
    tracker.alpha[:], tracker.beta[:] = [3.0, 1.0, 2.0], [9.0, 1.0, 6.0]
    figures = tracker.metrics()
    assert figures["gain"] == 0.25
    for bound, share in (("gain_low", 0.025), ("gain_high", 0.975)):
        assert below(figures[bound], 3, 9) == pytest.approx(share, abs=1e-12)


def test_a_restored_tracker_goes_on_alike():
    one, two = Trace(7, seed=3), Trace(7, seed=3)
    here, there = (make(BayesProgressTracker, engine, events=EVENTS) for engine in (one, two))
    for _ in run(one, here, 30):
        two.step()
    steps = {"length": torch.zeros(7, dtype=torch.int64)}  # which older versions saved
    there.load_state_dict(here.state_dict() | steps)
    before = here.alpha.copy()
    for _ in range(10):
        done = one.step()
        two.step()
        for engine, tracker in ((one, here), (two, there)):
            tracker.observe(engine, None)
            tracker.reset(done)
    assert not np.array_equal(here.alpha, before)
    assert here.metrics() == there.metrics()


def test_mistakes_are_named():
    engine = Trace(2)
    for wrong, match in (
        ([Event(name="a", source="rooms")], "'rooms'"),
        ([Event(name="a", source="room"), Event(name="a", source="x")], "name of its own"),
    ):
        with pytest.raises(ConfigError, match=match):
            make(BayesProgressTracker, engine, events=wrong)
