"""Asteroid Prospector in batches: rows of ``STATE_DTYPE`` stepped without the GIL.

The rules are in ``_world.pxd`` and ``_game.pxd``; this module owns the loop over lanes. In the fused
step the Numba kernels are called through C function pointers right after a row was stepped, while
its hot part is in the first-level cache. Most of an observation is what is around the ship, and
most actions leave that as it is: the core keeps the part ``places`` of each lane and copies it.
"""
from cython.parallel cimport prange
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from fastenv.prospector._game cimport (
    find_asteroids, find_first_prices, find_noises, find_prices, is_legal, materialise_row,
    reset_row, step_row,
)
from fastenv.prospector._state cimport NUM_ACTIONS, OBS_DIM, Rules, State, Tables

cdef enum:
    NUM_PLACES = 220  # obs[24:244]
    PLACES_BEGIN = 24
    PLACES_WIDTH = 224  # of the cache: whole cache lines
    ALWAYS_READ = 752  # bytes of a row before its edges
    NUM_INFO = 20
    NUM_TERMS = 11

cdef extern from *:
    """
    #ifdef FASTENV_DEBUG
    #define FASTENV_IS_DEBUG 1
    #else
    #define FASTENV_IS_DEBUG 0
    #endif
    static inline void fastenv_prefetch(const void *start, size_t bytes) {
        const char *p = (const char *)start;
        size_t i;
        for (i = 0; i < bytes; i += 64) __builtin_prefetch(p + i, 1);
    }
    /* GCC makes "rep movs" of a memcpy of this length, which takes half as long again. */
    typedef float fastenv_floats __attribute__((vector_size(16), aligned(4)));
    static inline void fastenv_copy(float *to, const float *from, size_t vectors) {
        fastenv_floats *t = (fastenv_floats *)to;
        const fastenv_floats *f = (const fastenv_floats *)from;
        size_t i;
        for (i = 0; i < vectors; i += 5) {
            fastenv_floats a = f[i], b = f[i + 1], c = f[i + 2], d = f[i + 3], e = f[i + 4];
            t[i] = a, t[i + 1] = b, t[i + 2] = c, t[i + 3] = d, t[i + 4] = e;
        }
    }
    """
    const bint FASTENV_IS_DEBUG
    void fastenv_prefetch(const void* start, size_t bytes) noexcept nogil
    void fastenv_copy(float* to, const float* start, size_t vectors) noexcept nogil

cdef extern from "_maths.h":
    double fastenv_neglog(double draw) noexcept nogil
    double fastenv_sine(double y) noexcept nogil
    double fastenv_expo(double x) noexcept nogil

ctypedef void (*head_fn)(const State*, const Rules*, const Tables*, float*) noexcept nogil
ctypedef void (*places_fn)(const State*, float*) noexcept nogil
ctypedef void (*mask_fn)(const State*, uint8_t*) noexcept nogil
ctypedef void (*reward_fn)(State*, double*, double*) noexcept nogil
ctypedef void (*info_fn)(const State*, double*) noexcept nogil


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


def record_sizes():
    """Return the bytes of the State, Rules and Tables structs."""
    return sizeof(State), sizeof(Rules), sizeof(Tables)


