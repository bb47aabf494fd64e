"""The clock of an MBC3 runs on emulated time, in reference and core (docs/gameboy.md, 11)."""

import random

import numpy as np
import pytest

from fastenv.errors import StateError
from fastenv.gameboy.position import pack, unpack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.reference.clock import Clock
from fastenv.gameboy.savestate import save_state
from fastenv.gameboy.tables import CLOCK, CLOCK_MASKS
from fastenv.gameboy.validate_machine import validate_rows
from tests.gameboy.lanes import BACKENDS, engine_of
from tests.gameboy.machines import run_alike
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk
from tools.gameboy.machines import build

WITH_RAM = {"kind": 0x10, "ram": 3, "banks": 8}


def after_a_second(registers):
    """Return what the clock shows a second later."""
    clock = Clock()
    clock.registers[:] = registers
    clock.part = CLOCK - 4
    clock.tick()
    assert clock.part == (0 if not registers[4] & 0x40 else CLOCK - 4)
    return list(clock.registers)


@walk(
    ("before", "after"),
    [((0, 0, 0, 0, 0), [1, 0, 0, 0, 0]),
     ((59, 0, 0, 0, 0), [0, 1, 0, 0, 0]),
     ((59, 59, 0, 0, 0), [0, 0, 1, 0, 0]),
     ((59, 59, 23, 0, 0), [0, 0, 0, 1, 0]),
     ((59, 59, 23, 255, 0), [0, 0, 0, 0, 1]),
     ((59, 59, 23, 255, 1), [0, 0, 0, 0, 0x80]),  # after 512 days
     ((59, 59, 23, 255, 0x81), [0, 0, 0, 0, 0x80]),  # which stays until it is written
     ((63, 7, 7, 7, 0), [0, 7, 7, 7, 0]),  # too much carries nothing
     ((59, 63, 7, 7, 0), [0, 0, 7, 7, 0]),
     ((59, 59, 31, 7, 0), [0, 0, 0, 7, 0]),
     ((59, 59, 23, 255, 0x41), [59, 59, 23, 255, 0x41])],  # stopped
)  # fmt: skip
def test_a_second_later(before, after):
    assert after_a_second(before) == after


@pytest.fixture
def machine():
    """A machine whose clock is seen at $A000, beginning with the seconds."""
    machine = Machine(build(b"\x18\xfe", **WITH_RAM))
    machine.bus.write(0x0000, 0x0A)
    machine.bus.write(0x4000, 0x08)
    return machine


def latch(machine):
    machine.bus.write(0x6000, 0)
    machine.bus.write(0x6000, 1)
    return machine.bus.read(0xA000)


def test_what_is_read_is_the_copy(machine):
    machine.bus.write(0xA000, 30)
    assert machine.bus.read(0xA000) == 0
    assert latch(machine) == 30
    for address, value in ((0x6000, 1), (0x7FFF, 1), (0x6000, 0), (0x6000, 0xFF)):
        seconds = machine.bus.cart.clock.registers[0] = machine.bus.read(0xA000) + 1
        assert machine.bus.read(0xA000) == seconds - 1
        machine.bus.write(address, value)  # whatever it is, and whatever was written before
        assert machine.bus.read(0xA000) == seconds


def test_bits_that_a_register_does_not_have(machine):
    for which, mask in enumerate(CLOCK_MASKS):
        machine.bus.write(0x4000, 8 + which)
        machine.bus.write(0xA000, 0xFF)
        latch(machine)
        assert machine.bus.read(0xBFFF) == mask


@pytest.mark.parametrize("bank", [0, 3, 4, 7, 13, 15, 0x10, 0xF7])
def test_other_banks_are_not_the_clock(machine, bank):
    """With a clock all four bits count, and those that choose neither RAM nor clock show $FF."""
    machine.bus.write(0x4000, bank)
    machine.bus.write(0xA000, 5)
    assert not any(machine.bus.cart.clock.registers)
    shows_ram = bank & 0x0F < 4
    assert machine.bus.read(0xA000) == (5 if shows_ram else 0xFF)
    assert machine.bus.cart.ram.count(5) == shows_ram


def test_without_a_clock_a_fifth_bank_is_the_first_one():
    machine = Machine(build(b"\x18\xfe", kind=0x13, ram=3))
    machine.bus.write(0x0000, 0x0A)
    machine.bus.write(0x4000, 4)
    machine.bus.write(0xA000, 5)
    assert machine.bus.cart.ram[0] == 5


def test_closed_it_is_not_seen(machine):
    machine.bus.write(0x0000, 0)
    machine.bus.write(0xA000, 5)
    assert machine.bus.read(0xA000) == 0xFF
    assert not any(machine.bus.cart.clock.registers)


