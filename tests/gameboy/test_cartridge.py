"""Cartridges: what a header says, what is refused, and which banks are seen."""

import re
import warnings

import pytest

from fastenv.errors import ConfigError
from fastenv.gameboy.cartridge import UnsupportedCartridgeError, read_cartridge
from fastenv.gameboy.reference.cart import Cart
from fastenv.gameboy.state import lane_dtype, shared_record, state_dtype
from fastenv.gameboy.tables import Mbc
from tests.tables import walk
from tools.gameboy.machines import LOGO, SEVERAL, build


def numbered(kind, banks, ram=0, patches=()):
    """Return the controller of a cartridge in which every bank of ROM begins with its number."""
    numbers = [(bank * 0x4000, bank.to_bytes(2, "little")) for bank in range(banks)]
    return Cart(build(b"", kind=kind, ram=ram, banks=banks, patches=[*numbers, *patches]))


def bank_at(cart, address):
    return cart.read_rom(address) | cart.read_rom(address + 1) << 8


@walk(
    ("kind", "ram", "mbc", "ram_size"),
    [(0x00, 2, Mbc.NONE, 0), (0x08, 2, Mbc.NONE, 0x2000), (0x01, 3, Mbc.MBC1, 0),
     (0x03, 3, Mbc.MBC1, 0x8000), (0x13, 2, Mbc.MBC3, 0x2000), (0x1B, 4, Mbc.MBC5, 0x20000),
     (0x1E, 5, Mbc.MBC5, 0x10000), (0x11, 0, Mbc.MBC3, 0), (0x03, 1, Mbc.MBC1, 0x800),
     (0x09, 1, Mbc.NONE, 0x800), (0x03, 6, Mbc.MBC1, 0), (0x05, 0, Mbc.MBC2, 0x200),
     (0x06, 3, Mbc.MBC2, 0x200)],
)  # fmt: skip
def test_header(kind, ram, mbc, ram_size):
    cartridge = build(b"", kind=kind, ram=ram)
    assert (cartridge.mbc, cartridge.ram_size, cartridge.rom_banks) == (mbc, ram_size, 2)
    assert state_dtype(cartridge.ram_size).itemsize == 17_152 + ram_size


def test_rows_are_whole_cache_lines():
    assert state_dtype(0).itemsize % 64 == 0
    assert state_dtype(0).fields["wram"][1] == 256 + 256 + 256 + 0x2000


def test_rows_have_no_bytes_between_their_fields():
    """Nobody copies or clears those, and rows are compared as bytes."""
    for dtype in (state_dtype(0x2000), lane_dtype(0x2000, (4, 1440), 96)):
        assert sum(field[0].itemsize for field in dtype.fields.values()) == dtype.itemsize


@pytest.mark.parametrize("length", [0, 0x14F, 0x800001])
def test_lengths_that_no_rom_has_are_refused(length):
    with pytest.raises(ConfigError, match=f"game: {length} bytes; a ROM has at least 336"):
        read_cartridge(bytes(length), "game")


@walk("kind", [0x04, 0x07, 0x0B, 0x20, 0x22, 0xFC, 0xFF])
def test_types_that_are_not_emulated_are_refused_by_name(kind):
    rom = bytearray(build(b"").rom)
    rom[0x147] = kind
    with pytest.raises(UnsupportedCartridgeError, match=re.escape(f"type ${kind:02X} at $0147")):
        read_cartridge(bytes(rom))


def test_a_program_for_the_colour_machine_alone_is_refused():
    message = (
        "game: $0143 is $C0, a program for the colour machine alone, which is not emulated; any"
    )
    with pytest.raises(UnsupportedCartridgeError, match=re.escape(message)) as caught:
        read_cartridge(bytes(0x143) + b"\xc0" + bytes(0x8000), "game")
    assert "\n" not in str(caught.value)


@walk("color", [0x00, 0x41, 0x7F, 0x80, 0x84, 0xC1])
def test_programs_for_both_machines_or_this_one_are_taken(color):
    assert build(b"", color=color).mbc == Mbc.NONE


