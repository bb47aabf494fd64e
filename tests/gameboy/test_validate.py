"""Rows from outside: what is refused, and that nothing that is not can do harm."""

import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastenv.errors import StateError
from fastenv.gameboy.position import compared_line, line_and_mode, pack, power_up_row, unpack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.state import state_dtype
from fastenv.gameboy.tables import IO
from fastenv.gameboy.validate_machine import HIGH_BITS, validate_rows
from tests.gameboy.machines import assert_same
from tests.needs import needs_core
from tools.gameboy.machines import SEVERAL, build, differences, machine_with_memory

CARTRIDGE = build(bytes.fromhex("fb3c18fd"), kind=0x03, ram=2)


@pytest.fixture
def rows():
    return np.repeat(pack(Machine(CARTRIDGE)), 3)


def test_rows_of_machines_pass(rows):
    validate_rows(rows, CARTRIDGE)
    machine = machine_with_memory(CARTRIDGE, 1)
    for _ in range(2):
        machine.run_frame(draw=False)
        validate_rows(pack(machine), CARTRIDGE)


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("dot", 70_224, "must be -60 to 70220"),
        ("window_line", 2, "must not be above the lines drawn"),
        ("delay", 4, "must be 0 but in mode 3"),
        ("delay", 124, "must be 0 to 123"),
        ("dot", 2, "must be a multiple of 4"),
        ("cyc", -4, "must be 0 to"),
        ("div", 3, "must be a multiple of 4"),
        ("ime", 2, "must be 0 to 1"),
        ("ime_delay", 2, "must be 0 to 1"),
        ("f", 0x01, "the lower half of F is 0"),
        ("dma_left", 652, "must be 0 to 648"),
        ("dma_left", 640, "dma_blocks is not possible: must be 1"),
        ("dma_blocks", 1, "dma_blocks is not possible: must be 1"),
        ("serial_left", 400, "must be 0 unless SC"),
        ("serial_count", -1, "must be 0 to"),
        ("serial_bits", 1, "must be 0 to 7 where SC is"),
        ("reload", 3, "must be 0 to 2"),
        ("rom_bank", 0, "must be 1 to 31"),
        ("rom_bank", 32, "must be 1 to 31"),
        ("ram_bank", 4, "must be 0 to 3"),
        ("lyc_match", 0, "must be 1 where LYC is LY"),
        ("sound_step", 8, "must be 0 to 7"),
        ("lengths", 65, "must be 0 to"),
        ("wave_left", 2, "must be 0 unless"),
        ("wave_at", 1, "must be 0 to 31, 0 unless the third channel plays"),
        ("sweep_left", 9, "must be 0 to 8"),
        ("sweep_due", 2, "must be 0 to 1"),
        ("sweep_period", 1, "must be 0 to 2047, 0 unless"),
        ("sweep_negated", 1, "must be 0 to 1, 0 unless"),
    ],
)
def test_what_no_machine_can_be_is_refused(rows, field, value, allowed):
    rows[field][1] = value
    with pytest.raises(StateError, match=f"lane 1: .*{allowed}"):
        validate_rows(rows, CARTRIDGE)


@pytest.mark.parametrize(
    ("register", "value"),
    [(IO.IF, 0x20), (IO.TAC, 0x08), (IO.STAT, 0x01), (IO.LY, 1), (IO.DIV, 1), (0x7F, 1)],
)
def test_registers_hold_what_can_be_written(rows, register, value):
    rows["high"][2, register] = value
    with pytest.raises(
        StateError, match=re.escape(f"lane 2: high is not possible: of $FF{register:02X}")
    ):
        validate_rows(rows, CARTRIDGE)


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("wave_left", 4106, "must be 0 to 4104"),
        ("wave_left", 3, "must be even"),
        ("wave_left", 0, "must be 0 unless"),
        ("wave_at", 32, "must be 0 to 31"),
    ],
)
def test_what_no_wave_can_be_is_refused(rows, field, value, allowed):
    rows["high"][:, IO.NR52] |= 0x04
    rows["wave_left"] = 4104
    validate_rows(rows, CARTRIDGE)
    rows[field][1] = value
    with pytest.raises(StateError, match=f"lane 1: {field} is not possible: {allowed}"):
        validate_rows(rows, CARTRIDGE)


def test_no_channel_plays_without_power(rows):
    rows["high"][1, IO.NR52] = 0x01
    with pytest.raises(StateError, match=re.escape("lane 1: high is not possible: of $FF26")):
        validate_rows(rows, CARTRIDGE)


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [
        ("rom_bank", 0, "must be 1 to 15"),
        ("rom_bank", 16, "must be 1 to 15"),
        ("ram_bank", 1, "must be 0 to 0"),
        ("cart", 0x10, "of a byte only the bits $0F may be set"),
    ],
)
def test_what_no_mbc2_can_be_is_refused(field, value, allowed):
    cartridge = build(b"", kind=0x06)
    rows = np.repeat(pack(machine_with_memory(cartridge, 4)), 2)
    validate_rows(rows, cartridge)
    rows[field][1] = value
    message = f"lane 1: {field} is not possible: {allowed}"
    with pytest.raises(StateError, match=re.escape(message)):
        validate_rows(rows, cartridge)


@pytest.mark.parametrize(
    ("field", "value", "allowed"),
    [("rom_bank", 0, "1 to 31"), ("rom_bank", 32, "1 to 31"), ("ram_bank", 4, "0 to 3")],
)
def test_what_no_cartridge_of_several_games_can_be_is_refused(field, value, allowed):
    cartridge = build(b"", kind=0x01, banks=64, patches=SEVERAL)
    rows = pack(Machine(cartridge))
    validate_rows(rows, cartridge)
    rows[field] = value
    with pytest.raises(StateError, match=f"lane 0: {field} is not possible: must be {allowed}"):
        validate_rows(rows, cartridge)


