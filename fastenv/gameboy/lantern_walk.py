"""Lantern Walk seen from outside: its memory, its world, and a solver that finishes the quest.

The game is ``roms/lantern_walk.gb``; ``roms/lantern_walk.json`` holds the addresses of what can be
read from its memory and the world: kinds of cells, maps, doors and people. ``tools/roms.py`` writes
both from the sources. docs/lantern_walk.md describes the game.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from fastenv.gameboy.shipped import shipped

SIZE = 16  # cells, across and down
BUTTONS = ("A", "B", "SELECT", "START", "RIGHT", "LEFT", "UP", "DOWN")
# By facing: the button, and where it leads.
WAYS = (("DOWN", 0, 1), ("UP", 0, -1), ("LEFT", -1, 0), ("RIGHT", 1, 0))

ReadMemory = Callable[[int], int]
"""Returns the byte at an address."""


class Cell(NamedTuple):
    """A place in the world."""

    map: int
    x: int
    y: int


@dataclass(frozen=True)
class World:
    """What the game is played in; every field is read from the ROM's data file.

    Attributes
    ----------
    memory
        Name -> address.
    maps
        One list of 16 strings of 16 signs a map.
    solid, items
        Signs of cells that cannot be entered, and of candles.
    doors
        Cell -> the cell behind the door.
    people
        Name -> cell.
    candles_needed
        How many candles Bram asks for.
    quest_bits
        Name -> bit in the byte ``quest``.
    """

    memory: dict[str, int]
    maps: list[list[str]]
    solid: str
    items: str
    doors: dict[Cell, Cell]
    people: dict[str, Cell]
    candles_needed: int
    quest_bits: dict[str, int]

    def sign(self, cell: Cell) -> str:
        """Return the sign of a cell at the start of the game."""
        return self.maps[cell.map][cell.y][cell.x]

    def can_stand(self, cell: Cell) -> bool:
        """Tell whether one can stand in a cell: it is not solid, and no door leads on from it."""
        return self.sign(cell) not in self.solid and cell not in self.doors

    def candles(self) -> list[Cell]:
        """Return the cells of all candles."""
        return [
            Cell(m, x, y)
            for m, rows in enumerate(self.maps)
            for y, row in enumerate(rows)
            for x, sign in enumerate(row)
            if sign in self.items
        ]

    def flag(self, cell: Cell) -> tuple[int, int]:
        """Return address and mask of the bit that says that a candle was taken."""
        address = self.memory["flags"] + 4 * cell.map + cell.y // 4
        return address, 1 << ((cell.x + 2 * cell.y) & 7)

    def neighbours(self, cell: Cell) -> Iterator[tuple[str, Cell]]:
        """Yield button and cell to which it leads, through a door if there is one."""
        for button, dx, dy in WAYS:
            near = Cell(cell.map, cell.x + dx, cell.y + dy)
            if self.sign(near) not in self.solid:
                yield button, self.doors.get(near, near)

    def way(self, start: Cell, goals: Collection[Cell]) -> list[str]:
        """Return the buttons of a shortest way to the nearest goal, by breadth-first search.

        Raises
        ------
        ValueError
            If no goal can be reached.
        """
        came_from: dict[Cell, tuple[Cell, str]] = {}
        reached, waiting = {start}, deque([start])
        while waiting:
            cell = waiting.popleft()
            if cell in goals:
                buttons: list[str] = []
                while cell != start:
                    cell, button = came_from[cell]
                    buttons.append(button)
                return buttons[::-1]
            for button, near in self.neighbours(cell):
                if near not in reached:
                    reached.add(near)
                    came_from[near] = (cell, button)
                    waiting.append(near)
        raise ValueError(f"no way from {start} to any of {sorted(goals)}")


@cache
def load_world() -> World:
    """Return the world of the ROM that ships with the package."""
    text = shipped("roms", "lantern_walk.json").read_text("utf-8")
    data = json.loads(text)
    return World(
        memory=data["memory"],
        maps=data["maps"],
        solid="".join(sign for sign, kind in data["kinds"].items() if kind["solid"]),
        items="".join(sign for sign, kind in data["kinds"].items() if kind["item"]),
        doors={Cell(*door["from"]): Cell(*door["to"]) for door in data["doors"]},
        people={name: Cell(*cell) for name, cell in data["people"].items()},
        candles_needed=data["candles_needed"],
        quest_bits=data["quest_bits"],
    )


class Solver:
    """Finish the quest from any point of it: four candles, Bram, Wick, Bram.

    It holds no state: which button comes next is a function of the machine's memory.

    Parameters
    ----------
    world
        The world; by default that of the shipped ROM.
    """

    def __init__(self, world: World | None = None) -> None:
        self.world: World = load_world() if world is None else world

    def button(self, read: ReadMemory) -> str | None:
        """Return the button to press in this step, ``None`` for no button.

        A step presses the button for some frames and lets the machine run until a walk of one
        cell, 16 frames, is over; 24 frames with the button held for 8 are enough. Pressing a
        button while the machine is busy does no harm.
        """
        at = {name: read(address) for name, address in self.world.memory.items()}
        if at["done"] and not at["dialogue"]:
            return None
        if at["mode"] != 1:  # the title, or a change of scene
            return "START" if at["mode"] == 0 else None
        if at["dialogue"]:
            return "A"
        if at["move"]:
            return None
        return self.walk(Cell(at["map"], at["x"], at["y"]), at["facing"], read)

    def walk(self, here: Cell, facing: int, read: ReadMemory) -> str | None:
        """Return the button that leads on from a cell, ``None`` to stay there."""
        person = self.person(read)
        if person is None:
            taken = ((cell, *self.world.flag(cell)) for cell in self.world.candles())
            goals = {cell for cell, address, mask in taken if not read(address) & mask}
            return self.world.way(here, goals)[0]
        target = self.world.people[person]
        for i, (button, dx, dy) in enumerate(WAYS):
            if here._replace(x=here.x + dx, y=here.y + dy) == target:
                return "A" if facing == i else button
        beside = {target._replace(x=target.x - dx, y=target.y - dy) for _, dx, dy in WAYS}
        return self.world.way(here, beside)[0]

    def person(self, read: ReadMemory) -> str | None:
        """Return whom to talk to next, ``None`` while candles are missing."""
        quest = read(self.world.memory["quest"])
        bits = self.world.quest_bits
        if not quest >> bits["flame"] & 1:
            missing = read(self.world.memory["items"]) < self.world.candles_needed
            return None if missing else "bram"
        return "bram" if quest >> bits["song"] & 1 else "wick"


class Walker(Solver):
    """Walk to a cell and stay there, whatever the quest asks for.

    Parameters
    ----------
    cell
        One in which one can stand.
    world
        See :class:`Solver`.
    """

    def __init__(self, cell: Cell, world: World | None = None) -> None:
        super().__init__(world)
        self.cell = cell

    def walk(self, here: Cell, facing: int, read: ReadMemory) -> str | None:
        """See :meth:`Solver.walk`; ``None`` at the cell."""
        return None if here == self.cell else self.world.way(here, {self.cell})[0]
