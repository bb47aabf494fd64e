"""The bot that looks one placement ahead, in plain Python (docs/drmario.md, 17.2).

Every placement that can be reached is tried in a branch of the game: the pill is written, and the
engine's own steps let it settle, cascades included. What the bottle then looks like is weighed in
whole numbers, and the first of the placements that weigh most is taken.
"""

from __future__ import annotations

import copy
from collections import Counter
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
    return max(feasible, key=lambda a: weigh(branch(player, a)[0], costs[a], weights))


def branch(player: Player, action: int) -> tuple[Player, int]:
    """Place a pill in a copy of a player, and let it settle.

    Frames in which nothing happens but that a counter goes down are counted, and not played.

    Returns
    -------
    after : Player
    frames : int
        From the lock until nothing moves any more, or the level is cleared.
    """
    after = copy.copy(player)
    after.board, after.attack_colors = [*player.board], [*player.attack_colors]
    after.ev_tiles_virus = after.combo_counter = 0
    after.write_pill(*pose_of(action))
    after.placed_step, after.next_action = 0, Next.PLACED
    frames = 0
    while after.next_action == Next.PLACED and not after.game.goal_met(after):
        frames += 1
        if after.status_row != t.IDLE:
            after.status_row = (after.status_row - 1) & 0xFF
        if after.placed_step == 3 and after.status_row != t.IDLE:
            frames += after.status_row + 1
            after.status_row = t.IDLE
        after.settle()
        after.count_matches()
    return after, frames


def weigh(after: Player, cost: int, weights: Weights) -> int:
    """Compute the weight of a placement.

    Parameters
    ----------
    after : Player
        Whose pill has settled.
    cost : int
        Frames that the placement takes.
    weights : mapping of str to int
    """
    weight = weights["virus"] * removed(after) + weights["frame"] * cost
    if after.game.goal_met(after):
        return weight + t.DECIDED
    if any(after.board[cell] < t.FREE for cell in t.SPAWN_CELLS):
        weight -= t.DECIDED
    return weight + weigh_bottle(after.board, weights)


def removed(after: Player) -> int:
    """Count the viruses that a placement removed, or the matches in tasks that ask for them."""
    task = after.level < t.FEWEST_VIRUSES_LEVEL
    return after.combo_counter if task else after.ev_tiles_virus


def weigh_bottle(board: list[int], weights: Weights) -> int:
    """Compute the weight of a settled bottle."""
    return sum(weights[name] * count for name, count in count_bottle(board).items())


def count_bottle(board: list[int]) -> Counter[str]:
    """Count the weighted features of a bottle: of its columns and all lines of four cells.

    Parameters
    ----------
    board : list of int
        All cells.

    Returns
    -------
    Counter
        By the names of :data:`fastenv.drmario.tables.GREEDY`.
    """
    columns = [board[col :: t.COLUMNS] for col in range(t.COLUMNS)]
    tops = [next((r for r, tile in enumerate(c) if tile < t.FREE), t.ROWS) for c in columns]
    counts: Counter[str] = Counter()
    for col in range(t.COLUMNS):
        counts.update(count_column(columns[col], col, tops[col]))
    for row in range(t.ROWS):
        for col in range(t.COLUMNS - t.MATCH + 1):
            cells = [(row, col + i) for i in range(t.MATCH)]
            counts.update(count_line(board, tops, cells, "row"))
    for row in range(t.ROWS - t.MATCH + 1):
        for col in range(t.COLUMNS):
            cells = [(row + i, col) for i in range(t.MATCH)]
            counts.update(count_line(board, tops, cells, "column"))
    return counts


def count_column(column: list[int], col: int, top: int) -> dict[str, int]:
    """Count the cells of a column, and how high it is.

    Parameters
    ----------
    column : list of int
        From the top.
    col, top : int
        Its number, and its highest row that is not free, 16 for none.
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
    return {"half": halves, "cover": covers, "change": changes, "neck": excess**2}


def count_line(
    board: list[int], tops: list[int], cells: list[tuple[int, int]], way: str
) -> dict[str, int]:
    """Count four cells that could still become a match; nothing if they cannot.

    They can if those that are not free have one colour, and no free one has anything above it.

    Parameters
    ----------
    board, tops : list of int
        All cells, and the highest row of each column that is not free.
    cells : list of (row, column)
    way : {"row", "column"}
    """
    tiles = [board[r * t.COLUMNS + c] for r, c in cells]
    free = [(r, c) for (r, c), tile in zip(cells, tiles, strict=True) if tile >= t.FREE]
    full = [tile for tile in tiles if tile < t.FREE]
    if len({tile & 15 for tile in full}) != 1 or any(r > tops[c] for r, c in free):
        return {}
    counts = {f"{way}_pair": int(len(full) == 2), f"{way}_triple": int(len(full) == 3)}
    if any(tile & 0xF0 == Tile.VIRUS for tile in full):
        counts[f"virus_{way}"] = len(full)
    if way == "row":  # what must lie under the free cells first
        counts["gap"] = sum(tops[c] - 1 - r for r, c in free)
    return counts
