"""The compiled planner for many boards at once: docs/drmario.md, 11."""

import numpy as np

from libc.stdint cimport int16_t, uint8_t, uint16_t

from fastenv.drmario._planner cimport plan as _plan, script as _script
from fastenv.drmario._planner cimport Sets, Span, descend, spawn_root
from fastenv.drmario._search cimport MAX_FRAMES, MAX_GRAVITY, NUM_ACTIONS, ROWS, Bottle, Root
from fastenv.drmario._search cimport bottle_of, search as _search, search_script

from fastenv.drmario.reachability import SPAWN, checked
from fastenv.errors import ConfigError, InvalidActionError


def _same_length(boards, **columns):
    """Return contiguous arrays of one question a row, checked."""
    boards = np.asarray(boards)
    if boards.ndim != 2 or boards.shape[1] != 128 or boards.dtype != np.uint8:
        raise ConfigError(f"boards must be uint8 (n, 128), got {boards.dtype} {boards.shape}")
    found = [np.ascontiguousarray(boards)]
    limits = {"parities": 1, "gravities": MAX_GRAVITY, "actions": NUM_ACTIONS - 1}
    for name, column in columns.items():
        values = np.asarray(column)
        if values.shape not in ((), (len(boards),)):
            raise ConfigError(
                f"{name} must be one number or {len(boards)} of them, got shape {values.shape}"
            )
        if values.dtype.kind not in "iu":
            raise ConfigError(f"{name} must be integers, got {values.dtype}")
        if values.size and not 0 <= values.min() <= values.max() <= limits[name]:
            raise ConfigError(
                f"{name} must be 0 to {limits[name]}, got {values.min()} to {values.max()}"
            )
        found.append(np.full(len(boards), values, np.int16))
    return found


def plan(boards, parities, gravities, bint extended=False):
    """Find the least number of frames to every placement of a pill at the spawn.

    Parameters
    ----------
    boards : array_like of uint8, (n, 128)
        Cells from the top left; a byte below 0xF0 blocks.
    parities : array_like of int, (n,) or scalar
        Parity of the frame counter before the first frame.
    gravities : array_like of int, (n,) or scalar
        Frames a row takes, less one: 0 to 69.
    extended : bool
        Allow A and B in the same frame, and left and right.

    Returns
    -------
    numpy.ndarray of uint16, (n, 512)
        Frames to and including the one that locks the pill, by action; 0xFFFF if infeasible.

    Raises
    ------
    ConfigError
        If an argument is out of range.
    """
    found = _same_length(boards, parities=parities, gravities=gravities)
    out = np.empty((len(found[0]), NUM_ACTIONS), np.uint16)
    cdef const uint8_t[:, ::1] board = found[0]
    cdef const int16_t[::1] parity = found[1], gravity = found[2]
    cdef uint16_t[:, ::1] costs = out
    cdef Py_ssize_t i
    with nogil:
        for i in range(board.shape[0]):
            _plan(&board[i, 0], parity[i], gravity[i], extended, &costs[i, 0])
    return out


def script(boards, parities, gravities, actions, bint extended=False):
    """Write a shortest sequence of buttons to a placement for each board.

    Parameters
    ----------
    boards, parities, gravities, extended
        As for :func:`plan`.
    actions : array_like of int, (n,) or scalar
        Placements, numbered as in docs/drmario.md, 11.3.

    Returns
    -------
    buttons : numpy.ndarray of uint8, (n, longest)
        One button byte a frame, 0 after the end.
    lengths : numpy.ndarray of int16, (n,)
        Frames: the costs of the actions.

    Raises
    ------
    ConfigError
        If an argument is out of range.
    InvalidActionError
        If an action is infeasible.
    """
    found = _same_length(boards, parities=parities, gravities=gravities, actions=actions)
    out = np.zeros((len(found[0]), MAX_FRAMES), np.uint8)
    counts = np.empty(len(out), np.int16)
    cdef const uint8_t[:, ::1] board = found[0]
    cdef const int16_t[::1] parity = found[1], gravity = found[2], action = found[3]
    cdef uint8_t[:, ::1] buttons = out
    cdef int16_t[::1] lengths = counts
    cdef Py_ssize_t i
    with nogil:
        for i in range(board.shape[0]):
            lengths[i] = _script(
                &board[i, 0], parity[i], gravity[i], extended, action[i], &buttons[i, 0]
            )
    if counts.size and counts.min() < 0:
        raise MemoryError
    if counts.size and counts.min() == 0:
        row = int(np.flatnonzero(counts == 0)[0])
        raise InvalidActionError(
            f"actions[{row}] = {found[3][row]} is infeasible; choose one with a finite cost"
        )
    return out[:, : counts.max(initial=0)].copy(), counts


def search(board, int parity, int gravity, root=SPAWN, bint extended=False, action=None):
    """Answer one question by the search alone, from any root and with either input set.

    Arguments as those of :func:`fastenv.drmario.reachability.plan`. With an ``action`` the buttons
    of a shortest way to it, else the costs.
    """
    checked(board, parity, gravity, root)
    if action is not None and not 0 <= action < NUM_ACTIONS:
        raise ConfigError(f"action must be 0 to {NUM_ACTIONS - 1}, got {action}")
    cdef const uint8_t[::1] cells = np.ascontiguousarray(board)
    cdef Bottle bottle = bottle_of(&cells[0])
    cdef Root start
    cdef uint16_t[::1] costs
    cdef uint8_t[MAX_FRAMES] buttons
    cdef int length
    start.x, start.y, start.rot, start.counter, start.velocity, start.direction, start.held = root
    if action is None:
        out = np.empty(NUM_ACTIONS, np.uint16)
        costs = out
        _search(&bottle, parity, gravity, &start, extended, -1, &costs[0], NULL)
        return out
    length = search_script(&bottle, parity, gravity, &start, extended, action, buttons)
    if length < 0:
        raise MemoryError
    if length == 0:
        raise InvalidActionError(f"action {action} is infeasible; choose one with a finite cost")
    return buttons[:length]


def _searched(boards, parities, gravities):
    """Return the costs that the search finds, without a descent before it."""
    found = _same_length(boards, parities=parities, gravities=gravities)
    out = np.empty((len(found[0]), NUM_ACTIONS), np.uint16)
    cdef const uint8_t[:, ::1] board = found[0]
    cdef const int16_t[::1] parity = found[1], gravity = found[2]
    cdef uint16_t[:, ::1] costs = out
    cdef Root root = spawn_root()
    cdef Bottle bottle
    cdef Py_ssize_t i
    with nogil:
        for i in range(board.shape[0]):
            bottle = bottle_of(&board[i, 0])
            _search(&bottle, parity[i], gravity[i], &root, False, -1, &costs[i, 0], NULL)
    return out


def _proved(boards, parities, gravities):
    """Tell for which boards the descent proves its costs, so that no search follows."""
    found = _same_length(boards, parities=parities, gravities=gravities)
    out = np.zeros(len(found[0]), np.uint8)
    cdef const uint8_t[:, ::1] board = found[0]
    cdef const int16_t[::1] parity = found[1], gravity = found[2]
    cdef uint8_t[::1] proved = out
    cdef uint16_t costs[NUM_ACTIONS]
    cdef Sets sets[2]
    cdef Span spans[ROWS]
    cdef Bottle bottle
    cdef Py_ssize_t i
    with nogil:
        for i in range(board.shape[0]):
            bottle = bottle_of(&board[i, 0])
            proved[i] = descend(&bottle, parity[i], gravity[i], costs, sets, 2, spans)
    return out.view(np.bool_)
