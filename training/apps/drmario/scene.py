"""The bottles of Dr. Mario as data: cells, pills and counters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from fastenv.drmario import tables as t
from fastenv.drmario.steering import DOWN, LEFT, RIGHT, TURN_A, TURN_B
from fastenv.drmario.tables import Button
from fastenv.drmario.view import FRAME_RATE, BottleView, game_views
from fastenv.keys import ENTER
from training.apps.drmario.frame_player import ENV, FramePlayer
from training.run.game_view import GameView, PadKey

BUTTONS = {
    key: button
    for keys, button in (
        (LEFT, Button.LEFT),
        (RIGHT, Button.RIGHT),
        (DOWN, Button.DOWN),
        (TURN_A, Button.A),
        (TURN_B, Button.B),
    )
    for key in keys
}
SIDES = Button.LEFT | Button.RIGHT


class DrMarioView(GameView):
    """How Dr. Mario is shown; see :class:`training.run.game_view.GameView`."""

    page: ClassVar = Path(__file__).parent / "scene.js"
    rules: ClassVar = Path(__file__).parent / "rules.html"
    frame_rate: ClassVar = FRAME_RATE

    def other_env(self, env: str) -> str | None:
        """Return the environment of placements: its players can press buttons too."""
        return ENV if env in ("DrMarioFrame-v0", "DrMarioVersusFrame-v0") else None

    def player(self, engine: Any, who: Any) -> FramePlayer:
        """Return a player of placements as one of frames."""
        return FramePlayer(who, engine)

    def pad(self, engine: Any) -> Sequence[PadKey]:
        """Return the buttons; where the game waits, one more to drop the pill."""
        keys = [("left", "◀"), ("down", "▼"), ("right", "▶"), ("z", "B"), ("x", "A")]
        if engine.game.config.placement:
            keys = [*keys[:3], ("up", "turn"), (ENTER, "drop")]
        return [PadKey(*key) for key in keys]

    def scene(
        self,
        engine: Any,
        row: np.void,
        seat: int,
        names: Sequence[str],
        *,
        opened: bool = False,
        choice: int | None = None,
    ) -> dict[str, Any]:
        """Return both bottles; what an opponent has chosen only where it is opened."""
        players = len(row["players"])
        if players == 2 and not opened:
            row = row.copy()
            row["players"]["plan_left"][1 - seat] = 0
        ghosts = None if choice is None else {seat: choice}
        return {
            "bottles": [_make_bottle(view) for view in game_views(row, ghosts)],
            "names": [*names],
        }

    def held_action(self, engine: Any, keys: Sequence[str]) -> int | None:
        """Return a byte of all buttons that are held; of both sides the newer one."""
        if engine.game.config.placement or engine.game.config.actions != "buttons":
            return None
        held = 0
        for key in keys:
            button = BUTTONS.get(key, 0)
            held = (held & ~SIDES if button & SIDES else held) | button
        return int(held)

    def mark(self, engine: Any, before: np.void, after: np.void) -> str:
        """Describe how many viruses were cleared."""
        gone = int(after["players"]["ev_tiles_virus"].sum())
        return f"{gone} virus{'es' * (gone > 1)}" if gone else ""

    def insight(self, engine: Any, row: np.void, seat: int) -> dict[str, Any]:
        """Return the planner's costs: for each cell the frames to the quickest lock of a half."""
        if not engine.game.config.placement:
            return {}
        costs = engine.game.unpack(row).costs()[seat]
        if costs is None:
            return {}
        table = np.array(costs, np.int64).reshape(t.ORIENTATIONS, t.CELLS)
        best = table.min(0)
        return {
            "costs": [int(x) if x != t.INFEASIBLE else None for x in best],
            "columns": t.COLUMNS,
            "reachable": int((table != t.INFEASIBLE).sum()),
        }


def _make_bottle(view: BottleView) -> dict[str, Any]:
    return {
        "cells": bytes(view.cells).hex(),
        "pill": [[half.row, half.col, int(half.tile), half.color] for half in view.pill],
        "ghost": [[half.row, half.col, int(half.tile), half.color] for half in view.ghost],
        "preview": list(view.preview),
        "counters": [list(each) for each in view.counters],
        "news": list(view.news),
        "ending": view.ending,
        "won": view.won,
    }
