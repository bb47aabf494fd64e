"""Advantages: four implementations, Stable-Baselines3 and a tabular semi-MDP."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from stable_baselines3.common.buffers import RolloutBuffer

from tests.training.ppo.engines import Macro
from training.ppo.gae import gae_many, gae_some, gae_torch
from training.ppo.rollout import Rollout


def by_numpy(reward, value, done, bootstrap, gamma, lam):
    """One time row after the other, in the order the module's head gives."""
    varying = isinstance(gamma, np.ndarray)
    adv, last = np.zeros_like(reward), np.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        g = gamma[t] if varying else np.float32(gamma)
        trace = g * np.float32(lam) if varying else np.float32(gamma * lam)
        continues = np.float32(1) - done[t].astype(np.float32)
        r = reward[t] + g * bootstrap[t]
        delta = (r + g * value[t + 1] * continues) - value[t]
        last = delta + trace * continues * last
        adv[t] = last
    return adv, adv + value[:-1]


def by_lane(reward, value, term, trunc, final_value, gamma, lam):
    """The textbook, one lane at a time, in Python floats: term and trunc are kept apart."""
    steps, lanes = reward.shape
    adv = np.zeros((steps, lanes))
    for i in range(lanes):
        last = 0.0
        for t in reversed(range(steps)):
            g = float(gamma[t, i])
            follow = final_value[t, i] if trunc[t, i] else value[t + 1, i]
            done = term[t, i] or trunc[t, i]
            delta = float(reward[t, i]) + g * (1 - term[t, i]) * float(follow) - float(value[t, i])
            last = delta + g * lam * (1 - done) * last
            adv[t, i] = last
    return adv


@st.composite
def rollouts(draw):
    steps, lanes = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ends = rng.random((steps, lanes)) < draw(st.sampled_from([0.0, 0.2, 0.9]))
    term = ends & (rng.random((steps, lanes)) < 0.5)
    shape = (steps, lanes)
    return {
        "reward": rng.normal(size=shape).astype(np.float32),
        "value": rng.normal(size=(steps + 1, lanes)).astype(np.float32),
        "term": term,
        "trunc": ends & ~term,
        "final_value": rng.normal(size=shape).astype(np.float32),
        "tau": rng.integers(1, 6, shape),
        "gamma": draw(st.sampled_from([0.0, 0.5, 0.99, 1.0])),
        "lam": draw(st.sampled_from([0.0, 0.9, 0.95, 1.0])),
    }


@given(rollouts(), st.booleans())
def test_numba_torch_numpy_and_python_agree(case, varying):
    tau = case["tau"] if varying else np.ones_like(case["tau"])
    gammas = (case["gamma"] ** tau).astype(np.float32)
    gamma = gammas if varying else case["gamma"]
    done = case["term"] | case["trunc"]
    bootstrap = np.where(case["trunc"], case["final_value"], np.float32(0))
    inputs = (case["reward"], case["value"], done, bootstrap)
    adv, ret = np.empty((2, *done.shape), np.float32)
    gae_many(*inputs, gamma, case["lam"], adv, ret)

    expected = by_numpy(*inputs, gamma, case["lam"])
    if varying:
        np.testing.assert_allclose(adv, expected[0], atol=1e-5)
    else:
        assert (adv == expected[0]).all()
        assert (ret == expected[1]).all()
    keys = ("reward", "value", "term", "trunc", "final_value")
    lanes = by_lane(*(case[key] for key in keys), gammas, case["lam"])
    np.testing.assert_allclose(adv, lanes, atol=1e-5)
    np.testing.assert_allclose(ret, lanes + case["value"][:-1], atol=1e-5)

    adv_t, ret_t = torch.empty(2, *done.shape)
    tensors = [torch.from_numpy(x) for x in inputs]
    factor = torch.from_numpy(gammas) if varying else gamma
    gae_torch(*tensors, factor, case["lam"], adv_t, ret_t)
    np.testing.assert_allclose(adv_t, adv, atol=1e-5)
    np.testing.assert_allclose(ret_t, ret, atol=1e-5)


