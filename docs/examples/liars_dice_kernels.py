"""Liar's Dice in Numba: rules, bot, observation, mask, reward and info of a row."""

import numba as nb
import numpy as np
from fastenv.examples.liars_dice import INFO_DTYPE, SHARED_DTYPE, STATE_DTYPE
from fastenv.examples.numba_rng import bounded, next_bits, seed_rng
from numba import types

from fastenv.game import Compiled
from fastenv.numba_cache import cached_cfunc

_row, _shared = (types.CPointer(nb.from_dtype(dtype)) for dtype in (STATE_DTYPE, SHARED_DTYPE))
_info, _none = types.CPointer(nb.from_dtype(INFO_DTYPE)), types.voidptr
_floats, _bytes = types.CPointer(types.float32), types.CPointer(types.uint8)
_words, _ints = types.CPointer(types.uint64), types.CPointer(types.int32)


@cached_cfunc(types.void(_row, _shared, _none, _words))
def reset(row, shared, knobs, seed):
    """Start an episode."""
    s, faces = nb.carray(row, (1,))[0], nb.carray(shared, (1,))[0].faces
    words = nb.carray(seed, (1,))
    if words.ctypes.data != 0:
        seed_rng(s.rng, words[0])
    for k in range(4):
        s.bot_rng[k] = next_bits(s.rng)
    s.ep_return[0] = s.ep_return[1] = 0.0
    s.ep_length = s.bid = s.winner = s.done = 0
    for k in range(len(s.said)):
        s.said[k] = 0
    s.needs_action[0], s.needs_action[1] = 1, 0
    for k in range(2):
        s.dice[k] = bounded(s.rng, faces)


@cached_cfunc(types.int32(_row, _none, _shared, _none, _ints))
def step(row, derived, shared, knobs, actions):
    """Take one decision, of the agent that acts."""
    s, faces = nb.carray(row, (1,))[0], nb.carray(shared, (1,))[0].faces
    agent = 0 if s.needs_action[0] else 1
    action = nb.carray(actions, (2,))[agent]
    if action > s.bid:
        s.bid = action
        s.said[action - 1] = 1 + agent
        s.needs_action[agent], s.needs_action[1 - agent] = 0, 1
        return 0
    quantity, face = (s.bid - 1) // faces, (s.bid - 1) % faces
    shown = 0
    for k in range(2):
        shown += s.dice[k] == face or s.dice[k] == faces - 1
    won = action == 0 and s.bid > 0 and shown <= quantity
    s.winner = 1 + (agent if won else 1 - agent)
    s.done, s.needs_action[0], s.needs_action[1] = 1, 0, 0
    return 0


@cached_cfunc(types.void(_row, _shared, types.int32, _words))
def resample(row, shared, agent, words):
    """Draw anew what an agent cannot know."""
    s, faces = nb.carray(row, (1,))[0], nb.carray(shared, (1,))[0].faces
    rng = nb.carray(words, (4,))
    s.dice[1 - agent] = bounded(rng, faces)
    seed_rng(s.rng, next_bits(rng))
    for k in range(4):
        s.bot_rng[k] = next_bits(rng)


@cached_cfunc(types.int32(_row, _none, _shared, _none, types.int32, _none, _bytes, _words))
def bot(row, derived, shared, params, agent, obs, mask, words):
    """Return any legal action."""
    actions = 1 + 2 * nb.carray(shared, (1,))[0].faces
    legal, count = nb.carray(mask, (13,)), np.int64(0)
    for action in range(actions):
        count += legal[action]
    left = bounded(nb.carray(words, (4,)), count)
    for action in range(actions):
        if legal[action]:
            if left == 0:
                return action
            left -= 1
    return 0


@cached_cfunc(types.void(_row, _none, _shared, _floats, _bytes))
def observe(row, derived, shared, obs_out, mask_out):
    """Write observation and mask of both agents."""
    s, faces = nb.carray(row, (1,))[0], nb.carray(shared, (1,))[0].faces
    obs, mask = nb.carray(obs_out, (2, 5 * faces)), nb.carray(mask_out, (2, 1 + 2 * faces))
    obs[:] = 0.0
    for agent in range(2):
        obs[agent, s.dice[agent]] = 1
        for bid in range(2 * faces):
            if s.said[bid]:
                obs[agent, faces + 2 * faces * (s.said[bid] != 1 + agent) + bid] = 1
            mask[agent, 1 + bid] = bid >= s.bid and s.needs_action[agent] != 0
        mask[agent, 0] = s.bid > 0 or s.needs_action[agent] == 0


@cached_cfunc(types.int32(_row, _none, _shared, _floats, _none))
def reward(row, derived, shared, reward_out, terms_out):
    """Write the reward of both agents."""
    winner, out = nb.carray(row, (1,))[0].winner, nb.carray(reward_out, (2,))
    out[0] = (winner == 1) - (winner == 2)
    out[1] = (winner == 2) - (winner == 1)
    return 1


@cached_cfunc(types.void(_row, _none, _shared, _info))
def info(row, derived, shared, info_out):
    """Write the columns of the state."""
    nb.carray(info_out, (1,))[0].winner = nb.carray(row, (1,))[0].winner


def functions():
    """Return what the engine calls to show a row, by address."""
    shown = {"observe": observe, "reward": reward, "info": info}
    return Compiled(**{name: each.address for name, each in shown.items()})


def core():
    """Return what the engine calls to move a row, by address."""
    moved = {"reset": reset, "step": step, "resample": resample, "bot": bot}
    sizes = {"state_size": STATE_DTYPE.itemsize, "shared_size": SHARED_DTYPE.itemsize}
    return Compiled(**{n: f.address for n, f in moved.items()}, **sizes, fetch=STATE_DTYPE.itemsize)
