"""Figures over seeds and deals: against rliable, and what they say of little."""

import warnings

import numpy as np
import pytest

from tests.tables import walk
from training.evaluation import statistics
from training.evaluation.intervals import wilson
from training.evaluation.statistics import (
    describe_few,
    improvement_interval,
    improvement_on_deals,
    iqm,
    iqm_interval,
    performance_profile,
    probability_of_improvement,
)

# Runs of two algorithms.
X, Y = [1.0, 1.5, 1.0, 0.2, 1.5, 1.1], [0.9, 0.9, 0.6, 1.7, 0.3]
# Points of three players on forty deals, in tens.
DEALS = 10 * np.array(
    [
        *([21, 3, 13], [10, 7, 8], [8, 12, 7], [10, 6, 17], [14, 10, 8], [7, 11, 8], [10, 6, 14]),
        *([12, 10, 13], [8, 7, 13], [10, 11, 10], [10, 3, 9], [4, 4, 7], [18, 12, 10], [12, 14, 8]),
        *([5, 9, 14], [10, 11, 14], [13, 8, 12], [11, 10, 12], [13, 4, 10], [7, 9, 17], [11, 6, 8]),
        *([8, 12, 11], [11, 16, 15], [4, 7, 5], [7, 12, 8], [13, 6, 5], [17, 8, 21], [14, 11, 12]),
        *([2, 8, 13], [12, 6, 8], [3, 2, 9], [11, 2, 11], [11, 4, 10], [10, 4, 17], [7, 14, 1]),
        *([11, 14, 10], [7, 9, 5], [9, 13, 13], [8, 16, 8], [13, 10, 8]),
    ]
)


# -- against rliable -------------------------------------------------------------------------------

# What rliable 1.2.0 says of them: value, low and high of 50,000 resamples, those of probabilities
# 20,000. Beside scipy 1.17.1 and pandas 2.3.3, as its arch cannot be imported beside pandas 3.
IQM = [
    (X, (1.15, 0.6, 1.4)),
    (Y, (0.8, 0.4, 1.4333333333333333)),
]
BETTER = (0.6666666666666666, 0.26666666666666666, 1.0)
# Each deal a task of one run; intervals over tasks.
DEAL_IQM = [(100.5, 89.0, 111.5), (87.0, 72.5, 101.5), (102.5, 90.0, 116.5)]
DEAL_IMPROVEMENT = [[0.5, 0.5625, 0.4875], [0.4375, 0.5, 0.4125], [0.5125, 0.5875, 0.5]]


@walk(("scores", "theirs"), IQM)
def test_interquartile_means_are_those_of_rliable(scores, theirs):
    found = iqm_interval(scores, 20_000)
    assert found.value == pytest.approx(theirs[0], rel=1e-12)
    assert (found.low, found.high) == pytest.approx(theirs[1:], abs=0.025)


def test_probabilities_of_improvement_are_those_of_rliable():
    found = improvement_interval(X, Y, 20_000)
    assert found.value == pytest.approx(BETTER[0], rel=1e-12)
    assert (found.low, found.high) == pytest.approx(BETTER[1:], abs=0.02)


def test_performance_profiles_are_shares_above_thresholds():
    assert performance_profile(X, [0.0, 1.0, 1.4, 9.0]).tolist() == [1, 0.5, 1 / 3, 0]


def test_players_on_the_same_deals_are_as_rliable_has_them():
    for k, theirs in enumerate(DEAL_IQM):
        found = iqm_interval(DEALS[:, k], 20_000)
        assert found.value == theirs[0]
        assert (found.low, found.high) == pytest.approx(theirs[1:], abs=1.0)
        values = [improvement_on_deals(DEALS[:, k], other).value for other in DEALS.T]
        assert values == pytest.approx(DEAL_IMPROVEMENT[k], rel=1e-12)


