"""What the learners of our own trainers have in common (:class:`training.run.session.Learner`)."""

from __future__ import annotations

from typing import Any, Protocol, TypedDict

import torch

from training.run import checkpoint, sizes
from training.run.config import RunConfig
from training.run.engine import Engine
from training.run.step_hook import StepHook


class SharedArguments(TypedDict):
    """Arguments that all trainers of ours share."""

    total_steps: int
    device: str
    deterministic: bool


def get_shared_arguments(config: RunConfig) -> SharedArguments:
    """Return those arguments as the config asks."""
    return {
        "total_steps": config.total_steps,
        "device": config.device,
        "deterministic": config.deterministic,
    }


class Trainer(Protocol):
    """A trainer of ours, to those who tell of it."""

    updates: int
    device: torch.device

    @property
    def net(self) -> torch.nn.Module:
        """What is trained."""

    @property
    def chosen_precision(self) -> str:
        """Name of the precision; ``auto`` until it has chosen."""

    def reset_lanes(self) -> None:
        """Begin a new episode in every lane."""


class TrainerLearner:
    """Tells a run of its trainer; a subclass sets the attributes and does the rest.

    Parameters
    ----------
    config : RunConfig

    Attributes
    ----------
    engines : list of Engine
    trainer : Trainer
    """

    engines: list[Engine]
    trainer: Trainer

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._step_hook = StepHook(config.mask_schedule)

    @property
    def device(self) -> str:
        """Where the network is."""
        return str(self.trainer.device)

    @property
    def precision(self) -> str:
        """Of the layers; ``auto`` until it has chosen."""
        return self.trainer.chosen_precision

    @property
    def updates(self) -> int:
        """Optimizer steps until now."""
        return self.trainer.updates

    def sizes(self) -> str:
        """Return one line on what the options amount to."""
        engine = self.engines[0]
        return self._config.sizes(engine.obs[0].nbytes, engine.num_actions)

    def facts(self) -> dict[str, Any]:
        """Return what the summary says of network and lanes."""
        return sizes.facts(self._config, self.device)

    def policy(self) -> dict[str, Any]:
        """Return a copy of the parameters of the network, in host memory."""
        return checkpoint.copy_to_host(self.trainer.net.state_dict())

    def reset_lanes(self) -> None:
        """Begin a new episode in every lane, at a boundary."""
        self.trainer.reset_lanes()
