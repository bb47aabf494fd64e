"""Trainings over seeds: which ones, and the interval over them."""

import math

import numpy as np
import pytest

from fastenv.errors import ConfigError
from training.evaluation.over_seeds import over_seeds, parse_seeds


@pytest.mark.parametrize(
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


def test_one_seed_has_no_interval():
    assert over_seeds([3.0]).to_list() == [3.0, None, None]


def test_seeds_are_read():
    assert parse_seeds("7,19, 31") == (7, 19, 31)
    assert parse_seeds("7") == (7,)


@pytest.mark.parametrize("text", ["", "7,7", "7,x", "-1,2", "1.5,2", "3"])
def test_other_seeds_are_refused(text):
    with pytest.raises(ConfigError, match=r"--seeds=.*at least 2 different numbers"):
        parse_seeds(text, at_least=2)
