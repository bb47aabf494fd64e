"""Scales of observations and rewards: against NumPy's moments and SB3's VecNormalize."""

import numpy as np
import pytest
import torch

from training.nets import actor_critic
from training.nets.layout import obs_layout
from training.nets.scaling import RunningScale
from training.ppo.rollout import RewardScale
from training.ppo.run import make_trainer
from training.run.config import RunConfig

TINY = {
    "env": "CartPole-v1",
    "num_envs": 4,
    "total_steps": 256,
    "deterministic": True,
    "ppo": {"n_steps": 16, "batch_size": 32, "n_epochs": 1, "net_arch": [8], "precision": "fp32"},
    "native": {"normalize_observations": True, "normalize_rewards": True},
}


def test_moments_of_all_that_was_seen():
    rng = np.random.default_rng(0)
    parts = [rng.normal(1000 * k, 10.0**k, (n, 3)).astype("f4") for k, n in enumerate((1, 7, 400))]
    scale = RunningScale(3)
    for part in parts:
        scale.update(torch.from_numpy(part))
    every = np.concatenate(parts).astype("f8")
    np.testing.assert_allclose(scale.mean, every.mean(0), rtol=1e-5)
    np.testing.assert_allclose(scale.var, every.var(0), rtol=1e-4)
    shown = scale(torch.from_numpy(parts[2])).numpy()
    wanted = np.clip((parts[2] - every.mean(0)) / every.std(0), -10, 10)
    np.testing.assert_allclose(shown, wanted, atol=1e-3)


def test_shares_of_several_processes_give_the_moments_of_all():
    rng = np.random.default_rng(1)
    halves = [torch.from_numpy(rng.normal(5, 2, (50, 2))) for _ in range(2)]

    def sums(x):
        rows = x.double()
        return torch.stack([torch.full_like(rows[0], len(rows)), rows.sum(0), (rows**2).sum(0)])

    shared, alone = RunningScale(2), RunningScale(2)
    shared.update(halves[0], lambda own: own + sums(halves[1]))
    alone.update(torch.cat(halves))
    for name in ("mean", "var", "count"):
        torch.testing.assert_close(getattr(shared, name), getattr(alone, name))


def test_rewards_are_divided_as_vec_normalize_does():
    """SB3 takes each step into account before it scales it; here a rollout is one step."""
    normalize = pytest.importorskip("stable_baselines3.common.running_mean_std")
    rng, gamma = np.random.default_rng(2), 0.9
    trainer = make_trainer(RunConfig.from_mapping(TINY))
    rollout, lanes = trainer.rollout, 4
    scale, moments = RewardScale(lanes), normalize.RunningMeanStd(epsilon=0, shape=())
    sums = np.zeros(lanes)
    for _ in range(3):
        reward = rng.normal(3, 50, (16, lanes)).astype("f4")
        done = rng.random((16, lanes)) < 0.2
        rollout.reward.copy_(torch.from_numpy(reward))
        rollout.done.copy_(torch.from_numpy(done))
        scale.scale(rollout, gamma)
        seen = []
        for r, d in zip(reward, done, strict=True):
            sums = sums * gamma + r
            seen.append(sums.copy())
            sums[d] = 0
        moments.update(np.array(seen).ravel())
        wanted = np.clip(reward / np.sqrt(moments.var), -10, 10)
        np.testing.assert_allclose(rollout.reward, wanted, rtol=1e-4)


def test_what_is_saved_goes_on_as_if_never_stopped():
    config = RunConfig.from_mapping(TINY)
    whole = make_trainer(config)
    for _ in range(2):
        whole.iterate()
    saved = whole.state()
    other = make_trainer(config)
    other.load_state(saved)
    steps = whole.steps
    for each in (whole, other):
        each.reset_lanes(steps)
        each.iterate()
    assert (whole.net.encoder.scale.count > 0).item()
    for name, value in whole.net.state_dict().items():
        torch.testing.assert_close(other.net.state_dict()[name], value, rtol=0, atol=0)
    assert whole._rewards is not None
    torch.testing.assert_close(other._rewards.sums, whole._rewards.sums, rtol=0, atol=0)


def test_the_scale_belongs_to_the_network_that_plays():
    config = RunConfig.from_mapping(TINY)
    trainer = make_trainer(config)
    trainer.iterate()
    layout = obs_layout(trainer.engine)
    logits = actor_critic.make_player(
        actor_critic.load_net(config.ppo, config.native, layout, trainer.policy())
    )
    obs = trainer.engine.obs.copy()
    with torch.no_grad():
        wanted = trainer.net.logits(torch.from_numpy(obs))
    np.testing.assert_allclose(logits(obs), wanted, rtol=1e-6)


def test_what_is_learnt_from_is_scaled_before_it_is_rounded():
    """In bfloat16 all numbers from 1,022 to 1,026 are one: their differences would be gone."""
    trainer = make_trainer(RunConfig.from_mapping(TINY))
    rollout, minibatches = trainer.rollout, trainer.minibatches
    rollout.obs[:] = 1024 + torch.rand_like(rollout.obs)
    trainer.net.encoder.update(rollout.obs[:-1].flatten(0, 1))
    minibatches.begin("bf16")
    for (part,) in minibatches.epoch():
        piece = rollout.gather(part)
        wanted = rollout.obs.flatten(0, 1)[part.places]
        assert torch.equal(trainer.net.encoder(piece.obs), trainer.net.encoder(wanted))
        assert trainer.net.encoder(wanted).std() > 0.9