def test_other_scores_are_as_rliable_has_them_today():
    try:
        from rliable import library, metrics
    except Exception as error:  # a part of it may not go with this pandas
        pytest.skip(f"rliable cannot be imported: {error!r}")
    rng = np.random.default_rng(5)
    ours, theirs = rng.normal(size=9).round(1), rng.normal(0.3, 1, size=7).round(1)
    assert float(iqm(ours)) == pytest.approx(metrics.aggregate_iqm(ours[:, None]), rel=1e-12)
    better = metrics.probability_of_improvement(ours[:, None], theirs[:, None])
    assert probability_of_improvement(ours, theirs) == pytest.approx(better, rel=1e-12)
    above = np.linspace(-2, 2, 9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        profile, _ = library.create_performance_profile({"a": ours[:, None]}, above, reps=10)
        np.random.seed(0)  # noqa: NPY002 - what it draws from
        _, ends = library.get_interval_estimates(
            {"a": ours[:, None]}, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=5000
        )
    assert performance_profile(ours, above).tolist() == pytest.approx(profile["a"].tolist())
    found = iqm_interval(ours, 5000)
    assert (found.low, found.high) == pytest.approx(ends["a"].ravel().tolist(), abs=0.03)


# -- what they are ---------------------------------------------------------------------------------


@walk(
    ("scores", "value"),
    [
        ([7.0], 7.0),
        ([1.0, 3.0], 2.0),
        ([1.0, 3.0, 80.0], 28.0),  # of three none is left out
        ([1.0, 3.0, 5.0, 80.0], 4.0),
        ([-90.0, 1.0, 2.0, 3.0, 80.0], 2.0),
        ([*range(8), 1000.0], 4.0),
    ],
)
def test_the_quarters_at_the_ends_are_left_out(scores, value):
    assert float(iqm(scores)) == pytest.approx(value)


def test_equal_scores_improve_half():
    assert probability_of_improvement([1, 2], [1, 2]) == 0.5
    assert probability_of_improvement([1, 1, 3], [1]) == pytest.approx(2 / 3)
    assert probability_of_improvement([0.0], [5.0, 6.0]) == 0.0


# -- little to go by -------------------------------------------------------------------------------


def test_one_seed_has_no_interval():
    assert iqm_interval([3.0]).to_list() == [3.0, None, None]
    assert improvement_interval([3.0], [1.0, 2.0]).to_list() == [1.0, None, None]
    assert improvement_interval([3.0, 4.0], [5.0]).to_list() == [0.0, None, None]
    assert describe_few(1) == ["One seed has no interval: what others would come to is not known."]


@walk("scores", [[1.0, 9.0], [1.0, 5.0, 9.0]])
def test_of_two_or_three_seeds_an_interval_ends_at_lowest_and_highest(scores):
    assert iqm_interval(scores).to_list() == [5.0, 1.0, 9.0]
    told = " ".join(describe_few(len(scores)))
    assert "none is left out" in told
    assert "too narrow" in told


def test_what_a_run_lacks_is_not_made_up():
    assert iqm_interval([1.0, np.nan]).to_list() == [None] * 3
    assert improvement_interval([1.0, 2.0], [np.nan, 2.0]).to_list() == [None] * 3


def test_intervals_are_called_too_narrow_as_long_as_they_are():
    """Against the truth: 0 for means, 0.5 for algorithms that are the same."""
    for runs, least, most in ((3, 0.6, 0.85), (statistics.ENOUGH, 0.9, 0.99), (30, 0.9, 0.99)):
        rng, mean, even = np.random.default_rng(runs), 0, 0
        for k in range(200):
            ours, theirs = rng.normal(size=(2, runs))
            found = iqm_interval(ours, 200, k)
            mean += found.low <= 0 <= found.high
            found = improvement_interval(ours, theirs, 200, k)
            even += found.low <= 0.5 <= found.high
        assert least <= mean / 200 <= most
        assert least <= even / 200 <= most
        assert ("too narrow" in " ".join(describe_few(runs))) == (runs < statistics.ENOUGH)


# -- players on the same deals ---------------------------------------------------------------------


def test_luck_of_a_deal_falls_on_both():
    """One is better by a little on each deal, far less than deals differ."""
    luck = np.random.default_rng(0).normal(0, 100, 50)
    assert improvement_on_deals(luck + 1, luck).value == 1.0
    assert improvement_on_deals(luck, luck).value == 0.5
    assert iqm_interval(luck + 1).value == pytest.approx(iqm_interval(luck).value + 1)


def test_deals_that_all_went_one_way_are_no_certainty():
    high = improvement_on_deals(np.full(12, 2.0), np.ones(12))
    low = improvement_on_deals(np.ones(12), np.full(12, 2.0))
    assert high.to_list() == pytest.approx([1.0, *wilson(12, 12)])
    assert 0.7 < high.low < 0.8
    assert (low.low, low.high) == pytest.approx((1 - high.high, 1 - high.low))
    assert low.low >= 0.0
