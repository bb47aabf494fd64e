"""Interrupt flags (docs/gameboy.md, 6)."""

from fastenv.gameboy.tables import Interrupt


class Interrupts:
    """IF says which interrupts were requested, IE which are enabled."""

    def __init__(self) -> None:
        self.requested = 0
        self.enabled = 0

    def request(self, source: Interrupt) -> None:
        """Set a bit of IF."""
        self.requested |= 1 << source

    @property
    def pending(self) -> int:
        """Interrupts that are requested and enabled."""
        return self.requested & self.enabled & 0x1F
