# PCG32, stream 54, and its distributions (spec section 3); the readable twin is pcg.py.
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


cdef inline double uniform(uint64_t* rng) noexcept nogil:
    return <double>next_u32(rng) * (1.0 / 4294967296.0)


cdef inline double uni(uint64_t* rng, double low, double high) noexcept nogil:
    return low + (high - low) * uniform(rng)


cdef inline uint32_t below(uint64_t* rng, uint32_t low, uint32_t high) noexcept nogil:
    return low + next_u32(rng) % (high - low)


cdef inline double exponential(uint64_t* rng) noexcept nogil:
    cdef double u = uniform(rng)
    return -log(u if u >= 1e-8 else 1e-8)


cdef inline double normal_of(uint32_t first, uint32_t second) noexcept nogil:
    # A standard normal number from two draws.
    cdef double u1 = first * (1.0 / 4294967296.0), u2 = second * (1.0 / 4294967296.0)
    return sqrt(-2.0 * log(u1 if u1 >= 1e-8 else 1e-8)) * cos(6.283185307179586 * u2)


cdef inline double normal(uint64_t* rng, double mean, double sigma) noexcept nogil:
    cdef uint32_t first = next_u32(rng), second = next_u32(rng)
    return mean + sigma * normal_of(first, second)


cdef inline double beta32(uint64_t* rng) noexcept nogil:
    cdef double a = 0.0, b = 0.0
    for _ in range(3):
        a += exponential(rng)
    for _ in range(2):
        b += exponential(rng)
    return a / (a + b) if a + b > 0.0 else 0.5


cdef inline void dir6(uint64_t* rng, float* out) noexcept nogil:
    # Six shares, stored in f32.
    cdef double share[6]
    cdef double total = 0.0
    cdef int c
    for c in range(6):
        share[c] = exponential(rng)
        total += share[c]
    for c in range(6):
        out[c] = <float>(share[c] / total)
