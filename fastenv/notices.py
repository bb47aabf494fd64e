"""Lines on stderr for whoever waits: what is being compiled, and what slows a batch."""

from __future__ import annotations

import multiprocessing
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import Any, Protocol

import numpy as np

SLOW_S = 0.5  # seconds that bots take before anybody looks at their share
SLOW_SHARE = 0.1  # of the time that has passed meanwhile, from which on it is told

_reported: set[str] = set()  # what has been reported in this process, such as bots of a game


class Game(Protocol):
    """What is said of a game here; see :class:`fastenv.Game`."""

    @property
    def env_id(self) -> str | None:
        """Its id, if it has one."""

    @property
    def bot_names(self) -> Sequence[str]:
        """Names of its scripted players."""

    def bot(self, name: str) -> Any:
        """Return the parameters of a scripted player."""


def print_notice(text: str) -> None:
    """Print a message on stderr, wrapped to the width of a terminal.

    Processes started by ``multiprocessing`` print nothing: the process that started them does.
    """
    if multiprocessing.parent_process() is not None:
        return
    text = f"fastenv: {text}"
    if sys.stderr.isatty():
        text = fill(text, shutil.get_terminal_size().columns)
    print(text, file=sys.stderr, flush=True)


def note_rollouts(game: Game, seconds: float, decisions: int) -> None:
    """Print what rollouts in plain Python cost where all else is compiled, if they are slow.

    The line is printed once in a process for each game.
    """
    what = f"rollouts of {game.env_id or type(game).__name__}"
    if seconds < SLOW_S or what in _reported:
        return
    _reported.add(what)
    print_notice(
        f"{what} are played in Python alone: {decisions} decisions took {seconds:.1f} s; a "
        "compiled `bot`, and `stop` for a stop condition, make them fast "
        "(docs/reference/game_interface.md)"
    )


def note_fallback(backend: str, reason: str) -> None:
    """Print, once in a process, that the compiled core is missing and another backend was taken.

    Parameters
    ----------
    backend : str
        The one that was taken.
    reason : str
        What is missing, and what to do about it.
    """
    if "core" not in _reported:
        _reported.add("core")
        print_notice(f"backend {backend!r}, many times slower than 'fast': {reason}")


class TimedBots:
    """Scripted players in Python where all else is compiled, and a line that says what they cost.

    The line is printed once in a process for each game, and only when they slow the batch.

    Parameters
    ----------
    game : Game
    bot_actions : callable
        Writes their actions; takes what ``BatchLoop.bot_actions`` takes.
    clock : callable
        Returns seconds.
    """

    def __init__(
        self,
        game: Game,
        bot_actions: Callable[..., None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._game, self._bot_actions, self._clock = game, bot_actions, clock
        self._name = game.env_id or type(game).__name__
        self._begun = self._spent = 0.0
        self._actions = 0

    def __call__(
        self, params: Any, agent: int, obs: Any, mask: Any, select: Any, rng: Any, out: Any
    ) -> None:
        """Write a scripted player's action in the selected lanes."""
        if self._name in _reported:
            self._bot_actions(params, agent, obs, mask, select, rng, out)
            return
        start = self._clock()
        if self._actions and self._spent >= SLOW_S:  # now that the rest of a step is over too
            if self._spent >= SLOW_SHARE * (start - self._begun):
                self._report(params, start - self._begun)
            self._actions, self._spent = 0, 0.0
        if not self._actions:
            self._begun = start
        self._bot_actions(params, agent, obs, mask, select, rng, out)
        self._actions += int(np.count_nonzero(select))
        self._spent += self._clock() - start

    def _report(self, params: Any, wall_s: float) -> None:
        """Print what the bots took of the last seconds."""
        _reported.add(self._name)
        names = [
            f"bot {name!r}"
            for name in self._game.bot_names
            if self._game.bot(name).tobytes() == params.tobytes()
        ]
        print_notice(
            f"the {(*names, 'bot')[0]} of {self._name} is written in Python alone: its actions, "
            f"{1e6 * self._spent / self._actions:.0f} microseconds each, took "
            f"{self._spent / wall_s:.0%} of the last {wall_s:.1f} s; a compiled `bot` makes them "
            "fast (docs/tutorials/new_game_players.md)"
        )
