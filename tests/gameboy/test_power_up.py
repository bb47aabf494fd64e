"""What a program finds when it starts, and in bits that no register has."""

import pytest

from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import IO
from tools.gameboy.machines import build

# As a program reads them that a console has just started (docs/gameboy.md, 12). Times matter for
# DIV, LY and STAT, which are read at once.
FOUND = {
    0xFF00: "CF 00 7E FF AB 00 00 F8 FF FF FF FF FF FF FF E1",
    0xFF10: "80 BF F3 FF BF FF 3F 00 FF BF 7F FF 9F FF BF FF",
    0xFF20: "FF 00 00 BF 77 F3 F1 FF FF FF FF FF FF FF FF FF",
    0xFF40: "91 85 00 00 00 00 FF FC FF FF 00 00 FF FF FF FF",
}
UNUSED = {IO.P1: 0xC0, IO.SC: 0x7E, IO.TAC: 0xF8, IO.IF: 0xE0, IO.STAT: 0x80, 0x10: 0x80,
          0x1A: 0x7F, 0x1C: 0x9F, 0x20: 0xC0, 0x23: 0x3F, IO.NR52: 0x70}  # fmt: skip
MISSING = (0x03, *range(0x08, 0x0F), 0x15, 0x1F, *range(0x27, 0x30), *range(0x4C, 0x80))


@pytest.fixture
def machine():
    return Machine(build(b""))


def test_registers(machine):
    for first, text in FOUND.items():
        for address, wanted in enumerate(bytes.fromhex(text), first):
            found = machine.bus._read(address)
            assert found == wanted, f"${address:04X} is ${found:02X}, must be ${wanted:02X}"


def test_the_logo_of_the_header_is_in_vram_twice_as_large():
    logo = bytes([0x1F, 0x80, *[0] * 44, 0x00, 0x0C])
    machine = Machine(build(b"", patches=((0x104, logo),)))
    vram = machine.ppu.vram
    # Two bytes of the logo are a tile: a bit is two pixels wide and two lines high.
    assert vram[16:32:2] == bytes([0x03, 0x03, 0xFF, 0xFF, 0xC0, 0xC0, 0x00, 0x00])
    assert vram[24 * 16 : 25 * 16 : 2] == bytes([0, 0, 0, 0, 0, 0, 0xF0, 0xF0])
    assert not any(vram[17:400:2]), "the second plane is empty"
    assert [*vram[0x1904:0x1911]] == [*range(1, 13), 25]
    assert [*vram[0x1924:0x1930]] == [*range(13, 25)]
    assert sum(map(bool, vram[0x1800:])) == 25


def test_sound_of_the_boot_program_plays_until_it_has_no_power(machine):
    machine.bus.write(0xFF26, 0xF0)
    assert machine.bus._read(0xFF26) == 0xF1
    machine.bus.write(0xFF26, 0x00)
    assert machine.bus._read(0xFF26) == 0x70


@pytest.mark.parametrize("written", [0x00, 0xFF])
def test_bits_that_do_not_exist_are_set(machine, written):
    for low, ones in {**UNUSED, **dict.fromkeys(MISSING, 0xFF)}.items():
        machine.bus._write(0xFF00 | low, written)
        assert machine.bus._read(0xFF00 | low) & ones == ones, f"${0xFF00 | low:04X}"
