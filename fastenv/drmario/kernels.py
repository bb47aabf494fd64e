"""Observation, mask, reward and info as Numba kernels; twins of ``encoding.py``, ``rewards.py``.

A row of a bottle is eight bytes, one 64-bit word, and so is a row of a plane of uint8: a plane is
made of words by a few operations on all eight cells at once, cells of a word from its lowest byte
up. One observer serves all configurations, which it reads from the rules record; it finds players,
and the parts of an observation, by their offsets.

The cache notices changes in this folder and in ``pointers.py``: kernels use nothing from
elsewhere. Constants are repeated here as plain numbers; the tests hold them to ``tables.py`` and
``layout.py``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numba as nb
import numpy as np
from numba import njit, types
from numba.extending import overload

from fastenv.drmario import layout
from fastenv.drmario.state import (
    COSTS_DTYPE,
    HEAD_DTYPE,
    PLAYER_DTYPE,
    SHARED_DTYPE,
    VIEW_DTYPE,
    state_dtype,
)
from fastenv.game import Compiled
from fastenv.numba_cache import cached_cfunc
from fastenv.pointers import advance, reader

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_HELPER: dict[str, Any] = {"error_model": "numpy"}
_INLINED: dict[str, Any] = _HELPER | {"forceinline": True}

ROWS, COLUMNS, CELLS, NUM_COLORS = 16, 8, 128, 3
PLACEMENTS, INFEASIBLE = 512, 0xFFFF
STACKED = 3
SPAWN_ROW, SPAWN_COLUMN = 15, 3
FALLING, SENT = 0, 3  # next_action
CLEAR = 1  # reason
MAX_VIRUSES, MAX_ATTACK, LAST_VIRUS_LEVEL = 84, 4, 20
LOWEST_LEVEL, FEWEST_VIRUSES_LEVEL = -15, -3
COUNTED_BUTTONS = 0xC7  # A, B, down, left, right
TIME_SCALE = 8000.0
CANONICAL = np.array([1, 0, 2], np.uint8)
# Rows up and columns right of the first half and of the second, by rotation.
HALVES = np.array([[[0, 0], [0, 1]], [[0, 0], [1, 0]], [[0, 1], [0, 0]], [[1, 0], [0, 0]]], np.int8)
# Planes of an observation, by its number: with falling and next pill, links, opponent, feasible.
REDUCED = np.array([0, 0, 0, 0, 0, 1, 1, 0, 0, 0], np.bool_)
LINKED = np.array([0, 0, 1, 1, 1, 0, 0, 0, 0, 0], np.bool_)
VERSUS = np.array([0, 0, 0, 0, 1, 0, 0, 0, 0, 0], np.bool_)
FEASIBLE = np.array([0, 1, 0, 1, 1, 0, 1, 0, 0, 0], np.bool_)
NUM_PLANES = np.array([4, 8, 8, 12, 20, 6, 10, 12, 16, 0], np.int64)
BITPLANE, EXTENDED, NONE = 7, 8, 9

HEAD, PLAYER, VIEW = HEAD_DTYPE.itemsize, PLAYER_DTYPE.itemsize, VIEW_DTYPE.itemsize
COSTS = COSTS_DTYPE.itemsize
# Behind the players, whose number they depend on.
_ONE: Any = state_dtype(1, 4).fields
_TWO: Any = state_dtype(2, 4).fields
TAU_AT = _ONE["tau"][1]  # of one player
STACK_AT = np.array([_ONE["stack"][1], _TWO["stack"][1]], np.int64)
NUM_TERMS = len(layout.REWARD_TERMS)

LOW = np.uint64(0x0101010101010101)  # the lowest bit of every cell


# -- records in memory -----------------------------------------------------------------------------

_read_head, _read_player, _read_view = map(reader, (HEAD_DTYPE, PLAYER_DTYPE, VIEW_DTYPE))
_read_costs = reader(COSTS_DTYPE)
_WORDS = np.dtype([("at", "u8", (20 * ROWS,))])
_read_words = reader(_WORDS)
_read_floats = reader(np.dtype([("at", "f4", (20 * CELLS,))]))
_read_shorts = reader(np.dtype([("at", "i2", (PLACEMENTS,))]))
_read_doubles = reader(np.dtype([("at", "f8", (NUM_TERMS,))]))
_read_tau = reader(np.dtype([("tau", "i4")]))
_read_bytes = reader(np.dtype([("at", "u1", (PLACEMENTS,))]))


@njit(**_HELPER)
def _player(row, k):
    """Return player ``k`` of a row."""
    return _read_player(row, HEAD + PLAYER * k)


# -- words of eight cells --------------------------------------------------------------------------


@njit(**_HELPER)
def _bit(word, k):
    """Return bit ``k`` of every cell, as 0 or 1."""
    return (word >> np.uint64(k)) & LOW


@njit(**_HELPER)
def _virus(word):
    high, low = _bit(word, 7) & _bit(word, 6), _bit(word, 4)
    return high & low & ~_bit(word, 5)


@njit(**_HELPER)
def _half(word):
    """Return where halves of pills are: 0x40 to 0x80."""
    b7, b6, b5, b4 = _bit(word, 7), _bit(word, 6), _bit(word, 5), _bit(word, 4)
    return (b6 & ~b7) | (b7 & ~b6 & ~b5 & ~b4)


@njit(**_HELPER)
def _free(word):
    return _bit(word, 7) & _bit(word, 6) & _bit(word, 5) & _bit(word, 4)


@njit(**_HELPER)
def _marked(word):
    return _bit(word, 7) & ~_bit(word, 6) & _bit(word, 5) & _bit(word, 4)


@njit(**_HELPER)
def _color(word, color):
    """Return where the low bits are those of a canonical colour."""
    b0, b1 = _bit(word, 0), _bit(word, 1)
    if color == 0:
        return b0 & ~b1
    if color == 1:
        return LOW & ~b0 & ~b1
    return b1 & ~b0


@njit(**_HELPER)
def _kind(word, kind):
    """Return where the high nibble is one of 4 to 7."""
    b7, b6, b5, b4 = _bit(word, 7), _bit(word, 6), _bit(word, 5), _bit(word, 4)
    found = b6 & ~b7
    found &= b5 if kind & 2 else ~b5
    return found & (b4 if kind & 1 else ~b4)


def _put(planes, plane, row, word):
    """Write a row of a plane of zeros and ones."""


@overload(_put, jit_options={"error_model": "numpy"})
def _put_typed(planes, plane, row, word):
    if planes.dtype == _WORDS:

        def put(planes, plane, row, word):
            planes.at[plane * ROWS + row] = word
    else:

        def put(planes, plane, row, word):
            at = (plane * ROWS + row) * COLUMNS
            for column in range(COLUMNS):
                planes.at[at + column] = np.float32((word >> np.uint64(8 * column)) & np.uint64(1))

    return put


def _fill(planes, plane, number, scale):
    """Write a plane of one number."""


@overload(_fill, jit_options={"error_model": "numpy"})
def _fill_typed(planes, plane, number, scale):
    if planes.dtype == _WORDS:

        def fill(planes, plane, number, scale):
            for row in range(ROWS):
                planes.at[plane * ROWS + row] = np.uint64(number) * LOW
    else:

        def fill(planes, plane, number, scale):
            value = np.float32(number / scale)
            for cell in range(CELLS):
                planes.at[plane * CELLS + cell] = value

    return fill


# -- pills -----------------------------------------------------------------------------------------


@njit(**_HELPER)
def _pill_word(row, col, rot, k, from_top):
    """Return the word of half ``k`` of a pill in a row of the bottle, counted from its top."""
    if ROWS - 1 - row - HALVES[rot, k, 0] != from_top:
        return np.uint64(0)
    return np.uint64(1) << np.uint64(8 * (col + HALVES[rot, k, 1]))


@njit(**_HELPER)
def _falling(view, k, from_top):
    """Return the cell of a half of the falling pill: none while there is only the next one."""
    if view.next_action != FALLING and view.next_action != SENT:
        return np.uint64(0)
    return _pill_word(np.int64(view.row), np.int64(view.col), view.rot, k, from_top)


@njit(**_HELPER)
def _preview(view, k, from_top):
    """Return the cell of a half of the next pill, shown where it will begin."""
    row = SPAWN_ROW - np.int64(view.preview_rot & 1)
    return _pill_word(row, SPAWN_COLUMN, view.preview_rot, k, from_top)


@njit(**_HELPER)
def _pills(view, from_top):
    """Return the words of both pills of a row, each as first half and second half."""
    return (
        _falling(view, 0, from_top),
        _falling(view, 1, from_top),
        _preview(view, 0, from_top),
        _preview(view, 1, from_top),
    )


@njit(**_HELPER)
def _pill_color(view, pills, color):
    """Return the cells of both pills that are of a canonical colour."""
    found = np.uint64(0)
    if CANONICAL[view.color_first] == color:
        found |= pills[0]
    if CANONICAL[view.color_second] == color:
        found |= pills[1]
    if CANONICAL[view.preview_first] == color:
        found |= pills[2]
    if CANONICAL[view.preview_second] == color:
        found |= pills[3]
    return found


# -- planes ----------------------------------------------------------------------------------------


@njit(**_HELPER)
def _bottle(words, planes, at, linked):
    """Write colours and viruses, and where the other halves are; return the next plane."""
    for row in range(ROWS):
        word = words.at[row]
        virus = _virus(word)
        stable = virus | _half(word)
        for color in range(NUM_COLORS):
            _put(planes, at + color, row, stable & _color(word, color))
        _put(planes, at + 3, row, virus)
        if linked:
            _put(planes, at + 4, row, _kind(word, 5))
            _put(planes, at + 5, row, _kind(word, 4))
            _put(planes, at + 6, row, _kind(word, 7))
            _put(planes, at + 7, row, _kind(word, 6))
    return at + 8 if linked else at + 4


@njit(**_HELPER)
def _reduced(view, words, planes):
    for row in range(ROWS):
        word, pills = words.at[row], _pills(view, row)
        virus = _virus(word)
        stable = virus | _half(word)
        for color in range(NUM_COLORS):
            shown = (stable & _color(word, color)) | _pill_color(view, pills, color)
            _put(planes, color, row, shown)
        _put(planes, 3, row, virus)
        _put(planes, 4, row, pills[0] | pills[1])
        _put(planes, 5, row, pills[2] | pills[3])
    return 6


@njit(**_HELPER)
def _feasible(due, known, planes, at):
    """Write the placements that can be reached; ``known`` is a record of costs if one is due."""
    for o in range(4):
        for row in range(ROWS):
            word, first = np.uint64(0), (o * ROWS + row) * COLUMNS
            if due:
                for column in range(COLUMNS):
                    reachable = np.uint64(known.costs[first + column] != INFEASIBLE)
                    word |= reachable << np.uint64(8 * column)
            _put(planes, at + o, row, word)


@njit(**_HELPER)
def _scalars(view, level, planes, at):
    _fill(planes, at, np.int64(view.speed_counter), 255)
    _fill(planes, at + 1, np.int64(view.placed_step), 255)
    _fill(planes, at + 2, max(np.int64(level), 0), 20)


@njit(**_HELPER)
def _everything(view, words, level, planes):
    for row in range(ROWS):
        word, pills = words.at[row], _pills(view, row)
        virus, half, marked, free = _virus(word), _half(word), _marked(word), _free(word)
        empty = free & _bit(word, 3)  # the low nibble of 0xFF; that of an emptied cell is a colour
        for color in range(NUM_COLORS):
            found = (virus | half | marked) & _color(word, color)
            _put(planes, color, row, found | _pill_color(view, pills, color))
        falling, preview = pills[0] | pills[1], pills[2] | pills[3]
        _put(planes, 3, row, virus)
        _put(planes, 4, row, half)
        _put(planes, 5, row, falling)
        _put(planes, 6, row, preview)
        _put(planes, 7, row, marked | (free & ~empty))
        _put(planes, 8, row, free & ~falling & ~preview)
    _scalars(view, level, planes, 9)


@njit(**_HELPER)
def _extended(view, words, level, planes):
    for row in range(ROWS):
        word, pills = words.at[row], _pills(view, row)
        virus, half = _virus(word), _half(word)
        pill = (pills[0], pills[1], np.uint64(0), np.uint64(0))
        for color in range(NUM_COLORS):
            of_color = _color(word, color)
            _put(planes, color, row, virus & of_color)
            _put(planes, 3 + color, row, half & of_color)
            _put(planes, 6 + color, row, _pill_color(view, pill, color))
    _fill(planes, 9, 1 - np.int64(view.rot & 1), 1)
    _scalars(view, level, planes, 10)
    _fill(planes, 13, np.int64(view.preview_first), 2)
    _fill(planes, 14, np.int64(view.preview_second), 2)
    _fill(planes, 15, np.int64(view.preview_rot), 3)


@njit(**_HELPER)
def _planes(rules, view, words, other, due, known, level, planes):
    """Write one frame; ``other`` are the words of the opponent's bottle, if there is one."""
    kind = rules.obs
    if kind == BITPLANE:
        _everything(view, words, level, planes)
    elif kind == EXTENDED:
        _extended(view, words, level, planes)
    elif kind != NONE:
        if REDUCED[kind]:
            at = _reduced(view, words, planes)
        else:
            at = _bottle(words, planes, 0, LINKED[kind])
        if VERSUS[kind] and rules.agents == 2:
            at = _bottle(other, planes, at, True)
        elif VERSUS[kind]:
            for plane in range(at, at + 8):
                _fill(planes, plane, 0, 1)
            at += 8
        if FEASIBLE[kind]:
            _feasible(due, known, planes, at)


