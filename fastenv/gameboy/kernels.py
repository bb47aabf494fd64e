"""Observation, mask, reward and info as Numba kernels; twins of ``encoding.py``.

One observer serves all configurations, which it reads from the rules; frames and what a RAM map
names it finds by their offsets in the row. The cache notices changes in this folder and in
``pointers.py``: kernels use nothing from elsewhere. Constants are repeated here as plain numbers;
a test holds them to ``state.py``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np
from numba import njit, types

from fastenv.game import Compiled, GameSpec
from fastenv.gameboy import layout
from fastenv.gameboy.state import (
    EPISODE_DTYPE,
    FIELD_DTYPE,
    KNOBS_DTYPE,
    LINK_HEAD_DTYPE,
    LINK_SHARED_DTYPE,
    OBSERVED_DTYPE,
    SET_DTYPE,
    SHARED_DTYPE,
    TERM_DTYPE,
    state_dtype,
)
from fastenv.numba_cache import cached_cfunc
from fastenv.pointers import advance, reader

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_HELPER: dict[str, Any] = {"error_model": "numpy"}

GOAL, OVERWORLD = 1, 2  # Kind
TERMINATED = 1
MAP, X, Y, FACING, DIALOGUE, ITEMS, STEPS_LOW, STEPS_HIGH, STAGE, DONE = range(10)  # of Place
UNSIGNED, SIGNED, BCD, DIGITS, BIT = range(5)  # Form
FROM_ROW, FROM_ROM, FROM_REGISTERS = range(3)  # Source
P1, DIV, LCDC, STAT, LY = 0x00, 0x04, 0x40, 0x41, 0x44  # of IO
M_CYCLE, LINE, LINES, VISIBLE = 4, 456, 154, 144
SCAN_END, DRAW_END, NEXT_LY = 80, 249, 452
STATE = state_dtype(0).itemsize
STRUCT = STATE + EPISODE_DTYPE.itemsize
FIELD, TERM, SET = FIELD_DTYPE.itemsize, TERM_DTYPE.itemsize, SET_DTYPE.itemsize
OBSERVED = OBSERVED_DTYPE.itemsize
SENSES = len(layout.SENSES)
GOAL_TERMS, WORLD_TERMS = 3, 5

# -- records in memory -----------------------------------------------------------------------------

_MOST = 1 << 22  # more bytes than an observation or a row has
_read_episode = reader(EPISODE_DTYPE)
_read_machine = reader(np.dtype(state_dtype(0).descr[:-1]))
_read_bytes = reader(np.dtype([("at", "u1", (_MOST,))]))
_read_words = reader(np.dtype([("at", "u4", (_MOST,))]))
_read_senses = reader(np.dtype([("at", "f4", (SENSES,))]))
_read_doubles = reader(np.dtype([("at", "f8", (128,))]))
_read_shared = reader(SHARED_DTYPE)
_read_field = reader(FIELD_DTYPE)
_read_term = reader(TERM_DTYPE)
_read_observed = reader(OBSERVED_DTYPE)
_read_float = reader(np.dtype([("at", "f4", (1,))]))
_read_set = reader(SET_DTYPE)
_read_link = reader(LINK_SHARED_DTYPE)
_read_link_info = reader(
    np.dtype([("cpu_locked", "u1", (2,)), ("start_state", "i4", (2,))], align=True)
)


def _info_reader(kind):
    """Build the reader of the info columns of a kind; it reads booleans as bytes, for Numba."""
    fields = [(name, of.replace("|b1", "|u1")) for name, of in layout.INFO[kind].descr if name]
    return reader(np.dtype(fields, align=True))


_read_info, _read_goal, _read_world = map(_info_reader, ("pixels", "goal", "overworld"))


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
def _world(row, shared, rules, out, at):
    """Write senses and events behind the frames, where they are aligned to four bytes."""
    at = (at + 3) & ~3
    senses = _read_senses(out, at)
    senses.at[0] = _share(_place(row, rules, MAP), rules.size[0])
    senses.at[1] = _share(_place(row, rules, X), rules.size[2])
    senses.at[2] = _share(_place(row, rules, Y), rules.size[1])
    paid = 0.0
    for k in range(WORLD_TERMS):
        paid += _world_term(row, rules, k)
    for k in range(np.int64(rules.num_rewards)):
        paid += _map_term(row, shared, rules, k)
    senses.at[3] = np.float32(min(1.0, max(0.0, paid)))
    events = _read_bytes(out, at + 4 * SENSES)
    for bit in range(np.int64(rules.num_events)):
        events.at[bit] = _event(row, rules, bit)


# -- reward ----------------------------------------------------------------------------------------


@njit(**_HELPER)
def _map_term(row, shared, rules, k):
    """Return a reward of a RAM map: the number that the step noted, by its weight."""
    number = _noted(row, rules, k)
    return _read_term(shared, np.int64(rules.terms_at) + TERM * k).weight * np.float64(number)


@njit(**_HELPER)
def _noted(row, rules, k):
    """Return number ``k`` that the step noted for a RAM map: rewards, unweighted, then numbers."""
    begin, number = np.int64(rules.values_at) + 8 * k, np.int64(0)
    for i in range(8):
        number |= np.int64(_read_bytes(row, begin + i).at[0]) << (8 * i)
    return number


@njit(**_HELPER)
def _world_term(row, rules, k):
    episode = _read_episode(row, STATE)
    if k == 0:
        return rules.cell_bonus * episode.ev_cells
    if k == 1:
        return rules.item_bonus * episode.ev_items
    if k == 2:
        return rules.dialogue_bonus * episode.ev_dialogue
    if k == 3:
        return rules.event_bonus * episode.ev_events
    if episode.done != TERMINATED or _place(row, rules, DONE) == 0:
        return 0.0
    return rules.finish_bonus


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


@njit(**_HELPER)
def _video_register(row, low):
    """Return LY, or STAT without its highest bit; see ``video_register`` of the core."""
    machine = _read_machine(row, 0)
    stat, match = np.int64(machine.high[STAT]), machine.lyc_match != 0
    ly, mode = np.int64(0), np.int64(0)
    if machine.high[LCDC] & 0x80:
        dot = np.int64(machine.dot)
        line = dot // LINE
        at = dot - line * LINE
        last = line < 0 or line == LINES - 1
        if not last:
            ly = line + (1 if at >= NEXT_LY else 0)
        if last:
            mode = np.int64(0 if at >= NEXT_LY else 1)
        elif line >= VISIBLE:
            mode = np.int64(1)
        elif at < SCAN_END:
            mode = np.int64(0 if machine.first_frame and line == 0 else 2)
        elif at < DRAW_END + np.int64(machine.delay):
            mode = np.int64(3)
        if line == LINES - 1:
            match = match and (at < M_CYCLE or at >= 2 * M_CYCLE)
        elif line >= 0:
            match = match and at < NEXT_LY
    return ly if low == LY else stat | (4 if match else 0) | mode


@njit(**_HELPER)
def _register(row, shared, low):
    """Return a byte of page $FF; see ``read_between`` of the reference."""
    machine = _read_machine(row, 0)
    value = np.int64(machine.high[low])
    if low >= 0x80:
        return value
    if low == P1:
        keys, down = np.int64(machine.keys), np.int64(0)
        if value & 0x10 == 0:
            down |= keys & 0x0F
        if value & 0x20 == 0:
            down |= keys >> 4
        value |= ~down & 0x0F
    elif low == DIV:
        value = np.int64(machine.div) >> 8
    elif low in (LY, STAT):
        value = _video_register(row, low)
    return value | np.int64(_read_shared(shared, 0).read_ones[low])


@njit(**_HELPER)
def _byte(row, shared, field, k):
    """Return the byte that is so many behind the first one of a field."""
    at = np.int64(field.at) + k
    if field.source == FROM_ROM:
        return np.int64(_read_bytes(shared, at).at[0])
    if field.source == FROM_REGISTERS:
        return _register(row, shared, at)
    return np.int64(_read_bytes(row, at).at[0])


@njit(**_HELPER)
def _element(row, shared, field, k):
    """Return a number of a field of a RAM map, 64 bits."""
    if field.form == BIT:
        bit = np.int64(field.bit) + k * np.int64(field.stride)
        return _byte(row, shared, field, bit >> 3) >> (bit & 7) & 1
    begin, size = k * np.int64(field.stride), np.int64(field.size)
    number = np.int64(0)
    for i in range(size):
        byte = _byte(row, shared, field, begin + (i if field.big else size - 1 - i))
        if field.form == BCD:
            number = number * 100 + 10 * ((byte >> 4) % 10) + (byte & 15) % 10
        elif field.form == DIGITS:
            number = number * 10 + (byte & 15) % 10
        elif i == 0 and field.form == SIGNED:
            number = byte - ((byte & 0x80) << 1)
        else:
            number = number << 8 | byte
    return number & field.mask


@njit(**_HELPER)
def _info_map(row, shared, rules, out):
    """Write what a RAM map shows, each in the bytes that its column has."""
    _info_fields(row, shared, rules, out)
    rewards = np.int64(rules.num_rewards)
    for k in range(rewards, rewards + np.int64(rules.num_numbers)):
        at = np.int64(_read_term(shared, np.int64(rules.terms_at) + TERM * k).info_at)
        if at >= 0:
            value, column = (
                _read_bytes(row, np.int64(rules.values_at) + 8 * k),
                _read_bytes(out, at),
            )
            for i in range(8):
                column.at[i] = value.at[i]
    if rules.lost_info_at >= 0:
        lost, column = _lost(row, shared, rules), _read_bytes(out, np.int64(rules.lost_info_at))
        for i in range(4):
            column.at[i] = (lost >> (8 * i)) & 0xFF


@njit(**_HELPER)
def _lost(row, shared, rules):
    """Return for how many keys sets had no room."""
    lost = np.int64(0)
    for k in range(np.int64(rules.num_sets)):
        at = np.int64(_read_set(shared, np.int64(rules.sets_at) + SET * k).at) + 4
        for i in range(4):
            lost += np.int64(_read_bytes(row, at).at[i]) << (8 * i)
    return min(lost, np.int64(0x7FFFFFFF))


@njit(**_HELPER)
def _info_fields(row, shared, rules, out):
    """Write the fields."""
    for f in range(np.int64(rules.num_fields)):
        field = _read_field(shared, np.int64(rules.fields_at) + FIELD * f)
        at, size = np.int64(field.info_at), np.int64(field.info_size)
        if at < 0:
            continue
        for k in range(np.int64(field.count)):
            number, column = _element(row, shared, field, k), _read_bytes(out, at + k * size)
            for i in range(size):
                column.at[i] = (number >> (8 * i)) & 0xFF


@njit(**_HELPER)
def _info_rest(row, rules, out):
    """Write how long the step lasted, and its samples, where there are such columns."""
    if rules.waited_info_at > 0:
        waited = np.int64(_read_episode(row, STATE).waited)
        column = _read_bytes(out, np.int64(rules.waited_info_at))
        for i in range(4):
            column.at[i] = (waited >> (8 * i)) & 0xFF
    size = np.int64(rules.samples_bytes)
    if size > 0:
        samples = _read_bytes(row, np.int64(rules.samples_at))
        column = _read_bytes(out, np.int64(rules.samples_info_at))
        for k in range(size):
            column.at[k] = samples.at[k]


# -- what ``observe`` names ------------------------------------------------------------------------


@njit(**_HELPER)
def _observed(row, shared, rules, out):
    """Write what an observation names, but the frames."""
    for k in range(np.int64(rules.num_observed)):
        part = _read_observed(shared, np.int64(rules.observed_at) + OBSERVED * k)
        noted = part.field < 0  # a number of the map, and no field
        of = np.int64(0) if noted else np.int64(part.field)
        field = _read_field(shared, np.int64(rules.fields_at) + FIELD * of)
        first, at = np.int64(part.first), np.int64(part.at)
        for i in range(np.int64(part.count)):
            if noted:
                number = _noted(row, rules, first + i)
            else:
                number = _element(row, shared, field, first + i)
            if part.flag:
                _read_bytes(out, at + i).at[0] = number
            else:
                share = (np.float64(number) - part.low) / part.span
                _read_float(out, at + 4 * i).at[0] = np.float32(min(1.0, max(0.0, share)))
    count, actions = np.int64(rules.num_recent), np.int64(rules.num_actions)
    one_hot = _read_bytes(out, np.int64(rules.actions_at))
    for k in range(count):
        last = _read_bytes(row, np.int64(rules.recent_at) + 2 * k)
        action = np.int64(last.at[0]) | np.int64(last.at[1]) << 8
        for i in range(actions):
            one_hot.at[k * actions + i] = action == i + 1
    rows, columns = np.int64(rules.visited[0]), np.int64(rules.visited[1])
    if rows > 0:
        mask = _read_bytes(out, np.int64(rules.visited_at))
        left = _place(row, rules, X) - (columns - 1) // 2
        top = _place(row, rules, Y) - (rows - 1) // 2
        for i in range(rows):
            for k in range(columns):
                mask.at[i * columns + k] = _was_visited(row, rules, left + k, top + i)


@njit(**_HELPER)
def _was_visited(row, rules, x, y):
    """Return 1 if a cell of the map of now was visited in this episode, else 0."""
    if x < 0 or y < 0:
        return 0
    number, visits = _place(row, rules, MAP), np.int64(rules.visits_at)
    if rules.slots:
        cell = number * 73856093 ^ x * 19349663 ^ y * 83492791
        cell ^= _place(row, rules, STAGE) * 536870909
        slot = _read_bytes(row, visits + 2 * (cell % np.int64(rules.slots)))
        mark = np.int64(slot.at[0]) | np.int64(slot.at[1]) << 8
        return 1 if mark == np.int64(_read_episode(row, STATE).visit_id) else 0
    if number >= rules.size[0] or y >= rules.size[1] or x >= rules.size[2]:
        return 0
    cell = (number * np.int64(rules.size[1]) + y) * np.int64(rules.size[2]) + x
    return np.int64(_read_bytes(row, visits + (cell >> 3)).at[0]) >> (cell & 7) & 1


# -- the compiled functions ------------------------------------------------------------------------

_bytes = types.CPointer(types.uint8)


@lru_cache
def _observe_cfunc():
    @cached_cfunc(types.void(_bytes, _bytes, _bytes, _bytes, _bytes), **_OPTIONS)
    def observe(row, derived, shared, obs_out, mask_out):
        rules = _read_shared(shared, 0).rules
        at = np.int64(0)
        if not rules.hides_pixels:
            at = _pixels(row, rules, obs_out)
        if rules.observes:
            _observed(row, shared, rules, obs_out)
        elif rules.kind == OVERWORLD:
            _world(row, shared, rules, obs_out, at)
        mask = _read_bytes(mask_out, 0)
        for action in range(np.int64(rules.num_actions)):
            mask.at[action] = rules.allowed[action]

    return observe


@lru_cache
def _reward_cfunc():
    float_out = types.CPointer(types.float32)

    @cached_cfunc(types.int32(_bytes, _bytes, _bytes, float_out, _bytes), **_OPTIONS)
    def reward(row, derived, shared, reward_out, terms_out):
        """Write the terms of the kind, then those of a RAM map, and their sum in this order."""
        rules = _read_shared(shared, 0).rules
        terms, paid, count = _read_doubles(terms_out, 0), 0.0, 0
        if rules.kind == GOAL:
            episode, count = _read_episode(row, STATE), GOAL_TERMS
            for k in range(GOAL_TERMS):
                terms.at[k] = _goal_term(episode, rules, k)
                paid += terms.at[k]
        elif rules.kind == OVERWORLD:
            count = WORLD_TERMS
            for k in range(WORLD_TERMS):
                terms.at[k] = _world_term(row, rules, k)
                paid += terms.at[k]
        for k in range(np.int64(rules.num_rewards)):
            terms.at[count + k] = _map_term(row, shared, rules, k)
            paid += terms.at[count + k]
        nb.carray(reward_out, (1,))[0] = np.float32(paid)
        return 1

    return reward


@lru_cache
def _info_cfunc(kind):
    """Return the function that writes the columns of a state.

    A function that closes over another compiled one would be compiled in every process again: each
    names its own.
    """
    compiled = cached_cfunc(types.void(_bytes, _bytes, _bytes, _bytes), **_OPTIONS)

    def info_pixels(row, derived, shared, info_out):
        rules = _read_shared(shared, 0).rules
        _info(row, _read_info(info_out, 0))
        _info_map(row, shared, rules, info_out)
        _info_rest(row, rules, info_out)

    def info_goal(row, derived, shared, info_out):
        rules = _read_shared(shared, 0).rules
        _info(row, _read_goal(info_out, 0))
        _info_goal(row, rules, _read_goal(info_out, 0))
        _info_rest(row, rules, info_out)

    def info_overworld(row, derived, shared, info_out):
        rules = _read_shared(shared, 0).rules
        _info(row, _read_world(info_out, 0))
        _info_overworld(row, rules, _read_world(info_out, 0))
        _info_map(row, shared, rules, info_out)
        _info_rest(row, rules, info_out)

    return compiled({"goal": info_goal, "overworld": info_overworld}.get(kind, info_pixels))


# -- two machines on a cable: each is found in row and shared record, and read as if alone ---------


@njit(**_HELPER)
def _side(row, shared, k):
    """Return where the row and the shared record of a side begin."""
    at = _read_link(shared, 0)
    return advance(row, at.row_at[k]), advance(shared, at.shared_at[k])


@lru_cache
def _link_cfuncs():
    """Return observer, reward and info as C functions, compiled or from the cache."""
    float_out = types.CPointer(types.float32)

    @cached_cfunc(types.void(_bytes, _bytes, _bytes, _bytes, _bytes), **_OPTIONS)
    def observe_link(row, derived, shared, obs_out, mask_out):
        written = 0
        for k in range(2):
            lane, own = _side(row, shared, k)
            rules = _read_shared(own, 0).rules
            written += _pixels(lane, rules, advance(obs_out, written))
            count = np.int64(rules.num_actions)
            mask = _read_bytes(mask_out, k * count)
            for action in range(count):
                mask.at[action] = rules.allowed[action]

    @cached_cfunc(types.int32(_bytes, _bytes, _bytes, float_out, _bytes), **_OPTIONS)
    def reward_link(row, derived, shared, reward_out, terms_out):
        for k in range(2):
            lane, own = _side(row, shared, k)
            rules = _read_shared(own, 0).rules
            count, paid = np.int64(rules.num_rewards), 0.0
            terms = _read_doubles(terms_out, 8 * count * k)
            for i in range(count):
                terms.at[i] = _map_term(lane, own, rules, i)
                paid += terms.at[i]
            nb.carray(reward_out, (2,))[k] = np.float32(paid)
        return 1

    @cached_cfunc(types.void(_bytes, _bytes, _bytes, _bytes), **_OPTIONS)
    def info_link(row, derived, shared, info_out):
        out = _read_link_info(info_out, 0)
        for k in range(2):
            lane, own = _side(row, shared, k)
            out.cpu_locked[k] = _read_machine(lane, 0).locked
            out.start_state[k] = _read_episode(lane, STATE).start
            _info_map(lane, own, _read_shared(own, 0).rules, info_out)

    return observe_link, reward_link, info_link


def link_functions(spec: GameSpec) -> Compiled:
    """Return the functions of a row of two machines on a cable; see :func:`functions`."""
    observe, reward, info = (function.address for function in _link_cfuncs())
    return Compiled(
        observe=observe,
        reward=reward,
        info=info,
        state_size=LINK_HEAD_DTYPE.itemsize,
        knobs_size=KNOBS_DTYPE.itemsize,
        info_size=spec.info_dtype.itemsize,
        terms_size=spec.terms_dtype.itemsize,
    )


def functions(kind: str, spec: GameSpec) -> Compiled:
    """Return the functions of one row for the loop over lanes; compiled at the first call.

    Parameters
    ----------
    kind : {"pixels", "goal", "overworld"}
    spec : GameSpec
        With the columns that a RAM map adds to those of the kind.
    """
    return Compiled(
        observe=_observe_cfunc().address,
        reward=_reward_cfunc().address,
        info=_info_cfunc(kind).address,
        state_size=STRUCT,
        knobs_size=KNOBS_DTYPE.itemsize,
        info_size=spec.info_dtype.itemsize,
        terms_size=spec.terms_dtype.itemsize,
    )
