"""How far it still is to the end of Lantern Walk's quest: a potential for shaping.

It is read off the memory and the maps of the game, as :class:`fastenv.gameboy.lantern_walk.Solver`
does, whose way it measures: the nearest candle until there are enough, then Bram, Wick and Bram.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.gameboy.lantern_walk import SIZE, WAYS, Cell, World, load_world
from fastenv.gameboy.tables import WRAM

Array = npt.NDArray[Any]


def less_way(rows: Array) -> Array:
    """Return minus the cells that are still to be walked, float64 (k,).

    Parameters
    ----------
    rows : ndarray of records, shape (k,)
        States of Lantern Walk.
    """
    world, wram = load_world(), rows["wram"]

    def read(name: str) -> Array:
        number: Array = wram[:, world.memory[name] - WRAM].astype(np.int64)
        return number

    quest = read("quest")
    taken = np.zeros(len(rows), np.int64)
    for k, (address, bit) in enumerate(map(world.flag, world.candles())):
        taken |= ((wram[:, address - WRAM] & bit) > 0).astype(np.int64) << k
    stages = np.where(quest >> world.quest_bits["flame"] & 1, -2, taken)
    stages = np.where(quest >> world.quest_bits["song"] & 1, -1, stages)
    cells = (read("map") * SIZE + read("y")) * SIZE + read("x")
    table = _table()
    found: Array = -table[stages, np.minimum(cells, table.shape[1] - 1)]
    return found


@cache
def _table() -> Array:
    """Return the cells still to be walked, float64 (sets of candles taken + 2, cells).

    A set is a bit for each candle; behind all sets come the way with the flame and with the song.
    Cells in which nobody can stand are as far as the furthest.
    """
    world = load_world()
    candles = world.candles()
    to = [_distances(world, [candle]) for candle in candles]
    bram, wick = (_distances(world, _before(world, who)) for who in ("bram", "wick"))
    song = bram
    flame = wick + min(song[_number(cell)] for cell in _before(world, "wick"))
    enough = bram + min(flame[_number(cell)] for cell in _before(world, "bram"))
    table = np.zeros((2 ** len(candles) + 2, len(bram)))
    for taken in reversed(range(2 ** len(candles))):
        if taken.bit_count() >= world.candles_needed:
            table[taken] = enough
            continue
        left = [k for k in range(len(candles)) if not taken >> k & 1]
        ways = np.stack([to[k] for k in left])
        behind = np.array([table[taken | 1 << k, _number(candles[k])] for k in left])
        nearest = ways.argmin(0)
        table[taken] = ways.min(0) + behind[nearest]
    table[-2], table[-1] = flame, song
    finite = np.isfinite(table)
    return np.where(finite, table, table.max(1, where=finite, initial=0.0)[:, None])


def _number(cell: Cell) -> int:
    return (cell.map * SIZE + cell.y) * SIZE + cell.x


def _cells(world: World) -> Iterable[Cell]:
    for number in range(len(world.maps) * SIZE**2):
        yield Cell(number // SIZE**2, number % SIZE, number // SIZE % SIZE)


def _before(world: World, who: str) -> list[Cell]:
    """Return the cells next to somebody."""
    there = world.people[who]
    near = [Cell(there.map, there.x + dx, there.y + dy) for _, dx, dy in WAYS]
    return [cell for cell in near if world.can_stand(cell)]


def _distances(world: World, goals: Collection[Cell]) -> Array:
    """Return the cells from each cell to the nearest goal, inf where no way leads to one."""
    sources: dict[Cell, list[Cell]] = {}
    for cell in filter(world.can_stand, _cells(world)):
        for _, near in world.neighbours(cell):
            sources.setdefault(near, []).append(cell)
    found = np.full(len(world.maps) * SIZE**2, np.inf)
    found[[_number(cell) for cell in goals]] = 0
    waiting = deque(goals)
    while waiting:
        cell = waiting.popleft()
        for source in sources.get(cell, []):
            if np.isinf(found[_number(source)]):
                found[_number(source)] = found[_number(cell)] + 1
                waiting.append(source)
    return found
