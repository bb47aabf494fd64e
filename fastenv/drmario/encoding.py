"""Observation, action mask and info in plain Python: what the kernels must reproduce.

Everything is a function of a reference game as it is after a step (``reference.py``), and of the
costs of placements, which follow from it: ``costs`` has for each player the 512 of the decision
that is due, or None where none is. What is written is explained in docs/drmario.md, 13.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.drmario import tables as t
from fastenv.drmario.adjacency import is_static
from fastenv.drmario.layout import (
    AUX_SIZE,
    PLAYER_INFO,
    SHARED_INFO,
    TIME_SCALE,
)
from fastenv.drmario.player import Player, height_of, view_of
from fastenv.drmario.reference import DrMario
from fastenv.drmario.state import VIEW_DTYPE
from fastenv.drmario.tables import Next, Reason, Tile

Costs = Sequence[Sequence[int] | None]
# A plane: a number a cell, and what they are divided by. Planes of uint8 hold them undivided.
Plane = tuple[list[int], int]

# -- cells (docs/drmario.md, 13) -------------------------------------------------------------------


def is_virus(tile: int) -> bool:
    """Tell whether a cell is a virus that is not being cleared."""
    return tile & 0xF0 == Tile.VIRUS


def is_stable(tile: int) -> bool:
    """Tell whether a cell is neither free nor being cleared."""
    return is_static(tile) or is_virus(tile)


def is_clearing(tile: int) -> bool:
    """Tell whether a cell is being cleared, or was just emptied."""
    return tile & 0xF0 == Tile.CLEARING or (tile >= t.FREE and tile != t.EMPTY)


def flags(cells: Sequence[int], test: Callable[[int], bool]) -> Plane:
    """Return a plane of what holds for each cell."""
    return [int(test(tile)) for tile in cells], 1


def by_color(cells: Sequence[int], test: Callable[[int], bool]) -> list[Plane]:
    """Return a plane for each colour, in canonical order, of the cells that pass a test."""
    return [
        ([int(test(tile) and t.CANONICAL[tile & 15] == color) for tile in cells], 1)
        for color in range(t.NUM_COLORS)
    ]


def everywhere(number: int, scale: int) -> Plane:
    """Return a plane of one number."""
    return [number] * t.CELLS, scale


def pill_cells(row: int, col: int, rot: int, first: int, second: int) -> dict[int, int]:
    """Return the colours of the cells in which a pill lies, without those above the bottle."""
    cells = {}
    for (up, right, _), color in zip(t.HALVES[rot], (first, second), strict=True):
        if row + up < t.ROWS:
            cells[(t.ROWS - 1 - row - up) * t.COLUMNS + col + right] = color
    return cells


def falling(view: Any) -> dict[int, int]:
    """Return the cells of the falling pill: none while there is only the next one."""
    if view.next_action not in (Next.FALLING, Next.SENT):
        return {}
    return pill_cells(view.row, view.col, view.rot, view.color_first, view.color_second)


def preview(view: Any) -> dict[int, int]:
    """Return the cells of the next pill, shown where it will begin.

    It turns round its left column: lying at the top row, standing with the upper half there.
    """
    colors = view.preview_first, view.preview_second
    row = t.SPAWN_ROW if view.preview_rot % 2 == 0 else t.SPAWN_ROW - 1
    return pill_cells(row, t.SPAWN_COLUMN, view.preview_rot, *colors)


# -- planes (docs/drmario.md, 13) ------------------------------------------------------------------


def bottle(view: Any) -> list[Plane]:
    """Return colours and viruses."""
    return [*by_color(view.board, is_stable), flags(view.board, is_virus)]


def linked(view: Any) -> list[Plane]:
    """Return in which direction the other half of a pill is: up, down, left, right."""
    kinds = (Tile.BOTTOM, Tile.TOP, Tile.RIGHT, Tile.LEFT)
    return [([int(tile & 0xF0 == kind) for tile in view.board], 1) for kind in kinds]


def feasible(costs: Sequence[int] | None) -> list[Plane]:
    """Return the placements that can be reached, by where the second half is."""
    known = [t.INFEASIBLE] * t.NUM_PLACEMENTS if costs is None else costs
    return [
        ([int(cost != t.INFEASIBLE) for cost in known[o * t.CELLS : (o + 1) * t.CELLS]], 1)
        for o in range(t.ORIENTATIONS)
    ]


def reduced(view: Any) -> list[Plane]:
    """Return colours with both pills, viruses, and where the pills are."""
    pill, next_pill = falling(view), preview(view)
    shown = _colors_with(view.board, is_stable, pill, next_pill)
    return [*shown, flags(view.board, is_virus), _places(pill), _places(next_pill)]


def _colors_with(
    board: Sequence[int], test: Callable[[int], bool], *pills: dict[int, int]
) -> list[Plane]:
    """Return planes of colours in which a cell has those of its tile and of pills over it."""
    planes = by_color(board, test)
    for pill in pills:
        for cell, color in pill.items():
            planes[t.CANONICAL[color]][0][cell] = 1
    return planes


def _places(pill: dict[int, int]) -> Plane:
    return [int(cell in pill) for cell in range(t.CELLS)], 1


def scalars(view: Any, level: int) -> list[Plane]:
    """Return counters and level, each over a whole plane."""
    return [
        everywhere(view.speed_counter, 255),
        everywhere(view.placed_step, 255),
        everywhere(max(0, level), 20),
    ]


def everything(view: Any, level: int) -> list[Plane]:
    """Return ``bitplane``: what is in the bottle, whatever its state, and counters."""
    board, pill, next_pill = view.board, falling(view), preview(view)
    empty = [
        int(tile >= t.FREE and cell not in pill and cell not in next_pill)
        for cell, tile in enumerate(board)
    ]
    marked = _colors_with(
        board, lambda tile: is_stable(tile) or tile & 0xF0 == Tile.CLEARING, pill, next_pill
    )
    return [
        *marked,
        flags(board, is_virus),
        flags(board, is_static),
        _places(pill),
        _places(next_pill),
        flags(board, is_clearing),
        (empty, 1),
        *scalars(view, level),
    ]


def extended(view: Any, level: int) -> list[Plane]:
    """Return ``extended``: viruses, halves and the falling pill by colour, pose and counters."""
    return [
        *by_color(view.board, is_virus),
        *by_color(view.board, is_static),
        *_colors_with([t.EMPTY] * t.CELLS, is_static, falling(view)),
        everywhere(1 - (view.rot & 1), 1),
        *scalars(view, level),
        everywhere(view.preview_first, 2),
        everywhere(view.preview_second, 2),
        everywhere(view.preview_rot, 3),
    ]


def planes_of(
    obs: str, view: Any, opponent: Any, costs: Sequence[int] | None, level: int
) -> list[Plane]:
    """Return the planes of one frame of a player.

    Parameters
    ----------
    obs : str
        One of :data:`fastenv.drmario.layout.OBSERVATIONS`.
    view, opponent : object
        With the attributes of ``VIEW_DTYPE``; an opponent of None is an empty bottle.
    costs : sequence of int or None
    level : int
    """
    if obs == "none":
        return []
    if obs == "bitplane":
        return everything(view, level)
    if obs == "extended":
        return extended(view, level)
    planes = reduced(view) if "reduced" in obs else bottle(view)
    if "conn" in obs:
        planes += linked(view)
    if obs.endswith("_vs"):
        other = opponent or SimpleNamespace(board=[t.EMPTY] * t.CELLS)
        planes += bottle(other) + linked(other)
    if "mask" in obs:
        planes += feasible(costs)
    return planes


# -- beside the planes (docs/drmario.md, 13) -------------------------------------------------------


def aux(game: DrMario, k: int, costs: Sequence[int] | None) -> list[float]:
    """Return the 57 numbers of the auxiliary vector of a player."""
    player = game.players[k]
    rows = [player.board[i : i + t.COLUMNS] for i in range(0, t.CELLS, t.COLUMNS)]
    columns = [height_of(row[c] < t.FREE for row in rows) for c in range(t.COLUMNS)]
    left = [sum(plane[0]) for plane in by_color(player.board, is_virus)]
    reachable = 0 if costs is None else sum(cost != t.INFEASIBLE for cost in costs)
    level = min(player.level, t.LAST_VIRUS_LEVEL)
    return [
        *one_hot(player.speed_setting, len(t.SPEEDS)),
        t.from_bcd(player.virus_bcd) / t.MAX_VIRUSES,
        *(count / t.MAX_VIRUSES for count in left),
        *one_hot(level - t.LOWEST_LEVEL, t.LAST_VIRUS_LEVEL - t.LOWEST_LEVEL + 1),
        _time(game),
        max(columns) / t.ROWS,
        *(height / t.ROWS for height in columns),
        progress(player),
        reachable / t.NUM_PLACEMENTS,
        sum(tile < t.FREE for tile in player.board) / t.CELLS,
        height_of(any(map(is_virus, row)) for row in rows) / t.ROWS,
    ]


def _time(game: DrMario) -> float:
    if game.task_max_frames:
        return game.ep_frames / game.task_max_frames
    return math.tanh(game.ep_frames / TIME_SCALE)


def progress(player: Player) -> float:
    """Return how much of its goal a player has reached."""
    if player.level < t.FEWEST_VIRUSES_LEVEL:
        return player.matches / t.match_goal(player.level)
    if player.initial_viruses == 0:
        return 0.0
    removed = player.initial_viruses - t.from_bcd(player.virus_bcd)
    return removed / player.initial_viruses


def aux_versus(game: DrMario, k: int) -> list[float]:
    """Return the 15 numbers about the opponent, all 0 without one."""
    if not game.versus:
        return [0.0] * 15
    own, other = game.players[k], game.players[1 - k]
    pills = (other.color_first, other.color_second, other.preview_first, other.preview_second)
    return [
        t.from_bcd(other.virus_bcd) / t.MAX_VIRUSES,
        other.attack_size / t.MAX_ATTACK,
        own.attack_size / t.MAX_ATTACK,
        *(flag for color in pills for flag in one_hot(t.CANONICAL[color], t.NUM_COLORS)),
    ]


def one_hot(number: int, length: int) -> list[float]:
    """Return zeros with a 1 at one place."""
    return [float(i == number) for i in range(length)]


def candidates(costs: Sequence[int] | None, most: int) -> list[tuple[int, int]]:
    """Return the cheapest placements and their costs, by cost, then by number; at most ``most``."""
    found = [] if costs is None else [(c, a) for a, c in enumerate(costs) if c != t.INFEASIBLE]
    return [(action, cost) for cost, action in sorted(found)[:most]]


# -- an observation --------------------------------------------------------------------------------


def encode_obs(game: DrMario, costs: Costs, out: npt.NDArray[Any]) -> None:
    """Write the observation of every player.

    Parameters
    ----------
    game : DrMario
    costs : sequence
        For each player its 512 costs, or None where no decision is due.
    out : ndarray
        Of the dtype and shape of the game's spec; overwritten completely.
    """
    record = game.config.obs_record()
    each = out.reshape(len(game.players), -1) if record.names == ("planes",) else out.reshape(-1, 1)
    for k in range(len(game.players)):
        one = np.zeros((), record)
        _encode(game, k, costs[k], one)
        each[k] = one["planes"].ravel() if record.names == ("planes",) else one


def _encode(game: DrMario, k: int, costs: Sequence[int] | None, one: Any) -> None:
    """Write the record of one player's observation."""
    config, names = game.config, one.dtype.names
    frames = [*_frames(game, k, costs)]
    one["planes"] = frames[0] if config.stack == 1 else frames
    if "aux" in names:
        numbers = aux(game, k, costs)
        one["aux"] = numbers if one["aux"].size == AUX_SIZE else numbers + aux_versus(game, k)
    if "costs" in names:
        known = [t.INFEASIBLE] * t.NUM_PLACEMENTS if costs is None else costs
        signed = [-1 if cost == t.INFEASIBLE else cost for cost in known]
        one["costs"] = np.reshape(signed, one["costs"].shape)
    if "candidates" in names:
        best = candidates(costs, config.candidates)
        one["candidates"] = -1
        for i, (action, cost) in enumerate(best):
            one["candidates"][i], one["candidate_costs"][i] = action, cost
    if "pill" in names:
        one["pill"] = [one_hot(color, t.NUM_COLORS) for color in pill_colors(game.players[k])]


