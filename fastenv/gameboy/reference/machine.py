"""A whole Game Boy (docs/gameboy.md, 12 and 13)."""

from __future__ import annotations

from fastenv.gameboy.cartridge import LOGO, Cartridge
from fastenv.gameboy.reference.bus import Bus
from fastenv.gameboy.reference.cpu import Cpu
from fastenv.gameboy.reference.mixer import Mixer
from fastenv.gameboy.reference.ppu import BLANK, VBLANK, Ppu
from fastenv.gameboy.tables import (
    DIV_AT_POWER_UP,
    DOT_AT_POWER_UP,
    FRAME,
    IO,
    LENGTHS,
    POWER_UP,
)

WORD = 2**64 - 1

# What the boot program leaves in VRAM: the logo of the header in tiles 1 to 24, each of its bits
# four pixels, a sign behind it in tile 25, and both in the map from these places on.
_SIGN = bytes((0x3C, 0x42, 0xB9, 0xA5, 0xB9, 0xA5, 0x42, 0x3C))
_TILE = 16  # bytes
_FIRST_LINE, _SECOND_LINE = 0x1904, 0x1924
_LOGO_WIDTH = 12  # tiles


class Machine:
    """A Game Boy with a cartridge, turned on, as its boot program leaves it.

    Parameters
    ----------
    cartridge : Cartridge
    strict_video_access : bool
        Whether the display closes video memory to the processor (docs/gameboy.md, 5.5).
    fixed_frames : bool
        Whether frames end every 70,224 T, whatever the display does (docs/gameboy.md, 13).
    by_pixel : bool
        Whether writes in mode 3 change the line from their pixel on (docs/gameboy.md, 8.4).
    audio : bool
        Whether there are samples of the sound, with frames of fixed length (docs/gameboy.md, 10.2).

    Attributes
    ----------
    cpu, bus, ppu
        Its parts; the others belong to the bus.
    """

    def __init__(
        self,
        cartridge: Cartridge,
        strict_video_access: bool = True,
        fixed_frames: bool = False,
        by_pixel: bool = False,
        audio: bool = False,
    ) -> None:
        self.cartridge: Cartridge = cartridge
        self.fixed_frames: bool = fixed_frames
        self.bus: Bus = Bus(cartridge)
        self.cpu: Cpu = Cpu(self.bus)
        self.ppu: Ppu = self.bus.ppu
        self.ppu.strict, self.ppu.by_pixel = strict_video_access, by_pixel
        if audio:
            self.bus.apu.mixer = Mixer(self.bus.apu)
        self._power_up()

    def _power_up(self) -> None:
        cpu, ppu, bus = self.cpu, self.ppu, self.bus
        cpu.af, cpu.bc, cpu.de, cpu.hl = 0x01B0, 0x0013, 0x00D8, 0x014D
        if self.cartridge.checksum == 0:
            cpu.f = 0x80
        cpu.sp, cpu.pc = 0xFFFE, 0x0100
        bus.timer.counter = DIV_AT_POWER_UP
        bus.apu.registers[:] = bytes(POWER_UP.get(low, 0) for low in range(IO.NR10, IO.LCDC))
        bus.apu.lengths[0] = LENGTHS[0]
        bus.apu.watch(DIV_AT_POWER_UP)
        if bus.apu.mixer is not None:
            bus.apu.mixer.power_up()
        bus.serial.watch(DIV_AT_POWER_UP, bus.cyc)
        bus.dma = POWER_UP[IO.DMA]
        bus.interrupts.requested = POWER_UP[IO.IF]
        ppu.lcdc = POWER_UP[IO.LCDC]
        ppu.bgp, ppu.obp0, ppu.obp1 = (POWER_UP[low] for low in (IO.BGP, IO.OBP0, IO.OBP1))
        ppu.dot, ppu.mode, ppu.source, ppu.lyc_match = DOT_AT_POWER_UP, VBLANK, VBLANK, True
        self._draw_logo()

    def _draw_logo(self) -> None:
        """Draw what the boot program has shown; a cartridge without a logo has the sign alone."""
        vram, at = self.ppu.vram, _TILE
        for byte in self.cartridge.rom[LOGO]:
            for half in (byte >> 4, byte & 15):
                line = sum((half >> bit & 1) * 3 << 2 * bit for bit in range(4))
                vram[at] = vram[at + 2] = line
                at += 4
        vram[at : at + _TILE : 2] = _SIGN
        tiles = range(1, at // _TILE + 1)
        vram[_FIRST_LINE : _FIRST_LINE + _LOGO_WIDTH] = bytes(tiles[:_LOGO_WIDTH])
        vram[_FIRST_LINE + _LOGO_WIDTH] = tiles[-1]
        vram[_SECOND_LINE : _SECOND_LINE + _LOGO_WIDTH] = bytes(tiles[_LOGO_WIDTH:-1])

    def fill_memory(self, seed: int) -> None:
        """Fill all memory but VRAM, which the boot program has cleared (docs/gameboy.md, 18).

        The bytes of a console that was just turned on are any.

        Parameters
        ----------
        seed : int
            Of Marsaglia's xorshift of 64 bits, whose numbers are taken low bytes first.
        """
        bus, state = self.bus, seed or 1
        for memory in (self.ppu.oam, bus.hram, bus.wram, bus.cart.ram):
            for at in range(0, len(memory), 8):
                state ^= state << 13 & WORD
                state ^= state >> 7
                state ^= state << 17 & WORD
                word = state.to_bytes(8, "little")
                memory[at : at + 8] = word[: len(memory) - at]
        bus.cart.ram[:] = bytes(byte & bus.cart.ram_bits for byte in bus.cart.ram)

    @property
    def samples(self) -> list[int]:
        """Left and right of each sample of the last frame, where there are any."""
        mixer = self.bus.apu.mixer
        return [] if mixer is None else mixer.samples

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
        if self.bus.apu.mixer is not None:
            self.bus.apu.mixer.begin_frame()
        if self.fixed_frames:
            if draw:
                self.ppu.picture[:] = BLANK
            end = (self.bus.cyc // FRAME + 1) * FRAME
            while self.bus.cyc < end:
                self.cpu.step()
            return
        while not self.ppu.frame_done:
            self.cpu.step()
