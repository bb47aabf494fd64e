"""Which stage is trained on and which is tested, by mode; see stage_schedules.py."""

import json
import math

import numpy as np
import pytest

from training.callbacks.stage_schedules import (
    HALF_LIFE,
    MODES,
    AdaptiveSchedule,
    HopBackSchedule,
    LinearSchedule,
    StageTest,
    SuccessRates,
)

SEED = 5


def made(kind, stages=6, target=0.8, rehearsal=0.0):
    return kind(stages, target, rehearsal, SEED)


def hop_target(k):
    return 1.0 - math.exp(-0.6 * k)


def draws(schedule, number=4000, done=0.5):
    return (
        np.bincount([schedule.choose_stage(done) for _ in range(number)], minlength=schedule.stages)
        / number
    )


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


def test_linear_goes_on_by_one_and_rehearses_what_lies_before():
    schedule = made(LinearSchedule, rehearsal=0.3)
    assert schedule.next_test == StageTest(0, 0.8)
    assert draws(schedule)[0] == 1.0
    schedule.record_verdict(False)
    assert schedule.next_test == StageTest(0, 0.8)
    for _ in range(3):
        schedule.record_verdict(True)
    assert schedule.next_test == StageTest(3, 0.8)
    np.testing.assert_allclose(draws(schedule), [0.1, 0.1, 0.1, 0.7, 0, 0], atol=0.03)
    schedule.record_verdict(True)
    schedule.record_verdict(True)
    assert schedule.next_test is None
    assert draws(made(LinearSchedule))[0] == 1.0


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
    assert schedule.next_test == StageTest(2, 0.8)


def test_hop_back_opens_at_once_what_a_probe_and_a_test_pass():
    schedule = made(HopBackSchedule, stages=2)
    assert schedule.next_test == StageTest(0, 0.25)
    schedule.record_verdict(True)
    assert schedule.next_test == StageTest(0, pytest.approx(hop_target(1)))
    schedule.record_verdict(True)
    assert schedule.next_test == StageTest(1, 0.25)
    assert schedule.choose_stage(0.1) == 1
    schedule.record_verdict(True)
    schedule.record_verdict(True)
    assert schedule.next_test is None
    assert schedule.choose_stage(0.9) == 1


def test_hop_back_returns_three_stages_and_comes_forward_with_falling_targets():
    schedule = made(HopBackSchedule)
    for _ in range(4):
        schedule.record_verdict(True)
        schedule.record_verdict(True)
    assert schedule.choose_stage(0.2) == 4
    schedule.record_verdict(False)  # a probe may be made again
    assert schedule.next_test == StageTest(4, 0.25)
    assert schedule.choose_stage(0.209) == 4
    assert schedule.choose_stage(0.2101) == 1  # a hundredth of the run was spent on it
    for stage, k in [(1, 4), (2, 3), (3, 2), (4, 1)]:
        assert schedule.next_test == StageTest(stage, pytest.approx(hop_target(k)))
        schedule.rates.add(stage, np.ones(500, np.bool_), 5000)
        schedule.record_verdict(False)
        assert schedule.choose_stage(0.3) == stage
        schedule.record_verdict(True)
    assert schedule.next_test == StageTest(5, 0.25)
    assert schedule.rates.rate(5) == 0.5
    assert schedule.choose_stage(0.5) == 5  # its own share begins now
    assert schedule.choose_stage(0.505) == 5


def test_hop_back_goes_back_where_the_probe_passes_and_the_stage_does_not():
    schedule = made(HopBackSchedule)
    schedule.record_verdict(True)
    schedule.record_verdict(False)
    assert schedule.choose_stage(0.001) == 0
    assert schedule.next_test == StageTest(0, pytest.approx(hop_target(1)))
    schedule.record_verdict(True)
    assert schedule.next_test == StageTest(1, 0.25)


@pytest.mark.parametrize("mode", MODES)
def test_a_course_goes_on_from_its_state(mode):
    schedule = made(MODES[mode], rehearsal=0.4 if mode == "linear" else 0.0)
    for verdict in (True, True, True, False):
        schedule.record_verdict(verdict)
        schedule.rates.add(0, np.array([True, False]), 10)
        schedule.choose_stage(0.1)
    again = made(MODES[mode], rehearsal=0.4 if mode == "linear" else 0.0)
    again.restore(json.loads(json.dumps(schedule.state())))
    assert again.next_test == schedule.next_test
    for done in np.linspace(0.1, 0.2, 30):
        assert again.choose_stage(done) == schedule.choose_stage(done)
