"""An auxiliary loss that is learnt beside that of PPO, as the trainer calls it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from torch import Tensor

from training.nets.actor_critic import ActorCritic
from training.ppo.rollout import Rollout


class Auxiliary(Protocol):
    """Learns from the rollouts of a :class:`~training.ppo.trainer.PPOTrainer` beside it.

    Each of its losses is differentiated next to that of a minibatch of PPO, and one optimizer step
    follows both; gradients are clipped together.
    """

    def decide(self, t: int, engine: Any, logits: Tensor) -> Tensor:
        """Observe the states before decision ``t``; return the logits that it is drawn from.

        Parameters
        ----------
        t : int
        engine : BatchEngine
        logits : Tensor, shape (n, A)
            Of the network. Where others are returned, PPO must not learn: see :meth:`rest`.
        """
        ...

    def rest(self) -> np.ndarray | None:
        """Select the decisions of the rollout that PPO learns, bool (T, N); None for all."""
        ...

    def observe(self, t: int, engine: Any) -> None:
        """Observe the outcome of decision ``t`` of the rollout.

        Parameters
        ----------
        t : int
        engine : BatchEngine
            Has just stepped.
        """
        ...

    def begin(self, rollout: Rollout, minibatches: int) -> None:
        """Prepare for the update of an iteration.

        Parameters
        ----------
        rollout : Rollout
            Complete, advantages included; overwritten by the next iteration.
        minibatches : int
            Minibatches of a pass over it.
        """
        ...

    def loss(self, net: ActorCritic, minibatch: int) -> Tensor | None:
        """Compute the loss beside a minibatch, counted from 0 over all passes; None for none.

        It is called in the precision of the trainer, which also differentiates what it returns.
        """
        ...

    def metrics(self) -> dict[str, float]:
        """Return the metrics of the update for the log."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return the state between two iterations: tensors and plain numbers."""
        ...

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        ...
