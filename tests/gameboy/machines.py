"""Comparisons and Hypothesis' programs for the tests of the Game Boy."""

import numpy as np
from hypothesis import strategies as st

from fastenv.gameboy.position import pack
from tools.gameboy.generators.programs import program_cartridge
from tools.gameboy.machines import differences

RANDOMS = st.randoms(use_true_random=False)  # what they decide is drawn, and so can be shrunk


def cartridges(most=60):
    """A program that goes round for ever, with handlers for all interrupts."""
    return RANDOMS.map(lambda rng: program_cartridge(rng, most))


def assert_same(machine, console, drawn):
    """Compare the whole row, and the picture if there is one, of both implementations."""
    row = pack(machine)
    assert row.tobytes() == console.row.tobytes(), differences(row, console.row)
    if drawn:
        picture = np.frombuffer(bytes(machine.ppu.picture), np.uint8).reshape(144, 160)
        np.testing.assert_array_equal(picture, console.picture)


def run_alike(machine, console, drawn=False):
    """Run both implementations for a frame, and compare them."""
    machine.run_frame(drawn)
    console.run_frame(drawn)
    assert_same(machine, console, drawn)
