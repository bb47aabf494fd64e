"""Initial parameters."""

from __future__ import annotations

import math

import torch
from torch import nn

HIDDEN_GAIN = math.sqrt(2.0)
# Of heads that predict returns. A small one would shrink the gradients of the layers before it.
VALUE_GAIN = 1.0


@torch.no_grad()
def orthogonal(net: nn.Module, gain: float = HIDDEN_GAIN) -> None:
    """Make the weights of all linear layers and convolutions orthogonal, their biases 0."""
    for module in net.modules():
        if isinstance(module, (nn.Linear, nn.Conv2d)):
            nn.init.orthogonal_(module.weight, gain)
            if module.bias is not None:
                module.bias.zero_()
