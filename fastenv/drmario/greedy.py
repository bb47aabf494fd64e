"""The bot that looks one placement ahead, in plain Python (docs/drmario.md, 17.2).

Every placement that can be reached is tried in a branch of the game: the pill is written, and the
engine's own steps let it settle, cascades included. What the bottle then looks like is weighed in
whole numbers, and the first of the placements that weigh most is taken.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

from fastenv.drmario import tables as t
from fastenv.drmario.player import Player, pose_of
from fastenv.drmario.tables import Next, Tile

Weights = Mapping[str, int]


def greedy_action(player: Player, costs: Sequence[int], weights: Weights) -> int:
    """Return the placement that weighs most.

    Parameters
    ----------
    player : Player
        Who has to decide.
    costs : sequence of int
        Of the 512 placements; at least one can be reached.
    weights : mapping of str to int
        By the names of :data:`fastenv.drmario.tables.GREEDY`.
    """
    feasible = [action for action, cost in enumerate(costs) if cost != t.INFEASIBLE]
    return max(feasible, key=lambda a: weigh(branch(player, a), costs[a], weights))


def branch(player: Player, action: int) -> Player:
    """Return a copy of a player whose pill was placed, as soon as it has settled.

    Nothing waits for a counter, so that no frames are played; the bottle is the same.
    """
    after = copy.copy(player)
    after.board, after.attack_colors = [*player.board], [*player.attack_colors]
    after.ev_tiles_virus = after.combo_counter = 0
    after.write_pill(*pose_of(action))
    after.next_action = Next.PLACED
    while after.next_action == Next.PLACED and not after.stage_clear:
        after.status_row = t.IDLE
        after.settle()
    return after


def weigh(after: Player, cost: int, weights: Weights) -> int:
    """Return what a placement weighs.

    Parameters
    ----------
    after : Player
        Whose pill has settled.
    cost : int
        Frames that the placement takes.
    weights : mapping of str to int
    """
    task = after.level < t.FEWEST_VIRUSES_LEVEL  # which asks for matches
    removed = after.combo_counter if task else after.ev_tiles_virus
    weight = weights["virus"] * removed + weights["frame"] * cost
    if after.stage_clear:
        return weight + t.DECIDED
    if any(after.board[cell] < t.FREE for cell in t.SPAWN_CELLS):
        weight -= t.DECIDED
    return weight + weigh_bottle(after.board, weights)


def weigh_bottle(board: list[int], weights: Weights) -> int:
    """Return what a settled bottle weighs: its columns, and all lines of four cells."""
    columns = [board[col :: t.COLUMNS] for col in range(t.COLUMNS)]
    tops = [next((r for r, tile in enumerate(c) if tile < t.FREE), t.ROWS) for c in columns]
    weight = sum(weigh_column(columns[col], col, tops[col], weights) for col in range(t.COLUMNS))
    for row in range(t.ROWS):
        for col in range(t.COLUMNS - t.MATCH + 1):
            cells = [(row, col + i) for i in range(t.MATCH)]
            weight += weigh_line(board, tops, cells, "row", weights)
    for row in range(t.ROWS - t.MATCH + 1):
        for col in range(t.COLUMNS):
            cells = [(row + i, col) for i in range(t.MATCH)]
            weight += weigh_line(board, tops, cells, "column", weights)
    return weight


def weigh_column(column: list[int], col: int, top: int, weights: Weights) -> int:
    """Return what the cells of a column weigh, and how high it is.

    Parameters
    ----------
    column : list of int
        From the top.
    col, top : int
        Its number, and its highest row that is not free, 16 for none.
    weights : mapping of str to int
    """
    tiles = [tile for tile in column if tile < t.FREE]
    halves = covers = changes = 0
    for i, tile in enumerate(tiles):
        changes += i > 0 and tile & 15 != tiles[i - 1] & 15
        if tile & 0xF0 == Tile.VIRUS:
            covers += changes
        else:
            halves += 1
    neck = t.NECK_LEFT <= col <= t.NECK_RIGHT
    excess = max(0, t.ROWS - top - t.NECK_HEIGHT) if neck else 0
    counted = {"half": halves, "cover": covers, "change": changes, "neck": excess**2}
    return sum(weights[name] * count for name, count in counted.items())


def weigh_line(
    board: list[int], tops: list[int], cells: list[tuple[int, int]], way: str, weights: Weights
) -> int:
    """Return what four cells weigh that could still become a match: 0 if they cannot.

    They can if those that are not free have one colour, and no free one has anything above it.

    Parameters
    ----------
    board, tops : list of int
        All cells, and the highest row of each column that is not free.
    cells : list of (row, column)
    way : {"row", "column"}
    weights : mapping of str to int
    """
    tiles = [board[r * t.COLUMNS + c] for r, c in cells]
    free = [(r, c) for (r, c), tile in zip(cells, tiles, strict=True) if tile >= t.FREE]
    full = [tile for tile in tiles if tile < t.FREE]
    if len({tile & 15 for tile in full}) != 1 or any(r > tops[c] for r, c in free):
        return 0
    weight = {2: weights[f"{way}_pair"], 3: weights[f"{way}_triple"]}.get(len(full), 0)
    if any(tile & 0xF0 == Tile.VIRUS for tile in full):
        weight += weights[f"virus_{way}"] * len(full)
    if way == "row":  # what must lie under the free cells first
        weight += weights["gap"] * sum(tops[c] - 1 - r for r, c in free)
    return weight
