"""The serial port (docs/gameboy.md, 10 and 22)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fastenv.gameboy.reference.interrupts import Interrupts
from fastenv.gameboy.tables import SERIAL_BITS, SERIAL_KEPT, SERIAL_PHASE, Interrupt

CLOCKING = 0x81  # a transfer, timed by our own clock
LISTENING = 0x80  # and by that of the other side
CLOCK = SERIAL_PHASE // 2  # the bit of the timer's counter whose falls clock the port


class Edge(NamedTuple):
    """A bit that leaves the side whose clock runs."""

    time: int  # T
    bit: int


class Serial:
    """A shift register of eight bits, clocked by the timer's counter, or by the other side.

    Every second fall of bit 7 of the counter shifts a bit. Without a cable 1s come in.

    Attributes
    ----------
    sb, sc : int
        The registers.
    bits : int
        Of the transfer, those that are still to be shifted; 0 without one.
    half : bool
        Whether the first of the two falls of a bit has been.
    other : Serial or None
        The port at the other end of the cable.
    asks : Edge or None
        A bit that left, and for which the other side's has not come yet.
    edge : Edge or None
        One that left the other side, and is still to be taken.
    listens_from : int or None
        When we began to listen; None until the instruction is over that began it.
    """

    sb: int
    sc: int
    half: bool
    high: bool

    def __init__(self, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        self.sb = self.sc = 0
        self.bits: int = 0
        self.half = self.high = False
        self.sent: bytearray = bytearray()
        self.count: int = 0
        self.other: Serial | None = None
        self.asks: Edge | None = None
        self.edge: Edge | None = None
        self.listens_from: int | None = 0
        self.unheard: bool = False  # whether the lowest bit of SB is the one that has not come yet
        self.catch_up: Callable[[], None] = lambda: None  # lets the other side come to our edge

    def read_sb(self) -> int:
        """Return the register, with all bits that have come by now."""
        self._wait_for_answer()
        return self.sb

    def write_sb(self, value: int) -> None:
        """Set the register, whatever is on its way."""
        self.sb, self.unheard = value, False

    def write_sc(self, value: int) -> None:
        """Start a transfer, or give one up."""
        self._wait_for_answer()
        self.sc = value & 0x81
        self.bits = SERIAL_BITS if self.sc & LISTENING else 0
        self.half, self.listens_from = False, None
        if self.sc == CLOCKING:
            self.count += 1
            if len(self.sent) < SERIAL_KEPT:
                self.sent.append(self.sb)

    def tick(self, counter: int, time: int) -> None:
        """Let a machine cycle pass.

        Parameters
        ----------
        counter : int
            That of the timer, after it.
        time : int
            T at its end.
        """
        self.watch(counter, time, late=True)
        self.take(time)

    def watch(self, counter: int, time: int, late: bool = False) -> None:
        """Look at the counter of the timer, which has counted on or was cleared."""
        before, self.high = self.high, bool(counter & CLOCK)
        if before and not self.high and self.sc == CLOCKING:
            self.half = not self.half
            if not self.half:
                self._send(time, late)

    def _send(self, time: int, late: bool) -> None:
        """Shift a bit out. The one that comes in is known when the other side is as far."""
        bit = self._shift(1, late)
        if self.other is not None:
            self.asks, self.unheard = Edge(time, bit), True

    def _shift(self, bit: int, late: bool) -> int:
        """Shift a bit in and return the one that goes out; the last one ends the transfer."""
        out = self.sb >> 7
        self.sb = (self.sb << 1 | bit) & 0xFF
        self.bits -= 1
        if not self.bits:
            self.sc &= 0x7F
            self.interrupts.request(Interrupt.SERIAL, late=late)
        return out

    # -- the cable (docs/gameboy.md, 22) --

    def settle(self, time: int) -> None:
        """Note the end of an instruction: what it turned on listens from now on."""
        if self.listens_from is None:
            self.listens_from = time

    def take(self, time: int) -> None:
        """Take the other side's bit if it has left by now, and answer with one of ours.

        The answer is 1 from a port that does not listen.
        """
        edge, answer = self.edge, 1
        if edge is None or edge.time > time:
            return
        self.edge = None
        begun = self.listens_from
        if self.sc == LISTENING and begun is not None and begun < edge.time:
            answer = self._shift(edge.bit, late=edge.time == time)
        assert self.other is not None
        self.other.hear(answer)

    def _wait_for_answer(self) -> None:
        if self.asks is not None:
            self.catch_up()

    def hear(self, bit: int) -> None:
        """Put the bit that came in into SB."""
        self.asks = None
        if self.unheard:
            self.sb = self.sb & 0xFE | bit
        self.unheard = False
