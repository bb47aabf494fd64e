"""How soon DQN learns: CartPole from random decisions, so that only what is learnt differs."""

import gymnasium
import numpy as np
import pytest
import torch

from tests.training.dqn.cartpole import CartPole
from training.dqn.options import DQNConfig, DQNRun
from training.dqn.trainer import DQNTrainer

OPTIONS = DQNConfig(
    capacity=8192,
    batch_size=64,
    learning_starts=256,
    iteration_steps=64,
    replay_ratio=32.0,
    n_step=1,
    target_sync=64,
    double=False,
    dueling=False,
    num_quantiles=1,
    epsilon_start=1.0,
    epsilon_end=1.0,
    learning_rate=1e-3,
    net_arch=(64, 64),
    precision="fp32",
)


def balanced(net):
    """Mean length of 32 episodes of who takes the action of the largest value."""
    engine = CartPole(32)
    engine.reset_many(seeds=999)
    lengths = np.zeros(32, np.int64)
    while not lengths.all():
        with torch.no_grad():
            engine.step_many(net.logits(torch.from_numpy(engine.obs)).argmax(1).numpy())
        first = ((engine.terminated | engine.truncated) > 0) & (lengths == 0)
        lengths[first] = engine.ep_length[first]
    return lengths.mean()


def test_cartpole_is_gymnasiums():
    theirs, ours = gymnasium.make("CartPole-v1").unwrapped, CartPole(1)
    theirs.reset(seed=1)
    ours.reset_many(seeds=1)
    theirs.state = tuple(ours.cart[0])
    for step in range(200):
        obs, reward, over, _, _ = theirs.step(action := step % 2)
        ours.step_many(np.array([action]))
        assert (ours.reward[0], bool(ours.terminated[0])) == (reward, over)
        np.testing.assert_allclose(ours.final_obs[0] if over else ours.obs[0], obs, rtol=1e-6)
        if over:
            return
    raise AssertionError("the pole never fell")


@pytest.mark.slow
def test_two_thousand_updates_balance_the_pole():
    """For 44 decisions in the mean over the training; for 9 with a head that begins near zero."""
    config = DQNRun(dqn=OPTIONS, num_envs=8, total_steps=4096, device="cpu")
    trainer = DQNTrainer(config, [CartPole(8)])
    found = []
    while trainer.steps < config.total_steps:
        trainer.iterate()
        found.append(balanced(trainer.net))
    assert np.mean(found) > 25
