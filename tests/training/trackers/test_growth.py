import math

import numpy as np
import pytest

from fastenv.errors import ConfigError
from tests.training.trackers.trace import SIZES, Trace, make, run
from training.callbacks.trackers import GrowthReward


@pytest.mark.parametrize("n", SIZES)
def test_rewards_equal_a_loop_over_environments(n):
    engine = Trace(n, seed=n)
    growth = make(GrowthReward, engine, source="value", weight=0.25)
    first = [engine.info["value"][lane].item() for lane in range(n)]
    highest, paid = list(first), 0.0
    for done in run(engine, growth, 100):
        for lane in range(n):
            value = float(engine.last(lane)["value"])
            assert growth.bonus[lane] == 0.25 * max(0.0, value - highest[lane])
            highest[lane] = max(highest[lane], value)
            paid += growth.bonus[lane]
        assert growth.highest.tolist() == highest
        for lane in done:
            highest[lane] = float(engine.info["value"][lane])
    assert growth.metrics() == {"highest": pytest.approx(np.mean(highest))}
    assert paid > 0


def test_no_value_is_not_paid():
    engine = Trace(4)
    growth = make(GrowthReward, engine, source=lambda seen: seen["value"] * values)
    values = np.full(4, np.nan)
    growth.reset(range(4))
    growth.observe(engine, np.zeros(4))
    assert growth.bonus.tolist() == [0.0] * 4
    values = np.array([np.nan, -np.inf, 1.0, 1.0])
    growth.observe(engine, np.zeros(4))
    assert growth.bonus.tolist() == [0.0] * 4  # the first value after none is where it begins
    assert np.isfinite(growth.metrics()["highest"])


def test_a_state_is_restored():
    engine = Trace(7)
    growth = make(GrowthReward, engine, source="value")
    for _ in run(engine, growth, 20):
        pass
    other = make(GrowthReward, engine, source="value")
    other.load_state_dict(growth.state_dict())
    assert np.array_equal(other.highest, growth.highest)
    assert np.array_equal(other.bonus, growth.bonus)


def test_mistakes_are_named():
    engine = Trace(2)
    with pytest.raises(ConfigError, match="weight=nan is not possible: weight must be a finite"):
        GrowthReward.OPTIONS(source="value", weight=math.nan)
    with pytest.raises(ConfigError, match="'purse'"):
        make(GrowthReward, engine, source="purse")
