"""DIV and TIMA (docs/gameboy.md, 7)."""

from fastenv.gameboy.reference.interrupts import Interrupts
from fastenv.gameboy.tables import M_CYCLE, Interrupt, Reload

TAPS = (9, 3, 5, 7)  # the bit of the counter that TAC & 3 connects to TIMA


class Timer:
    """A 16-bit counter that never stops; TIMA counts the falling edges of one of its bits."""

    tima: int
    tma: int
    tac: int

    def __init__(self, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        self.counter: int = 0
        self.tima = self.tma = self.tac = 0
        self.reload: Reload = Reload.NO

    @property
    def signal(self) -> bool:
        """What TIMA sees: the selected bit, if the timer is enabled."""
        return bool(self.tac & 4 and self.counter >> TAPS[self.tac & 3] & 1)

    def tick(self) -> None:
        """Let a machine cycle pass."""
        if self.reload == Reload.DONE:
            self.reload = Reload.NO
        elif self.reload == Reload.OVERFLOWN:
            self.tima, self.reload = self.tma, Reload.DONE
            self.interrupts.request(Interrupt.TIMER, late=True)
        if self.tac & 4:
            before = self.signal
            self.counter = (self.counter + M_CYCLE) & 0xFFFF
            self._count_edge(before)
        else:
            self.counter = (self.counter + M_CYCLE) & 0xFFFF

    def _count_edge(self, before: bool) -> None:
        """Count on if the signal was high and no longer is; on overflow wait a machine cycle."""
        if before and not self.signal:
            self.tima = (self.tima + 1) & 0xFF
            if self.tima == 0:
                self.reload = Reload.OVERFLOWN

    def write_div(self) -> None:
        """Clear the counter, whatever is written: the signal may fall."""
        before = self.signal
        self.counter = 0
        self._count_edge(before)

    def write_tac(self, value: int) -> None:
        """Connect another bit, or none: the signal may fall."""
        before = self.signal
        self.tac = value & 7
        self._count_edge(before)

    def write_tima(self, value: int) -> None:
        """Set TIMA, which cancels a reload that is due, and is lost to one that is happening."""
        if self.reload != Reload.DONE:
            self.tima, self.reload = value, Reload.NO

    def write_tma(self, value: int) -> None:
        """Set what TIMA is reloaded with, even while it is."""
        self.tma = value
        if self.reload == Reload.DONE:
            self.tima = value
