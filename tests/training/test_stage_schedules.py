"""Which stage is trained on and which is tested, by mode; see stage_schedules.py."""

import json
import math

import numpy as np
import pytest

from training.callbacks.stage_schedules import (
    HALF_LIFE,
    MODES,
    AdaptiveSchedule,
    StageSchedule,
    SuccessRates,
)

SEED = 5


def made(kind, stages=6):
    return kind(stages, SEED)


def draws(schedule, number=4000):
    drawn = [schedule.choose_stage() for _ in range(number)]
    return np.bincount(drawn, minlength=schedule.stages) / number


def test_rates_are_those_of_recent_episodes():
    rates, rng = SuccessRates(2), np.random.default_rng(SEED)
    successes = weight = 0.0
    for number in (0, 3, 1, 40, 0, 260):
        won = rng.random(number) < 0.7
        rates.add(1, won, decisions=100)
        for one in won.tolist():
            successes = successes * 0.5 ** (1 / HALF_LIFE) + one
            weight = weight * 0.5 ** (1 / HALF_LIFE) + 1.0
    assert rates.rate(1) == pytest.approx((successes + 1) / (weight + 2))
    assert rates.rate(0) == 0.5
    p, z = successes / weight, 1.0  # Wilson (1927), one standard deviation
    middle = (p + z * z / (2 * weight)) / (1 + z * z / weight)
    half = math.sqrt(p * (1 - p) / weight + z * z / (4 * weight**2)) / (1 + z * z / weight)
    assert rates.lower(1) == pytest.approx(middle - half)


@pytest.mark.parametrize(
    ("episodes", "decisions", "enough"), [(400, 511, False), (400, 512, True), (120, 9999, False)]
)
def test_a_bound_needs_enough_episodes_and_decisions(episodes, decisions, enough):
    rates = SuccessRates(1)
    rates.add(0, np.ones(episodes, np.bool_), decisions)
    assert (rates.lower(0) > 0.9) is enough
    rates.forget(0)
    assert (rates.lower(0), rates.rate(0)) == (0.0, 0.5)


def test_linear_goes_on_by_one():
    schedule = made(StageSchedule)
    assert schedule.next_test == schedule.choose_stage() == 0
    schedule.record_verdict(False)
    assert schedule.next_test == 0
    for _ in range(3):
        schedule.record_verdict(True)
    assert schedule.next_test == 3
    assert draws(schedule)[3] == 1.0
    schedule.record_verdict(True)
    schedule.record_verdict(True)
    assert schedule.next_test is None
    assert schedule.choose_stage() == 5


def test_adaptive_draws_stages_that_are_neither_mastered_nor_hopeless():
    schedule = made(AdaptiveSchedule, stages=4)
    schedule.record_verdict(True)
    schedule.record_verdict(True)  # three are open
    rates = np.array([0.95, 0.5, 0.1])
    for stage, rate in enumerate(rates):
        won = np.arange(2000) % 100 < 100 * rate
        schedule.rates.add(stage, np.random.default_rng(SEED).permutation(won), 5000)
    rates = np.array([schedule.rates.rate(stage) for stage in range(3)])
    weights = rates * (1 - rates)
    np.testing.assert_allclose(draws(schedule)[:3], weights / weights.sum(), atol=0.03)
    assert draws(schedule)[3] == 0.0
    assert schedule.next_test == 2


@pytest.mark.parametrize("mode", MODES)
def test_a_course_goes_on_from_its_state(mode):
    schedule = made(MODES[mode])
    for verdict in (True, True, True, False):
        schedule.record_verdict(verdict)
        schedule.rates.add(0, np.array([True, False]), 10)
        schedule.choose_stage()
    again = made(MODES[mode])
    again.restore(json.loads(json.dumps(schedule.state())))
    assert again.next_test == schedule.next_test
    for _ in range(30):
        assert again.choose_stage() == schedule.choose_stage()
