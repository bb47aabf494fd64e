"""A further loss beside that of PPO: when it is asked, what becomes of its gradient, its state."""

import pytest
import torch

from tests.training.ppo.engines import Corridor
from training.nets.actor_critic import ActorCritic
from training.nets.layout import obs_layout
from training.ppo.loss import Auxiliary, split_shuffled
from training.ppo.options import NativeConfig, PPOConfig


class Pull(Auxiliary):
    """Draws the policy's bias to a point; writes down what it is told."""

    def __init__(self, weight=1.0, every=1):
        self.weight, self.every = weight, every
        self.steps, self.begun, self.minibatches = [], [], []

    def observe(self, t, engine):
        self.steps.append((t, engine.reward.copy()))

    def begin(self, rollout, minibatches):
        assert rollout.adv.any()
        self.begun.append(minibatches)

    def loss(self, net, minibatch, logits=None):
        self.minibatches.append(minibatch)
        if minibatch % self.every:
            return None
        return self.weight * (net.policy_head.bias - 1.0).square().sum()

    def metrics(self):
        return {"pulls": float(len(self.minibatches))}

    def state_dict(self):
        return {"count": torch.tensor(len(self.minibatches))}

    def load_state_dict(self, saved):
        self.minibatches = [None] * int(saved["count"])


def gradients_of(trainer, monkeypatch):
    """The gradients that reach the optimizer, before they are clipped."""
    found = []

    def look(parameters, _limit):
        found.append([None if p.grad is None else p.grad.clone() for p in parameters])
        return torch.zeros(())

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", look)
    trainer.iterate()
    monkeypatch.undo()
    return found


@pytest.mark.parametrize("compiled", [False, True], ids=["closed form", "autograd"])
def test_its_gradient_is_added_to_that_of_ppo(make_trainer, monkeypatch, compiled):
    plain, pulled = make_trainer(Corridor(8)), make_trainer(Corridor(8), auxiliary=Pull(0.5))
    for trainer in (plain, pulled):
        trainer._closed_form = not compiled
    ours, theirs = (gradients_of(trainer, monkeypatch) for trainer in (pulled, plain))
    names = [name for name, _ in plain.net.named_parameters()]
    for name, with_it, without in zip(names, ours[0], theirs[0], strict=True):
        # 0.5 * d (b - 1)^2 / d b at b = 0
        extra = -1.0 if name == "policy_head.bias" else 0.0
        torch.testing.assert_close(with_it, without + extra, rtol=0, atol=1e-6)


class Imitate(Pull):
    """Learns one action in some observations of the rollout."""

    def begin(self, rollout, minibatches):
        super().begin(rollout, minibatches)
        self.obs = rollout.obs[:-1].flatten(0, 1)[:24].clone()
        self.given = []

    def further(self, minibatch):
        return self.obs[minibatch % 4 :: 4]

    def loss(self, net, minibatch, logits=None):
        self.given.append(logits is not None)
        if logits is None:
            logits = net.logits(self.further(minibatch))
        return -logits.float().log_softmax(-1)[:, 0].mean()


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_one_pass_for_both_losses_has_the_gradients_of_two(make_trainer, monkeypatch, precision):
    joint, apart = (
        make_trainer(Corridor(8), auxiliary=Imitate(), precision=precision) for _ in range(2)
    )
    apart._further = lambda parts, minibatch: None
    ours, theirs = (gradients_of(trainer, monkeypatch) for trainer in (joint, apart))
    assert all(joint._auxiliary.given)
    assert not any(apart._auxiliary.given)
    scale = 2e-2 if precision == "bf16" else 1e-5
    for one, other in zip(ours[0], theirs[0], strict=True):
        torch.testing.assert_close(one, other, rtol=scale, atol=scale * float(other.abs().max()))


