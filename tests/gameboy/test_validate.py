"""Rows from outside: what is refused, and that nothing that is not can do harm."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastenv.errors import StateError
from fastenv.gameboy.position import pack, unpack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import IO
from fastenv.gameboy.validate import validate_rows
from tests.gameboy.machines import build, differences, machine_with_memory
from tests.needs import needs_core

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
        ("dot", 76, "must be -4 to 72"),
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
        ("reload", 3, "must be 0 to 2"),
        ("rom_bank", 0, "must be 1 to 31"),
        ("rom_bank", 32, "must be 1 to 31"),
        ("ram_bank", 4, "must be 0 to 3"),
        ("lyc_match", 0, "must be 1 where LYC is 0"),
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
@given(changes=CHANGES, frames=st.integers(1, 3), data=st.data())
def test_any_bytes_are_refused_or_run(changes, frames, data):
    from fastenv.gameboy.console import Console

    row = flipped(pack(machine_with_memory(CARTRIDGE, 2)), changes)
    try:
        validate_rows(row, CARTRIDGE)
    except StateError:
        return
    console = Console(CARTRIDGE, row)
    console.run_frames(frames)
    validate_rows(console.row, CARTRIDGE)


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
