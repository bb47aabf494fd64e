"""Train a network by gradient descent on losses that somebody else makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler


def descend(
    net: nn.Module,
    optimizer: Optimizer,
    schedule: LRScheduler,
    losses: Iterable[Tensor],
    max_norm: float | None = None,
) -> Iterator[float]:
    """Take a step for each loss; yield the losses.

    Parameters
    ----------
    net : Module
        In training mode meanwhile; afterwards it predicts only.
    optimizer : Optimizer
        Of its parameters.
    schedule : LRScheduler
        Of the learning rate, a step for each loss.
    losses : iterable of Tensor
        Each is made after the step of the one before.
    max_norm : float, optional
        Largest norm of a gradient; default any.
    """
    net.train().requires_grad_(True)
    for loss in losses:
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if max_norm is not None:
            clip_grad_norm_(net.parameters(), max_norm)
        optimizer.step()
        schedule.step()
        yield loss.item()
    net.eval().requires_grad_(False)
