"""One game of Dr. Mario in plain Python, frame by frame: the oracle of the compiled code.

A ``Player`` (``player.py``) is a bottle with its registers; a ``DrMario`` has one or two of them,
and what they share. Placements, decisions that last until the next pill, are in ``placement.py``.
Section numbers are those of ``docs/drmario.md``.

>>> game = DrMario(DrMarioConfig(placement=False, game_seed=0x8988))
>>> game.reset(game.config.knobs_record()[0], seed=0)
>>> game.reserve[:4], [hex(tile) for tile in game.players[0].board if tile != 0xFF]
([3, 5, 8, 3], ['0xd2', '0xd1', '0xd2', '0xd0'])
>>> for _ in range(120):
...     game.step([0])
>>> game.players[0].next_action, game.players[0].row
(<Next.FALLING: 0>, 15)
"""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.generator import (
    Generator,
    make_reserve,
    make_two_bottles,
    make_viruses,
    orbit_state,
)
from fastenv.drmario.player import MASK32, SIDES, Player, view_of
from fastenv.drmario.seeds import seeds_of
from fastenv.drmario.state import STACKED, Actions
from fastenv.drmario.tables import Button, Mode, Reason
from fastenv.rng import Rng


class DrMario:
    """One game; the attributes are the fields of a row, ``state.py`` explains them.

    Parameters
    ----------
    config : DrMarioConfig
    demo : ndarray, shape (1,), optional
        Tables of a demo, ``DEMO_DTYPE``.
    """

    frame: int
    demo_at: int
    demo_left: int
    task_max_frames: int
    task_max_spawns: int
    done: int
    reason: int
    ep_length: int
    ep_frames: int
    needs_action: list[int]

    def __init__(self, config: DrMarioConfig, demo: npt.NDArray[Any] | None = None) -> None:
        self.config: DrMarioConfig = config
        self.demo: npt.NDArray[Any] | None = demo
        self.versus: bool = config.agents == 2
        self.replay: bool = config.mode == "replay"
        self.measures: bool = config.rewards.get("column_height_penalty", 0.0) != 0.0
        self.rng: Rng = Rng(0)
        self.bot_rng: list[int] = [0] * 4
        self.reserve: list[int] = [0] * t.RESERVE
        self.seed: list[int] = [0, 0]
        self.frame = self.demo_at = self.demo_left = 0
        self.task_max_frames = self.task_max_spawns = 0
        self.players: list[Player] = [Player(self) for _ in range(config.agents)]
        self.stack: list[list[list[Any]]] = []  # by player, earlier frames, the oldest first
        self.forget()

    def forget(self) -> None:
        """Clear what is known of the episode."""
        agents = self.config.agents
        self.done, self.reason, self.ep_length, self.ep_frames = 0, int(Reason.NONE), 0, 0
        self.ep_return: Any = 0.0 if agents == 1 else [0.0] * agents
        self.tau: Any = 0 if agents == 1 else [0] * agents
        self.needs_action = [1] * agents

    # -- reset (docs/drmario.md, 3) ------------------------------------------------------------

    def reset(self, knobs: Any, seed: int | None = None) -> None:
        """Start an episode: from a seed of the engine's generator, or going on with its stream.

        Parameters
        ----------
        knobs : record
            Of ``KNOBS_DTYPE``.
        seed : int, optional
        """
        if seed is not None:
            self.rng = Rng(seed)
        self.task_max_frames = int(knobs["task_max_frames"])
        self.task_max_spawns = int(knobs["task_max_spawns"])
        self.forget()
        if self.demo is not None:
            self.start_demo(self.demo[0])
        else:
            self.start(knobs["level"].tolist(), knobs["speed"].tolist(), int(knobs["game_seed"]))
        if self.versus:
            self.bot_rng = [self.rng.next() for _ in range(4)]
        if self.config.stack > 1:
            self.stack = [[view_of(player) for _ in range(STACKED)] for player in self.players]

    def start(self, levels: list[int], speeds: list[int], game_seed: int) -> None:
        """Start a level for each player; draws the seed first, then the viruses that stay."""
        self.frame, self.demo_at, self.demo_left = self.config.first_frame, 0, 0
        if game_seed < 0 and self.config.seed_registry:
            seeds = seeds_of(levels[0])
            self.seed = [*divmod(seeds[self.rng.bounded(len(seeds))], 256)]
        elif game_seed < 0:
            self.seed = [*orbit_state(1 + self.rng.bounded(t.ORBIT))]
        else:
            self.seed = [*divmod(game_seed, 256)]
        generator = Generator(*self.seed)
        self.reserve = make_reserve(generator)
        if self.versus:
            boards = make_two_bottles(levels, generator)
        else:
            boards = [make_viruses(max(0, levels[0]), generator)]
            self.thin_out(boards[0], levels[0])
        for player, level, speed, board in zip(self.players, levels, speeds, boards, strict=False):
            player.start(level, speed, board)

    def thin_out(self, board: list[int], level: int) -> None:
        """Leave as many viruses as a level below 0 has (docs/drmario.md, 14.3)."""
        cells = [cell for cell, tile in enumerate(board) if tile != t.EMPTY]
        while level < 0 and len(cells) > max(0, 4 + level):
            drawn = self.rng.bounded(len(cells)) if level >= t.FEWEST_VIRUSES_LEVEL else 0
            board[cells.pop(drawn)] = t.EMPTY

    # -- demo (docs/drmario.md, 10) ------------------------------------------------------------

    def start_demo(self, tables: Any) -> None:
        """Start the demo: its own tables, and its inputs seven frames ahead."""
        player = self.players[0]
        self.frame, self.demo_at, self.demo_left, self.seed = t.DEMO_FRAME, 0, 0, [0, 0]
        self.reserve = tables["pills"].tolist()
        player.start(t.DEMO_LEVEL, t.DEMO_SPEED, tables["board"].tolist())
        player.mode, player.intro_wait = Mode.DEMO, t.DEMO_INTRO
        for _ in range(t.DEMO_PREROLL):
            self.demo_input(player)
        player.buttons_pressed = 0

    def demo_input(self, player: Player) -> None:
        """Press what the demo presses; behind its last pair the player is free."""
        raw = player.buttons_prev
        if self.demo_left > 0:
            self.demo_left -= 1
        elif self.demo_at == t.DEMO_INPUTS - 1:
            player.mode = Mode.PLAYING
        else:
            assert self.demo is not None
            raw, self.demo_left = self.demo[0]["inputs"][self.demo_at].tolist()
            self.demo_at += 1
        player.press(raw)

    # -- a step of one frame (docs/drmario.md, 12.5) -------------------------------------------

    def step(self, actions: list[int]) -> None:
        """Take one frame; nothing if the episode is over.

        Parameters
        ----------
        actions : list of int
            One a player: a byte of buttons, or one of ten inputs.
        """
        if self.done:
            return
        for player in self.players:
            player.clear_events()
        for player, stack in zip(self.players, self.stack, strict=bool(self.stack)):
            stack[:] = [*stack[1:], view_of(player)]
        self.play([self.buttons(p, a) for p, a in zip(self.players, actions, strict=True)])
        self.ep_frames += 1
        self.tau = 1 if not self.versus else [1, 1]
        self.end_step()

    def play(self, raw: list[int]) -> None:
        """Let one frame pass: the first player acts, then the second, if there is one."""
        self.frame = (self.frame + 1) & MASK32
        for player, buttons in zip(self.players, raw, strict=False):
            player.frame(buttons)

    def end_step(self) -> None:
        """Measure, and decide whether the episode is over."""
        for player in self.players:
            player.measure()
        self.judge()

    def buttons(self, player: Player, action: int) -> int:
        """Return the byte of buttons of an action."""
        if self.config.actions == Actions.BUTTONS.name.lower():
            return action
        raw = taps = 0
        latches = player.latches
        if action in (4, 9):
            taps |= Button.A
        if action in (5, 9):
            taps |= Button.B
        if self.config.actions == Actions.LATCHED.name.lower():
            if action in (1, 2, 3):
                latches = latch(latches, action - 1)
            raw = latches | taps
            player.latches = latch(latches, action - 6) if action in (6, 7, 8) else latches
        else:
            now = t.LATCHED_DIRECTIONS[action - 1] if action in (1, 2, 3) else 0
            raw = latches | now | taps
            player.latches = t.LATCHED_DIRECTIONS[action - 6] if action in (6, 7, 8) else 0
        return int(raw)

    def costs(self) -> list[tuple[int, ...] | None]:
        """Return for each player the costs of placements, None where none is to be decided on."""
        return [None] * len(self.players)

    # -- the end (docs/drmario.md, 8, 9 and 14.3) ----------------------------------------------

    def goal_met(self, player: Player) -> bool:
        """Tell whether a player has reached what the level asks for."""
        if player.level < t.FEWEST_VIRUSES_LEVEL:
            return player.matches >= t.match_goal(player.level)
        return bool(player.stage_clear)

    def judge(self) -> None:
        """Decide whether the episode is over, and why."""
        if any(self.goal_met(player) for player in self.players):
            self.done, self.reason = 1, int(Reason.CLEAR)
        elif any(player.level_fail for player in self.players):
            self.done, self.reason = 1, int(Reason.TOPOUT)


def latch(latches: int, direction: int) -> int:
    """Return the held directions after another one; left and right replace each other."""
    button = t.LATCHED_DIRECTIONS[direction]
    return (latches & ~SIDES if button & SIDES else latches) | button
