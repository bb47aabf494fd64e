"""Intrinsic rewards with a value of their own: where they arrive, and what they are worth."""

import json

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.bits import equal
from tests.training.ppo.engines import Counting, Macro, Steady
from training.callbacks.start import check_run
from training.nets.actor_critic import load_net
from training.run.config import RunConfig
from training.run.envs import make_engine
from training.train import main

OWN = {"intrinsic_coef": 0.5, "intrinsic_gamma": 0.8}


def paying(make_trainer, engine, pay, **options):
    """A trainer whose lanes are paid ``pay(observations)`` beside the game's rewards."""

    def on_step(engine, actions, obs, mask):
        own = trainer.rollout.intrinsic
        if actions is not None and own is not None:
            own.intrinsic_rewards[:] = pay(obs)

    trainer = make_trainer(engine, on_step=on_step, **options)
    return trainer


def advantages(reward, value, follows, carries, gammas, lam):
    """Generalised advantages of one lane in plain Python.

    ``follows`` is the value behind each decision, ``carries`` whether the next advantage counts.
    """
    found, last = [0.0] * len(reward), 0.0
    for t in reversed(range(len(reward))):
        delta = reward[t] + gammas[t] * follows[t] - value[t]
        last = delta + gammas[t] * lam * carries[t] * last
        found[t] = last
    return found


def collected(trainer):
    trainer.start()
    trainer.collect()
    trainer.bootstrap()
    trainer.advantages()
    return trainer.rollout, trainer.rollout.intrinsic


@pytest.mark.parametrize("episodic", [True, False])
def test_advantages_are_those_of_both_in_plain_python(make_trainer, episodic):
    options = {**OWN, "intrinsic_episodic": episodic, "gamma": 0.9, "gae_lambda": 0.7}
    trainer = paying(make_trainer, Counting(4), lambda obs: obs[:, 0] + obs[:, 1] / 8, **options)
    rollout, own = collected(trainer)
    with torch.no_grad():
        values = trainer.net(rollout.obs.flatten(0, 1))[1].unflatten(0, (17, 4)).double().numpy()
        cut_off = trainer.net(torch.tensor([[lane, 5.0] for lane in range(4)]))[1].numpy()
    paid = rollout.obs[1:, :, 0] + rollout.obs[1:, :, 1] / 8
    assert torch.equal(own.reward, paid)
    assert torch.equal(rollout.reward, rollout.obs[:-1, :, 1] + 1)
    for lane in range(4):
        ended = [t % 5 == 4 for t in range(16)]
        parts = []
        for head, reward in enumerate((rollout.reward, paid)):
            behind, goes_on = values[1:, lane, head].tolist(), [1.0] * 16
            if head == 0 or episodic:
                last = cut_off[lane, head] if lane % 2 else 0.0  # even lanes end by the rules
                behind = [last if end else v for end, v in zip(ended, behind, strict=True)]
                goes_on = [0.0 if end else 1.0 for end in ended]
            rest = [behind, goes_on, [(0.9, 0.8)[head]] * 16, 0.7]
            here = values[:-1, lane, head].tolist()
            parts.append(np.array(advantages(reward[:, lane].tolist(), here, *rest)))
        np.testing.assert_allclose(own.adv[:, lane], parts[1], atol=2e-5)
        np.testing.assert_allclose(own.ret[:, lane], parts[1] + values[:-1, lane, 1], atol=2e-5)
        np.testing.assert_allclose(rollout.ret[:, lane], parts[0] + values[:-1, lane, 0], atol=2e-5)
        np.testing.assert_allclose(rollout.adv[:, lane], parts[0] + 0.5 * parts[1], atol=4e-5)


def test_decisions_that_last_have_the_power_of_either_discount(make_trainer):
    options = {**OWN, "gamma": 0.9, "intrinsic_episodic": False}
    rollout, own = collected(paying(make_trainer, Macro(4), lambda obs: np.ones(4), **options))
    taus = np.round(np.log(rollout.gamma.numpy()) / np.log(0.9))
    assert {*taus.flat} == {1, 2, 3, 4}
    for lane in range(4):
        here, behind = own.value[:-1, lane].tolist(), own.value[1:, lane].tolist()
        rest = [behind, [1.0] * 16, (0.8 ** taus[:, lane]).tolist(), 0.95]
        expected = advantages([1.0] * 16, here, *rest)
        np.testing.assert_allclose(own.adv[:, lane], expected, atol=2e-5)


