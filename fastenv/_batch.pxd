# What a compiled game exports: functions of one row, and the sizes of the records they read. Their
# meaning is described in game.py (Compiled). `derived` is NULL in games without a derived record.
from cpython.pycapsule cimport PyCapsule_New
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t, uint64_t

ctypedef void (*reset_fn)(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil
ctypedef bint (*step_fn)(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil
ctypedef bint (*legal_fn)(
    const void* row, const void* derived, const void* shared, int32_t agent, int32_t action
) noexcept nogil
ctypedef void (*derive_fn)(const void* row, void* derived, const void* shared) noexcept nogil
ctypedef void (*complete_fn)(void* row, const void* shared) noexcept nogil
ctypedef bint (*look_ahead_fn)(const void* row, const void* shared) noexcept nogil
ctypedef int32_t (*bot_fn)(
    const void* row, const void* derived, const void* shared, const void* params, int32_t agent,
    const void* obs, const uint8_t* mask, uint64_t* rng
) noexcept nogil
ctypedef void (*observe_fn)(
    const void* row, const void* derived, const void* shared, void* obs, uint8_t* mask
) noexcept nogil
ctypedef bint (*reward_fn)(
    const void* row, const void* derived, const void* shared, void* reward, void* terms
) noexcept nogil
ctypedef void (*info_fn)(
    const void* row, const void* derived, const void* shared, void* info
) noexcept nogil

ctypedef void (*resample_fn)(
    void* row, const void* shared, int32_t agent, uint64_t* rng
) noexcept nogil
ctypedef bint (*stop_fn)(
    const void* row, const void* start, const void* shared, int32_t until, int32_t number
) noexcept nogil
ctypedef int32_t (*rollout_fn)(
    void* row, const void* shared, const void* knobs, const void* players, int32_t action,
    int32_t until, int32_t number, int32_t limit, uint64_t* rng
) noexcept nogil

cdef struct RowTable:
    reset_fn reset
    step_fn step
    legal_fn is_legal
    derive_fn derive
    complete_fn complete
    look_ahead_fn look_ahead
    bot_fn bot
    observe_fn observe
    reward_fn reward
    info_fn info
    resample_fn resample
    stop_fn stop
    rollout_fn rollout
    size_t state_size
    size_t knobs_size
    size_t shared_size
    size_t derived_size
    size_t bot_size
    size_t fetch
    Py_ssize_t chunk

cdef inline object export(const RowTable* table):
    """Return a table, which must outlive its module, as the capsule that the loop takes."""
    return PyCapsule_New(<void*>table, "fastenv.RowTable", NULL)
