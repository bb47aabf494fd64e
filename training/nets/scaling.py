"""Running scales of numbers: their mean and deviation so far, as VecNormalize of SB3 keeps them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

LIMIT = 10.0  # scaled numbers are cut off there
SMALLEST = 1e-8  # variance


class RunningScale(nn.Module):
    """Scales numbers by the mean and the deviation of those that it has seen.

    Parameters
    ----------
    size : int
        Numbers of a row, each with a scale of its own.
    """

    mean: Tensor
    var: Tensor
    count: Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("var", torch.ones(size))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        """Scale rows (n, size) to mean 0 and deviation 1, cut off at 10."""
        scaled = (x - self.mean) * torch.rsqrt(self.var + SMALLEST)
        return scaled.clamp(-LIMIT, LIMIT)

    @torch.no_grad()
    def update(self, x: Tensor, sum_over_ranks: Callable[[Tensor], Tensor] | None = None) -> None:
        """Take more rows (n, size) into account.

        Parameters
        ----------
        x : Tensor
        sum_over_ranks : callable, optional
            Adds a tensor up over the processes that train together.
        """
        rows = x.double()
        sums = torch.stack([torch.full_like(rows[0], len(rows)), rows.sum(0), (rows**2).sum(0)])
        if sum_over_ranks is not None:
            sums = sum_over_ranks(sums)
        count, total, squares = sums
        mean = total / count
        var = squares / count - mean**2
        before, both = self.count, self.count + count[0]
        shift = mean - self.mean.double()
        # Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
        # variances", 1979.
        spread = self.var.double() * before + var * count + shift**2 * before * count / both
        self.mean.copy_(self.mean.double() + shift * count / both)
        self.var.copy_((spread / both).clamp_min(0.0))
        self.count.copy_(both)