# -- players of a row ------------------------------------------------------------------------------


@njit(**_HELPER)
def _from_bcd(byte):
    return np.int64(byte >> 4) * 10 + np.int64(byte & 15)


@njit(**_HELPER)
def _popcount(word):
    """Return how many cells of a word of zeros and ones are one."""
    return np.int64((word * LOW) >> np.uint64(56))


@njit(**_HELPER)
def _columns(words, out):
    """Write the heights of all columns, and before them that of the highest one."""
    for column in range(COLUMNS + 1):
        out.at[44 + column] = 0.0
    for row in range(ROWS):
        taken = LOW & ~_free(words.at[ROWS - 1 - row])
        height = np.float32((row + 1) / 16)
        for column in range(COLUMNS):
            if (taken >> np.uint64(8 * column)) & np.uint64(1):
                out.at[45 + column] = height
        if taken:
            out.at[44] = height


@njit(**_HELPER)
def _goal(level):
    """Return the match events that a level without viruses asks for."""
    return 1 + np.int64(level) - LOWEST_LEVEL


@njit(**_HELPER)
def _progress(player):
    if player.level < FEWEST_VIRUSES_LEVEL:
        return player.matches / _goal(player.level)
    if player.initial_viruses == 0:
        return 0.0
    removed = np.int64(player.initial_viruses) - _from_bcd(player.virus_bcd)
    return removed / player.initial_viruses


