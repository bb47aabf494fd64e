"""Hidden layers in bfloat16 on a CPU: product, bias and activation in one pass over the memory.

oneDNN applies bias and activation to what a matrix product has just computed, while it is in the
registers and in float32. As operations of their own they read and write all of it again, and
torch's tanh of bfloat16 alone costs as much as the product of a layer of 256.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from training.nets.activations import ACTIVATIONS, Tanh

# oneDNN's name of an activation, by its module; the gradient of each follows from its output.
_FUSED: dict[type[nn.Module], str] = {Tanh: "tanh", nn.ReLU: "relu"}


def layer(x: Tensor, weight: Tensor, bias: Tensor, activation: str) -> Tensor:
    """Compute a layer's output (n, size_out) from features (n, size_in); see :func:`available`.

    Parameters
    ----------
    x, weight, bias : Tensor, all of one type
    activation : str
        As oneDNN calls it; ``none`` for none.
    """
    y: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, activation, [], "")
    return y


def before_activation(grad: Tensor, y: Tensor, activation: str) -> Tensor:
    """Compute the gradient by the input of an activation, from that by its output ``y``."""
    if activation == "tanh":
        return torch.ops.aten.tanh_backward(grad, y)
    return torch.ops.aten.threshold_backward(grad, y, 0)


def fused_name(activation: nn.Module) -> str:
    """Return oneDNN's name of an activation; empty if it has none."""
    return _FUSED.get(type(activation), "")


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, activation: str) -> Tensor:
        y = layer(x, weight, bias, activation)
        ctx.activation = activation
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor, Tensor, None]:
        x, weight, y = ctx.saved_tensors
        grad = before_activation(grad, y, ctx.activation)
        by_x = grad @ weight if ctx.needs_input_grad[0] else None
        return by_x, grad.t() @ x, grad.sum(0), None


class Layers(nn.Sequential):
    """Linear layers and activations in turns; fused under autocast where that is possible.

    Attributes
    ----------
    may_fuse : bool
        Whoever takes the layers apart (``vmap``) sets it to False.
    """

    may_fuse = True

    def forward(self, x: Tensor) -> Tensor:
        """Compute the output of the layers for features (n, size_in)."""
        if not (self.may_fuse and computes_in_bfloat16(x) and available()):
            out: Tensor = super().forward(x)
            return out
        x = x.to(torch.bfloat16)
        for linear, activation in self.pairs():
            name = fused_name(activation)
            if not name:
                x = activation(linear(x))
            else:
                weight, bias = linear.weight.to(x.dtype), linear.bias.to(x.dtype)
                x = _Layer.apply(x, weight, bias, name)
        return x

    def pairs(self) -> Iterator[tuple[Any, nn.Module]]:
        """Return each linear layer with its activation."""
        modules = iter(self)
        return zip(modules, modules, strict=True)


def hidden_layers(size_in: int, widths: Sequence[int], activation: str) -> Layers:
    """Make linear layers of these widths, each followed by an activation.

    Parameters
    ----------
    size_in : int
    widths : sequence of int
    activation : str
        One of :data:`training.nets.activations.ACTIVATIONS`.
    """
    sizes = (size_in, *widths)
    return Layers(
        *(
            module
            for before, width in itertools.pairwise(sizes)
            for module in (nn.Linear(before, width), ACTIVATIONS[activation]())
        )
    )


def computes_in_bfloat16(x: Tensor) -> bool:
    """Tell whether autocast would compute a product of ``x`` in bfloat16 on a CPU, eagerly."""
    return (
        x.is_cpu
        and torch.is_autocast_enabled("cpu")
        and torch.get_autocast_dtype("cpu") == torch.bfloat16
        and not torch.compiler.is_compiling()
    )


@functools.cache
def available() -> bool:
    """Tell whether this torch and this processor have the fused operation; it is not public."""
    x = torch.zeros(1, 1, dtype=torch.bfloat16)
    try:
        torch.ops.mkldnn._linear_pointwise(x, x, x[0], "tanh", [], "")
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    return True
