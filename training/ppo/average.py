"""Exponential moving average of the learner's parameters, and a KL penalty towards it.

It is the averaged policy of self-play. Policies that answer each other circle around an
equilibrium; their mean comes nearer to it. As the magnet of the learner it also damps the circles:
the learner is pulled to a policy that moves slowly (S. Sokota and others, "A unified approach to
reinforcement learning, quantal response equilibria, and two-player zero-sum games", 2023; there, as
in J. Perolat and others, "Mastering the game of Stratego with model-free multiagent reinforcement
learning", 2022, the magnet follows the policy).
"""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from training.nets.actor_critic import ActorCritic
from training.nets.distribution import masked_log_probs
from training.ppo.loss import Auxiliary, split_shuffled
from training.ppo.rollout import Rollout
from training.run import checkpoint

EARLY = 4  # at first the mean is over as large a part, one in 4, of the decisions until now


class AveragedPolicy(Auxiliary):
    """An exponential moving average of the learner's parameters, and a KL penalty towards it.

    Parameters
    ----------
    net : ActorCritic
        The learner.
    decisions : int
        After as many, a policy has a weight of 1/e of the newest; at first after fewer.
    magnet : float
        Weight of the mean divergence KL(learner, average) over a rollout; 0 for none.
    seed : int
        Of the orders in which decisions come.

    Attributes
    ----------
    net : ActorCritic
        The average.
    """

    def __init__(self, net: ActorCritic, decisions: int, magnet: float, seed: int) -> None:
        self._learner, self._decisions, self._magnet = net, decisions, magnet
        self.net = deepcopy(net).requires_grad_(False)
        self._done = 0  # decisions until now
        self._generator = torch.Generator().manual_seed(seed)
        self._sum, self._count = 0.0, 0

    @torch.no_grad()
    def begin(self, rollout: Rollout, minibatches: int) -> None:
        """Move the average towards the policy that has collected a rollout."""
        size, moved = rollout.steps * rollout.lanes, 1.0
        if self._done:
            moved = -math.expm1(-size / min(self._decisions, self._done / EARLY))
        self._done += size
        for mean, new in zip(self.net.parameters(), self._learner.parameters(), strict=True):
            mean.lerp_(new, moved)
        # What is no parameter, such as the scale of observations, is a mean of its own.
        for own, theirs in zip(self.net.buffers(), self._learner.buffers(), strict=True):
            own.copy_(theirs)
        self._sum, self._count = 0.0, 0
        self._minibatches = minibatches
        if self._magnet:
            self._obs, self._mask = (x[:-1].flatten(0, 1) for x in (rollout.obs, rollout.mask))
            logits = torch.cat([self.net(part)[0] for part in self._obs.split(8192)])
            self._target = masked_log_probs(logits, self._mask)

    def loss(self, net: ActorCritic, minibatch: int, logits: Tensor | None = None) -> Tensor | None:
        """Compute the weighted divergence of a part of the rollout; None without a magnet."""
        if not self._magnet:
            return None
        if minibatch == 0:
            self._parts = split_shuffled(self._obs, self._minibatches, self._generator)
        index = self._parts[minibatch]
        log_probs = masked_log_probs(net(self._obs[index])[0], self._mask[index])
        apart = (log_probs - self._target[index]).masked_fill(~self._mask[index], 0.0)
        divergence = (log_probs.exp() * apart).sum(-1).mean()
        self._sum += float(divergence.detach())
        self._count += 1
        return self._magnet * divergence

    def metrics(self) -> dict[str, float]:
        """Return the mean divergence of the update."""
        return {"magnet_kl": self._sum / self._count} if self._count else {}

    def state_dict(self) -> dict[str, Any]:
        """Return the parameters, what they are the mean of, and the generator."""
        return {
            checkpoint.AVERAGE: self.net.state_dict(),
            "done": self._done,
            "generator": self._generator.get_state(),
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self.net.load_state_dict(saved[checkpoint.AVERAGE])
        self._done = int(saved["done"])
        self._generator.set_state(saved["generator"].cpu())
