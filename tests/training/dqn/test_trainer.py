"""The DQN trainer on small engines with known answers."""

import numpy as np
import pytest
import torch

from tests.bits import equal
from tests.tables import walk
from tests.training.dqn.plain_dqn import PlainDQN, Walk
from tests.training.ppo.engines import Bandit, Corridor, Steady
from training.dqn.options import DQNConfig, DQNRun
from training.dqn.trainer import TERMS, DQNTrainer
from training.run.seeds import stream_seed

SMALL = {
    "capacity": 4096,
    "batch_size": 32,
    "learning_starts": 64,
    "iteration_steps": 32,
    "replay_ratio": 4.0,
    "target_sync": 50,
    "num_quantiles": 5,
    "learning_rate": 2e-3,
    "epsilon_fraction": 0.5,
    "net_arch": (32,),
    "precision": "fp32",
}


class ShortCorridor(Corridor):
    """Four fields long, and cut off after 12 decisions."""

    goal, obs_shape = 4, (5,)

    def move(self, actions):
        super().move(actions)
        self.truncated[:] = (self.time >= 12) & (self.terminated == 0)


def make(engines, total_steps=4000, on_step=None, device="cpu", **options):
    engines = engines if isinstance(engines, list) else [engines]
    how = {"num_envs": sum(each.num_envs for each in engines), "total_steps": total_steps}
    dqn = DQNConfig(**{**SMALL, **options})
    trainer = DQNTrainer(DQNRun(dqn=dqn, device=device, **how), engines)
    trainer.on_step = on_step
    return trainer


def greedy(trainer, obs):
    with torch.no_grad():
        return trainer.net.logits(torch.from_numpy(obs))


def test_fifty_updates_are_those_of_a_plain_dqn():
    options = {"n_step": 3, "batch_size": 16, "learning_starts": 40, "target_sync": 7}
    options |= {"num_quantiles": 3, "max_grad_norm": 0.1, "iteration_steps": 1}
    trainer = make(ShortCorridor(2), total_steps=400, **options)
    first = {name: value.clone() for name, value in trainer.net.state_dict().items()}
    seeds = stream_seed(1, "sampler"), stream_seed(1, "minibatch")
    plain = PlainDQN(first, trainer.dqn, [Walk(4, 12), Walk(4, 12)], 400, *seeds)
    while trainer.updates < 50:
        trainer.iterate()
        plain.step()
    assert (plain.updates, plain.steps) == (trainer.updates, trainer.steps)
    assert {d["end"] for lane in plain.replay.lanes for d in lane} == {0, 1, 2}
    for name, value in trainer.net.state_dict().items():
        np.testing.assert_allclose(value, plain.net[name].detach(), atol=1e-6, err_msg=name)
        assert not torch.allclose(value, first[name], atol=1e-3), name


def run(trainer, iterations):
    """What a trainer comes to, and the actions and rewards it has stored on the way."""
    for _ in range(iterations):
        trainer.iterate()
    stored = trainer.replay.tensors()
    return trainer.net.state_dict(), {name: stored[name] for name in ("obs", "action", "reward")}


@walk("noisy", [False, True])
def test_one_lane_at_a_time_is_the_same_as_all_of_one(noisy):
    """T27: the legacy runner has an engine for each lane."""
    options = {"learning_starts": 32, "noisy": noisy, "prioritized": noisy}
    vector, legacy = (make(engines, **options) for engines in (Corridor(1), [Corridor(1)]))
    assert equal(run(vector, 4), run(legacy, 4))


def test_eight_lanes_with_frozen_weights_are_eight_runs_of_one():
    """T27: also where one of them acts at random, as lanes draw in their order."""
    frozen = {"learning_starts": 4000, "epsilon_end": 0.3}
    vector = run(make(Corridor(8), **frozen), 3)
    legacy = run(make([Corridor(1) for _ in range(8)], **frozen), 3)
    assert equal(vector[1], legacy[1])
    assert len(vector[1]["action"].unique()) == 2


