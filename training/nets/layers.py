"""Hidden layers: activations, initial parameters, and products that are cheaper than they look.

In float32 on a CPU, inputs that are 0 are skipped where most are (:class:`InputLayer`).
Observations of a card game are mostly flags; a product of matrices multiplies all of them, in two
thirds of the arithmetic of a small network.

In bfloat16 on a CPU, product, bias and activation are one pass over the memory (:func:`fuse`):
oneDNN applies bias and activation to what a matrix product has just computed, while it is in the
registers and in float32. As operations of their own they read and write all of it again, and
torch's tanh of bfloat16 alone costs as much as the product of a layer of 256.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fastenv.numba_cache import cached_njit

HIDDEN_GAIN = math.sqrt(2.0)
# Of heads that predict returns. A small one would shrink the gradients of the layers before it.
VALUE_GAIN = 1.0
FEW = 0.25  # share of the inputs that are not 0, up to which the others are skipped
LEAST_INPUTS = 64


@torch.no_grad()
def orthogonal(net: nn.Module, gain: float = HIDDEN_GAIN) -> None:
    """Make the weights of all linear layers and convolutions orthogonal, their biases 0."""
    for module in net.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            nn.init.orthogonal_(module.weight, gain)
            if module.bias is not None:
                module.bias.zero_()


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
# oneDNN's name of an activation, by its module; the gradient of each follows from its output.
_FUSED: dict[type[nn.Module], str] = {Tanh: "tanh", nn.ReLU: "relu"}


class Layers(nn.Sequential):
    """Linear layers and activations in turns."""

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
        One of :data:`ACTIVATIONS`.
    """
    sizes = (size_in, *widths)
    kinds = [InputLayer, *[nn.Linear] * (len(widths) - 1)][: len(widths)]
    return Layers(
        *(
            module
            for kind, (before, width) in zip(kinds, itertools.pairwise(sizes), strict=True)
            for module in (kind(before, width), ACTIVATIONS[activation]())
        )
    )


# -- in float32 on a CPU, of inputs that are mostly 0 ----------------------------------------------


class InputLayer(nn.Linear):
    """A linear layer of observations: in float32 on a CPU it skips inputs that are 0.

    Attributes
    ----------
    skips : bool
        Whether it may; what takes modules apart cannot.
    """

    skips = True

    def forward(self, x: Tensor) -> Tensor:
        """Return the products, shape (n, size_out)."""
        found = self._find_inputs(x)
        if found is None:
            return super().forward(x)
        if torch.is_grad_enabled():
            out: Tensor = _FewInputs.apply(x, self.weight, self.bias, *found)
            return out
        return _multiply_some(x, self.weight, self.bias, *found)

    def _find_inputs(self, x: Tensor) -> tuple[Any, Any] | None:
        """Return which inputs are not 0 (:func:`index_inputs`); None where all are multiplied."""
        tracing = torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined]
        if tracing or not (self.skips and x.is_cpu and x.ndim == 2 and len(x)):
            return None
        if x.dtype != torch.float32 or x.requires_grad or x.shape[1] < LEAST_INPUTS:
            return None
        if torch.is_autocast_enabled("cpu") or not x.is_contiguous():
            return None
        ends = np.empty(len(x), np.int64)
        columns = np.empty(int(FEW * x.numel()), np.int32)
        return (ends, columns) if index_inputs(x.detach().numpy(), ends, columns) else None


class _FewInputs(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, ends: Any, columns: Any
    ) -> Tensor:
        ctx.save_for_backward(x)
        ctx.found = ends, columns
        return _multiply_some(x, weight, bias, ends, columns)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (x,) = ctx.saved_tensors
        by_weight = torch.zeros(x.shape[1], grad.shape[1])
        add_outer(x.numpy(), *ctx.found, grad.contiguous().numpy(), by_weight.numpy())
        return None, by_weight.t(), grad.sum(0), None, None


def _multiply_some(x: Tensor, weight: Tensor, bias: Tensor, ends: Any, columns: Any) -> Tensor:
    out = bias.detach().repeat(len(x), 1)
    by_input = weight.detach().t().contiguous()
    add_products(x.detach().numpy(), ends, columns, by_input.numpy(), out.numpy())
    return out


@cached_njit(nogil=True)
def index_inputs(x: np.ndarray, ends_out: np.ndarray, columns_out: np.ndarray) -> bool:
    """Write the columns that are not 0 row by row, and where each row ends; False if too many.

    Parameters
    ----------
    x : ndarray of float32, shape (n, size_in)
    ends_out : ndarray of int64, shape (n,)
    columns_out : ndarray of int32, shape (room,)
    """
    rows, width = x.shape
    room, found = len(columns_out), 0
    for i in range(rows):
        for k in range(width):
            if x[i, k] != 0.0:
                if found == room:
                    return False
                columns_out[found] = k
                found += 1
        ends_out[i] = found
    return True


@cached_njit(nogil=True)
def add_products(
    x: np.ndarray, ends: np.ndarray, columns: np.ndarray, by_input: np.ndarray, out: np.ndarray
) -> None:
    """Add ``x @ by_input`` to ``out`` (n, size_out), of the inputs that were found."""
    first = 0
    for i in range(len(x)):
        for c in range(first, ends[i]):
            k = columns[c]
            number = x[i, k]
            for j in range(out.shape[1]):
                out[i, j] += number * by_input[k, j]
        first = ends[i]


@cached_njit(nogil=True)
def add_outer(
    x: np.ndarray, ends: np.ndarray, columns: np.ndarray, grad: np.ndarray, out: np.ndarray
) -> None:
    """Add ``x.T @ grad`` to ``out`` (size_in, size_out), of the inputs that were found."""
    first = 0
    for i in range(len(x)):
        for c in range(first, ends[i]):
            k = columns[c]
            number = x[i, k]
            for j in range(out.shape[1]):
                out[k, j] += number * grad[i, j]
        first = ends[i]


# -- in bfloat16 on a CPU --------------------------------------------------------------------------


class FusedLayers(Layers):
    """The same layers, fused where autocast would compute their products in bfloat16."""

    def forward(self, x: Tensor) -> Tensor:
        """Compute the output of the layers for features (n, size_in)."""
        if not computes_in_bfloat16(x):
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


def fuse(net: nn.Module) -> None:
    """Replace hidden layers of a network by fused ones, which share their parameters.

    Where torch or the processor has no such operation, they stay as they are.
    """
    if not available():
        return
    for module in list(net.modules()):
        for name, child in module.named_children():
            if type(child) is Layers:
                setattr(module, name, FusedLayers(*child))


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
