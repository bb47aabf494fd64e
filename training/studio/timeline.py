"""Every decision of a session, as rows that can be gone back to, in branches.

A row is a game, and a step is a function of row and action: of large rows only some are kept, and
those between them are stepped to again.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from training.playing.table import Decisions, collect_lines
from training.studio.messages import MAX_DECISIONS, Refusal

SMALL_ROW = 4096  # bytes up to which every row is kept
SPACING = 64  # decisions between larger ones
MAX_BRANCHES = 64
BUCKETS = 240  # of rewards that are shown
MAX_MARKS = 400
MAX_LINES = 300  # of what was said on the way to a moment


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
    rows : list of bytes or None
        Of each moment, compressed; None between those that are kept.
    decisions : list of Decisions
        That led to each moment but the first.
    rewards : array of float
        What they brought.
    marks : dict of int to str
    lines : dict of int to list of str
        What was said of the decision that led to a moment.
    """

    def __init__(self, parent: int | None, first: int) -> None:
        self.parent, self.first = parent, first
        self.rows: list[bytes | None] = []
        self.decisions: list[Decisions] = []
        self.rewards = array("d")
        self.marks: dict[int, str] = {}
        self.lines: dict[int, list[str]] = {}

    @property
    def last(self) -> int:
        """Its newest moment."""
        return self.first + len(self.rows) - 1


class Timeline:
    """The moments of a game.

    Parameters
    ----------
    engine : BatchEngine
        Of one lane, for stepping to moments again; nobody else uses it.
    row : ndarray, shape (1,)
        Where it begins.
    """

    def __init__(self, engine: Any, row: np.ndarray) -> None:
        self._engine, self._dtype = engine, row.dtype
        self._spacing = 1 if row.dtype.itemsize <= SMALL_ROW else SPACING
        self._known: dict[Decisions, Decisions] = {}
        self.branches = [Branch(None, 0)]
        self.branch, self.index, self._count = 0, 0, 0
        self._append(self.branches[0], row, (), 0.0, "")

    def _append(
        self, branch: Branch, row: np.ndarray, decisions: Decisions, reward: float, mark: str
    ) -> None:
        kept = len(branch.rows) % self._spacing == 0
        branch.rows.append(zlib.compress(row.tobytes(), 1) if kept else None)
        branch.decisions.append(self._known.setdefault(decisions, decisions))
        branch.rewards.append(reward)
        if mark:
            branch.marks[branch.last] = mark

    def add(
        self,
        row: np.ndarray,
        decisions: Decisions,
        reward: float,
        mark: str = "",
        lines: Sequence[str] = (),
    ) -> None:
        """Add the row behind decisions at the current moment, and go there.

        Behind the newest moment of a branch it grows; elsewhere another branch begins.

        Parameters
        ----------
        row : ndarray, shape (1,)
        decisions : Decisions
        reward : float
        mark : str
        lines : sequence of str
            What is said of it.

        Raises
        ------
        Refusal
            If there are too many.
        """
        if self._count >= MAX_DECISIONS:
            raise Refusal(f"this session has {MAX_DECISIONS:,} decisions: begin another game.")
        branch = self.branches[self.branch]
        if self.index != branch.last:
            if len(self.branches) >= MAX_BRANCHES:
                raise Refusal(f"this session has {MAX_BRANCHES} branches: begin another game.")
            here = self.row()
            branch = Branch(self.branch, self.index)
            self._append(branch, here, (), 0.0, "")
            self.branches.append(branch)
            self.branch = len(self.branches) - 1
        self._append(branch, row, decisions, reward, mark)
        if lines:
            branch.lines[branch.last] = [*lines]
        self.index, self._count = branch.last, self._count + 1

    def go(self, branch: int, index: int) -> None:
        """Go to a moment; one before the beginning of a branch lies in that which it left.

        Raises
        ------
        Refusal
            If there is none.
        """
        if branch >= len(self.branches) or index > self.branches[branch].last:
            raise Refusal(f"moment {index} of branch {branch}: there is none.")
        self.branch, self.index = self._find_branch(branch, index), index

    def _find_branch(self, number: int, index: int) -> int:
        """Find the branch in which a moment lies: one, or an older one that it left later."""
        while index < self.branches[number].first:
            parent = self.branches[number].parent
            assert parent is not None
            number = parent
        return number

    def _way(self) -> Iterator[tuple[Branch, int]]:
        """Yield the branches on the way back to the beginning, and where each is left."""
        number: int | None = self.branch
        index = self.index
        while number is not None:
            branch = self.branches[number]
            yield branch, index
            number, index = branch.parent, branch.first

    def row(self, index: int | None = None) -> np.ndarray:
        """Return the row of a moment of this branch, shape (1,); default where it stands."""
        index = self.index if index is None else index
        branch = self.branches[self._find_branch(self.branch, index)]
        place = index - branch.first
        kept = place - place % self._spacing
        data = branch.rows[kept]
        assert data is not None
        row = np.frombuffer(bytearray(zlib.decompress(data)), self._dtype)
        if kept == place:
            return row
        self._engine.set_states(row, [0], trusted=True)
        for decisions in branch.decisions[kept + 1 : place + 1]:
            take(self._engine, decisions)
        return np.asarray(self._engine.get_states([0]))

    def lines(self) -> list[str]:
        """List the lines of the log up to the current moment, the newest last."""
        told = (
            branch.lines.get(at, ())
            for branch, index in self._way()
            for at in range(index, branch.first, -1)
        )
        return collect_lines(told, MAX_LINES)

    def last_marked(self) -> str:
        """Return the last mark on the way to the moment where it stands, and what was said last."""
        for branch, index in self._way():
            for at in reversed(branch.marks):
                if at <= index and branch.lines.get(at):
                    return f"{branch.marks[at]}: {branch.lines[at][-1]}"
        return ""

    def last_reward(self) -> float:
        """Return the reward of the decision that led to the moment where it stands."""
        branch = self.branches[self.branch]
        return branch.rewards[self.index - branch.first]

    def message(self) -> dict[str, Any]:
        """Make the message ``timeline``, which a page draws."""
        return {
            "kind": "timeline",
            "branch": self.branch,
            "index": self.index,
            "branches": [
                {
                    "number": number,
                    "parent": branch.parent,
                    "first": branch.first,
                    "last": branch.last,
                    "marks": [[at, mark] for at, mark in [*branch.marks.items()][-MAX_MARKS:]],
                    "rewards": _sum_buckets(branch.rewards),
                }
                for number, branch in enumerate(self.branches)
            ],
        }


def take(engine: Any, decisions: Decisions) -> None:
    """Take decisions that were taken before, in an engine of one lane."""
    several = engine.opponent is None and engine.num_agents > 1
    for _, action in decisions:
        engine.step_many([action] if not several else [[action]], autoreset=False)


def _sum_buckets(rewards: Sequence[float]) -> list[float]:
    """Return sums of rewards of equally many decisions, few enough to be drawn."""
    values = np.asarray(rewards, np.float64)
    size = max(1, -(-len(values) // BUCKETS))
    padded = np.zeros(-(-len(values) // size) * size)
    padded[: len(values)] = values
    sums: list[float] = padded.reshape(-1, size).sum(1).round(4).tolist()
    return sums
