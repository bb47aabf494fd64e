"""What of a PPO trainer is saved, so that a run goes on as if it had never ended."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from training.nets.actor_critic import ActorCritic
from training.nets.distribution import Sampler
from training.nets.layout import without_padding
from training.nets.precision import Precision
from training.ppo.auxiliary import Auxiliary
from training.ppo.buffer import Rollout
from training.ppo.minibatch import Minibatches
from training.run.checkpoint import copy_to_host
from training.run.engine import Engine, restore_lanes, rows_of, seating_of


class SavesState:
    """The part of a trainer that saves it and puts it back; the trainer sets the attributes."""

    engine: Engine
    net: ActorCritic
    optimizer: torch.optim.Optimizer
    minibatches: Minibatches
    rollout: Rollout
    device: torch.device
    steps: int
    iteration: int
    updates: int
    _precision: Precision | None
    _sampler: Sampler
    _state: Tensor
    _auxiliary: Auxiliary | None
    _started: bool

    def start(self) -> None:
        """Begin the first episodes, unless they are there."""
        raise NotImplementedError

    @property
    def precision(self) -> Precision:
        """That of the layers."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return, between two iterations, everything that decides how the training goes on.

        Returns
        -------
        dict
            ``model``: nested dicts of tensors and plain numbers. ``counters``: JSON values.
            ``rows``: uint8 (N, S), the engine's lanes. ``arrays``: observations and masks.
        """
        self.start()
        copied = {
            "policy": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.precision.state_dict(),
            "sampler": self._sampler.state_dict(),
            "minibatch": {"generator": self.minibatches.generator.get_state()},
            "state": self._state,
        }
        if self._auxiliary is not None:
            copied["auxiliary"] = self._auxiliary.state_dict()
        return {
            "model": copy_to_host(copied),
            "counters": {
                "steps": self.steps,
                "iteration": self.iteration,
                "updates": self.updates,
                "skipped_steps": self.precision.skipped,
                "precision": self.precision.name,
            },
            "rows": rows_of([self.engine]),
            "arrays": {
                "obs": without_padding(self.rollout.obs[-1], self.engine),
                "mask": self.rollout.mask[-1].cpu().numpy().copy(),
                **seating_of([self.engine]),
            },
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Put back what :meth:`state_dict` returned; the next iteration is the one it was before.

        Raises
        ------
        KeyError, RuntimeError, ValueError, StateError
            Something is missing or of another shape.
        """
        model, counters = saved["model"], saved["counters"]
        self.net.load_state_dict(model["policy"])
        self.optimizer.load_state_dict(model["optimizer"])
        self._precision = Precision(counters["precision"], self.device)
        self.precision.load_state_dict(model["scaler"])
        self.precision.skipped = int(counters["skipped_steps"])
        self._sampler.load_state_dict(model["sampler"])
        self.minibatches.generator.set_state(model["minibatch"]["generator"])
        self._state.copy_(model["state"])
        if self._auxiliary is not None:
            self._auxiliary.load_state_dict(model["auxiliary"])
        restore_lanes([self.engine], saved["rows"], saved["arrays"])
        self.rollout.obs[-1].copy_(torch.from_numpy(saved["arrays"]["obs"]))
        self.rollout.mask[-1].copy_(torch.from_numpy(saved["arrays"]["mask"]))
        self.steps, self.iteration = int(counters["steps"]), int(counters["iteration"])
        self.updates = int(counters["updates"])
        self._started = True