@pytest.mark.parametrize(("kind", "has_clock"), [(0x0F, True), (0x10, True), (0x11, False),
                                                 (0x13, False), (0x1B, False)])  # fmt: skip
def test_which_cartridges_have_one(kind, has_clock):
    cartridge = build(b"", kind=kind)
    assert cartridge.has_clock == has_clock == (Machine(cartridge).bus.cart.clock is not None)


def random_program(rng):
    """Write and read the clock, latch it, and wait, with all that is read kept from $D000 on."""
    program = bytearray.fromhex("11 00 d0 3e 0a ea 00 00")
    for _ in range(24):
        bank = rng.choice([8, 9, 10, 11, 12, 12, 0, 13, 3, 5])
        program += bytes((0x3E, bank, 0xEA, 0x00, 0x40))
        match rng.randrange(4):
            case 0:
                program += bytes((0x3E, rng.choice([59, 58, 23, 255, 1, 0x41]), 0xEA, 0x00, 0xA0))
            case 1:
                for value in rng.choice([(0, 1), (1,), (0,), (0, 2, 1)]):
                    program += bytes((0x3E, value, 0xEA, 0x00, 0x60))
            case 2:
                program += bytes.fromhex("fa 00 a0 12 1c")
            case _:
                program += bytes((0x06, rng.randrange(1, 256), 0x05, 0x20, 0xFD))
    return bytes(program) + b"\xc3\x53\x01"


@needs_core
@walk("seed", every(3, range(12)))
def test_reference_and_core_agree(seed):
    from fastenv.gameboy.console import Console

    rng = random.Random(seed)
    cartridge = build(random_program(rng), **WITH_RAM)
    machine = Machine(cartridge)
    clock = machine.bus.cart.clock
    clock.registers[:] = (rng.choice([0, 59, 63]), 59, 23, 255, rng.choice([0, 1, 0x81]))
    clock.part = CLOCK - 4 * rng.randrange(1, 30_000)
    console = Console(cartridge, pack(machine), skip_idle=seed % 2 == 0)
    for _ in range(3):
        run_alike(machine, console)
        machine = unpack(pack(machine), cartridge)


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_of_before_any_write_made_the_copy_are_loaded(backend, tmp_path):
    """They may have a bit that said whether a 1 would; a step leaves it out."""
    cartridge = build(b"\x3e\x01\xea\x00\x60\x18\xfe", **WITH_RAM)
    row = pack(Machine(cartridge))
    row["clock"], row["clock_armed"] = (5, 4, 3, 2, 1), 1
    save_state(tmp_path / "old.state", row, cartridge)
    (tmp_path / "game.gb").write_bytes(cartridge.rom)
    short = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
    engine = engine_of(1, backend, rom=tmp_path / "game.gb", states=tmp_path / "old.state", **short)
    engine.set_states(engine.get_states())
    engine.step_many(np.zeros(1, np.int32))
    row = engine.get_states()[0]
    assert row["clock_latched"].tolist() == [5, 4, 3, 2, 1]
    assert row["clock_armed"] == 0


@needs_core
def test_time_that_passes_in_halt_counts():
    """Ten minutes of HALT, in which the core does next to nothing: 36,000 frames or so."""
    from fastenv.gameboy.console import Console

    program = bytes.fromhex("3e 0a ea 00 00 3e 08 ea 00 40 af ea 00 a0 f3 76 18 fd")
    cartridge = build(program, **WITH_RAM)
    console = Console(cartridge, pack(Machine(cartridge)))
    console.run_frames(100, draw=False)
    start = int(console.row["cyc"][0]) - int(console.row["clock_part"][0])
    start -= CLOCK * int(console.row["clock"][0, 0])
    for _ in range(36):
        console.run_frames(1000, draw=False)
        passed = (int(console.row["cyc"][0]) - start) // CLOCK
        assert console.row["clock"][0].tolist() == [passed % 60, passed // 60, 0, 0, 0]
    assert passed > 600


@walk(
    ("kind", "field", "value"),
    [(0x10, "clock", 0x40), (0x10, "clock_latched", 0x80), (0x10, "clock_armed", 2),
     (0x10, "clock_part", CLOCK), (0x10, "clock_part", 2), (0x13, "clock", 1),
     (0x13, "clock_armed", 1), (0x13, "clock_part", 4)],
)  # fmt: skip
def test_clocks_that_no_cartridge_has_are_refused(kind, field, value):
    cartridge = build(b"", kind=kind, ram=3)
    row = pack(Machine(cartridge))
    validate_rows(row, cartridge)
    if row[field].ndim > 1:
        row[field][0, 0] = value
    else:
        row[field] = np.int32(value)
    with pytest.raises(StateError, match=f"lane 0: {field} is not possible"):
        validate_rows(row, cartridge)
