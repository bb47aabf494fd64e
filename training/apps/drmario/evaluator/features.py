"""What the evaluator sees at a decision, and the features that its network is given of it.

It sees the bottle, the pill that falls, and how fast it falls; nothing else of a row is read. The
preview is left out, because the bottle behind a placement shows one that a player does not know
before; so the pill behind a known one is a mean over all pills.

The features are what ``greedy`` weighs (docs/drmario.md, 17.2), by kind instead of in one sum; open
lines are counted once more if one of the pill's halves has their colour. A network of these few
numbers needs far fewer games than one of the cells, and is as fast as a step of the engine. No
colour has a name in them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastenv.drmario import tables as t
from fastenv.numba_cache import cached_njit

UNKNOWN = t.NUM_COLORS  # colour of a pill that is not known

SITUATION = np.dtype(
    [
        ("board", "u1", (t.CELLS,)),
        ("pill", "u1", (2,)),  # canonical colours, or UNKNOWN
        ("gravity", "u1"),  # docs/drmario.md, 5.1
        ("low", "u1"),  # 1 at low speed, where a throw takes longer
    ]
)


def situations(rows: np.ndarray) -> np.ndarray:
    """Encode the situation of the first player of each row, records of :data:`SITUATION`.

    Parameters
    ----------
    rows : ndarray, shape (n,)
        In the state dtype of the game, at decisions.
    """
    players = rows["players"][:, 0]
    return _encode(players, players["board"], ("color_first", "color_second"), players["speed_ups"])


def situations_behind(
    rows: np.ndarray, parents: np.ndarray, boards: np.ndarray, *, preview: bool
) -> np.ndarray:
    """Encode the situations behind placements, records of :data:`SITUATION`, shape (k,).

    Parameters
    ----------
    rows : ndarray, shape (n,)
        At the decisions.
    parents : ndarray of int, shape (k,)
        The row of each placement.
    boards : ndarray of uint8, shape (k, 128)
        The bottles behind them.
    preview : bool
        Whether the preview of the row is the pill that falls then; else it is unknown.
    """
    players = rows["players"][parents, 0]
    tenth = players["pill_count_lo"] & 15 == 9  # the next pill is, and falls faster
    speed_ups = np.minimum(players["speed_ups"] + tenth, t.MAX_SPEED_UPS)
    pill = ("preview_first", "preview_second") if preview else ()
    return _encode(players, boards, pill, speed_ups)


def _encode(
    players: np.ndarray, boards: np.ndarray, pill: Sequence[str], speed_ups: np.ndarray
) -> np.ndarray:
    """Encode situations; ``pill`` names the fields of its colours, nothing if it is unknown."""
    seen = np.empty(len(players), SITUATION)
    seen["board"], seen["pill"] = boards, UNKNOWN
    canonical = np.array(t.CANONICAL, np.uint8)
    for half, name in enumerate(pill):
        seen["pill"][:, half] = canonical[players[name]]
    bases, gravity = np.array(t.SPEED_BASES), np.array(t.GRAVITY, np.uint8)
    index = bases[players["speed_setting"]] + speed_ups
    seen["gravity"] = gravity[np.minimum(index, len(gravity) - 1)]
    seen["low"] = players["speed_setting"] == 0
    return seen


_LINES = tuple(
    f"{way} of {cells}{virus}"
    for way in ("row", "column")
    for cells in (1, 2, 3)
    for virus in ("", " with a virus")
)
_HEIGHTS = tuple(f"height {column}" for column in range(t.COLUMNS))
# Name of each number, and what it is divided by.
NUMBERS: dict[str, float] = {
    **dict.fromkeys(_LINES, 8.0),
    **{f"{line}, for the pill": 8.0 for line in _LINES},
    "gaps": 64.0,
    "halves": 32.0,
    "changes": 16.0,
    "covers": 16.0,
    "neck": 32.0,
    "viruses": 32.0,
    "tallest": 16.0,
    **dict.fromkeys(_HEIGHTS, 16.0),
    "pill known": 1.0,
    "gravity": 40.0,
    "low speed": 1.0,
}
FIRST_HEIGHT = list(NUMBERS).index(_HEIGHTS[0])
_LENGTH, _KINDS = len(NUMBERS), len(_LINES)
_SCALE = np.array(list(NUMBERS.values()), np.float32)
_RAW = np.array([*t.CANONICAL, 255], np.uint8)  # canonical colours as cells have them
assert UNKNOWN == t.NUM_COLORS
_ROWS, _COLUMNS, _MATCH, _FREE, _VIRUS = t.ROWS, t.COLUMNS, t.MATCH, t.FREE, int(t.Tile.VIRUS)
_LEFT, _RIGHT, _NECK = t.NECK_LEFT, t.NECK_RIGHT, t.NECK_HEIGHT


def count_features(seen: np.ndarray) -> np.ndarray:
    """Count the features of situations, float32 (n, len(NUMBERS)).

    Parameters
    ----------
    seen : ndarray of SITUATION, shape (n,)
    """
    features = np.zeros((len(seen), _LENGTH), np.float32)
    _count(np.ascontiguousarray(seen["board"]), _RAW[seen["pill"]], features)
    features[:, -3] = seen["pill"][:, 0] != UNKNOWN
    features[:, -2], features[:, -1] = seen["gravity"], seen["low"]
    features /= _SCALE
    return features


def mirror_features(numbers: np.ndarray) -> np.ndarray:
    """Swap left and right in the features of bottles."""
    mirrored = numbers.copy()
    last = FIRST_HEIGHT + _COLUMNS
    mirrored[:, FIRST_HEIGHT:last] = numbers[:, FIRST_HEIGHT:last][:, ::-1]
    return mirrored


@cached_njit(nogil=True)
def _count(
    boards,  # IN uint8 (n, 128)
    pills,  # IN uint8 (n, 2), raw colours
    out,  # OUT float32 (n, numbers)
):
    tops = np.zeros(_COLUMNS, np.int64)
    for k in range(len(boards)):
        board, pill, numbers = boards[k], pills[k], out[k]
        _count_columns(board, tops, numbers)
        for row in range(_ROWS):
            for column in range(_COLUMNS - _MATCH + 1):
                _count_line(board, tops, pill, row * _COLUMNS + column, 1, numbers)
        for row in range(_ROWS - _MATCH + 1):
            for column in range(_COLUMNS):
                _count_line(board, tops, pill, row * _COLUMNS + column, _COLUMNS, numbers)


@cached_njit(nogil=True)
def _count_columns(
    board,  # IN uint8 (128,)
    tops,  # OUT int64 (8,), the highest rows that are not free
    numbers,  # OUT float32 (numbers,)
):
    at = 2 * _KINDS
    for column in range(_COLUMNS):
        top = 0
        while top < _ROWS and board[top * _COLUMNS + column] >= _FREE:
            top += 1
        tops[column] = top
        height, color, changes = _ROWS - top, -1, 0
        for row in range(top, _ROWS):
            tile = board[row * _COLUMNS + column]
            if tile >= _FREE:
                continue
            if color >= 0 and (tile & 15) != color:
                changes += 1
            color = tile & 15
            if (tile & 0xF0) == _VIRUS:
                numbers[at + 3] += changes
                numbers[at + 5] += 1
            else:
                numbers[at + 1] += 1
        numbers[at + 2] += changes
        if _LEFT <= column <= _RIGHT and height > _NECK:
            numbers[at + 4] += (height - _NECK) ** 2
        numbers[at + 6] = max(numbers[at + 6], np.float32(height))
        numbers[at + 7 + column] = height


@cached_njit(nogil=True)
def _count_line(
    board,  # IN uint8 (128,)
    tops,  # IN int64 (8,)
    pill,  # IN uint8 (2,)
    cell,  # IN int, the first of four
    step,  # IN int, from each to the next
    numbers,  # OUT float32 (numbers,)
):
    color, count, virus, gaps = -1, 0, 0, 0
    for _ in range(_MATCH):
        tile, row, top = board[cell], cell // _COLUMNS, tops[cell % _COLUMNS]
        if tile >= _FREE:
            if row > top:
                return
            gaps += top - 1 - row
        else:
            if color >= 0 and (tile & 15) != color:
                return
            color = tile & 15
            count += 1
            virus |= (tile & 0xF0) == _VIRUS
        cell += step
    if count == 0 or count == _MATCH:
        return
    kind = (6 if step > 1 else 0) + 2 * (count - 1) + virus
    numbers[kind] += 1
    for half in range(2):
        if pill[half] == color:
            numbers[_KINDS + kind] += 1
    if step == 1:
        numbers[2 * _KINDS] += gaps