def test_a_wrong_checksum_is_told():
    rom = bytearray(build(b"").rom)
    rom[0x14D] ^= 1
    with pytest.warns(UserWarning, match=re.escape("header checksum at $014D")):
        read_cartridge(bytes(rom))


def test_a_rom_that_is_cut_short_is_told():
    rom = build(b"", kind=0x01, banks=8).rom
    with pytest.warns(UserWarning, match=re.escape("game: 131071 bytes, its header at $0148 says")):
        assert read_cartridge(rom[:-1], "game").rom_banks == 8
    odd = bytearray(rom)
    odd[0x148] = 0x54  # a size that no cartridge has says nothing
    odd[0x14D] = sum(0xFF - byte for byte in odd[0x134:0x14D]) & 0xFF
    assert read_cartridge(bytes(odd)).rom_banks == 8


def test_odd_sizes_are_filled_up():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cartridge = read_cartridge(build(b"", kind=0x01, banks=5).rom[: 5 * 0x4000 + 7])
    assert cartridge.rom_banks == 8
    assert cartridge.rom[5 * 0x4000 + 7] == 0xFF
    assert shared_record(cartridge)["rom"].shape == (1, 8 * 0x4000)


@walk(
    ("bank1", "bank2", "mode", "low", "high"),
    [(0, 0, 0, 0, 1), (0x20, 0, 0, 0, 1), (5, 0, 0, 0, 5), (0x1F, 3, 0, 0, 0x7F),
     (0, 2, 1, 0x40, 0x41), (3, 1, 1, 0x20, 0x23)],
)  # fmt: skip
def test_mbc1_banks(bank1, bank2, mode, low, high):
    cart = numbered(0x01, 128)
    for address, value in ((0x2000, bank1), (0x4000, bank2), (0x6000, mode)):
        cart.write_rom(address, value)
    assert (bank_at(cart, 0), bank_at(cart, 0x4000)) == (low, high)


def test_mbc1_never_selects_bank_0_but_through_a_smaller_rom():
    cart = numbered(0x01, 16)
    cart.write_rom(0x2000, 0x10)
    assert bank_at(cart, 0x4000) == 0


# -- cartridges of several games --


def test_mbc1_banks_of_several_games():
    """All that can be written, as in mooneye's multicart_rom_8Mb, which was checked on the chip."""
    cart = numbered(0x01, 64, patches=SEVERAL)
    assert cart.mbc == Mbc.MBC1M
    for mode in (0, 1):
        cart.write_rom(0x6000, mode)
        for bank2 in range(4):
            cart.write_rom(0x4000, bank2)
            for bank1 in range(256):
                cart.write_rom(0x2000, bank1)
                within = 1 if bank1 & 0x1F == 0 else bank1 & 0x0F  # 0 is 1, tested on five bits
                assert bank_at(cart, 0) == 16 * bank2 * mode
                assert bank_at(cart, 0x4000) == 16 * bank2 + within


def test_ram_of_several_games():
    """The two bits choose its bank as with every MBC1."""
    cart = numbered(0x03, 64, ram=3, patches=SEVERAL)
    cart.write_rom(0x0000, 0x0A)
    cart.write_rom(0x4000, 2)
    cart.write_ram(0xA000, 5)
    cart.write_rom(0x6000, 1)
    cart.write_ram(0xA000, 6)
    assert (cart.ram[0], cart.ram[0x4000]) == (5, 6)


@walk(
    ("what", "kind", "banks", "patches"),
    [
        ("one logo", 0x01, 64, SEVERAL[:1]),
        ("another one", 0x01, 64, [SEVERAL[0], (0x40104, LOGO[:-1] + b"x")]),
        ("512 KiB twice", 0x01, 64, SEVERAL[::2]),
        ("no logo at all", 0x01, 64, ()),
        ("more ROM", 0x01, 128, SEVERAL),
        ("less ROM", 0x01, 32, SEVERAL[:2]),
        ("another controller", 0x19, 64, SEVERAL),
    ],
)
def test_what_is_no_cartridge_of_several_games(what, kind, banks, patches):
    cartridge = build(b"", kind=kind, banks=banks, patches=patches)
    assert cartridge.mbc == (Mbc.MBC5 if kind == 0x19 else Mbc.MBC1), what


