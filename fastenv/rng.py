"""The engine generator in plain Python: xoshiro256** seeded through SplitMix64.

Every game that does not bring a generator of its own draws from this one. The compiled twin is
``_rng.pxd``; both are tested against published vectors and against each other.

Sources: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators" (2021);
D. Lemire, "Fast random integer generation in an interval" (2019).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
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


_FIRST = tuple(Rng().state)


class ScriptedRng(Rng):
    """A generator whose bounded integers are given, then 0, and which keeps what it was asked for.

    Parameters
    ----------
    script : sequence of int
        The first bounded integers.

    Attributes
    ----------
    drawn : list of (int, int)
        Each bounded integer and how many it could have been.
    """

    __slots__ = ("drawn", "script")

    def __init__(self, script: Sequence[int] = ()) -> None:
        self.state: list[int] = [*_FIRST]
        self.script: Sequence[int] = script
        self.drawn: list[tuple[int, int]] = []

    def bounded(self, n: int) -> int:
        """Return the next integer of the script."""
        number = self.script[len(self.drawn)] if len(self.drawn) < len(self.script) else 0
        self.drawn.append((number, n))
        return number

    def uniform(self) -> float:
        """Refuse: there are 2**53 of them."""
        raise ValueError("uniform() has more outcomes than can be listed")


def every_draw(play: Callable[[Rng], T]) -> Iterator[tuple[float, T]]:
    """List what can come of a function that draws bounded integers.

    Parameters
    ----------
    play : callable
        Draws from the generator that it is given, by :meth:`Rng.bounded`; what it takes from
        :meth:`Rng.next`, such as the state of another generator, is the same every time.

    Yields
    ------
    (float, object)
        Probability of an outcome, and the outcome. They come in the order of the integers.

    Examples
    --------
    >>> from fastenv.rng import every_draw
    >>> list(every_draw(lambda rng: rng.bounded(2) + rng.bounded(2)))
    [(0.25, 0), (0.25, 1), (0.25, 1), (0.25, 2)]
    """
    script: list[int] = []
    while True:
        rng = ScriptedRng(script)
        outcome = play(rng)
        probability = 1.0
        for _, n in rng.drawn:
            probability /= n
        yield probability, outcome
        while rng.drawn and rng.drawn[-1][0] + 1 == rng.drawn[-1][1]:
            rng.drawn.pop()
        if not rng.drawn:
            return
        script = [number for number, _ in rng.drawn]
        script[-1] += 1
