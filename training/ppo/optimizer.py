"""The optimizer of PPO, and how what an update adds up is reported."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from training.ppo.loss import TERMS
from training.ppo.options import NativeConfig, PPOConfig


def means_by_epoch(passes: list[tuple[int, Tensor]]) -> dict[str, list[float]]:
    """Return the means of each epoch from minibatches and sums of terms up to its end."""
    ends = torch.stack([sums for _, sums in passes]).tolist()
    means: dict[str, list[float]] = {"kl": [], "clipfrac": []}
    for k, (count, _) in enumerate(passes):
        first, before = (passes[k - 1][0], ends[k - 1]) if k else (0, [0.0] * len(ends[k]))
        for name, values in means.items():
            at = TERMS.index(name)
            values.append((ends[k][at] - before[at]) / (count - first))
    return means


def get_sum_dtype(device: torch.device) -> torch.dtype:
    """Return the type to add up in: float64, or what comes next where there is none."""
    return torch.float32 if device.type == "mps" else torch.float64


def adam(
    parameters: Iterable[Tensor], ppo: PPOConfig, native: NativeConfig, device: torch.device
) -> torch.optim.Adam:
    """Return the optimizer of a run."""
    return torch.optim.Adam(
        parameters,
        lr=ppo.learning_rate,
        eps=native.adam_eps,
        fused=device.type in ("cpu", "cuda"),  # one kernel for all parameters
    )
