"""Initial parameters."""

from __future__ import annotations

import math

import torch
from torch import nn

HIDDEN_GAIN = math.sqrt(2.0)
# Of heads that foresee returns. A small one would hold back what the layers before it learn by.
VALUE_GAIN = 1.0


@torch.no_grad()
def orthogonal(net: nn.Module, gain: float = HIDDEN_GAIN) -> None:
    """Make the weights of all linear layers and convolutions orthogonal, their biases 0."""
    for module in net.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            nn.init.orthogonal_(module.weight, gain)
            if module.bias is not None:
                module.bias.zero_()
