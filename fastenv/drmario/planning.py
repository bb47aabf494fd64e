"""What a player plans: placements of a pill at the spawn or on its way, and the buttons to them.

Answers of :mod:`fastenv.drmario.reachability`, asked by what a game and a player are. The compiled
twin is ``_falling.pxd``.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fastenv.drmario import reachability
from fastenv.drmario import tables as t
from fastenv.drmario.player import MASK32, Player, pose_of
from fastenv.drmario.reachability import SPAWN, Root
from fastenv.drmario.reference import DrMario
from fastenv.drmario.successors import take_aside
from fastenv.drmario.tables import Button, Mode, Next


@lru_cache(maxsize=256)
def costs_of(
    occupied: bytes, parity: int, gravity: int, extended: bool, root: Root
) -> tuple[int, ...]:
    """Return the 512 costs of a pill; boards come back, so answers are kept.

    No argument has a default: with one, an answer would be kept under two keys.

    Parameters
    ----------
    occupied : bytes
        A byte a cell, 255 for those that are free and 0 for the others; see :func:`occupied`.
    parity, gravity, extended, root
        As :func:`fastenv.drmario.reachability.plan` has them.
    """
    board = np.frombuffer(occupied, np.uint8)
    return tuple(reachability.plan(board, parity, gravity, root, extended).tolist())


def occupied(board: list[int]) -> bytes:
    """Return the occupancy of a board as a byte a cell: 255 for a free one, else 0."""
    return bytes(0xFF if tile >= t.FREE else 0 for tile in board)


def costs_for(player: Player, frame: int, root: Root = SPAWN) -> tuple[int, ...]:
    """Return the costs of placements of a pill that appeared, or is where it is, before a frame."""
    extended = player.game.config.extended_inputs
    return costs_of(occupied(player.board), frame & 1, player.gravity(), extended, root)


def is_falling(player: Player) -> bool:
    """Tell whether a player's buttons move a pill in the next frame."""
    return player.mode == Mode.PLAYING and player.next_action == Next.FALLING


def root_of(player: Player) -> Root:
    """Return where a player's pill is, and what is held.

    A search begins with one direction at most: of left and right held together it sees the left.
    """
    held = player.buttons_prev
    direction = 1 if held & Button.LEFT else 2 if held & Button.RIGHT else 0
    turning = (1 if held & Button.A else 0) | (2 if held & Button.B else 0)
    velocity = min(player.hor_velocity, reachability.MAX_VELOCITY) if direction else 0
    counter = min(player.speed_counter, player.gravity())
    return Root(player.col, player.row, player.rot, counter, velocity, direction, turning)


def costs_of_falling(game: DrMario, player: Player) -> tuple[int, ...] | None:
    """Return the costs of placements of a pill on its way; None if there is none to be steered."""
    if not is_falling(player):
        return None
    costs = costs_for(player, game.frame, root_of(player))
    return None if min(costs) == t.INFEASIBLE else costs


def buttons_to(game: DrMario, player: Player, action: int, cost: int) -> int:
    """Return the buttons to press in the next frame on a shortest way to a placement.

    Of several inputs it is the first in the order of
    :func:`fastenv.drmario.reachability.inputs`. Each is played, and what the placement costs from
    there is asked again; 0 if none leads there in time, which a game that has stayed possible does
    not know.

    Parameters
    ----------
    game : DrMario
    player : Player
        With a pill on its way.
    action, cost : int
        The placement, and its frames from here.
    """
    for buttons in reachability.inputs(game.frame & 1, extended=False):
        alone, after = take_aside(game, player)
        alone.frame = (game.frame + 1) & MASK32
        after.plan_left = 0
        after.press(buttons)
        after.fall()
        if after.next_action == Next.PLACED:
            pose = after.ev_lock_row, after.ev_lock_col, after.ev_lock_rot
            arrives = cost == 1 and pose == pose_of(action)
        else:
            arrives = costs_for(after, alone.frame, root_of(after))[action] == cost - 1
        if arrives:
            return buttons
    return 0
