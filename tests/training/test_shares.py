"""Wilson's interval of a share, against values from tables."""

import numpy as np
import pytest

from training.evaluation.intervals import share, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (0, 50, 0.0, 0.0713),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)
    assert wilson(trials - successes, trials) == pytest.approx((1 - high, 1 - low), abs=5e-5)


def test_shares_of_none_and_of_all_have_an_interval():
    for ends, value in ((np.ones(500, bool), 1.0), (np.zeros(500, bool), 0.0)):
        found = share(ends)
        assert found.value == value
        assert 0.0 <= found.low <= value <= found.high <= 1.0
        assert found.high - found.low == pytest.approx(0.0076, abs=1e-4)


def test_a_share_of_no_episodes_is_unknown():
    assert share(np.zeros(0, bool)).to_list() == [None, None, None]