def record_offsets():
    """Return ``{field: byte offset}`` of the State struct."""
    cdef State s
    cdef size_t base = <size_t>&s
    return {
        "rng": <size_t>&s.rng - base,
        "fuel": <size_t>&s.fuel - base,
        "hull": <size_t>&s.hull - base,
        "heat": <size_t>&s.heat - base,
        "tool": <size_t>&s.tool - base,
        "alert": <size_t>&s.alert - base,
        "time_remaining": <size_t>&s.time_remaining - base,
        "credits": <size_t>&s.credits - base,
        "total_spend": <size_t>&s.total_spend - base,
        "value_lost": <size_t>&s.value_lost - base,
        "util_sum": <size_t>&s.util_sum - base,
        "util_count": <size_t>&s.util_count - base,
        "ev_credits": <size_t>&s.ev_credits - base,
        "ev_fuel": <size_t>&s.ev_fuel - base,
        "ev_hull": <size_t>&s.ev_hull - base,
        "ev_tool": <size_t>&s.ev_tool - base,
        "ev_cargo_value": <size_t>&s.ev_cargo_value - base,
        "ev_value_lost": <size_t>&s.ev_value_lost - base,
        "ep_return": <size_t>&s.ep_return - base,
        "ep_length": <size_t>&s.ep_length - base,
        "ticks_elapsed": <size_t>&s.ticks_elapsed - base,
        "overheat_ticks": <size_t>&s.overheat_ticks - base,
        "pirate_encounters": <size_t>&s.pirate_encounters - base,
        "scan_count": <size_t>&s.scan_count - base,
        "mining_ticks": <size_t>&s.mining_ticks - base,
        "cargo": <size_t>&s.cargo - base,
        "price": <size_t>&s.price - base,
        "prev_price": <size_t>&s.prev_price - base,
        "station_inventory": <size_t>&s.station_inventory - base,
        "recent_sales": <size_t>&s.recent_sales - base,
        "price_phase": <size_t>&s.price_phase - base,
        "price_period": <size_t>&s.price_period - base,
        "price_amp": <size_t>&s.price_amp - base,
        "node_count": <size_t>&s.node_count - base,
        "current_node": <size_t>&s.current_node - base,
        "selected": <size_t>&s.selected - base,
        "repair_kits": <size_t>&s.repair_kits - base,
        "stabilizers": <size_t>&s.stabilizers - base,
        "decoys": <size_t>&s.decoys - base,
        "escape_ticks": <size_t>&s.escape_ticks - base,
        "stabilize_ticks": <size_t>&s.stabilize_ticks - base,
        "done": <size_t>&s.done - base,
        "ev_action": <size_t>&s.ev_action - base,
        "ev_dt": <size_t>&s.ev_dt - base,
        "ev_invalid": <size_t>&s.ev_invalid - base,
        "ev_destroyed": <size_t>&s.ev_destroyed - base,
        "ev_stranded": <size_t>&s.ev_stranded - base,
        "node_type": <size_t>&s.node_type - base,
        "steps_to_station": <size_t>&s.steps_to_station - base,
        "asteroid_count": <size_t>&s.asteroid_count - base,
        "node_hazard": <size_t>&s.node_hazard - base,
        "node_pirate": <size_t>&s.node_pirate - base,
        "neighbor": <size_t>&s.neighbor - base,
        "edge_time": <size_t>&s.edge_time - base,
        "edge_fuel": <size_t>&s.edge_fuel - base,
        "edge_threat": <size_t>&s.edge_threat - base,
        "edge_threat_est": <size_t>&s.edge_threat_est - base,
        "pending": <size_t>&s.pending - base,
        "asteroid_rng": <size_t>&s.asteroid_rng - base,
        "depletion": <size_t>&s.depletion - base,
        "scan_conf": <size_t>&s.scan_conf - base,
        "stability_est": <size_t>&s.stability_est - base,
        "comp_est": <size_t>&s.comp_est - base,
        "true_comp": <size_t>&s.true_comp - base,
        "richness": <size_t>&s.richness - base,
        "stability": <size_t>&s.stability - base,
        "noise": <size_t>&s.noise - base,
        "unused": <size_t>&s.unused - base,
    }


# -- for the tests of _maths.h: what the core computes with it, with bounds `slack` times as wide ------


def _approximate(str name, const double[::1] x not None, double[::1] out not None):
    """Write an approximation: ``neglog`` of draws, ``sine`` of quarter turns, or ``expo``."""
    cdef Py_ssize_t i
    for i in range(x.shape[0]):
        if name == "neglog":
            out[i] = fastenv_neglog(x[i])
        elif name == "sine":
            out[i] = fastenv_sine(x[i])
        else:
            out[i] = fastenv_expo(x[i])


