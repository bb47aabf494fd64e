"""Make a bank of start states by playing (docs/gameboy.md, 18).

``python -m fastenv bank`` plays a ROM with random buttons, from power-up again for each state and
for a different number of steps, and writes the states in which it stopped. Lantern Walk is played
by its solver for a part of the way, so that all maps and all parts of the quest are reached; its
first state is the beginning of the walk. With ``--wander`` the solver walks to a random cell
instead, so that the quest does not go on. A state that is known already is left out, and another
one is played instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.common import read_rom
from fastenv.gameboy.config import OURS
from fastenv.gameboy.console import Console
from fastenv.gameboy.frames import WHOLE
from fastenv.gameboy.lantern_walk import SIZE, Cell, Solver, Walker, load_world
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.starts import Starts
from fastenv.gameboy.tables import WRAM, Key

FRAMES, HELD = 24, 8  # of a step
BUTTONS = ("A", "B", "UP", "DOWN", "LEFT", "RIGHT", "UP", "DOWN", "LEFT", "RIGHT", "START")


class Player:
    """A console at power-up, played by a solver or with random buttons.

    Parameters
    ----------
    cartridge : Cartridge
    solver : Solver or None
        Of Lantern Walk.
    """

    def __init__(self, cartridge: Cartridge, solver: Solver | None) -> None:
        self.console: Console = Console(cartridge, power_up_row(cartridge))
        self.solver = solver

    def read(self, address: int) -> int:
        """Return a byte of WRAM."""
        return int(self.console.row["wram"][0, address - WRAM])

    def press(self, button: str | None) -> None:
        """Take a step with a button held for a part of it."""
        self.console.press(0 if button is None else 1 << Key[button])
        self.console.run_frames(HELD, draw=False)
        self.console.press(0)
        self.console.run_frames(FRAMES - HELD)

    def begin(self) -> None:
        """Play Lantern Walk to the beginning of the walk."""
        assert self.solver is not None
        memory = self.solver.world.memory
        while self.read(memory["mode"]) != 1 or self.read(memory["dialogue"]):
            self.press(self.solver.button(self.read))
        self.press(None)

    def play(self, steps: int, rng: np.random.Generator, solved: float) -> None:
        """Take steps, that share of them as the solver would, the others with random buttons."""
        for _ in range(steps):
            button: str | None = BUTTONS[rng.integers(len(BUTTONS))]
            if self.solver is not None and rng.random() < solved:
                button = self.solver.button(self.read)
            self.press(button)

    def is_walking(self) -> bool:
        """Whether Lantern Walk is under way; any other program always is."""
        if self.solver is None:
            return True
        memory = self.solver.world.memory
        return self.read(memory["mode"]) == 1 and not self.read(memory["done"])

    def state(self) -> tuple[Any, bytes]:
        """Return the row, and the picture, packed."""
        return self.console.row.copy(), WHOLE.pack(self.console.picture.reshape(-1).tolist())


def states(
    cartridge: Cartridge, seed: int, max_steps: int, wander: bool
) -> Iterator[tuple[Any, bytes]]:
    """Yield states for ever, the first one the beginning unless there are only walks."""
    world = load_world()
    cells = [Cell(*at) for at in np.ndindex(len(world.maps), SIZE, SIZE)]
    cells = [cell for cell in cells if world.can_stand(cell)]
    rng = np.random.default_rng(seed)
    ours = cartridge.sha256 == read_rom(OURS).sha256
    for number in range(sys.maxsize):
        solver = Walker(cells[rng.integers(len(cells))], world) if wander else Solver(world)
        player = Player(cartridge, solver if ours else None)
        if ours:
            player.begin()
        if number or wander:
            player.play(int(rng.integers(1, max_steps + 1)), rng, rng.random() ** 0.5)
        if player.is_walking():
            yield player.state()


def make_bank(
    cartridge: Cartridge,
    count: int,
    seed: int,
    max_steps: int,
    others: Sequence[Starts] = (),
    wander: bool = False,
) -> Starts:
    """Return a bank of different states.

    Parameters
    ----------
    cartridge : Cartridge
    count, seed, max_steps : int
        How many states; of the random buttons; most steps to a state.
    others : sequence of Starts
        States that are not to be in it.
    wander : bool
        Lantern Walk is walked through instead of solved.
    """
    known = {row.tobytes() for bank in others for row in bank.rows}
    found: list[tuple[Any, bytes]] = []
    for row, frame in states(cartridge, seed, max_steps, wander):
        if row.tobytes() not in known:
            known.add(row.tobytes())
            found.append((row, frame))
        if len(found) == count:
            break
    frames = np.frombuffer(b"".join(frame for _, frame in found), np.uint8)
    return Starts(np.concatenate([row for row, _ in found]), frames.reshape(count, -1))
