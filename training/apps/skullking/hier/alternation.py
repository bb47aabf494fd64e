"""The policy that trains next, and its number of epochs."""

from __future__ import annotations

from typing import Any

import torch

from training.apps.skullking.hier.options import HierConfig

LOW, HIGH = 8, 30  # epochs
REFERENCE = 10  # rollouts


def next_policy(config: HierConfig, worker_steps: int, manager_steps: int) -> str:
    """Return ``"worker"`` or ``"manager"``: who is behind, after the Worker's warm start.

    Stages follow from it: a rollout of the Manager, then as many of the Worker as keep the ratio.

    Parameters
    ----------
    config : HierConfig
    worker_steps, manager_steps : int
        Decisions so far.
    """
    due = config.warm_start + config.ratio * manager_steps
    return "worker" if worker_steps <= due else "manager"


class AdaptiveEpochs:
    """Epochs that follow the variance of the returns: what is noisier is looked at more often.

    The epochs of an iteration follow from the rollout before it.
    """

    def __init__(self) -> None:
        self._sum, self._count, self._last = 0.0, 0, 0.0

    def add(self, returns: torch.Tensor) -> None:
        """Take in the returns of a rollout."""
        self._last = float(returns.var())
        if self._count < REFERENCE:
            self._sum += self._last
            self._count += 1

    def epochs(self, default: int) -> int:
        """Return the epochs of the next iteration; ``default`` while the reference is not known."""
        if self._count < REFERENCE:
            return default
        reference = self._sum / self._count
        share = min(1.0, self._last / reference) if reference else 1.0
        return min(max(round(10 + 20 * share), LOW), HIGH)

    def state_dict(self) -> dict[str, Any]:
        """Return the sums that decide, as JSON values."""
        return {"sum": self._sum, "count": self._count, "last": self._last}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self._sum, self._count = float(saved["sum"]), int(saved["count"])
        self._last = float(saved["last"])
