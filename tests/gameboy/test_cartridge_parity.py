"""Bank controllers and RAM of cartridges, in reference and core (docs/gameboy.md, 11)."""

import random

import pytest

from fastenv.gameboy.position import pack
from fastenv.gameboy.reference import Machine
from tests.gameboy.machines import assert_same, run_alike
from tests.needs import needs_core
from tests.slow import late
from tests.tables import walk
from tools.gameboy.generators.banks import OPEN, banking_cartridge
from tools.gameboy.machines import SEVERAL, build, machine_with_memory, reloaded

pytestmark = [needs_core, pytest.mark.parity]

KINDS = {
    "no controller, 2 KiB": {"kind": 0x09, "ram": 1},
    "MBC1, 2 KiB": {"kind": 0x03, "ram": 1, "banks": 8},
    "MBC1, 32 KiB": {"kind": 0x03, "ram": 3, "banks": 8},
    "MBC1, 2 MiB": {"kind": 0x03, "ram": 2, "banks": 128},
    "MBC1 of several games": {"kind": 0x03, "ram": 2, "banks": 64, "patches": SEVERAL},
    "MBC1, 1 MiB": {"kind": 0x03, "ram": 3, "banks": 64},
    "MBC2": {"kind": 0x06, "ram": 0, "banks": 16},
    "MBC2, 64 KiB": {"kind": 0x05, "ram": 3, "banks": 4},
    "MBC3, 2 KiB": {"kind": 0x13, "ram": 1, "banks": 8},
    "MBC3, clock": {"kind": 0x10, "ram": 3, "banks": 128},
    "MBC30": {"kind": 0x13, "ram": 5, "banks": 8},
    "MBC30, clock": {"kind": 0x10, "ram": 5, "banks": 256},
    "MBC5, 2 KiB": {"kind": 0x1B, "ram": 1, "banks": 8},
    "MBC5, 128 KiB": {"kind": 0x1B, "ram": 4, "banks": 128},
}


@pytest.fixture(scope="module")
def console():
    from fastenv.gameboy.console import Console

    return Console


@walk("name", KINDS)
@walk(("seeds", "frames"), [(range(1), 2), *late(pytest.param(range(15), 3))])
def test_random_banks_and_ram(console, name, seeds, frames):
    seen = set()
    for seed in seeds:
        rng = random.Random(f"{name} {seed}")
        cartridge = banking_cartridge(rng, **KINDS[name])
        machine = machine_with_memory(cartridge, seed)
        machine.bus.wram[0x1000:0x1100] = bytes(0x100)
        twin = console(cartridge, pack(machine), skip_idle=seed % 2 == 0)
        for _ in range(frames):
            machine.run_frame(draw=False)
            twin.run_frame(draw=False)
            try:
                assert_same(machine, twin, drawn=False)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error
            machine = reloaded(machine)
            seen |= set(machine.bus.wram[0x1000:0x1100])
    assert len(seen) > min(12, 2 * len(seeds)), "the programs have seen next to nothing"


def test_a_program_runs_in_ram_that_is_seen_repeatedly(console):
    """INC A; RET stands at the end of 2 KiB, and goes on where they begin again."""
    program = OPEN + bytes.fromhex("21 ff a7 36 3c 2e 00 26 b0 36 c9 af cd ff af ea 00 d0 18 fe")
    cartridge = build(program, kind=0x03, ram=1)
    machine = Machine(cartridge)
    twin = console(cartridge, pack(machine))
    run_alike(machine, twin)
    assert (machine.bus.cart.ram[0x7FF], machine.bus.cart.ram[0]) == (0x3C, 0xC9)
    assert machine.bus.wram[0x1000] == 1


@walk("kind", [0x01, 0x11, 0x19])  # MBC1, MBC3, MBC5
@walk("to", [0x11, 2, 3, 0x21])
def test_a_program_goes_on_in_the_bank_it_switches_to(console, kind, to):
    """Bank 1, at $4000, switches itself; what follows writes down the bank it stands in."""
    switch = bytes((0x3E, to, 0xEA, 0x00, 0x20))
    notes = [
        (0x4000 * bank + 5, bytes((0x3E, bank, 0xEA, 0x00, 0xD0, 0x18, 0xFE))) for bank in range(64)
    ]
    cartridge = build(b"\xc3\x00\x40", kind=kind, banks=64, patches=[(0x4000, switch), *notes])
    machine = Machine(cartridge)
    twin = console(cartridge, pack(machine))
    machine.run_frame(draw=False)
    twin.run_frame(draw=False)
    assert_same(machine, twin, drawn=False)
    expected = to & 0x1F if kind == 0x01 else to
    assert machine.bus.wram[0x1000] == expected


def test_a_program_runs_in_the_half_bytes_of_an_mbc2(console):
    """What is read there begins with $F: DI, EI, OR and CP are among it, and so is RST $38."""
    for seed in range(6):
        rng = random.Random(seed)
        program = b"\x31\x00\xd0" + OPEN + b"\xc3" + bytes((rng.randrange(256), 0xA0 + seed))
        patches = [(0x38, b"\xc3\x50\x01"), (0x40, b"\xd9")]
        machine = machine_with_memory(build(program, kind=0x06, patches=patches), seed)
        twin = console(machine.cartridge, pack(machine))
        for _ in range(2):
            run_alike(machine, twin)


def test_dma_copies_what_an_mbc2_shows(console):
    """Half bytes with 1s above them, where the RAM is open and seen again."""
    copy = bytes.fromhex("af e0 40 3e 0a ea 00 00 3e a2 e0 46 18 fe")
    cartridge = build(copy, kind=0x06)
    machine = machine_with_memory(cartridge, 5)
    twin = console(cartridge, pack(machine))
    for _ in range(2):
        run_alike(machine, twin)
    assert bytes(machine.ppu.oam) == bytes(0xF0 | byte for byte in machine.bus.cart.ram[:160])