@pytest.mark.parametrize("option", [{"target_kl": 1e9}, {"micro_batch": 8}])
def test_two_passes_where_one_would_not_do(make_trainer, option):
    trainer = make_trainer(Corridor(8), auxiliary=Imitate(), **option)
    trainer.iterate()
    assert not any(trainer._auxiliary.given)


def test_it_sees_every_step_and_every_minibatch(make_trainer):
    pull = Pull(every=3)
    trainer = make_trainer(Corridor(8), auxiliary=pull, batch_size=32, n_epochs=3)
    found = trainer.iterate()
    assert [t for t, _ in pull.steps] == list(range(16))
    for t, reward in pull.steps:
        assert (trainer.rollout.reward[t].numpy() == reward).all()
    assert pull.begun == [4]
    assert pull.minibatches == list(range(4)) * 3
    assert found["train"]["pulls"] == 12.0


def test_an_update_that_ends_early_does_not_ask_it_again(make_trainer):
    pull = Pull()
    trainer = make_trainer(Corridor(8), auxiliary=pull, learning_rate=0.5, target_kl=1e-4)
    found = trainer.iterate()["train"]
    assert found["minibatches"] < 8
    assert len(pull.minibatches) == found["minibatches"] - 1 == trainer.updates


def test_one_that_does_nothing_of_its_own_changes_nothing(make_trainer):
    plain, idle = make_trainer(Corridor(8)), make_trainer(Corridor(8), auxiliary=Auxiliary())
    for _ in range(2):
        assert idle.iterate()["train"] == plain.iterate()["train"]
    assert torch.equal(plain.net.policy_head.weight, idle.net.policy_head.weight)


def test_one_that_has_nothing_to_say_changes_nothing(make_trainer):
    plain, idle = make_trainer(Corridor(8)), make_trainer(Corridor(8), auxiliary=Pull(every=10**9))
    idle._auxiliary.loss = lambda net, minibatch, logits=None: None
    for _ in range(2):
        ours, theirs = idle.iterate()["train"], plain.iterate()["train"]
        assert {k: v for k, v in ours.items() if k != "pulls"} == theirs
    assert torch.equal(plain.net.policy_head.weight, idle.net.policy_head.weight)


def test_every_pass_takes_all_samples_in_an_order_of_its_own():
    samples, generator = torch.zeros(10, 2), torch.Generator().manual_seed(7)
    passes = [split_shuffled(samples, 4, generator) for _ in range(2)]
    orders = [torch.cat(parts).tolist() for parts in passes]
    assert [len(part) for part in passes[0]] == [3, 3, 2, 2]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(10))
    drawn = torch.Generator().manual_seed(7)
    assert orders == [torch.randperm(10, generator=drawn).tolist() for _ in range(2)]


def test_its_state_is_saved_with_the_rest(make_trainer):
    trainer = make_trainer(Corridor(8), auxiliary=Pull())
    trainer.iterate()
    saved = trainer.state()
    other = make_trainer(Corridor(8), auxiliary=Pull())
    other.load_state(saved)
    assert len(other._auxiliary.minibatches) == len(trainer._auxiliary.minibatches)
    assert "auxiliary" not in make_trainer(Corridor(8)).state().model


def test_a_further_head_leaves_the_rest_of_the_network_as_it_is():
    layout = obs_layout(Corridor(2))
    plain, headed = (
        ActorCritic(layout, PPOConfig(), NativeConfig(hindsight=mode), seed=3)
        for mode in ("off", "bid")
    )
    ours, theirs = headed.state_dict(), plain.state_dict()
    assert ours.keys() - theirs.keys() == {"aux_head.weight", "aux_head.bias"}
    assert all(torch.equal(ours[name], x) for name, x in theirs.items())
    obs = torch.rand(4, 9)
    latent = headed.policy_tower.layers(obs)
    weight, bias = ours["aux_head.weight"], ours["aux_head.bias"]
    torch.testing.assert_close(headed.auxiliary(obs), latent @ weight.T + bias)
