"""The fast tanh is a tanh."""

import pytest
import torch

from training.nets.layers import Tanh


@pytest.mark.parametrize("grad", [True, False])
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
