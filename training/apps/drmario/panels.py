"""What the terminal shows of Dr. Mario: bottles side by side, the level, and its best times."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from fastenv.drmario import tables as t
from fastenv.drmario.layout import PLANES
from fastenv.drmario.render import render_bottles
from training.apps.drmario.best_times import BestTimes
from training.terminal.panels import NOTHING, GamePanels, Rows, format_number
from training.terminal.session import TerminalSession

FRACTIONS = (0.1, 0.25, 0.5, 0.75, 0.9)
SAMPLE = 16  # boards whose planning is timed, once a window of rates


class DrMarioPanels(GamePanels):
    """See :class:`training.terminal.panels.GamePanels`."""

    def __init__(self, times: Path | None = None) -> None:
        self.store = None if times is None else BestTimes(times)
        self._timed: tuple[Any, float | None] = (None, None)  # by the rates of its window

    def draw_tile(self, session: TerminalSession, lane: int) -> tuple[str, Text]:
        """Draw the bottles alone, and where the next pill will lie."""
        row, action = session.rows[lane], session.action(lane)
        ghosts = {}
        if session.engine.game.config.placement and action is not None:
            ghosts[int(session.seats[lane])] = action
        return describe_lane(lane, row), Text.from_ansi(render_bottles(row, ghosts=ghosts))

    def list_rows(self, session: TerminalSession, lane: int) -> Mapping[str, Rows]:
        """List the level, its budget, and the best times beside it."""
        row, config = session.rows[lane], session.engine.game.config
        player, last = row["players"][0], session.tally.last[lane]
        pills = ("color_first", "color_second"), ("preview_first", "preview_second")
        shown = [" ".join(t.Color(player[name]).name.lower() for name in pair) for pair in pills]
        level = int(player["level"])
        task = "clear" if level >= t.FEWEST_VIRUSES_LEVEL else f"{t.match_goal(level)} matches"
        planner = self._time_planner(session)
        game = [
            ("pill", shown[0]),
            ("preview", shown[1]),
            ("level", f"{level}, {t.SPEEDS[player['speed_setting']]}"),
            ("task", task),
            ("viruses", f"{t.from_bcd(int(player['virus_bcd']))} of {player['initial_viruses']}"),
            ("budget", _describe_budget(row)),
            ("ended by", t.REASONS[last[1]["reason"]] if last else NOTHING),
            ("planner", NOTHING if planner is None else f"{1e6 * planner:.0f} us a pill"),
            ("observation", f"{config.obs}, {config.obs_dtype}"),
            ("planes", ", ".join(PLANES.get(config.obs, ())) or NOTHING),
        ]
        return {"game": game, "best times": self._list_times(row)}

    def _list_times(self, row: np.void) -> Rows:
        """List the best times of the level that is played."""
        player = row["players"][0]
        level, speed = int(player["level"]), t.SPEEDS[player["speed_setting"]]
        rows = [("of", f"level {level}, {speed}")]
        if self.store is None:
            return [*rows, ("store", "none: --best-times FILE")]
        stored: Sequence[float | None] = self.store.quantiles(level, speed, FRACTIONS)
        quantiles = stored or [None] * len(FRACTIONS)
        seed = int(row["seed"].astype(int) @ [256, 1])
        best = self.store.best(level, speed, seed)
        return [
            *rows,
            ("floor", format_number(self.store.floor(level, speed), 0)),
            *((f"{f:.0%}", format_number(q, 0)) for f, q in zip(FRACTIONS, quantiles, strict=True)),
            ("this game", format_number(None if best is None else best.frames, 0)),
            ("now", f"{row['ep_frames']:,}"),
        ]

    def _time_planner(self, session: TerminalSession) -> float | None:
        """Return the seconds of planning a pill, measured apart; None without a planner."""
        if session.rates is not self._timed[0]:
            self._timed = session.rates, time_planner(session)
        return self._timed[1]


def time_planner(session: TerminalSession) -> float | None:
    """Time the planner by planning some boards once more."""
    config: Any = session.engine.game.config
    try:
        from fastenv.drmario._reachability import plan
    except ImportError:
        return None
    if not config.placement:
        return None
    rows = session.rows[:SAMPLE]
    players = rows["players"][:, 0]
    gravities = [t.gravity(int(p["speed_setting"]), int(p["speed_ups"])) for p in players]
    arguments = players["board"], rows["frame"] & 1, gravities, config.extended_inputs
    plan(*arguments)  # a warm cache, as in play
    start = time.perf_counter()
    plan(*arguments)
    return (time.perf_counter() - start) / len(rows)


def describe_lane(lane: int, row: np.void) -> str:
    """Return a line about a lane, 18 characters at most."""
    player = row["players"][0]
    if row["reason"]:
        return f"{lane + 1} {t.REASONS[row['reason']]}"
    left = t.from_bcd(int(player["virus_bcd"]))
    return f"{lane + 1} L{player['level']} {left}v {row['ep_frames']:,}f"[:18]


def _describe_budget(row: np.void) -> str:
    """Describe the budgets of the episode and how much of them is used."""
    parts = []
    if row["task_max_frames"]:
        parts.append(f"{row['ep_frames']:,} of {row['task_max_frames']:,} frames")
    if row["task_max_spawns"]:
        parts.append(f"{row['players'][0]['locks']} of {row['task_max_spawns']} pills")
    return ", ".join(parts) or "none"
