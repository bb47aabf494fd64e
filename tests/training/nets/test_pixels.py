"""The larger network for images: its sizes, that lanes do not matter to it, and what it learns."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fastenv.gameboy import frames as packed_frames
from tests.needs import needs_core
from tests.tables import walk
from tests.training.dqn.test_trainer import make
from tests.training.nets.test_encoders import layout_of
from tests.training.ppo.conftest import make_on, sections
from tests.training.ppo.engines import ToyEngine
from training.dqn.options import DQNConfig
from training.nets import precision
from training.nets.encoders import Encoder, PixelEncoder, unpack
from training.nets.layout import ObservationParts, as_tensor, obs_layout
from training.nets.q_network import NoisyLinear, QNetwork
from training.run.config import RunConfig
from training.run.envs import make_engine

SCREEN = np.dtype(
    [("pixels", "u1", (2, 72, 80)), ("senses", "f4", (4,)), ("goal", "f4", (3,))], align=True
)
# All of it: two cells behind a linear recurrence, noisy dueling streams.
WHOLE = {
    **{"encoder": "pixels", "net_arch": (), "recurrent": "ssm_gru_lstm", "recurrent_size": 288},
    "noisy": True,
}


def screens(n, seed=0):
    rng, found = np.random.default_rng(seed), np.zeros(n, SCREEN)
    found["pixels"] = rng.integers(0, 4, found["pixels"].shape)
    found["senses"], found["goal"] = rng.random((n, 4)), rng.random((n, 3))
    return found


def layout(goals=("goal",)):
    return replace(
        layout_of(SCREEN, bounds={"pixels": (0, 3)}), parts=ObservationParts(goals=goals)
    )


def test_network_has_the_sizes_that_are_written_down():
    net = QNetwork(layout(), DQNConfig(**WHOLE))
    trunk = net.encoder.trunk
    with torch.no_grad():
        assert trunk.stem(torch.zeros(1, 2, 72, 80)).shape == (1, 96, 18, 20)
    assert net.encoder.size_out == 192
    assert [arm.state_size for arm in net.cell.arms] == [144, 288]
    assert net.cell.arms[0].cell.input_size == 192 + 64
    assert net.head.advantage.weight.shape == (3 * 51, 288)
    obs = as_tensor(screens(3))
    values, _, state = net.step(obs, state=torch.zeros(3, net.state_size))
    assert values.shape == (3, 3)
    assert state.shape == (3, 64 + 144 + 288)


def test_a_row_is_the_same_in_any_batch_and_while_training():
    encoder = PixelEncoder(layout())
    obs = as_tensor(screens(7))
    with torch.no_grad():
        whole = encoder.train()(obs)
        for one in (encoder(obs[3:4]), encoder.eval()(obs)[3:4]):
            torch.testing.assert_close(one, whole[3:4], rtol=1e-5, atol=1e-5)


def test_side_features_follow_the_goal_where_there_is_one():
    found = screens(4)
    other = found.copy()
    other["goal"] += 1
    encoder = PixelEncoder(layout())
    first, second = (encoder(as_tensor(x)) for x in (found, other))
    assert torch.equal(first[:, :96], second[:, :96])
    assert not torch.allclose(first[:, 96:], second[:, 96:])
    assert (encoder.side.layers[0].in_features, encoder.side.goal[0].in_features) == (4, 3)
    assert PixelEncoder(layout(goals=())).side.layers[0].in_features == 7


def test_every_part_of_the_network_learns():
    net = QNetwork(layout(), DQNConfig(**WHOLE))
    net.draw_noise(1, torch.Generator().manual_seed(1))
    obs = as_tensor(screens(6)).unflatten(0, (3, 2))
    how = {"state": torch.zeros(2, net.state_size), "done": torch.zeros(3, 2, dtype=torch.bool)}
    latent, _ = net.unroll(obs, **how)
    net.head(latent.flatten(0, 1)).square().mean().backward()
    still = {n for n, p in net.named_parameters() if p.grad is None or not (p.grad != 0).any()}
    assert still == set()


class Screen(ToyEngine):
    """An image whose brightness says which of two actions is right; side numbers say nothing."""

    obs_shape, obs_dtype = (), np.dtype([("pixels", "u1", (1, 12, 12)), ("s", "f4", (2,))])
    spec = type("Spec", (), {"has_tau": False, "obs_bounds": {"pixels": (0, 3)}})

    def begin(self, rows):
        super().begin(rows)
        self.state[rows, 1] = self.draw(2, rows)

    def move(self, actions):
        self.reward[:] = actions == self.state[:, 1]
        self.terminated[:] = 1

    def write(self, out):
        out["pixels"] = (3 * self.state[:, 1])[:, None, None, None]
        out["s"] = 0.5


@pytest.mark.slow
def test_dqn_learns_from_pixels():
    options = {**WHOLE, "recurrent": "none", "noisy": False, "n_step": 1, "iteration_steps": 16}
    trainer = make(Screen(16), total_steps=4000, **{**options, "learning_rate": 1e-3})
    for _ in range(12):
        trainer.iterate()
        recent = trainer.replay.reward[max(0, trainer.replay.head - 8) : trainer.replay.head]
        best = trainer.net.logits(trainer._lanes[0].seen).argmax(1).numpy()
        if (best == trainer.engines[0].state[:, 1]).all():
            return
    raise AssertionError(float(recent.mean()))


def test_ppo_has_it_too():
    options = {"n_steps": 4, "batch_size": 32, "n_epochs": 1, "net_arch": (16,)}
    cell = {"encoder": "pixels", "recurrent": "gru_lstm", "recurrent_size": 8, "seq_len": 4}
    ppo, native = sections(**options, **cell, precision="fp32")
    trainer = make_on(Screen(8), ppo, native, total_steps=64)
    before = trainer.net.encoder.trunk.last.weight.clone()
    trainer.iterate()
    assert not torch.equal(trainer.net.encoder.trunk.last.weight, before)


def test_packed_bytes_are_four_pixels():
    every = torch.arange(256, dtype=torch.uint8)
    assert unpack(every).tolist() == packed_frames.unpack(bytes(range(256)))


@needs_core
@walk("env", ["GameBoyPixels-v0", "LanternWalk-v0"])
@walk("kind", ["auto", "pixels"])
def test_packed_frames_look_like_plain_ones(env, kind):
    seen = []
    for pixels in ("72x80", "packed72x20"):
        engine = make_engine(env, 2, {"pixels": pixels, "stack_k": 2})
        engine.reset_many(seeds=1)
        for k in range(5):
            engine.step_many(np.full(2, 3 + k % 2))
        engine.refresh()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            form = PixelEncoder(obs_layout(engine)) if kind == "pixels" else None
            encoder = form or Encoder(obs_layout(engine), "conv")
        seen.append(encoder(as_tensor(engine.obs)))
    assert torch.equal(*seen)


@needs_core
def test_a_million_packed_frames_fit():
    """At most 1.6 GB, last observations of episodes that a clock cut off included."""
    config = RunConfig.from_mapping(
        {
            **{"env": "GameBoyPixels-v0", "trainer": "dqn", "num_envs": 64},
            "env_options": {"pixels": "packed72x20", "stack_k": 1},
            "dqn": {"capacity": 1_000_000, "stack_k": 4},
        }
    )
    engine = make_engine(config.env, 64, config.env_options)
    assert config.replay_bytes(engine.obs[0].nbytes, engine.num_actions) <= 1.6e9


def test_network_that_cannot_be_compiled_runs_as_it_is(monkeypatch):
    def broken(function, **options):
        def call(*args, **kwargs):
            raise RuntimeError("no\ncompiler")

        return call

    monkeypatch.setattr(precision.torch, "compile", broken)
    plain, ours = (make(Screen(4), compile=how, total_steps=999) for how in ("off", "default"))
    plain.iterate()
    with pytest.warns(RuntimeWarning, match=r"torch\.compile failed \(RuntimeError: no compiler\)"):
        ours.iterate()
    for name, value in plain.net.state_dict().items():
        assert torch.equal(value, ours.net.state_dict()[name]), name


@pytest.mark.parametrize("groups", [1, 3])
def test_noise_of_a_layer_is_that_of_its_weights_and_of_its_biases(groups):
    layer, drawn = NoisyLinear(5, 4), torch.Generator().manual_seed(2)
    with torch.no_grad():
        layer.weight_sigma.normal_(generator=drawn)
        layer.bias_sigma.normal_(generator=drawn)
    x = torch.randn(6, 5, generator=drawn)
    layer.draw(groups, drawn)
    for k, found in enumerate(layer(x)):
        e_in, e_out = (part[k * groups // 6] for part in layer._noise)
        weight = layer.weight + layer.weight_sigma * e_out[:, None] * e_in
        bias = layer.bias + layer.bias_sigma * e_out
        torch.testing.assert_close(found, weight @ x[k] + bias)
