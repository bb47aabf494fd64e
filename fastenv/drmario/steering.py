"""How a person plays: a ghost of the pill to move and drop, or buttons, frame by frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastenv.drmario import tables as t
from fastenv.drmario.player import pose_of
from fastenv.drmario.render import render_ansi
from fastenv.drmario.tables import Button
from fastenv.drmario.view import FRAME_RATE
from fastenv.keys import ENTER

LEFT, RIGHT = ("left", "a"), ("right", "d")
TURN_A, TURN_B = ("up", "w", "x"), ("z",)
DOWN = ("down", "s")


class PlacementSteering:
    """A ghost of the pill, which only ever lies where the pill can be brought.

    Parameters
    ----------
    row : record of a game
        A decision of the first player is due.
    costs : sequence of int
        Frames to the lock of each placement, :data:`~fastenv.drmario.tables.INFEASIBLE` for those
        that cannot be reached; one can.
    """

    idle: int | None = None
    frame_time: float = 0.0
    keys = (
        "left/right or a/d: move   up or w: turn   z: turn back   down or s: deeper\n"
        "Enter or space: drop   q: leave"
    )

    def __init__(self, row: Any, costs: Sequence[int]) -> None:
        self.row: Any = row
        self.costs: Sequence[int] = costs
        self._at: dict[tuple[int, int], list[int]] = {}  # by rotation and column, the highest first
        reachable = [action for action, cost in enumerate(costs) if cost != t.INFEASIBLE]
        for action in sorted(reachable, key=lambda a: -pose_of(a)[0]):
            _row, col, rot = pose_of(action)
            self._at.setdefault((rot, col), []).append(action)
        self._depth = 0
        self._go(0, t.SPAWN_COLUMN)

    @property
    def action(self) -> int:
        """Return the placement that the ghost shows."""
        return self._at[self._rot, self._col][self._depth]

    def _go(self, rot: int, col: int, way: int = 1) -> None:
        """Go to the first rotation that can be reached, turning on, and the nearest column."""
        self._rot = min((key[0] for key in self._at), key=lambda other: (other - rot) * way & 3)
        columns = [key[1] for key in self._at if key[0] == self._rot]
        self._col, self._depth = min(columns, key=lambda other: abs(other - col)), 0

    def press(self, key: str) -> int | None:
        """Move the ghost; return the placement when it is dropped."""
        if key in LEFT or key in RIGHT:
            way = 1 if key in RIGHT else -1
            beside = [c for r, c in self._at if r == self._rot and (c - self._col) * way > 0]
            if beside:
                self._go(self._rot, min(beside, key=lambda col: abs(col - self._col)))
        elif key in TURN_A:
            self._go(self._rot - 1, self._col, -1)
        elif key in TURN_B:
            self._go(self._rot + 1, self._col)
        elif key in DOWN:
            self._depth = (self._depth + 1) % len(self._at[self._rot, self._col])
        elif key == ENTER:
            return self.action
        return None

    def text(self) -> str:
        """Return the bottles with the ghost, and what it costs."""
        ways = len(self._at[self._rot, self._col])
        more = f", {self._depth + 1} of {ways} here" if ways > 1 else ""
        cost = f"{self.costs[self.action]} frames to the lock{more}"
        return f"{render_ansi(self.row, ghosts={0: self.action})}\n{cost}"


class FrameSteering:
    """A key is pressed for one frame; a frame without a key has no button.

    Parameters
    ----------
    row : record of a game
    buttons : bool
        Whether actions are bytes of buttons; otherwise they are the ten inputs.
    """

    frame_time: float

    idle: int | None = 0
    frame_time = 1 / FRAME_RATE
    keys = "left/right/down or a/d/s: move   up, w or x: A   z: B\nEnter: no button   q: leave"

    def __init__(self, row: Any, buttons: bool) -> None:
        self.row = row
        presses = (
            (LEFT, Button.LEFT, 1),
            (RIGHT, Button.RIGHT, 2),
            (DOWN, Button.DOWN, 3),
            (TURN_A, Button.A, 4),
            (TURN_B, Button.B, 5),
            ((ENTER,), 0, 0),
        )
        self._actions = {
            key: int(button if buttons else number)
            for keys, button, number in presses
            for key in keys
        }

    def press(self, key: str) -> int | None:
        """Return the action of a key, None of one that has none."""
        return self._actions.get(key)

    def text(self) -> str:
        """Return the bottles."""
        return render_ansi(self.row)
