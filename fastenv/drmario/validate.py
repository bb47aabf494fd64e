"""The check of rows that come from outside: behind it compiled code runs without bounds checks.

Whatever a game can reach passes. A row that passes may be one that no game reaches, but the rules
say what happens in it, and all implementations agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.state import STACKED, VIEW_DTYPE
from fastenv.drmario.tables import Button, Mode, Next, Reason, Tile
from fastenv.errors import StateError

Array = npt.NDArray[Any]
Check = tuple[str, Any, str]  # field, the lanes and players it is wrong in, what is allowed

MAX_PLAN = t.ROWS * (t.MAX_GRAVITY + 1)
SIDES = Button.LEFT | Button.RIGHT
DIRECTIONS = SIDES | Button.DOWN
TILES = np.isin(np.arange(256), t.TILES)
BCD = np.isin(np.arange(256), [t.to_bcd(n) for n in range(100)])

# Highest value of fields of a frame, and of a player beside.
VIEW_LIMITS = {
    "placed_step": 8,
    "row": t.ROWS - 1,
    "col": t.COLUMNS - 1,
    "rot": 3,
    "color_first": t.NUM_COLORS - 1,
    "color_second": t.NUM_COLORS - 1,
    "preview_first": t.NUM_COLORS - 1,
    "preview_second": t.NUM_COLORS - 1,
    "preview_rot": 3,
    "speed_counter": max(t.GRAVITY),
    "hor_velocity": t.FIRST_REPEAT - 1,
    "throw_frame": t.LAST_THROW,
}
LIMITS = {
    "reserve_index": t.RESERVE - 1,
    "speed_setting": len(t.SPEEDS) - 1,
    "speed_ups": t.MAX_SPEED_UPS,
    "stage_clear": 1,
    "level_fail": 1,
    "scored": t.MAX_SCORED,
    "attack_colors": t.NUM_COLORS - 1,
    "initial_viruses": t.CELLS,
    "plan_left": MAX_PLAN,
    "ev_invalid": 1,
    "ev_lock_row": t.ROWS - 1,
    "ev_lock_col": t.COLUMNS - 1,
    "ev_lock_rot": 3,
    "ev_adjacency": 2,
    "ev_virus_adjacency": 2,
    "height": t.MAX_HEIGHT,
    "ev_height": t.MAX_HEIGHT,
    "ev_volley_size": t.MAX_ATTACK,
    "ev_volley_column": t.COLUMNS - 1,
    "ev_volley_colors": t.NUM_COLORS - 1,
    "ev_cost": MAX_PLAN,
}


def validate_rows(rows: Array, config: DrMarioConfig) -> None:
    """Raise :class:`StateError`, naming lane, player and field, unless all rows are possible.

    Parameters
    ----------
    rows : ndarray, shape (n,)
        Of the dtype of the configuration.
    config : DrMarioConfig
    """
    if not len(rows):
        return
    for field, bad, allowed in _checks(rows, config):
        wrong = np.argwhere(bad.reshape(len(rows), -1))
        if wrong.size:
            lane, player = wrong[0].tolist()
            of_player = bad.ndim > 1
            value = rows["players"][field][lane, player] if of_player else rows[field][lane]
            who = f"lane {lane}" + (f", player {player}" if of_player else "")
            shown = str(value.tolist())
            shown = shown if len(shown) <= 400 else shown[:397] + "..."
            raise StateError(f"{who}: {field}={shown} is not possible: {allowed}.")


def _checks(rows: Array, config: DrMarioConfig) -> Iterator[Check]:
    players = rows["players"]
    yield from _head(rows, config)
    yield from _ranges(players, VIEW_LIMITS | LIMITS)
    yield from _view(players)
    yield from _counters(players, config)
    yield from _states(players, config)
    yield from _bottle(players)
    yield from _pill(players)
    if config.placement:
        yield from _decisions(rows, players, config)
    else:
        yield from _no_plans(players)
    yield from _end(rows, players)
    if config.stack > 1:
        yield from _stack(rows)


def _any(bad: Array, axes: int) -> Any:
    """Return whether anything is bad behind the first axes."""
    return bad.reshape(*bad.shape[:axes], -1).any(axis=axes)


def _between(rows: Array, field: str, low: int, high: int) -> Check:
    values = rows[field]
    bad = _any((values < low) | (values > high), rows.ndim)
    return field, bad, f"it must be from {low} to {high}"


def _ranges(players: Array, limits: dict[str, int]) -> Iterator[Check]:
    for field, high in limits.items():
        yield _between(players, field, 0, high)


def _head(rows: Array, config: DrMarioConfig) -> Iterator[Check]:
    yield _between(rows, "reserve", 0, t.NUM_PILLS - 1)
    yield "rng", ~rows["rng"].any(axis=1), "a generator of zeros draws nothing"
    for field in ("ep_length", "ep_frames"):
        yield _between(rows, field, 0, t.MOST)
    for field in ("task_max_frames", "task_max_spawns"):
        yield _between(rows, field, 0, 2**31 - 1)
    yield _between(rows, "done", 0, 2)
    yield _between(rows, "reason", 0, max(Reason))
    tau = rows["tau"].reshape(len(rows), -1)
    yield "tau", ((tau < 0) | (tau > t.MOST)).any(axis=1), f"it must be from 0 to {t.MOST}"
    number = rows["seed"].astype(int) @ [256, 1]
    demo = config.demo is not None
    bad = number != 0 if demo else number < t.FIRST_SEED
    yield "seed", bad, "it must be 0" if demo else "0 and 1 give no level"
    if not demo:
        for field in ("demo_at", "demo_left"):
            yield field, rows[field] != 0, "it must be 0 where there is no demo"
    for field in ("unused_head", "unused_agents"):
        yield field, rows[field].any(axis=1), "it must be 0"


def _view(players: Array) -> Iterator[Check]:
    """Check what a frame shows of a player."""
    yield "board", _any(~TILES[players["board"]], players.ndim), "cells must be tiles"
    modes = [*map(int, Mode)]
    yield "mode", ~np.isin(players["mode"], modes), f"it must be one of {modes}"
    actions = [*map(int, Next)]
    yield "next_action", ~np.isin(players["next_action"], actions), f"it must be one of {actions}"
    status = players["status_row"]
    yield "status_row", (status >= t.ROWS) & (status != t.IDLE), "it must be 0 to 15, or 255"
    skipped = np.isin(players["throw_frame"], t.THROW_SKIPPED)
    yield "throw_frame", skipped, "1, 6 and 23 are passed over"
    yield "virus_bcd", ~BCD[players["virus_bcd"]], "it must be two decimal digits"
    wide = (players["rot"] & 1 == 0) & (players["col"] == t.COLUMNS - 1)
    yield "col", wide, "a lying pill needs another column to its right"


def _counters(players: Array, config: DrMarioConfig) -> Iterator[Check]:
    for field in ("pill_count_lo", "pill_count_hi"):
        yield field, ~BCD[players[field]], "it must be two decimal digits"
    lowest = t.LOWEST_LEVEL if config.agents == 1 else 0
    yield _between(players, "level", lowest, t.HIGHEST_LEVEL)
    for field in ("locks", "matches", "score", "decisions"):
        yield _between(players, field, 0, t.MOST)
    for field in ("plan_action", "ev_action"):
        yield _between(players, field, t.NO_ACTION, t.NUM_PLACEMENTS - 1)
    decided = players["decided"]
    bad = (decided >= t.RESERVE) & (decided != t.NO_SPAWN)
    yield "decided", bad, "it must be below 128, or 255"
    if config.agents == 1:
        for field in ("attack_size", "attack_colors", "decisions"):
            yield field, _any(players[field] != 0, 2), "it must be 0 in a game of one"
    else:
        for field in ("scored", "score"):
            yield field, players[field] != 0, "it must be 0 in a game of two"
    yield "unused", _any(players["unused"] != 0, 2), "it must be 0"


def _states(players: Array, config: DrMarioConfig) -> Iterator[Check]:
    """Check that mode, action and buttons go together."""
    mode, waits = players["mode"], players["intro_wait"] > 0
    demo = (mode == Mode.DEMO) & (config.demo is None)
    yield "mode", demo, "0 is that of a demo"
    bad = (waits != (mode == Mode.INTRO)) & (mode != Mode.DEMO)
    yield "intro_wait", bad, "it must be above 0 in mode 8, and in no other"
    bad = (players["level_fail"] != 0) != (mode == Mode.LOST)
    yield "level_fail", bad, "1 goes with mode 5"
    placed = players["next_action"] == Next.PLACED
    yield "placed_step", ~placed & (players["placed_step"] != 0), "it must be 0 unless placed"
    held, pressed = players["buttons_held"], players["buttons_pressed"]
    yield "buttons_prev", players["buttons_prev"] != held, "it must be buttons_held"
    yield "buttons_pressed", pressed & ~held != 0, "what is pressed is held"
    latches = players["latches"]
    both = (latches & SIDES == SIDES) | (latches & (0xFF ^ DIRECTIONS) != 0)
    unlatched = (latches != 0) & (config.placement or config.actions == "buttons")
    yield "latches", both | unlatched, "it must be directions that the actions hold"


def _bottle(players: Array) -> Iterator[Check]:
    """Check what follows from the cells; viruses on them may be more or fewer than are counted."""
    board = players["board"]
    cells = (board & 0xF0 == Tile.CLEARING) | ((board >= t.FREE) & (board != t.EMPTY))
    clearing = cells.sum(axis=2) >= t.MATCH
    yield "clearing", players["clearing"] != clearing, "it must be 1 where cells are being cleared"


def _fits(board: Array, row: Array, col: Array, rot: Array) -> Array:
    """Tell where a pill lies on empty cells, shape (n, K); poses are within their ranges."""
    lanes, players = np.indices(row.shape)
    cell = (t.ROWS - 1 - row.astype(int)) * t.COLUMNS + col
    lying = rot & 1 == 0
    other = np.where(lying, cell + 1, cell - t.COLUMNS)
    above = other < 0  # above the bottle
    empty = board[lanes, players, cell] == t.EMPTY
    found: Array = empty & (above | (board[lanes, players, np.maximum(other, 0)] == t.EMPTY))
    return found


def _playing(players: Array) -> Any:
    return (players["mode"] == Mode.PLAYING) | (players["mode"] == Mode.DEMO)


def _pill(players: Array) -> Iterator[Check]:
    action = players["next_action"]
    there = _playing(players) & ((action == Next.FALLING) | (action == Next.SENT))
    fits = _fits(*(players[name] for name in ("board", "row", "col", "rot")))
    yield "row", there & ~fits, "the falling pill must lie on empty cells"


def _no_plans(players: Array) -> Iterator[Check]:
    for field, nothing in (
        ("plan_left", 0),
        ("plan_action", t.NO_ACTION),
        ("decided", t.NO_SPAWN),
        ("decided_frame", 0),
        ("decisions", 0),
    ):
        bad = players[field] != nothing
        yield field, bad, f"it must be {nothing} where decisions are frames"


def _decisions(rows: Array, players: Array, config: DrMarioConfig) -> Iterator[Check]:
    """Check what decisions presume: pills at the spawn, no buttons, plans that can be kept."""
    action, plans = players["next_action"], players["plan_left"] > 0
    playing = players["mode"] == Mode.PLAYING
    falling = playing & (action == Next.FALLING)
    due = falling & (players["decided"] != players["reserve_index"])
    appears = falling | (playing & (action == Next.SENT))
    spawn = {"row": t.SPAWN_ROW, "col": t.SPAWN_COLUMN, "rot": 0, "speed_counter": 0}
    for field, value in spawn.items():
        yield field, appears & (players[field] != value), f"it must be {value} of a new pill"
    held = players["buttons_held"] != 0
    yield "buttons_held", held, "no button is held where decisions are placements"
    bad = plans & (due | ~falling) if config.agents == 2 else plans
    yield "plan_left", bad, "0 unless a pill of one of two players is on its way"
    yield "plan_left", falling & ~due & ~plans, "a pill that was decided on is on its way"
    yield "plan_action", (players["plan_action"] >= 0) != plans, "-1 goes with plan_left 0"
    yield "plan_action", plans & ~_can_lie(players), "the placement must lie on empty cells"
    since = rows["frame"][:, None] - players["decided_frame"]
    bad = ~due & ((since > t.MOST) | (players["decided"] == t.NO_SPAWN))
    yield "decided_frame", bad, "it must be the frame of the last decision"
    running = rows["done"] == 0
    yield "done", running & ~due.any(axis=1), "a running episode waits for a decision"
    if config.agents == 2:
        bad = players["decisions"] > rows["ep_length"][:, None]
        yield "decisions", bad, "it must be at most ep_length"
        bad = (rows["needs_action"] != due).any(axis=1)
        yield "needs_action", bad, "it must be 1 for those whose decision is due"


def _can_lie(players: Array) -> Array:
    """Tell where the cells of the chosen placement are inside the bottle and empty."""
    action = np.maximum(players["plan_action"], 0).astype(int)
    orientation, cell = action // t.CELLS, action % t.CELLS
    row, col = cell // t.COLUMNS, cell % t.COLUMNS
    rows = row + np.array([0, 1, 0, -1])[orientation]
    cols = col + np.array([1, 0, -1, 0])[orientation]
    inside = (rows >= 0) & (rows < t.ROWS) & (cols >= 0) & (cols < t.COLUMNS)
    other = np.where(inside, rows * t.COLUMNS + cols, 0)
    lanes, who = np.indices(action.shape)
    board = players["board"]
    found: Array = (
        inside & (board[lanes, who, cell] == t.EMPTY) & (board[lanes, who, other] == t.EMPTY)
    )
    return found


def _end(rows: Array, players: Array) -> Iterator[Check]:
    """Check that the end of an episode and its reason are those of the rules."""
    level = players["level"].astype(int)
    matched = players["matches"] >= 1 + level - t.LOWEST_LEVEL
    goal = np.where(level < t.FEWEST_VIRUSES_LEVEL, matched, players["stage_clear"] != 0)
    won, lost = goal.any(axis=1), (players["level_fail"] != 0).any(axis=1)
    bad = (players["stage_clear"] != 0) & (players["virus_bcd"] != 0)
    yield "stage_clear", bad, "1 goes with virus_bcd 0"
    yield "done", (won | lost) != (rows["done"] == 1), "1 goes with a level won or lost"
    wanted = np.where(won, Reason.CLEAR, np.where(lost, Reason.TOPOUT, Reason.NONE))
    wanted = np.where(rows["done"] == 2, Reason.TIMEOUT, wanted)
    yield "reason", rows["reason"] != wanted, "it must be that of the end"


def _stack(rows: Array) -> Iterator[Check]:
    views = rows["stack"].view(VIEW_DTYPE).reshape(len(rows), -1)
    assert views.shape[1] == STACKED * rows["players"].shape[1]
    for field, bad, allowed in (*_ranges(views, VIEW_LIMITS), *_view(views)):
        yield "stack", bad.any(axis=1), f"{field} of an earlier frame: {allowed}"
