"""A falling pill by docs/drmario.md, 5, compiled so that millions of scripts can be replayed.

Written from the rules alone: it shares nothing with the planners it judges.
"""

import numba
import numpy as np


@numba.njit(cache=True)
def fits(board, x, y, rot):
    """Tell whether a pose fits; a half above the top row always does."""
    x2, y2 = (x, y + 1) if rot & 1 else (x + 1, y)
    if y < 0 or x < 0 or x2 > 7:
        return False
    return board[8 * (15 - y) + x] >= 0xF0 and (y2 > 15 or board[8 * (15 - y2) + x2] >= 0xF0)


@numba.njit(cache=True)
def turn(board, x, y, rot, new, left):
    """Try a rotation; return whether it fits, and the new column."""
    if fits(board, x, y, new):
        if new % 2 == 0 and left and fits(board, x - 1, y, new):
            return True, x - 1
        return True, x
    if new % 2 == 0 and fits(board, x - 1, y, new):
        return True, x - 1
    return False, x


@numba.njit(cache=True)
def shift(board, x, y, rot, now, pressed, velocity):
    """Do the horizontal stage; return the column and the velocity."""
    if pressed & 0x03:
        velocity = 0
    elif now & 0x03:
        velocity += 1
        if velocity < 16:
            return x, velocity
        velocity = 10
    else:
        return x, velocity
    if now & 0x01 and x != (7 if rot & 1 else 6):
        if fits(board, x + 1, y, rot):
            x += 1
        else:
            velocity = 15
    if now & 0x02 and x > 0:
        if fits(board, x - 1, y, rot):
            x -= 1
        else:
            velocity = 15
    return x, velocity


@numba.njit(cache=True)
def locked_pose(board, parity, gravity, root, buttons, length):
    """Return (frame, x, y, rot) of the lock, frame 0 if the pill has not locked in `length` frames.

    `root` is x, y, rot, speed counter, velocity, direction and rotation buttons held.
    """
    x, y, rot, counter, velocity, direction, held = root
    previous = (
        (2 if direction == 1 else 1 if direction == 2 else 0) | (held & 1) << 7 | (held & 2) << 5
    )
    for number in range(length):
        now = np.int64(buttons[number])
        pressed = now & ~previous
        previous = now
        counter += 1
        odd = (parity + number) % 2 == 0  # of the frame counter, once incremented
        if (odd and now & 0x0F == 0x04) or counter > gravity:
            counter = 0
            if not fits(board, x, y - 1, rot):
                return number + 1, x, y, rot
            y -= 1
        x, velocity = shift(board, x, y, rot, now, pressed, velocity)
        old_x, old_rot = x, rot
        for button, step in ((0x80, 3), (0x40, 1)):
            if pressed & button:
                done, column = turn(board, x, y, rot, (rot + step) % 4, now & 0x02 != 0)
                x, rot = (column, (rot + step) % 4) if done else (old_x, old_rot)
    return 0, x, y, rot


@numba.njit(cache=True)
def replay(boards, parities, gravities, root, buttons, lengths):
    """Return, for every row, the action that locks in the last frame of the script, or -1."""
    actions = np.full(len(boards), -1)
    for i in range(len(boards)):
        frame, x, y, rot = locked_pose(
            boards[i], parities[i], gravities[i], root, buttons[i], lengths[i]
        )
        if frame == lengths[i]:
            first_x = x + 1 if rot == 2 else x
            first_y = y + 1 if rot == 3 else y
            second = (0, 3, 2, 1)[rot]  # right, above, left, below
            if first_y <= 15 and not (rot == 1 and y == 15):
                actions[i] = second * 128 + (15 - first_y) * 8 + first_x
    return actions
