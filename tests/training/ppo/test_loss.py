"""The loss: its closed form against its definition, and both against MaskablePPO.train."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import Logger

from fastenv.adapters.sb3 import BatchVecEnv
from tests.slow import diagonal
from tests.training.ppo.test_distribution import some
from training.nets.distribution import log_prob, masked_log_probs
from training.ppo.loss import TERMS, Objective
from training.ppo.rollout import Samples, explained_variance
from training.run.envs import make_engine


def samples_of(n, actions, seed):
    rng = torch.Generator().manual_seed(seed)
    logits, mask, action = some(n, actions, seed)
    moved = logits + 0.3 * torch.randn(n, actions, generator=rng)
    old = log_prob(masked_log_probs(moved, mask), action)
    adv = torch.randn(n, generator=rng)
    ret, value = torch.randn(2, n, generator=rng)
    return logits, value, Samples(mask, action, old, adv, ret)


objectives = st.builds(
    Objective,
    clip=st.sampled_from([0.05, 0.2]),
    ent_coef=st.sampled_from([0.0, 0.01]),
    vf_coef=st.sampled_from([0.0, 0.5]),
    huber=st.booleans(),
)


@given(objectives, st.integers(1, 40), st.integers(1, 60), st.integers(0, 10_000))
def test_closed_form_equals_the_definition(objective, n, actions, seed):
    logits, value, samples = samples_of(n, actions, seed)
    logits.requires_grad_()
    value.requires_grad_()
    loss, terms = objective.loss(logits, value, samples)
    expected = torch.autograd.grad(loss, (logits, value), allow_unused=True)
    sums = np.zeros(len(TERMS))
    found = objective.gradients(logits, value, samples, n, sums)
    np.testing.assert_allclose(sums, terms, atol=2e-6, rtol=1e-5)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=2e-6 / n)


@given(objectives, st.integers(0, 10_000))
def test_pieces_add_up_to_the_minibatch(objective, seed):
    logits, value, samples = samples_of(24, 7, seed)
    whole, parts = np.zeros((2, len(TERMS)))
    expected = objective.gradients(logits, value, samples, 24, whole)
    found = [
        objective.gradients(logits[k], value[k], Samples(*(x[k] for x in samples)), 24, parts)
        for k in (slice(0, 5), slice(5, 24))
    ]
    np.testing.assert_allclose(parts, whole, atol=1e-12)
    for ours, theirs in zip(map(torch.cat, zip(*found, strict=True)), expected, strict=True):
        assert torch.equal(ours, theirs)


def test_a_row_without_legal_actions_has_no_gradient():
    logits, value, samples = samples_of(4, 5, 1)
    samples = samples._replace(mask=torch.zeros(4, 5, dtype=torch.bool))
    objective = Objective(0.2, 0.01, 0.5)
    sums = np.zeros(len(TERMS))
    grad, _ = objective.gradients(logits, value, samples, 4, sums)
    assert (grad == 0).all()
    np.testing.assert_allclose(sums, objective.loss(logits, value, samples)[1], atol=1e-5)


def test_explained_variance():
    ret = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert explained_variance(ret, ret) == 1
    assert explained_variance(torch.zeros(4), ret) == 0


# -- against sb3-contrib ---------------------------------------------------------------------------

STEPS, LANES = 96, 16
VARIANTS = {
    "plain": {},
    "all terms": {"ent_coef": 0.01, "clip_range": 0.1},
    "early stop": {"target_kl": 2e-4, "learning_rate": 3e-3},
}


@pytest.fixture(params=VARIANTS)
def sb3(request):
    """MaskablePPO on Skull King, with a rollout collected and its permutations drawn in advance."""
    options = {"learning_rate": 3e-4, **VARIANTS[request.param]}
    env = BatchVecEnv(make_engine("SkullKingWorker-v0", LANES))
    model = MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=STEPS,
        batch_size=STEPS * LANES // 3,  # 4 epochs of 3: 12 minibatches
        n_epochs=4,
        policy_kwargs={"net_arch": {"pi": [64, 64], "vf": [64, 64]}},
        seed=3,
        device="cpu",
        **options,
    )
    model.set_logger(Logger(None, []))
    _, callback = model._setup_learn(10**6)
    model.collect_rollouts(env, callback, model.rollout_buffer, STEPS)
    return model, {**options, "n_steps": STEPS, "batch_size": model.batch_size}


def our_names(state_dict):
    """The parameters of SB3's policy under our names."""
    names = {
        "mlp_extractor.policy_net.": "policy_tower.layers.",
        "mlp_extractor.value_net.": "value_tower.layers.",
        "action_net.": "policy_head.",
        "value_net.": "value_head.",
    }
    return {
        next(ours + key.removeprefix(theirs) for theirs, ours in names.items() if theirs in key): v
        for key, v in state_dict.items()
    }


