"""Keys (docs/gameboy.md, 10)."""

from fastenv.gameboy.reference.interrupts import Interrupts
from fastenv.gameboy.tables import Interrupt

PAD, BUTTONS = 0x10, 0x20  # bits of P1 that select a group when they are 0


class Joypad:
    """Eight keys in two groups on four lines, which are low for a pressed key."""

    def __init__(self, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        self.keys: int = 0
        self.select: int = 0
        self.stopped: bool = False  # STOP waits for a line to fall

    @property
    def lines(self) -> int:
        """The four lines, 1 where nothing pulls them down."""
        down = 0
        if not self.select & PAD:
            down |= self.keys & 0x0F
        if not self.select & BUTTONS:
            down |= self.keys >> 4
        return ~down & 0x0F

    def press(self, keys: int) -> None:
        """Set which keys are pressed."""
        before, self.keys = self.lines, keys
        self._fall(before)

    def write(self, value: int) -> None:
        """Select groups."""
        before, self.select = self.lines, value & 0x30
        self._fall(before)

    def _fall(self, before: int) -> None:
        if before & ~self.lines:
            self.interrupts.request(Interrupt.JOYPAD)
            self.stopped = False
