"""The loop over lanes: every compiled game is stepped, reset and encoded here.

A game exports functions of one row (``_batch.pxd``); this module owns what is the same for all:
checks of buffers, parts and threads, automatic reset, flags, sums, tau, the choice of info columns,
final values, encoding. Numba kernels enter by address and are called right after a row was stepped,
while it is in the first-level cache. An indirect call a row is noise beside a step.
"""
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.pycapsule cimport PyCapsule_GetPointer
from cython.parallel cimport prange, threadid
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import os
import warnings

import numpy as np

from fastenv._rng cimport rng_seed

cdef extern from *:
    """
    #ifdef FASTENV_DEBUG
    #define FASTENV_IS_DEBUG 1
    #else
    #define FASTENV_IS_DEBUG 0
    #endif
    #include "_portable.h"
    static inline void fastenv_prefetch(const void *start, size_t bytes) {
        const char *p = (const char *)start;
        size_t i;
        for (i = 0; i < bytes; i += 64) FASTENV_FETCH(p + i);
    }
    """
    const bint FASTENV_IS_DEBUG
    void fastenv_prefetch(const void* start, size_t bytes) noexcept nogil

cdef enum:
    FETCHED_OBS = 2048  # of an observation: longer ones are left to the processor's own prefetching
    # Lanes between the one that steps and the one that is prefetched for, because a batch does not
    # fit the second-level cache: what every step reads of a row, then what the step of a lane that
    # the game has looked at reads and writes.
    ROWS_AHEAD = 2
    LOOK_AHEAD = 1


# A forked process has the pool of OpenMP, but none of its threads: GNU's waits for them for ever.
# Another library may have made that pool, so a child never begins a parallel region.
cdef bint forked = False  # since an environment was made: that imports this module
cdef bint fork_is_told = False


def _after_fork_in_child():
    global forked, fork_is_told
    forked, fork_is_told = True, False


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork_in_child)


cdef int team(int threads) except -1:
    """Return how many threads a call may use: one in a forked process, which says so once."""
    global fork_is_told
    if not forked or threads == 1:
        return threads
    if not fork_is_told:
        fork_is_told = True
        warnings.warn(
            f"num_threads={threads} is 1 in this process: it was forked from one that "
            "had made environments, and has no threads of OpenMP. Start it with 'spawn' to use them.",
            RuntimeWarning,
            stacklevel=2,
        )
    return 1


def is_debug():
    """Return True for a build with bounds checks (``FASTENV_DEBUG=1``)."""
    return bool(FASTENV_IS_DEBUG)


def _debug_probe(int i):
    """Read element ``i`` of an array of four; out of range is an IndexError in a debug build."""
    cdef int32_t[4] values = [10, 11, 12, 13]
    cdef int32_t[:] view = values
    if not FASTENV_IS_DEBUG and not 0 <= i < 4:
        return None
    return view[i]


def read_table(capsule):
    """Return the fields of :class:`fastenv.game.Compiled` that a core's table has."""
    cdef const RowTable* t = <const RowTable*>PyCapsule_GetPointer(capsule, "fastenv.RowTable")
    return {
        "reset": <uintptr_t>t.reset,
        "step": <uintptr_t>t.step,
        "is_legal": <uintptr_t>t.is_legal,
        "derive": <uintptr_t>t.derive,
        "complete": <uintptr_t>t.complete,
        "look_ahead": <uintptr_t>t.look_ahead,
        "bot": <uintptr_t>t.bot,
        "observe": <uintptr_t>t.observe,
        "reward": <uintptr_t>t.reward,
        "info": <uintptr_t>t.info,
        "resample": <uintptr_t>t.resample,
        "stop": <uintptr_t>t.stop,
        "rollout": <uintptr_t>t.rollout,
        "state_size": t.state_size,
        "knobs_size": t.knobs_size,
        "shared_size": t.shared_size,
        "derived_size": t.derived_size,
        "bot_size": t.bot_size,
        "fetch": t.fetch,
        "chunk": t.chunk,
    }


cdef int set_functions(RowTable* t, object core, object kernels) except -1:
    """Take the functions of a core, and of the kernels what the core has not."""
    def address(name):
        return getattr(core, name) or (getattr(kernels, name) if kernels is not None else 0)

    t.reset = <reset_fn><uintptr_t>address("reset")
    t.step = <step_fn><uintptr_t>address("step")
    t.is_legal = <legal_fn><uintptr_t>address("is_legal")
    t.derive = <derive_fn><uintptr_t>address("derive")
    t.complete = <complete_fn><uintptr_t>address("complete")
    t.look_ahead = <look_ahead_fn><uintptr_t>address("look_ahead")
    t.bot = <bot_fn><uintptr_t>address("bot")
    t.observe = <observe_fn><uintptr_t>address("observe")
    t.reward = <reward_fn><uintptr_t>address("reward")
    t.info = <info_fn><uintptr_t>address("info")
    t.resample = <resample_fn><uintptr_t>address("resample")
    t.stop = <stop_fn><uintptr_t>address("stop")
    t.rollout = <rollout_fn><uintptr_t>address("rollout")
    t.fetch, t.chunk = address("fetch"), address("chunk")
    return 0


