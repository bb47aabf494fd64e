"""ROMs around a program, machines that begin anywhere, and the fields in which two rows differ."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastenv.gameboy.cartridge import Cartridge, read_cartridge
from fastenv.gameboy.position import pack, unpack
from fastenv.gameboy.reference import Machine

Array = np.ndarray[Any, Any]
Patch = tuple[int, bytes]  # address in the ROM, bytes that stand there

START = 0x150
EDGES = (0, 1, 7, 8, 9, 159, 160, 167, 168, 169, 255)  # columns of objects at the margins
VECTORS = (0x40, 0x48, 0x50, 0x58, 0x60)
HANDLER = bytes((0xF5, 0xF0, 0xFE, 0x3C, 0xE0, 0xFE, 0xF1, 0xD9))  # count in $FFFE
COUNTED = tuple((vector, HANDLER) for vector in VECTORS)  # patches: all interrupts are counted

LOGO = bytes(range(1, 0x31))  # what stands where a console looks for the logo; not that one
# Patches that make a cartridge of several games of an MBC1 with 64 banks.
SEVERAL = tuple((game * 0x40000 + 0x104, LOGO) for game in range(4))


def build(
    program: bytes,
    *,
    kind: int = 0x00,
    ram: int = 0,
    banks: int = 2,
    color: int = 0,
    fill: bytes = b"\0",
    patches: Sequence[Patch] = (),
) -> Cartridge:
    """Return the cartridge of a program at $0150.

    Parameters
    ----------
    program : bytes
    kind, ram, color : int
        Bytes of the header: type, code of the size of the RAM, colour.
    banks : int
        Of ROM, a power of two.
    fill : bytes
        What stands everywhere else, again and again.
    patches : sequence of (int, bytes)
        Address in the ROM and what stands there.
    """
    rom = bytearray((fill * (banks * 0x4000 // len(fill) + 1))[: banks * 0x4000])
    for address, code in ((0x100, b"\x00\xc3\x50\x01"), (START, bytes(program)), *patches):
        rom[address : address + len(code)] = code
    rom[0x143] = color
    rom[0x147], rom[0x148], rom[0x149] = kind, banks.bit_length() - 2, ram
    rom[0x14D] = sum(0xFF - byte for byte in rom[0x134:0x14D]) & 0xFF
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about ROM and RAM that the type of cartridge hides
        return read_cartridge(bytes(rom))


def machine_with_memory(
    cartridge: Cartridge,
    seed: int,
    strict_video_access: bool = True,
    fixed_frames: bool = False,
    by_pixel: bool = False,
    audio: bool = False,
) -> Machine:
    """Return a reference machine at power-up whose memory is full of bytes."""
    rng = np.random.default_rng(seed)
    machine = Machine(cartridge, strict_video_access, fixed_frames, by_pixel, audio)
    for memory in (machine.ppu.vram, machine.ppu.oam, machine.bus.wram, machine.bus.cart.ram):
        memory[:] = rng.integers(0, 256, len(memory), np.uint8).tobytes()
    ram = machine.bus.cart.ram
    ram[:] = bytes(byte & cartridge.ram_bits for byte in ram)
    machine.ppu.oam[::4] = rng.integers(0, 176, 40, np.uint8).tobytes()  # most of them are seen
    machine.ppu.oam[1:80:4] = rng.choice(EDGES, 20).astype(np.uint8).tobytes()
    return machine


def options_of(machine: Machine) -> dict[str, bool]:
    """Return the options with which a reference machine was made."""
    return {
        "strict_video_access": machine.ppu.strict,
        "fixed_frames": machine.fixed_frames,
        "by_pixel": machine.ppu.by_pixel,
        "audio": machine.bus.apu.mixer is not None,
    }


def reloaded(machine: Machine) -> Machine:
    """Return the machine that its row stands for."""
    return unpack(pack(machine), machine.cartridge, **options_of(machine))


def differences(expected: Array, got: Array) -> dict[str, list[tuple[int, int, int]]]:
    """Return the fields in which two rows differ: index and both values of the first four bytes."""
    found = {}
    for name in expected.dtype.names or ():
        ours, theirs = np.atleast_1d(expected[name][0]), np.atleast_1d(got[name][0])
        where = np.flatnonzero(ours != theirs)[:4]
        if where.size:
            found[name] = [(int(i), int(ours[i]), int(theirs[i])) for i in where]
    return found
