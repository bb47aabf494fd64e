"""Intrinsic rewards with a value, a discount and advantages of their own.

What trackers pay for what is new is not added to the game's rewards then. Both have a head of the
network that foresees them, and advantages::

    A = A_game + coef * A_intrinsic

Their returns may go on over the ends of episodes: what has been seen once is no longer new in the
next one, so an agent should not mind that an episode ends. Burda et al., Exploration by Random
Network Distillation, 2019.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from training.ppo.gae import write_advantages
from training.ppo.loss import explained_variance
from training.ppo.options import NativeConfig
from training.run.engine import Engine, discounts


class IntrinsicRollout:
    """What T decisions of N lanes have of it; the rest is in :class:`training.ppo.buffer.Rollout`.

    Parameters
    ----------
    steps, lanes : int
        T and N.
    native : NativeConfig
    device : torch.device
    varying_tau : bool
        Decisions may take several primitive steps.

    Attributes
    ----------
    intrinsic_rewards : ndarray of float32, shape (N,)
        Bonuses of the step just made; trackers write them before the step is stored.
    reward, bootstrap, adv, ret : Tensor of float32, shape (T, N)
    value : Tensor of float32, shape (T + 1, N)
    """

    def __init__(
        self, steps: int, lanes: int, native: NativeConfig, device: torch.device, varying_tau: bool
    ) -> None:
        assert native.intrinsic_coef is not None
        self._coef, self._gamma = native.intrinsic_coef, native.intrinsic_gamma
        self.episodic = native.intrinsic_episodic
        self.intrinsic_rewards = np.zeros(lanes, np.float32)
        # In host memory: they come from there, and are needed when the rollout is complete.
        self._rewards = torch.zeros(steps, lanes)
        self._discounts = torch.zeros(steps, lanes) if varying_tau else None
        self.reward, self.bootstrap, self.adv, self.ret = (
            torch.zeros(steps, lanes, device=device) for _ in range(4)
        )
        self.value = torch.zeros(steps + 1, lanes, device=device)

    def store(self, t: int, here: slice, engine: Engine) -> None:
        """Take over what was paid for decision t in the lanes of an engine."""
        self._rewards[t, here] = torch.from_numpy(self.intrinsic_rewards[here])
        if self._discounts is not None:
            self._discounts[t, here] = torch.from_numpy(discounts(engine, self._gamma))

    def add_advantages(self, done: Tensor, lam: float, adv: Tensor) -> None:
        """Write advantages and returns, and add the former, weighed, to those of the game.

        Parameters
        ----------
        done : Tensor of bool, shape (T, N)
            Decisions that ended an episode.
        lam : float
        adv : Tensor of float32, shape (T, N)
        """
        self.reward.copy_(self._rewards)
        gamma = self._gamma if self._discounts is None else self._discounts.to(adv.device)
        ends = done if self.episodic else torch.zeros_like(done)
        write_advantages(
            self.reward, self.value, ends, self.bootstrap, gamma, lam, self.adv, self.ret
        )
        adv.add_(self.adv, alpha=self._coef)

    def metrics(self) -> dict[str, float]:
        """Return what a decision was paid on average, and how well it was foreseen."""
        seen = explained_variance(self.value[:-1], self.ret)
        return {
            "intrinsic_reward": float(self.reward.mean()),
            "intrinsic_explained_variance": float(seen),
        }

    def tensors(self) -> list[Tensor]:
        """Return all tensors on the device."""
        return [self.reward, self.bootstrap, self.adv, self.ret, self.value]
