"""Threads of torch, and whether it may use algorithms that give other bits each time."""

from __future__ import annotations

import os

import torch

from training.run.config import RunConfig


def be_deterministic(deterministic: bool) -> None:
    """Allow only algorithms that give the same bits every time, on a device too, or all again."""
    if deterministic:
        # Without it every matrix product on CUDA is refused.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        # It would fill every new tensor to show reads of what was never written: we have none.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(deterministic)


def set_up_torch(config: RunConfig) -> None:
    """Set the threads and the algorithms of torch for a run."""
    torch.set_num_threads(config.network_threads)
    be_deterministic(config.deterministic)
