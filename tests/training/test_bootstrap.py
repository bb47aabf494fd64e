import numpy as np
import pytest

from training.evaluation.intervals import Resamples, _draw_counts


def ones(values):
    return np.ones_like(values, dtype=float)


def test_weights_are_counts_of_draws_with_replacement():
    weights = _draw_counts(np.random.default_rng(0), n=50, rows=2000)
    assert (weights.sum(1) == 50).all()
    assert weights.mean() == 1
    assert weights.var() == pytest.approx(1 - 1 / 50, rel=0.05)


def test_equals_a_loop_over_resamples():
    rng = np.random.default_rng(1)
    numerators, denominators = rng.normal(size=(30, 2)), rng.integers(1, 5, size=(30, 2))
    found = Resamples(numerators, denominators, 100, seed=7)
    weights = _draw_counts(np.random.default_rng(7), 30, 100)
    for b in range(100):
        chosen = np.repeat(np.arange(30), weights[b].astype(int))
        ratio = numerators[chosen].sum(0) / denominators[chosen].sum(0)
        np.testing.assert_allclose(found.replicates[b], ratio, rtol=1e-10)
    low, high = np.quantile(found.replicates[:, 0], [0.025, 0.975])
    first = found.intervals()[0]
    assert (first.low, first.high) == pytest.approx((low, high))
    assert first.value == pytest.approx(numerators[:, 0].sum() / denominators[:, 0].sum())


def test_interval_of_a_mean_is_that_of_theory():
    values = np.random.default_rng(2).normal(3, 2, size=(4000, 1))
    (found,) = Resamples(values, ones(values), 2000, seed=0).intervals()
    half = 1.96 * values.std() / np.sqrt(4000)
    assert found.value == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - half, abs=half / 8)
    assert found.high == pytest.approx(values.mean() + half, abs=half / 8)


def test_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(3)
    hits = 0
    for k in range(300):
        values = rng.exponential(1.0, size=(100, 1))
        (found,) = Resamples(values, ones(values), 400, seed=k).intervals()
        hits += found.low <= 1.0 <= found.high
    assert 0.90 <= hits / 300 <= 0.98


def test_games_of_one_deal_are_drawn_together():
    """Four equal games are no more information than one."""
    values = np.random.default_rng(4).normal(size=(200, 1))
    (one,) = Resamples(values, ones(values), 1000, seed=0).intervals()
    (four,) = Resamples(4 * values, 4 * ones(values), 1000, seed=0).intervals()
    assert (four.low, four.high) == pytest.approx((one.low, one.high))


def test_difference_is_paired():
    luck = np.random.default_rng(5).normal(0, 10, size=500)
    values = np.stack([luck + 1, luck], axis=1)
    gap = Resamples(values, ones(values), 500, seed=0).difference(0, 1)
    assert (gap.low, gap.value, gap.high) == pytest.approx((1, 1, 1))


def test_what_never_happened_has_no_interval():
    zero = np.zeros((10, 1))
    (found,) = Resamples(zero, zero, 50, seed=0).intervals()
    assert found.to_list() == [None, None, None]
