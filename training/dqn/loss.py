"""Quantile regression: Dabney et al., Distributional Reinforcement Learning, 2018."""

from __future__ import annotations

import torch
from torch import Tensor


def quantile_huber(theta: Tensor, target: Tensor, kappa: float) -> Tensor:
    """Return the loss of each decision, shape (k,): a sum over quantiles, a mean over the target.

    Quantile ``i`` of ``K`` is at the level ``(2 i + 1) / (2 K)``. A single one is the median, and
    its loss half of the usual Huber loss.

    Parameters
    ----------
    theta : Tensor of float32, shape (k, K)
        Quantiles that are learnt.
    target : Tensor of float32, shape (k, J)
        Values of a sample of the distribution they are to have.
    kappa : float
        Up to which error the loss is quadratic.
    """
    count = theta.shape[1]
    level = (torch.arange(count, dtype=theta.dtype, device=theta.device) + 0.5) / count
    error = target.unsqueeze(1) - theta.unsqueeze(2)
    size = error.detach().abs()
    huber = torch.where(size <= kappa, 0.5 * error * error, kappa * (error.abs() - 0.5 * kappa))
    weight = (level.unsqueeze(1) - (error.detach() < 0).to(theta.dtype)).abs()
    return (weight * huber / kappa).mean(2).sum(1)