def _frames(game: DrMario, k: int, costs: Sequence[int] | None) -> Iterator[npt.NDArray[Any]]:
    """Return the planes of each frame that is shown, the newest last."""
    config, now = game.config, [view_of(player) for player in game.players]
    views = [[*stack, view] for stack, view in zip(game.stack or [[]] * len(now), now, strict=True)]
    for i in range(config.stack):
        shown = [
            SimpleNamespace(**dict(zip(VIEW_DTYPE.names or (), view[i], strict=True)))
            for view in views
        ]
        other = shown[1 - k] if game.versus else None
        level = game.players[k].level
        planes = planes_of(config.obs, shown[k], other, costs, level)
        cells = [numbers for numbers, _ in planes]
        if config.obs_dtype == "float32":
            cells = [[n / scale for n in numbers] for numbers, scale in planes]  # type: ignore[misc]
        yield np.reshape(cells, (len(planes), t.ROWS, t.COLUMNS))


def pill_colors(player: Player) -> list[int]:
    """Return the canonical colours of the falling pill and of the next one, first halves first."""
    colors = (
        player.color_first,
        player.color_second,
        player.preview_first,
        player.preview_second,
    )
    return [t.CANONICAL[color] for color in colors]


# -- mask (docs/drmario.md, 12) --------------------------------------------------------------------


