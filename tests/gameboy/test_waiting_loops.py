"""Loops that wait: that iterations are left out of them is not to be seen, and saves work."""

import random

import pytest

from fastenv.gameboy.position import pack
from fastenv.gameboy.tables import IO
from tests.gameboy.machines import HANDLER, VECTORS, assert_same, build, machine_with_memory
from tests.needs import needs_core
from tests.slow import every

pytestmark = [needs_core, pytest.mark.parity]

POLLED = (IO.LY, IO.STAT, IO.IF, IO.DIV, IO.P1, IO.SC, IO.LYC, IO.TIMA, 0xFE)
JUMPS = (0x20, 0x28, 0x30, 0x38)
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


def body_of(rng):
    """Return a loop that polls a register and judges it somehow."""
    code = bytes((0xF0, rng.choice(POLLED)))
    for _ in range(rng.randrange(3)):
        judge = rng.choice((0xFE, 0xE6, 0xE6, 0xF6, 0xEE, 0xD6, 0xC6, 0xCE, 0xCB, 0xB8, 0x0F, 0x2F))
        operand = rng.choice((1, 2, 3, 4, 0x10, 0x90, rng.randrange(256)))
        if judge == 0xCB:
            operand = 0x47 | operand << 3 & 0x38
        code += bytes((judge, operand) if judge >= 0xC0 else (judge,))
    return code + bytes((rng.choice(JUMPS), 254 - len(code)))


def delay_of(rng):
    """Return a loop that counts down."""
    if rng.random() < 0.5:
        code = bytes(rng.randrange(3)) + bytes((0x0D,))
        return bytes((0x0E, rng.randrange(256))) + code + bytes((0x20, 254 - len(code)))
    return bytes((0x11, rng.randrange(256), rng.randrange(3), 0x1B, 0x7B, 0xB2, 0x20, 0xFB))


def write_of(rng):
    """Return a write of what decides when interrupts come."""
    low = rng.choice((IO.STAT, IO.LYC, IO.IE, IO.IF, IO.TAC, IO.SCX))
    value = rng.choice((0x40, 0x08, 0x20, 0x48, 0x78, 1, 2, 3, 7, rng.randrange(154)))
    return bytes((0x3E, value, 0xE0, low)) + rng.choice((b"", b"", b"\xfb\x00", b"\xf3"))


def program(seed):
    """Return a cartridge whose program waits in ways that ``seed`` decides, for ever."""
    rng = random.Random(seed)
    parts = [rng.choice((body_of, delay_of, write_of, write_of))(rng) for _ in range(12)]
    code = b"\x31\x00\xd0" + b"".join(parts) + b"\xc3\x50\x01"
    return build(code, patches=[(vector, HANDLER) for vector in VECTORS])


def run_both(cartridge, seed, frames, **options):
    """Compare both implementations after every frame; return the core."""
    from fastenv.gameboy.console import Console

    machine = machine_with_memory(cartridge, seed, **options)
    console = Console(cartridge, pack(machine), **options)
    for frame in range(frames):
        drawn = frame % 3 == 2
        machine.run_frame(drawn)
        console.run_frame(drawn)
        assert_same(machine, console, drawn)
    return console


@pytest.mark.parametrize("loop", every(2, LOOPS))
def test_a_loop_that_waits(loop):
    counts = b"\x21\x00\xc0\x34"  # how often it was over
    run_both(build(LOOPS[loop] + counts + b"\xc3\x50\x01"), 0, 3)


@pytest.mark.parametrize("seed", every(4, range(12)))
def test_programs_that_wait_somehow(seed):
    run_both(program(seed), seed, 3, fixed_frames=seed % 3 == 0)


@pytest.mark.parametrize("seed", range(40))
def test_left_out_or_not_is_the_same(seed):
    """Many more, without the reference: the core with all iterations beside the core without."""
    from fastenv.gameboy.console import Console

    cartridge = program(1000 + seed)
    row = pack(machine_with_memory(cartridge, seed))
    some, every = Console(cartridge, row), Console(cartridge, row.copy(), skip_idle=False)
    for frame in range(12):
        for console in (some, every):
            console.run_frame(frame % 3 == 2)
        assert some.row.tobytes() == every.row.tobytes(), f"frame {frame}"
