"""Frames of an observation: which pixels of the picture they have, and how they are packed.

A frame in a row is packed, four pixels a byte, the first in the low two bits (docs/gameboy.md, 17).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastenv.gameboy.tables import HEIGHT, WIDTH

Bytes = npt.NDArray[np.uint8]
BLACK = 3  # the darkest shade
MODES = ("shade", "gray")


@dataclass(frozen=True)
class FrameFormat:
    """Which pixels of a picture a frame has.

    Parameters
    ----------
    ys, xs : tuple of int
        Lines and columns of the picture.
    packed : bool
        Whether observations show four pixels a byte.
    """

    ys: tuple[int, ...]
    xs: tuple[int, ...]
    packed: bool = False

    @property
    def plane(self) -> int:
        """Bytes of a packed frame."""
        return len(self.ys) * len(self.xs) // 4

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a frame in an observation."""
        return len(self.ys), len(self.xs) // (4 if self.packed else 1)

    def pack(self, picture: Sequence[int]) -> bytes:
        """Return the packed frame of a picture of 144 * 160 shades."""
        packed = bytearray()
        for y in self.ys:
            line = y * WIDTH
            for k in range(0, len(self.xs), 4):
                byte = 0
                for i, x in enumerate(self.xs[k : k + 4]):
                    byte |= picture[line + x] << 2 * i
                packed.append(byte)
        return bytes(packed)


HALF = tuple(range(0, HEIGHT, 2)), tuple(range(0, WIDTH, 2))
FORMATS = {
    "72x80": FrameFormat(*HALF),
    "84x84": FrameFormat(
        tuple((2 * r + 1) * HEIGHT // 168 for r in range(84)),
        tuple((2 * c + 1) * WIDTH // 168 for c in range(84)),
    ),
    "160x144": FrameFormat(tuple(range(HEIGHT)), tuple(range(WIDTH))),
    "packed72x20": FrameFormat(*HALF, packed=True),
}
WHOLE = FORMATS["160x144"]


def unpack(packed: bytes) -> list[int]:
    """Return the shades of packed pixels."""
    return [byte >> 2 * i & 3 for byte in packed for i in range(4)]


def gray(shade: int) -> int:
    """Return the brightness of a shade, 0 to 255."""
    return 255 - 85 * shade


def unpack_table(mode: str, packed: bool) -> npt.NDArray[np.uint32]:
    """Build the table from a packed byte to its four pixels in an observation, in order."""
    table = np.zeros((256, 4), np.uint8)
    if not packed:
        for byte in range(256):
            shades = unpack(bytes([byte]))
            table[byte] = [gray(shade) for shade in shades] if mode == "gray" else shades
    return table.view(np.uint32)[:, 0]


def difference(first: bytes, second: bytes) -> int:
    """Return the sum of differences in shade of two packed frames, or stacks of them."""
    pairs = zip(unpack(first), unpack(second), strict=True)
    return sum(abs(a - b) for a, b in pairs)


def difference_table() -> Bytes:
    """Return the differences of two pixels and two others, by ``first | second << 4``."""
    table = np.zeros(256, np.uint8)
    for pair in range(256):
        table[pair] = difference(bytes([pair & 15]), bytes([pair >> 4]))
    return table
