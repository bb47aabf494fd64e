"""Skull King in batches: rows of ``STATE_DTYPE`` stepped without the GIL.

The rules are in ``_rules.pxd`` and ``_game.pxd``, the bots in ``_bots.pxd``; this module owns the
loop over lanes. In the fused step the Numba kernels are called through C function pointers right
after a row was stepped, so that a row is encoded while it is in the first-level cache.
"""
from cython.parallel cimport prange
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t, uint64_t, uintptr_t
from libc.string cimport memset

from fastenv.skullking._bots cimport bot_action
from fastenv.skullking._game cimport is_legal, reset_row, step_row
from fastenv.skullking._state cimport Knobs, Rules, State, Tables

cdef extern from *:
    """
    #ifdef FASTENV_DEBUG
    #define FASTENV_IS_DEBUG 1
    #else
    #define FASTENV_IS_DEBUG 0
    #endif
    #if defined(_MSC_VER)
    #define FASTENV_PREFETCH(p)
    #else
    #define FASTENV_PREFETCH(p) __builtin_prefetch((p), 1)
    #endif
    static inline void fastenv_prefetch(const void *start, size_t bytes) {
        const char *p = (const char *)start;
        size_t i;
        for (i = 0; i < bytes; i += 64) FASTENV_PREFETCH(p + i);
    }
    """
    const bint FASTENV_IS_DEBUG
    void fastenv_prefetch(const void* start, size_t bytes) noexcept nogil

cdef enum:
    NUM_INFO = 18  # layout.INFO_COLUMNS
    NUM_REWARDS = 3  # layout.REWARD_COLUMNS

ctypedef void (*observe_fn)(const State*, const Rules*, const Tables*, float*, uint8_t*) noexcept nogil
ctypedef void (*reward_fn)(State*, const Rules*, const Tables*, float*, float*) noexcept nogil
ctypedef void (*info_fn)(const State*, const Rules*, int32_t*) noexcept nogil


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
    """Return the bytes of the State, Rules, Knobs and Tables structs."""
    return sizeof(State), sizeof(Rules), sizeof(Knobs), sizeof(Tables)


def record_offsets():
    """Return ``{field: byte offset}`` of the State struct."""
    cdef State s
    cdef size_t base = <size_t>&s
    return {
        "rng": <size_t>&s.rng - base,
        "deal_seed": <size_t>&s.deal_seed - base,
        "played": <size_t>&s.played - base,
        "known": <size_t>&s.known - base,
        "out": <size_t>&s.out - base,
        "seen_strength": <size_t>&s.seen_strength - base,
        "ep_return": <size_t>&s.ep_return - base,
        "ep_length": <size_t>&s.ep_length - base,
        "total": <size_t>&s.total - base,
        "bonus": <size_t>&s.bonus - base,
        "bid_share": <size_t>&s.bid_share - base,
        "error": <size_t>&s.error - base,
        "hand": <size_t>&s.hand - base,
        "hand_len": <size_t>&s.hand_len - base,
        "stock": <size_t>&s.stock - base,
        "stock_pos": <size_t>&s.stock_pos - base,
        "stock_len": <size_t>&s.stock_len - base,
        "discard": <size_t>&s.discard - base,
        "table_card": <size_t>&s.table_card - base,
        "table_seat": <size_t>&s.table_seat - base,
        "table_mode": <size_t>&s.table_mode - base,
        "table_len": <size_t>&s.table_len - base,
        "bid": <size_t>&s.bid - base,
        "won": <size_t>&s.won - base,
        "cannon": <size_t>&s.cannon - base,
        "bots": <size_t>&s.bots - base,
        "bid_sum": <size_t>&s.bid_sum - base,
        "abs_error": <size_t>&s.abs_error - base,
        "hits": <size_t>&s.hits - base,
        "zero_bids": <size_t>&s.zero_bids - base,
        "last_bid": <size_t>&s.last_bid - base,
        "agent": <size_t>&s.agent - base,
        "actor": <size_t>&s.actor - base,
        "phase": <size_t>&s.phase - base,
        "done": <size_t>&s.done - base,
        "round_idx": <size_t>&s.round_idx - base,
        "rounds_done": <size_t>&s.rounds_done - base,
        "cards": <size_t>&s.cards - base,
        "tricks": <size_t>&s.tricks - base,
        "destroyed": <size_t>&s.destroyed - base,
        "first_leader": <size_t>&s.first_leader - base,
        "leader": <size_t>&s.leader - base,
        "human_leader": <size_t>&s.human_leader - base,
        "turn": <size_t>&s.turn - base,
        "played_last": <size_t>&s.played_last - base,
        "alliances": <size_t>&s.alliances - base,
        "num_alliances": <size_t>&s.num_alliances - base,
        "counts": <size_t>&s.counts - base,
        "specials_known": <size_t>&s.specials_known - base,
        "abilities": <size_t>&s.abilities - base,
        "pirates": <size_t>&s.pirates - base,
        "harry_seat": <size_t>&s.harry_seat - base,
        "rascal_seat": <size_t>&s.rascal_seat - base,
        "rascal_bet": <size_t>&s.rascal_bet - base,
        "rosie_lead": <size_t>&s.rosie_lead - base,
        "jade_seen": <size_t>&s.jade_seen - base,
        "abilities_used": <size_t>&s.abilities_used - base,
        "drawn": <size_t>&s.drawn - base,
        "first_discard": <size_t>&s.first_discard - base,
        "invalid_count": <size_t>&s.invalid_count - base,
        "ev_phase": <size_t>&s.ev_phase - base,
        "ev_action": <size_t>&s.ev_action - base,
        "ev_invalid": <size_t>&s.ev_invalid - base,
        "ev_card": <size_t>&s.ev_card - base,
        "ev_needed": <size_t>&s.ev_needed - base,
        "ev_left": <size_t>&s.ev_left - base,
        "ev_estimate": <size_t>&s.ev_estimate - base,
        "ev_trick": <size_t>&s.ev_trick - base,
        "ev_captures": <size_t>&s.ev_captures - base,
        "ev_cards": <size_t>&s.ev_cards - base,
        "ev_round": <size_t>&s.ev_round - base,
        "ev_bid": <size_t>&s.ev_bid - base,
        "ev_won": <size_t>&s.ev_won - base,
        "ev_alliances": <size_t>&s.ev_alliances - base,
        "ev_bet": <size_t>&s.ev_bet - base,
        "ev_rank": <size_t>&s.ev_rank - base,
        "ev_points": <size_t>&s.ev_points - base,
        "ev_bonus": <size_t>&s.ev_bonus - base,
    }


