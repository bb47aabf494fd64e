"""Observation, mask, reward and info as Numba kernels; twins of ``encoding.py``.

One observer serves all configurations, which it reads from the rules; frames and what a RAM map
names it finds by their offsets in the row. The cache notices changes in this file only:
kernels use nothing from other modules but types and ``pointers.py``. Constants are therefore
repeated here; a test holds them to ``state.py``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np
from numba import njit, types

from fastenv.game import Compiled
from fastenv.gameboy import layout
from fastenv.gameboy.state import EPISODE_DTYPE, KNOBS_DTYPE, SHARED_DTYPE, state_dtype
from fastenv.numba_cache import cached_cfunc
from fastenv.pointers import reader

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_HELPER: dict[str, Any] = {"error_model": "numpy"}

GOAL, OVERWORLD = 1, 2  # Kind
TERMINATED = 1
MAP, X, Y, FACING, DIALOGUE, ITEMS, STEPS_LOW, STEPS_HIGH = range(8)  # Place
STATE = state_dtype(0).itemsize
STRUCT = STATE + EPISODE_DTYPE.itemsize
SENSES = len(layout.SENSES)

# -- records in memory -----------------------------------------------------------------------------

_MOST = 1 << 22  # more bytes than an observation or a row has
_read_episode = reader(EPISODE_DTYPE)
_read_machine = reader(np.dtype(state_dtype(0).descr[:-1]))
_read_bytes = reader(np.dtype([("at", "u1", (_MOST,))]))
_read_words = reader(np.dtype([("at", "u4", (_MOST,))]))
_read_senses = reader(np.dtype([("at", "f4", (SENSES,))]))
_read_doubles = reader(np.dtype([("at", "f8", (5,))]))


# -- observation -----------------------------------------------------------------------------------


@njit(**_HELPER)
def _pixels(row, rules, out):
    """Write the frames: four pixels for each byte of the stack, or the bytes."""
    stack, count = _read_bytes(row, rules.stack_at), np.int64(rules.plane) * rules.stack_k
    if rules.packed:
        bytes_out = _read_bytes(out, 0)
        for k in range(count):
            bytes_out.at[k] = stack.at[k]
        return count
    words = _read_words(out, 0)
    for k in range(count):
        words.at[k] = rules.unpack[stack.at[k]]
    return 4 * count


@njit(**_HELPER)
def _place(row, rules, place):
    """Return a byte that the RAM map names, 0 for one that it does not."""
    offset = np.int64(rules.places[place])
    return np.int64(_read_bytes(row, 0).at[offset]) if offset >= 0 else np.int64(0)


@njit(**_HELPER)
def _share(number, size):
    return np.float32(min(1.0, number / max(1, np.int64(size) - 1)))


@njit(**_HELPER)
def _event(row, rules, bit):
    byte = _read_bytes(row, 0).at[np.int64(rules.events_at) + (bit >> 3)]
    return (np.int64(byte) >> (bit & 7)) & 1


@njit(**_HELPER)
def _world(row, rules, out, at):
    """Write senses and events behind the frames, where they are aligned to four bytes."""
    at = (at + 3) & ~3
    senses = _read_senses(out, at)
    senses.at[0] = _share(_place(row, rules, MAP), rules.size[0])
    senses.at[1] = _share(_place(row, rules, X), rules.size[2])
    senses.at[2] = _share(_place(row, rules, Y), rules.size[1])
    paid = 0.0
    for k in range(5):
        paid += _world_term(_read_episode(row, STATE), rules, k)
    senses.at[3] = np.float32(min(1.0, max(0.0, paid)))
    events = _read_bytes(out, at + 4 * SENSES)
    for bit in range(np.int64(rules.num_events)):
        events.at[bit] = _event(row, rules, bit)


# -- reward ----------------------------------------------------------------------------------------


@njit(**_HELPER)
def _world_term(episode, rules, k):
    if k == 0:
        return rules.cell_bonus * episode.ev_cells
    if k == 1:
        return rules.item_bonus * episode.ev_items
    if k == 2:
        return rules.dialogue_bonus * episode.ev_dialogue
    if k == 3:
        return rules.event_bonus * episode.ev_events
    return rules.finish_bonus if episode.done == TERMINATED else 0.0


@njit(**_HELPER)
def _goal_term(episode, rules, k):
    if k == 0:
        return rules.step_cost
    if k == 1:
        before = episode.ev_distance / rules.distance_unit
        return rules.alpha * (before - episode.distance / rules.distance_unit)
    return rules.goal_bonus if episode.done == TERMINATED else 0.0


# -- info ------------------------------------------------------------------------------------------


@njit(inline="always", **_HELPER)  # for a record of each kind: Numba takes one for another
def _info(row, out):
    """Write what all kinds have."""
    out.cpu_locked = _read_machine(row, 0).locked
    out.start_state = _read_episode(row, STATE).start


@njit(**_HELPER)
def _info_goal(row, rules, out):
    episode = _read_episode(row, STATE)
    out.episode_step, out.consecutive = episode.ep_length, episode.near
    out.dist = np.float32(episode.distance / rules.distance_unit)


@njit(**_HELPER)
def _info_overworld(row, rules, out):
    out.map, out.x = _place(row, rules, MAP), _place(row, rules, X)
    out.y, out.facing = _place(row, rules, Y), _place(row, rules, FACING)
    out.dialogue, out.items = _place(row, rules, DIALOGUE), _place(row, rules, ITEMS)
    out.steps = _place(row, rules, STEPS_LOW) | _place(row, rules, STEPS_HIGH) << 8
    events = 0
    for bit in range(np.int64(rules.num_events)):
        rewarded = np.int64(rules.rewarded[bit >> 3]) >> (bit & 7) & 1
        events += _event(row, rules, bit) & rewarded
    out.events, out.cells = events, _read_episode(row, STATE).cells


# -- the compiled functions ------------------------------------------------------------------------

_bytes = types.CPointer(types.uint8)
_shared = types.CPointer(nb.from_dtype(SHARED_DTYPE))


@lru_cache
def _observe_cfunc():
    @cached_cfunc(types.void(_bytes, _bytes, _shared, _bytes, _bytes), **_OPTIONS)
    def observe(row, derived, shared, obs_out, mask_out):
        rules = nb.carray(shared, (1,))[0].rules
        at = _pixels(row, rules, obs_out)
        if rules.kind == OVERWORLD:
            _world(row, rules, obs_out, at)
        mask = _read_bytes(mask_out, 0)
        for action in range(np.int64(rules.num_actions)):
            mask.at[action] = rules.allowed[action]

    return observe


@lru_cache
def _reward_cfunc():
    float_out = types.CPointer(types.float32)

    @cached_cfunc(types.int32(_bytes, _bytes, _shared, float_out, _bytes), **_OPTIONS)
    def reward(row, derived, shared, reward_out, terms_out):
        """Write the terms of the kind and their sum, in their order."""
        rules = nb.carray(shared, (1,))[0].rules
        episode, terms, paid = _read_episode(row, STATE), _read_doubles(terms_out, 0), 0.0
        if rules.kind == GOAL:
            for k in range(3):
                terms.at[k] = _goal_term(episode, rules, k)
                paid += terms.at[k]
        elif rules.kind == OVERWORLD:
            for k in range(5):
                terms.at[k] = _world_term(episode, rules, k)
                paid += terms.at[k]
        nb.carray(reward_out, (1,))[0] = np.float32(paid)
        return 1

    return reward


@lru_cache
def _info_cfunc(kind):
    """Return the function that writes the columns of a state.

    Numba has no arrays of booleans within a record: they are bytes. A function that closes over
    another compiled one would be compiled in every process again: each names its own.
    """
    fields = [(name, of.replace("|b1", "|u1")) for name, of in layout.INFO[kind].descr if name]
    record = types.CPointer(nb.from_dtype(np.dtype(fields, align=True)))
    compiled = cached_cfunc(types.void(_bytes, _bytes, _shared, record), **_OPTIONS)

    def info_pixels(row, derived, shared, info_out):
        _info(row, nb.carray(info_out, (1,))[0])

    def info_goal(row, derived, shared, info_out):
        _info(row, nb.carray(info_out, (1,))[0])
        _info_goal(row, nb.carray(shared, (1,))[0].rules, nb.carray(info_out, (1,))[0])

    def info_overworld(row, derived, shared, info_out):
        _info(row, nb.carray(info_out, (1,))[0])
        _info_overworld(row, nb.carray(shared, (1,))[0].rules, nb.carray(info_out, (1,))[0])

    return compiled({"goal": info_goal, "overworld": info_overworld}.get(kind, info_pixels))


def functions(kind: str) -> Compiled:
    """Return the functions of one row for the loop over lanes; compiled at the first call.

    Parameters
    ----------
    kind : {"pixels", "goal", "overworld"}
    """
    return Compiled(
        observe=_observe_cfunc().address,
        reward=_reward_cfunc().address,
        info=_info_cfunc(kind).address,
        state_size=STRUCT,
        knobs_size=KNOBS_DTYPE.itemsize,
        info_size=layout.INFO[kind].itemsize,
        terms_size=layout.TERMS[kind].itemsize,
    )
