"""What is said of layers: right against a hand computation, and nothing learnt is another."""

import json

import numpy as np
import pytest
import torch

from fastenv import BatchEngine
from tests.bits import equal
from tests.slow import every
from tests.toy import WalkGame
from tests.training.ppo.engines import Corridor, Counting
from training.nets.actor_critic import ActorCritic
from training.nets.layers import ACTIVATIONS
from training.nets.layout import Field, ObsLayout
from training.ppo.diagnostics import SAMPLE, dead_units, sample
from training.ppo.options import NativeConfig, PPOConfig
from training.run.envs import make_engine

MEMORY = {"recurrent": "gru", "recurrent_size": 8, "seq_len": 4, "batch_size": 64}


def layers_of(net):
    """Names of the layers that have parameters."""
    return {name.rpartition(".")[0] for name, _ in net.named_parameters()}


def test_norms_are_those_of_the_first_step(make_trainer):
    """One minibatch, so that the first step is the whole update."""
    options = {"n_epochs": 1, "batch_size": 128, "max_grad_norm": 0.05, "diagnostics": 1}
    trainer = make_trainer(Corridor(8), learning_rate=0.01, **options)
    for _ in range(2):
        trainer.start()
        before = {name: p.detach().clone() for name, p in trainer.net.named_parameters()}
        train = trainer.iterate()["train"]
        assert set(train["layers"]) == layers_of(trainer.net)
        for layer, found in train["layers"].items():
            names = [name for name in before if name.rpartition(".")[0] == layer]
            new = dict(trainer.net.named_parameters())
            old = np.concatenate([before[name].numpy().ravel() for name in names])
            moved = np.concatenate([new[name].detach().numpy().ravel() for name in names]) - old
            assert found["weight_norm"] == pytest.approx(np.sqrt((old**2).sum()), rel=1e-5)
            ratio = np.sqrt((moved**2).sum()) / np.sqrt((old**2).sum())
            assert found["update_ratio"] == pytest.approx(ratio, rel=1e-4)
        whole = np.sqrt(sum(found["grad_norm"] ** 2 for found in train["layers"].values()))
        assert whole == pytest.approx(train["grad_norm"], rel=1e-5)  # both before clipping
        assert whole > 0.05


def test_gradients_are_those_of_each_layer(make_trainer, monkeypatch):
    trainer = make_trainer(Corridor(8), diagnostics=1)
    seen, clip = [], torch.nn.utils.clip_grad_norm_

    def look(parameters, limit):
        parameters = list(parameters)
        seen.append([p.grad.double().square().sum().item() for p in parameters])
        return clip(parameters, limit)

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", look)
    found = trainer.iterate()["train"]["layers"]
    assert len(seen) == 8
    squares = dict.fromkeys(found, 0.0)
    for (name, _), square in zip(trainer.net.named_parameters(), seen[0], strict=True):
        squares[name.rpartition(".")[0]] += square
    for layer, square in squares.items():
        assert found[layer]["grad_norm"] == pytest.approx(square**0.5, rel=1e-5)


def test_dead_units_are_those_that_nothing_in_the_rollout_wakes(make_trainer):
    trainer = make_trainer(Corridor(8), activation="relu", net_arch=(16, 8), diagnostics=1)
    first, _, second, _ = trainer.net.policy_tower.layers
    with torch.no_grad():
        first.bias[:5] = -100.0
        second.bias[-2:] = -100.0
    found = trainer.iterate()["train"]["layers"]
    x = trainer.rollout.obs[:-1].flatten(0, 1).numpy()
    for index, layer in ((0, first), (2, second)):
        x = np.maximum(x @ layer.weight.detach().numpy().T + layer.bias.detach().numpy(), 0)
        share = (x.max(0) == 0).mean()
        assert found[f"policy_tower.layers.{index}"]["dead_units"] == pytest.approx(share)
        assert share >= 0.25
    assert "dead_units" not in found["policy_head"]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_has_dead_units(activation):
    ppo = PPOConfig(net_arch=(8,), activation=activation)
    net = ActorCritic(ObsLayout(4, 2), ppo, NativeConfig(), seed=3)
    obs = torch.randn(64, 4, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        net.value_tower.layers[0].bias[:2] = -100.0
    found = dead_units(net, obs)
    assert found["policy_tower.layers.0"]["dead_units"] == 0
    assert found["value_tower.layers.0"]["dead_units"] == 0.25


def test_units_of_convolutions_are_channels():
    board = ObsLayout(25, 2, fields=(Field("", (5, 5), values=3),))
    net = ActorCritic(board, PPOConfig(net_arch=(8,)), NativeConfig(), seed=3)
    with torch.no_grad():
        net.encoder.convs[0].layers[0].bias[:8] = -100.0
    obs = torch.randint(3, (64, 5, 5), generator=torch.Generator().manual_seed(1)).float()
    found = dead_units(net, obs)
    assert found["encoder.convs.0.layers.0"]["dead_units"] == pytest.approx(8 / 32, abs=3 / 32)


def test_a_sample_is_of_the_whole_rollout_and_always_the_same():
    small = torch.arange(24).view(4, 6)
    assert torch.equal(sample(small), torch.arange(24))
    large = torch.arange(100_000).view(100, 1000)
    found = sample(large)
    assert len(found) == SAMPLE
    assert torch.equal(found, sample(large))
    assert len((found // 1000).unique()) > 90
    assert len((found % 1000).unique()) > 500


@pytest.mark.parametrize(
    "options",
    every(
        2,
        [
            {},
            {"trunk": "shared", "attention": 8},
            MEMORY,
            {"target_kl": 1e-3, "learning_rate": 0.01},
        ],
    ),
    ids=["plain", "attention", "memory", "early end"],
)
def test_what_is_learnt_is_the_same_to_the_bit(make_trainer, options):
    states = []
    for number in (0, 1):
        engine = make_engine("SkullKingWorker-v0", 16)
        trainer = make_trainer(engine, **{"diagnostics": number, **options})
        torch.manual_seed(5)
        records = [trainer.iterate()["train"] for _ in range(3)]
        assert all(("layers" in record) == bool(number) for record in records)
        states.append((trainer.state(), torch.get_rng_state()))
    (one, rng), (other, other_rng) = states
    assert equal(one.model, other.model)
    assert one.values == other.values
    assert (one.rows == other.rows).all()
    assert torch.equal(rng, other_rng)


def test_layers_are_looked_at_every_few_iterations(make_trainer):
    trainer = make_trainer(Corridor(4), diagnostics=2)
    assert ["layers" in trainer.iterate()["train"] for _ in range(4)] == [True, False, True, False]
    again = make_trainer(Corridor(4), diagnostics=2)
    again.load_state(trainer.state())
    record = again.iterate()
    assert "layers" in record["train"]
    assert json.loads(json.dumps(record)) == record


def test_layers_of_every_kind_of_network(make_trainer):
    cell = make_trainer(Counting(16), diagnostics=1, **MEMORY).iterate()["train"]["layers"]
    assert cell["policy_tower.cell.cell"]["weight_norm"] > 0
    game = BatchEngine(WalkGame(raise_illegal=True), 8, "reference")
    assert make_trainer(game, diagnostics=1).iterate()["train"]["layers"]
