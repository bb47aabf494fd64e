"""Which decisions of a rollout PPO learns: all, or those that a further loss leaves to it."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from training.ppo.buffer import Rollout
from training.ppo.gae import write_advantages, write_some
from training.ppo.loss import explained_variance


class Learnt:
    """Advantages of the decisions that are learnt, and what is made of them.

    Parameters
    ----------
    rollout : Rollout

    Attributes
    ----------
    numbers : Tensor of int64, or None
        Of the flattened rollout; None for all.
    """

    def __init__(self, rollout: Rollout) -> None:
        self._rollout = rollout
        self.numbers: Tensor | None = None

    def write_advantages(self, gamma: float, lam: float, rest: np.ndarray | None) -> None:
        """Write advantages and returns into the rollout.

        Parameters
        ----------
        gamma : float
            Discount of a decision, where they have none each, or from one that is learnt to the
            next.
        lam : float
        rest : ndarray of bool, shape (T, N), or None
            The decisions that are learnt; None for all.
        """
        r = self._rollout
        inputs = (r.reward, r.value, r.done, r.bootstrap)
        if rest is None:
            self.numbers = None
            discount = gamma if r.gamma is None else r.gamma
            write_advantages(*inputs, discount, lam, r.adv, r.ret)
        else:
            learnt = write_some(*inputs, gamma, lam, rest, r.adv, r.ret)
            self.numbers = learnt.flatten().nonzero().squeeze(1)

    def explained(self) -> dict[str, float]:
        """Return how well values foresaw the returns that are learnt; nothing of fewer than two."""
        value, ret = self._rollout.value[:-1], self._rollout.ret
        if self.numbers is not None:
            value, ret = (x.flatten()[self.numbers] for x in (value, ret))
        if value.numel() < 2:
            return {}
        return {"explained_variance": float(explained_variance(value, ret))}
