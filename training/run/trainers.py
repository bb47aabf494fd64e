"""The trainers a run can name: the options of each, and a module with the same functions.

``make_lanes(config)`` returns what a run trains on, and ``make_trainer(config, lanes, folder)`` the
trainer of it, a :class:`training.run.trainer.Trainer`, which may keep files in the run's folder;
``check(config, engine)`` refuses what cannot be trained here;
``identity(run, engine)`` is what a checkpoint must share with a run to be played;
``load_logits(config, engine, parameters)`` is the network as a function, to play with, of
observations and, if it has one, of its state (:class:`training.nets.actor_critic.RecurrentLogits`).
``load_nets``, with the same arguments, is each network by its name, as a module with
``logits(obs)`` or, with a state, ``step(obs, state=...)``, and an engine that shows what it sees.
A trainer of two policies also has ``load_pair(config, logits, parameters)``.
"""

from __future__ import annotations

from typing import Any

from training.run.registry import OPTIONS, PACKAGES, TRAINERS


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
        With the functions above, or its name.
    """
    OPTIONS.register(trainer, options)
    TRAINERS.register(trainer, module)


def unregister(trainer: str) -> None:
    """Remove a trainer."""
    OPTIONS.unregister(trainer)
    TRAINERS.unregister(trainer)


def get_options(trainer: str) -> Any:
    """Return the options of a trainer, a subclass of :class:`training.run.config.RunConfig`."""
    return OPTIONS.load(trainer)


def get_module(trainer: str) -> Any:
    """Load the module of a trainer, which imports the packages that it needs.

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
        return TRAINERS.load(trainer)
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES:
            raise
        needs = f"trainer={trainer!r} needs {PACKAGES[error.name]}"
        raise ImportError(f"{needs}, or choose trainer='native'.") from error
