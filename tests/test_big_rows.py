"""Rows of 40 KB: only those of the lanes that are named are copied, written or even looked at.

Three ways to see it: bytes allocated by a call, pages that a fresh batch has taken after it, and a
fence around all other rows, at which a process that reads or writes one of them dies.
"""

import ctypes
import faulthandler
import gc
import mmap
import os
import signal
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from tests.needs import needs_core
from tests.race import engine_of
from tests.slow import diagonal, late
from tests.toy import RaceGame

MB = 1 << 20
NAMED = [2, 5, 9]
pytestmark = pytest.mark.usefixtures("only_own_garbage")
every_opponent = pytest.mark.parametrize("opponent", [None, "random"])
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and protects pages")


def calls_on(engine, row):
    """Return calls that name lanes 2, 5 and 9, or fewer, by name, with the lanes they name."""
    n, shape = engine.num_envs, engine.mask.shape[:-1]
    three, actions = np.zeros(n, bool), np.zeros(shape, int)
    three[NAMED] = True
    return {
        "step": (lambda: engine.step_many(actions, select=three), NAMED),
        "no autoreset": (lambda: engine.step_many(actions, None, None, three, False), NAMED),
        "get_states": (lambda: engine.get_states(NAMED), NAMED),
        "set_states": (lambda: engine.set_states(row, 5), [5]),
        "reset": (lambda: engine.reset_many(mask=three), NAMED),
        "seeds": (lambda: engine.reset_many(mask=three, seeds=3), NAMED),
        "encode_obs_many": (lambda: engine.encode_obs_many(), []),
        "action_masks_many": (lambda: engine.action_masks_many(), []),
        "rows of others": (lambda: engine.encode_obs_many(row), []),
        "knobs": (lambda: engine.configure("limit", 80, NAMED), []),
    }


# -- bytes -----------------------------------------------------------------------------------------

# backend -> lanes, size of the board, rows that may be alive for one that is named: a game in plain
# Python holds its board as a list of objects, eight bytes and more for one
SIZES = {
    "reference": (200, 2_000, 30),
    "numba": (200, 2_000, 30),
    "cython": (1_000, 40_000, 30),
    "fast": (1_000, 40_000, 3),
}


@pytest.mark.parametrize(
    ("backend", "opponent"),
    diagonal([*late("numba", "cython"), "reference", "fast"], [None, "random"]),
)
def test_calls_allocate_what_they_were_asked_for(backend, opponent):
    n, size, factor = SIZES[backend]
    game = RaceGame(size=size)
    engine = BatchEngine(game, n, backend, opponent=opponent)
    three = np.zeros(n, bool)
    three[NAMED] = True
    engine.reset_many(mask=three, seeds=1)
    row_size = game.spec.state_dtype.itemsize
    shown = engine.obs.nbytes + engine.mask.nbytes
    row = engine.get_states(2)
    gc.collect()
    tracemalloc.start()
    try:
        for name, (call, named) in calls_on(engine, row).items():
            allowed = factor * row_size * max(1, len(named)) + 64 * n
            allowed += shown if "many" in name else 0
            assert allowed < n * row_size / 2
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            call()
            assert tracemalloc.get_traced_memory()[1] - before < allowed, name
    finally:
        tracemalloc.stop()


@needs_core
def test_a_call_that_names_all_lanes_is_seen():
    """The bound above would not hold for it."""
    engine = engine_of("fast", 200, RaceGame(size=40_000))
    tracemalloc.start()
    try:
        engine.get_states()
        assert tracemalloc.get_traced_memory()[1] > 200 * 40_000
    finally:
        tracemalloc.stop()


# -- pages -----------------------------------------------------------------------------------------


def resident():
    """Return the memory that this process really has, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


@linux
@pytest.mark.parametrize(("backend", "opponent"), diagonal(["cython", "fast"], [None, "random"]))
def test_a_batch_takes_memory_lane_by_lane(backend, opponent):
    """Zeros cost nothing until somebody writes: 160 MB of rows, of which four are used.

    A page may have 2 MB, of which a row can touch two: 16 MB. The bound is 32.
    """
    game = RaceGame(size=40_000)
    row = engine_of(backend, 1, game, opponent=opponent).get_states()  # all code has run once
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # or the rows may lie where other tests have written
    before = resident()
    engine = BatchEngine(game, 4_000, backend, opponent=opponent)
    rows = engine.num_envs * row.nbytes
    assert rows > 150 * MB
    three = np.zeros(engine.num_envs, bool)
    three[NAMED] = True
    engine.reset_many(mask=three, seeds=1)
    for name, (call, _) in calls_on(engine, row).items():
        call()
        assert resident() - before < 32 * MB, name
    if backend == "fast":  # and if all lanes are named
        engine.reset_many(seeds=0)
        assert resident() - before > 0.9 * rows


# -- a fence ---------------------------------------------------------------------------------------


def fence(rows, named):
    """Forbid this process every page of a batch that has nothing of the named rows."""
    start, size = rows.ctypes.data, rows.dtype.itemsize
    first, last = -(-start // mmap.PAGESIZE), (start + rows.nbytes) // mmap.PAGESIZE
    closed = np.ones(last - first, np.int8)
    for lane in named:
        begin, end = start + lane * size, start + (lane + 1) * size - 1
        open_from = max(begin // mmap.PAGESIZE - first, 0)
        closed[open_from : end // mmap.PAGESIZE - first + 1] = 0
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    edges = np.flatnonzero(np.diff(closed, prepend=0, append=0))
    for begin, end in edges.reshape(-1, 2).tolist():
        address, length = (first + begin) * mmap.PAGESIZE, (end - begin) * mmap.PAGESIZE
        assert protect(address, length, 0) == 0, ctypes.get_errno()


def outcome(engine, call, named, quiet=False):
    """Return the exit status of a child that makes the call behind the fence.

    If it dies, it says where, unless that is what is wanted.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork; the child starts no thread
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            if quiet:
                faulthandler.disable()
            fence(engine._states, named)
            call()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@linux
@pytest.mark.parametrize(
    ("backend", "opponent"),
    diagonal([*late("numba", "cython"), "reference", "fast"], [None, "random"]),
)
def test_rows_that_are_not_named_are_not_looked_at(backend, opponent):
    """A row is several pages, so a look at a single flag of each is a page fetched for each."""
    game = RaceGame(size=20_000, raise_illegal=True)
    engine = engine_of(backend, 12, game, opponent=opponent)
    calls = calls_on(engine, engine.get_states(5))
    found = {name: outcome(engine, call, named) for name, (call, named) in calls.items()}
    died = [name for name, status in found.items() if status == -signal.SIGSEGV]
    assert died == [], "these read or write rows of lanes that were not named"
    assert set(found.values()) == {0}


@needs_core
@linux
def test_the_fence_holds():
    engine = engine_of("fast", 12, RaceGame(size=20_000))
    assert outcome(engine, lambda: engine.get_states(NAMED), NAMED) == 0
    for call in (
        lambda: engine.get_states(),
        lambda: engine.get_states([*NAMED, 10]),
        lambda: engine._states["done"].any(),
        lambda: engine.reset_many(),
    ):
        assert outcome(engine, call, NAMED, quiet=True) == -signal.SIGSEGV