@njit(**_HELPER)
def _count_feasible(due, known):
    count = 0
    if due:
        for action in range(PLACEMENTS):
            count += known.costs[action] != INFEASIBLE
    return count


@njit(**_HELPER)
def _aux(head, player, words, due, known, out):
    """Write the 57 numbers of the auxiliary vector."""
    for i in range(57):
        out.at[i] = 0.0
    out.at[player.speed_setting] = 1.0
    out.at[3] = np.float32(_from_bcd(player.virus_bcd) / MAX_VIRUSES)
    level = min(np.int64(player.level), LAST_VIRUS_LEVEL)
    out.at[7 + level - LOWEST_LEVEL] = 1.0
    if head.task_max_frames:
        out.at[43] = np.float32(head.ep_frames / head.task_max_frames)
    else:
        out.at[43] = np.float32(math.tanh(head.ep_frames / TIME_SCALE))
    _columns(words, out)
    occupied, highest = 0, 0
    for row in range(ROWS):
        word = words.at[row]
        virus = _virus(word)
        if virus and not highest:
            highest = ROWS - row
        occupied += COLUMNS - _popcount(_free(word))
        for color in range(NUM_COLORS):
            out.at[4 + color] += np.float32(_popcount(virus & _color(word, color)))
    for color in range(NUM_COLORS):
        out.at[4 + color] = np.float32(np.float64(out.at[4 + color]) / MAX_VIRUSES)
    out.at[53] = np.float32(_progress(player))
    out.at[54] = np.float32(_count_feasible(due, known) / PLACEMENTS)
    out.at[55] = np.float32(occupied / CELLS)
    out.at[56] = np.float32(highest / 16)