def test_several_games_are_seen_where_the_last_bank_is_cut_short():
    rom = build(b"", kind=0x01, banks=64, patches=SEVERAL).rom[: 60 * 0x4000]
    with pytest.warns(UserWarning, match="it is cut short"):
        assert read_cartridge(rom).mbc == Mbc.MBC1M


@pytest.mark.parametrize(("value", "bank"), [(0, 1), (1, 1), (0x7F, 0x7F), (0x80, 1)])
def test_mbc3_banks(value, bank):
    cart = numbered(0x11, 128)
    cart.write_rom(0x3FFF, value)
    assert bank_at(cart, 0x4000) == bank


@pytest.mark.parametrize(
    ("ram", "banks", "mbc"),
    [(3, 128, Mbc.MBC3), (0, 256, Mbc.MBC30), (3, 129, Mbc.MBC30), (5, 2, Mbc.MBC30)],
)
def test_an_mbc30_is_an_mbc3_with_more_than_that_reaches(ram, banks, mbc):
    """The header does not tell: 2 MiB of ROM and 32 KiB of RAM are what an MBC3 reaches."""
    for kind in (0x10, 0x13):
        assert build(b"", kind=kind, ram=ram, banks=banks).mbc == mbc


def test_mbc30_banks():
    """Eight bits choose the bank of ROM, and eight banks of RAM are there, beside the clock."""
    cart = numbered(0x10, 256, ram=5)
    for value in range(256):
        cart.write_rom(0x3FFF, value)
        assert bank_at(cart, 0x4000) == (value or 1)
    cart.write_rom(0x0000, 0x0A)
    for bank in range(16):
        cart.write_rom(0x4000, bank)
        cart.write_ram(0xA000, 0x30 + bank)
    assert [cart.ram[0x2000 * bank] for bank in range(8)] == list(range(0x30, 0x38))
    assert list(cart.clock.registers) == [0x38, 0x39, 0x1A, 0x3B, 0x00]
    for bank in range(16):
        cart.write_rom(0x4000, bank)
        seen = 0x30 + bank if bank < 8 else 0 if bank < 13 else 0xFF  # no copy was made
        assert cart.read_ram(0xA000) == seen


@walk(
    ("kind", "ram", "banks", "message"),
    [
        (0x00, 0, 8, "131,072 bytes of ROM, of which type $00 at $0147 reaches the first 32,768"),
        (0x09, 3, 2, "32,768 bytes of RAM, of which type $09 at $0147 reaches the first 8,192"),
        (0x01, 0, 256, "4,194,304 bytes of ROM, of which type $01 at $0147 reaches the first 2,0"),
        (0x06, 0, 32, "524,288 bytes of ROM, of which type $06 at $0147 reaches the first 262,144"),
        (0x11, 0, 512, "8,388,608 bytes of ROM, of which type $11 at $0147 reaches the first 4,1"),
        (0x13, 4, 2, "131,072 bytes of RAM, of which type $13 at $0147 reaches the first 65,536"),
        (0x03, 3, 128, None),
        (0x10, 5, 256, None),
        (0x1B, 4, 512, None),
    ],
)
def test_what_no_program_can_reach_is_named(kind, ram, banks, message):
    rom = build(b"", kind=kind, ram=ram, banks=banks).rom
    if message is None:
        read_cartridge(rom, "game")  # warnings are errors
        return
    with pytest.warns(UserWarning, match=re.escape(f"game: {message}")) as caught:
        read_cartridge(rom, "game")
    assert len(caught) == 1


# -- MBC2: the cases of mooneye's mbc2/, which were checked on the chip --


@pytest.mark.parametrize("banks", [2, 4, 8, 16])
def test_mbc2_banks(banks):
    """Four bits choose, whatever stands above them; 0 is 1, tested before the ROM's size counts."""
    cart = numbered(0x06, banks)
    assert (bank_at(cart, 0), bank_at(cart, 0x4000)) == (0, 1)
    for value in range(256):
        cart.write_rom(0x2100, value)
        assert bank_at(cart, 0x4000) == (value & 0x0F or 1) % banks
        assert bank_at(cart, 0) == 0


