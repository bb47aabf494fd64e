"""What is not finite is not saved, and ends a training in one sentence."""

from __future__ import annotations

import math

import torch

from fastenv.errors import FastEnvError


class TrainingError(FastEnvError, RuntimeError):
    """A training cannot go on; the message says why. What was saved before is as it was."""


def check_parameters(net: torch.nn.Module, section: str = "ppo") -> None:
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
