"""Programs that switch banks of ROM and RAM, for every cartridge that is emulated."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from fastenv.gameboy.cartridge import RAM_SIZES, SUPPORTED, WITH_RAM, Cartridge
from fastenv.gameboy.tables import Mbc
from tools.gameboy.machines import SEVERAL, START, Patch, build

OPEN = bytes.fromhex("3e 0a ea 00 00")  # the RAM
_NUMBER = 0x3FF0  # where every bank of ROM holds its number
# Sizes of ROM, in banks, that a controller can reach.
_BANKS = {
    Mbc.NONE: (2,),
    Mbc.MBC1: (2, 8, 32, 64, 128),
    Mbc.MBC2: (2, 4, 16),
    Mbc.MBC3: (2, 8, 128, 256),
    Mbc.MBC5: (2, 8, 128, 512),
}
_MANY_GAMES = 64  # banks
# Each type with each size of RAM that makes a difference to it: codes of the header.
CARTRIDGES = [
    (kind, ram) for kind in SUPPORTED for ram in ((0, *RAM_SIZES) if kind in WITH_RAM else (0,))
]


def access(rng: Random) -> bytes:
    """Return the code of a write to the controller or RAM, or of a read that is kept at DE."""
    kept = b"\x12\x1c"
    match rng.randrange(6):
        case 0:
            address = rng.choice([0x0000, 0x0100, 0x2000, 0x2100, 0x3000, 0x4000, 0x6000])
            address += rng.choice([0, 0, rng.randrange(0x2000)])
            value = rng.choice([0, 1, 2, 3, 0x0A, 0x10, rng.randrange(256)])
            return bytes((0x3E, value, 0xEA, address & 0xFF, address >> 8))
        case 1:
            return OPEN
        case 2:
            address = rng.choice([0x3FF0, 0x3FF1, 0x7FF0, 0x7FF1])
            return bytes((0xFA, address & 0xFF, address >> 8)) + kept
        case 3 | 4:
            address = 0xA000 + rng.choice([0, 0x200, 0x800, 0x1E00]) + rng.randrange(4)
            return bytes((0x3E, rng.randrange(256), 0xEA, address & 0xFF, address >> 8))
    address = rng.choice([rng.randrange(0xA000, 0xC000), 0xA000, 0xA201, 0xA802, 0xBE03])
    return bytes((0xFA, address & 0xFF, address >> 8)) + kept


def banking_cartridge(
    rng: Random, *, kind: int, ram: int, banks: int = 2, patches: Sequence[Patch] = ()
) -> Cartridge:
    """Return a cartridge with the same program in every bank, whichever of them is seen.

    Parameters
    ----------
    rng : Random
    kind, ram, banks, patches
        As of :func:`tools.gameboy.machines.build`.
    """
    program = b"\x11\x00\xd0" + OPEN
    program += b"".join(access(rng) for _ in range(80)) + b"\xc3\x53\x01"
    everywhere = [(bank * 0x4000 + START, program) for bank in range(banks)]
    numbers = [(bank * 0x4000 + _NUMBER, bank.to_bytes(2, "little")) for bank in range(banks)]
    return build(
        program, kind=kind, ram=ram, banks=banks, patches=[*everywhere, *numbers, *patches]
    )


def numbered_cartridge(rng: Random, number: int) -> Cartridge:
    """Return a cartridge; numbers that follow each other go through all types and sizes of RAM."""
    kind, ram = CARTRIDGES[number % len(CARTRIDGES)]
    banks = rng.choice(_BANKS[SUPPORTED[kind]])
    several = SUPPORTED[kind] == Mbc.MBC1 and banks == _MANY_GAMES and rng.random() < 0.5
    patches = SEVERAL if several else ()
    return banking_cartridge(rng, kind=kind, ram=ram, banks=banks, patches=patches)
