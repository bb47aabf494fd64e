"""Reference against core: the whole row and every pixel, after every frame."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastenv.gameboy.position import pack
from fastenv.gameboy.reference import Machine
from tests.gameboy.machines import (
    assert_same,
    build,
    cartridges,
    machine_with_memory,
    reloaded,
)
from tests.needs import needs_core

pytestmark = [needs_core, pytest.mark.parity]


@pytest.fixture(scope="module")
def console():
    from fastenv.gameboy.console import Console

    return Console


def run_both(machine, console, frames, rng):
    """Run both a frame at a time, with keys, drawing and reloading as they come."""
    for _ in range(frames):
        if rng.random() < 0.5:
            keys = rng.randrange(256)
            machine.press(keys)
            console.press(keys)
        drawn = rng.random() < 0.5
        machine.run_frame(drawn)
        console.run_frame(drawn)
        assert_same(machine, console, drawn)
        if rng.random() < 0.2:
            machine = reloaded(machine)


def run_random_program(console, cartridge, seed, frames):
    rng = random.Random(seed)
    machine = machine_with_memory(cartridge, seed)
    run_both(machine, console(cartridge, pack(machine), rng.random() < 0.5), frames, rng)


@given(cartridge=cartridges(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_random_programs(console, cartridge, seed):
    run_random_program(console, cartridge, seed, frames=3)


@pytest.mark.slow
@given(cartridge=cartridges(max_parts=200), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=400)
def test_many_random_programs(console, cartridge, seed):
    run_random_program(console, cartridge, seed, frames=6)


@pytest.mark.parametrize("seed", range(12))
def test_random_bytes_as_a_program(console, seed):
    rng = random.Random(seed)
    kind, ram = rng.choice([0x00, 0x03, 0x09, 0x13, 0x1B]), rng.choice([0, 2, 3])
    cartridge = build(rng.randbytes(64), kind=kind, ram=ram, banks=4, fill=rng.randbytes(0x8000))
    run_random_program(console, cartridge, seed, frames=3)


@given(cartridge=cartridges(), frames=st.lists(st.integers(1, 9), min_size=2, max_size=5))
def test_steps_of_any_length_and_idle_loops_cannot_be_told(console, cartridge, frames):
    """On the core alone: frames one by one or together, drawn or not, skipping loops or not."""
    row = pack(machine_with_memory(cartridge, 1))
    plain, quick = console(cartridge, row, False), console(cartridge, row, True)
    for number in frames:
        for _ in range(number):
            plain.run_frame(draw=True)
        quick.run_frames(number, draw=number % 2 == 0)
        assert plain.row.tobytes() == quick.row.tobytes()
        if number % 2 == 0:
            np.testing.assert_array_equal(plain.picture, quick.picture)


def test_a_row_is_a_machine(console):
    """Between any two frames a copy of the row goes on like the machine it was copied from."""
    cartridge = build(bytes.fromhex("3e05e0fffb2100c0343c2c18fb"))
    first = console(cartridge, pack(Machine(cartridge)))
    for _ in range(5):
        first.run_frame()
        second = console(cartridge, first.row)
        first.run_frames(3)
        second.run_frames(3)
        assert first.row.tobytes() == second.row.tobytes()
