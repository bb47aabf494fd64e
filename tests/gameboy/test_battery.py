"""Files of what a battery keeps, as other emulators have them (docs/gameboy.md, 12)."""

import re

import numpy as np
import pytest

from fastenv.errors import FileError, StateError
from fastenv.gameboy.battery import load_sav, save_sav
from fastenv.gameboy.position import pack, power_up_row, unpack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import CLOCK_MASKS
from fastenv.gameboy.validate_machine import validate_rows
from tests.needs import needs_core
from tests.slow import together
from tools.gameboy.machines import build, machine_with_memory

NO_TIME = bytes.fromhex("ffffff7fffffff7f")
WITH_CLOCK = build(b"", kind=0x10, ram=3)


@pytest.mark.parametrize(
    ("kind", "ram", "size"),
    [(0x03, 1, 0x800), (0x03, 2, 0x2000), (0x03, 3, 0x8000), (0x06, 0, 0x200), (0x09, 2, 0x2000),
     (0x13, 3, 0x8000), (0x1B, 4, 0x20000), (0x1E, 5, 0x10000), (0x10, 3, 0x8030), (0x0F, 0, 48)],
)  # fmt: skip
def test_what_was_written_is_read(tmp_path, kind, ram, size):
    cartridge = build(b"", kind=kind, ram=ram)
    row = pack(machine_with_memory(cartridge, 7))
    save_sav(tmp_path / "game.sav", row, cartridge)
    content = (tmp_path / "game.sav").read_bytes()
    assert len(content) == size
    assert content[: cartridge.ram_size] == row["cart"].tobytes()
    loaded = load_sav(tmp_path / "game.sav", cartridge)
    validate_rows(loaded, cartridge)
    assert loaded.flags.writeable
    for name in ("cart", "clock", "clock_latched"):
        assert loaded[name].tobytes() == row[name].tobytes(), name
    wanted = power_up_row(cartridge)
    for name in ("cart", "clock", "clock_latched"):
        wanted[name] = row[name]
    assert loaded.tobytes() == wanted.tobytes(), "the rest is a machine just turned on"


def test_half_bytes_of_an_mbc2(tmp_path):
    """Others write 1s, 0s or what was on the bus into halves that do not exist."""
    cartridge, path = build(b"", kind=0x06), tmp_path / "game.sav"
    path.write_bytes(bytes(range(256)) + bytes(0xF0 | k & 0x0F for k in range(256)))
    row = load_sav(path, cartridge)
    assert row["cart"][0].tolist() == [k & 0x0F for k in range(512)]
    save_sav(path, row, cartridge)
    assert path.read_bytes() == bytes(k & 0x0F for k in range(512))
    machine = unpack(row, cartridge)
    machine.bus.write(0x0000, 0x0A)
    assert [machine.bus.read(0xA000 + k) for k in range(16)] == list(range(0xF0, 0x100))


# -- the clock of an MBC3 --


def test_the_clock_stands_behind_the_ram(tmp_path):
    """Ten numbers of four bytes and a time, in the order of VisualBoyAdvance and BGB."""
    row = power_up_row(WITH_CLOCK)
    row["clock"], row["clock_latched"] = (59, 58, 23, 255, 0xC1), (1, 2, 3, 4, 0x80)
    row["clock_part"], row["clock_armed"] = 4000, 1
    save_sav(tmp_path / "game.sav", row, WITH_CLOCK)
    numbers = (59, 58, 23, 255, 0xC1, 1, 2, 3, 4, 0x80)
    clock = b"".join(number.to_bytes(4, "little") for number in numbers)
    assert (tmp_path / "game.sav").read_bytes() == bytes(0x8000) + clock + NO_TIME
    loaded = load_sav(tmp_path / "game.sav", WITH_CLOCK)
    assert loaded["clock"][0].tolist() + loaded["clock_latched"][0].tolist() == list(numbers)
    assert (loaded["clock_part"][0], loaded["clock_armed"][0]) == (0, 0)  # a second begins


@pytest.mark.parametrize("length", [0, 44, 48])
def test_what_others_write_behind_the_ram(tmp_path, length):
    """No clock, a time of four bytes or of eight; which time it was does not matter."""
    numbers = np.arange(1, 13, dtype="<u4").tobytes()
    (tmp_path / "game.sav").write_bytes(b"\x07" * 0x8000 + numbers[:length])
    row = load_sav(tmp_path / "game.sav", WITH_CLOCK)
    assert set(row["cart"][0].tolist()) == {7}
    masked = [k & mask for k, mask in zip(range(6, 11), CLOCK_MASKS, strict=True)]
    assert row["clock"][0].tolist() == ([1, 2, 3, 4, 5 & 0xC1] if length else [0] * 5)
    assert row["clock_latched"][0].tolist() == (masked if length else [0] * 5)


