"""The other policy, as it is now: it plays and does not learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from training.nets.distribution import Sampler, masked_log_probs, mode
from training.ppo.trainer import PPOTrainer


class Partner:
    """The policy of a trainer as a player in the other's environment.

    It shares the parameters of the trainer, which stands still meanwhile.

    Parameters
    ----------
    trainer : PPOTrainer
        Of a network without a state.
    seed : int
        Of its generator; the trainer's own is left alone.
    best : bool
        Play the most probable action instead of drawing one.
    """

    def __init__(self, trainer: PPOTrainer, seed: int, *, best: bool = False) -> None:
        self._trainer, self._best = trainer, best
        self._sampler = Sampler(seed, trainer.device)

    @property
    def version(self) -> int:
        """Iterations that its parameters have learnt from."""
        return self._trainer.iteration

    def act(self, obs: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return one legal action a row, int64, shape (k,).

        Parameters
        ----------
        obs : ndarray, shape (k, ...)
        mask : ndarray of uint8, shape (k, A)
        """
        trainer = self._trainer
        with torch.inference_mode(), trainer.precision.autocast:
            logits = trainer.net.logits(torch.from_numpy(obs).to(trainer.device))
            legal = torch.from_numpy(mask).to(trainer.device) != 0
            log_probs = masked_log_probs(logits, legal)
            actions = mode(log_probs) if self._best else self._sampler(log_probs, legal)
            return actions.cpu().numpy()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the generator."""
        return self._sampler.state_dict()

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned."""
        self._sampler.load_state_dict(saved)
