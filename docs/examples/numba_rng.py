"""The engine generator in Numba, for games whose rules are compiled by Numba alone.

The same numbers as ``fastenv.rng.Rng``, whose sources it shares.
"""

import numpy as np

from fastenv.numba_cache import cached_njit


@cached_njit()
def seed_rng(s, seed):
    """Write the state that begins with a seed into ``s``, uint64 (4,)."""
    for k in range(4):
        z = seed + np.uint64(k + 1) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        s[k] = z ^ (z >> np.uint64(31))


@cached_njit()
def rotate(x, k):
    """Rotate 64 bits to the left."""
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@cached_njit()
def next_bits(s):
    """Return the next 64 random bits."""
    x = rotate(s[1] * np.uint64(5), 7) * np.uint64(9)
    t = s[1] << np.uint64(17)
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotate(s[3], 45)
    return x


@cached_njit()
def bounded(s, n):
    """Return an unbiased integer in ``[0, n)``."""
    n = np.uint64(n)
    product = (next_bits(s) >> np.uint64(32)) * n
    low = product & np.uint64(0xFFFFFFFF)
    if low < n:
        threshold = (np.uint64(0x100000000) - n) % n
        while low < threshold:
            product = (next_bits(s) >> np.uint64(32)) * n
            low = product & np.uint64(0xFFFFFFFF)
    return np.int64(product >> np.uint64(32))
