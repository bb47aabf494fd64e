"""Interrupt flags (docs/gameboy.md, 6)."""

from fastenv.gameboy.tables import Interrupt


class Interrupts:
    """IF says which interrupts were requested, IE which are enabled."""

    late: int

    def __init__(self) -> None:
        self.requested: int = 0
        self.enabled = 0
        self.late = 0  # bits set so late in the machine cycle before this that HALT misses them

    def request(self, source: Interrupt, late: bool = False) -> None:
        """Set a bit of IF."""
        if late:
            self.late |= 1 << source & ~self.requested
        self.requested |= 1 << source

    @property
    def pending(self) -> int:
        """Interrupts that are requested and enabled."""
        return self.requested & self.enabled & 0x1F

    @property
    def wakes(self) -> bool:
        """Whether a processor that waits goes on."""
        return bool(self.pending & ~self.late)
