"""A linear layer that skips inputs that are 0, for observations in which most are.

Observations of a card game are mostly flags. A product of matrices multiplies all of them, in two
thirds of the arithmetic of a small network.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fastenv.numba_cache import cached_njit

FEW = 0.25  # share of the inputs that are not 0, up to which the others are skipped
LEAST_INPUTS = 64


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
def index_inputs(x, ends_out, columns_out):
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
def add_products(x, ends, columns, by_input, out):
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
def add_outer(x, ends, columns, grad, out):
    """Add ``x.T @ grad`` to ``out`` (size_in, size_out), of the inputs that were found."""
    first = 0
    for i in range(len(x)):
        for c in range(first, ends[i]):
            k = columns[c]
            number = x[i, k]
            for j in range(out.shape[1]):
                out[k, j] += number * grad[i, j]
        first = ends[i]
