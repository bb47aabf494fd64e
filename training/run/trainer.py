"""The interface of a trainer to its run: it collects, learns, and is saved and resumed.

Each package of a trainer offers, beside its class, the functions of a
:class:`training.run.registry.TrainerModule`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import Module

from fastenv.errors import FastEnvError
from training.run.callback import Log
from training.run.checkpoint import State, copy_to_host
from training.run.engine import Engine, OnStep

# Plain values by name: ``train`` has figures of the update, ``phases`` the seconds of each part of
# the iteration; whatever else there is stands beside them in the metrics.
Metrics = dict[str, Any]


class TrainingError(FastEnvError, RuntimeError):
    """A training cannot go on; the message says why. Earlier checkpoints stay as they were."""


class Trainer:
    """Collects and learns, an iteration at a time; the base of all trainers.

    It handles no signals, logs or files of the run. Between two iterations nothing is under way
    that :meth:`state` does not tell.

    Attributes
    ----------
    engines : sequence of Engine
        What it steps; not reset before the first iteration or :meth:`state`.
    on_step : callable or None
        To be called after every step and every reset of an engine; the run sets it
        (:data:`training.run.engine.OnStep`).
    log : Log
        Where it says what happened; the run sets it.
    steps : int
        Decisions until now, of all lanes and processes.
    updates : int
        Updates of the parameters until now.
    device : object
        Where the network is; ``str`` names it.
    net : object
        The network of the policy, unless :meth:`policy` finds its parameters elsewhere.
    delays_actions : bool
        It takes delayed actions out of the masks itself
        (:func:`training.run.schedules.mask_delayed`); else the run writes them anew.
    """

    engines: Sequence[Engine]
    net: Any
    on_step: OnStep | None = None
    log: Log = Log()  # which nobody reads
    steps: int = 0
    updates: int = 0
    device: Any = "cpu"
    delays_actions: bool = False
    _asked: str = "fp32"
    _precision: Any = None  # training.nets.precision.Precision, once one is chosen

    @property
    def precision(self) -> Any:
        """Precision of matrix products; ``auto`` is resolved once the lanes have begun."""
        if self._precision is None:
            raise RuntimeError("precision=auto chooses at the first iteration")
        return self._precision

    @property
    def chosen_precision(self) -> str:
        """Name of the precision of the layers; ``auto`` until it has chosen."""
        return self._asked if self._precision is None else str(self._precision.name)

    def begin(self) -> None:
        """Prepare a training that begins anew, such as by a warm start."""

    def prepare(self) -> None:
        """Prepare the next iteration, behind what is saved and outside the measured time."""

    def iterate(self) -> Metrics:
        """Collect and learn once.

        Raises
        ------
        TrainingError
            If the training cannot go on.
        """
        raise NotImplementedError

    def reset_lanes(self, shift: int | None = None) -> None:
        """Begin a new episode in every lane, at a boundary.

        Parameters
        ----------
        shift : int, optional
            The lanes are seeded as at the beginning of the training, by so much more; default their
            generators go on.
        """
        raise NotImplementedError

    def state(self) -> State:
        """Return the complete state of the training, at a boundary.

        Raises
        ------
        TrainingError
            If a parameter is not finite: a checkpoint of it would be of no use.
        """
        raise NotImplementedError

    def load_state(self, state: State) -> None:
        """Put back what :meth:`state` returned; the next iteration is the one it was before.

        Raises
        ------
        ValueError, KeyError, RuntimeError, TypeError
            It does not fit.
        """
        raise NotImplementedError

    def policy(self) -> dict[str, Any]:
        """Copy the parameters of the policy to host memory."""
        copied: dict[str, Any] = copy_to_host(self.net.state_dict())
        return copied

    def close(self) -> None:
        """End threads and processes."""


def check_parameters(net: Module, section: str = "ppo") -> None:
    """Refuse a network with a parameter that is not finite: a checkpoint of it would be no use.

    Parameters
    ----------
    net : Module
    section : str
        Where the options of its training are.

    Raises
    ------
    TrainingError
        Names the parameter.
    """
    for name, parameter in net.named_parameters():
        if not bool(torch.isfinite(parameter).all()):
            raise TrainingError(
                f"{name} of the network is not finite, so it is not saved; lower "
                f"{section}.learning_rate, and go on from the last checkpoint."
            )


def check_loss(loss: float, iteration: int, section: str = "ppo") -> None:
    """Refuse a loss that is not finite; TrainingError names the iteration and ``section``."""
    if not math.isfinite(loss):
        raise TrainingError(
            f"the loss became {loss} in iteration {iteration}: nothing of this iteration is saved; "
            f"lower {section}.learning_rate or choose {section}.precision=fp32, and go on from "
            "the last checkpoint."
        )
