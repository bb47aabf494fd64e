"""The Game Boy in plain Python, written to be read: the oracle.

Naive on purpose: timer, display, OAM DMA and serial port advance in every machine cycle. The
processor is in ``cpu.py``; what it sees of the rest is in ``bus.py``. Sections in comments are
those of ``docs/gameboy.md``.
"""

from fastenv.gameboy.reference.link import Link
from fastenv.gameboy.reference.machine import Machine

__all__ = ["Link", "Machine"]
