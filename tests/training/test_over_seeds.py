"""Trainings over seeds: which ones, and the interval over them."""

import math

import numpy as np
import pytest

from fastenv.errors import ConfigError
from tests.tables import walk
from training.evaluation.intervals import half_width, over_seeds
from training.evaluation.trainings import parse_seeds


@walk(
    ("count", "quantile"),
    [(2, 12.7062), (3, 4.3027), (4, 3.1824), (10, 2.2622), (14, 2.1604), (400, 1.9659)],
)
def test_interval_over_seeds_is_students(count, quantile):
    values = np.random.default_rng(count).normal(5, 2, count).tolist()
    mean = sum(values) / count
    spread = math.sqrt(sum((x - mean) ** 2 for x in values) / (count - 1) / count)
    found = over_seeds(values)
    assert found.value == pytest.approx(mean)
    assert (found.high - found.value) / spread == pytest.approx(quantile, rel=1e-4)
    assert found.high - found.value == pytest.approx(found.value - found.low)


def test_the_noise_of_shared_games_does_not_go_away_with_more_seeds():
    """Against trainings whose evaluations err together, on the deals that all of them play."""
    rng = np.random.default_rng(0)
    of_seeds, of_deals, inside, alone = 1.0, 3.0, 0, 0
    for _ in range(1000):
        truth = rng.normal(10, of_seeds, 5)
        values = (truth + rng.normal(0, of_deals)).tolist()
        together = over_seeds(values, shared=[1.96 * of_deals] * 5)
        inside += together.low <= 10 <= together.high
        spread = over_seeds(values)
        alone += spread.low <= 10 <= spread.high
    assert 940 <= inside <= 985
    assert alone < 600


def test_half_widths_add_up_by_their_squares():
    found = over_seeds([1.0, 1.0, 1.0], shared=[3.0, 4.0, 5.0])
    half = math.sqrt((9 + 16 + 25) / 3)
    assert found.to_list() == pytest.approx([1, 1 - half, 1 + half])
    assert over_seeds([1.0, 1.0], most=1.0, shared=[3.0, 3.0]).high == 1.0
    assert math.isnan(half_width([None, None, None]))


def test_one_seed_has_no_interval():
    assert over_seeds([3.0]).to_list() == [3.0, None, None]


def test_seeds_are_read():
    assert parse_seeds("7,19, 31") == (7, 19, 31)
    assert parse_seeds("7") == (7,)


@walk("text", ["", "7,7", "7,x", "-1,2", "1.5,2", "3"])
def test_other_seeds_are_refused(text):
    with pytest.raises(ConfigError, match=r"--seeds=.*at least 2 different numbers"):
        parse_seeds(text, at_least=2)
