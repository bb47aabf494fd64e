"""Whether torch may take algorithms that give other bits each time."""

from __future__ import annotations

import os

import torch


def be_deterministic(deterministic: bool) -> None:
    """Allow only algorithms that give the same bits every time, on a device too, or all again."""
    if deterministic:
        # Without it every matrix product on CUDA is refused.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        # It would fill every new tensor to show reads of what was never written: we have none.
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
        torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(deterministic)
