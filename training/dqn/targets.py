"""Quantiles of drawn decisions, and their targets."""

from __future__ import annotations

import torch
from torch import Tensor

from training.dqn.explore import best_legal
from training.dqn.replay import Batch
from training.dqn.sequences import SequenceBatch
from training.nets.q_network import QNetwork


def compute_targets(
    net: QNetwork, target: QNetwork, batch: Batch, double: bool
) -> tuple[Tensor, Tensor, Tensor]:
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
    Tensor of float32, scalar
        A further loss: :meth:`QNetwork.auxiliary`.
    """
    with torch.no_grad():
        of_target = target(batch.next_obs)
        chooser = net.logits(batch.next_obs) if double else of_target.mean(2)
        behind = _select_action(of_target, best_legal(chooser, batch.next_mask))
    latent, _ = net.latent(batch.obs)
    theta = _select_action(net.head(latent), batch.action)
    return theta, _apply_bellman(batch, behind), net.auxiliary(latent, batch.obs)


def compute_sequence_targets(
    net: QNetwork, target: QNetwork, batch: SequenceBatch, double: bool
) -> tuple[Tensor, Tensor, Tensor]:
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
    learnt_latent = latent[here].flatten(0, 1)
    theta = _select_action(net.head(learnt_latent), batch.action)
    further = net.auxiliary(learnt_latent, batch.obs[here].flatten(0, 1))
    return theta, _apply_bellman(batch, behind), further


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