def test_cuda_loop_agrees(device):
    rng = np.random.default_rng(0)
    reward, bootstrap = rng.normal(size=(2, 32, 65)).astype(np.float32)
    value, done = rng.normal(size=(33, 65)).astype(np.float32), rng.random((32, 65)) < 0.1
    adv, ret = np.empty((2, 32, 65), np.float32)
    gae_many(reward, value, done, bootstrap, 0.99, 0.95, adv, ret)
    tensors = [torch.from_numpy(x).to(device) for x in (reward, value, done, bootstrap)]
    adv_t, ret_t = torch.empty(2, 32, 65, device=device)
    gae_torch(*tensors, 0.99, 0.95, adv_t, ret_t)
    np.testing.assert_allclose(adv_t.cpu(), adv, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_bits_are_those_of_stable_baselines(seed):
    from gymnasium import spaces

    rng = np.random.default_rng(seed)
    steps, lanes = 64, 33
    box = spaces.Box(-1, 1, (1,))
    buffer = RolloutBuffer(steps, box, spaces.Discrete(2), "cpu", 0.95, 0.99, lanes)
    reward, final = rng.normal(size=(2, steps, lanes)).astype(np.float32)
    done = rng.random((steps, lanes)) < 0.1
    trunc = done & (rng.random((steps, lanes)) < 0.5)
    value = rng.normal(size=(steps + 1, lanes)).astype(np.float32)
    # As in collect_rollouts: the bootstrap is added to the reward, one truncated lane at a time.
    buffer.rewards = reward.copy()
    for t, i in zip(*np.nonzero(trunc), strict=True):
        buffer.rewards[t, i] += buffer.gamma * torch.tensor(final[t, i])
    buffer.values, buffer.episode_starts[1:] = value[:-1].copy(), done[:-1]
    buffer.compute_returns_and_advantage(torch.from_numpy(value[-1]), done[-1])

    adv, ret = np.empty((2, steps, lanes), np.float32)
    bootstrap = np.where(trunc, final, np.float32(0))
    gae_many(reward, value, done, bootstrap, 0.99, 0.95, adv, ret)
    assert (adv == buffer.advantages).all()
    assert (ret == buffer.returns).all()


def test_macro_decisions_have_the_values_of_their_primitive_steps():
    """T8: values of choices that take several steps, by the kernel, are those of the steps."""
    rng = np.random.default_rng(5)
    num, gamma = 7, 0.9
    tau = rng.integers(1, 5, (num, 3))  # three choices in each state, each a path of tau steps
    rewards = [[rng.normal(size=tau[s, a]) for a in range(3)] for s in range(num)]
    follow = rng.integers(0, num, (num, 3))

    # Primitive: a state for every step of every path, swept one step at a time.
    best = np.zeros(num)
    for _ in range(400):
        worth = np.zeros((num, 3))
        for s in range(num):
            for a in range(3):
                v = best[follow[s, a]]
                for r in reversed(rewards[s][a]):
                    v = r + gamma * v
                worth[s, a] = v
        best = worth.max(1)

    # Macro: one decision each, its reward discounted inside, lambda 0: the return is the value.
    macro = np.array([[np.sum(gamma ** np.arange(len(r)) * r) for r in row] for row in rewards])
    flat = (1, 3 * num)
    found = np.zeros(num, np.float32)
    adv, ret = np.empty((2, *flat), np.float32)
    for _ in range(400):
        value = np.stack((np.zeros(flat[1]), found[follow].ravel())).astype(np.float32)
        gae_many(
            macro.reshape(flat).astype(np.float32),
            value,
            np.zeros(flat, bool),
            np.zeros(flat, np.float32),
            (gamma**tau).reshape(flat).astype(np.float32),
            0.0,
            adv,
            ret,
        )
        found = ret.reshape(num, 3).max(1)
    np.testing.assert_allclose(found, best, atol=1e-4)


def test_discount_of_a_decision_is_gamma_to_the_tau(make_trainer):
    engine, taus = Macro(8), []
    trainer = make_trainer(
        engine, on_step=lambda e, a, *_: a is None or taus.append(e.tau.copy()), gamma=0.9
    )
    trainer.iterate()
    np.testing.assert_allclose(trainer.rollout.gamma, 0.9 ** np.stack(taus), rtol=1e-6)
    assert len(np.unique(trainer.rollout.gamma)) == 4


def of_some(reward, value, done, bootstrap, gamma, lam, some):
    """Advantages of some decisions of a lane: each step leads from one of them to the next."""
    found, numbers = {}, np.flatnonzero(some).tolist()
    follow_value = follow_adv = None
    for first, end in reversed([*pairwise([*numbers, len(reward)])]):
        ends = np.flatnonzero(done[first:end])
        last = first + int(ends[0]) + 1 if len(ends) else end
        paid = 0.0
        for t in range(first, last):
            paid += float(reward[t]) + gamma * float(bootstrap[t])
        if len(ends):
            adv = paid - float(value[first])
        elif follow_value is None:  # nobody knows what comes behind the rollout
            adv = None
        else:
            follow = 0.0 if follow_adv is None else follow_adv
            adv = paid + gamma * follow_value - float(value[first]) + gamma * lam * follow
        follow_value, follow_adv = float(value[first]), adv
        if adv is not None:
            found[first] = adv
    return found


@given(rollouts(), st.sampled_from([0.1, 0.5, 1.0]), st.integers(0, 2**32 - 1))
def test_some_decisions_are_as_if_there_were_no_others(case, share, seed):
    done = case["term"] | case["trunc"]
    bootstrap = np.where(case["trunc"], case["final_value"], np.float32(0))
    some = np.random.default_rng(seed).random(done.shape) < share
    columns = (case["reward"], case["value"], done, bootstrap)
    adv, ret = np.empty((2, *done.shape), np.float32)
    learnt = gae_some(*columns, case["gamma"], case["lam"], some, adv, ret)
    for lane in range(done.shape[1]):
        own = [column[:, lane] for column in columns]
        expected = of_some(*own, case["gamma"], case["lam"], some[:, lane])
        assert np.flatnonzero(learnt[:, lane]).tolist() == sorted(expected)
        for t, wanted in expected.items():
            assert adv[t, lane] == pytest.approx(wanted, abs=1e-4)
            assert ret[t, lane] == adv[t, lane] + case["value"][t, lane]
    assert not adv[~learnt].any()


@given(rollouts())
def test_all_decisions_are_those_of_a_rollout_that_ends_with_the_last(case):
    done = np.zeros_like(case["term"])
    nothing = np.zeros_like(case["reward"])
    columns = (case["reward"], case["value"], done, nothing)
    adv, ret, whole, _ = np.empty((4, *done.shape), np.float32)
    gae_some(*columns, case["gamma"], case["lam"], ~done, adv, ret)
    steps = len(done) - 1
    if steps:
        shorter = [x[: steps + (x is case["value"])] for x in columns]
        gae_many(*shorter, case["gamma"], case["lam"], whole[:steps], ret[:steps])
    np.testing.assert_allclose(adv[:steps], whole[:steps], atol=1e-4)
    assert not adv[steps:].any()


@pytest.mark.parametrize("varying", [False, True])
def test_a_rollout_discounts_a_decision_by_how_long_it_lasts(varying):
    rollout = Rollout(6, 3, Macro(3), torch.device("cpu"), varying_tau=varying)
    drawn = torch.Generator().manual_seed(4)
    for tensor in (rollout.reward, rollout.value, rollout.bootstrap):
        tensor.normal_(generator=drawn)
    if varying:
        rollout.gamma.uniform_(0.2, 0.99, generator=drawn)
    rollout.write_advantages(0.9, 0.95, None)
    inputs = (x.numpy() for x in (rollout.reward, rollout.value, rollout.done, rollout.bootstrap))
    gamma = rollout.gamma.numpy() if varying else 0.9
    adv, ret = by_numpy(*inputs, gamma, 0.95)
    np.testing.assert_allclose(rollout.adv, adv, atol=1e-5)
    np.testing.assert_allclose(rollout.ret, ret, atol=1e-5)