def action_mask(game: DrMario, costs: Costs, out: npt.NDArray[np.uint8]) -> None:
    """Write the legal actions of every player.

    In games of frames every action is legal. A placement is where it can be reached; a player
    without a decision has action 0 alone.
    """
    if not game.config.placement:
        out[...] = 1
        return
    for mask, known in zip(out.reshape(-1, t.NUM_PLACEMENTS), costs, strict=True):
        if known is None:
            mask[:] = 0
            mask[0] = 1
        else:
            mask[:] = [cost != t.INFEASIBLE for cost in known]


# -- info ------------------------------------------------------------------------------------------


def info(game: DrMario, costs: Costs) -> tuple[Any, ...]:
    """Return the columns of the state, in the order of ``info_dtype``."""
    players = [player_info(game, k, known) for k, known in enumerate(costs)]
    columns: list[Any] = []
    for name, _, _ in PLAYER_INFO:
        values = [player[name] for player in players]
        columns.append(values if game.versus else values[0])
    shared = {
        "reason": game.reason,
        "frame": game.frame,
        "game_seed": game.seed[0] * 256 + game.seed[1],
    }
    return (*columns, *(shared[name] for name, _, _ in SHARED_INFO))


def player_info(game: DrMario, k: int, costs: Sequence[int] | None) -> dict[str, Any]:
    """Return the columns of a player by name."""
    player = game.players[k]
    colors = pill_colors(player)
    known = [t.INFEASIBLE] * t.NUM_PLACEMENTS if costs is None else [*costs]
    shape = (t.ORIENTATIONS, t.ROWS, t.COLUMNS)
    reachable = [cost != t.INFEASIBLE for cost in known]
    pose = (player.ev_lock_col, player.ev_lock_row, player.ev_lock_rot)
    return {
        "level": player.level,
        "viruses": t.from_bcd(player.virus_bcd),
        "pill": colors[:2],
        "preview": colors[2:],
        "spawn_id": player.reserve_index,
        "feasible_count": sum(reachable),
        "invalid_action": bool(player.ev_invalid),
        "cost_to_lock": player.ev_cost,
        "lock_pose": pose if player.ev_locks else (-1, -1, -1),
        "tiles_total": player.ev_tiles_virus + player.ev_tiles_nonvirus,
        "tiles_virus": player.ev_tiles_virus,
        "tiles_nonvirus": player.ev_tiles_nonvirus,
        "match_events": player.ev_matches,
        "adj_pair": [int(flag == 1) for flag in player.ev_adjacency],
        "adj_triplet": [int(flag == 2) for flag in player.ev_adjacency],
        "virus_adj_pair": [int(flag == 1) for flag in player.ev_virus_adjacency],
        "virus_adj_triplet": [int(flag == 2) for flag in player.ev_virus_adjacency],
        "spawns": player.locks,
        "score": player.score,
        "success": succeeded(game, player),
        "garbage_pending": player.attack_size,
        "garbage_sent": player.ev_garbage_sent,
        "volleys": player.ev_volleys,
        "volley_size": player.ev_volley_size,
        "volley_column": player.ev_volley_column,
        "volley_colors": player.ev_volley_colors,
        "volley_frame": player.ev_volley_frame,
        "feasible_mask": np.reshape(reachable, shape),
        "costs": np.reshape(known, shape),
        "board": player.board,
    }


def succeeded(game: DrMario, player: Player) -> bool:
    """Tell whether a player has met its goal within the budgets (docs/drmario.md, 14.3)."""
    frames, spawns = game.task_max_frames, game.task_max_spawns
    in_time = not frames or game.ep_frames <= frames
    in_pills = not spawns or player.locks <= spawns
    return game.reason == Reason.CLEAR and game.goal_met(player) and in_time and in_pills
