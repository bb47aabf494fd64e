"""T11: the loss against loops, and the best legal action."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import walk
from tests.training.dqn.twins import masked_argmax, quantile_huber
from training.dqn import loss
from training.dqn.explore import EpsilonGreedy, best_legal, choose_rows, choose_torch


@walk("way", [loss.quantile_huber, loss.quantile_huber_torch])
@walk("kappa", [0.3, 1.0])
@walk(("learnt", "wanted"), [(5, 5), (1, 1), (3, 7)])
def test_loss_and_gradient_are_those_of_loops(way, kappa, learnt, wanted):
    rng = np.random.default_rng(11)
    theta = torch.from_numpy(rng.normal(size=(6, learnt))).requires_grad_()
    target = torch.from_numpy(rng.normal(size=(6, wanted)))
    ours = way(theta, target, kappa)
    slow = [quantile_huber(row, goal, kappa) for row, goal in zip(theta, target, strict=True)]
    np.testing.assert_allclose(ours.detach(), [float(x.detach()) for x in slow], rtol=1e-6)
    mine, theirs = (torch.autograd.grad(x, theta)[0] for x in (ours.sum(), sum(slow)))
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_one_quantile_is_half_of_the_huber_loss():
    theta, target = torch.randn(9, 1), torch.randn(9, 1)
    huber = torch.nn.functional.huber_loss(theta, target, reduction="none")
    torch.testing.assert_close(loss.quantile_huber(theta, target, 1.0), 0.5 * huber.squeeze(1))


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 20), actions=st.integers(1, 9))
def test_best_action_is_legal_however_good_the_others_are(seed, rows, actions):
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, size=(rows, actions)) * 1e30
    mask = rng.random((rows, actions)) < 0.5
    mask[np.arange(rows), rng.integers(actions, size=rows)] = True
    found = best_legal(torch.from_numpy(values), torch.from_numpy(mask))
    assert found.tolist() == [masked_argmax(v, m) for v, m in zip(values, mask, strict=True)]


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 20), actions=st.integers(1, 9))
def test_actions_are_chosen_alike_on_any_device(seed, rows, actions):
    rng = np.random.default_rng(seed)
    values = torch.from_numpy(rng.integers(-3, 4, size=(rows, actions)).astype(np.float32))
    mask = rng.random((rows, actions)) < 0.5
    mask[np.arange(rows), rng.integers(actions, size=rows)] = True
    drawn, found = rng.random((rows, 2)), torch.empty(rows, dtype=torch.int64)
    choose_rows(values.numpy(), mask, drawn, 0.5, found.numpy())
    expected = choose_torch(values, torch.from_numpy(mask), torch.from_numpy(drawn), 0.5)
    assert torch.equal(found, expected)


def test_values_that_are_no_numbers_choose_a_legal_action():
    values = np.array([[0, np.nan, np.nan], [0, -np.inf, -np.inf]], np.float32)
    mask, found = np.array([[False, True, True]] * 2), np.empty(2, np.int64)
    choose_rows(values, mask, np.ones((2, 2)), 0.0, found)
    assert found.tolist() == [1, 1]


def test_random_actions_are_legal_and_equally_likely():
    print("seed", seed := 12)
    rows = 30_000
    mask = torch.zeros(rows, 7, dtype=torch.bool)
    mask[:, [1, 4, 6]] = True
    values = torch.zeros(rows, 7)
    values[:, 4] = 1.0
    for epsilon in (0.0, 0.3, 1.0):
        found = EpsilonGreedy(seed).choose(values, mask, epsilon)
        share = np.bincount(found, minlength=7) / rows
        expected = epsilon / 3 * mask[0].numpy()
        expected[4] += 1 - epsilon
        np.testing.assert_allclose(share, expected, atol=4 * 0.5 / rows**0.5)
        assert share[[0, 2, 3, 5]].sum() == 0


def test_rows_one_by_one_draw_what_all_of_them_draw():
    values = torch.randn(8, 5)
    mask = torch.ones(8, 5, dtype=torch.bool)
    together, alone = EpsilonGreedy(3), EpsilonGreedy(3)
    for _ in range(5):
        one_by_one = [
            alone.choose(v[None], m[None], 0.5) for v, m in zip(values, mask, strict=True)
        ]
        assert torch.equal(together.choose(values, mask, 0.5), torch.cat(one_by_one))