@pytest.mark.parametrize(("closed_form", "micro_batch"), diagonal([True, False], [0, 64]))
def test_update_equals_maskable_ppo(sb3, make_trainer, monkeypatch, micro_batch, closed_form):
    model, options = sb3
    trainer = make_trainer(
        make_engine("SkullKingWorker-v0", LANES),
        n_epochs=4,
        net_arch=(64, 64),
        micro_batch=micro_batch,
        **options,
    )
    trainer._closed_form = closed_form
    trainer.net.load_state_dict(our_names(model.policy.state_dict()))
    buffer, rollout = model.rollout_buffer, trainer.rollout
    for name, theirs in {
        "logp": buffer.log_probs,
        "reward": buffer.rewards,  # the bootstrap of truncated episodes is in them
        "action": buffer.actions[..., 0],
        "adv": buffer.advantages,
        "ret": buffer.returns,
    }.items():
        getattr(rollout, name).copy_(torch.from_numpy(theirs))
    rollout.obs[:-1] = torch.from_numpy(buffer.observations)
    rollout.value[:-1] = torch.from_numpy(buffer.values)
    legal = buffer.action_masks.reshape(STEPS, LANES, -1).astype(bool)
    rollout.mask[:-1] = torch.from_numpy(legal)

    orders = [np.random.default_rng(k).permutation(STEPS * LANES) for k in range(4)]
    drawn = iter(orders)
    monkeypatch.setattr(np.random, "permutation", lambda _: next(drawn))
    model.train()
    # SB3 counts lane by lane, we count time by time.
    ours = iter([torch.from_numpy(o % STEPS * LANES + o // STEPS) for o in orders])
    monkeypatch.setattr(trainer.minibatches, "permutation", lambda: next(ours))
    trainer.start()
    record = trainer.update(Objective.of(trainer.ppo, trainer.native))

    expected = our_names(model.policy.state_dict())
    for name, value in trainer.net.state_dict().items():
        torch.testing.assert_close(value, expected[name], rtol=0, atol=1e-6, msg=name)
    logged = model.logger.name_to_value
    assert record["minibatches"] == (12 if model.target_kl is None else trainer.updates + 1)
    assert 1 < record["minibatches"] <= 12
    for ours_, theirs in {
        "policy_loss": logged["train/policy_gradient_loss"],
        "value_loss": logged["train/value_loss"],
        "entropy": -logged["train/entropy_loss"],
        "clipfrac": logged["train/clip_fraction"],
        "explained_variance": logged["train/explained_variance"],
    }.items():
        assert record[ours_] == pytest.approx(theirs, rel=1e-4, abs=1e-5), ours_


def test_initialisation_is_that_of_maskable_ppo(sb3, make_trainer):
    """Orthogonal with the same gains: equal singular values, zero biases."""
    model, options = sb3
    trainer = make_trainer(make_engine("SkullKingWorker-v0", LANES), net_arch=(64, 64), **options)
    theirs = our_names(model.policy.state_dict())
    for name, value in trainer.net.state_dict().items():
        if name.endswith("bias"):
            assert (value == 0).all()
        else:
            spectra = [torch.linalg.svdvals(x) for x in (value, theirs[name])]
            torch.testing.assert_close(*spectra, rtol=1e-4, atol=1e-5)
