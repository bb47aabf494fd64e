"""Skull King for the loop over lanes (``fastenv/_batch.pyx``): row functions and their table.

The rules are in ``_rules.pxd`` and ``_game.pxd``, the bots in ``_bots.pxd``.
"""
from libc.stdint cimport int32_t, uint8_t, uint64_t

from fastenv cimport _batch
from fastenv.skullking cimport _bots, _game, _rollouts, _worlds
from fastenv.skullking._state cimport MANAGER, Knobs, Params, Rules, Shared, State


cdef void reset(
    void* row, const void* shared, const void* knobs, const uint64_t* seed
) noexcept nogil:
    cdef const Shared* c = <const Shared*>shared
    _game.reset_row(<State*>row, &c.rules, &c.tables, <const Knobs*>knobs, seed)


cdef bint step(
    void* row, const void* derived, const void* shared, const void* knobs, const int32_t* actions
) noexcept nogil:
    cdef const Shared* c = <const Shared*>shared
    _game.step_row(<State*>row, &c.rules, &c.tables, <const Knobs*>knobs, actions[0])
    return False


cdef bint is_legal(
    const void* row, const void* derived, const void* shared, int32_t agent, int32_t action
) noexcept nogil:
    cdef const Shared* c = <const Shared*>shared
    cdef const State* s = <const State*>row
    cdef int lead = _game.lead_suit(s, &c.rules, &c.tables)
    return _game.is_legal(s, &c.rules, &c.tables, action, lead)


cdef bint look_ahead(const void* row, const void* shared) noexcept nogil:
    # An episode may end with the last card of its last round; the Manager's round is one decision.
    cdef const State* s = <const State*>row
    cdef const Rules* r = &(<const Shared*>shared).rules
    if r.full_game and s.round_idx + 1 < r.num_rounds:
        return False
    return s.cards - s.tricks <= 1 or r.tier == MANAGER


cdef int32_t bot(
    const void* row, const void* derived, const void* shared, const void* params, int32_t agent,
    const void* obs, const uint8_t* mask, uint64_t* rng
) noexcept nogil:
    cdef const Shared* c = <const Shared*>shared
    cdef int kind = (<const Params*>params).kind
    return _bots.bot_action(<const State*>row, &c.rules, &c.tables, kind, rng)


cdef void resample(void* row, const void* shared, int32_t agent, uint64_t* rng) noexcept nogil:
    cdef const Shared* c = <const Shared*>shared
    _worlds.resample_row(<State*>row, &c.rules, &c.tables, agent, rng)


cdef int32_t rollout(
    void* row, const void* shared, const void* knobs, const void* players, int32_t action,
    int32_t until, int32_t number, int32_t limit, uint64_t* rng
) noexcept nogil:
    cdef const Shared* c = <const Shared*>shared
    return _rollouts.rollout_row(
        <State*>row, &c.rules, &c.tables, <const Knobs*>knobs, <const Params*>players, action,
        until, number, limit, rng,
    )


cdef _batch.RowTable table
table.reset, table.step, table.is_legal = reset, step, is_legal
table.look_ahead, table.bot, table.resample = look_ahead, bot, resample
table.rollout = rollout
table.state_size, table.shared_size = sizeof(State), sizeof(Shared)
table.knobs_size, table.bot_size = sizeof(Knobs), sizeof(Params)
table.fetch = sizeof(State)

TABLE = _batch.export(&table)
