"""Bank controllers (docs/gameboy.md, 11)."""

from fastenv.gameboy.cartridge import Cartridge
from fastenv.gameboy.reference.clock import Clock
from fastenv.gameboy.tables import CLOCK_MASKS, FIRST_CLOCK_BANK, RAM_BANK, ROM_BANK, Mbc

# How many bits of an MBC1's first register count, below the two of the second one.
MBC1_BITS = {Mbc.MBC1: 5, Mbc.MBC1M: 4}
# Which bits of the bank of ROM an MBC3 has.
MBC3_BITS = {Mbc.MBC3: 0x7F, Mbc.MBC30: 0xFF}
BATTERY_KEY = 0x0A  # in the low half of a byte, it opens the RAM


class Cart:
    """A ROM, its RAM, and the registers that say which banks of them are seen."""

    ram: bytearray
    ram_bits: int

    def __init__(self, cartridge: Cartridge) -> None:
        self.cartridge = cartridge
        self.mbc: Mbc = cartridge.mbc
        self.ram, self.ram_bits = bytearray(cartridge.ram_size), cartridge.ram_bits
        self.rom_bank = 0 if self.mbc == Mbc.NONE else 1
        self.ram_bank: int = 0
        self.bank_mode: int = 0
        self.ram_enable: int = 0
        self.clock: Clock | None = Clock() if cartridge.has_clock else None

    # -- what is read --

    @property
    def low_bank(self) -> int:
        """The bank of ROM at $0000."""
        if self.mbc in MBC1_BITS and self.bank_mode:
            return self.ram_bank << MBC1_BITS[self.mbc]
        return 0

    @property
    def high_bank(self) -> int:
        """The bank of ROM at $4000."""
        if self.mbc == Mbc.NONE:
            return 1
        if self.mbc in MBC1_BITS:
            bits = MBC1_BITS[self.mbc]
            return self.ram_bank << bits | self.rom_bank % (1 << bits)
        return self.rom_bank

    @property
    def last_ram_bank(self) -> int:
        """The last bank that shows RAM; those behind it show none."""
        if self.mbc not in MBC3_BITS:
            return 15
        return 3 if self.mbc == Mbc.MBC3 and self.clock is not None else 7

    def place_in_ram(self, address: int) -> int | None:
        """Where in the RAM an address of $A000 to $BFFF is, or None if no RAM is seen there."""
        size, bank = self.cartridge.ram_size, self.ram_bank
        if not size:
            return None
        if self.mbc == Mbc.NONE:
            bank = 0
        elif not self.ram_enable or bank > self.last_ram_bank:
            return None
        elif self.mbc in MBC1_BITS and not self.bank_mode:
            bank = 0
        return (bank * RAM_BANK + address % RAM_BANK) % size  # RAM below 8 KiB is seen repeatedly

    @property
    def clock_register(self) -> int | None:
        """The register of the clock that is seen at $A000, if one is."""
        which = self.ram_bank - FIRST_CLOCK_BANK
        if self.clock is None or not self.ram_enable or not 0 <= which < len(CLOCK_MASKS):
            return None
        return which

    def read_rom(self, address: int) -> int:
        """Return a byte of $0000 to $7FFF."""
        return self.cartridge.rom[self.place_in_rom(address)]

    def place_in_rom(self, address: int) -> int:
        """Where in the ROM an address of $0000 to $7FFF is."""
        bank = self.low_bank if address < ROM_BANK else self.high_bank
        return bank % self.cartridge.rom_banks * ROM_BANK + address % ROM_BANK

    def read_ram(self, address: int) -> int:
        """Return a byte of $A000 to $BFFF."""
        which, place = self.clock_register, self.place_in_ram(address)
        if self.clock is not None and which is not None:
            return self.clock.latched[which]
        return 0xFF if place is None else self.ram[place] | ~self.ram_bits & 0xFF

    # -- what is written --

    def write_ram(self, address: int, value: int) -> None:
        """Store a byte, if there is RAM to hold it, or a register of the clock."""
        which, place = self.clock_register, self.place_in_ram(address)
        if self.clock is not None and which is not None:
            self.clock.write(which, value)
        if place is not None:
            self.ram[place] = value & self.ram_bits

    def write_rom(self, address: int, value: int) -> None:
        """Write a register of the bank controller, at $0000 to $7FFF."""
        if self.mbc in MBC1_BITS:
            self._write_mbc1(address >> 13, value)
        elif self.mbc == Mbc.MBC2:
            self._write_mbc2(address, value)
        elif self.mbc in MBC3_BITS:
            self._write_mbc3(address >> 13, value)
        elif self.mbc == Mbc.MBC5:
            self._write_mbc5(address >> 12, value)

    def _enable(self, value: int) -> None:
        self.ram_enable = int(value & 0x0F == BATTERY_KEY)

    def _write_mbc1(self, register: int, value: int) -> None:
        if register == 0:
            self._enable(value)
        elif register == 1:
            self.rom_bank = value & 0x1F or 1
        elif register == 2:
            self.ram_bank = value & 3
        else:
            self.bank_mode = value & 1

    def _write_mbc2(self, address: int, value: int) -> None:
        if address < ROM_BANK and address & 0x100:
            self.rom_bank = value & 0x0F or 1
        elif address < ROM_BANK:
            self._enable(value)

    def _write_mbc3(self, register: int, value: int) -> None:
        if register == 0:
            self._enable(value)
        elif register == 1:
            self.rom_bank = value & MBC3_BITS[self.mbc] or 1
        elif register == 2:
            self.ram_bank = value & 0x0F
        elif self.clock is not None:
            self.clock.latch()

    def _write_mbc5(self, register: int, value: int) -> None:
        if register in (0, 1):
            self._enable(value)
        elif register == 2:
            self.rom_bank = self.rom_bank & 0x100 | value
        elif register == 3:
            self.rom_bank = self.rom_bank & 0xFF | (value & 1) << 8
        elif register in (4, 5):
            self.ram_bank = value & 0x0F