cdef char* memory(str name, object array, Py_ssize_t size, bint writable=True) except? NULL:
    """Return where an array is, or raise ValueError unless it is C-contiguous and of this size.

    Whoever keeps the address keeps the array too.
    """
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_WRITABLE if writable else PyBUF_SIMPLE)
    cdef char* start = <char*>view.buf
    cdef Py_ssize_t given = view.len
    PyBuffer_Release(&view)
    if given != size:
        raise ValueError(f"{name} has {given} bytes, the loop needs {size}")
    return start


cdef struct Field:
    size_t size
    size_t source  # offset in the record that a row function writes
    size_t target  # offset in the record of the wanted columns


cdef struct Columns:
    # The wanted fields of a record, and how they get to their destination.
    Field* fields
    Py_ssize_t num_fields
    size_t full  # bytes of the whole record
    size_t width  # bytes of the wanted fields
    bint straight  # all fields, in order: written at their destination at once


cdef int set_columns(Columns* columns, object dtype, object wanted) except -1:
    free(columns.fields)
    columns.full, columns.width = dtype.itemsize, wanted.itemsize
    columns.num_fields = len(wanted.names or ())
    columns.straight = columns.num_fields > 0 and dtype == wanted
    columns.fields = <Field*>calloc(max(1, columns.num_fields), sizeof(Field))
    if columns.fields == NULL:
        raise MemoryError
    for k, name in enumerate(wanted.names or ()):
        columns.fields[k] = Field(
            dtype[name].itemsize, dtype.fields[name][1], wanted.fields[name][1]
        )
    return 0


cdef inline void pick(const Columns* columns, const char* record, char* out) noexcept nogil:
    cdef Py_ssize_t k
    cdef const Field* f
    for k in range(columns.num_fields):
        f = columns.fields + k
        if f.size == 4:
            memcpy(out + f.target, record + f.source, 4)  # one move; a field may be of smaller numbers
        elif f.size == 8:
            memcpy(out + f.target, record + f.source, 8)
        else:
            memcpy(out + f.target, record + f.source, f.size)


cdef struct Roll:
    # Arguments of rollouts, and the parts of a thread's scratch memory.
    const char* rows
    const int64_t* of
    const int32_t* actions
    const char* players
    const char* knobs
    const uint64_t* seeds
    char* out
    int32_t* decisions
    int until
    int number
    int limit
    bint pays
    char* scratch
    size_t sizes[6]
    size_t size


