"""The serial port, to which nothing is connected (docs/gameboy.md, 10)."""

from fastenv.gameboy.reference.interrupts import Interrupts
from fastenv.gameboy.tables import (
    M_CYCLE,
    SERIAL_BIT,
    SERIAL_KEPT,
    SERIAL_PHASE,
    SERIAL_TIME,
    Interrupt,
)

START = 0x81  # a transfer, timed by our own clock


class Serial:
    """Sends bytes to nobody, and remembers the first of them for tests."""

    sb: int
    sc: int

    def __init__(self, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        self.sb = self.sc = 0
        self.left: int = 0  # T until the transfer is over, 0 if there is none
        self.sent: bytearray = bytearray()
        self.count: int = 0

    def write_sc(self, value: int, counter: int) -> None:
        """Start a transfer, or give one up; with the other side's clock it never ends.

        Parameters
        ----------
        value : int
        counter : int
            That of the timer, whose bits clock the port as well.
        """
        self.sc = value & 0x81
        self.left = 0
        if self.sc == START:
            self.left = SERIAL_TIME - counter % SERIAL_PHASE
            self.count += 1
            if len(self.sent) < SERIAL_KEPT:
                self.sent.append(self.sb)

    def tick(self) -> None:
        """Let a machine cycle pass."""
        if self.left:
            self.left -= M_CYCLE
            if self.left % SERIAL_BIT == 0:
                self.sb = (self.sb << 1 | 1) & 0xFF
            if not self.left:
                self.sc &= 0x7F
                self.interrupts.request(Interrupt.SERIAL, late=True)
