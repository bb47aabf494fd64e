"""Activations; tanh by way of the logistic function on a CPU, where that is three times faster."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def _tanh(x: Tensor) -> Tensor:
    # tanh(x) = 2 / (1 + exp(-2x)) - 1: off by one rounding of a number near 1, about 1e-7, which is
    # what the matrix product before it is off by. The library's own tanh is exact to the last bit
    # and takes 4 ns a number where this takes 1.2.
    return x.mul_(2.0).sigmoid_().mul_(2.0).sub_(1.0)


class _FastTanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        y = _tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.ops.aten.tanh_backward(grad, y)


class Tanh(nn.Module):
    """Hyperbolic tangent, to 3e-7, in the memory of its argument.

    The argument is the output of a linear layer, which nobody needs any more; new memory would have
    to come through the cache first, which costs more than the arithmetic.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return tanh of every element; ``x`` is overwritten where that saves time."""
        if not x.is_cpu or x.dtype != torch.float32 or torch.compiler.is_compiling():
            return torch.tanh(x)
        return _FastTanh.apply(x) if torch.is_grad_enabled() else _tanh(x)


ACTIVATIONS: dict[str, type[nn.Module]] = {"tanh": Tanh, "relu": nn.ReLU, "gelu": nn.GELU}
