"""The trainers a run can name: the options of each, and a module with the functions of all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from training.run.registry import OPTIONS, PACKAGES, TRAINERS


class TrainerModule(Protocol):
    """The module of a trainer, entered in :mod:`training.composition`.

    ``config`` is a :class:`training.run.config.RunConfig` of this trainer, ``engine`` shows what
    its network sees, ``parameters`` are what :meth:`training.run.trainer.Trainer.policy` returned.
    A trainer of two policies also has ``load_pair(config, logits, nets)``.
    """

    def make_trainer(self, config: Any, lanes: Any = None, folder: Path | None = None) -> Any:
        """Make the :class:`training.run.trainer.Trainer` of a run, which may keep files there.

        ``lanes`` are those of :func:`training.run.envs.make_lanes`; without them it makes them.
        """

    def check(self, config: Any, engine: Any) -> None:
        """Refuse with ConfigError what cannot be trained here."""

    def load_nets(self, config: Any, engine: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Load each network by its name, with an engine that shows what it sees.

        The first one plays what ``engine`` shows. It is a module with ``logits(obs)`` or, with a
        state of ``state_size`` numbers, ``step(obs, state=...)``.
        """


def names() -> tuple[str, ...]:
    """Return the names of the trainers."""
    return tuple(TRAINERS)


def register(trainer: str, options: Any, module: Any) -> None:
    """Register a trainer.

    Parameters
    ----------
    trainer : str
    options : type or str
        A subclass of :class:`training.run.config.RunConfig`, or where it is (``module:name``).
    module : module or str
        A :class:`TrainerModule`, or its name.
    """
    OPTIONS[trainer] = options
    TRAINERS[trainer] = module


def unregister(trainer: str) -> None:
    """Remove a trainer."""
    OPTIONS.pop(trainer, None)
    TRAINERS.pop(trainer, None)


def get_options(trainer: str) -> Any:
    """Return the options of a trainer, a subclass of :class:`training.run.config.RunConfig`."""
    return OPTIONS.load(trainer)


def get_module(trainer: str) -> TrainerModule:
    """Return the module of a trainer; only then what it needs is imported.

    Parameters
    ----------
    trainer : str
        One of :func:`names`.

    Raises
    ------
    ImportError
        If it needs a package that is not there; says which extra has it.
    """
    try:
        module: TrainerModule = TRAINERS.load(trainer)
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        needs = f"trainer={trainer!r} needs {PACKAGES[error.name]}"
        raise ImportError(f"{needs}, or choose trainer='native'.") from error
    return module
