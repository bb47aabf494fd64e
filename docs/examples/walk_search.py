"""A beam search through Lantern Walk: the machine expands positions, the map judges them.

What is found is a plan for a start state, without sticky actions. Nothing is learnt.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from fastenv import BatchEngine
from fastenv.gameboy.lantern_walk import SIZE, WAYS, Cell, World, load_world
from fastenv.gameboy.tables import WRAM
from training.run.envs import make_engine
from training.run.options import require

ENV = "LanternWalk-v0"
BUTTONS = ("a", "right", "left", "up", "down")
OPTIONS = {"allowed_buttons": BUTTONS, "stack_k": 1, "pixels": "packed72x20"}  # nobody watches
LANES = 256
DEPTH = 512  # steps, as long as the episodes of an evaluation
WIDTH = 16
FAR = 10_000  # more cells than any way has
# The page of memory in which the game keeps where it is, and what of it says nothing of that.
PAGE = slice(0xC100 - WRAM, 0xC200 - WRAM)
COUNTERS = {"steps": 2, "held": 1, "new": 1, "frame": 1, "rng": 1}


class Quest:
    """Distances to the end of the quest, in cells.

    Parameters
    ----------
    world : World
    """

    def __init__(self, world: World) -> None:
        self.world, self.candles = world, world.candles()
        self._known: dict[Any, int] = {}
        self._bram, self._wick = (
            self._measure_distances(self._find_cells_beside(name)) for name in ("bram", "wick")
        )
        self._to_candle = [self._measure_distances([cell]) for cell in self.candles]
        at_wick, at_bram = self._find_cells_beside("wick"), self._find_cells_beside("bram")
        self._home = min(self._bram.get(cell, FAR) for cell in at_wick)
        self._song = min(self._wick.get(cell, FAR) for cell in at_bram) + self._home

    def _find_cells_beside(self, person: str) -> list[Cell]:
        """Return the cells from which one talks to a person."""
        target, world = self.world.people[person], self.world
        near = [target._replace(x=target.x - dx, y=target.y - dy) for _, dx, dy in WAYS]
        return [cell for cell in near if world.can_stand(cell)]

    @cached_property
    def _before(self) -> dict[Cell, list[Cell]]:
        """The cells from which each can be entered."""
        before: dict[Cell, list[Cell]] = defaultdict(list)
        inside = range(1, SIZE - 1)
        for cell in (Cell(*at) for at in product(range(len(self.world.maps)), inside, inside)):
            if self.world.can_stand(cell):
                for _, near in self.world.neighbours(cell):
                    before[near].append(cell)
        return before

    def _measure_distances(self, goals: list[Cell]) -> dict[Cell, int]:
        """Compute for each cell its distance to the nearest goal, in cells."""
        distances, waiting = dict.fromkeys(goals, 0), deque(goals)
        while waiting:
            cell = waiting.popleft()
            for before in self._before[cell]:
                if before not in distances:
                    distances[before] = distances[cell] + 1
                    waiting.append(before)
        return distances

    def left(self, cell: Cell, taken: tuple[bool, ...], flame: bool, song: bool) -> int:
        """Return the cells of the shortest way on: candles, Bram, Wick and Bram again.

        Parameters
        ----------
        cell : Cell
            Where the way begins: on a door, behind it.
        taken : tuple of bool
            Of each candle, in the order of ``candles``.
        flame, song : bool
            Events that lie behind.
        """
        cell = self.world.doors.get(cell, cell)
        if song:
            return self._bram.get(cell, FAR)
        if flame:
            return self._wick.get(cell, FAR) + self._home
        key = cell, taken
        if key not in self._known:
            self._known[key] = self._candles_left(cell, taken)
        return self._known[key]

    def _candles_left(self, cell: Cell, taken: tuple[bool, ...]) -> int:
        if sum(taken) >= self.world.candles_needed:
            return self._bram.get(cell, FAR) + self._song
        ways = []
        for k, there in enumerate(self.candles):
            if not taken[k]:
                then = (*taken[:k], True, *taken[k + 1 :])
                far = self._to_candle[k].get(cell, FAR)
                ways.append(far + self.left(there, then, False, False))
        return min(ways)


class Walk:
    """Judges positions by the map: state rows, shape (k,)."""

    def __init__(self) -> None:
        world = load_world()
        self._quest = Quest(world)
        self._at = {name: address - WRAM for name, address in world.memory.items()}
        self._flags = [world.flag(cell) for cell in self._quest.candles]
        self._places = np.ones(PAGE.stop - PAGE.start, np.bool_)
        for name, size in COUNTERS.items():
            first = self._at[name] - PAGE.start
            self._places[first : first + size] = False

    def left(self, rows: np.ndarray) -> np.ndarray:
        """Return the cells that are left to walk, and a step to talk at the end; 0 at the goal."""
        memory, bits = rows["wram"], self._quest.world.quest_bits
        cells = zip(*(memory[:, self._at[n]].tolist() for n in ("map", "x", "y")), strict=True)
        taken = np.stack([memory[:, at - WRAM] & mask != 0 for at, mask in self._flags], 1)
        quest = memory[:, self._at["quest"]]
        events = [(quest >> bits[name] & 1).tolist() for name in ("flame", "song")]
        ways = [
            self._quest.left(Cell(*cell), tuple(candles), *done)
            for cell, candles, *done in zip(cells, taken.tolist(), *events, strict=True)
        ]
        finished = memory[:, self._at["done"]] != 0
        left: np.ndarray = np.where(finished, 0, np.array(ways, np.int64) + 1)
        return left

    def keys(self, rows: np.ndarray) -> np.ndarray:
        """Return a hash of the game's memory, without what counts frames."""
        pages = np.ascontiguousarray(rows["wram"][:, PAGE][:, self._places])
        return np.array([hash(page.tobytes()) for page in pages], np.int64)


