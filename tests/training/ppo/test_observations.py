"""Observations of any kind in a rollout, and decisions that last."""

import numpy as np
import pytest
import torch

from fastenv import BatchEngine
from tests.race import without_scalars
from tests.tables import walk
from tests.toy import RaceGame
from tests.training.ppo.conftest import collect
from tests.training.ppo.engines import Bytes, Seek
from tests.training.ppo.test_learning import returns
from training.ppo.rollout import StagedRolloutLanes

GAMMA, LAMBDA = 0.9, 0.8


def race(n=16, scalars=False, **options):
    game = RaceGame(goal=8) if scalars else without_scalars(goal=8, **options)
    return BatchEngine(game, n, opponent="random")


class Seen:
    """Copies of what an engine showed after each step of a rollout."""

    def __init__(self):
        self.steps = []

    def __call__(self, engine, actions, obs, mask):
        if actions is not None:
            names = ("reward", "terminated", "truncated", "tau", "final_obs")
            self.steps.append({n: getattr(engine, n).copy() for n in names} | {"obs": obs.copy()})

    def __getitem__(self, name):
        return np.stack([step[name] for step in self.steps])


@walk("scalars", [False, True])
def test_the_rollout_holds_the_records_that_the_engine_showed(make_trainer, scalars, device):
    seen, engine = Seen(), race(scalars=scalars)
    trainer = make_trainer(engine, on_step=seen, device=device)
    trainer.iterate()
    held = trainer.rollout.obs[1:].cpu().numpy().view(engine.obs_dtype)[..., 0]
    for name in engine.obs_dtype.names:
        assert (held[name] == seen["obs"][name]).all(), name
    assert len(np.unique(held["ahead"])) > 5


def by_lane(reward, tau, term, trunc, value, final_value):
    """The textbook in Python floats: a decision of tau steps is discounted by gamma**tau."""
    adv = np.zeros(reward.shape)
    for lane in range(reward.shape[1]):
        later = 0.0
        for t in reversed(range(reward.shape[0])):
            discount = GAMMA ** int(tau[t, lane])
            ended = bool(term[t, lane] or trunc[t, lane])
            follow = final_value[t, lane] if trunc[t, lane] else value[t + 1, lane]
            follow = 0.0 if term[t, lane] else float(follow)
            delta = float(reward[t, lane]) + discount * follow - float(value[t, lane])
            later = delta + discount * LAMBDA * (0.0 if ended else later)
            adv[t, lane] = later
    return adv


@walk("seed", [3, 4])
def test_advantages_discount_by_gamma_to_the_tau(make_trainer, seed):
    print(f"seed {seed}")
    seen, engine = Seen(), race()
    engine.configure("limit", 25)  # episodes are cut off too
    options = {"gamma": GAMMA, "gae_lambda": LAMBDA, "n_steps": 64}
    trainer = make_trainer(engine, on_step=seen, seed=seed, **options)
    collect(trainer)
    rollout, (steps, lanes) = trainer.rollout, (64, engine.num_envs)
    term, trunc = seen["terminated"], seen["truncated"]
    assert len(np.unique(seen["tau"])) > 5
    assert term.any()
    assert trunc.any()
    final = seen["final_obs"].view(np.uint8).reshape(steps * lanes, -1)
    with torch.no_grad():
        values = trainer.net(torch.from_numpy(final.copy()))[1].view(steps, lanes).numpy()
    value = rollout.value.numpy()
    adv = by_lane(seen["reward"], seen["tau"], term, trunc, value, values)
    np.testing.assert_allclose(rollout.adv, adv, atol=2e-5)
    np.testing.assert_allclose(rollout.ret, adv + value[:-1], atol=2e-5)


def test_a_recurrent_network_sees_records(make_trainer):
    cell = {"recurrent": "gru", "recurrent_size": 8, "seq_len": 8}
    trainer = make_trainer(race(), **cell)
    assert trainer.iterate()["train"]["minibatches"] > 0


class Frames(Bytes):
    """Counting, in frames of 40 x 36 with two channels behind."""

    obs_shape = (40, 36, 2)

    def write(self, out):
        out[:] = self.time[:, None, None, None]


def test_frames_stay_bytes_until_the_convolutions(make_trainer):
    trainer = make_trainer(Frames(4), n_steps=8, batch_size=16, recurrent="gru", seq_len=8)
    assert trainer.iterate()["train"]["minibatches"] > 0
    assert trainer.rollout.obs.dtype == torch.uint8
    assert trainer.rollout.obs.shape == (9, 4, 40, 36, 2)
    assert trainer.net.encoder.size_out == 64  # of 9 x 8, 3 x 3 and 1 x 1 pixels


def test_records_reach_a_device_by_way_of_slots(make_trainer, monkeypatch):
    direct = make_trainer(race())
    monkeypatch.setattr("training.ppo.trainer.RolloutLanes", StagedRolloutLanes)
    staged = make_trainer(race())
    for _ in range(3):
        assert direct.iterate()["train"] == staged.iterate()["train"]
    for name in ("obs", "mask", "reward", "done", "gamma"):
        assert torch.equal(getattr(direct.rollout, name), getattr(staged.rollout, name)), name


def mean_return(engine, net, steps=200):
    return returns(engine, net, steps).mean()


@pytest.mark.slow
def test_the_race_is_learnt(make_trainer):
    options = {"batch_size": 256, "n_epochs": 4, "learning_rate": 0.005, "net_arch": (32,)}
    trainer = make_trainer(race(64), seed=5, **options)
    for _ in range(30):
        trainer.iterate()
    chance, learnt = mean_return(race(64), None), mean_return(race(64), trainer.net)
    print(f"race: {learnt:.2f} learnt, {chance:.2f} by chance (seed 5)")
    assert learnt > chance + 0.7  # of some 1,500 episodes, whose deviation is about 3


@pytest.mark.slow
def test_a_board_is_learnt_by_convolutions(make_trainer):
    options = {"batch_size": 512, "n_epochs": 4, "learning_rate": 0.003, "net_arch": (64,)}
    trainer = make_trainer(Seek(64), seed=6, n_steps=32, activation="relu", **options)
    assert len(trainer.net.encoder.convs) == 1
    for _ in range(15):
        trainer.iterate()
    chance, learnt = mean_return(Seek(64), None), mean_return(Seek(64), trainer.net)
    print(f"board: {learnt:.2f} learnt, {chance:.2f} by chance (seed 6)")
    assert learnt > chance + 0.4