@njit(**_HELPER)
def _aux_versus(versus, own, other, out):
    """Write the 15 numbers about the opponent, all 0 without one."""
    for i in range(15):
        out.at[i] = 0.0
    if not versus:
        return
    out.at[0] = np.float32(_from_bcd(other.virus_bcd) / MAX_VIRUSES)
    out.at[1] = np.float32(other.attack_size / MAX_ATTACK)
    out.at[2] = np.float32(own.attack_size / MAX_ATTACK)
    out.at[3 + CANONICAL[other.color_first]] = 1.0
    out.at[6 + CANONICAL[other.color_second]] = 1.0
    out.at[9 + CANONICAL[other.preview_first]] = 1.0
    out.at[12 + CANONICAL[other.preview_second]] = 1.0


@njit(**_HELPER)
def _candidates(due, known, most, actions, costs):
    """Write the cheapest placements by cost, then by number: insertion into a short list."""
    count = 0
    for i in range(most):
        actions.at[i], costs.at[i] = -1, 0
    if not due:
        return
    for action in range(PLACEMENTS):
        cost = np.int64(known.costs[action])
        if cost == INFEASIBLE or (count == most and cost >= costs.at[most - 1]):
            continue
        at = min(count, most - 1)
        while at > 0 and costs.at[at - 1] > cost:
            actions.at[at], costs.at[at] = actions.at[at - 1], costs.at[at - 1]
            at -= 1
        actions.at[at], costs.at[at] = action, cost
        count = min(count + 1, most)