cdef class BatchLoop:
    """Moves and encodes the rows of a batch in place.

    Parameters
    ----------
    spec : GameSpec
        Already checked.
    core : Compiled
        Functions that move a row.
    kernels : Compiled, optional
        Functions that encode it; without them only the plain methods can be called.
    states, knobs, derived, shared : ndarray
        Of the spec's dtypes, shapes (n,), (n,), (n,) or None, (1,); kept, not copied.
    num_threads : int
        OpenMP threads; 1 is a plain loop, as is any number in a forked process.

    Notes
    -----
    ``select`` is uint8, one byte a lane: rows with 0 are not touched. Arrays are looked at before
    anything moves; ValueError says which is not as large as it must be.
    """

    cdef RowTable t
    cdef char* rows
    cdef char* derived
    cdef const char* knobs
    cdef const char* shared
    cdef size_t row_size, derived_size, knobs_size, obs_size, reward_size, bot_size
    cdef Py_ssize_t done_at, return_at, length_at, tau_at, frames_at, rng_at, needs_at
    cdef bint doubles  # rewards are float64
    cdef readonly Py_ssize_t num_envs
    cdef readonly int num_agents, num_actions, num_threads
    cdef tuple _kept  # arrays whose addresses are kept
    cdef tuple _given  # arrays of the last step, and where they are:
    cdef const int32_t* action
    cdef const uint8_t* active
    cdef char* obs
    cdef uint8_t* mask
    # bound by `bind`
    cdef object _bound
    cdef char* reward
    cdef char* terms
    cdef uint8_t* terminated
    cdef uint8_t* truncated
    cdef int32_t* tau
    cdef char* info
    cdef char* final_info
    cdef char* final_obs
    cdef double* ep_return
    cdef int32_t* ep_length
    cdef int32_t* ep_frames
    cdef Columns info_columns
    cdef Columns term_columns
    cdef char* scratch  # a record of info or terms for each thread
    cdef size_t scratch_size

    def __cinit__(self):
        memset(&self.t, 0, sizeof(RowTable))
        memset(&self.info_columns, 0, sizeof(Columns))
        memset(&self.term_columns, 0, sizeof(Columns))
        self.scratch = NULL

    def __init__(
        self, spec, core, kernels, states, knobs, derived, shared, int num_threads=1
    ):
        cdef Py_ssize_t n = len(states)
        if (derived is None) != (spec.derived_dtype is None):
            raise ValueError("derived must be given where, and only where, the spec has one")
        if core.shared_size not in (0, shared.dtype.itemsize * len(shared)):
            raise ValueError(f"shared has {shared.nbytes} bytes, the core needs {core.shared_size}")
        if not (core.reset and core.step):
            raise ValueError("the core has no reset or no step")
        set_functions(&self.t, core, kernels)
        self.num_envs, self.num_threads = n, max(1, num_threads)
        self.num_agents, self.num_actions = spec.num_agents, spec.num_actions
        self.row_size, self.knobs_size = spec.state_dtype.itemsize, spec.knobs_dtype.itemsize
        self.obs_size = spec.obs_dtype.itemsize * int(np.prod(spec.obs_shape))
        self.bot_size = spec.bot_dtype.itemsize
        self.doubles = spec.reward_dtype.itemsize == 8
        self.reward_size = spec.reward_dtype.itemsize * self.num_agents
        self.rows = memory("states", states, n * self.row_size)
        self.knobs = memory("knobs", knobs, n * self.knobs_size, False)
        self.shared = memory("shared", shared, shared.dtype.itemsize, False)
        self.derived_size, self.derived = 0, NULL
        if derived is not None:
            self.derived_size = spec.derived_dtype.itemsize
            self.derived = memory("derived", derived, n * self.derived_size)
        else:
            self.t.derive = NULL
        self._kept = (states, knobs, derived, shared)
        at = {name: field[1] for name, field in spec.state_dtype.fields.items()}
        self.done_at, self.return_at = at["done"], at["ep_return"]
        self.length_at, self.tau_at = at["ep_length"], at.get("tau", -1)
        self.frames_at, self.rng_at = at.get("ep_frames", -1), at.get("bot_rng", -1)
        self.needs_at = at.get("needs_action", -1) if spec.num_agents > 1 else -1
        self._given = (None, None, None, None)
        self._bound = None

    @property
    def completes(self):
        """Whether rows have parts that stay open until somebody reads them."""
        return self.t.complete != NULL

    def __dealloc__(self):
        free(self.scratch)
        free(self.info_columns.fields)
        free(self.term_columns.fields)

    def bind(self, spec, out):
        """Set the destinations of the fused step, a ``Buffers``; they are kept."""
        cdef Py_ssize_t n = self.num_envs, k = self.num_agents
        self._bound, self._given = None, (None, None, None, None)  # whatever may be refused below
        if self.t.observe == NULL or self.t.reward == NULL:
            raise ValueError("the kernels have no observe or no reward")
        set_columns(&self.info_columns, spec.info_dtype, out.info.dtype)
        set_columns(&self.term_columns, spec.terms_dtype, out.terms.dtype)
        if self.t.info == NULL and self.info_columns.num_fields:
            raise ValueError("the kernels have no info")
        self.reward = memory("reward", out.reward, n * self.reward_size)
        self.terms = memory("terms", out.terms, n * k * self.term_columns.width)
        self.terminated = <uint8_t*>memory("terminated", out.terminated, n)
        self.truncated = <uint8_t*>memory("truncated", out.truncated, n)
        self.tau = <int32_t*>memory("tau", out.tau, 4 * n * k)
        self.info = memory("info", out.info, n * self.info_columns.width)
        self.final_info = memory("final_info", out.final_info, n * self.info_columns.width)
        self.final_obs = memory("final_obs", out.final_obs, n * k * self.obs_size)
        self.ep_return = <double*>memory("ep_return", out.ep_return, 8 * n * k)
        self.ep_length = <int32_t*>memory("ep_length", out.ep_length, 4 * n)
        self.ep_frames = <int32_t*>memory("ep_frames", out.ep_frames, 4 * n)
        free(self.scratch)
        self.scratch_size = max(self.info_columns.full, k * self.term_columns.full) + 63 & ~63
        self.scratch = <char*>calloc(self.num_threads, self.scratch_size + 64)
        if self.scratch == NULL:
            raise MemoryError
        self._bound = out

    # -- plain stepping -------------------------------------------------------------------------

    cdef const uint8_t* _select(self, object select) except NULL:
        if select is self._given[1] and select is not None:
            return self.active
        return <const uint8_t*>memory("select", select, self.num_envs, False)

    cdef const int32_t* _actions(self, object actions) except NULL:
        return <const int32_t*>memory(
            "actions", actions, 4 * self.num_envs * self.num_agents, False
        )

    cdef inline void _derive(self, Py_ssize_t i) noexcept nogil:
        if self.t.derive != NULL:
            self.t.derive(
                self.rows + i * self.row_size, self.derived + i * self.derived_size, self.shared
            )

    cdef inline void _reset_lane(self, Py_ssize_t i, const uint64_t* seed) noexcept nogil:
        self.t.reset(
            self.rows + i * self.row_size, self.shared, self.knobs + i * self.knobs_size, seed
        )
        self._derive(i)

    def reset(self, select, seeds=None):
        """Start an episode in the selected rows; without seeds their streams go on."""
        cdef Py_ssize_t i
        cdef const uint8_t* chosen = self._select(select)
        cdef const uint64_t* seed = NULL
        if seeds is not None:
            seed = <const uint64_t*>memory("seeds", seeds, 8 * self.num_envs, False)
        with nogil:
            for i in range(self.num_envs):
                if chosen[i]:
                    self._reset_lane(i, seed)
                if seed != NULL:
                    seed += 1

    def derive(self, select):
        """Compute the derived records of the selected rows, which were written from outside."""
        cdef Py_ssize_t i
        cdef const uint8_t* chosen = self._select(select)
        with nogil:
            for i in range(self.num_envs):
                if chosen[i]:
                    self._derive(i)

    def complete(self, select):
        """Fill in what the selected rows leave open."""
        cdef Py_ssize_t i
        cdef const uint8_t* chosen = self._select(select)
        if self.t.complete == NULL:
            return
        with nogil:
            for i in range(self.num_envs):
                if chosen[i]:
                    self.t.complete(self.rows + i * self.row_size, self.shared)

    def step(self, actions, select):
        """Step the selected rows; no reward, no observation, no automatic reset."""
        cdef Py_ssize_t i
        cdef const int32_t* action = self._actions(actions)
        cdef const uint8_t* chosen = self._select(select)
        with nogil:
            for i in range(self.num_envs):
                if chosen[i] and self.t.step(
                    self.rows + i * self.row_size, self.derived + i * self.derived_size,
                    self.shared, self.knobs + i * self.knobs_size, action + i * self.num_agents,
                ):
                    self._derive(i)

    def first_illegal(self, actions, select):
        """Return lane * K + agent of the first action that is illegal in a selected row, or -1.

        Rows that have ended, and agents that need not act, may be given any action.
        """
        cdef Py_ssize_t i, found = -1
        cdef int k
        cdef const char* row
        cdef const int32_t* action = self._actions(actions)
        cdef const uint8_t* chosen = self._select(select)
        if self.t.is_legal == NULL:
            raise ValueError("the core has no is_legal")
        with nogil:
            for i in range(self.num_envs):
                row = self.rows + i * self.row_size
                if not chosen[i] or (<const int8_t*>(row + self.done_at))[0]:
                    continue
                for k in range(self.num_agents):
                    if self.needs_at >= 0 and not (<const uint8_t*>(row + self.needs_at))[k]:
                        continue
                    if not self.t.is_legal(
                        row, self.derived + i * self.derived_size, self.shared, k,
                        action[i * self.num_agents + k],
                    ):
                        found = i * self.num_agents + k
                        break
                if found >= 0:
                    break
        return found

    def bot_actions(self, params, int agent, obs, mask, select, rng_states, out):
        """Write the action of a scripted player in the place of ``agent`` in the selected rows.

        Parameters
        ----------
        params : ndarray, shape (1,)
            Of the spec's ``bot_dtype``.
        agent : int
        obs, mask : ndarray
            The current ones of all agents.
        select : ndarray of uint8, shape (n,)
        rng_states : ndarray of uint64, shape (n, 4), or None
            Generators to draw from, advanced; None is the rows' own.
        out : ndarray of int32, shape (n,)
        """
        cdef Py_ssize_t i, n = self.num_envs, k = self.num_agents
        cdef const char* param = memory("params", params, self.bot_size, False)
        cdef const char* view = memory("obs", obs, n * k * self.obs_size, False)
        cdef const uint8_t* legal = <const uint8_t*>memory(
            "mask", mask, n * k * self.num_actions, False
        )
        cdef const uint8_t* chosen = self._select(select)
        cdef int32_t* action = <int32_t*>memory("out", out, 4 * n)
        cdef uint64_t* rng = NULL
        if rng_states is not None:
            rng = <uint64_t*>memory("rng_states", rng_states, 32 * n)
        elif self.rng_at < 0:
            raise ValueError("rng_states: the rows of this game have no generator for bots")
        if self.t.bot == NULL or not 0 <= agent < k:
            raise ValueError(f"agent {agent}: there is no such bot")
        with nogil:
            for i in range(n):
                if chosen[i]:
                    action[i] = self.t.bot(
                        self.rows + i * self.row_size, self.derived + i * self.derived_size,
                        self.shared, param, agent, view + (i * k + agent) * self.obs_size,
                        legal + (i * k + agent) * self.num_actions,
                        rng + 4 * i if rng != NULL
                        else <uint64_t*>(self.rows + i * self.row_size + self.rng_at),
                    )

    # -- encoding -------------------------------------------------------------------------------

    cdef inline void _inform(
        self, const char* row, const char* derived, char* out, char* scratch
    ) noexcept nogil:
        cdef const Columns* columns = &self.info_columns
        if columns.straight:
            self.t.info(row, derived, self.shared, out)
        elif columns.num_fields:
            self.t.info(row, derived, self.shared, scratch)
            pick(columns, scratch, out)

    cdef inline void _pay(
        self, char* row, const char* derived, char* reward, char* terms, char* scratch
    ) noexcept nogil:
        """Write reward and terms of the step just taken, and add to the sums of the episode."""
        cdef const Columns* columns = &self.term_columns
        cdef int k
        cdef double* sums = <double*>(row + self.return_at)
        cdef bint counted = self.t.reward(
            row, derived, self.shared, reward, terms if columns.straight else scratch
        )
        if not columns.straight:
            for k in range(self.num_agents):
                pick(columns, scratch + k * columns.full, terms + k * columns.width)
        if not counted:
            return
        (<int32_t*>(row + self.length_at))[0] += 1
        if self.num_agents == 1:  # for most games the loop below is dearer than what it does
            sums[0] += (<double*>reward)[0] if self.doubles else <double>(<float*>reward)[0]
            return
        for k in range(self.num_agents):
            sums[k] += (<double*>reward)[k] if self.doubles else <double>(<float*>reward)[k]

    cdef inline void _end(
        self, Py_ssize_t i, const char* row, const char* derived, uint8_t* mask, char* scratch
    ) noexcept nogil:
        """Write what is known of an episode that is over."""
        cdef Py_ssize_t k, agents = self.num_agents
        for k in range(agents):
            self.ep_return[i * agents + k] = (<const double*>(row + self.return_at))[k]
        self.ep_length[i] = (<const int32_t*>(row + self.length_at))[0]
        if self.frames_at >= 0:
            self.ep_frames[i] = (<const int32_t*>(row + self.frames_at))[0]
        else:
            self.ep_frames[i] = self.ep_length[i]
        self._inform(row, derived, self.final_info + i * self.info_columns.width, scratch)
        # The mask of an ended episode is of no use to anybody: the lane's mask is rewritten.
        self.t.observe(
            row, derived, self.shared, self.final_obs + i * agents * self.obs_size, mask
        )

    cdef inline void _step_lane(
        self, Py_ssize_t i, const int32_t* action, bint active, bint autoreset, char* obs,
        uint8_t* mask, char* scratch,
    ) noexcept nogil:
        cdef int done, k, agents = self.num_agents
        cdef char* row = self.rows + i * self.row_size
        cdef char* derived = self.derived + i * self.derived_size
        cdef char* reward = self.reward + i * self.reward_size
        cdef char* terms = self.terms + i * agents * self.term_columns.width
        if not active:
            memset(reward, 0, self.reward_size)
            memset(terms, 0, agents * self.term_columns.width)
            self.terminated[i] = self.truncated[i] = 0
            return
        if self.t.step(
            row, derived, self.shared, self.knobs + i * self.knobs_size, action + i * agents
        ) and self.t.derive != NULL:
            self.t.derive(row, derived, self.shared)
        self._pay(row, derived, reward, terms, scratch)
        if self.tau_at >= 0:
            for k in range(agents):
                self.tau[i * agents + k] = (<const int32_t*>(row + self.tau_at))[k]
        done = (<const int8_t*>(row + self.done_at))[0]
        self.terminated[i] = done == 1
        self.truncated[i] = done == 2
        mask = mask + i * agents * self.num_actions
        if done:
            self._end(i, row, derived, mask, scratch)
            if autoreset:
                self._reset_lane(i, NULL)
        self.t.observe(row, derived, self.shared, obs + i * agents * self.obs_size, mask)
        self._inform(row, derived, self.info + i * self.info_columns.width, scratch)

    cdef void _step_lanes(
        self, Py_ssize_t first, Py_ssize_t last, const int32_t* action, const uint8_t* active,
        bint autoreset, char* obs, uint8_t* mask, int thread,
    ) noexcept nogil:
        # A row is fetched before the game looks at it (`look_ahead`) and says what else it needs.
        cdef Py_ssize_t i, row, soon
        cdef size_t obs_size = self.num_agents * self.obs_size
        cdef size_t info_size = self.info_columns.width
        cdef size_t fetched = min(obs_size, <size_t>FETCHED_OBS)
        cdef char* scratch = self.scratch + thread * self.scratch_size
        for i in range(first, last):
            row, soon = i + ROWS_AHEAD, i + LOOK_AHEAD
            if row < last:
                fastenv_prefetch(self.rows + row * self.row_size, self.t.fetch)
            if soon < last:
                fastenv_prefetch(obs + soon * obs_size, fetched)
                if active[soon] and self.t.look_ahead != NULL and self.t.look_ahead(
                    self.rows + soon * self.row_size, self.shared
                ):
                    fastenv_prefetch(self.knobs + soon * self.knobs_size, self.knobs_size)
                    fastenv_prefetch(self.final_obs + soon * obs_size, fetched)
                    fastenv_prefetch(self.final_info + soon * info_size, info_size)
            self._step_lane(i, action, active[i], autoreset, obs, mask, scratch)

    cdef int _take(self, object actions, object select, object obs, object mask) except -1:
        """Check the arguments of the fused step and keep where they are."""
        cdef Py_ssize_t n = self.num_envs, k = self.num_agents
        if self._bound is None:
            raise RuntimeError("bind has not been called")
        self._given = (None, None, None, None)
        if actions is not None:  # nobody acts where rows are looked at as they are
            self.action = self._actions(actions)
        self.active = self._select(select)
        self.obs = memory("obs", obs, n * k * self.obs_size)
        self.mask = <uint8_t*>memory("mask", mask, n * k * self.num_actions)
        self._given = (actions, select, obs, mask)
        return 0

    def step_fused(self, actions, select, bint autoreset, obs, mask):
        """Step, reward, flags, final values, reset and encode the selected rows in one pass.

        In rows that are not selected, reward, terms and flags become 0.
        """
        cdef Py_ssize_t n = self.num_envs, chunk = self.t.chunk, k, parts
        cdef int threads = team(self.num_threads)
        if actions is None:
            raise TypeError("actions must be an array, not None")
        # To look at four arrays takes longer than to step one lane, and a lane's are always the same.
        if not (
            actions is self._given[0] and select is self._given[1]
            and obs is self._given[2] and mask is self._given[3]
        ):
            self._take(actions, select, obs, mask)
        cdef const int32_t* action = self.action
        cdef const uint8_t* active = self.active
        cdef char* obs_out = self.obs
        cdef uint8_t* mask_out = self.mask
        if threads == 1:
            with nogil:
                self._step_lanes(0, n, action, active, autoreset, obs_out, mask_out, 0)
        elif chunk == 0:
            chunk = (n + threads - 1) // threads
            for k in prange(threads, nogil=True, num_threads=threads, schedule="static"):
                self._step_lanes(
                    k * chunk, min(n, (k + 1) * chunk), action, active, autoreset, obs_out,
                    mask_out, threadid(),
                )
        else:
            parts = (n + chunk - 1) // chunk
            for k in prange(parts, nogil=True, num_threads=threads, schedule="dynamic"):
                self._step_lanes(
                    k * chunk, min(n, (k + 1) * chunk), action, active, autoreset, obs_out,
                    mask_out, threadid(),
                )

    def observe(self, select, obs, mask):
        """Write observation, mask and info of the selected rows as they are."""
        cdef Py_ssize_t i, k = self.num_agents
        if not (
            select is self._given[1] and obs is self._given[2] and mask is self._given[3]
        ):
            self._take(None, select, obs, mask)
        cdef const uint8_t* chosen = self.active
        cdef char* obs_out = self.obs
        cdef uint8_t* mask_out = self.mask
        cdef const char* row
        cdef const char* derived
        with nogil:
            for i in range(self.num_envs):
                if chosen[i]:
                    row = self.rows + i * self.row_size
                    derived = self.derived + i * self.derived_size
                    self.t.observe(
                        row, derived, self.shared, obs_out + i * k * self.obs_size,
                        mask_out + i * k * self.num_actions,
                    )
                    self._inform(
                        row, derived, self.info + i * self.info_columns.width, self.scratch
                    )

    def encode_rows(self, rows, obs, mask):
        """Write observation and mask of complete rows that belong to no lane."""
        cdef Py_ssize_t i, n = len(rows), k = self.num_agents
        cdef const char* row = memory("rows", rows, n * self.row_size, False)
        cdef char* obs_out = memory("obs", obs, n * k * self.obs_size)
        cdef uint8_t* mask_out = <uint8_t*>memory("mask", mask, n * k * self.num_actions)
        # from NumPy: compiled code may want the record aligned as the lanes' are
        scratch = np.zeros(self.derived_size + 64, np.uint8)
        cdef char* derived = <char*><uintptr_t>((scratch.ctypes.data + 63) & ~63)
        if self.t.observe == NULL:
            raise ValueError("the kernels have no observe")
        with nogil:
            for i in range(n):
                if self.t.derive != NULL:
                    self.t.derive(row + i * self.row_size, derived, self.shared)
                self.t.observe(
                    row + i * self.row_size, derived, self.shared, obs_out + i * k * self.obs_size,
                    mask_out + i * k * self.num_actions,
                )

    # -- worlds and rollouts --------------------------------------------------------------------

    @property
    def can_resample(self):
        """Whether the core draws worlds itself."""
        return self.t.resample != NULL

    @property
    def encodes(self):
        """Whether the loop encodes what it steps."""
        return self._bound is not None

    def can_roll(self, bint conditional, bint prepared):
        """Return whether rollouts run here.

        Parameters
        ----------
        conditional : bool
            Whether a stop condition may end them.
        prepared : bool
            Whether the game prepares them, or seats players other than by agents.
        """
        if self.t.rollout != NULL:
            return True
        if prepared or (conditional and self.t.stop == NULL):
            return False
        return self.encodes and self.t.bot != NULL

    def resample(self, rows, of, agents, seeds, out):
        """Write a world of each named row, as an agent may imagine it.

        Parameters
        ----------
        rows : ndarray, shape (k,)
            Complete rows that belong to no lane.
        of : ndarray of int64, shape (m,)
            Which of them.
        agents : ndarray of int32, shape (m,)
        seeds : ndarray of uint64, shape (m,)
            Of the generators from which the worlds are drawn.
        out : ndarray, shape (m,)
        """
        cdef Py_ssize_t i, m = len(of), part, first
        cdef int threads = team(self.num_threads)
        cdef const char* row = memory("rows", rows, len(rows) * self.row_size, False)
        cdef const int64_t* source = <const int64_t*>memory("of", of, 8 * m, False)
        cdef const int32_t* agent = <const int32_t*>memory("agents", agents, 4 * m, False)
        cdef const uint64_t* seed = <const uint64_t*>memory("seeds", seeds, 8 * m, False)
        cdef char* target = memory("out", out, m * self.row_size)
        if self.t.resample == NULL:
            raise ValueError("the core has no resample")
        part = (m + threads - 1) // threads
        if threads == 1:
            with nogil:
                self._worlds(0, m, row, source, agent, seed, target)
            return
        for i in prange(threads, nogil=True, num_threads=threads, schedule="static"):
            first = i * part
            self._worlds(first, min(m, first + part), row, source, agent, seed, target)

    cdef void _worlds(
        self, Py_ssize_t first, Py_ssize_t last, const char* rows, const int64_t* of,
        const int32_t* agents, const uint64_t* seeds, char* out,
    ) noexcept nogil:
        cdef uint64_t rng[4]
        cdef Py_ssize_t i
        for i in range(first, last):
            memcpy(out + i * self.row_size, rows + of[i] * self.row_size, self.row_size)
            rng_seed(rng, seeds[i])
            self.t.resample(out + i * self.row_size, self.shared, agents[i], rng)
            if self.t.complete != NULL:
                self.t.complete(out + i * self.row_size, self.shared)

    def rollout(
        self, rows, of, actions, players, knobs, int until, int number, int limit, bint pays,
        seeds, out, decisions,
    ):
        """Play games on by scripted players, from each named row.

        Parameters
        ----------
        rows : ndarray, shape (k,)
            Complete rows that belong to no lane; none is over.
        of : ndarray of int64, shape (m,)
            Which of them.
        actions : ndarray of int32, shape (m, K)
            The first decision; -1 is one of the player.
        players : ndarray, shape (P,)
            Of the spec's ``bot_dtype``, one a seat.
        knobs : ndarray, shape (1,)
        until, number : int
            Index of the stop condition or -1, and what it takes.
        limit : int
            Most decisions, 0 for any number.
        pays : bool
            Add rewards to the sums of the episode.
        seeds : ndarray of uint64, shape (m,)
            Of the players' generators.
        out : ndarray, shape (m,)
            Where the rows are that the games end with.
        decisions : ndarray of int32, shape (m,)
        """
        cdef Py_ssize_t i, m = len(of), part
        cdef Py_ssize_t n = self.num_agents
        cdef int threads = team(self.num_threads)
        cdef Roll r
        r.rows = memory("rows", rows, len(rows) * self.row_size, False)
        r.of = <const int64_t*>memory("of", of, 8 * m, False)
        r.actions = <const int32_t*>memory("actions", actions, 4 * m * n, False)
        r.players = memory("players", players, len(players) * self.bot_size, False)
        r.knobs = memory("knobs", knobs, self.knobs_size, False)
        r.seeds = <const uint64_t*>memory("seeds", seeds, 8 * m, False)
        r.out = memory("out", out, m * self.row_size)
        r.decisions = <int32_t*>memory("decisions", decisions, 4 * m)
        r.until, r.number, r.limit, r.pays = until, number, limit, pays
        if not self.can_roll(until >= 0, False):
            raise ValueError("rollouts need observe, reward and bot, and stop for a condition")
        if self.t.rollout == NULL and len(players) != n:
            raise ValueError(f"players are {len(players)}, the loop needs {n}")
        # of a thread: derived record, observations, rewards, terms, masks, actions
        r.sizes[0] = self.derived_size + 63 & ~63
        r.sizes[1] = n * self.obs_size + 63 & ~63
        r.sizes[2] = 8 * n + 63 & ~63
        r.sizes[3] = n * self.term_columns.width + 63 & ~63
        r.sizes[4] = self.scratch_size
        r.sizes[5] = n * self.num_actions + 63 & ~63
        r.size = 4 * n + 63 & ~63
        for i in range(6):
            r.size += r.sizes[i]
        scratch = np.zeros(threads * r.size + 64, np.uint8)
        r.scratch = <char*><uintptr_t>((scratch.ctypes.data + 63) & ~63)
        if threads == 1:
            with nogil:
                for i in range(m):
                    self._roll(&r, i, 0)
            return
        # that a thread takes at a time: they differ in length
        part = max(1, min(16, m // (4 * threads)))
        for i in prange((m + part - 1) // part, nogil=True, num_threads=threads, schedule="dynamic"):
            self._roll_some(&r, i * part, min(m, (i + 1) * part), threadid())

    cdef void _roll_some(
        self, const Roll* r, Py_ssize_t first, Py_ssize_t last, int thread
    ) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(first, last):
            self._roll(r, i, thread)

    cdef void _roll(self, const Roll* r, Py_ssize_t i, int thread) noexcept nogil:
        cdef uint64_t rng[4]
        cdef char* row = r.out + i * self.row_size
        cdef const char* start = r.rows + r.of[i] * self.row_size
        cdef const int32_t* first = r.actions + i * self.num_agents
        memcpy(row, start, self.row_size)
        rng_seed(rng, r.seeds[i])
        if self.t.rollout != NULL:
            r.decisions[i] = self.t.rollout(
                row, self.shared, r.knobs, r.players, first[0], r.until, r.number, r.limit, rng
            )
        else:
            r.decisions[i] = self._play(r, row, start, first, rng, r.scratch + thread * r.size)
        if self.t.complete != NULL:
            self.t.complete(row, self.shared)

    cdef int32_t _play(
        self, const Roll* r, char* row, const char* start, const int32_t* first, uint64_t* rng,
        char* own,
    ) noexcept nogil:
        """Play a row on by steps; return how many there were."""
        cdef int k, taken = 0, agents = self.num_agents
        cdef char* derived = own if self.derived_size else NULL
        cdef char* obs = own + r.sizes[0]
        cdef char* reward = obs + r.sizes[1]
        cdef char* terms = reward + r.sizes[2]
        cdef char* scratch = terms + r.sizes[3]
        cdef uint8_t* mask = <uint8_t*>(scratch + r.sizes[4])
        cdef int32_t* action = <int32_t*>(mask + r.sizes[5])
        cdef const uint8_t* needs = <const uint8_t*>(row + self.needs_at)
        cdef bint asks = False
        if self.t.derive != NULL:
            self.t.derive(row, derived, self.shared)
        for k in range(agents):
            asks |= first[k] < 0
        while True:
            if taken or asks:
                self.t.observe(row, derived, self.shared, obs, mask)
            for k in range(agents):
                if self.needs_at >= 0 and not needs[k]:
                    action[k] = 0
                elif taken == 0 and first[k] >= 0:
                    action[k] = first[k]
                else:
                    action[k] = self.t.bot(
                        row, derived, self.shared, r.players + k * self.bot_size, k,
                        obs + k * self.obs_size, mask + k * self.num_actions, rng,
                    )
            if self.t.step(row, derived, self.shared, r.knobs, action) and self.t.derive != NULL:
                self.t.derive(row, derived, self.shared)
            if r.pays:
                self._pay(row, derived, reward, terms, scratch)
            taken += 1
            if (<const int8_t*>(row + self.done_at))[0] or taken == r.limit:
                return taken
            if r.until >= 0 and self.t.stop(row, start, self.shared, r.until, r.number):
                return taken
