"""Two machines on a cable (docs/gameboy.md, 22)."""

from __future__ import annotations

from functools import partial

from fastenv.gameboy.reference.machine import Machine
from fastenv.gameboy.reference.ppu import BLANK
from fastenv.gameboy.reference.serial import CLOCKING, LISTENING
from fastenv.gameboy.tables import FRAME, LONGEST_STEP


class Link:
    """Two machines that run side by side, an instruction of one and then one of the other.

    Each goes by its own clock, and both clocks began together. A bit leaves the side whose clock
    runs, and the other side takes it at the same time of its own clock. So that it is not beyond
    that time already, a side that listens stays behind.

    Parameters
    ----------
    machines : (Machine, Machine)
        With frames of fixed length, both in the same frame.
    """

    def __init__(self, machines: tuple[Machine, Machine]) -> None:
        self.machines = machines
        self.amid = [False, False]  # whether a side waits amid an instruction
        self.ports = [machine.bus.serial for machine in machines]
        for side, port in enumerate(self.ports):
            port.other = self.ports[1 - side]
            port.catch_up = partial(self._catch_up, side)

    def run_frame(self, draw: bool = True) -> None:
        """Run both to the end of the frame, each to its first instruction that ends behind it.

        Parameters
        ----------
        draw : bool
            Whether the pictures will be those of this frame; nothing else depends on it.
        """
        end = (self.machines[0].bus.cyc // FRAME + 1) * FRAME
        for machine in self.machines:
            machine.ppu.drawing = draw
            machine.bus.serial.listens_from = 0
            if draw:
                machine.ppu.picture[:] = BLANK
        while True:
            able = [side for side in (0, 1) if self._may_step(side, end)]
            if not able:
                return
            side = min(able, key=lambda side: self.machines[side].bus.cyc)
            self._step(side)

    def _step(self, side: int) -> None:
        machine = self.machines[side]
        machine.cpu.step()
        self.ports[side].settle(machine.bus.cyc)
        self._exchange(side)

    def _catch_up(self, side: int) -> None:
        """Let the other side step until it has answered: an instruction needs the bit.

        If the other side waits in the same way, none of the two listens, and the answer is 1.
        """
        self._exchange(side)
        asks = self.ports[side].asks
        if asks is not None and self.amid[1 - side]:
            self.ports[1 - side].take(asks.time)
        self.amid[side] = True
        while self.ports[side].asks is not None:
            self._step(1 - side)
        self.amid[side] = False

    def _may_step(self, side: int, end: int) -> bool:
        """Tell whether a side takes its next step before the other side's next one, or with it."""
        now, then = (self.machines[k].bus.cyc for k in (side, 1 - side))
        port, other = self.ports[side], self.ports[1 - side]
        if port.asks is not None:
            return False  # the bit that comes in is not known
        if port.edge is not None:
            return True  # the other side waits for ours
        if now >= end:
            return False
        if port.sc == LISTENING and other.sc == CLOCKING and then < end:
            return then >= now + LONGEST_STEP
        return True

    def _exchange(self, side: int) -> None:
        """Send the bit that left a side on its way. Who is there by then takes it at once."""
        asks, other = self.ports[side].asks, self.ports[1 - side]
        if asks is not None:
            other.edge = asks
            other.take(self.machines[1 - side].bus.cyc)
