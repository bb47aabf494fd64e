"""Registries through which lower packages reach higher ones: games, trainers, some functions.

:mod:`training.composition` fills the registries when :mod:`training` is imported. Nothing is loaded
before it is asked for, and nothing is imported here, so that no command starts later for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Registry:
    """Things by name, each loaded when it is asked for."""

    def __init__(self) -> None:
        self._loaders: dict[str, Callable[[], Any]] = {}

    def __iter__(self) -> Iterator[str]:
        """Return the names, in the order in which they were registered."""
        return iter(self._loaders)

    def __contains__(self, name: str) -> bool:
        """Tell whether a name is registered."""
        return name in self._loaders

    def register(self, name: str, load: Callable[[], Any]) -> None:
        """Register a name, in place of what it stood for.

        Parameters
        ----------
        name : str
        load : callable
            Imports and returns what the name stands for.
        """
        self._loaders[name] = load

    def unregister(self, name: str) -> None:
        """Forget a name, if it is registered."""
        self._loaders.pop(name, None)

    def load(self, name: str) -> Any:
        """Return the object registered under a name; KeyError if there is none."""
        return self._loaders[name]()


class Command(NamedTuple):
    """A command of ``python -m training``, or a further part of one.

    Parameters
    ----------
    about : str
        What it does, in a line.
    load : callable
        Imports and returns what takes its words and returns the exit status.
    """

    about: str
    load: Callable[[], Callable[[list[str]], int]]


GAMES = Registry()  # by environment id: training.run.games.GameTraining
OPTIONS = Registry()  # by trainer: a subclass of training.run.config.RunConfig
TRAINERS = Registry()  # modules; training.run.trainers says what is in them
BENCHMARKS = Registry()  # by game: training.bench.game.GameBenchmark
# Trainers of a part of a game whose agents play whole games.
WHOLE_GAMES: set[str] = set()
FUNCTIONS = Registry()  # of higher packages, which lower ones call
# Programs over one game: applications by their name, parts as in "evaluate seeds".
PROGRAMS: dict[str, Command] = {}
DEFAULT_ENVS: dict[str, str] = {}  # by command: the environment where none is named


def parts_of(command: str) -> dict[str, Command]:
    """Return the programs that are parts of a command, by the word behind it."""
    begin = f"{command} "
    return {
        name.removeprefix(begin): each for name, each in PROGRAMS.items() if name.startswith(begin)
    }
