"""What the processor sees: memory, registers, and time (docs/gameboy.md, 3 and 5.5)."""

from __future__ import annotations

from collections.abc import Callable

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.reference.apu import Apu
from fastenv.gameboy.reference.cart import Cart
from fastenv.gameboy.reference.interrupts import Interrupts
from fastenv.gameboy.reference.joypad import Joypad
from fastenv.gameboy.reference.oam_bug import (
    is_spoiling,
    spoil_by_counted_read,
    spoil_by_read,
    spoil_by_write,
)
from fastenv.gameboy.reference.ppu import Ppu
from fastenv.gameboy.reference.serial import Serial
from fastenv.gameboy.reference.timer import Timer
from fastenv.gameboy.tables import (
    CART_RAM,
    DMA_BLOCKS,
    DMA_BYTES,
    DMA_TIME,
    ECHO,
    HIGH,
    HRAM,
    IO,
    M_CYCLE,
    OAM,
    READ_ONES,
    UNUSABLE,
    VRAM,
    WRAM,
)


class Bus:
    """All parts but the processor. An access takes one machine cycle, and so does :meth:`tick`.

    An access sees everything as it is at the beginning of its cycle.
    """

    def __init__(self, cartridge: Cartridge) -> None:
        self.interrupts: Interrupts = Interrupts()
        self.timer: Timer = Timer(self.interrupts)
        self.joypad: Joypad = Joypad(self.interrupts)
        self.serial: Serial = Serial(self.interrupts)
        self.apu: Apu = Apu()
        self.ppu: Ppu = Ppu(self.interrupts)
        self.cart: Cart = Cart(cartridge)
        self.wram: bytearray = bytearray(0x2000)
        self.hram: bytearray = bytearray(0x7F)
        self.dma: int = 0  # the register
        self.dma_left: int = 0  # T until all is copied, 0 if there is no transfer
        self.dma_byte: int | None = None  # the one that is on the bus
        self.cyc: int = 0
        self.watch: Callable[[int], None] | None = None  # told of each byte that was written

    def tick(self) -> None:
        """Let a machine cycle pass."""
        self.cyc += M_CYCLE
        self.interrupts.late = 0
        self.timer.tick()
        if self.apu.mixer is not None:
            self.apu.mixer.tick(self.cyc)
        self.apu.tick(self.timer.counter)
        self.ppu.tick()
        self.serial.tick(self.timer.counter, self.cyc)
        if self.cart.clock is not None:
            self.cart.clock.tick()
        if self.dma_left:
            self._tick_dma()

    def read(self, address: int, counted: bool = False) -> int:
        """Return a byte; a machine cycle passes.

        Parameters
        ----------
        address : int
        counted : bool
            Whether the register that holds the address is counted up or down meanwhile.
        """
        value = self._read(address)
        if is_spoiling(address):
            spoil_by_counted_read(self.ppu) if counted else spoil_by_read(self.ppu)
        self.tick()
        return value

    def write(self, address: int, value: int) -> None:
        """Store a byte; a machine cycle passes."""
        self._write(address, value)
        if self.watch is not None:
            self.watch(address)
        self.count(address)

    def count(self, address: int) -> None:
        """Let a machine cycle pass in which a register that holds an address is counted."""
        if is_spoiling(address):
            spoil_by_write(self.ppu)
        self.tick()

    # -- memory --

    def _read(self, address: int) -> int:
        if self._conflicts(address):
            return self.ppu.oam[self.dma_byte or 0]
        if VRAM <= address < CART_RAM and self.ppu.vram_hidden:
            return 0xFF
        if address < OAM:
            return self.read_memory(address)
        if address < HIGH:
            if self.ppu.oam_hidden or self.dma_byte is not None:
                return 0xFF
            return self.ppu.oam[address - OAM] if address < UNUSABLE else 0
        return self._read_high(address & 0xFF)

    def read_memory(self, address: int) -> int:
        """Return a byte below $FE00, whatever the display is doing."""
        if address < VRAM:
            return self.cart.read_rom(address)
        if address < CART_RAM:
            return self.ppu.vram[address - VRAM]
        if address < WRAM:
            return self.cart.read_ram(address)
        return self.wram[address % 0x2000]

    def _write(self, address: int, value: int) -> None:
        if self._conflicts(address):
            self._write_into_dma(value)
        elif address < VRAM:
            self.cart.write_rom(address, value)
        elif address < CART_RAM:
            if not self.ppu.vram_closed:
                self.ppu.vram[address - VRAM] = value
        elif address < WRAM:
            self.cart.write_ram(address, value)
        elif address < OAM:
            self.wram[address % 0x2000] = value
        elif address < UNUSABLE:
            if not self.ppu.oam_closed and self.dma_byte is None:
                self.ppu.oam[address - OAM] = value
        elif address >= HIGH:
            self._write_high(address & 0xFF, value)

    # -- page $FF --

    def _read_high(self, low: int) -> int:
        if low == IO.IE:
            return self.interrupts.enabled
        if low >= HRAM & 0xFF:
            return self.hram[low - 0x80]
        return self._read_register(low) | READ_ONES[low]

    def read_between(self, low: int) -> int:
        """Return a byte of page $FF between two frames, as somebody beside the program sees it.

        The bytes of the wave are seen while it plays, and nothing is waited for.
        """
        if low == IO.SB:
            return self.serial.sb
        if IO.WAVE <= low < IO.LCDC:
            return self.apu.registers[low - IO.NR10]
        return self._read_high(low)

    def _read_register(self, low: int) -> int:  # noqa: C901
        ppu, timer = self.ppu, self.timer
        match low:
            case IO.P1:
                return self.joypad.select | self.joypad.lines
            case IO.SB:
                return self.serial.read_sb()
            case IO.SC:
                return self.serial.sc
            case IO.DIV:
                return timer.counter >> 8
            case IO.TIMA:
                return timer.tima
            case IO.TMA:
                return timer.tma
            case IO.TAC:
                return timer.tac
            case IO.IF:
                return self.interrupts.requested
            case IO.LCDC:
                return ppu.lcdc
            case IO.STAT:
                return ppu.read_stat()
            case IO.LY:
                return ppu.ly
            case IO.DMA:
                return self.dma
            case IO.SCY | IO.SCX | IO.LYC | IO.BGP | IO.OBP0 | IO.OBP1 | IO.WY | IO.WX:
                value: int = getattr(ppu, IO(low).name.lower())
                return value
        return self.apu.read(low) if IO.NR10 <= low < IO.LCDC else 0

    def _write_high(self, low: int, value: int) -> None:  # noqa: C901
        ppu, timer = self.ppu, self.timer
        match low:
            case IO.P1:
                self.joypad.write(value)
            case IO.SB:
                self.serial.write_sb(value)
            case IO.SC:
                self.serial.write_sc(value)
            case IO.DIV:
                self.clear_div()
            case IO.TIMA:
                timer.write_tima(value)
            case IO.TMA:
                timer.write_tma(value)
            case IO.TAC:
                timer.write_tac(value)
            case IO.IF:
                self.interrupts.requested = value & 0x1F
            case IO.IE:
                self.interrupts.enabled = value
            case IO.LCDC:
                ppu.write_lcdc(value)
            case IO.STAT:
                ppu.write_stat(value)
            case IO.LYC:
                ppu.write_lyc(value)
            case IO.DMA:
                self._start_dma(value)
            case IO.SCY | IO.SCX | IO.BGP | IO.OBP0 | IO.OBP1 | IO.WY | IO.WX:
                ppu.write_register(IO(low), value)
            case _ if low >= HRAM & 0xFF:
                self.hram[low - 0x80] = value
            case _ if IO.NR10 <= low < IO.LCDC:
                self.apu.write(low, value, timer.counter)

    def clear_div(self) -> None:
        """Clear the counter of the timer, which clocks sound and serial port as well."""
        self.timer.write_div()
        self.apu.watch(self.timer.counter)
        self.serial.watch(self.timer.counter, self.cyc)

    # -- OAM DMA (docs/gameboy.md, 9) --

    def _start_dma(self, value: int) -> None:
        self.dma = value
        self.dma_left = DMA_TIME  # a transfer that is under way goes on until this one begins

    def _tick_dma(self) -> None:
        """Copy the next byte."""
        self.dma_left -= M_CYCLE
        if self.dma_left == DMA_BLOCKS:
            self.dma_byte = 0
        elif self.dma_byte is not None:
            self.dma_byte += 1
            if self.dma_byte == DMA_BYTES:
                self.dma_byte = None
        self.ppu.oam_taken = self.dma_byte is not None
        if self.dma_byte is not None:
            source = self.dma << 8
            if source >= ECHO:
                source -= 0x2000
            self.ppu.oam[self.dma_byte] = self.read_memory(source + self.dma_byte)

    def _conflicts(self, address: int) -> bool:
        """Whether a transfer has the bus of an address: that of VRAM, or the other one."""
        if self.dma_byte is None or address >= OAM:
            return False
        return (VRAM <= address < CART_RAM) == (VRAM <= self.dma << 8 < CART_RAM)

    def _write_into_dma(self, value: int) -> None:
        """Write to a bus that a transfer has: it is its byte that changes."""
        byte = self.dma_byte or 0
        self.ppu.oam[byte] = value & self.ppu.oam[byte] if self.dma << 8 >= WRAM else value
