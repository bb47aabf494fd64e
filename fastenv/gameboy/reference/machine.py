"""A whole Game Boy (docs/gameboy.md, 12 and 13)."""

from __future__ import annotations

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.reference.bus import Bus
from fastenv.gameboy.reference.cpu import Cpu
from fastenv.gameboy.reference.ppu import VBLANK
from fastenv.gameboy.tables import DIV_AT_POWER_UP, IO, M_CYCLE, POWER_UP


class Machine:
    """A Game Boy with a cartridge, turned on, as its boot program leaves it.

    Parameters
    ----------
    cartridge : Cartridge

    Attributes
    ----------
    cpu, bus, ppu
        Its parts; the others belong to the bus.
    """

    def __init__(self, cartridge: Cartridge) -> None:
        self.cartridge = cartridge
        self.bus = Bus(cartridge)
        self.cpu = Cpu(self.bus)
        self.ppu = self.bus.ppu
        self._power_up()

    def _power_up(self) -> None:
        cpu, ppu, bus = self.cpu, self.ppu, self.bus
        cpu.af, cpu.bc, cpu.de, cpu.hl = 0x01B0, 0x0013, 0x00D8, 0x014D
        if self.cartridge.checksum == 0:
            cpu.f = 0x80
        cpu.sp, cpu.pc = 0xFFFE, 0x0100
        bus.timer.counter = DIV_AT_POWER_UP
        bus.sound[:] = bytes(POWER_UP.get(low, 0) for low in range(IO.NR10, IO.LCDC))
        bus.dma = POWER_UP[IO.DMA]
        bus.interrupts.requested = POWER_UP[IO.IF]
        ppu.lcdc = POWER_UP[IO.LCDC]
        ppu.bgp, ppu.obp0, ppu.obp1 = (POWER_UP[low] for low in (IO.BGP, IO.OBP0, IO.OBP1))
        ppu.dot, ppu.mode, ppu.lyc_match = -M_CYCLE, VBLANK, True

    def press(self, keys: int) -> None:
        """Set which keys are pressed: bits of :class:`fastenv.gameboy.tables.Key`."""
        self.bus.joypad.press(keys)

    def run_frame(self, draw: bool = True) -> None:
        """Run to the end of the frame, and of its last instruction (docs/gameboy.md, 13).

        Parameters
        ----------
        draw : bool
            Whether ``ppu.picture`` will be the picture of this frame; nothing else depends on it.
        """
        self.ppu.frame_done = False
        self.ppu.drawing = draw
        while not self.ppu.frame_done:
            self.cpu.step()