cdef bint is_range(const int32_t[::1] numbers):
    cdef Py_ssize_t k
    for k in range(numbers.shape[0]):
        if numbers[k] != k:
            return False
    return True


cdef class BatchCore:
    """Steps the rows of a batch in place.

    Parameters
    ----------
    states, knobs : uint8 memoryview, shape (n, itemsize), C-contiguous
        Byte views of ``STATE_DTYPE`` and ``KNOBS_DTYPE`` arrays; kept, not copied.
    rules, tables : uint8 memoryview, shape (itemsize,)
        Byte views of one ``RULES_DTYPE`` and one ``TABLES_DTYPE`` record; kept, not copied.
    num_threads : int
        OpenMP threads; 1 is a plain loop.
    """

    cdef uint8_t[:, ::1] _states
    cdef uint8_t[:, ::1] _knobs
    cdef const uint8_t[::1] _rules
    cdef const uint8_t[::1] _tables
    cdef State* states
    cdef Knobs* knobs
    cdef const Rules* rules
    cdef const Tables* tables
    cdef readonly Py_ssize_t num_envs
    cdef readonly int num_threads
    # bound by `bind`; the memoryviews keep the buffers alive
    cdef observe_fn observe_row
    cdef reward_fn reward_row
    cdef info_fn info_row
    cdef object _buffers
    cdef tuple _given  # arrays of the last fused step, and where they are:
    cdef const int32_t* action
    cdef const uint8_t* active
    cdef float* obs
    cdef uint8_t* mask
    cdef float* reward
    cdef float* columns
    cdef const int32_t* columns_wanted
    cdef const int32_t* info_wanted
    cdef bint all_columns, all_info  # every column, in the kernels' own order
    cdef uint8_t* terminated
    cdef uint8_t* truncated
    cdef int32_t* info
    cdef int32_t* final_info
    cdef float* final_obs
    cdef double* ep_return
    cdef int32_t* ep_length
    cdef Py_ssize_t num_columns, num_info, obs_dim, num_actions

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
            or knobs.shape[1] != sizeof(Knobs)
            or rules.shape[0] != sizeof(Rules)
            or tables.shape[0] != sizeof(Tables)
            or states.shape[0] != knobs.shape[0]
            or states.shape[0] < 1
        ):
            raise ValueError("states, knobs, rules and tables do not have the compiled record sizes")
        self._states, self._knobs, self._rules, self._tables = states, knobs, rules, tables
        self.states = <State*>&states[0, 0]
        self.knobs = <Knobs*>&knobs[0, 0]
        self.rules = <const Rules*>&rules[0]
        self.tables = <const Tables*>&tables[0]
        self.num_envs = states.shape[0]
        self.num_threads = max(1, num_threads)
        self.observe_row = NULL
        self._given = (None, None, None, None)

    def bind(
        self,
        addresses,
        float[::1] reward not None,
        float[:, ::1] columns not None,
        uint8_t[::1] terminated not None,
        uint8_t[::1] truncated not None,
        int32_t[:, ::1] info not None,
        int32_t[:, ::1] final_info not None,
        float[:, ::1] final_obs not None,
        double[::1] ep_return not None,
        int32_t[::1] ep_length not None,
        const int32_t[::1] info_wanted not None,
        const int32_t[::1] columns_wanted not None,
        Py_ssize_t num_actions=11,
    ):
        """Set the kernels and the output buffers of the fused step; the buffers are kept."""
        self._check_rows(reward.shape[0])
        self._check_rows(columns.shape[0])
        self._check_rows(terminated.shape[0])
        self._check_rows(truncated.shape[0])
        self._check_rows(info.shape[0])
        self._check_rows(final_info.shape[0])
        self._check_rows(final_obs.shape[0])
        self._check_rows(ep_return.shape[0])
        self._check_rows(ep_length.shape[0])
        if info.shape[1] != final_info.shape[1]:
            raise ValueError("info and final_info differ in width")
        self._check_wanted(info_wanted, info.shape[1], NUM_INFO)
        self._check_wanted(columns_wanted, columns.shape[1], NUM_REWARDS)
        self._buffers = (
            reward.base, columns.base, terminated.base, truncated.base, info.base,
            final_info.base, final_obs.base, ep_return.base, ep_length.base,
            info_wanted.base, columns_wanted.base,
        )
        cdef uintptr_t observe_address, reward_address, info_address
        observe_address, reward_address, info_address = addresses
        self.observe_row = <observe_fn>observe_address
        self.reward_row = <reward_fn>reward_address
        self.info_row = <info_fn>info_address
        self.reward = &reward[0]
        self.terminated, self.truncated = &terminated[0], &truncated[0]
        if columns.shape[1]:
            self.columns, self.columns_wanted = &columns[0, 0], &columns_wanted[0]
        if info.shape[1]:
            self.info, self.final_info = &info[0, 0], &final_info[0, 0]
            self.info_wanted = &info_wanted[0]
        self.all_info = info.shape[1] == NUM_INFO and is_range(info_wanted)
        self.all_columns = columns.shape[1] == NUM_REWARDS and is_range(columns_wanted)
        self.final_obs = &final_obs[0, 0]
        self.ep_return, self.ep_length = &ep_return[0], &ep_length[0]
        self.num_columns, self.num_info = columns.shape[1], info.shape[1]
        self.obs_dim, self.num_actions = final_obs.shape[1], num_actions

    cdef int _check_wanted(self, const int32_t[::1] wanted, Py_ssize_t width, int known) except -1:
        cdef Py_ssize_t k
        if wanted.shape[0] != width:
            raise ValueError("a block of columns is not as wide as the columns wanted in it")
        for k in range(width):
            if not 0 <= wanted[k] < known:
                raise ValueError(f"column {wanted[k]} is wanted, there are {known}")
        return 0

    cdef int _check_rows(self, Py_ssize_t n) except -1:
        if n != self.num_envs:
            raise ValueError(f"an argument has {n} rows, the batch has {self.num_envs}")
        return 0

    cdef int _check_outputs(
        self, const uint8_t[::1] select, float[:, ::1] obs, uint8_t[:, ::1] mask
    ) except -1:
        self._check_rows(obs.shape[0])
        self._check_rows(mask.shape[0])
        if select is not None:
            self._check_rows(select.shape[0])
        if self.observe_row == NULL:
            raise RuntimeError("bind has not been called")
        if obs.shape[1] != self.obs_dim or mask.shape[1] != self.num_actions:
            raise ValueError("obs or mask does not have the bound width")
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
                    reset_row(self.states + i, self.rules, self.tables, self.knobs + i, seed)
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
                    step_row(
                        self.states + i, self.rules, self.tables, self.knobs + i, actions[i]
                    )

    def first_illegal(
        self, const int32_t[::1] actions not None, const uint8_t[::1] select not None
    ):
        """Return the first selected lane whose action is illegal in its state, or -1."""
        cdef Py_ssize_t i
        self._check_rows(actions.shape[0])
        self._check_rows(select.shape[0])
        with nogil:
            for i in range(self.num_envs):
                if select[i] and not is_legal(
                    self.states + i, self.rules, self.tables, actions[i]
                ):
                    break
            else:
                i = -1
        return i

    def bot_actions(
        self, int kind, uint64_t[:, ::1] rng_states not None, int32_t[::1] out not None
    ):
        """Write what the bot ``kind`` would do in each actor's place.

        Parameters
        ----------
        kind : int
            A ``Bot``.
        rng_states : uint64 memoryview, shape (n, 4)
            Generators of the policy, one a lane; advanced.
        out : int32 memoryview, shape (n,)
        """
        cdef Py_ssize_t i
        self._check_rows(rng_states.shape[0])
        self._check_rows(out.shape[0])
        if rng_states.shape[1] != 4 or not 0 <= kind <= 7:
            raise ValueError("bot_actions takes a bot from 0 to 7 and generators of 4 words")
        with nogil:
            for i in range(self.num_envs):
                out[i] = bot_action(
                    self.states + i, self.rules, self.tables, kind, &rng_states[i, 0]
                )

    # -- fused stepping -------------------------------------------------------------------------

    cdef inline void _step_lane(
        self, Py_ssize_t i, int action, bint active, bint autoreset, float* obs, uint8_t* mask
    ) noexcept nogil:
        cdef State* s = self.states + i
        cdef float* columns = self.columns + i * self.num_columns
        if not active:
            self.reward[i] = 0.0
            self.terminated[i] = self.truncated[i] = 0
            memset(columns, 0, self.num_columns * sizeof(float))
            return
        step_row(s, self.rules, self.tables, self.knobs + i, action)
        self._write_reward(s, self.reward + i, columns)
        self.terminated[i] = s.done == 1
        self.truncated[i] = s.done == 2
        if s.done:
            self.ep_return[i] = s.ep_return
            self.ep_length[i] = s.ep_length
            self._write_info(s, self.final_info + i * self.num_info)
            # the mask of an ended episode is of no use to anybody: the lane's mask is rewritten
            self.observe_row(
                s, self.rules, self.tables, self.final_obs + i * self.obs_dim,
                mask + i * self.num_actions,
            )
            if autoreset:
                reset_row(s, self.rules, self.tables, self.knobs + i, NULL)
        self.observe_row(
            s, self.rules, self.tables, obs + i * self.obs_dim, mask + i * self.num_actions
        )
        self._write_info(s, self.info + i * self.num_info)

    cdef inline void _write_reward(self, State* s, float* reward, float* columns) noexcept nogil:
        cdef float full[NUM_REWARDS]
        cdef Py_ssize_t k
        if self.all_columns:
            self.reward_row(s, self.rules, self.tables, reward, columns)
            return
        self.reward_row(s, self.rules, self.tables, reward, full)
        for k in range(self.num_columns):
            columns[k] = full[self.columns_wanted[k]]

    cdef inline void _write_info(self, const State* s, int32_t* info) noexcept nogil:
        cdef int32_t full[NUM_INFO]
        cdef Py_ssize_t k
        if self.all_info:
            self.info_row(s, self.rules, info)
        elif self.num_info:
            self.info_row(s, self.rules, full)
            for k in range(self.num_info):
                info[k] = full[self.info_wanted[k]]

    cdef int _take(
        self, const int32_t[::1] actions, const uint8_t[::1] select, float[:, ::1] obs,
        uint8_t[:, ::1] mask,
    ) except -1:
        """Check the arguments of the fused step and keep where they are."""
        if actions is None or obs is None or mask is None:
            raise TypeError("actions, obs and mask must be arrays, not None")
        self._check_rows(actions.shape[0])
        self._check_outputs(select, obs, mask)
        self.action, self.active = &actions[0], NULL
        if select is not None:
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
        # A batch does not fit the second-level cache; the next lane is fetched during this one.
        cdef Py_ssize_t i
        for i in range(first, last):
            if i + 1 < last:
                fastenv_prefetch(self.states + i + 1, sizeof(State))
                fastenv_prefetch(obs + (i + 1) * self.obs_dim, self.obs_dim * sizeof(float))
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
        self._check_outputs(select, obs, mask)
        cdef const uint8_t* active = NULL
        if select is not None:
            active = &select[0]
        cdef float* obs_out = &obs[0, 0]
        cdef uint8_t* mask_out = &mask[0, 0]
        with nogil:
            for i in range(self.num_envs):
                if active == NULL or active[i]:
                    self.observe_row(
                        self.states + i, self.rules, self.tables, obs_out + i * self.obs_dim,
                        mask_out + i * self.num_actions,
                    )
                    if write_info:
                        self._write_info(self.states + i, self.info + i * self.num_info)
