"""Linear layers with learnt noise on their weights: Fortunato et al., Noisy Networks, 2018.

The noise of a weight is a product of one number of its input and one of its output, so a row of a
batch can have a noise of its own at the price of a second matrix product::

    y = W x + b + (S (x * e_in)) * e_out + s * e_out
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

SIGMA = 0.5  # deviation of the noise at first, over the root of the inputs


class NoisyLinear(nn.Module):
    """A linear layer, with noise from :meth:`draw` on.

    Parameters
    ----------
    size_in, size_out : int
    """

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__()
        bound = size_in**-0.5
        self.weight = nn.Parameter(torch.empty(size_out, size_in).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(size_out).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((size_out, size_in), SIGMA * bound))
        self.bias_sigma = nn.Parameter(torch.full((size_out,), SIGMA * bound))
        self._noise: tuple[Tensor, Tensor] | None = None

    def draw(self, groups: int, generator: torch.Generator) -> None:
        """Draw a noise for each of so many groups of rows; it stays until the next one."""
        size_out, size_in = self.weight.shape
        drawn = torch.empty(groups, size_in + size_out, device=self.weight.device)
        drawn.normal_(generator=generator)
        drawn = drawn.sign() * drawn.abs().sqrt()
        self._noise = drawn[:, :size_in], drawn[:, size_in:]

    def silence(self) -> None:
        """Switch the noise off."""
        self._noise = None

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs of rows (n, size_in); equal parts of them belong to the groups."""
        y = F.linear(x, self.weight, self.bias)
        if self._noise is None:
            return y
        noise_in, noise_out = self._noise
        if len(noise_in) > 1:
            group = torch.arange(len(x), device=x.device) * len(noise_in) // len(x)
            noise_in, noise_out = noise_in[group], noise_out[group]
        return y + (F.linear(x * noise_in, self.weight_sigma) + self.bias_sigma) * noise_out
