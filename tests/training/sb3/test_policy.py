"""bf16 on the SB3 path. A processor without bf16 emulates it: slow, but true."""

import numpy as np
import pytest
import torch

from fastenv.adapters.sb3 import BatchVecEnv
from fastenv.errors import ConfigError
from tests.training.sb3.models import BanditGame, learn, model, walk
from training.nets import precision
from training.run.envs import make_engine
from training.sb3.policy import AutocastMaskablePolicy

SAME_ADAM = {"fused": True, "eps": 1e-5}


def low(vec, name, **options):
    given = {"net_arch": [16], "precision": name, **options.pop("policy_kwargs", {})}
    return model(vec, policy=AutocastMaskablePolicy, policy_kwargs=given, **options)


def first_minibatch(made):
    """The largest error of the ratio before anything has been learned from the rollout."""
    data = next(made.rollout_buffer.get(32))
    _, log_prob, _ = made.policy.evaluate_actions(
        data.observations, data.actions.long().flatten(), data.action_masks
    )
    return float((torch.exp(log_prob.detach() - data.old_log_prob) - 1).abs().max())


@pytest.mark.parametrize(("name", "bound"), [("fp32", 1e-6), ("bf16", 2e-2)])
def test_ratio_is_one_at_the_first_minibatch(name, bound):
    """T20."""
    vec = BatchVecEnv(make_engine("SkullKingWorker-v0", 32))
    made = low(vec, name, policy_kwargs={"net_arch": [64, 64]})
    for _ in range(2):
        made.train = lambda: None
        learn(made)
        assert first_minibatch(made) < bound
        del made.train
        made.train()


def test_only_products_run_low():
    made = low(walk(), "bf16")
    learn(made, 2)
    obs = torch.rand(5, 3)
    actions, values, log_prob = made.policy(obs)
    tensors = (values, log_prob, *made.policy.evaluate_actions(obs, actions))
    assert {x.dtype for x in tensors} == {torch.float32}
    assert made.policy.get_distribution(obs).distribution.logits.dtype == torch.float32
    assert made.policy.predict_values(obs).dtype == torch.float32
    assert all(p.dtype == torch.float32 for p in made.policy.parameters())
    made.policy.precision = "fp32"
    assert not torch.equal(made.policy.predict_values(obs), values)
    torch.testing.assert_close(made.policy.predict_values(obs), values, rtol=3e-2, atol=3e-2)


@pytest.mark.parametrize("shared", [True, False])
def test_fp32_is_the_stock_policy(shared):
    given = {"optimizer_kwargs": SAME_ADAM, "share_features_extractor": shared}
    theirs = model(walk(), policy_kwargs={"net_arch": [16], **given})
    ours = low(walk(), "fp32", policy_kwargs=given)
    learn(ours, 2)
    learn(theirs, 2)
    state = theirs.policy.state_dict()
    assert all(torch.equal(x, state[name]) for name, x in ours.policy.state_dict().items())
    obs, mask = np.full((4, 3), 0.3, np.float32), np.eye(4, 3, dtype=bool) | [True, False, False]
    a, _ = ours.predict(obs, deterministic=True, action_masks=mask)
    b, _ = theirs.predict(obs, deterministic=True, action_masks=mask)
    assert np.array_equal(a, b)


@pytest.mark.slow
def test_bf16_learns_what_fp32_learns():
    """T20, on the bandit: returns of three seeds within two standard errors."""
    means = {"fp32": [], "bf16": []}
    for name, found in means.items():
        for seed in range(3):
            given = {"seed": seed, "n_steps": 8, "batch_size": 128, "learning_rate": 0.01}
            made = low(BatchVecEnv(BanditGame(64)), name, **given)
            rollouts = learn(made, 20).kept
            found.append(np.mean([r["rewards"].mean() for r in rollouts[-5:]]))
    error = np.sqrt(sum(np.var(x, ddof=1) / 3 for x in means.values())) + 1e-3
    assert abs(np.mean(means["fp32"]) - np.mean(means["bf16"])) < 2 * error + 0.005
    assert min(means["bf16"]) > 0.6


def test_policy_survives_saving(tmp_path):
    made = low(walk(), "bf16")
    made.policy.save(tmp_path / "policy.pt")
    again = AutocastMaskablePolicy.load(tmp_path / "policy.pt", device="cpu")
    assert again.precision == "bf16"
    obs = torch.rand(5, 3)
    assert torch.equal(again.predict_values(obs), made.policy.predict_values(obs))


def test_auto_measures_only_where_the_answer_is_open(monkeypatch):
    monkeypatch.setattr(precision, "cpu_has_bf16", lambda: False)
    policy = low(walk(), "auto").policy
    monkeypatch.setattr(policy, "_measure_seconds", lambda _: pytest.fail("nothing is open"))
    assert policy.choose_precision(32) == "fp32"
    assert low(walk(), "bf16").policy.choose_precision(32) == "bf16"


def test_auto_measures_a_minibatch_and_leaves_no_trace(monkeypatch):
    monkeypatch.setattr(precision, "cpu_has_bf16", lambda: True)
    policy = low(walk(), "auto").policy
    before = torch.get_rng_state()
    assert policy.choose_precision(32) in ("fp32", "bf16")
    assert torch.equal(torch.get_rng_state(), before)
    assert all(p.grad is None for p in policy.parameters())


def test_unknown_precision_is_refused():
    with pytest.raises(ValueError, match="precision='fp8'"):
        low(walk(), "fp8")


def test_precision_that_the_device_lacks_is_refused(monkeypatch):
    def lacks(name, device):
        raise ConfigError(f"precision={name!r} is not possible")

    monkeypatch.setattr(precision, "check", lacks)
    with pytest.raises(ConfigError, match="bf16"):
        low(walk(), "bf16").policy.choose_precision(32)
