"""Cartridges: what a ROM's header says of it (docs/gameboy.md, 11)."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path

from fastenv.errors import ConfigError
from fastenv.files import read_regular, show_path
from fastenv.gameboy.tables import RAM_BANK, ROM_BANK, Mbc

_HEADER_END = 0x150
_TITLE, _COLOUR, _TYPE = slice(0x134, 0x143), 0x143, 0x147
_ROM_SIZE, _RAM_SIZE, _CHECKSUM = 0x148, 0x149, 0x14D
SUPPORTED = {  # types by the header's code
    0x00: Mbc.NONE, 0x08: Mbc.NONE, 0x09: Mbc.NONE,
    0x01: Mbc.MBC1, 0x02: Mbc.MBC1, 0x03: Mbc.MBC1, 0x05: Mbc.MBC2, 0x06: Mbc.MBC2,
    0x0F: Mbc.MBC3, 0x10: Mbc.MBC3, 0x11: Mbc.MBC3, 0x12: Mbc.MBC3, 0x13: Mbc.MBC3,
    0x19: Mbc.MBC5, 0x1A: Mbc.MBC5, 0x1B: Mbc.MBC5, 0x1C: Mbc.MBC5, 0x1D: Mbc.MBC5, 0x1E: Mbc.MBC5,
}  # fmt: skip
WITH_RAM = (0x02, 0x03, 0x08, 0x09, 0x10, 0x12, 0x13, 0x1A, 0x1B, 0x1D, 0x1E)
_WITH_CLOCK = (0x0F, 0x10)
_WITH_BATTERY = (0x03, 0x06, 0x09, 0x0F, 0x10, 0x13, 0x1B, 0x1E)
RAM_SIZES = {1: 0x800, 2: 0x2000, 3: 0x8000, 4: 0x20000, 5: 0x10000}  # by the header's code
_MBC2_RAM = 512  # in the controller itself, whatever the header says
_COLOUR_ALONE = 0xC0  # $80 is for both machines
_MOST_ROM = 512 * ROM_BANK
LOGO = slice(0x104, 0x134)
_MULTICART, _NEXT_GAME = 64, 16  # banks of a cartridge of several games, of each
# Banks of ROM and of RAM that a controller reaches. An MBC3 that reaches more is an MBC30.
_REACH = {
    Mbc.NONE: (2, 1), Mbc.MBC1: (128, 4), Mbc.MBC1M: (64, 4), Mbc.MBC2: (16, 1),
    Mbc.MBC3: (128, 4), Mbc.MBC30: (256, 8), Mbc.MBC5: (512, 16),
}  # fmt: skip


class UnsupportedCartridgeError(ConfigError):
    """A cartridge of a type that is not emulated, or for a machine that is not."""


@dataclass(frozen=True)
class Cartridge:
    """A ROM and what its header says.

    Attributes
    ----------
    rom : bytes
        Padded with $FF to a power of two of banks, at least two.
    mbc : Mbc
    ram_size : int
        Bytes of RAM, a power of two or 0.
    title : str
    sha1, sha256 : str
        Of the ROM as it was given; disassemblies name ROMs by the first.
    checksum : int
        The header's, which decides two flags at power-up.
    has_clock : bool
    has_battery : bool
        Whether RAM and clock outlast the machine.
    """

    rom: bytes
    mbc: Mbc
    ram_size: int
    title: str
    sha1: str
    sha256: str
    checksum: int
    has_clock: bool = False
    has_battery: bool = False

    @property
    def rom_banks(self) -> int:
        """Number of banks of 16 KiB."""
        return len(self.rom) // ROM_BANK

    @property
    def ram_bits(self) -> int:
        """Which bits a byte of RAM has; the others read as 1, and are 0 in rows."""
        return 0x0F if self.mbc == Mbc.MBC2 else 0xFF


def load_cartridge(path: str | Path) -> Cartridge:
    """Return the cartridge of a ROM file; see :func:`read_cartridge`.

    Raises
    ------
    FileError
        If it cannot be read, or is longer than any cartridge.
    """
    return read_cartridge(read_regular(path, _MOST_ROM), show_path(path))


def read_cartridge(rom: bytes, name: str = "ROM") -> Cartridge:
    """Return the cartridge of a ROM.

    Parameters
    ----------
    rom : bytes
    name : str
        What messages call it.

    Raises
    ------
    UnsupportedCartridgeError
        If its header names a type that is not emulated, or the colour machine alone.
    ConfigError
        If it is shorter than its header, or longer than any cartridge.

    Warns
    -----
    UserWarning
        If the header's checksum is wrong: a console would not start it. If there are fewer bytes
        than the header says: the rest is $FF. If there is ROM or RAM that no program can reach
        with this type of cartridge.
    """
    if not _HEADER_END <= len(rom) <= _MOST_ROM:
        raise ConfigError(
            f"{name}: {len(rom)} bytes; a ROM has at least {_HEADER_END}, those of its header, and "
            f"at most {_MOST_ROM}"
        )
    _check(rom, name)
    banks = max(2, -(-len(rom) // ROM_BANK))
    banks = 1 << (banks - 1).bit_length()
    padded = rom.ljust(banks * ROM_BANK, b"\xff")
    mbc, ram_size = _controller(padded), _ram_size(rom)
    _warn(rom, name, mbc, ram_size)
    return Cartridge(
        rom=padded,
        mbc=mbc,
        ram_size=ram_size,
        title=rom[_TITLE].split(b"\0")[0].decode("ascii", "replace"),
        sha1=hashlib.sha1(rom, usedforsecurity=False).hexdigest(),
        sha256=hashlib.sha256(rom).hexdigest(),
        checksum=rom[_CHECKSUM],
        has_clock=rom[_TYPE] in _WITH_CLOCK,
        has_battery=rom[_TYPE] in _WITH_BATTERY,
    )


def _check(rom: bytes, name: str) -> None:
    """Refuse what is not emulated."""
    kind = rom[_TYPE]
    if kind not in SUPPORTED:
        known = ", ".join(f"${code:02X}" for code in SUPPORTED)
        raise UnsupportedCartridgeError(
            f"{name}: cartridge type ${kind:02X} at $0147 is not emulated, only {known}"
        )
    if rom[_COLOUR] == _COLOUR_ALONE:
        raise UnsupportedCartridgeError(
            f"{name}: $0143 is ${_COLOUR_ALONE:02X}, a program for the colour machine alone, which "
            "is not emulated; any other value is allowed, such as $80 for both machines"
        )


def _warn(rom: bytes, name: str, mbc: Mbc, ram_size: int) -> None:
    """Warn of what a console would not start, of what is missing and of what is out of reach."""
    checksum = sum(0xFF - byte for byte in rom[0x134:_CHECKSUM]) & 0xFF
    if checksum != rom[_CHECKSUM]:
        warnings.warn(
            f"{name}: header checksum at $014D is ${rom[_CHECKSUM]:02X}, should be "
            f"${checksum:02X}: a console would not start it",
            stacklevel=3,
        )
    size = 2 * ROM_BANK << rom[_ROM_SIZE]
    if len(rom) < size <= _MOST_ROM:
        warnings.warn(
            f"{name}: {len(rom)} bytes, its header at $0148 says {size}: it is cut short",
            stacklevel=3,
        )
    for what, length, bank, banks in zip(
        ("ROM", "RAM"), (len(rom), ram_size), (ROM_BANK, RAM_BANK), _REACH[mbc], strict=True
    ):
        if length > bank * banks:
            warnings.warn(
                f"{name}: {length:,} bytes of {what}, of which type ${rom[_TYPE]:02X} at $0147 "
                f"reaches the first {bank * banks:,}: programs never see the rest",
                stacklevel=3,
            )


def _controller(rom: bytes) -> Mbc:
    """Return the bank controller of a ROM, which was filled up.

    The header does not tell how an MBC1 is wired. A cartridge of several games has 1 MiB, and
    begins its second game as the first: with the logo, which a console looks for. A logo that is
    one byte again and again is none. Nor does it tell an MBC30 from an MBC3: one that has more ROM
    or RAM than an MBC3 reaches is one.
    """
    mbc = SUPPORTED[rom[_TYPE]]
    if mbc == Mbc.MBC3:
        banks, ram_banks = _REACH[mbc]
        more = len(rom) > banks * ROM_BANK or _ram_size(rom) > ram_banks * RAM_BANK
        return Mbc.MBC30 if more else mbc
    logo, again = rom[LOGO], rom[_NEXT_GAME * ROM_BANK :][LOGO]
    several = len(rom) == _MULTICART * ROM_BANK and logo == again and len(set(logo)) > 1
    return Mbc.MBC1M if mbc == Mbc.MBC1 and several else mbc


def _ram_size(rom: bytes) -> int:
    """Return how many bytes of RAM a cartridge has."""
    if SUPPORTED[rom[_TYPE]] == Mbc.MBC2:
        return _MBC2_RAM
    return RAM_SIZES.get(rom[_RAM_SIZE], 0) if rom[_TYPE] in WITH_RAM else 0