def test_bits_that_a_clock_does_not_have_are_left_out(tmp_path):
    (tmp_path / "game.sav").write_bytes(bytes(0x8000) + b"\xff" * 48)
    row = load_sav(tmp_path / "game.sav", WITH_CLOCK)
    assert row["clock"][0].tolist() == row["clock_latched"][0].tolist() == list(CLOCK_MASKS)
    validate_rows(row, WITH_CLOCK)


# -- what is refused --


@pytest.mark.parametrize(
    ("kind", "ram", "length", "message"),
    [
        (0x03, 2, 0, "0 bytes, must be 8,192 as the RAM of the cartridge"),
        (0x03, 2, 8191, "8,191 bytes, must be 8,192 as"),
        (0x03, 2, 8192 + 48, "8,240 bytes, must be 8,192 as"),
        (0x06, 0, 256, "256 bytes, must be 512 as"),
        (0x13, 3, 0x8030, "32,816 bytes, must be 32,768 as"),  # an MBC3 without a clock
        (0x10, 3, 0x8000 + 40, "32,808 bytes, must be 32,768 as the RAM of the cartridge, or "
         "32,816 or 32,812 with its clock"),
        (0x10, 3, 48, "48 bytes, must be 32,768 as"),
    ],
)  # fmt: skip
def test_other_sizes_are_refused(tmp_path, kind, ram, length, message):
    (tmp_path / "game.sav").write_bytes(bytes(length))
    with pytest.raises(StateError, match=re.escape(f"game.sav: {message}")) as caught:
        load_sav(tmp_path / "game.sav", build(b"", kind=kind, ram=ram))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("kind", "ram"), [(0x00, 0), (0x02, 2), (0x05, 0), (0x1A, 2), (0x03, 0)])
def test_cartridges_that_keep_nothing_have_no_file(tmp_path, kind, ram):
    cartridge, path = build(b"", kind=kind, ram=ram), tmp_path / "game.sav"
    with pytest.raises(StateError, match=r"game.sav: the cartridge keeps nothing by \$0147"):
        save_sav(path, power_up_row(cartridge), cartridge)
    assert not path.exists()
    path.write_bytes(bytes(cartridge.ram_size))
    with pytest.raises(StateError, match="must have a battery, and RAM or a clock"):
        load_sav(path, cartridge)


def test_rows_and_files_that_are_none_are_refused(tmp_path):
    cartridge, path = build(b"", kind=0x03, ram=2), tmp_path / "game.sav"
    with pytest.raises(StateError, match="state_dtype"):
        save_sav(path, power_up_row(build(b"")), cartridge)
    assert not path.exists()
    with pytest.raises(FileError, match=r"game.sav"):
        load_sav(path, cartridge)
    with open(path, "wb") as file:
        file.truncate(2**40)
    with pytest.raises(FileError, match="at most"):
        load_sav(path, cartridge)


# -- a game that counts how often it was started --

COUNT = bytes.fromhex("3e 0a ea 00 00 21 34 b2 34 18 fe")  # INC at $B234


@needs_core
@pytest.mark.parametrize(
    ("kind", "ram"), together([(0x03, 1), (0x03, 2), (0x06, 0), (0x10, 3), (0x1B, 4)], 2)
)
def test_a_game_goes_on_where_it_was(tmp_path, kind, ram):
    from fastenv.gameboy.console import Console

    cartridge, path = build(COUNT, kind=kind, ram=ram), tmp_path / "game.sav"
    row = power_up_row(cartridge)
    for times in range(1, 4):
        console, machine = Console(cartridge, row), unpack(row, cartridge)
        console.run_frame()
        machine.run_frame()
        assert pack(machine).tobytes() == console.row.tobytes()
        assert console.row["cart"].max() == times
        save_sav(path, console.row, cartridge)
        row = load_sav(path, cartridge)


def test_the_clock_goes_on_where_it_was(tmp_path):
    machine = Machine(WITH_CLOCK)
    machine.bus.cart.clock.registers[:] = (59, 59, 23, 255, 0x01)
    save_sav(tmp_path / "game.sav", pack(machine), WITH_CLOCK)
    machine = unpack(load_sav(tmp_path / "game.sav", WITH_CLOCK), WITH_CLOCK)
    for _ in range(2**20):
        machine.bus.cart.clock.tick()
    assert list(machine.bus.cart.clock.registers) == [0, 0, 0, 0, 0x80]