# -- an observation --------------------------------------------------------------------------------


@njit(**_HELPER)
def _places(rules, k, i):
    """Return where the views of player ``k`` and of the other one are in frame ``i`` of a row."""
    other = 1 - k if rules.agents == 2 else k
    if i == rules.stack - 1:
        return HEAD + PLAYER * k, HEAD + PLAYER * other
    first = STACK_AT[rules.agents - 1] + VIEW * i
    return first + VIEW * STACKED * k, first + VIEW * STACKED * other


@njit(**_HELPER)
def _frame(row, rules, k, i, due, known, planes):
    """Write the planes of one frame of player ``k``."""
    own, other = _places(rules, k, i)
    view, words, opponent = _read_view(row, own), _read_words(row, own), _read_words(row, other)
    _planes(rules, view, words, opponent, due, known, _player(row, k).level, planes)


@njit(**_HELPER)
def _frames(row, rules, k, due, known, out):
    """Write the planes of player ``k``, of earlier frames first; return their bytes."""
    size, frames = NUM_PLANES[rules.obs] * CELLS, np.int64(rules.stack)
    if rules.bytes:
        for i in range(frames):
            _frame(row, rules, k, i, due, known, _read_words(out, i * size))
        return frames * size
    for i in range(frames):
        _frame(row, rules, k, i, due, known, _read_floats(out, 4 * i * size))
    return 4 * frames * size


@njit(**_HELPER)
def _observe(row, due, known, rules, k, out):
    """Write the observation of player ``k``; ``known`` are its costs, if a decision is due."""
    player = _player(row, k)
    at = _frames(row, rules, k, due, known, out)
    if rules.aux:
        words, about = _read_words(row, HEAD + PLAYER * k), _read_floats(out, at)
        _aux(_read_head(row, 0), player, words, due, known, about)
        at += 4 * 57
    if rules.aux == 2:
        _aux_versus(rules.agents == 2, player, _player(row, 1 - k), _read_floats(out, at))
        at += 4 * 15
    if rules.costs:
        costs = _read_shorts(out, at)
        for action in range(PLACEMENTS):
            costs.at[action] = -1
            if due and known.costs[action] != INFEASIBLE:
                costs.at[action] = np.int16(known.costs[action])
        at += 2 * PLACEMENTS
    if rules.candidates:
        most = np.int64(rules.candidates)
        _candidates(due, known, most, _read_shorts(out, at), _read_shorts(out, at + 2 * most))
        at += 4 * most
    if rules.pill:
        flags = _read_bytes(out, at)
        for i in range(12):
            flags.at[i] = 0
        flags.at[CANONICAL[player.color_first]] = 1
        flags.at[3 + CANONICAL[player.color_second]] = 1
        flags.at[6 + CANONICAL[player.preview_first]] = 1
        flags.at[9 + CANONICAL[player.preview_second]] = 1


