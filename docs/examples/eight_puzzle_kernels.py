"""The 8-puzzle in Numba: rules, observation, mask and reward of a row."""

import numba as nb
from fastenv.examples.eight_puzzle_game import SHARED_DTYPE, STATE_DTYPE
from fastenv.examples.numba_rng import bounded, next_bits, seed_rng
from numba import types

from fastenv.game import Compiled
from fastenv.numba_cache import cached_cfunc, cached_njit

_row, _shared = (types.CPointer(nb.from_dtype(dtype)) for dtype in (STATE_DTYPE, SHARED_DTYPE))
_none, _floats = types.voidptr, types.CPointer(types.float32)
_bytes, _words, _ints = (types.CPointer(t) for t in (types.uint8, types.uint64, types.int32))
STEPS = (-3, 3, -1, 1)  # where the blank goes: up, down, left, right
SOLVED, LIMIT = 1, 2


@cached_njit()
def stays(s, action):
    """Return whether a move stays on the board."""
    row, column = s.blank // 3, s.blank % 3
    if action < 2:
        return row > 0 if action == 0 else row < 2
    return column > 0 if action == 2 else column < 2


@cached_njit()
def slide(s, action):
    """Change the blank with the tile beside it."""
    to = s.blank + STEPS[action]
    s.board[s.blank], s.board[to] = s.board[to], 0
    s.blank = to


@cached_njit()
def is_solved(s):
    """Return whether the tiles are in order."""
    in_order = 0
    for cell in range(9):
        in_order += s.board[cell] == (cell + 1) % 9
    return in_order == 9


@cached_cfunc(types.void(_row, _shared, _none, _words))
def reset(row, shared, knobs, seed):
    """Start an episode."""
    s, words = nb.carray(row, (1,))[0], nb.carray(seed, (1,))
    if words.ctypes.data != 0:
        seed_rng(s.rng, words[0])
    s.ep_return = 0.0
    s.ep_length = s.moves = s.done = 0
    for cell in range(9):
        s.board[cell] = (cell + 1) % 9
    s.blank = 8
    while is_solved(s):
        for _ in range(nb.carray(shared, (1,))[0].shuffle):
            left = bounded(s.rng, stays(s, 0) + stays(s, 1) + stays(s, 2) + stays(s, 3))
            for action in range(4):
                if stays(s, action):
                    if left == 0:
                        slide(s, action)
                        break
                    left -= 1


@cached_cfunc(types.int32(_row, _none, _shared, _none, _ints))
def step(row, derived, shared, knobs, actions):
    """Take one decision."""
    s, action = nb.carray(row, (1,))[0], nb.carray(actions, (1,))[0]
    if stays(s, action):
        slide(s, action)
    s.moves += 1
    if is_solved(s):
        s.done = SOLVED
    elif s.moves >= nb.carray(shared, (1,))[0].limit:
        s.done = LIMIT
    return 0


@cached_cfunc(types.void(_row, _shared, types.int32, _words))
def resample(row, shared, agent, words):
    """Draw a world."""
    seed_rng(nb.carray(row, (1,))[0].rng, next_bits(nb.carray(words, (4,))))


@cached_cfunc(types.void(_row, _none, _shared, _floats, _bytes))
def observe(row, derived, shared, obs_out, mask_out):
    """Write observation and mask."""
    s, obs, mask = nb.carray(row, (1,))[0], nb.carray(obs_out, (81,)), nb.carray(mask_out, (4,))
    obs[:] = 0.0
    for cell in range(9):
        obs[9 * cell + s.board[cell]] = 1
    for action in range(4):
        mask[action] = stays(s, action)


@cached_cfunc(types.int32(_row, _none, _shared, _floats, _none))
def reward(row, derived, shared, reward_out, terms_out):
    """Write the reward."""
    nb.carray(reward_out, (1,))[0] = nb.carray(row, (1,))[0].done == SOLVED
    return 1


@cached_cfunc(types.void(_row, _none, _shared, _none))
def info(row, derived, shared, info_out):
    """Write no columns: the game has none."""


def functions():
    """Return what the engine calls to show a row, by address."""
    shown = {"observe": observe, "reward": reward, "info": info}
    return Compiled(**{name: each.address for name, each in shown.items()})


def core():
    """Return what the engine calls to move a row, by address."""
    moved = {"reset": reset, "step": step, "resample": resample}
    sizes = {"state_size": STATE_DTYPE.itemsize, "shared_size": SHARED_DTYPE.itemsize}
    return Compiled(**{n: f.address for n, f in moved.items()}, **sizes, fetch=STATE_DTYPE.itemsize)
