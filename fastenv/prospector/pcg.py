"""The generator of Asteroid Prospector and its distributions (docs/prospector.md, 3).

PCG32 (XSH-RR: 64 bits of state, 32 bits of output) on stream 54. Every distribution says how many
draws it takes, because all implementations take the same; nothing is kept between calls.

Source: M. O'Neill, "PCG: a family of simple fast space-efficient statistically good algorithms for
random number generation" (2014).

>>> [hex(Pcg(42).next_u32()), hex(Pcg(0).next_u32())]
['0xa15c02b7', '0x47c28b93']
"""

from __future__ import annotations

import math

from fastenv.prospector.arithmetic import sum6
from fastenv.prospector.tables import PCG_INC, PCG_MUL, TWO_PI

_MASK32, _MASK64 = (1 << 32) - 1, (1 << 64) - 1
_TINY = 1e-8  # in place of a smaller uniform, whose logarithm would be too large


class Pcg:
    """PCG32.

    Parameters
    ----------
    seed : int, optional
        Any integer; taken modulo 2**64.
    """

    __slots__ = ("state",)

    def __init__(self, seed: int = 0) -> None:
        self.state: int = 0
        self.next_u32()
        self.state = (self.state + seed) & _MASK64
        self.next_u32()

    def next_u32(self) -> int:
        """Return the next 32 random bits; one draw, as the name says."""
        old = self.state
        self.state = (old * PCG_MUL + PCG_INC) & _MASK64
        shifted = (((old >> 18) ^ old) >> 27) & _MASK32
        rotation = old >> 59
        return ((shifted >> rotation) | (shifted << (32 - rotation) % 32)) & _MASK32

    def uniform(self) -> float:
        """Return a number in ``[0, 1)``; one draw."""
        return self.next_u32() / 2**32

    def uni(self, low: float, high: float) -> float:
        """Return a number in ``[low, high)``; one draw."""
        return low + (high - low) * self.uniform()

    def below(self, low: int, high: int) -> int:
        """Return an integer in ``[low, high)``, slightly biased; one draw."""
        return low + self.next_u32() % (high - low)

    def exponential(self) -> float:
        """Return an exponential number of mean 1; one draw."""
        return -math.log(max(self.uniform(), _TINY))

    def normal(self, mean: float, sigma: float) -> float:
        """Return a normal number; two draws, also if ``sigma`` is 0. The sine partner is lost."""
        u1 = max(self.uniform(), _TINY)
        u2 = self.uniform()
        z = math.sqrt(-2.0 * math.log(u1)) * math.cos(TWO_PI * u2)
        return mean + sigma * z

    def beta32(self) -> float:
        """Return a number distributed as Beta(3, 2); five draws."""
        a = self.exponential() + self.exponential() + self.exponential()
        b = self.exponential() + self.exponential()
        return a / (a + b) if a + b != 0.0 else 0.5

    def dir6(self) -> list[float]:
        """Return six shares, uniform among those that add up to 1; six draws."""
        parts = [self.exponential() for _ in range(6)]
        total = sum6(parts)
        return [part / total for part in parts]