def _noises(
    const uint32_t[::1] first not None, const uint32_t[::1] second not None, double slack,
    float[::1] out not None,
):
    """Write the noise of edge threats, one at a time; return how many needed the library."""
    cdef Py_ssize_t i, doubts = 0
    for i in range(first.shape[0]):
        doubts += not find_noises(&first[i], &second[i], 1, slack, &out[i])
    return doubts


def _asteroids(const uint32_t[:, ::1] draws not None, double slack, float[:, ::1] out not None):
    """Write blocks of asteroids, 80 draws to 56 numbers; return how many needed the library."""
    cdef Py_ssize_t i, doubts = 0
    for i in range(draws.shape[0]):
        doubts += not find_asteroids(&draws[i, 0], slack, &out[i, 0])
    return doubts


def _prices(
    uint8_t[:, ::1] states not None, const uint8_t[::1] tables not None,
    const uint32_t[:, ::1] draws not None, int dt, double slack,
):
    """Give rows new prices, first ones if ``dt`` is 0; return how many needed the library."""
    cdef Py_ssize_t i, doubts = 0
    cdef State* s
    cdef const Tables* tb = <const Tables*>&tables[0]
    for i in range(states.shape[0]):
        s = <State*>&states[i, 0]
        if dt:
            doubts += not find_prices(s, tb, dt, &draws[i, 0], slack)
        else:
            doubts += not find_first_prices(s, tb, slack)
    return doubts


# -- the batch ----------------------------------------------------------------------------------

cdef struct Columns:
    # Where the wanted ones of a kernel's columns go.
    double* out  # row of lane 0
    Py_ssize_t width  # 0: nobody wants any
    bint straight  # all, in order
    int32_t column[NUM_INFO]


cdef Columns wanted(double[:, ::1] out, const int32_t[::1] columns, int available) except *:
    cdef Columns to
    cdef Py_ssize_t j
    to.width = columns.shape[0]
    if out.shape[1] != to.width or to.width > available:
        raise ValueError(f"a buffer has {out.shape[1]} columns, {to.width} are wanted")
    to.out = &out[0, 0] if to.width else NULL
    to.straight = to.width == available
    for j in range(to.width):
        if not 0 <= columns[j] < available:
            raise ValueError(f"there is no column {columns[j]}")
        to.column[j] = columns[j]
        to.straight &= columns[j] == j
    return to


cdef inline void pick(const Columns* to, Py_ssize_t i, const double* columns) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(to.width):
        to.out[i * to.width + j] = columns[to.column[j]]


