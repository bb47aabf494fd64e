"""Targets of drawn decisions, and the loss of quantile regression.

Dabney et al., Distributional Reinforcement Learning, 2018.

With errors ``u[i, j] = target[j] - theta[i]`` and levels ``tau[i] = (2 i + 1) / (2 K)``::

    loss = sum over i of the mean over j of |tau[i] - (u < 0)| * huber(u) / kappa

In host memory a loop in Numba computes the loss and its slope at once; torch would write and read
every one of the ``K * J`` terms a dozen times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from fastenv.numba_cache import cached_njit
from training.dqn.explore import best_legal
from training.dqn.replay import Batch
from training.dqn.sequences import SequenceBatch
from training.nets.q_network import QNetwork


def compute_targets(
    net: QNetwork, target: QNetwork, batch: Batch, double: bool
) -> tuple[Tensor, Tensor]:
    """Compute quantiles of decisions, and their targets without a gradient.

    Parameters
    ----------
    net, target : QNetwork
        That which learns, and the one that values what follows.
    batch : Batch
        On the device of the networks.
    double : bool
        Whether ``net`` chooses the action that ``target`` values.

    Returns
    -------
    Tensor of float32, shape (k, K)
    Tensor of float32, shape (k, K)
    """
    with torch.no_grad():
        of_target = target(batch.next_obs)
        chooser = net.logits(batch.next_obs) if double else of_target.mean(2)
        behind = _select_action(of_target, best_legal(chooser, batch.next_mask))
    theta = _select_action(net(batch.obs), batch.action)
    return theta, _apply_bellman(batch, behind)


def compute_sequence_targets(
    net: QNetwork, target: QNetwork, batch: SequenceBatch, double: bool
) -> tuple[Tensor, Tensor]:
    """Compute the same of the decisions of sequences that are learnt from, in their order.

    Both networks are unrolled from the stored states, which the parameters of neither have made.
    """
    learnt = len(batch.action) // batch.obs.shape[1]
    latent, states = net.unroll(
        batch.obs, state=batch.state, done=batch.done, burn_in=batch.burn_in
    )
    with torch.no_grad():
        theirs, their_states = target.unroll(batch.obs, state=batch.state, done=batch.done)
        of_target = target.head(_select_next_latents(target, batch, theirs, their_states))
        chooser = of_target.mean(2)
        if double:
            ours = _select_next_latents(net, batch, latent.detach(), states.detach())
            chooser = net.head.means(ours)
        behind = _select_action(of_target, best_legal(chooser, batch.next_mask))
    here = slice(batch.burn_in, batch.burn_in + learnt)
    theta = _select_action(net.head(latent[here].flatten(0, 1)), batch.action)
    return theta, _apply_bellman(batch, behind)


def _select_next_latents(
    net: QNetwork, batch: SequenceBatch, latent: Tensor, states: Tensor
) -> Tensor:
    """Select the latents of the observations that follow the windows, shape (k, F).

    Parameters
    ----------
    net : QNetwork
    batch : SequenceBatch
    latent : Tensor, shape (T, S, F)
    states : Tensor, shape (T, S, size)
        Behind each decision, before it is forgotten.
    """
    latents = latent.flatten(0, 1).index_select(0, batch.following)
    if len(batch.cut):
        state = states.flatten(0, 1).index_select(0, batch.last)
        last, _ = net.latent(batch.final_obs, state=state)
        latents = latents.index_copy(0, batch.cut, last.to(latents.dtype))
    return latents


def _apply_bellman(batch: Batch | SequenceBatch, behind: Tensor) -> Tensor:
    return batch.reward.unsqueeze(1) + batch.discount.unsqueeze(1) * behind


def _select_action(quantiles: Tensor, action: Tensor) -> Tensor:
    """Return the quantiles (k, K), float32, of one action a row, from those of all, (k, A, K)."""
    index = action.view(-1, 1, 1).expand(-1, 1, quantiles.shape[2])
    return quantiles.gather(1, index).squeeze(1).float()


# -- the loss --------------------------------------------------------------------------------------


def quantile_huber(theta: Tensor, target: Tensor, kappa: float) -> Tensor:
    """Compute the loss of each decision, shape (k,).

    A single quantile is the median, and its loss half of the usual Huber loss.

    Parameters
    ----------
    theta : Tensor, shape (k, K)
        Quantiles that are learnt.
    target : Tensor, shape (k, J)
        Values of a sample of the distribution they are to have; no gradient flows into them.
    kappa : float
        Up to which error the loss is quadratic.
    """
    if theta.device.type == "cpu":
        loss: Tensor = _QuantileHuber.apply(theta, target, kappa)
        return loss
    return quantile_huber_torch(theta, target, kappa)


def quantile_huber_torch(theta: Tensor, target: Tensor, kappa: float) -> Tensor:
    """Compute the same on any device."""
    error = target.detach().unsqueeze(1) - theta.unsqueeze(2)
    size = error.abs()
    inner = size.clamp(max=kappa)
    weight = (levels(theta).unsqueeze(1) - (error < 0).to(theta.dtype)).abs()
    return (weight * inner * (size - 0.5 * inner) / kappa).mean(2).sum(1)


def levels(theta: Tensor) -> Tensor:
    """Return the levels of quantiles (k, K), shape (K,)."""
    count = theta.shape[1]
    return (torch.arange(count, dtype=theta.dtype, device=theta.device) + 0.5) / count


class _QuantileHuber(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, theta: Tensor, target: Tensor, kappa: float) -> Tensor:
        loss, slope = theta.new_empty(len(theta)), torch.empty_like(theta)
        learnt, wanted, level = (
            x.detach().contiguous().numpy() for x in (theta, target, levels(theta))
        )
        limit = learnt.dtype.type(kappa)
        loss_and_slope(learnt, wanted, level, limit, loss.numpy(), slope.numpy())
        ctx.save_for_backward(slope)
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return grad.unsqueeze(1) * slope, None, None


# The inner loop is over quantiles, whose sums do not depend on each other: it becomes vector code.
@cached_njit(nogil=True)
def loss_and_slope(
    theta,  # IN float (k, K)
    target,  # IN float (k, J)
    level,  # IN float (K,)
    kappa,  # IN float
    loss_out,  # OUT float (k,)
    slope_out,  # OUT float (k, K)
):
    """Write the loss of each row, and its slope by the quantiles."""
    rows, count = theta.shape
    half, one = theta.dtype.type(0.5), theta.dtype.type(1.0)
    scale = one / (kappa * theta.dtype.type(target.shape[1]))
    losses, slopes = np.empty_like(level), np.empty_like(level)
    for k in range(rows):
        losses[:], slopes[:] = 0.0, 0.0
        for j in range(target.shape[1]):
            for i in range(count):
                error = target[k, j] - theta[k, i]
                size = abs(error)
                inner = min(size, kappa)
                weight = level[i] if error >= 0.0 else one - level[i]
                losses[i] += weight * inner * (size - half * inner)
                slopes[i] -= weight * (inner if error >= 0.0 else -inner)
        loss_out[k] = losses.sum() * scale
        for i in range(count):
            slope_out[k, i] = slopes[i] * scale