def start_engine(lanes: int = 1, **options: Any) -> BatchEngine:
    """Return an engine of the environment that is searched.

    Parameters
    ----------
    lanes : int
    **options
        Of the environment, such as ``states`` and ``start_state``.
    """
    return make_engine(ENV, lanes, OPTIONS | options)


@dataclass(frozen=True)
class Searched:
    """What a beam has found.

    Parameters
    ----------
    plans : list of list of int
        Of each lane the buttons to the end of the quest, or to the nearest position of the last
        step, where it is not reached.
    expanded : int
        Steps that were tried.
    """

    plans: list[list[int]]
    expanded: int

    def plan(self, lane: int = 0) -> list[int]:
        """Return the plan of a lane."""
        return self.plans[lane]


def search_walk(
    engine: BatchEngine, width: int = WIDTH, depth: int = DEPTH, lanes: int = LANES
) -> Searched:
    """Search with a beam from the row of each lane of an engine; no lane moves.

    Parameters
    ----------
    engine : BatchEngine
        Of :func:`start_engine`.
    width : int
        Positions of a step that are looked at further, those with the fewest cells still to walk.
    depth : int
        Steps.
    lanes : int
        Steps that are taken at once.

    Raises
    ------
    ConfigError
        If buttons do not do the same each time, or for no step or no position.
    """
    config: Any = engine.game.config  # type: ignore[attr-defined]
    require(width >= 1, "width", width, "at least 1")
    require(depth >= 1, "depth", depth, "at least 1")
    require(config.sticky == 0, "sticky", config.sticky, "0: a plan needs steps without chance")
    judge, aside, count = Walk(), BatchEngine(engine.game, lanes, info_columns=()), engine.num_envs
    rows, roots, expanded = engine.get_states(), np.arange(count), 0
    # Of each step the positions before it that are gone on from, and the buttons.
    taken: list[tuple[np.ndarray, np.ndarray]] = []
    plans: dict[int, list[int]] = {}
    while True:
        parents, buttons, then = _try_buttons(aside, rows)
        roots, left = roots[parents], judge.left(then)
        taken.append((parents, buttons))
        expanded, last = expanded + len(then), len(taken) == depth
        kept = _choose(roots, left, judge.keys(then), width)
        kept = kept[(then["done"][kept] == 0) & (left[kept] > 0)]
        for lane in set(range(count)) - plans.keys():
            own = np.flatnonzero(roots == lane)
            nearest = int(own[left[own].argmin()])
            if last or left[nearest] == 0 or lane not in roots[kept]:
                plans[lane] = _read_plan(taken, nearest)
        if len(plans) == count:
            return Searched([plans[lane] for lane in range(count)], expanded)
        taken[-1] = parents[kept], buttons[kept]
        rows, roots = then[kept], roots[kept]


def _try_buttons(
    engine: BatchEngine, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Try every button in copies of rows; return which row, the button and the row then, (k,)."""
    config: Any = engine.game.config  # type: ignore[attr-defined]
    allowed = np.flatnonzero([config.is_allowed(action) for action in range(engine.num_actions)])
    lanes, parents = engine.num_envs, np.arange(len(rows)).repeat(len(allowed))
    buttons = np.tile(allowed, len(rows))
    then, chosen = rows[parents], np.zeros(lanes, np.int32)
    for first in range(0, len(then), lanes):
        part = slice(first, first + lanes)
        own = np.arange(len(then[part]))
        chosen[own] = buttons[part]
        engine.set_states(then[part], own, trusted=True)
        engine.step_many(chosen, select=np.arange(lanes) < len(own), autoreset=False)
        then[part] = engine.get_states(own)
    return parents, buttons, then


def _choose(roots: np.ndarray, left: np.ndarray, keys: np.ndarray, width: int) -> np.ndarray:
    """Choose the nearest positions of each lane, of equal ones the first; int (m,), rising."""
    order = np.lexsort((left, roots))
    names = np.stack([roots[order], keys[order]])
    order = order[np.sort(np.unique(names, axis=1, return_index=True)[1])]
    place = np.arange(len(order)) - np.searchsorted(roots[order], roots[order])
    return np.sort(order[place < width])


def _read_plan(taken: list[tuple[np.ndarray, np.ndarray]], place: int) -> list[int]:
    """Return the buttons that lead to a position of the last step."""
    plan: list[int] = []
    for parents, buttons in reversed(taken):
        plan.append(int(buttons[place]))
        place = int(parents[place])
    return plan[::-1]
