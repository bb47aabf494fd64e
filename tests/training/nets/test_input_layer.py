"""The layer that skips inputs that are 0 is the linear layer that it stands for."""

import torch
from torch import nn

from tests.tables import walk
from training.nets import layers


def observations(share, rows=33, width=128, seed=0):
    """Numbers of which a share is not 0."""
    draw = torch.Generator().manual_seed(seed)
    there = torch.rand(rows, width, generator=draw) < share
    return torch.randn(rows, width, generator=draw) * there


@walk(("share", "skips"), [(0.1, True), (0.0, True), (0.9, False)])
def test_skipped_inputs_would_add_nothing(monkeypatch, share, skips):
    torch.manual_seed(1)
    layer = layers.InputLayer(128, 40)
    plain = nn.Linear(128, 40)
    plain.load_state_dict(layer.state_dict())
    x, outer = observations(share), torch.randn(33, 40)
    calls, add = [], layers.add_products
    monkeypatch.setattr(layers, "add_products", lambda *given: calls.append(1) or add(*given))
    ours, theirs = layer(x), plain(x)
    assert bool(calls) == skips
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    found = torch.autograd.grad(ours, layer.parameters(), outer)
    wanted = torch.autograd.grad(theirs, plain.parameters(), outer)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)
    with torch.inference_mode():
        assert torch.equal(layer(x), ours)


def test_a_row_is_the_same_in_any_batch():
    torch.manual_seed(1)
    layer, x = layers.InputLayer(128, 40), observations(0.1)
    with torch.no_grad():
        assert torch.equal(torch.cat([layer(row.unsqueeze(0)) for row in x]), layer(x))


@walk("case", ["few inputs", "gradient by inputs", "autocast", "not asked to"])
def test_where_all_inputs_are_multiplied(monkeypatch, case):
    monkeypatch.setattr(layers, "add_products", None)
    width = 8 if case == "few inputs" else 128
    layer, x = layers.InputLayer(width, 40), observations(0.1, width=width)
    x.requires_grad_(case == "gradient by inputs")
    layer.skips = case != "not asked to"
    with torch.autocast("cpu", torch.bfloat16, enabled=case == "autocast"):
        wanted = nn.functional.linear(x, layer.weight, layer.bias)
        assert torch.equal(layer(x), wanted)


def test_only_the_first_layer_skips_inputs():
    kinds = [type(each) for each in layers.hidden_layers(128, (16, 16), "relu")][::2]
    assert kinds == [layers.InputLayer, nn.Linear]