@njit(**_INLINED)
def _mask(due, known, rules, legal):
    """Write the legal actions: in games of frames all; where no decision is due, action 0."""
    if due:
        for action in range(PLACEMENTS):
            legal.at[action] = known.costs[action] != INFEASIBLE
        return
    allowed = np.uint8(rules.placement == 0)
    for action in range(np.int64(rules.num_actions)):
        legal.at[action] = allowed
    legal.at[0] = 1


# -- reward ----------------------------------------------------------------------------------------


@njit(**_INLINED)
def _flagged(flags):
    """Return how many colours are flagged as a pair, and how many as a triplet."""
    pairs, triplets = 0.0, 0.0
    for color in range(NUM_COLORS):
        pairs += flags[color] == 1
        triplets += flags[color] == 2
    return pairs, triplets


@njit(**_INLINED)
def _bits(byte):
    """Return how many bits of a byte are set."""
    count = np.int64(byte)
    count -= (count >> 1) & 0x55
    count = (count & 0x33) + ((count >> 2) & 0x33)
    return (count + (count >> 4)) & 0x0F


@njit(**_INLINED)
def _met(player):
    """Tell whether a player has reached what its level asks for."""
    if player.level < FEWEST_VIRUSES_LEVEL:
        return player.matches >= _goal(player.level)
    return player.stage_clear != 0


@njit(**_HELPER)
def _budget_bonus(rules, head, player):
    budget, used = np.int64(0), np.int64(0)
    if head.task_max_frames:
        budget, used = np.int64(head.task_max_frames), np.int64(head.ep_frames)
    elif head.task_max_spawns:
        budget, used = np.int64(head.task_max_spawns), np.int64(player.locks)
    if not budget:
        return rules.terminal_clear_bonus
    left = math.tanh((budget - used) / max(1.0, budget / 2.0))
    return left * (rules.terminal_clear_bonus if left >= 0 else abs(rules.topout_penalty))


@njit(**_INLINED)
def _level_terms(head, player, rules, tau, terms):
    """Write the terms of a level that one player plays, and return their sum."""
    share = tiles = pairs = triplets = virus_pairs = virus_triplets = seconds = 0.0
    pills, viruses = player.ev_adjacency, player.ev_virus_adjacency
    flags = pills[0] | pills[1] | pills[2] | viruses[0] | viruses[1] | viruses[2]
    over = head.done == 1
    # In most frames nothing happens that is paid for.
    happened = over or flags or player.ev_tiles_virus or player.ev_tiles_nonvirus
    cleared = lost = False
    if happened:
        if player.initial_viruses:
            share = player.ev_tiles_virus / player.initial_viruses
        tiles = np.float64(player.ev_tiles_nonvirus)
        pairs, triplets = _flagged(pills)
        virus_pairs, virus_triplets = _flagged(viruses)
        cleared = over and _met(player)
        lost = over and not cleared
        seconds = np.float64(head.ep_frames) / 60.0
    terms.at[0] = rules.virus_clear_bonus * share
    terms.at[1] = rules.non_virus_clear_bonus * tiles
    terms.at[2] = rules.adjacency_pair_bonus * pairs
    terms.at[3] = rules.adjacency_triplet_bonus * triplets
    terms.at[4] = rules.virus_adjacency_pair_bonus * virus_pairs
    terms.at[5] = rules.virus_adjacency_triplet_bonus * virus_triplets
    terms.at[6] = _budget_bonus(rules, head, player) if cleared else 0.0
    terms.at[7] = rules.topout_penalty if lost else 0.0
    terms.at[8] = rules.time_penalty_clear_per_60_frames * (seconds if cleared else 0.0)
    terms.at[9] = rules.time_bonus_topout_per_60_frames * (seconds if lost else 0.0)
    terms.at[10] = rules.time_penalty_per_60_frames * (tau / 60.0)
    total = _added(terms, 0, 10, 0.0) if happened else 0.0  # each addition waits for the last
    if rules.placement:
        return _added(terms, 10, 11, total)
    before = player.locks - 1.0
    if player.ev_locks:
        terms.at[11] = rules.pill_place_base * (1.0 + rules.pill_place_growth * (before * before))
    terms.at[12] = rules.column_height_penalty * (
        np.int64(player.height) - np.int64(player.ev_height)
    )
    terms.at[13] = rules.action_penalty_scale * _bits(player.buttons_pressed & COUNTED_BUTTONS)
    return _added(terms, 10, 14, total)


