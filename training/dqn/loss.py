"""Quantile regression: Dabney et al., Distributional Reinforcement Learning, 2018.

With errors ``u[i, j] = target[j] - theta[i]`` and levels ``tau[i] = (2 i + 1) / (2 K)``::

    loss = sum over i of the mean over j of |tau[i] - (u < 0)| * huber(u) / kappa

In host memory a loop in Numba computes the loss and its slope at once; torch would write and read
every one of the ``K * J`` terms a dozen times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from fastenv.numba_cache import cached_njit


def quantile_huber(theta: Tensor, target: Tensor, kappa: float) -> Tensor:
    """Compute the loss of each decision, shape (k,).

    A single quantile is the median, and its loss half of the usual Huber loss.

    Parameters
    ----------
    theta : Tensor, shape (k, K)
        Quantiles that are learnt.
    target : Tensor, shape (k, J)
        Values of a sample of the distribution they are to have; no gradient flows into them.
    kappa : float
        Up to which error the loss is quadratic.
    """
    if theta.device.type == "cpu":
        loss: Tensor = _QuantileHuber.apply(theta, target, kappa)
        return loss
    return quantile_huber_torch(theta, target, kappa)


def quantile_huber_torch(theta: Tensor, target: Tensor, kappa: float) -> Tensor:
    """Compute the same on any device."""
    error = target.detach().unsqueeze(1) - theta.unsqueeze(2)
    size = error.abs()
    inner = size.clamp(max=kappa)
    weight = (levels(theta).unsqueeze(1) - (error < 0).to(theta.dtype)).abs()
    return (weight * inner * (size - 0.5 * inner) / kappa).mean(2).sum(1)


def levels(theta: Tensor) -> Tensor:
    """Return the levels of quantiles (k, K), shape (K,)."""
    count = theta.shape[1]
    return (torch.arange(count, dtype=theta.dtype, device=theta.device) + 0.5) / count


class _QuantileHuber(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, theta: Tensor, target: Tensor, kappa: float) -> Tensor:
        loss, slope = theta.new_empty(len(theta)), torch.empty_like(theta)
        learnt, wanted, level = (
            x.detach().contiguous().numpy() for x in (theta, target, levels(theta))
        )
        limit = learnt.dtype.type(kappa)
        loss_and_slope(learnt, wanted, level, limit, loss.numpy(), slope.numpy())
        ctx.save_for_backward(slope)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return grad.unsqueeze(1) * slope, None, None


# The inner loop is over quantiles, whose sums do not depend on each other: it becomes vector code.
@cached_njit(nogil=True)
def loss_and_slope(
    theta,  # IN float (k, K)
    target,  # IN float (k, J)
    level,  # IN float (K,)
    kappa,  # IN float
    loss_out,  # OUT float (k,)
    slope_out,  # OUT float (k, K)
):
    """Write the loss of each row, and its slope by the quantiles."""
    rows, count = theta.shape
    half, one = theta.dtype.type(0.5), theta.dtype.type(1.0)
    scale = one / (kappa * theta.dtype.type(target.shape[1]))
    losses, slopes = np.empty_like(level), np.empty_like(level)
    for k in range(rows):
        losses[:], slopes[:] = 0.0, 0.0
        for j in range(target.shape[1]):
            for i in range(count):
                error = target[k, j] - theta[k, i]
                size = abs(error)
                inner = min(size, kappa)
                weight = level[i] if error >= 0.0 else one - level[i]
                losses[i] += weight * inner * (size - half * inner)
                slopes[i] -= weight * (inner if error >= 0.0 else -inner)
        loss_out[k] = losses.sum() * scale
        for i in range(count):
            slope_out[k, i] = slopes[i] * scale