@pytest.mark.slow
def test_best_legal_arm_is_found_from_every_mask():
    trainer = make(Bandit(32), total_steps=8_000, n_step=1, prioritized=True, learning_rate=5e-3)
    while trainer.steps < 8_000:
        trainer.iterate()
    engine = Bandit(64)
    engine.reset_many(seeds=99)
    values = greedy(trainer, engine.obs).masked_fill(torch.from_numpy(engine.mask == 0), -np.inf)
    assert values.argmax(1).tolist() == engine.best().tolist()


def updates_until_solved(n_step):
    """Updates until the best actions lead along the corridor, and its start is known to be good."""
    options = {"n_step": n_step, "learning_starts": 500, "net_arch": (16,), "target_sync": 20}
    options |= {"num_quantiles": 1, "epsilon_fraction": 0.1, "epsilon_end": 0.1}
    options |= {"iteration_steps": 4, "replay_ratio": 2.0, "learning_rate": 1e-2}
    trainer = make(Corridor(16), total_steps=10_000, **options)
    while trainer.updates < 1000:
        trainer.iterate()
        values = greedy(trainer, np.eye(9, dtype=np.float32)[:8])
        if (values.argmax(1) == 1).all() and values[0, 1] > 0.6:  # it is worth 0.78
            break
    return trainer.updates


@pytest.mark.slow
def test_corridor_is_solved_sooner_with_n_step_targets():
    five, one = updates_until_solved(5), updates_until_solved(1)
    assert five < 0.7 * one < 700


@pytest.mark.parametrize(
    ("by_rules", "value", "tolerance"),
    [(False, 10.0, 0.02), (True, 1 / (1 - 0.9 * 7 / 8), 0.1)],  # one decision of eight is the last
)
@pytest.mark.slow
def test_value_of_an_endless_reward_goes_on_behind_a_time_limit(by_rules, value, tolerance):
    """T7: r / (1 - gamma) where a clock cuts the episode off, less where it ends by the rules."""
    engine = Steady(16)
    engine.ended_by_rules = by_rules
    options = {"num_quantiles": 1, "kappa": 100.0, "adam_eps": 1e-8}  # it learns the mean
    trainer = make(engine, gamma=0.9, target_sync=20, learning_rate=5e-3, n_step=2, **options)
    for _ in range(12):
        trainer.iterate()
    found = float(greedy(trainer, np.ones((1, 2), np.float32)).max())
    assert found == pytest.approx(value, rel=tolerance)


def test_bonus_of_a_callback_is_in_the_reward_that_is_stored():
    """T14."""

    def bonus(engine, actions, obs, mask):
        if actions is not None:
            engine.reward += 1000 * (actions == 1)

    trainer = make(Corridor(4), on_step=bonus, learning_starts=4000)
    trainer.iterate()
    replay = trainer.replay
    done = slice(0, replay.size)
    taken = replay.action[done].float()
    np.testing.assert_allclose(replay.reward[done] - 1000 * taken, -0.02, atol=1.01)
    assert set(taken.unique().tolist()) == {0.0, 1.0}


def test_target_follows_by_copies():
    copied = make(Corridor(8), target_sync=3, iteration_steps=1, replay_ratio=4.0)
    first = copied.net.state_dict()["head.state.weight"].clone()
    for _ in range(200):
        copied.iterate()
        same = torch.equal(copied.net.head.state.weight, copied.target.head.state.weight)
        if 0 < copied.updates < 3:
            assert torch.equal(copied.target.head.state.weight, first)
            assert not same
        assert copied.updates < 3 or copied.updates % 3 or same