@njit(**_INLINED)
def _added(terms, first, last, total):
    """Return a total and some terms, one after the other."""
    for i in range(first, last):
        total += terms.at[i]
    return total


@njit(**_INLINED)
def _match_terms(head, own, other, rules, terms):
    """Write the terms of a match, and return their sum."""
    won, lost = np.int64(0), np.int64(0)
    if head.done == 1 and head.reason == CLEAR:
        won, lost = np.int64(own.stage_clear), np.int64(other.stage_clear)
    elif head.done == 1:
        won, lost = np.int64(other.level_fail), np.int64(own.level_fail)
    terms.at[14] = np.float64(won - lost)
    terms.at[15] = rules.garbage_coef * own.ev_garbage_sent
    if won and not lost and head.reason == CLEAR:
        terms.at[16] = rules.clear_win_bonus
    return _added(terms, 14, 17, 0.0)


@njit(**_INLINED)
def _reward(row, rules, k, terms):
    """Write the terms of player ``k`` and return their sum."""
    head, player = _read_head(row, 0), _player(row, k)
    for i in range(NUM_TERMS):
        terms.at[i] = 0.0
    if rules.agents == 2:
        return np.float32(_match_terms(head, player, _player(row, 1 - k), rules, terms))
    return np.float32(_level_terms(head, player, rules, _read_tau(row, TAU_AT).tau, terms))


# -- info ------------------------------------------------------------------------------------------


