"""Masked categorical distribution, as in sb3-contrib, without its checks and copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fastenv.numba_cache import cached_njit

# The logit of an illegal action: sb3-contrib's constant. Only in float32: in half precision
# it would be minus infinity, and 0 * -inf poisons the entropy.
ILLEGAL = -1e8


def masked_log_probs(logits: Tensor, mask: Tensor) -> Tensor:
    """Return log-probabilities in float32, shape (n, A); those of illegal actions are about -1e8.

    Parameters
    ----------
    logits : Tensor of any float, shape (n, A)
    mask : Tensor of bool, shape (n, A)
        Legal actions. A row without any becomes uniform over all actions, as in sb3-contrib.
    """
    return F.log_softmax(torch.where(mask, logits.float(), ILLEGAL), -1)


def entropy(log_probs: Tensor, mask: Tensor) -> Tensor:
    """Return the entropy over the legal actions, shape (n,)."""
    return -(log_probs.exp() * log_probs).masked_fill(~mask, 0.0).sum(-1)


def log_prob(log_probs: Tensor, actions: Tensor) -> Tensor:
    """Return the log-probability of one action a row, shape (n,)."""
    return log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)


def mode(log_probs: Tensor) -> Tensor:
    """Return the most probable action of each row, shape (n,)."""
    return log_probs.argmax(-1)


class Sampler:
    """Draws actions from its own generator, which nothing else in the process advances.

    Parameters
    ----------
    seed : int
    device : torch.device
        Where log-probabilities are, and the generator.
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self.generator = torch.Generator(device)
        self.generator.manual_seed(seed)
        self._on_host = device.type == "cpu"

    def draw(self, logits: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Draw one legal action a row, int64, and its log-probability, float32, shapes (n,).

        Parameters
        ----------
        logits : Tensor of any float, shape (n, A)
        mask : Tensor of bool, shape (n, A)
        """
        if self._on_host and logits.dtype == torch.bfloat16:
            point = torch.rand(len(logits), generator=self.generator)
            action, logp = torch.empty_like(point, dtype=torch.int64), torch.empty_like(point)
            draw_rows(*(x.numpy() for x in (logits.float(), mask, point, action, logp)))
            return action, logp
        log_probs = masked_log_probs(logits, mask)
        action = self(log_probs, mask)
        return action, log_prob(log_probs, action)

    def __call__(self, log_probs: Tensor, mask: Tensor) -> Tensor:
        """Draw one legal action a row, int64, shape (n,)."""
        probs = log_probs.exp()
        if not self._on_host:
            noise = torch.empty_like(probs).exponential_(generator=self.generator)
            return torch.where(mask, probs / noise, -1.0).argmax(-1)
        # Inverse of the cumulative distribution: one number a row instead of one an action, which
        # is fifteen times faster than torch.multinomial on a CPU.
        cdf = probs.cumsum(-1)
        point = torch.rand(len(cdf), 1, generator=self.generator).mul_(cdf[:, -1:])
        actions = torch.searchsorted(cdf, point, right=True).clamp_(max=cdf.shape[1] - 1)
        # Rounding at the upper end can point behind the last legal action.
        legal = mask.gather(1, actions)
        if not legal.all():
            actions = torch.where(legal, actions, mode(log_probs).unsqueeze(1))
        return actions.squeeze(1)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the generator."""
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self.generator.set_state(saved["generator"])


# -- one pass over the rows; the tests hold it to the definition ---------------------------------


@cached_njit(nogil=True)
def draw_rows(
    logits,  # IN float32 (n, A)
    mask,  # IN bool (n, A)
    point,  # IN float32 (n,), uniform in [0, 1)
    action_out,  # OUT int64 (n,)
    logp_out,  # OUT float32 (n,)
):
    """Write the action of each row at ``point`` of its cumulative distribution.

    A row without a legal action is uniform, and its action 0.

    The definition is ``Sampler.__call__`` on :func:`masked_log_probs`, which goes over all actions
    a dozen times where most are illegal. This is used where logits are bfloat16: for float32 runs
    the bits of the definition count.
    """
    rows, actions = logits.shape
    weight = np.empty(actions, np.float64)
    for i in range(rows):
        top = -np.inf
        for j in range(actions):
            if mask[i, j]:
                top = max(top, np.float64(logits[i, j]))
        total, chosen = 0.0, 0
        for j in range(actions):
            if mask[i, j]:
                weight[j] = math.exp(logits[i, j] - top)
                total += weight[j]
        left = point[i] * total
        for j in range(actions):
            if mask[i, j]:
                chosen = j
                left -= weight[j]
                if left < 0.0:
                    break
        action_out[i] = chosen
        logp_out[i] = -math.log(actions)
        if total > 0.0:
            logp_out[i] = logits[i, chosen] - top - math.log(total)
