"""The loss of a minibatch: clipped objective, value error, entropy, and what is logged of them.

:class:`Objective` has it twice. :meth:`Objective.loss` is the definition, in torch, differentiated
by torch: it runs on devices and under the compiler. :meth:`Objective.gradients` is for a CPU: one
pass over the rows gives the same sums and the gradient by logits and values in closed form, where
the chain of small torch operations would take a tenth of an update.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from training.nets.distribution import entropy, log_prob, masked_log_probs
from training.ppo.loss_kernel import loss_rows
from training.ppo.options import NativeConfig, PPOConfig
from training.run.ranks import SINGLE_RANK, Ranks

# What is added up over minibatches, in this order.
TERMS = ("loss", "policy_loss", "value_loss", "entropy", "kl", "clipfrac")
KL = TERMS.index("kl")


class Samples(NamedTuple):
    """Inputs of the loss of k samples beside logits and values; float32 unless it says otherwise.

    ``mask`` is bool (k, A), ``action`` int64 (k,), ``logp`` and ``value`` are those of the rollout,
    and ``adv`` is already normalised.
    """

    mask: Tensor
    action: Tensor
    logp: Tensor
    adv: Tensor
    ret: Tensor
    value: Tensor


# Fields of an objective that each member of an ensemble has of its own.
OF_A_MEMBER = ("clip", "ent_coef", "clip_vf")


@dataclass(frozen=True)
class Objective:
    """The weights and clip ranges of the loss in an iteration.

    Parameters
    ----------
    clip : float
    clip_vf : float or None
    ent_coef, vf_coef : float
    huber : bool
    """

    clip: float
    clip_vf: float | None
    ent_coef: float
    vf_coef: float
    huber: bool = False

    @classmethod
    def of(cls, ppo: PPOConfig, native: NativeConfig, ent_left: float = 1.0) -> Objective:
        """Make the objective of a run, its entropy weight multiplied by ``ent_left``."""
        return cls(
            clip=ppo.clip_range,
            clip_vf=native.clip_range_vf,
            ent_coef=ppo.ent_coef * ent_left,
            vf_coef=ppo.vf_coef,
            huber=native.value_loss == "huber",
        )

    def on_device(self, device: torch.device) -> Objective:
        """Copy the objective with its ranges and the entropy weight as tensors, for :meth:`loss`.

        A compiler takes numbers as constants and would compile anew where a schedule changes one.
        """

        def moved(x: Any) -> Any:
            return None if x is None else torch.tensor(x, dtype=torch.float32, device=device)

        tensors = {name: moved(getattr(self, name)) for name in ("clip", "clip_vf", "ent_coef")}
        return replace(self, **tensors)

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
        value_loss = self._compute_value_loss(value.float(), samples.ret, samples.value)
        mean_entropy = entropy(log_probs, samples.mask).mean()
        loss = policy_loss - self.ent_coef * mean_entropy + self.vf_coef * value_loss
        with torch.no_grad():
            kl = ((ratio - 1.0) - change).mean()
            outside = ((ratio - 1.0).abs() > self.clip).float().mean()
            terms = torch.stack((loss, policy_loss, value_loss, mean_entropy, kl, outside))
        return loss, terms

    def _compute_value_loss(self, value: Tensor, ret: Tensor, old: Tensor) -> Tensor:
        error = F.huber_loss if self.huber else F.mse_loss
        if self.clip_vf is None:
            return error(value, ret)
        moved = old + (value - old).clamp(-self.clip_vf, self.clip_vf)
        return error(moved, ret)

    def gradients(
        self, logits: Tensor, value: Tensor, samples: Samples, total: int, sums: np.ndarray
    ) -> tuple[Tensor, Tensor]:
        """Compute the gradients of the loss by logits and values, on a CPU.

        Parameters
        ----------
        logits, value : Tensor of float32, shapes (k, A) and (k,), C-contiguous
        samples : Samples
        total : int
            Samples of the minibatch that these k are a part of: what means are taken over.
        sums : ndarray of float64, shape (len(TERMS),)
            What these samples contribute to the means is added.
        """
        grad_logits, grad_value = torch.empty_like(logits), torch.empty_like(value)
        loss_rows(
            *(x.detach().numpy() for x in (logits, *samples, value)),
            *self._get_scalars(),
            1.0 / total,
            grad_logits.numpy(),
            grad_value.numpy(),
            sums,
        )
        return grad_logits, grad_value

    def _get_scalars(self) -> tuple[Any, ...]:
        clip_vf = -1.0 if self.clip_vf is None else self.clip_vf
        return self.clip, clip_vf, self.ent_coef, self.vf_coef, self.huber


def explained_variance(value: Tensor, ret: Tensor) -> Tensor:
    """Return the share of the variance of the returns that the values explain; a scalar tensor."""
    return 1.0 - (ret - value).var() / ret.var()


def normalise(adv: Tensor, ranks: Ranks = SINGLE_RANK) -> Tensor:
    """Normalise advantages to mean 0 and deviation 1, over those of all ranks."""
    if ranks.size == 1:
        return (adv - adv.mean()) / (adv.std() + 1e-8)
    wide, count = adv.double(), adv.numel() * ranks.size
    total, squares = ranks.sum(torch.stack((wide.sum(), wide.square().sum())))
    variance = (squares - total.square() / count).clamp(min=0.0) / (count - 1)
    return ((wide - total / count) / (variance.sqrt() + 1e-8)).to(adv.dtype)
