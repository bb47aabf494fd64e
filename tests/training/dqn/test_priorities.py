"""T10: the sum tree against plain sums, and weights against their formula."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import walk
from tests.training.dqn.twins import proportional
from training.dqn.priorities import Priorities, fill, find_many, set_many
from training.run.trainer import TrainingError


def draw(tree, points):
    rows = np.empty(len(points), np.int64)
    find_many(tree, points, rows)
    return rows


@given(
    seed=st.integers(0, 2**32 - 1),
    capacity=st.integers(1, 70),
    writes=st.integers(1, 8),
)
def test_sums_are_those_of_the_leaves_after_any_writes(seed, capacity, writes):
    rng = np.random.default_rng(seed)
    ours, plain = Priorities(capacity, 1.0), np.zeros(capacity)
    tree = ours.tree
    for _ in range(writes):
        rows = rng.integers(capacity, size=rng.integers(1, 9))
        values = rng.exponential(size=len(rows)) * rng.integers(2, size=len(rows))
        set_many(tree, rows, values)
        for row, value in zip(rows, values, strict=True):  # the last one holds
            plain[row] = value
        first = int(rng.integers(capacity))
        count = int(rng.integers(1, capacity - first + 1))
        fill(tree, first, count, values[0])
        plain[first : first + count] = values[0]
    np.testing.assert_array_equal(ours.state_dict()["priorities"], plain)
    assert tree[1] == pytest.approx(plain.sum())
    rebuilt = Priorities(capacity, 1.0)
    rebuilt.load_state_dict({"priorities": plain, "largest": 1.0})
    np.testing.assert_array_equal(rebuilt.tree, tree)  # to the bit: no rounding piles up
    if plain.any():
        points = rng.random(50)
        expected = np.searchsorted(plain.cumsum(), points * plain.sum(), side="right")
        found = draw(tree, points)
        assert (plain[found] > 0).all()
        assert (found == expected).mean() > 0.9  # but where a point falls on a border


def test_rows_without_priority_are_not_drawn_at_the_ends_of_the_range():
    tree = Priorities(5, 1.0).tree
    set_many(tree, np.array([1, 3]), np.array([1e-300, 1.0]))
    points = np.array([0.0, np.nextafter(1.0, 0.0), 0.5])
    assert draw(tree, points).tolist() == [1, 3, 3]
    set_many(tree, np.array([3]), np.array([0.0]))
    assert draw(tree, points).tolist() == [1, 1, 1]


def test_frequencies_are_in_proportion_to_priorities():
    print("seed", seed := 5)
    rng = np.random.default_rng(seed)
    errors = rng.exponential(size=40)
    priorities = Priorities(40, alpha=0.6)
    priorities.update(np.arange(40), errors)
    draws, generator = 200_000, torch.Generator().manual_seed(seed)
    ours = np.bincount(priorities.draw(draws, generator), minlength=40) / draws
    exact = (errors + 1e-6) ** 0.6
    theirs = np.bincount(proportional(exact, draws, rng), minlength=40) / draws
    np.testing.assert_allclose(ours, exact / exact.sum(), atol=1e-4)  # one draw from each part
    np.testing.assert_allclose(ours, theirs, atol=4e-3)


def test_weights_are_those_of_the_formula_and_new_rows_have_the_largest_priority():
    priorities = Priorities(10, alpha=0.5)
    priorities.add(0, 3)
    priorities.update(np.array([0, 1]), np.array([4.0, -0.25]))
    priorities.add(5, 1)
    p = np.array([2.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(priorities.state_dict()["priorities"][[0, 1, 2, 5]], p, rtol=1e-5)
    rows = np.array([1, 5, 2])
    exact = (4 * p[[1, 3, 2]] / p.sum()) ** -0.4
    assert not priorities.state_dict()["priorities"][[3, 4, 6]].any()
    weights = priorities.weights(rows, 4, 0.4)
    assert weights.dtype == torch.float32
    np.testing.assert_allclose(weights, exact / exact.max(), rtol=1e-5)


@walk("error", [np.nan, np.inf])
def test_priorities_that_are_not_finite_are_refused_with_nothing_changed(error):
    priorities = Priorities(4, alpha=0.6)
    priorities.add(0, 4)
    before = priorities.state_dict()["priorities"]
    with pytest.raises(TrainingError, match="temporal-difference error is not finite"):
        priorities.update(np.array([0, 1]), np.array([1.0, error]))
    np.testing.assert_array_equal(priorities.state_dict()["priorities"], before)
