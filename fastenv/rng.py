"""The engine generator in plain Python: xoshiro256** seeded through SplitMix64.

Every game that does not bring a generator of its own draws from this one. The compiled twin is
``_rng.pxd``; both are tested against published vectors and against each other.

Sources: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators" (2021);
D. Lemire, "Fast random integer generation in an interval" (2019).
"""

from __future__ import annotations

_MASK64 = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15


def splitmix64(x: int) -> int:
    """Return the SplitMix64 output for counter value ``x`` (already advanced by the gamma)."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK64
    return x ^ (x >> 31)


def _rotl(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & _MASK64


class Rng:
    """xoshiro256** with unbiased bounded integers.

    Parameters
    ----------
    seed : int, optional
        Any integer; taken modulo 2**64. The four state words are the first four outputs of
        SplitMix64 started at ``seed``.
    """

    __slots__ = ("state",)

    def __init__(self, seed: int = 0) -> None:
        self.state: list[int] = [
            splitmix64((seed + (k + 1) * GOLDEN_GAMMA) & _MASK64) for k in range(4)
        ]

    def next(self) -> int:
        """Return the next 64 random bits."""
        s = self.state
        result = (_rotl((s[1] * 5) & _MASK64, 7) * 9) & _MASK64
        t = (s[1] << 17) & _MASK64
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = _rotl(s[3], 45)
        return result

    def bounded(self, n: int) -> int:
        """Return an unbiased integer in ``[0, n)``, ``1 <= n < 2**32``.

        Lemire's method on the upper 32 bits of :meth:`next`; rejections are rare.
        """
        product = (self.next() >> 32) * n
        low = product & 0xFFFFFFFF
        if low < n:
            threshold = (0x100000000 - n) % n
            while low < threshold:
                product = (self.next() >> 32) * n
                low = product & 0xFFFFFFFF
        return product >> 32

    def uniform(self) -> float:
        """Return a double in ``[0, 1)`` with 53 random bits."""
        return (self.next() >> 11) * 2.0**-53
