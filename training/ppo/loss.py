"""The loss of a minibatch: clipped objective, value error, entropy, and what is logged of them.

:class:`Objective` has it twice. :meth:`Objective.loss` is the definition, in torch, differentiated
by torch: it runs on devices and under the compiler. :meth:`Objective.gradients` is for a CPU: one
pass over the rows gives the same sums and the gradient by logits and values in closed form, where
the chain of small torch operations would take a tenth of an update.

:class:`Auxiliary` is a further loss beside it, of samples that :func:`split_shuffled` splits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fastenv.numba_cache import cached_njit
from training.nets.actor_critic import ActorCritic
from training.nets.distribution import entropy, log_prob, masked_log_probs
from training.ppo.options import NativeConfig, PPOConfig
from training.ppo.rollout import Rollout, Samples

# What is added up over minibatches, in this order.
TERMS = ("loss", "policy_loss", "value_loss", "entropy", "kl", "clipfrac")
KL = TERMS.index("kl")


# Fields of an objective that each member of an ensemble has of its own.
OF_A_MEMBER = ("clip", "ent_coef")


@dataclass(frozen=True)
class Objective:
    """The weights and the clip range of the loss in an iteration.

    Parameters
    ----------
    clip : float
    ent_coef, vf_coef : float
    huber : bool
    """

    clip: float
    ent_coef: float
    vf_coef: float
    huber: bool = False

    @classmethod
    def of(cls, ppo: PPOConfig, native: NativeConfig, ent_left: float = 1.0) -> Objective:
        """Make the objective of a run, its entropy weight multiplied by ``ent_left``."""
        return cls(
            clip=ppo.clip_range,
            ent_coef=ppo.ent_coef * ent_left,
            vf_coef=ppo.vf_coef,
            huber=native.value_loss == "huber",
        )

    def on_device(self, device: torch.device) -> Objective:
        """Copy the objective with its range and the entropy weight as tensors, for :meth:`loss`.

        A compiler takes numbers as constants and would compile anew where a schedule changes one.
        """
        how: Any = {"dtype": torch.float32, "device": device}
        moved: Any = {name: torch.tensor(getattr(self, name), **how) for name in OF_A_MEMBER}
        return replace(self, **moved)

    def loss(self, logits: Tensor, value: Tensor, samples: Samples) -> tuple[Tensor, Tensor]:
        """Compute the mean loss of the samples, and the means of :data:`TERMS`.

        Parameters
        ----------
        logits : Tensor, shape (k, A)
        value : Tensor, shape (k,)
        samples : Samples
        """
        log_probs = masked_log_probs(logits, samples.mask)
        change = log_prob(log_probs, samples.action) - samples.logp
        ratio = change.exp()
        clipped = ratio.clamp(1.0 - self.clip, 1.0 + self.clip)
        policy_loss = -torch.min(samples.adv * ratio, samples.adv * clipped).mean()
        error = F.huber_loss if self.huber else F.mse_loss
        value_loss = error(value.float(), samples.ret)
        mean_entropy = entropy(log_probs, samples.mask).mean()
        loss = policy_loss - self.ent_coef * mean_entropy + self.vf_coef * value_loss
        with torch.no_grad():
            kl = ((ratio - 1.0) - change).mean()
            outside = ((ratio - 1.0).abs() > self.clip).float().mean()
            terms = torch.stack((loss, policy_loss, value_loss, mean_entropy, kl, outside))
        return loss, terms

    def gradients(
        self, logits: Tensor, value: Tensor, samples: Samples, total: float, sums: np.ndarray
    ) -> tuple[Tensor, Tensor]:
        """Compute the gradients of the loss by logits and values, on a CPU.

        Parameters
        ----------
        logits, value : Tensor of float32, shapes (k, A) and (k,), C-contiguous
        samples : Samples
        total : float
            Samples of the minibatch that these k are a part of: what means are taken over.
        sums : ndarray of float64, shape (len(TERMS),)
            What these samples contribute to the means is added.
        """
        grad_logits, grad_value = torch.empty_like(logits), torch.empty_like(value)
        loss_rows(
            *(x.detach().numpy() for x in (logits, *samples, value)),
            *(self.clip, self.ent_coef, self.vf_coef, self.huber),
            1.0 / total,
            grad_logits.numpy(),
            grad_value.numpy(),
            sums,
        )
        return grad_logits, grad_value


class Auxiliary:
    """Learns from the rollouts of a :class:`~training.ppo.trainer.PPOTrainer` beside it.

    Each of its losses is differentiated next to that of a minibatch of PPO, and one optimizer step
    follows both; gradients are clipped together. This one leaves the learning to PPO: who derives
    from it writes what differs.
    """

    def decide(self, t: int, engine: Any, logits: Tensor) -> Tensor:
        """Observe the states before decision ``t``; return the logits that it is drawn from.

        Parameters
        ----------
        t : int
        engine : BatchEngine
        logits : Tensor, shape (n, A)
            Of the network. Where others are returned, PPO must not learn: see
            :meth:`learnt_by_ppo`.
        """
        return logits

    def learnt_by_ppo(self) -> np.ndarray | None:
        """Return the decisions of the rollout that PPO learns, bool (T, N); None for all.

        It is asked once, before the first decision: :meth:`decide` may write to the array until
        the rollout is complete.
        """
        return None

    def observe(self, t: int, engine: Any) -> None:
        """Observe the outcome of decision ``t`` of the rollout.

        Parameters
        ----------
        t : int
        engine : BatchEngine
            Has just stepped.
        """

    def begin(self, rollout: Rollout, minibatches: int) -> None:
        """Prepare for the update of an iteration.

        Parameters
        ----------
        rollout : Rollout
            Complete, advantages included; overwritten by the next iteration.
        minibatches : int
            Minibatches of a pass over it.
        """

    def further(self, minibatch: int) -> Tensor | None:
        """Return the observations whose logits are all that :meth:`loss` needs of the network.

        The trainer computes their logits in one pass with those of PPO's minibatch, where it can,
        and gives them to :meth:`loss`, which then returns a loss.
        """
        return None

    def loss(self, net: ActorCritic, minibatch: int, logits: Tensor | None = None) -> Tensor | None:
        """Compute the loss beside a minibatch, counted from 0 in each pass; None for none.

        It is called in the precision of the trainer, which also differentiates what it returns.

        Parameters
        ----------
        net : ActorCritic
        minibatch : int
        logits : Tensor, shape (k, A), optional
            Of what :meth:`further` returned for this minibatch.
        """
        return None

    def metrics(self) -> dict[str, float]:
        """Return the metrics of the update for the log."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return the state between two iterations: tensors and plain numbers."""
        return {}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""