@njit(**_HELPER)
def _info(row, due, known, k, out):
    """Write the columns of player ``k``."""
    head, player = _read_head(row, 0), _player(row, k)
    out.level[k], out.viruses[k] = player.level, _from_bcd(player.virus_bcd)
    out.pill[k, 0], out.pill[k, 1] = CANONICAL[player.color_first], CANONICAL[player.color_second]
    out.preview[k, 0] = CANONICAL[player.preview_first]
    out.preview[k, 1] = CANONICAL[player.preview_second]
    out.spawn_id[k], out.feasible_count[k] = player.reserve_index, _count_feasible(due, known)
    out.invalid_action[k], out.cost_to_lock[k] = player.ev_invalid != 0, player.ev_cost
    there = player.ev_locks > 0
    out.lock_pose[k, 0] = np.int64(player.ev_lock_col) if there else -1
    out.lock_pose[k, 1] = np.int64(player.ev_lock_row) if there else -1
    out.lock_pose[k, 2] = np.int64(player.ev_lock_rot) if there else -1
    out.tiles_total[k] = player.ev_tiles_virus + player.ev_tiles_nonvirus
    out.tiles_virus[k], out.tiles_nonvirus[k] = player.ev_tiles_virus, player.ev_tiles_nonvirus
    out.match_events[k] = player.ev_matches
    for color in range(NUM_COLORS):
        out.adj_pair[k, color] = player.ev_adjacency[color] == 1
        out.adj_triplet[k, color] = player.ev_adjacency[color] == 2
        out.virus_adj_pair[k, color] = player.ev_virus_adjacency[color] == 1
        out.virus_adj_triplet[k, color] = player.ev_virus_adjacency[color] == 2
    out.spawns[k], out.score[k] = player.locks, player.score
    in_time = not head.task_max_frames or head.ep_frames <= head.task_max_frames
    in_pills = not head.task_max_spawns or player.locks <= head.task_max_spawns
    out.success[k] = head.reason == CLEAR and _met(player) and in_time and in_pills
    out.garbage_pending[k], out.garbage_sent[k] = player.attack_size, player.ev_garbage_sent
    out.volleys[k], out.volley_size[k] = player.ev_volleys, player.ev_volley_size
    out.volley_column[k], out.volley_frame[k] = player.ev_volley_column, player.ev_volley_frame
    for j in range(MAX_ATTACK):
        out.volley_colors[k, j] = player.ev_volley_colors[j]
    for action in range(PLACEMENTS):
        cost = known.costs[action] if due else np.uint16(INFEASIBLE)
        o, cell = action // CELLS, action % CELLS
        out.costs[k, o, cell // COLUMNS, cell % COLUMNS] = cost
        out.feasible_mask[k, o, cell // COLUMNS, cell % COLUMNS] = cost != INFEASIBLE
    for cell in range(CELLS):
        out.board[k, cell] = player.board[cell]
    out.reason, out.frame = head.reason, head.frame
    out.game_seed = np.int64(head.seed[0]) * 256 + head.seed[1]


# -- the compiled functions ------------------------------------------------------------------------

_bytes = types.CPointer(types.uint8)
_shared = types.CPointer(nb.from_dtype(SHARED_DTYPE))


def _by_player(agents):
    """Return the record of infos in which every column of a player has an axis of players.

    Numba has no arrays of booleans within a record: they are bytes.
    """
    fields = [
        (name, kind.replace("?", "u1"), (agents, *shape))
        for name, kind, shape in layout.PLAYER_INFO
    ]
    dtype = np.dtype([*fields, *layout.SHARED_INFO], align=True)
    assert dtype.itemsize == layout.info_dtype(agents).itemsize
    return dtype


@njit(**_INLINED)
def _due(rules, known):
    """Tell whether a decision is due; in games of frames there is no record to look at."""
    return rules.placement != 0 and known.known != 0


@lru_cache
def _cfuncs():
    """Return observer and reward as C functions, compiled or from the cache."""

    @cached_cfunc(types.void(_bytes, _bytes, _shared, _bytes, _bytes), **_OPTIONS)
    def observe(row, derived, shared, obs_out, mask_out):
        rules = nb.carray(shared, (1,))[0].rules
        for k in range(np.int64(rules.agents)):
            known = _read_costs(derived, COSTS * k)
            due = _due(rules, known)
            if rules.obs_bytes:
                _observe(row, due, known, rules, k, advance(obs_out, rules.obs_bytes * k))
            _mask(due, known, rules, _read_bytes(mask_out, rules.num_actions * k))

    @cached_cfunc(
        types.int32(_bytes, _bytes, _shared, types.CPointer(types.float32), _bytes), **_OPTIONS
    )
    def reward(row, derived, shared, reward_out, terms_out):
        rules = nb.carray(shared, (1,))[0].rules
        paid = nb.carray(reward_out, (2,))
        for k in range(np.int64(rules.agents)):
            paid[k] = _reward(row, rules, k, _read_doubles(terms_out, 8 * NUM_TERMS * k))
        return 1

    return observe, reward


@lru_cache
def _info_cfunc(agents):
    record = types.CPointer(nb.from_dtype(_by_player(agents)))

    @cached_cfunc(types.void(_bytes, _bytes, _shared, record), **_OPTIONS)
    def info(row, derived, shared, info_out):
        rules, out = nb.carray(shared, (1,))[0].rules, nb.carray(info_out, (1,))[0]
        for k in range(agents):
            known = _read_costs(derived, COSTS * k)
            _info(row, _due(rules, known), known, k, out)

    return info


def functions(agents: int) -> Compiled:
    """Return the functions of one row for the loop over lanes; compiled at the first call.

    Parameters
    ----------
    agents : {1, 2}
    """
    observe, reward = (function.address for function in _cfuncs())
    return Compiled(
        observe=observe,
        reward=reward,
        info=_info_cfunc(agents).address,
        shared_size=SHARED_DTYPE.itemsize,
        info_size=layout.info_dtype(agents).itemsize,
        terms_size=layout.TERMS_DTYPE.itemsize,
    )