@pytest.mark.parametrize("lanes", [1, 8, 24])
@pytest.mark.parametrize("ratio", [0.5, 3.0, 8.0])
def test_replay_ratio_is_kept_whatever_the_number_of_lanes(lanes, ratio, monkeypatch):
    def nothing(self):
        self.updates += 1
        return torch.zeros(len(TERMS))

    monkeypatch.setattr(DQNTrainer, "update", nothing)
    trainer = make(Steady(lanes), replay_ratio=ratio, batch_size=8, learning_starts=48, n_step=1)
    found = [trainer.iterate()["train"] for _ in range(4)]
    taken = trainer.steps - 48 + (-trainer.steps % lanes)
    drawn = trainer.updates * 8
    assert drawn == pytest.approx(ratio * taken, abs=8 + ratio * lanes)
    assert found[-1]["replay_ratio"] == pytest.approx(ratio, abs=8 / (32 * lanes))


def test_noise_is_drawn_anew_for_groups_of_lanes_and_silent_in_play():
    trainer = make(Corridor(8), noisy=True)
    obs = torch.eye(9)[:1].expand(8, 9)
    trainer.net.draw_noise(4, trainer._noise)
    with torch.no_grad():
        first = trainer.net.logits(obs)
        trainer.net.draw_noise(4, trainer._noise)
        second = trainer.net.logits(obs)
        trainer.net.silence()
        still = trainer.net.logits(obs)
    assert torch.equal(first[0::2], first[1::2])  # lanes of a group share theirs
    assert len(first.unique(dim=0)) == 4
    assert not torch.equal(first, second)
    assert len(still.unique(dim=0)) == 1


def test_noise_of_the_target_is_its_own():
    trainer = make(Corridor(2), noisy=True)
    obs = torch.eye(9)
    with torch.no_grad():
        before = trainer.net.logits(obs), trainer.target.logits(obs)
        trainer.target.draw_noise(1, trainer._noise)
        after = trainer.net.logits(obs), trainer.target.logits(obs)
    assert torch.equal(after[0], before[0])
    assert not torch.equal(after[1], before[1])


@walk("options", [{}, {"dueling": False}, {"noisy": True}])
def test_values_are_the_means_of_the_quantiles(options):
    net = make(Corridor(2), **options).net
    obs = torch.randn(6, 9)
    torch.testing.assert_close(net.logits(obs), net(obs).mean(2), rtol=1e-5, atol=1e-6)


def test_lanes_that_a_gate_resets_are_cut_off():
    trainer = make(Corridor(4), learning_starts=4000)
    trainer.iterate()
    last = (trainer.replay.head - 1) % trainer.replay.rows
    before = trainer.replay.obs[trainer.replay.head].clone()
    trainer.reset_lanes()
    ends = trainer.replay.end[last]
    assert (ends != 0).all()
    cut = ends == 2
    kept = trainer.replay.final_obs[trainer.replay.final_at[last][cut]]
    assert torch.equal(kept, before[cut])


def test_decisions_of_two_ticks_are_discounted_twice():
    """T8."""

    class Slow(Steady):
        spec = type("Spec", (), {"has_tau": True})

        def move(self, actions):
            super().move(actions)
            self.tau[:] = 2

    slow, quick = make(Slow(4), gamma=0.9), make(Steady(4), gamma=0.81)
    for trainer in (slow, quick):
        trainer.iterate()
    ours, theirs = (t.replay.sample(64) for t in (slow, quick))
    np.testing.assert_allclose(ours.discount, theirs.discount, rtol=1e-6)
    np.testing.assert_allclose(ours.reward, theirs.reward, rtol=1e-6)


def test_lanes_that_are_reset_have_forgotten_their_episodes():
    trainer = make(Corridor(4), recurrent="gru", recurrent_size=8, seq_len=4, burn_in=0)
    trainer.iterate()
    assert trainer._state.any()
    trainer.reset_lanes()
    assert not trainer._state.any()


@pytest.mark.parametrize(("lanes", "noises"), [(8, 8), (32, 16)])
def test_lanes_act_with_a_noise_of_their_group(lanes, noises):
    trainer = make(Corridor(lanes), noisy=True)
    trainer.start()
    trainer.choose(0.0)
    with torch.no_grad():
        values = trainer.net.logits(torch.eye(9)[:1].expand(lanes, 9))
    assert len(values.unique(dim=0)) == noises