def split_shuffled(samples: Tensor, parts: int, generator: torch.Generator) -> Sequence[Tensor]:
    """Split samples into parts, one for each minibatch of a pass, in an order that is drawn.

    Parameters
    ----------
    samples : Tensor, shape (n, ...)
    parts : int
    generator : torch.Generator
        In host memory, so the order is the same on each device.

    Returns
    -------
    sequence of Tensor of int64, each of shape (k,)
        Numbers of samples; some have none where samples are fewer than parts.
    """
    order = torch.randperm(len(samples), generator=generator)
    return order.to(samples.device).tensor_split(parts)


# -- one pass over the rows; the tests hold it to Objective.loss ----------------------------------


@cached_njit(nogil=True)
def loss_rows(
    logits,  # IN float32 (k, A)
    mask,  # IN bool (k, A)
    action,  # IN int64 (k,)
    old_logp,  # IN float32 (k,)
    adv,  # IN float32 (k,)
    ret,  # IN float32 (k,)
    value,  # IN float32 (k,)
    clip,  # from here on scalars, as in Objective
    ent_coef,
    vf_coef,
    huber,
    share,  # weight of a row: one over the samples of the minibatch
    grad_logits_out,  # OUT float32 (k, A)
    grad_value_out,  # OUT float32 (k,)
    sums,  # OUT float64 (6,), added to
):
    """Write the gradients by logits and values, and add up the terms of the loss.

    A row without a legal action is uniform and has no gradient, as in the definition.
    """
    rows, actions = logits.shape
    log_prob = np.empty(actions, np.float64)
    for i in range(rows):
        entropy = _log_softmax(logits[i], mask[i], action[i], log_prob)
        log_ratio = log_prob[action[i]] - old_logp[i]
        ratio = math.exp(log_ratio)
        surrogate = adv[i] * ratio
        clipped_surrogate = adv[i] * min(max(ratio, 1.0 - clip), 1.0 + clip)
        grad_log_prob = -surrogate if surrogate <= clipped_surrogate else 0.0  # of policy_loss
        for j in range(actions):
            slope = 0.0
            if mask[i, j]:
                p = math.exp(log_prob[j])
                chosen = 1.0 if j == action[i] else 0.0
                slope = grad_log_prob * (chosen - p) + ent_coef * p * (log_prob[j] + entropy)
            grad_logits_out[i, j] = slope * share
        error, slope = _error(np.float64(value[i]), np.float64(ret[i]), huber)
        grad_value_out[i] = vf_coef * slope * share

        policy_loss = -min(surrogate, clipped_surrogate)
        sums[0] += (policy_loss - ent_coef * entropy + vf_coef * error) * share
        sums[1] += policy_loss * share
        sums[2] += error * share
        sums[3] += entropy * share
        sums[4] += (ratio - 1.0 - log_ratio) * share
        sums[5] += share if abs(ratio - 1.0) > clip else 0.0


@cached_njit(nogil=True, inline="always")
def _log_softmax(logits, mask, action, log_prob_out):
    """Write the log-probabilities of the legal actions, and return their entropy."""
    actions = len(logits)
    top = -np.inf
    for j in range(actions):
        if mask[j]:
            top = max(top, np.float64(logits[j]))
    total = 0.0
    for j in range(actions):
        if mask[j]:
            log_prob_out[j] = logits[j] - top
            total += math.exp(log_prob_out[j])
    if total == 0.0:  # no legal action: all are equally likely
        log_prob_out[action] = -math.log(np.float64(actions))
        return 0.0
    shift, entropy = math.log(total), 0.0
    for j in range(actions):
        if mask[j]:
            log_prob_out[j] -= shift
            entropy -= math.exp(log_prob_out[j]) * log_prob_out[j]
    return entropy


@cached_njit(nogil=True, inline="always")
def _error(value, ret, huber):
    """Return the error of a value and its slope: squared, or linear beyond 1 (huber)."""
    difference = value - ret
    if not huber:
        return difference * difference, 2.0 * difference
    if abs(difference) <= 1.0:
        return 0.5 * difference * difference, difference
    return abs(difference) - 0.5, math.copysign(1.0, difference)