def test_bit_8_of_the_address_says_which_register_of_an_mbc2_is_written():
    cart = numbered(0x06, 4)
    for address in range(0x4000):
        cart.ram_enable, cart.rom_bank = 0, 1
        cart.write_rom(address, 0x0A)
        is_bank = address & 0x100 != 0
        assert (cart.ram_enable, cart.rom_bank) == ((0, 0x0A) if is_bank else (1, 1))


def test_which_values_open_the_ram_of_an_mbc2():
    cart = numbered(0x06, 2)
    for value in range(256):
        cart.write_rom(0x0000, value)
        assert cart.ram_enable == (value & 0x0F == 0x0A)


def test_an_mbc2_has_no_register_from_4000_on():
    cart = numbered(0x06, 16)
    cart.write_rom(0x0000, 0x0A)
    cart.write_rom(0x2100, 5)
    for address in range(0x4000, 0x8000):
        for value in (0x00, 0xFF):
            cart.write_rom(address, value)
    assert (cart.ram_enable, cart.ram_bank, cart.bank_mode) == (1, 0, 0)
    assert bank_at(cart, 0x4000) == 5


def test_half_bytes_of_an_mbc2():
    cart = numbered(0x06, 2)
    cart.write_ram(0xA000, 5)  # closed
    assert cart.read_ram(0xA000) == 0xFF
    cart.write_rom(0x0000, 0x0A)
    assert cart.read_ram(0xA000) == 0xF0
    for place in range(0x200):
        cart.write_ram(0xA000 + place, place * 7 & 0xFF)
    for address in range(0xA000, 0xC000):
        assert cart.read_ram(address) == 0xF0 | (address % 0x200 * 7 & 0x0F)
    cart.write_ram(0xBFFF, 0x93)
    assert (cart.ram[0x1FF], len(cart.ram)) == (3, 0x200)  # what is not there is 0 in rows
    cart.write_rom(0x1E00, 0x0B)
    assert cart.read_ram(0xA1FF) == 0xFF


def test_mbc5_banks():
    cart = numbered(0x19, 512)
    for low, high, bank in ((0, 0, 0), (7, 0, 7), (7, 1, 0x107), (0xFF, 0xFF, 0x1FF)):
        cart.write_rom(0x2000, low)
        cart.write_rom(0x3000, high)
        assert bank_at(cart, 0x4000) == bank


@pytest.mark.parametrize("kind", [0x03, 0x13, 0x1B])
def test_ram_is_there_when_it_is_enabled(kind):
    cart = numbered(kind, 4, ram=3)
    cart.write_ram(0xA000, 1)
    assert cart.read_ram(0xA000) == 0xFF
    cart.write_rom(0x0000, 0x1A)
    cart.write_rom(0x6000, 1)  # banks of RAM, on MBC1
    for bank in range(4):
        cart.write_rom(0x4000, bank)
        cart.write_ram(0xBFFF, bank + 1)
    assert [cart.ram[0x2000 * bank - 1] for bank in range(1, 5)] == [1, 2, 3, 4]
    cart.write_rom(0x0000, 0x0B)
    assert cart.read_ram(0xBFFF) == 0xFF


@pytest.mark.parametrize("kind", [0x03, 0x09, 0x13, 0x1B])
def test_ram_of_2_kib_is_seen_four_times(kind):
    cart = numbered(kind, 4, ram=1)
    cart.write_rom(0x0000, 0x0A)
    cart.write_rom(0x4000, 1)  # a bank of RAM that is not there
    cart.write_rom(0x6000, 1)
    cart.write_ram(0xA123, 7)
    assert [cart.read_ram(address + 0x123) for address in range(0xA000, 0xC000, 0x800)] == [7] * 4
    cart.write_ram(0xBFFF, 9)
    assert (cart.ram[0x123], cart.ram[0x7FF], len(cart.ram)) == (7, 9, 0x800)
