"""The moments of a game that can be gone back to, in branches.

A row is a game, and a step is a function of row and action: of large rows only some are kept, and
those between them are stepped to again.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.errors import FastEnvError
from training.playing.decision import Decision
from training.playing.game_table import Decisions, collect_lines

SMALL_ROW = 4096  # bytes up to which every row is kept
SPACING = 64  # decisions between larger ones
KEPT = 1 << 26  # bytes of moments where the oldest are forgotten
OF_A_MOMENT, OF_AN_ARRAY = 1000, 112  # bytes of Python's own
MAX_DECISIONS = 250_000  # where none are
MAX_BRANCHES = 64


class HistoryError(FastEnvError, ValueError):
    """A moment that there is not, or one too many; the message says which."""


@dataclass(slots=True)
class Moment:
    """The lanes before a decision.

    Parameters
    ----------
    seats : ndarray of int, shape (n,)
        Whose decision is due.
    ended : ndarray of bool, shape (n,)
    taken : ndarray of int, shape (n,)
        Frames of the step that led here; 0 in lanes that took none.
    decisions : Decisions
        That led here, of the only lane.
    reward : float
        What they have brought: to a person who plays, or to who has decided last.
    mark : str
        What is worth coming back to in them.
    lines : list of str
        What all could see of them.
    mask, info : ndarray and mapping of str to ndarray, or None
        Copies of the engine's, where moments are looked at as they were.
    actions : ndarray of int32, shape (n,), or None
        That come next; None where a person decides, or nobody was asked yet.
    decision : Decision or None
        What is known of the one that is due in the lane that is looked at.
    asked : bool
        Whether the players were asked for it.
    episode : ndarray, shape (n,), or None
        Figures of the episodes so far, where somebody counts.
    rows : bytes, ndarray or None
        Of the lanes, as :class:`History` keeps them.
    """

    seats: np.ndarray
    ended: np.ndarray
    taken: np.ndarray
    decisions: Decisions = ()
    reward: float = 0.0
    mark: str = ""
    lines: list[str] = field(default_factory=list)
    mask: np.ndarray | None = None
    info: Mapping[str, np.ndarray] | None = None
    actions: np.ndarray | None = None
    decision: Decision | None = None
    asked: bool = False
    episode: np.ndarray | None = None
    rows: bytes | np.ndarray | None = None

    def forget(self) -> None:
        """Forget what was decided here."""
        self.actions, self.decision, self.asked = None, None, False

    def count_bytes(self) -> int:
        """Count the bytes of its arrays, and about those of the rest."""
        arrays = [self.seats, self.ended, self.taken, *(self.info or {}).values()]
        arrays += [each for each in (self.mask, self.actions) if each is not None]
        rows = self.rows if self.rows is not None else b""
        of_rows = len(rows) if isinstance(rows, bytes) else rows.nbytes
        return OF_A_MOMENT + of_rows + sum(OF_AN_ARRAY + each.nbytes for each in arrays)


class Branch:
    """Moments that follow one another.

    Parameters
    ----------
    parent : int or None
        Number of the branch that it leaves.
    first : int
        Its first moment, counted from the beginning of the game.

    Attributes
    ----------
    moments : list of Moment
    rewards : array of float
        Of each of them.
    marked : list of int
        The indices of those with a mark.
    """

    def __init__(self, parent: int | None, first: int) -> None:
        self.parent, self.first = parent, first
        self.moments: list[Moment] = []
        self.rewards = array("d")
        self.marked: list[int] = []

    @property
    def last(self) -> int:
        """Its newest moment."""
        return self.first + len(self.moments) - 1

    def cut(self, kept: int) -> None:
        """Forget the moments behind the first ones."""
        del self.moments[kept:], self.rewards[kept:]
        self.marked = [index for index in self.marked if index <= self.last]


class History:
    """The moments of a game, and the one that is shown.

    Parameters
    ----------
    engine : BatchEngine
        Whose game it is.
    rows : ndarray, shape (n,)
        Where it begins.
    moment : Moment
    branches : bool
        Playing on from an earlier moment begins a branch, and what is too much is refused; else
        what followed that moment is forgotten, and the oldest moments are.
    """

    def __init__(self, engine: Any, rows: np.ndarray, moment: Moment, branches: bool) -> None:
        self._dtype, self._branches = rows.dtype, branches
        large = rows.dtype.itemsize > SMALL_ROW
        again = large and len(rows) == 1 and type(engine) is BatchEngine and engine.game.resumable
        self._again: BatchEngine | None = _copy_engine(engine) if again else None
        self._spacing = SPACING if again else 1
        self.branches = [Branch(None, 0)]
        self.branch, self.index, self._count = 0, 0, 0
        self._append(self.branches[0], rows, moment)

    @property
    def moment(self) -> Moment:
        """The moment that is shown."""
        branch = self.branches[self.branch]
        return branch.moments[self.index - branch.first]

    @property
    def last(self) -> int:
        """The newest moment of the branch that is shown."""
        return self.branches[self.branch].last

    def _append(self, branch: Branch, rows: np.ndarray, moment: Moment) -> None:
        moment.rows = None
        if len(branch.moments) % self._spacing == 0 or not moment.decisions:  # a game begins
            moment.rows = rows if len(rows) > 1 else zlib.compress(rows.tobytes(), 1)
        branch.moments.append(moment)
        branch.rewards.append(moment.reward)
        if moment.mark:
            branch.marked.append(branch.last)

    def check_room(self) -> None:
        """Refuse another moment behind the one that is shown.

        Raises
        ------
        HistoryError
            If there are too many.
        """
        if not self._branches:
            return
        begins = self.index != self.last
        if self._count >= MAX_DECISIONS or (begins and len(self.branches) >= MAX_BRANCHES):
            most = f"{MAX_DECISIONS:,} decisions"
            if self._count < MAX_DECISIONS:
                most = f"{MAX_BRANCHES} branches"
            raise HistoryError(f"this session has {most}: begin another game.")

    def add(self, rows: np.ndarray, moment: Moment) -> None:
        """Add the moment behind the one that is shown, and go there.

        Raises
        ------
        HistoryError
            See :meth:`check_room`.
        """
        self.check_room()
        branch = self.branches[self.branch]
        if self._branches:
            if self.index != branch.last:
                branch = self._begin_branch()
        else:
            branch.cut(self.index + 1 - branch.first)
        self._append(branch, rows, moment)
        self.index, self._count = branch.last, self._count + 1
        if not self._branches:
            self._forget_oldest(branch)

    def _begin_branch(self) -> Branch:
        here, rows = self.moment, self.rows()
        branch = Branch(self.branch, self.index)
        self._append(branch, rows, Moment(here.seats, here.ended, here.taken))
        self.branches.append(branch)
        self.branch = len(self.branches) - 1
        return branch

    def _forget_oldest(self, branch: Branch) -> None:
        largest = max(each.count_bytes() for each in branch.moments[-2:])  # one has no row, or both
        superfluous = len(branch.moments) - max(2, KEPT // largest)
        superfluous -= superfluous % self._spacing  # so that the row of the first one is there
        if superfluous > 0:
            del branch.moments[:superfluous], branch.rewards[:superfluous]
            branch.first += superfluous
            branch.marked = [index for index in branch.marked if index >= branch.first]

    def go(self, branch: int, index: int) -> None:
        """Go to a moment; one before the beginning of a branch lies in that which it left.

        Raises
        ------
        HistoryError
            If there is none.
        """
        if branch >= len(self.branches) or index > self.branches[branch].last:
            raise HistoryError(f"moment {index} of branch {branch}: there is none.")
        self.branch, self.index = self._find_branch(branch, index), index

    def _find_branch(self, number: int, index: int) -> int:
        """Find the branch in which a moment lies: one, or an older one that it left later."""
        while index < self.branches[number].first:
            parent = self.branches[number].parent
            assert parent is not None
            number = parent
        return number

    def way(self) -> Iterator[tuple[int, Moment]]:
        """Yield the moments on the way back to the beginning, each with its index."""
        for branch, index in self._list_branches():
            for at in range(index, branch.first - (branch.parent is None), -1):
                yield at, branch.moments[at - branch.first]

    def marked(self) -> Iterator[Moment]:
        """Yield the moments with a mark on the way back to the beginning."""
        for branch, index in self._list_branches():
            for at in reversed(branch.marked):
                if branch.first <= at <= index:
                    yield branch.moments[at - branch.first]

    def _list_branches(self) -> Iterator[tuple[Branch, int]]:
        """Yield the branches on the way back to the beginning, and where each is left."""
        number: int | None = self.branch
        index = self.index
        while number is not None:
            branch = self.branches[number]
            yield branch, index
            number, index = branch.parent, branch.first

    def rows(self, index: int | None = None) -> np.ndarray:
        """Return the rows of a moment of this branch, shape (n,); default of the one shown."""
        index = self.index if index is None else index
        branch = self.branches[self._find_branch(self.branch, index)]
        place = kept = index - branch.first
        while (data := branch.moments[kept].rows) is None:
            kept -= 1
        if isinstance(data, np.ndarray):
            return data
        rows = np.frombuffer(bytearray(zlib.decompress(data)), self._dtype)
        if kept == place:
            return rows
        assert self._again is not None
        self._again.set_states(rows, [0], trusted=True)
        for moment in branch.moments[kept + 1 : place + 1]:
            take_again(self._again, moment.decisions)
        return np.asarray(self._again.get_states([0]))

    def lines(self, most: int, since: int = -1) -> list[str]:
        """List the last lines of what was said up to the moment that is shown, the newest last.

        Parameters
        ----------
        most : int
        since : int
            Of moments behind this one.
        """
        way = takewhile(lambda each: each[0] > since, self.way())
        return collect_lines((moment.lines for _, moment in way), most)


def _copy_engine(engine: BatchEngine) -> BatchEngine:
    """Make another engine of the same game, of one lane."""
    twin = BatchEngine(engine.game, 1, opponent=engine.opponent)
    twin.reset_many(seeds=0)
    return twin


def take_again(engine: Any, decisions: Decisions) -> None:
    """Take decisions that were taken before, in an engine of one lane."""
    several = engine.opponent is None and engine.num_agents > 1
    for _, action in decisions:
        engine.step_many([action] if not several else [[action]], autoreset=False)
