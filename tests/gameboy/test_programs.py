"""The committed ROMs: checks pass, both implementations agree, and so does PyBoy."""

import json
import random
import warnings

import pytest

from fastenv.gameboy.cartridge import load_cartridge
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import Key
from tests.gameboy.machines import assert_same
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk
from tools.roms import ROMS

MANIFEST = json.loads((ROMS / "manifest.json").read_text(encoding="ascii"))
MICRO = [name for name in MANIFEST if name.startswith("micro/")]
PROGRAMS = [name for name in MANIFEST if name not in MICRO]
RESULT, CHECKS = 0, 1  # in WRAM
PASSED, FAILED = 1, 2
SHORT = ("micro/daa.gb", "micro/dma.gb", "micro/serial.gb")


def run_checks(machine, wram, frames=60):
    """Run a program to its result, with two keys pressed after a while."""
    for frame in range(frames):
        if frame == 4:
            machine.press(1 << Key.A | 1 << Key.UP)
        machine.run_frame(draw=False)
        result = wram()[RESULT]
        if result in (PASSED, FAILED):
            return int(result), int(wram()[CHECKS])
    return 0, int(wram()[CHECKS])


@needs_core
@walk("name", MICRO)
def test_checks_pass(name):
    from fastenv.gameboy.console import Console

    cartridge = load_cartridge(ROMS / name)
    console = Console(cartridge, power_up_row(cartridge))
    result, checks = run_checks(console, lambda: console.row["wram"][0])
    assert result == PASSED, f"check {checks}"


@walk(
    "name",
    [name if name in SHORT else pytest.param(name, marks=pytest.mark.slow) for name in MICRO],
)
def test_checks_pass_in_the_reference(name):
    machine = Machine(load_cartridge(ROMS / name))
    result, checks = run_checks(machine, lambda: machine.bus.wram)
    assert result == PASSED, f"check {checks}"


@needs_core
@walk("name", every(3, ["lantern_walk.gb", *(name for name in PROGRAMS if "walk" not in name)]))
@walk("frames", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_reference_and_core_agree(name, frames):
    from fastenv.gameboy.console import Console

    rng = random.Random(frames)
    cartridge = load_cartridge(ROMS / name)
    machine, console = Machine(cartridge), Console(cartridge, power_up_row(cartridge))
    for _ in range(frames):
        keys = rng.randrange(256)
        machine.press(keys)
        console.press(keys)
        machine.run_frame()
        console.run_frame()
        assert_same(machine, console, drawn=True)


# -- beside PyBoy ----------------------------------------------------------------------------------

# The manifest says in what PyBoy differs from the console, and which program checks just that.
DIFFERS = [name for name in MICRO if "pyboy" in MANIFEST[name]]
ALIKE = [name for name in PROGRAMS if "pyboy" not in MANIFEST[name]]


def first_difference(name, frames, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the SDL that it finds, and that nobody uses here
        pytest.importorskip("pyboy")
    from tools.gameboy.compare import compare

    return compare(load_cartridge(ROMS / name), frames, seed)


@needs_core
@walk("name", every(3, ALIKE))
@walk(("frames", "seed"), [(300, 1), pytest.param(3000, 2, marks=pytest.mark.slow)])
def test_no_difference_from_pyboy(name, frames, seed):
    assert first_difference(name, frames, seed) is None


@needs_core
def test_objects_that_a_hidden_one_masks_are_no_difference():
    """PyBoy shows them; how such objects look is what the program is about."""
    assert "micro/sprite_mask.gb" in DIFFERS
    assert first_difference("micro/sprite_mask.gb", 40, 1) is None


@needs_core
@pytest.mark.slow
def test_fireflies_behind_each_other_are_no_difference():
    assert first_difference("lantern_walk.gb", 2400, 1) is None


@needs_core
@walk("name", every(2, [name for name in MICRO if name not in DIFFERS]))
def test_no_difference_from_pyboy_in_the_checks(name):
    assert first_difference(name, 40, 1) is None
