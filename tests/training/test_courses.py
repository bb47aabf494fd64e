"""Which stage is trained on and which is tested, by mode; see training/callbacks/courses.py."""

import json
import math

import numpy as np
import pytest

from training.callbacks.courses import HALF_LIFE, MODES, Adaptive, Goal, HopBack, Linear, Rates

SEED = 5


def made(kind, stages=6, target=0.8, rehearsal=0.0):
    return kind(stages, target, rehearsal, SEED)


def hop_target(k):
    return 1.0 - math.exp(-0.6 * k)


def draws(course, number=4000, done=0.5):
    return np.bincount([course.draw(done) for _ in range(number)], minlength=course.stages) / number


def test_rates_are_those_of_recent_episodes():
    rates, rng = Rates(2), np.random.default_rng(SEED)
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
    rates = Rates(1)
    rates.add(0, np.ones(episodes, np.bool_), decisions)
    assert (rates.lower(0) > 0.9) is enough
    rates.forget(0)
    assert (rates.lower(0), rates.rate(0)) == (0.0, 0.5)


def test_linear_goes_on_by_one_and_rehearses_what_lies_before():
    course = made(Linear, rehearsal=0.3)
    assert course.goal == Goal(0, 0.8)
    assert draws(course)[0] == 1.0
    course.tested(False)
    assert course.goal == Goal(0, 0.8)
    for _ in range(3):
        course.tested(True)
    assert course.goal == Goal(3, 0.8)
    np.testing.assert_allclose(draws(course), [0.1, 0.1, 0.1, 0.7, 0, 0], atol=0.03)
    course.tested(True)
    course.tested(True)
    assert course.goal is None
    assert draws(made(Linear))[0] == 1.0


def test_adaptive_draws_stages_that_are_neither_mastered_nor_hopeless():
    course = made(Adaptive, stages=4)
    course.tested(True)
    course.tested(True)  # three are open
    rates = np.array([0.95, 0.5, 0.1])
    for stage, rate in enumerate(rates):
        won = np.arange(2000) % 100 < 100 * rate
        course.rates.add(stage, np.random.default_rng(SEED).permutation(won), 5000)
    rates = np.array([course.rates.rate(stage) for stage in range(3)])
    weights = rates * (1 - rates)
    np.testing.assert_allclose(draws(course)[:3], weights / weights.sum(), atol=0.03)
    assert draws(course)[3] == 0.0
    assert course.goal == Goal(2, 0.8)


def test_hop_back_opens_at_once_what_a_probe_and_a_test_pass():
    course = made(HopBack, stages=2)
    assert course.goal == Goal(0, 0.25)
    course.tested(True)
    assert course.goal == Goal(0, pytest.approx(hop_target(1)))
    course.tested(True)
    assert course.goal == Goal(1, 0.25)
    assert course.draw(0.1) == 1
    course.tested(True)
    course.tested(True)
    assert course.goal is None
    assert course.draw(0.9) == 1


def test_hop_back_returns_three_stages_and_comes_forward_with_falling_targets():
    course = made(HopBack)
    for _ in range(4):
        course.tested(True)
        course.tested(True)
    assert course.draw(0.2) == 4
    course.tested(False)  # a probe may be made again
    assert course.goal == Goal(4, 0.25)
    assert course.draw(0.209) == 4
    assert course.draw(0.2101) == 1  # a hundredth of the run was spent on it
    for stage, k in [(1, 4), (2, 3), (3, 2), (4, 1)]:
        assert course.goal == Goal(stage, pytest.approx(hop_target(k)))
        course.rates.add(stage, np.ones(500, np.bool_), 5000)
        course.tested(False)
        assert course.draw(0.3) == stage
        course.tested(True)
    assert course.goal == Goal(5, 0.25)
    assert course.rates.rate(5) == 0.5
    assert course.draw(0.5) == 5  # its own share begins now
    assert course.draw(0.505) == 5


def test_hop_back_goes_back_where_the_probe_passes_and_the_stage_does_not():
    course = made(HopBack)
    course.tested(True)
    course.tested(False)
    assert course.draw(0.001) == 0
    assert course.goal == Goal(0, pytest.approx(hop_target(1)))
    course.tested(True)
    assert course.goal == Goal(1, 0.25)


@pytest.mark.parametrize("mode", MODES)
def test_a_course_goes_on_from_its_state(mode):
    course = made(MODES[mode], rehearsal=0.4 if mode == "linear" else 0.0)
    for verdict in (True, True, True, False):
        course.tested(verdict)
        course.rates.add(0, np.array([True, False]), 10)
        course.draw(0.1)
    again = made(MODES[mode], rehearsal=0.4 if mode == "linear" else 0.0)
    again.restore(json.loads(json.dumps(course.state())))
    assert again.goal == course.goal
    for done in np.linspace(0.1, 0.2, 30):
        assert again.draw(done) == course.draw(done)
