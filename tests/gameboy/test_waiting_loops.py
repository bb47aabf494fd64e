"""Loops that wait: that iterations are left out of them is not to be seen, and saves work."""

import random

import pytest

from fastenv.gameboy.position import pack
from tests.gameboy.machines import run_alike
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk
from tools.gameboy.generators.programs import waiting_cartridge
from tools.gameboy.machines import build, machine_with_memory

pytestmark = [needs_core, pytest.mark.parity]

LOOPS = {
    "a line": b"\xf0\x44\xfe\x91\x20\xfa",
    "even lines": b"\xfa\x44\xff\xe6\x01\x20\xf9",
    "mode 0 or 1": b"\xf0\x41\xe6\x02\x20\xfa",
    "mode 3": b"\xf0\x41\xe6\x03\xfe\x03\x20\xf8",
    "LY is LYC": b"\xf0\x41\xcb\x57\x28\xfa",
    "VBlank in IF": b"\xf0\x0f\x0f\x30\xfb",
    "a while": b"\x06\xc7\x00\x05\x20\xfc",
    "a long while": b"\x01\x40\x03\x0b\x78\xb1\x20\xfb",
}


@walk("loop", every(2, LOOPS))
def test_a_loop_that_waits(loop):
    from fastenv.gameboy.console import Console

    counts = b"\x21\x00\xc0\x34"  # how often it was over
    machine = machine_with_memory(build(LOOPS[loop] + counts + b"\xc3\x50\x01"), 0)
    console = Console(machine.cartridge, pack(machine))
    for frame in range(3):
        run_alike(machine, console, drawn=frame == 2)


@walk("seed", range(40))
def test_left_out_or_not_is_the_same(seed):
    """Many more, without the reference: the core with all iterations beside the core without."""
    from fastenv.gameboy.console import Console

    cartridge = waiting_cartridge(random.Random(1000 + seed))
    row = pack(machine_with_memory(cartridge, seed))
    some, every = Console(cartridge, row), Console(cartridge, row.copy(), skip_idle=False)
    for frame in range(12):
        for console in (some, every):
            console.run_frame(frame % 3 == 2)
        assert some.row.tobytes() == every.row.tobytes(), f"frame {frame}"
