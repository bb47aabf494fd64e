"""Two consoles on a cable as an environment, in plain Python (docs/gameboy.md, 22.1)."""

from __future__ import annotations

import numpy as np

from fastenv.gameboy.environment import RUNNING, TERMINATED, TRUNCATED, Environment
from fastenv.gameboy.linked.common import LinkCommon
from fastenv.gameboy.linked.config import SIDES
from fastenv.gameboy.reference import Link
from fastenv.rng import Rng


class LinkEnvironment:
    """One lane: the environments of two consoles that step together.

    Parameters
    ----------
    common : LinkCommon

    Attributes
    ----------
    sides : list of Environment
        Machine, frames and values of rewards of each console.
    rng : Rng
        From which the streams of the sides are drawn.
    bot_rng : list of int
        Generator of a side that is played by a bot.
    done : int
        0 running, 1 terminated, 2 truncated.
    ep_return, ep_length : list of float, int
        Kept by the engine.
    needs_action : list of int
        Always 1.
    """

    def __init__(self, common: LinkCommon) -> None:
        self.common = common
        self.sides = [Environment(side) for side in common.sides]
        self.rng = Rng()
        self.bot_rng = [0] * 4
        self.done, self.ep_return, self.ep_length = RUNNING, [0.0] * SIDES, 0
        self.needs_action = [1] * SIDES

    def reset(self, start_state: int, seed: int | None, starts: list[np.ndarray]) -> None:
        """Start an episode; nothing runs.

        Parameters
        ----------
        start_state : int
            Its number, or -1 to draw one for each side.
        seed : int, optional
            Of the stream; None goes on with it.
        starts : list of ndarray of uint8, shape (S, bytes)
            Of each side.
        """
        if seed is not None:
            self.rng = Rng(seed)
        for side, states in zip(self.sides, starts, strict=True):
            side.reset(start_state, None if seed is None else self.rng.next(), states)
            side.machine.bus.cyc = 0  # both clocks begin together
        self.bot_rng = [self.rng.next() for _ in range(4)]
        self.done, self.ep_return, self.ep_length = RUNNING, [0.0] * SIDES, 0

    def step(self, actions: list[int]) -> None:
        """Press a button on each console, run the frames of a step, and see what came of it."""
        memory = [side.memory() for side in self.sides]
        first, second = (side.machine for side in self.sides)
        link, config = Link((first, second)), self.common.config
        for side, action in zip(self.sides, actions, strict=True):
            side.last_action = action
            side.machine.press(side.common.keys[action])
        for frame in range(config.frames_per_step):
            if frame == config.release_after_frames:
                for side in self.sides:
                    side.machine.press(0)
            link.run_frame(draw=frame == config.frames_per_step - 1)
        for side in self.sides:
            frame_of = side.config.format.pack(bytes(side.machine.ppu.picture))
            side.stack = [*side.stack[1:], frame_of]
        ends = [
            side.look_at_memory(before) for side, before in zip(self.sides, memory, strict=True)
        ]
        locked = any(side.machine.cpu.locked for side in self.sides)
        if all(end == TERMINATED for end in ends):
            self.done = TERMINATED
        elif TRUNCATED in ends or locked or self.is_late:
            self.done = TRUNCATED

    @property
    def is_late(self) -> bool:
        """Whether the step that is being taken is the last one of the episode."""
        most = self.common.config.max_steps
        return most is not None and self.ep_length + 1 >= most
