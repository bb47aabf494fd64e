"""The serial port of a machine with nothing connected (docs/gameboy.md, 10)."""

import random

import pytest

from fastenv.errors import StateError
from fastenv.gameboy.position import pack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import IO
from fastenv.gameboy.validate_machine import validate_rows
from tests.gameboy.machines import run_alike
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk
from tools.gameboy.generators.serial import hammering_cartridge
from tools.gameboy.machines import build, machine_with_memory, reloaded

CARTRIDGE = build(b"\x18\xfe")
START, END = 0x81, 0x01


def sending(counter):
    """Return a port that has just begun to send $00, and the timer it goes by."""
    machine = Machine(CARTRIDGE)
    bus = machine.bus
    bus.timer.counter = counter
    bus.serial.watch(counter, bus.cyc)
    bus.serial.write_sc(START)
    return bus


def cycles_until_over(bus, clear_after=None):
    """Return how many machine cycles a transfer takes, with DIV written after some of them."""
    for cycle in range(2000):
        if cycle == clear_after:
            bus.clear_div()
        if bus.serial.sc == END:
            return cycle
        bus.tick()
    raise AssertionError


@pytest.mark.parametrize("counter", [0, 4, 252, 0xABCC])
def test_a_transfer_is_clocked_by_the_timer(counter):
    assert cycles_until_over(sending(counter)) == (4096 - counter % 256) // 4


@walk("at", range(4, 1024, 60))
def test_writing_div_moves_the_end(at):
    """The counter goes on from 0; where its bit 7 was set, that is a fall."""
    left, passed = 4096 - 4 * at, 4 * at % 256
    moved = left + passed - (256 if passed >= 128 else 0)
    assert cycles_until_over(sending(0), clear_after=at) == at + moved // 4


def test_the_write_itself_can_shift_a_bit_and_end_the_transfer():
    bus = sending(0)
    for _ in range((256 + 128) // 4):
        bus.tick()
    assert bus.serial.sb == 0x00
    bus.clear_div()
    assert bus.serial.sb == 0x01
    for _ in range((7 * 512 - 128) // 4):
        bus.tick()
    assert (bus.serial.sb, bus.serial.sc) == (0x7F, START)
    bus.interrupts.requested = 0
    bus.clear_div()
    assert (bus.serial.sb, bus.serial.sc, bus.interrupts.requested) == (0xFF, END, 8)


@needs_core
@pytest.mark.parity
@walk("seed", every(3, range(6)))
def test_core_and_reference(seed):
    from fastenv.gameboy.console import Console

    rng = random.Random(seed)
    machine = machine_with_memory(hammering_cartridge(rng), seed)
    twin = Console(machine.cartridge, pack(machine))
    for _ in range(2):
        run_alike(machine, twin)
        machine = reloaded(machine)
    assert machine.bus.serial.count > 10


def test_a_row_whose_transfer_no_clock_can_end():
    bus_row = pack(Machine(CARTRIDGE))
    bus_row["high"][0, IO.SC], bus_row["serial_left"], bus_row["div"] = START, 516, 0
    with pytest.raises(StateError, match="serial_left is not possible: must end a transfer where"):
        validate_rows(bus_row, CARTRIDGE)
