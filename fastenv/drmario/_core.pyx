"""Dr. Mario for the loop over lanes (``fastenv/_batch.pyx``): row functions and their tables.

The rules are in ``_game.pxd``. There is a table for each kind of decision and number of players.
"""
from libc.stdint cimport int32_t, uint64_t

from fastenv cimport _batch
from fastenv.drmario cimport _game
from fastenv.drmario._state cimport Head, Knobs, One, Shared, Two, View


cdef void reset_one(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef One* s = <One*>row
    _game.reset(
        <const Shared*>shared, <Head*>row, s.players, 1, <const Knobs*>knobs, seed, NULL,
        <View*>(s + 1),
    )
    s.ep_return, s.tau = 0.0, 0


cdef void reset_two(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef Two* s = <Two*>row
    _game.reset(
        <const Shared*>shared, <Head*>row, s.players, 2, <const Knobs*>knobs, seed, s.bot_rng,
        <View*>(s + 1),
    )
    s.ep_return[0] = s.ep_return[1] = 0.0
    s.tau[0] = s.tau[1] = 0
    s.needs_action[0] = s.needs_action[1] = 1


cdef bint step_one(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    cdef One* s = <One*>row
    return _game.step_frame(
        <const Shared*>shared, <Head*>row, s.players, 1, actions, &s.tau, <View*>(s + 1)
    )


cdef bint step_two(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    cdef Two* s = <Two*>row
    return _game.step_frame(
        <const Shared*>shared, <Head*>row, s.players, 2, actions, s.tau, <View*>(s + 1)
    )


cdef bint always(
    const void* row, const void* derived, const void* shared, int32_t agent, int32_t action
) noexcept nogil:
    return True


cdef _batch.RowTable frames_one, frames_two
frames_one.reset, frames_one.step, frames_one.is_legal = reset_one, step_one, always
frames_two.reset, frames_two.step, frames_two.is_legal = reset_two, step_two, always
frames_one.state_size = frames_one.fetch = sizeof(One)
frames_two.state_size = frames_two.fetch = sizeof(Two)
frames_one.knobs_size = frames_two.knobs_size = sizeof(Knobs)
frames_one.shared_size = frames_two.shared_size = sizeof(Shared)

# by number of players
FRAMES = {1: _batch.export(&frames_one), 2: _batch.export(&frames_two)}
