"""Hidden layers: the fast tanh is a tanh, and fused layers are those they stand for."""

import pytest
import torch
from torch import nn

from tests.processes import run_python
from tests.tables import walk
from training.nets import layers as fusing
from training.nets.layers import ACTIVATIONS, FusedLayers, Layers, Tanh, fuse

# Largest error of the gradients; the gate of a relu lets a number through, or not.
ERROR = {"tanh": 0.01, "relu": 0.08, "gelu": 0.01}
needs_fused = pytest.mark.skipif(not fusing.available(), reason="no fused layers here")


def towers(activation, seed=0):
    """Layers 203-256-256, and observations with an outer gradient."""
    torch.manual_seed(seed)
    make = ACTIVATIONS[activation]
    net = nn.ModuleDict(
        {"layers": Layers(nn.Linear(203, 256), make(), nn.Linear(256, 256), make())}
    )
    fuse(net)
    for module in net["layers"]:
        if isinstance(module, nn.Linear):
            nn.init.orthogonal_(module.weight, 2**0.5)
            nn.init.normal_(module.bias, std=0.1)
    return net["layers"], torch.randn(512, 203), torch.randn(512, 256) / 512


def results(layers, obs, outer, *, low):
    """Output, and gradients by parameters and observations, in float32 or under autocast."""
    obs = obs.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16, enabled=low):
        out = layers(obs).float()
    inputs = [obs, *layers.parameters()]
    return [out.detach(), *torch.autograd.grad(out, inputs, outer)]


def error(ours, exact):
    """Size of the difference of all numbers of two results, relative to that of the second."""
    ours, exact = (torch.cat([x.flatten() for x in every]) for every in (ours, exact))
    return float((ours - exact).norm() / exact.norm())


@needs_fused
@walk("activation", ["tanh", "relu", "gelu"])
def test_fused_layers_are_as_near_to_float32_as_autocast(activation):
    fast = results(*towers(activation), low=True)
    exact = results(*towers(activation), low=False)
    layers, *given = towers(activation)
    plain = results(Layers(*layers), *given, low=True)
    for ours, theirs, true in zip(fast, plain, exact, strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        assert 0 < error([ours], [true]) < 1.2 * error([theirs], [true])
    assert error(fast[1:], exact[1:]) < ERROR[activation]


@needs_fused
def test_the_fused_operation_is_what_runs(monkeypatch):
    layers, obs, _ = towers("tanh")
    calls = []
    original = fusing._Layer.apply
    monkeypatch.setattr(fusing._Layer, "apply", lambda *a: calls.append(a[3]) or original(*a))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert layers(obs).dtype == torch.bfloat16
    assert calls == ["tanh", "tanh"]
    with torch.no_grad():
        layers(obs)
        with torch.autocast("cpu", torch.float16):
            layers(obs)
    assert len(calls) == 2


@walk("missing", [None, AttributeError, RuntimeError])
def test_layers_are_fused_where_the_operation_is_there(monkeypatch, missing):
    net = nn.ModuleDict({"layers": Layers(*towers("relu")[0])})
    before, names = list(net.parameters()), list(net["layers"].state_dict())

    def operation(*_):
        if missing:
            raise missing

    monkeypatch.setattr(fusing.torch.ops.mkldnn, "_linear_pointwise", operation, raising=False)
    fusing.available.cache_clear()
    try:
        fuse(net)
    finally:
        fusing.available.cache_clear()
    assert type(net["layers"]) is (Layers if missing else FusedLayers)
    assert all(a is b for a, b in zip(net.parameters(), before, strict=True))
    assert names == list(net["layers"].state_dict())
    assert names == ["0.weight", "0.bias", "2.weight", "2.bias"]


SCRIPT = """
from tests.training.nets.test_layers import ERROR, error, results, towers
for activation, largest in ERROR.items():
    exact = results(*towers(activation), low=False)
    found = results(*towers(activation), low=True)
    assert error(found[1:], exact[1:]) < largest, activation
"""


@pytest.mark.parametrize("isa", ["AVX2", pytest.param("AVX512_CORE", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_processors_without_bfloat16_get_the_same(isa):
    """oneDNN and torch can be told to leave out instructions: first any of 512 bits, then these."""
    if isa == "AVX512_CORE" and torch.backends.cpu.get_cpu_capability() != "AVX512":
        pytest.skip("this processor has none of 512 bits, and torch would not notice")
    limits = {"ONEDNN_MAX_CPU_ISA": isa, "ATEN_CPU_CAPABILITY": isa.partition("_")[0].lower()}
    run_python("-c", SCRIPT, **limits)


# -- tanh ------------------------------------------------------------------------------------------


@walk("grad", [True, False])
def test_values_and_gradients_are_those_of_tanh(grad):
    numbers = torch.cat((torch.linspace(-20, 20, 4001), torch.linspace(-1e-3, 1e-3, 101)))
    numbers = torch.cat((numbers, torch.tensor([float("inf"), -float("inf"), 1e30])))
    x = numbers.clone().requires_grad_(grad)
    with torch.set_grad_enabled(grad):
        y = Tanh()(x * 1.0)  # a new tensor, as a layer's output is: it is overwritten
    torch.testing.assert_close(y, torch.tanh(numbers), rtol=0, atol=3e-7)
    if grad:
        y.sum().backward()
        torch.testing.assert_close(x.grad, 1 - torch.tanh(numbers) ** 2, rtol=0, atol=1e-6)


def test_half_precision_takes_the_plain_way():
    x = torch.randn(8).to(torch.bfloat16)
    assert torch.equal(Tanh()(x), torch.tanh(x))
