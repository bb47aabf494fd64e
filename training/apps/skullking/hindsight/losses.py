"""The losses of the modes, each a mean over samples, before its weight."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from training.apps.skullking.hindsight.samples import ManagerSamples, WorkerSamples
from training.nets.actor_critic import ActorCritic
from training.nets.distribution import log_prob, masked_log_probs


def value_loss(net: ActorCritic, samples: WorkerSamples) -> Tensor:
    """Return the squared error of the values under the achieved goal."""
    state = net.initial_state(len(samples.obs))
    return F.mse_loss(net.value(samples.obs, state=state).float(), samples.ret)


def imitation_loss(net: ActorCritic, samples: WorkerSamples) -> Tensor:
    """Imitate decisions that turned out better than the value of the achieved goal (``sil``)."""
    log_prob, advantage = _log_prob_and_advantage(net, samples)
    return -(advantage.clamp(min=0.0) * log_prob).mean()


def importance_loss(net: ActorCritic, samples: WorkerSamples) -> Tensor:
    """Follow the policy gradient under the achieved goal, weighted by the ratio to the rollout.

    The weight, probability under the achieved goal now over probability under the goal of the time
    then, is truncated at 1 and is not differentiated.
    """
    log_prob, advantage = _log_prob_and_advantage(net, samples)
    weight = (log_prob.detach() - samples.logp).exp().clamp(max=1.0)
    return -(weight * advantage * log_prob).mean()


def _log_prob_and_advantage(net: ActorCritic, samples: WorkerSamples) -> tuple[Tensor, Tensor]:
    """Return log-probabilities, and returns less values, through which no gradient flows."""
    logits, value = net(samples.obs)
    log_probs = masked_log_probs(logits, samples.mask)
    return log_prob(log_probs, samples.action), samples.ret - value.detach().float()


def tricks_loss(net: ActorCritic, samples: ManagerSamples) -> Tensor:
    """Return the cross-entropy of the tricks won, given the bid that was taken."""
    log_probs = tricks_log_probs(net, samples.obs, samples.cards)
    rows = torch.arange(len(samples.bid), device=samples.bid.device)
    return -log_probs[rows, samples.bid, samples.won].mean()


def tricks_log_probs(net: ActorCritic, obs: Tensor, cards: Tensor) -> Tensor:
    """Return log-probabilities of the tricks won given each bid, shape (k, bids, tricks).

    Parameters
    ----------
    net : ActorCritic
        With the head of mode ``tricks``.
    obs : Tensor, shape (k, D)
    cards : Tensor of int64, shape (k,)
        Cards dealt: more tricks than that have no probability.
    """
    bids = net.num_actions
    logits = net.auxiliary(obs).view(-1, bids, bids)
    possible = torch.arange(bids, device=cards.device) <= cards[:, None, None]
    return masked_log_probs(logits, possible)


def bid_loss(net: ActorCritic, samples: ManagerSamples) -> Tensor:
    """Return the mean squared error of what other bids would have been worth."""
    worth = net.auxiliary(samples.obs).float().gather(1, samples.others)
    error = (worth - samples.rewards).square() * samples.there
    return error.sum() / samples.there.sum()
