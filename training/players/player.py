"""The interface of players: bots, networks, searchers, persons, snapshots, mixtures.

A player belongs to one engine: its number of lanes and its game. It is asked in turn for the
lanes in which the decision is its own; the loop finds these lanes
(:mod:`training.evaluation.loop`, :mod:`training.selfplay.seated`), and it alone steps the
engine. A player owns its generators, one a lane, so that its draws do not depend on who else plays,
in which order or batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt


class Player(Protocol):
    """Plays one seat in each lane of an engine; which one may differ from lane to lane."""

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Reset lanes in which games begin.

        Parameters
        ----------
        engine : BatchEngine
            That the player was made for, or one that stands in for it.
        lanes : ndarray of int, shape (k,)
        seeds : ndarray of int64, shape (k,), optional
            Seeds of its draws in each lane from now on; None continues.
        """

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return its actions in lanes, int32 (k,).

        Parameters
        ----------
        engine : BatchEngine
            See :meth:`begin`; its observations, masks and rows are up to date, or
            ``refresh`` makes them so.
        lanes : ndarray of int, shape (k,)
            In which its decision is due.
        """


# Makes a player for an engine.
MakePlayer = Callable[[Any], Player]


@dataclass
class Cost:
    """The cost of the decisions of a player.

    Attributes
    ----------
    decisions : int
    cpu_s : float
        CPU seconds of all threads.
    searched : int
        Decisions in which it searched.
    """

    decisions: int = 0
    cpu_s: float = 0.0
    searched: int = 0

    @property
    def cpu_ms(self) -> float:
        """Milliseconds of CPU time a decision; 0 of none."""
        return 1000 * self.cpu_s / max(self.decisions, 1)

    def add(self, other: Cost) -> None:
        """Add the cost of further decisions."""
        self.decisions += other.decisions
        self.cpu_s += other.cpu_s
        self.searched += other.searched


@dataclass(frozen=True)
class Thought:
    """The results of a search for one decision.

    Attributes
    ----------
    actions : ndarray of int, shape (a,)
        The legal actions.
    mean : ndarray of float64, shape (a,)
        Mean value of each action over its worlds; -inf for one that was not evaluated.
    error : ndarray of float64, shape (a,)
        Standard error of the difference to the chosen action, over the worlds of both; for the
        chosen action, of its mean. NaN below two worlds.
    worlds : ndarray of int, shape (a,)
        Worlds that each action was evaluated in. The worst actions are dropped early.
    wanted : ndarray of float64, shape (a,)
        The policy's probability of each action; NaN where the policy was not evaluated.
    chosen : int
        The action that was played.
    milliseconds : float
        Time of the decision; its share, where several were made at once.
    finished : bool
        False where the search was interrupted before its budget was spent.
    budget : str
        The budget in words.
    unit : str
        Of the means, in words, such as "points"; empty if it has no name.
    """

    actions: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    worlds: np.ndarray
    wanted: np.ndarray
    chosen: int
    milliseconds: float
    finished: bool = True
    budget: str = ""
    unit: str = ""


@runtime_checkable
class Explains(Protocol):
    """A player that keeps its thoughts; tested by ``isinstance``.

    Attributes
    ----------
    explains : bool
        Whether it keeps its thoughts; off by default, since that may take time.
    """

    explains: bool

    def thought(self, lane: int) -> Thought | None:
        """Return the thought of its last decision in a lane; None if there is none."""


class KeptThoughts:
    """The thoughts of a player's last decision in each lane, of one that :class:`Explains`."""

    def __init__(self) -> None:
        self.explains = False
        self._thoughts: dict[int, Thought] = {}

    def thought(self, lane: int) -> Thought | None:
        """Return the thought of its last decision in a lane; None if it did not look ahead."""
        return self._thoughts.get(lane)

    def _forget(self, lanes: np.ndarray) -> None:
        for lane in lanes.tolist() if self._thoughts else ():
            self._thoughts.pop(lane, None)


@runtime_checkable
class Weighs(Protocol):
    """A player that knows the probabilities of its actions; tested by ``isinstance``."""

    def probabilities(self, engine: Any, lanes: np.ndarray) -> npt.NDArray[np.float64]:
        """Return the probability of each action, shape (k, A), before it acts.

        NaN where it cannot tell.
        """


def every_lane(engine: Any) -> np.ndarray:
    """Return the numbers of all lanes of an engine."""
    return np.arange(engine.num_envs)


def begin_all(player: Player, engine: Any, seed: int) -> None:
    """Let a player begin in all lanes, lane ``i`` with seed ``seed + i``."""
    lanes = every_lane(engine)
    player.begin(engine, lanes, seed + lanes.astype(np.int64))