@pytest.mark.parametrize(
    ("recurrent", "micro_batch"),
    [
        ("none", 8),
        ("gru", 0),
        pytest.param("none", 0, marks=pytest.mark.slow),
        pytest.param("gru", 8, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_each_head_learns_its_own_rewards_alone(make_trainer, recurrent, micro_batch):
    options = {"gamma": 0.0, "intrinsic_gamma": 0.0, "learning_rate": 0.01, "n_epochs": 8}
    options |= {"recurrent": recurrent, "recurrent_size": 8, "micro_batch": micro_batch}
    trainer = paying(make_trainer, Steady(4), lambda obs: np.full(4, -0.25), **{**OWN, **options})
    for _ in range(25):
        train = trainer.iterate()["train"]
    value = trainer.rollout.value[:-1]
    assert value.mean() == pytest.approx(1.0, abs=0.05)
    assert trainer.rollout.intrinsic.value.mean() == pytest.approx(-0.25, abs=0.05)
    assert train["intrinsic_reward"] == -0.25


def test_nothing_of_it_is_the_same_training_bit_for_bit(make_trainer):
    """Neither the head, nor its rewards, change what they have no weight in."""
    quiet = {"vf_coef": 0.0, "ent_coef": 0.01}
    plain = make_trainer(Counting(4), **quiet)
    other = make_trainer(Counting(4), **quiet, intrinsic_gamma=0.3, intrinsic_episodic=False)
    weightless = paying(
        make_trainer, Counting(4), lambda obs: 9 + obs[:, 0], **quiet, intrinsic_coef=0.0
    )
    for trainer in (plain, other, weightless):
        for _ in range(3):
            trainer.iterate()
    theirs = plain.state_dict()["model"]
    assert equal(other.state_dict()["model"], theirs)
    assert [*plain.net.state_dict()] == [*other.net.state_dict()]
    found = weightless.net.state_dict()
    assert {*found} - {*theirs["policy"]} == {"value_intrinsic.weight", "value_intrinsic.bias"}
    for name, parameter in theirs["policy"].items():
        assert torch.equal(found[name], parameter), name
    weighty = paying(make_trainer, Counting(4), lambda obs: 9 + obs[:, 0], **quiet, **OWN)
    weighty.iterate()
    assert not torch.equal(weighty.net.policy_head.weight, found["policy_head.weight"])


def test_a_network_plays_without_its_values(make_trainer):
    trainer = make_trainer(Counting(4), **OWN)
    state = trainer.net.state_dict()
    given = {name: x for name, x in state.items() if not name.startswith("value_")}
    assert len(state) - len(given) == 2 * 3  # hidden layer and both heads
    net = load_net(trainer.ppo, trainer.native, trainer.net.layout, given)
    obs = torch.randn(5, 2)
    with torch.no_grad():
        assert torch.equal(net(obs)[0], trainer.net(obs)[0])


RUN = {
    **{"env": "Prospector-v0", "num_envs": 4, "deterministic": True, "device": "cpu"},
    **{"checkpoints": {"every": 64}, "evaluation": {"during": "off"}},
    "ppo": {"n_steps": 16, "batch_size": 32, "n_epochs": 2, "net_arch": [16]},
    "native": {**OWN, "intrinsic_episodic": False},
    "trackers": {
        "rnd": {"weight": 0.5, "warm_up": 4},
        "visits": {"cell": "credits", "num_cells": 1000, "count_bonus": 0.1},
    },
}


def go(folder, name, *flags, options=RUN):
    file = folder / f"{name}.json"
    file.write_text(json.dumps(options))
    given = ["--config", str(file), "--runs", str(folder), "--name", name, "--no-evaluation"]
    assert main([*given, *flags]) == 0
    return [json.loads(x) for x in (folder / name / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_a_run_pays_into_the_head_and_goes_on_exactly(tmp_path):
    straight = go(tmp_path, "straight", "--total-steps", "256")
    go(tmp_path, "halves", "--total-steps", "128")
    resume = ["--runs", str(tmp_path), "--name", "halves", "--resume", "--total-steps", "256"]
    assert main([*resume, "--no-evaluation"]) == 0
    halves = [json.loads(x) for x in (tmp_path / "halves/metrics.jsonl").read_text().splitlines()]
    assert [x["train"] for x in halves] == [x["train"] for x in straight]
    for line in straight:
        bonuses = line["trackers"]["rnd/bonus"] + line["trackers"]["visits/bonus"]
        assert line["train"]["intrinsic_reward"] == pytest.approx(bonuses, rel=1e-5)
    ours, theirs = (
        torch.load(tmp_path / f"{name}/checkpoints/ckpt_000000000256/model.pt", weights_only=True)
        for name in ("halves", "straight")
    )
    assert equal(ours, theirs)
    assert "value_intrinsic.weight" in ours["policy"]


QUESTS = {"quests": {"stages": [{"quest": "scan", "when": {"scan_count": [3, None]}}]}}


@pytest.mark.parametrize(
    ("over", "message"),
    [
        ({"trackers": {}}, r"native\.intrinsic_coef=0\.5.*without trackers"),
        ({"trackers": QUESTS}, r"native\.intrinsic_coef=0\.5.*none of which pays"),
        ({"trackers": {"episodes": {}}}, r"native\.intrinsic_coef=0\.5.*none of which pays"),
        ({"trainer": "sb3"}, r"native\.intrinsic_\w+=.*belongs to trainer='native'"),
        ({"trainer": "dqn", "ppo": {}}, r"native\.intrinsic_\w+=.*belongs to trainer='native'"),
        ({"native": {"intrinsic_coef": -1}}, r"native\.intrinsic_coef=-1.*at least 0"),
        ({"native": {"intrinsic_gamma": 1.5}}, r"native\.intrinsic_gamma=1\.5.*from 0 to 1"),
        ({"native": {**OWN, "hindsight": "value"}}, r"native\.hindsight='value'.*'off'"),
    ],
)
def test_what_cannot_be_is_refused(over, message):
    engine = make_engine(RUN["env"], 2)
    with pytest.raises(ConfigError, match=message):
        check_run(RunConfig.from_mapping({**RUN, **over}), engine)


@pytest.mark.parametrize("trainer", ["hier", "ensemble", "rllib"])
def test_trainers_without_trackers_refuse_it(trainer):
    options = {"trainer": trainer, "num_envs": 64, "native": {"intrinsic_coef": 0.5}}
    options |= {"ensemble": {"seeds": [1, 2]}} if trainer == "ensemble" else {}
    env = {"hier": "SkullKingWorker-v0"}.get(trainer, "Prospector-v0")
    with pytest.raises(ConfigError, match=r"native\.intrinsic_coef=0\.5"):
        RunConfig.from_mapping({"env": env, **options})
