# The engine generator for compiled code; the readable twin and the sources are in rng.py.
from libc.stdint cimport uint32_t, uint64_t

cdef inline uint64_t splitmix64(uint64_t x) noexcept nogil:
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline void rng_seed(uint64_t* s, uint64_t seed) noexcept nogil:
    cdef int k
    for k in range(4):
        seed += <uint64_t>0x9E3779B97F4A7C15
        s[k] = splitmix64(seed)


cdef inline uint64_t rotl(uint64_t x, int k) noexcept nogil:
    return (x << k) | (x >> (64 - k))


cdef inline uint64_t rng_next(uint64_t* s) noexcept nogil:
    cdef uint64_t result = rotl(s[1] * 5, 7) * 9
    cdef uint64_t t = s[1] << 17
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotl(s[3], 45)
    return result


cdef inline uint32_t rng_bounded(uint64_t* s, uint32_t n) noexcept nogil:
    cdef uint64_t product = (rng_next(s) >> 32) * <uint64_t>n
    cdef uint32_t low = <uint32_t>product
    cdef uint32_t threshold
    if low < n:
        threshold = (<uint32_t>0 - n) % n
        while low < threshold:
            product = (rng_next(s) >> 32) * <uint64_t>n
            low = <uint32_t>product
    return <uint32_t>(product >> 32)


cdef inline double rng_uniform(uint64_t* s) noexcept nogil:
    return <double>(rng_next(s) >> 11) * (1.0 / 9007199254740992.0)
