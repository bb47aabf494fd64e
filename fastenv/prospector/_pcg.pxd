# PCG32, stream 54, and its distributions (docs/prospector.md, 3); the readable twin is pcg.py.
from libc.math cimport cos, log, sqrt
from libc.stdint cimport uint32_t, uint64_t


cdef inline uint32_t next_u32(uint64_t* rng) noexcept nogil:
    cdef uint64_t old = rng[0]
    cdef uint32_t xs = <uint32_t>(((old >> 18) ^ old) >> 27), rot = <uint32_t>(old >> 59)
    rng[0] = old * <uint64_t>6364136223846793005 + 109
    return (xs >> rot) | (xs << ((32 - rot) & 31))


cdef inline void pcg_seed(uint64_t* rng, uint64_t seed) noexcept nogil:
    rng[0] = 0
    next_u32(rng)
    rng[0] += seed
    next_u32(rng)


cdef inline void skip_four(uint64_t* rng) noexcept nogil:
    cdef uint64_t mul = 6364136223846793005, add = 109
    add *= mul + 1
    mul *= mul
    add *= mul + 1
    mul *= mul
    rng[0] = rng[0] * mul + add


cdef inline double uniform(uint64_t* rng) noexcept nogil:
    return next_u32(rng) * (1.0 / 4294967296.0)


cdef inline double uni(uint64_t* rng, double low, double high) noexcept nogil:
    return low + (high - low) * uniform(rng)


cdef inline uint32_t below(uint64_t* rng, uint32_t low, uint32_t high) noexcept nogil:
    return low + next_u32(rng) % (high - low)


# From draws: the rules as they are written, with the maths library.

cdef inline double unit(uint32_t draw) noexcept nogil:
    return draw * (1.0 / 4294967296.0)


cdef inline double exponential_of(uint32_t draw) noexcept nogil:
    return -log(unit(draw) if unit(draw) >= 1e-8 else 1e-8)


cdef inline double normal_of(uint32_t first, uint32_t second) noexcept nogil:
    return sqrt(2.0 * exponential_of(first)) * cos(6.283185307179586 * unit(second))


cdef inline double normal(uint64_t* rng, double sigma) noexcept nogil:
    cdef uint32_t first = next_u32(rng), second = next_u32(rng)
    return sigma * normal_of(first, second)
