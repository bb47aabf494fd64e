"""Registries through which lower packages reach higher ones: games, trainers, some functions.

:mod:`training.composition` fills the registries when :mod:`training` is imported. An object is
registered by where it is, and its module is imported when it is asked for, so that no command
starts later for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol


def load_object(where: str) -> Any:
    """Import the object at ``module:name``, or a module by its name alone."""
    module, _, name = where.partition(":")
    imported = import_module(module)
    return getattr(imported, name) if name else imported


class Registry(dict[str, Any]):
    """Objects by name; a text says where one is, as :func:`load_object` takes it."""

    def load(self, name: str) -> Any:
        """Load the object that is registered under a name; KeyError if there is none."""
        what = self[name]
        return load_object(what) if isinstance(what, str) else what


class Command(NamedTuple):
    """A command of ``python -m training``, or a further part of one.

    Parameters
    ----------
    about : str
        What it does, in a line.
    where : str
        Its main function, as :func:`load_object` takes it.
    """

    about: str
    where: str

    def load(self) -> Callable[[list[str]], int]:
        """Import the function that takes the words of the command and returns the exit status."""
        main: Callable[[list[str]], int] = load_object(self.where)
        return main


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


GAMES = Registry()  # by environment id: training.run.games.GameTraining
OPTIONS = Registry()  # by trainer: a subclass of training.run.config.RunConfig
TRAINERS = Registry()  # by trainer: a TrainerModule
SUITES = Registry()  # by name: training.bench.runner.Suite
# By module that cannot be imported: what a trainer needs, and how that is installed.
PACKAGES: dict[str, str] = {}
FUNCTIONS = Registry()  # of higher packages, which lower ones call
# Commands by name, further parts as in "watch replay"; the same of programs over one game.
COMMANDS: dict[str, Command] = {}
PROGRAMS: dict[str, Command] = {}
DEFAULT_ENVS: dict[str, str] = {}  # by command: the environment where none is named


def parts_of(command: str) -> dict[str, Command]:
    """List the further parts of a command, by the word behind it."""
    begin, every = f"{command} ", {**COMMANDS, **PROGRAMS}
    return {
        name.removeprefix(begin): each for name, each in every.items() if name.startswith(begin)
    }


def main_commands(commands: Mapping[str, Command]) -> dict[str, Command]:
    """List commands that are no further part of another, by name."""
    return {name: each for name, each in commands.items() if " " not in name}


def register_trainer(trainer: str, options: Any, module: Any) -> None:
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


def unregister_trainer(trainer: str) -> None:
    """Remove a trainer."""
    OPTIONS.pop(trainer, None)
    TRAINERS.pop(trainer, None)


def load_trainer(trainer: str) -> TrainerModule:
    """Load the module of a trainer; only then what it needs is imported.

    Parameters
    ----------
    trainer : str
        One of :data:`TRAINERS`.

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