def test_another_cartridge_is_refused(rows):
    with pytest.raises(StateError, match=re.escape("state_dtype(32768)")):
        validate_rows(rows, build(b"", kind=0x03, ram=3))


def flipped(row, changes):
    """Return a row with some of its bytes changed."""
    row = row.copy()
    for where, value in changes:
        row.view(np.uint8)[where % row.nbytes] = value
    return row


CHANGES = st.lists(
    st.tuples(st.one_of(st.integers(0, 120), st.integers(0, 2**15)), st.integers(0, 255)),
    min_size=1,
    max_size=20,
)


@needs_core
@given(changes=CHANGES)
def test_what_is_not_refused_is_the_same_machine_to_both(changes):
    from fastenv.gameboy.console import Console

    row = flipped(pack(machine_with_memory(CARTRIDGE, 3)), changes)
    try:
        validate_rows(row, CARTRIDGE)
    except StateError:
        return
    machine, console = unpack(row, CARTRIDGE), Console(CARTRIDGE, row)
    machine.run_frame(draw=False)
    console.run_frame(draw=False)
    assert pack(machine).tobytes() == console.row.tobytes(), differences(pack(machine), console.row)
    console.run_frames(3)
    validate_rows(console.row, CARTRIDGE)


@needs_core
def test_a_million_random_bytes_as_roms():
    from fastenv.gameboy.console import Console

    for seed in range(32):
        rng = random.Random(seed)
        kind = rng.choice([0x00, 0x03, 0x06, 0x09, 0x13, 0x1B])
        cartridge = build(rng.randbytes(64), kind=kind, ram=2, fill=rng.randbytes(0x8000))
        console = Console(cartridge, pack(Machine(cartridge)))
        for _ in range(20):
            console.press(rng.randrange(256))
            console.run_frames(rng.randrange(1, 6), draw=rng.random() < 0.3)
            validate_rows(console.row, cartridge)


def random_sound(record, rng):
    """Give a row a sound that a machine may have."""
    power = record["high"][IO.NR52]
    if not power & 0x80:
        record["high"][IO.NR52] = 0
    on, wave = bool(power & 0x80), power & 0x84 == 0x84
    record["sound_step"], record["lengths"] = rng.integers(8), rng.integers((65, 65, 257, 65))
    record["wave_left"] = 2 * rng.integers(1, 2053) * wave
    record["wave_at"] = rng.integers(32) * wave
    record["sweep_left"], record["sweep_due"] = rng.integers(9) * on, rng.integers(2) * on
    sweeps = bool(record["sweep_left"])
    record["sweep_period"] = rng.integers(0x800) * sweeps
    record["sweep_negated"] = rng.integers(2) * sweeps


def random_row(rng):
    """Return a row of random bytes, but for what a register cannot hold."""
    row = np.frombuffer(rng.bytes(power_up_row(CARTRIDGE).nbytes), state_dtype(0x2000)).copy()
    empty = ("unused", "pad", "serial", "serial_count", "dma_left", "dma_blocks", "dma_byte")
    for name in (*empty, *(name for name in row.dtype.names if name.startswith("clock"))):
        row[name] = 0
    for name in ("ime", "ime_delay", "halted", "halt_bug", "wy_seen", "bank_mode", "ram_enable"):
        row[name] &= 1
    for name in ("stopped", "locked", "first_frame"):
        row[name] = 0
    row["f"] &= 0xF0
    row["cyc"], row["instr"] = row["cyc"] & 0xFFFFFFFC, row["instr"] & 0xFFFFFFFF
    row["div"] &= 0xFFFC
    row["dot"], row["reload"] = rng.integers(-15, 70_224 // 4) * 4, rng.integers(0, 3)
    row["rom_bank"], row["ram_bank"] = rng.integers(1, 32), rng.integers(0, 4)
    row["high"] &= HIGH_BITS
    random_sound(row[0], rng)
    row["serial_left"] = row["serial_bits"] = 0
    if row["high"][0, IO.SC] == 0x81:
        row["serial_left"] = 256 * rng.integers(1, 17) - row["div"] % 256
    if row["high"][0, IO.SC] == 0x80:
        row["serial_bits"] = rng.integers(8)
    row["late"] &= 0x1F
    ly, _ = line_and_mode(row["dot"], row["first_frame"], 0)
    compared = compared_line(row["dot"])
    row["lyc_match"] = np.where(
        compared < 0, row["lyc_match"] & 1, row["high"][:, IO.LYC] == compared
    )
    line, at = np.divmod(row["dot"], 456)
    delay = rng.integers(0, 124)
    row["delay"] = delay * ((line >= 0) & (line < 144) & (at >= 80) & (at <= 249 + delay))
    row["window_line"] = rng.integers(0, min(int(ly[0]), 143) + 1)
    if not row["high"][0, IO.LCDC] & 0x80:
        row["delay"] = row["window_line"] = 0
    return row


@needs_core
@pytest.mark.parametrize("seed", range(3))
def test_random_bytes_as_rows(seed):
    """Sixty rows are a million bytes; a few of them run in the reference as well."""
    from fastenv.gameboy.console import Console

    rng = np.random.default_rng(seed)
    for number in range(20):
        console = Console(CARTRIDGE, random_row(rng))
        if number < 3:
            machine = unpack(console.row, CARTRIDGE)
            machine.run_frame()
            console.run_frame()
            assert_same(machine, console, drawn=True)
        console.run_frames(5)
        validate_rows(console.row, CARTRIDGE)