cdef class BatchCore:
    """Steps the rows of a batch in place.

    Parameters
    ----------
    states : uint8 memoryview, shape (n, itemsize), C-contiguous
        Byte view of a ``STATE_DTYPE`` array; kept, not copied.
    knobs : uint8 memoryview, shape (n, any)
        Not used: the game has none.
    rules, tables : uint8 memoryview, shape (itemsize,)
        Byte views of one ``RULES_DTYPE`` and one ``TABLES_DTYPE`` record; kept, not copied.
    num_threads : int
        OpenMP threads; 1 is a plain loop.
    """

    cdef uint8_t[:, ::1] _states
    cdef const uint8_t[::1] _rules
    cdef const uint8_t[::1] _tables
    cdef State* states
    cdef const Rules* rules
    cdef const Tables* tables
    cdef readonly Py_ssize_t num_envs
    cdef readonly int num_threads
    # the core's own: what is around each ship, and whether it must be written anew
    cdef float* places
    cdef uint8_t* stale
    # bound by `bind`; the memoryviews keep the buffers alive
    cdef head_fn head_row
    cdef places_fn places_row
    cdef mask_fn mask_row
    cdef reward_fn reward_row
    cdef info_fn info_row
    cdef object _buffers
    cdef tuple _given  # arrays of the last fused step, and where they are:
    cdef const int32_t* action
    cdef const uint8_t* active
    cdef float* obs
    cdef uint8_t* mask
    cdef double* reward
    cdef Columns columns
    cdef uint8_t* terminated
    cdef uint8_t* truncated
    cdef Columns info
    cdef Columns final_info
    cdef float* final_obs
    cdef double* ep_return
    cdef int32_t* ep_length

    def __cinit__(self):
        self.places, self.stale, self.head_row = NULL, NULL, NULL
        self._given = (None, None, None, None)

    def __init__(
        self,
        uint8_t[:, ::1] states not None,
        uint8_t[:, ::1] knobs not None,
        const uint8_t[::1] rules not None,
        const uint8_t[::1] tables not None,
        int num_threads=1,
    ):
        if (
            states.shape[1] != sizeof(State)
            or rules.shape[0] != sizeof(Rules)
            or tables.shape[0] != sizeof(Tables)
            or states.shape[0] != knobs.shape[0]
            or states.shape[0] < 1
        ):
            raise ValueError("states, knobs, rules and tables do not have the compiled record sizes")
        self._states, self._rules, self._tables = states, rules, tables
        self.states = <State*>&states[0, 0]
        self.rules = <const Rules*>&rules[0]
        self.tables = <const Tables*>&tables[0]
        self.num_envs = states.shape[0]
        self.num_threads = max(1, num_threads)
        self._free()
        self.places = <float*>calloc(self.num_envs * PLACES_WIDTH, sizeof(float))
        self.stale = <uint8_t*>calloc(self.num_envs, 1)
        if self.places == NULL or self.stale == NULL:
            raise MemoryError
        memset(self.stale, 1, self.num_envs)

    def __dealloc__(self):
        self._free()

    cdef void _free(self) noexcept:
        free(self.places)
        free(self.stale)

    def bind(
        self,
        addresses,
        double[::1] reward not None,
        double[:, ::1] columns not None,
        uint8_t[::1] terminated not None,
        uint8_t[::1] truncated not None,
        double[:, ::1] info not None,
        double[:, ::1] final_info not None,
        float[:, ::1] final_obs not None,
        double[::1] ep_return not None,
        int32_t[::1] ep_length not None,
        const int32_t[::1] info_wanted not None,
        const int32_t[::1] columns_wanted not None,
    ):
        """Set the kernels and the output buffers of the fused step; the buffers are kept.

        Parameters
        ----------
        addresses : tuple of 5 int
            C functions: head, places, mask, reward, info.
        info_wanted, columns_wanted : int32 memoryview
            Which of the kernel's columns the columns of ``info``, ``final_info`` and ``columns``
            are; none may be wanted.
        """
        cdef uintptr_t head, places, mask, reward_address, info_address
        buffers = (
            reward.base, columns.base, terminated.base, truncated.base, info.base,
            final_info.base, final_obs.base, ep_return.base, ep_length.base,
        )
        for buffer in buffers:
            self._check_rows(len(buffer))
        if final_obs.shape[1] != OBS_DIM:
            raise ValueError("final_obs does not have the width of an observation")
        head, places, mask, reward_address, info_address = addresses
        self.columns = wanted(columns, columns_wanted, NUM_TERMS)
        self.info = wanted(info, info_wanted, NUM_INFO)
        self.final_info = wanted(final_info, info_wanted, NUM_INFO)
        self._buffers = buffers
        self.reward, self.final_obs = &reward[0], &final_obs[0, 0]
        self.terminated, self.truncated = &terminated[0], &truncated[0]
        self.ep_return, self.ep_length = &ep_return[0], &ep_length[0]
        self.places_row, self.mask_row = <places_fn>places, <mask_fn>mask
        self.reward_row, self.info_row = <reward_fn>reward_address, <info_fn>info_address
        self.head_row = <head_fn>head

    cdef int _check_rows(self, Py_ssize_t n) except -1:
        if n != self.num_envs:
            raise ValueError(f"an argument has {n} rows, the batch has {self.num_envs}")
        return 0

    cdef int _check_outputs(self, float[:, ::1] obs, uint8_t[:, ::1] mask) except -1:
        self._check_rows(obs.shape[0])
        self._check_rows(mask.shape[0])
        if self.head_row == NULL:
            raise RuntimeError("bind has not been called")
        if obs.shape[1] != OBS_DIM or mask.shape[1] != NUM_ACTIONS:
            raise ValueError("obs or mask does not have the width of an observation or mask")
        return 0

    # -- plain stepping -------------------------------------------------------------------------

    def reset(self, const uint8_t[::1] select not None, const uint64_t[::1] seeds=None):
        """Start an episode in the selected rows; without seeds their streams go on."""
        cdef Py_ssize_t i
        self._check_rows(select.shape[0])
        if seeds is not None:
            self._check_rows(seeds.shape[0])
        cdef const uint64_t* seed = NULL
        if seeds is not None:
            seed = &seeds[0]
        with nogil:
            for i in range(self.num_envs):
                if select[i]:
                    reset_row(self.states + i, self.rules, self.tables, seed)
                    self.stale[i] = 1
                if seed != NULL:
                    seed += 1

    def step(self, const int32_t[::1] actions not None, const uint8_t[::1] select not None):
        """Step the selected rows; no reward, no observation, no autoreset."""
        cdef Py_ssize_t i
        self._check_rows(actions.shape[0])
        self._check_rows(select.shape[0])
        with nogil:
            for i in range(self.num_envs):
                if select[i]:
                    step_row(self.states + i, self.rules, self.tables, actions[i])
                    self.stale[i] = 1

    def materialise(self, const uint8_t[::1] select not None):
        """Complete the selected rows: generate the asteroids of nodes not visited yet."""
        cdef Py_ssize_t i
        self._check_rows(select.shape[0])
        with nogil:
            for i in range(self.num_envs):
                if select[i]:
                    materialise_row(self.states + i, self.tables)

    def first_illegal(
        self, const int32_t[::1] actions not None, const uint8_t[::1] select not None
    ):
        """Return the first selected lane whose action is illegal in its state, or -1."""
        cdef Py_ssize_t i
        self._check_rows(actions.shape[0])
        self._check_rows(select.shape[0])
        with nogil:
            for i in range(self.num_envs):
                if select[i] and not is_legal(self.states + i, actions[i]):
                    break
            else:
                i = -1
        return i

    # -- fused stepping -------------------------------------------------------------------------

    cdef inline void _observe_lane(self, Py_ssize_t i, float* obs) noexcept nogil:
        cdef State* s = self.states + i
        cdef float* places = self.places + i * PLACES_WIDTH
        if self.stale[i]:
            self.places_row(s, places)
            self.stale[i] = 0
        self.head_row(s, self.rules, self.tables, obs)
        fastenv_copy(obs + PLACES_BEGIN, places, NUM_PLACES // 4)

    cdef inline void _inform(
        self, Py_ssize_t i, const Columns* to
    ) noexcept nogil:
        cdef double[NUM_INFO] columns
        if to.straight:
            self.info_row(self.states + i, to.out + i * to.width)
        elif to.width:
            self.info_row(self.states + i, columns)
            pick(to, i, columns)

    cdef inline void _step_lane(
        self, Py_ssize_t i, int action, bint active, bint autoreset, float* obs, uint8_t* mask
    ) noexcept nogil:
        cdef State* s = self.states + i
        cdef double[NUM_TERMS] terms
        if not active:
            self.reward[i] = 0.0
            self.terminated[i] = self.truncated[i] = 0
            if self.columns.width:
                memset(
                    self.columns.out + i * self.columns.width, 0,
                    self.columns.width * sizeof(double),
                )
            return
        if step_row(s, self.rules, self.tables, action):
            self.stale[i] = 1
        if self.columns.straight:
            self.reward_row(s, self.reward + i, self.columns.out + i * self.columns.width)
        else:
            self.reward_row(s, self.reward + i, terms)
            pick(&self.columns, i, terms)
        self.terminated[i] = s.done == 1
        self.truncated[i] = s.done == 2
        if s.done:
            self.ep_return[i] = s.ep_return
            self.ep_length[i] = s.ep_length
            self._inform(i, &self.final_info)
            self._observe_lane(i, self.final_obs + i * OBS_DIM)
            if autoreset:
                reset_row(s, self.rules, self.tables, NULL)
                self.stale[i] = 1
        self._observe_lane(i, obs + i * OBS_DIM)
        self.mask_row(s, mask + i * NUM_ACTIONS)
        self._inform(i, &self.info)

    cdef int _take(
        self, const int32_t[::1] actions, const uint8_t[::1] select, float[:, ::1] obs,
        uint8_t[:, ::1] mask,
    ) except -1:
        """Check the arguments of the fused step and keep where they are."""
        if actions is None or obs is None or mask is None:
            raise TypeError("actions, obs and mask must be arrays, not None")
        self._check_rows(actions.shape[0])
        self._check_outputs(obs, mask)
        self.action, self.active = &actions[0], NULL
        if select is not None:
            self._check_rows(select.shape[0])
            self.active = &select[0]
        self.obs, self.mask = &obs[0, 0], &mask[0, 0]
        return 0

    def step_fused(self, actions, select, bint autoreset, obs, mask):
        """Step, reward, autoreset and encode the selected rows (None: all) in one pass."""
        cdef Py_ssize_t n = self.num_envs, chunk
        cdef int k, threads = self.num_threads
        # To look at four arrays takes longer than to step one lane, and a lane's are always the same.
        if not (
            actions is self._given[0] and select is self._given[1]
            and obs is self._given[2] and mask is self._given[3]
        ):
            self._given = (None, None, None, None)
            self._take(actions, select, obs, mask)
            self._given = (actions, select, obs, mask)
        cdef const int32_t* action = self.action
        cdef const uint8_t* active = self.active
        cdef float* obs_out = self.obs
        cdef uint8_t* mask_out = self.mask
        if threads == 1:
            with nogil:
                self._step_chunk(0, n, action, active, autoreset, obs_out, mask_out)
            return
        chunk = (n + threads - 1) // threads
        for k in prange(threads, nogil=True, num_threads=threads, schedule="static"):
            self._step_chunk(
                k * chunk, min(n, (k + 1) * chunk), action, active, autoreset, obs_out, mask_out
            )

    cdef void _step_chunk(
        self, Py_ssize_t first, Py_ssize_t last, const int32_t* action, const uint8_t* active,
        bint autoreset, float* obs, uint8_t* mask,
    ) noexcept nogil:
        # Rows are far apart and a batch does not fit the second-level cache: what a step always
        # reads of a row is fetched two lanes ahead, and what depends on where the ship is one lane.
        cdef Py_ssize_t i
        cdef State* s
        for i in range(first, last):
            if i + 2 < last:
                fastenv_prefetch(self.states + i + 2, ALWAYS_READ)
            if i + 1 < last:
                s = self.states + i + 1
                fastenv_prefetch(&s.neighbor[s.current_node], 1)
                fastenv_prefetch(&s.depletion[s.current_node], 1)
            self._step_lane(i, action[i], active == NULL or active[i], autoreset, obs, mask)

    def observe(
        self,
        const uint8_t[::1] select,
        float[:, ::1] obs not None,
        uint8_t[:, ::1] mask not None,
        bint write_info=True,
    ):
        """Encode the selected rows (None: all) as they are; with ``write_info`` also their info."""
        cdef Py_ssize_t i
        self._check_outputs(obs, mask)
        cdef const uint8_t* active = NULL
        if select is not None:
            self._check_rows(select.shape[0])
            active = &select[0]
        cdef float* obs_out = &obs[0, 0]
        cdef uint8_t* mask_out = &mask[0, 0]
        with nogil:
            for i in range(self.num_envs):
                if active == NULL or active[i]:
                    self.stale[i] = 1  # the row may come from outside
                    self._observe_lane(i, obs_out + i * OBS_DIM)
                    self.mask_row(self.states + i, mask_out + i * NUM_ACTIONS)
                    if write_info:
                        self._inform(i, &self.info)
