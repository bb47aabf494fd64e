"""Lantern Walk: a world that holds together, and a quest that a solver finishes."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from fastenv.gameboy.lantern_walk import SIZE, WAYS, Cell, Solver, load_world
from tests.gameboy import pyboy
from tests.slow import every
from tools.roms import ROMS

WORLD = load_world()
START = Cell(0, 2, 4)
EVERYWHERE = [
    Cell(m, x, y) for m in range(len(WORLD.maps)) for y in range(SIZE) for x in range(SIZE)
]


def reachable() -> set[Cell]:
    found, waiting = {START}, [START]
    while waiting:
        for _, near in WORLD.neighbours(waiting.pop()):
            if near not in found:
                found.add(near)
                waiting.append(near)
    return found


REACHABLE = reachable()


# -- the world -------------------------------------------------------------------------------------


def test_maps_are_squares_within_solid_borders() -> None:
    assert len(WORLD.maps) >= 3
    for rows in WORLD.maps:
        assert [len(row) for row in rows] == [SIZE] * SIZE
        border = rows[0] + rows[-1] + "".join(row[0] + row[-1] for row in rows)
        assert set(border) <= set(WORLD.solid)


def test_six_candles_lie_where_one_can_go_and_have_flags_of_their_own() -> None:
    candles = WORLD.candles()
    assert len(candles) == 6 >= WORLD.candles_needed == 4
    assert set(candles) <= REACHABLE
    assert len({WORLD.flag(cell) for cell in candles}) == 6
    assert all(WORLD.flag(cell)[0] < WORLD.memory["quest"] for cell in candles)


def test_every_door_leads_to_free_ground_and_back() -> None:
    maps = {(near.map, far.map) for near, far in WORLD.doors.items()}
    for near, far in WORLD.doors.items():
        assert far in REACHABLE
        assert far not in WORLD.doors
        assert (far.map, near.map) in maps
    in_maps = {cell for cell in EVERYWHERE if WORLD.sign(cell) in "DCMvL"}
    assert in_maps == set(WORLD.doors)


def test_people_can_be_talked_to() -> None:
    for cell in WORLD.people.values():
        assert WORLD.sign(cell) in WORLD.solid
        assert {cell._replace(x=cell.x - dx, y=cell.y - dy) for _, dx, dy in WAYS} & REACHABLE


def test_there_is_no_way_into_a_wall() -> None:
    with pytest.raises(ValueError, match=r"no way from Cell\(map=0, x=2, y=4\) to any of"):
        WORLD.way(START, {Cell(0, 0, 0)})


# -- the game --------------------------------------------------------------------------------------


@pytest.fixture
def machine() -> Iterator[Any]:
    machine = pyboy.start(ROMS / "lantern_walk.gb")
    machine.tick(30, False)  # a game begins with the title
    yield machine
    machine.stop(save=False)


def read(machine: Any, name: str) -> int:
    return int(machine.memory[WORLD.memory[name]])


def finish(machine: Any, limit: int) -> list[tuple[int, int]]:
    """Let the solver play to the end; return items and quest bits as they changed."""
    solver, seen = Solver(), [(0, 0)]
    for _ in range(limit):
        now = (read(machine, "items"), read(machine, "quest"))
        if now != seen[-1]:
            seen.append(now)
        if read(machine, "done") and not read(machine, "dialogue"):
            return seen
        pyboy.step(machine, solver.button(lambda address: int(machine.memory[address])))
    raise AssertionError(f"not finished within {limit} steps: {seen}")


def test_solver_finishes_the_quest_in_order(machine: Any) -> None:
    assert finish(machine, 250) == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (4, 1), (4, 3), (4, 7)]
    assert read(machine, "steps") == 149


@pytest.mark.parametrize("seed", every(2, range(2)))
def test_solver_finishes_from_wherever_chance_leads(machine: Any, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        pyboy.step(machine, chance.choice(["A", "B", "START", "UP", "DOWN", "LEFT", "RIGHT", None]))
    assert finish(machine, 400)[-1][1] == 7, f"seed {seed}"


def test_nobody_wants_anything_out_of_order(machine: Any) -> None:
    solver = Solver()
    memory = machine.memory
    while not read(machine, "items"):
        pyboy.step(machine, solver.button(memory.__getitem__))
    while read(machine, "dialogue"):
        pyboy.step(machine, "A")
    for name in ("bram", "wick"):
        target = WORLD.people[name]
        beside = {target._replace(x=target.x - dx, y=target.y - dy) for _, dx, dy in WAYS}
        for _ in range(100):
            here = Cell(read(machine, "map"), read(machine, "x"), read(machine, "y"))
            if here in beside:
                break
            free = not read(machine, "dialogue") and read(machine, "mode") == 1
            pyboy.step(machine, WORLD.way(here, beside)[0] if free else "A")
        towards = next(
            button
            for button, dx, dy in WAYS
            if here._replace(x=here.x + dx, y=here.y + dy) == target
        )
        pyboy.step(machine, towards)
        pyboy.step(machine, "A")
        assert read(machine, "dialogue"), name
        assert read(machine, "quest") == 0, name
        while read(machine, "dialogue"):
            pyboy.step(machine, "A")
    assert not read(machine, "done")


def test_a_walk_takes_sixteen_frames_and_a_wall_stops_it(machine: Any) -> None:
    solver = Solver()
    while read(machine, "mode") != 1 or read(machine, "dialogue"):
        pyboy.step(machine, solver.button(machine.memory.__getitem__))
    machine.button_press("right")
    machine.tick(1, False)
    left = [read(machine, "move")]
    while left[-1] and len(left) < 40:
        machine.button_release("right")
        machine.tick(1, False)
        left.append(read(machine, "move"))
    assert left[-16:] == list(range(15, -1, -1))
    assert (read(machine, "x"), read(machine, "y"), read(machine, "facing")) == (3, 4, 3)
    pyboy.step(machine, "UP")
    pyboy.step(machine, "UP")  # there stands the house: its lantern is at 4, 3, its wall at 3, 2
    assert (read(machine, "x"), read(machine, "y"), read(machine, "facing")) == (3, 3, 1)
    assert read(machine, "steps") == 2


def test_start_at_the_end_leads_back_to_the_title(machine: Any) -> None:
    finish(machine, 250)
    machine.tick(40, False)
    pyboy.step(machine, "START")
    assert [read(machine, name) for name in ("done", "items", "steps", "mode")] == [0] * 4
    assert finish(machine, 250)[-1] == (4, 7)
