"""Which poses a falling pill can lock in, and in how many frames: docs/drmario.md, 11.

Two searches answer the same question. :func:`exhaustive` visits one state after the other and is
the truth that everything else is compared with. :func:`plan` moves all eight columns, orders of
the halves, held buttons and velocities at once, as the bits of one integer; the reference
environment uses it, and :func:`script` turns one of its answers into buttons. The compiled twin is
``_planner.pxd``.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastenv.errors import ConfigError, InvalidActionError

RIGHT, LEFT, DOWN, B, A = 0x01, 0x02, 0x04, 0x40, 0x80
ROWS, COLUMNS = 16, 8
NUM_ACTIONS = 4 * ROWS * COLUMNS
INFEASIBLE = 0xFFFF
MAX_GRAVITY = 69
MAX_VELOCITY = 15

# Rotation buttons as the set held in the last frame: bit 0 is A, bit 1 is B.
HELD_BYTES = (0, A, B, A | B)
STANDARD = (0, 1, 2)
EXTENDED = (0, 1, 2, 3)
# Directions as the set held, by its number: bit 0 is left, bit 1 is right.
DIRECTION_BYTES = (0, LEFT, RIGHT, LEFT | RIGHT)


class Root(NamedTuple):
    """A falling pill before the first frame of a search.

    ``y`` counts rows from the bottom; ``hold_dir`` (bit 0 left, bit 1 right) and ``rot_hold``
    (bit 0 A, bit 1 B) are the buttons held in the frame before. A search begins with at most one
    direction held.
    """

    x: int = 3
    y: int = 15
    rot: int = 0
    speed_counter: int = 0
    hor_velocity: int = 0
    hold_dir: int = 0
    rot_hold: int = 0


SPAWN = Root()


def action_of(x: int, y: int, rot: int) -> int | None:
    """Return the number of the action (docs/drmario.md, 11.3), None with a half above the top."""
    if rot & 1 and y == ROWS - 1:
        return None
    row = ROWS - 1 - y
    orientation, row, column = (
        (0, row, x),
        (3, row, x),
        (2, row, x + 1),
        (1, row - 1, x),
    )[rot]
    return orientation * 128 + row * 8 + column


class Bottle:
    """Where a pill fits among the occupied cells of a board.

    ``fits[rot & 1][y]`` has bit ``x`` set where the pose fits; index -1, below the bottom, is 0.
    """

    def __init__(self, board: npt.ArrayLike) -> None:
        cells = np.asarray(board).reshape(ROWS, COLUMNS)[::-1] >= 0xF0
        free = [sum(1 << x for x in range(COLUMNS) if row[x]) for row in cells.tolist()]
        horizontal = [row & row >> 1 for row in free]
        above = [*free[1:], 0xFF]  # a half above the top row is always allowed
        vertical = [row & upper for row, upper in zip(free, above, strict=True)]
        self.fits: tuple[list[int], list[int]] = ([*horizontal, 0], [*vertical, 0])

    def __call__(self, x: int, y: int, rot: int) -> bool:
        """Tell whether the pose fits."""
        return x >= 0 and bool(self.fits[rot & 1][y] >> x & 1)


# -- one state, one frame: docs/drmario.md, 11.2 -------------------------------------------


def shift(
    bottle: Bottle, pose: tuple[int, int, int], direction: int, velocity: int, before: int
) -> tuple[int, int]:
    """Do the horizontal stage; return the column and the velocity, 0 where it is dead."""
    x, y, rot = pose
    if direction == 0:
        return x, 0
    if direction & ~before:
        velocity = 0
    else:
        velocity += 1
        if velocity <= MAX_VELOCITY:
            return x, velocity
        velocity = 10
    for button, way, wall in ((2, 1, 7 - (not rot & 1)), (1, -1, 0)):
        if direction & button and x != wall:
            if bottle(x + way, y, rot):
                x += way
            else:
                velocity = MAX_VELOCITY
    return x, velocity


def turn(bottle: Bottle, x: int, y: int, rot: int, step: int, left: bool) -> tuple[int, int] | None:
    """Try one rotation; return the new column and rotation, None where it does not fit."""
    new = (rot + step) % 4
    if bottle(x, y, new):
        return (x - 1 if left and not new & 1 and bottle(x - 1, y, new) else x), new
    if not new & 1 and bottle(x - 1, y, new):
        return x - 1, new
    return None


def rotate(bottle: Bottle, pose: tuple[int, int, int], fresh: int, left: bool) -> tuple[int, int]:
    """Do the rotation stage for freshly pressed buttons; return the column and the rotation."""
    x, y, rot = pose
    for button, step in ((1, -1), (2, 1)):
        if fresh & button:
            turned = turn(bottle, x, y, rot, step, left)
            # A failed rotation restores the pose from before the first one.
            x, rot = (pose[0], pose[2]) if turned is None else turned
    return x, rot


def frame(
    bottle: Bottle, gravity: int, state: Root, parity: int, buttons: int
) -> tuple[Root, bool]:
    """Advance one frame; return the state and whether the pill locked, in the pose it had.

    ``parity`` is that of the frame counter before the frame: down acts when it is even.
    """
    x, y, rot, counter, velocity, before, held = state
    direction = DIRECTION_BYTES.index(buttons & (LEFT | RIGHT))
    pressed = (1 if buttons & A else 0) | (2 if buttons & B else 0)
    counter += 1
    if counter > gravity or (parity == 0 and buttons & 0x0F == DOWN):
        counter = 0
        if not bottle(x, y - 1, rot):
            return state, True
        y -= 1
    x, velocity = shift(bottle, (x, y, rot), direction, velocity, before)
    x, rot = rotate(bottle, (x, y, rot), pressed & ~held, bool(direction & 1))
    return Root(x, y, rot, counter, velocity, direction, pressed), False


def inputs(parity: int, extended: bool) -> Iterator[int]:
    """Yield the button bytes that differ at this parity (docs/drmario.md, 11.2)."""
    sets = EXTENDED if extended else STANDARD
    directions = [DIRECTION_BYTES[number] for number in sets]
    if parity == 0:
        directions.insert(1, DOWN)
    for direction in directions:
        for held in sets:
            yield direction | HELD_BYTES[held]


def exhaustive(
    board: npt.ArrayLike, parity: int, gravity: int, root: Root = SPAWN, extended: bool = False
) -> npt.NDArray[np.uint16]:
    """Search every state with every input; arguments and result as those of :func:`plan`.

    Seconds to a minute for an empty board: the truth for tests, nothing else.
    """
    bottle, root = checked(board, parity, gravity, root)
    costs = np.full(NUM_ACTIONS, INFEASIBLE, np.uint16)
    # The stages see little of a state each, so their answers are kept.
    move = cache(lambda *args: shift(bottle, *args))
    turned = cache(lambda *args: rotate(bottle, *args))
    sets = EXTENDED if extended else STANDARD

    def successors(state: tuple[int, ...], low: bool) -> Iterator[tuple[int, ...]]:
        x, y, rot, counter, velocity, before, held = state
        y, counter = (y - 1, 0) if low else (y, counter + 1)
        for direction in sets:
            column, speed = move((x, y, rot), direction, velocity, before)
            for pressed in sets:
                last, new = turned((column, y, rot), pressed & ~held, bool(direction & 1))
                yield last, y, new, counter, speed, direction, pressed

    def next_states(states: Iterable[tuple[int, ...]], depth: int) -> Iterator[tuple[int, ...]]:
        down = (parity + depth) % 2 == 0
        for state in states:
            x, y, rot, counter = state[:4]
            forced = counter == gravity
            low = bottle(x, y - 1, rot)
            if (forced or down) and not low:
                action = action_of(x, y, rot)
                if action is not None:
                    costs[action] = min(costs[action], depth + 1)
            if not forced:
                yield from successors(state, False)
            if low and forced:
                yield from successors(state, True)
            elif low and down:
                yield from (new for new in successors(state, True) if new[5] == 0)

    states: set[tuple[int, ...]] = {tuple(root)} if bottle(*root[:3]) else set()
    seen: tuple[set[tuple[int, ...]], ...] = (set(), set())
    depth = 0
    while states:
        depth, states = depth + 1, set(next_states(states, depth)) - seen[(depth + 1) % 2]
        seen[depth % 2].update(states)
    return costs


# -- all columns at once: docs/drmario.md, 11.4 -----------------------------------------
#
# A set of states with one row, counter and orientation is an integer of 49 words: word 0 with no
# direction held, then left, right and both with velocities 0 to 15. A word has a byte for every
# order of the halves (rot >> 1) and set of held rotation buttons, a byte a bit for every column.

WORDS = 49
FIRST_WORDS = (0, 1, 17, 33)  # by the directions held
WORD = (1 << 64) - 1
SPEEDS = (1 << 64 * 16) - 1
EVERY_BYTE = sum(1 << 8 * i for i in range(WORDS * 8))
NOT_HELD = sum(0xFF << 32 * i for i in range(WORDS * 2))
FIRST_ORDER = sum(0xFFFFFFFF << 64 * i for i in range(WORDS))


class Step(NamedTuple):
    """Sets of states of one row and counter, horizontal and vertical."""

    flat: int
    tall: int


EMPTY = Step(0, 0)


def merged(states: int) -> int:
    """Return the union of the words, whatever the velocity."""
    for words in (32, 16, 8, 4, 2, 1):
        states |= states >> 64 * words
    return states & WORD


def released(states: int) -> int:
    """Return the states after a frame without a rotation button."""
    states |= states >> 16
    return (states | states >> 8) & NOT_HELD


class Columns:
    """What one frame does to sets of states of one bottle."""

    def __init__(self, bottle: Bottle, extended: bool) -> None:
        self.bottle = bottle
        self.extended = extended
        self.fits: list[list[int]] = [[mask * EVERY_BYTE for mask in rows] for rows in bottle.fits]

    def directions(self, states: int, y: int, tall: int) -> Iterator[tuple[int, bool]]:
        """Yield what each set of directions leads to, none first, and whether left is in it."""
        yield merged(states), False
        for direction in (1, 2, 3) if self.extended else (1, 2):
            held = aged = 0  # the states in which no direction is new, by place and by velocity
            for before in (1, 2, 3):
                if not direction & ~before:
                    speeds = SPEEDS << 64 * FIRST_WORDS[before] & states
                    held |= speeds
                    aged |= speeds >> 64 * FIRST_WORDS[before]
            pressed, blocked = self.attempt(merged(states & ~held), y, tall, direction)
            again, still = self.attempt(aged >> 64 * 15, y, tall, direction)
            words = pressed | aged << 64 & SPEEDS | again << 64 * 10
            words |= (blocked | still) << 64 * 15
            yield words << 64 * FIRST_WORDS[direction], bool(direction & 1)

    def attempt(self, word: int, y: int, tall: int, direction: int) -> tuple[int, int]:
        """Try to move; return what no cell has stopped, and what one has."""
        fits, charged = self.bottle.fits[tall][y], 0
        if direction & 2:
            free = (fits >> 1) * EVERY_BYTE & WORD
            walled = (0x40 << tall) * EVERY_BYTE & WORD
            charged = word & ~free & ~walled
            word = (word & free) << 1 | word & walled
        if direction & 1:
            free, walled = (fits << 1 & 0xFF) * EVERY_BYTE & WORD, EVERY_BYTE & WORD
            charged = (charged & free) >> 1 | charged & ~free | word & ~free & ~walled
            word = (word & free) >> 1 | word & walled
        return word, charged

    def turned(self, states: int, y: int, tall: int, button: int, left: bool) -> int:
        """Return where a rotation leads the states, as if their buttons were not held."""
        if not tall:
            turned = states & self.fits[1][y]
        else:
            fits = self.fits[0][y]
            beside = (self.bottle.fits[0][y] << 1 & 0xFF) * EVERY_BYTE
            goes = states & beside if left else states & ~fits & beside
            turned = goes >> 1 | states & fits & ~goes
        # A swaps the order of the halves going up, B going down.
        if (button == 2) == bool(tall):
            turned = (turned >> 32) & FIRST_ORDER | (turned & FIRST_ORDER) << 32
        return turned

    def rotations(self, states: int, y: int, tall: int, left: bool) -> tuple[int, int]:
        """Return the states with the same orientation after the rotation stage, and the others.

        A button that does nothing is left out: not pressing it is never worse.
        """
        same, other = released(states), 0
        for button in (1, 2):
            fresh = (states | states >> 8 * (3 - button)) & NOT_HELD
            other |= self.turned(fresh, y, tall, button, left) << 8 * button
        if self.extended:
            first = self.turned(states & NOT_HELD, y, tall, 1, left)
            same |= self.turned(first, y, 1 - tall, 2, left) << 24
        return same, other

    def moved(self, states: Step, y: int, neutral: bool) -> Step:
        """Do the horizontal and the rotation stage; ``neutral`` allows no direction alone."""
        totals = [0, 0]
        for tall in (0, 1):
            if states[tall]:
                for words, left in self.directions(states[tall], y, tall):
                    same, other = self.rotations(words, y, tall, left)
                    totals[tall] |= same
                    totals[1 - tall] |= other
                    if neutral:
                        break
        return Step(*totals)

    def lowered(self, states: Step, y: int) -> tuple[Step, Step]:
        """Split by what fits one row lower and what rests."""
        fits = Step(*(part & rows[y - 1] for part, rows in zip(states, self.fits, strict=True)))
        return fits, Step(states.flat & ~fits.flat, states.tall & ~fits.tall)


Layer = dict[tuple[int, int], Step]  # by row and speed counter


def layers(
    columns: Columns, parity: int, gravity: int, root: Root, lock: Callable[[int, int, Step], bool]
) -> Iterator[Layer]:
    """Yield the states first seen before each frame, breadth first.

    ``lock(depth, y, states)`` is told what locks in frame ``depth`` and says whether to go on.
    """
    x, y, rot, counter, velocity, direction, held = root
    word = FIRST_WORDS[direction] + velocity  # which is 0 where it is dead
    bit = 1 << 64 * word + 8 * ((rot >> 1) * 4 + held) + x
    layer: Layer = {(y, counter): Step(0, bit) if rot & 1 else Step(bit, 0)}
    seen: tuple[dict[tuple[int, int], Step], ...] = ({}, {})
    depth, going_on = 0, columns.bottle(x, y, rot)
    while layer and going_on:
        yield layer
        down = (parity + depth) % 2 == 0
        depth += 1
        following: Layer = {}
        for (y, counter), states in layer.items():
            forced = counter == gravity
            if forced or down:
                falling, resting = columns.lowered(states, y)
                going_on &= lock(depth, y, resting)
                _add(following, (y - 1, 0), columns.moved(falling, y - 1, not forced))
            if not forced:
                _add(following, (y, counter + 1), columns.moved(states, y, False))
        layer = _unseen(following, seen[depth % 2])


def _add(layer: Layer, key: tuple[int, int], states: Step) -> None:
    if states != EMPTY:
        old = layer.get(key, EMPTY)
        layer[key] = Step(old.flat | states.flat, old.tall | states.tall)


def _unseen(layer: Layer, seen: Layer) -> Layer:
    """Return the states not in ``seen`` and add them; one with no button held covers others."""
    unseen: Layer = {}
    for key, states in layer.items():
        old = seen.get(key, EMPTY)
        parts = []
        for new, known in zip(states, old, strict=True):
            free = (new | known) & NOT_HELD
            parts.append(new & ~known & ~(free << 8 | free << 16 | free << 24))
        fresh = Step(*parts)
        _add(seen, key, fresh)
        _add(unseen, key, fresh)
    return unseen


def poses_at(states: Step) -> Iterator[tuple[int, int]]:
    """Yield column and rotation of every pose in a set of states."""
    for tall, part in enumerate(states):
        word = released(merged(part))
        for order in (0, 1):
            columns = word >> 32 * order & 0xFF
            yield from ((x, tall + 2 * order) for x in range(COLUMNS) if columns >> x & 1)


def lockable(bottle: Bottle, root: Root) -> set[int]:
    """Return a superset of the feasible actions: a flood fill that knows no time."""
    found, actions = set(), set()
    open_ends = [root[:3]] if bottle(*root[:3]) else []
    while open_ends:
        pose = open_ends.pop()
        if pose in found:
            continue
        found.add(pose)
        x, y, rot = pose
        neighbours = [(x, y - 1, rot), (x - 1, y, rot), (x + 1, y, rot)]
        for step in (-1, 1):
            neighbours += [(x, y, (rot + step) % 4), (x - 1, y, (rot + step) % 4)]
        if rot & 1:  # both rotation buttons in one frame may shift it beside an obstacle
            neighbours.append((x - 1, y, rot))
        open_ends += [pose for pose in neighbours if bottle(*pose)]
        action = action_of(*pose)
        if action is not None and not bottle(x, y - 1, rot):
            actions.add(action)
    return actions


def plan(
    board: npt.ArrayLike, parity: int, gravity: int, root: Root = SPAWN, extended: bool = False
) -> npt.NDArray[np.uint16]:
    """Find the least number of frames to every placement (docs/drmario.md, 11).

    Parameters
    ----------
    board : array_like of uint8, (128,)
        Cells from the top left; a byte below 0xF0 blocks.
    parity : int
        Parity of the frame counter before the first frame.
    gravity : int
        Frames a row takes, less one: 0 to 69.
    root : Root
        Where the pill is and what is held; the spawn by default.
    extended : bool
        Allow A and B in the same frame, and left and right.

    Returns
    -------
    numpy.ndarray of uint16, (512,)
        Frames to and including the one that locks the pill, by action; 0xFFFF if infeasible.

    Raises
    ------
    ConfigError
        If an argument is out of range.
    """
    bottle, root = checked(board, parity, gravity, root)
    costs = np.full(NUM_ACTIONS, INFEASIBLE, np.uint16)
    missing = lockable(bottle, root)

    def lock(depth: int, y: int, states: Step) -> bool:
        for x, rot in poses_at(states):
            action = action_of(x, y, rot)
            if action in missing:
                missing.remove(action)
                costs[action] = depth
        return bool(missing)

    for _ in layers(Columns(bottle, extended), parity, gravity, root, lock):
        pass
    return costs


def script(
    board: npt.ArrayLike,
    parity: int,
    gravity: int,
    action: int,
    root: Root = SPAWN,
    extended: bool = False,
) -> bytes:
    """Return a shortest sequence of button bytes, one a frame, that locks the pill in a placement.

    Arguments as those of :func:`plan`; the length is the cost.

    Raises
    ------
    InvalidActionError
        If the action is infeasible.
    """
    bottle, root = checked(board, parity, gravity, root)
    targets: list[tuple[int, int, int]] = []

    def lock(_depth: int, y: int, states: Step) -> bool:
        targets.extend((x, y, rot) for x, rot in poses_at(states) if action_of(x, y, rot) == action)
        return not targets

    history = list(layers(Columns(bottle, extended), parity, gravity, root, lock))
    if not targets:
        raise InvalidActionError(f"action {action} is infeasible; choose one with a finite cost")
    depth = len(history) - 1

    def leads(state: Root, buttons: int, goal: Root | None) -> bool:
        new, locked = frame(bottle, gravity, state, (parity + depth) % 2, buttons)
        return locked and state[:3] == targets[0] if goal is None else new == goal and not locked

    found: list[int] = []
    goal: Root | None = None
    for depth in range(len(history) - 1, -1, -1):
        goal, buttons = next(
            (state, buttons)
            for state in _states(history[depth], targets[0][1] if goal is None else goal.y)
            for buttons in (*inputs((parity + depth) % 2, extended),)
            if leads(state, buttons, goal)
        )
        found.append(buttons)
    return bytes(reversed(found))


def _states(layer: Layer, y: int) -> Iterator[Root]:
    """Yield the states of a layer in this row and in the one above, one by one."""
    for (row, counter), states in layer.items():
        if row - y in (0, 1):
            for tall, part in enumerate(states):
                while part:
                    bit = (part & -part).bit_length() - 1
                    part &= part - 1
                    word, lane, x = bit // 64, bit // 8 % 8, bit % 8
                    direction = (word + 15) // 16
                    velocity = 0 if word == 0 else (word - 1) % 16
                    rot = tall + 2 * (lane // 4)
                    yield Root(x, row, rot, counter, velocity, direction, lane % 4)


def checked(board: npt.ArrayLike, parity: int, gravity: int, root: Root) -> tuple[Bottle, Root]:
    """Check the arguments of a search; return the bottle and the root, its dead velocity at 0."""
    cells = np.asarray(board)
    if cells.shape != (ROWS * COLUMNS,) or cells.dtype != np.uint8:
        raise ConfigError(f"board must be uint8 (128,), got {cells.dtype} {cells.shape}")
    if parity not in (0, 1):
        raise ConfigError(f"parity must be 0 or 1, got {parity}")
    if not 0 <= gravity <= MAX_GRAVITY:
        raise ConfigError(f"gravity must be 0 to {MAX_GRAVITY}, got {gravity}")
    limits = Root(7, 15, 3, gravity, MAX_VELOCITY, 2, 3)
    for name, value, limit in zip(Root._fields, root, limits, strict=True):
        if not 0 <= value <= limit:
            raise ConfigError(f"root.{name} must be 0 to {limit}, got {value}")
    return Bottle(cells), root if root.hold_dir else root._replace(hor_velocity=0)
