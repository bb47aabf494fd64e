"""What is computed without autograd is what autograd computes."""

from copy import deepcopy

import pytest
import torch

from tests.tables import walk
from tests.training.dqn.test_trainer import make
from tests.training.ppo.engines import Corridor
from training.dqn import direct
from training.dqn.adam import ClippedAdam
from training.dqn.replay import Batch
from training.nets.layers import available


@pytest.fixture(autouse=True)
def fused(monkeypatch):
    """Compute the layers by torch where oneDNN does not fuse them; nothing else differs."""

    def layer(x, weight, bias, activation):
        y = torch.nn.functional.linear(x, weight, bias)
        return y if activation == "none" else getattr(torch, activation)(y)

    if not available():
        monkeypatch.setattr(direct, "available", lambda: True)
        monkeypatch.setattr(direct, "layer", layer)


NETS = [
    {},
    {"dueling": False, "num_quantiles": 1, "double": False},
    {"activation": "tanh"},
    {"dueling": False, "net_arch": (), "double": False},
]


def trainer_of(options):
    """A trainer with two networks that differ, on a CPU, and values of some size."""
    trainer = make(Corridor(2), **{"net_arch": (24, 17), **options})
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in (*trainer.net.parameters(), *trainer.target.parameters()):
            parameter.add_(torch.randn_like(parameter) * 0.3)
    return trainer


def batch_of(k=40):
    drawn = torch.Generator().manual_seed(9)

    def random(*shape):
        return torch.randn(*shape, generator=drawn)

    legal = torch.rand(k, 2, generator=drawn) < 0.7
    legal[:, 0] |= ~legal.any(1)
    return Batch(
        index=torch.arange(k),
        obs=random(k, 9),
        action=torch.randint(2, (k,), generator=drawn),
        reward=random(k),
        discount=torch.rand(k, generator=drawn),
        next_obs=random(k, 9),
        next_mask=legal,
        weight=torch.rand(k, generator=drawn).masked_fill(torch.arange(k) % 7 == 0, 0.0),
    )


def both_ways(trainer, batch):
    """Terms, errors and gradients by autograd, and directly."""
    found = []
    for gradients in (trainer._gradients, lambda b: trainer._direct.gradients(b, "fp32")):
        terms, error = gradients(batch)
        found.append([terms, error, *(p.grad for p in trainer._ours)])
        trainer.optimizer.zero_grad()
    return found


@walk("options", NETS)
def test_loss_errors_and_gradients_are_those_of_autograd(options):
    trainer = trainer_of(options)
    trainer.start()
    slow, fast = both_ways(trainer, batch_of())
    for expected, got in zip(slow, fast, strict=True):
        torch.testing.assert_close(got.to(expected.dtype), expected, rtol=1e-4, atol=1e-6)
    assert all(gradient.abs().max() > 1e-3 for gradient in slow[2:])


@walk("options", NETS)
@walk("precision", ["fp32", "bf16"])
def test_values_follow_the_network_however_its_parameters_change(options, precision):
    trainer = trainer_of(options)
    obs, close = batch_of().obs, 1e-5 if precision == "fp32" else 0.05
    direct, optimizer = trainer._direct, trainer.optimizer
    before = direct.values(obs, precision)

    def by_optimizer():
        for _ in range(3):
            for parameter in trainer._ours:
                parameter.grad = torch.ones_like(parameter)
            trainer._descend()

    def by_loading():
        optimizer.zero_grad()
        trainer.net.load_state_dict(trainer.target.state_dict())

    optimizer.param_groups[0]["lr"] = 0.1
    for change in (by_optimizer, by_loading):
        change()
        found, expected = direct.values(obs, precision), trainer.net.logits(obs).detach()
        assert (found - expected).abs().max() < close * expected.abs().max()
        assert (found - before).abs().max() > 0.2 * expected.abs().max()
        before = found


@walk("options", NETS)
def test_gradients_in_bfloat16_are_near_those_in_float32(options):
    trainer = trainer_of(options)
    found = []
    for precision in ("fp32", "bf16"):
        trainer._direct.gradients(batch_of(), precision)
        found.append(torch.cat([p.grad.flatten() for p in trainer._ours]))
    assert (found[0] - found[1]).norm() < 0.05 * found[0].norm()


@walk(
    "options",
    [
        {"noisy": True},
        {"activation": "gelu"},
        {"recurrent": "gru", "seq_len": 4, "burn_in": 0},
    ],
)
def test_other_networks_are_left_to_autograd(options):
    assert make(Corridor(2), **options)._direct is None


def parameters():
    torch.manual_seed(1)
    return [torch.nn.Parameter(torch.randn(shape)) for shape in ((40, 13), (40,), (3, 40), (1,))]


def test_steps_of_adam_are_those_of_torch_and_so_is_what_is_saved():
    ours, theirs = parameters(), parameters()
    options = {"lr": 1e-2, "eps": 1e-4}
    fast, slow = ClippedAdam(ours, max_norm=5.0, **options), torch.optim.Adam(theirs, **options)
    for step in range(40):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = torch.randn_like(mine) * (0.01 if step % 3 else 10.0)
            other.grad = mine.grad.clone()
        norm = torch.nn.utils.clip_grad_norm_(theirs, 5.0)
        slow.step()
        assert fast.in_one_pass == (step > 0)
        if fast.in_one_pass:
            torch.testing.assert_close(fast.descend(), norm)
            assert all(parameter.grad is None for parameter in ours)
        else:
            torch.nn.utils.clip_grad_norm_(ours, 5.0)
            fast.step()
        if step == 20:  # as if a run went on from a checkpoint
            fast = ClippedAdam(ours, max_norm=5.0, **options)
            fast.load_state_dict(deepcopy(slow.state_dict()))
            slow.load_state_dict(deepcopy(fast.state_dict()))
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(fast.state[mine], slow.state[other], rtol=1e-5, atol=1e-7)
