"""Reference against core: the whole row and every pixel, after every frame."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastenv.gameboy.position import pack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import IO
from tests.gameboy.machines import assert_same, cartridges, run_alike
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk
from tools.gameboy.machines import HANDLER, build, differences, machine_with_memory

pytestmark = [needs_core, pytest.mark.parity]


@pytest.fixture(scope="module")
def console():
    from fastenv.gameboy.console import Console

    return Console


# An interrupt at every end of mode 3 keeps in DE where in a long run of NOPs it came.
KEEP_RETURN = bytes.fromhex("f5 e5 f8 04 7e 12 1c e1 f1 d9")  # PUSH AF, HL; LD A,(SP+4); LD (DE),A
COUNT_ENDS = bytes.fromhex("31 00 df 11 00 c0 3e 08 e0 41 3e 02 e0 ff fb")


@walk("seed", every(4, range(8)))
def test_ends_of_mode_3_to_the_machine_cycle(console, seed):
    rng = random.Random(seed)
    program = COUNT_ENDS + bytes(0x3C00) + b"\xc3" + (0x150 + len(COUNT_ENDS)).to_bytes(2, "little")
    cartridge = build(program, patches=[(0x48, KEEP_RETURN)])
    machine = machine_with_memory(cartridge, seed)
    machine.ppu.lcdc = rng.choice([0x93, 0x97])
    machine.ppu.scx, machine.ppu.oam[::4] = rng.randrange(256), bytes([80, 84, 88, 92] * 10)
    twin = console(cartridge, pack(machine))
    for _ in range(2):
        run_alike(machine, twin)
    returns = pack(machine)["wram"][0, :144]
    assert len(set(np.diff(returns.astype(int)))) > 2, "objects delay some lines"


def test_an_interrupt_that_overtakes_another(console):
    """The joypad's is served every 23 cycles, STAT's comes every 114, in any cycle of the other."""
    begin = bytes.fromhex("31 00 df 11 00 c0 3e 08 e0 41 3e 12 e0 ff fb")
    program = begin + bytes.fromhex("3e 10 e0 0f 00 18 f9")  # 23 cycles with the handler
    keep_order = bytes.fromhex("3e ff 12 1c d9")  # LD (DE),$FF: no place in the loop ends so
    cartridge = build(program, patches=[(0x48, KEEP_RETURN), (0x60, keep_order)])
    machine = Machine(cartridge)
    twin = console(cartridge, pack(machine))
    run_alike(machine, twin)
    assert len(set(pack(machine)["wram"][0, :256].tolist())) > 2


def write_and_copy(nops, page, how):
    """Start DMA from a page, write to its first bytes after so many NOPs, keep what was copied."""
    address = bytes((0, page))
    write = {
        "word": b"\x08" + address,  # LD (a16),SP
        "push": b"\x31\x02" + address[1:] + b"\xc5",  # LD SP,page + 2; PUSH BC
        "count": b"\x21" + address + b"\x34",  # LD HL,page; INC (HL)
    }[how]
    start = bytes((0x3E, page, 0xE0, IO.DMA))
    keep = bytes.fromhex("21 00fe 2a 12 13 7e 12 13")  # LD HL,OAM; LD (DE),(HL+); LD (DE),(HL)
    return start + bytes(nops) + write + bytes(30) + keep


@walk("how", ["word", "push", "count"])
@walk("page", [0xC1, 0xA0, 0x80])
def test_writes_around_the_moment_of_a_copy(console, how, page):
    begin = bytes.fromhex("af e0 40 3e 0a ea 00 00 11 00 d0")  # display off, RAM on; LD DE,$D000
    program = begin + b"".join(write_and_copy(nops, page, how) for nops in range(150, 166))
    cartridge = build(program + b"\x18\xfe", kind=0x03, ram=2)
    machine = machine_with_memory(cartridge, page)
    twin = console(cartridge, pack(machine))
    for _ in range(2):  # turning the display off ends the first
        run_alike(machine, twin)


# Write to a register of the timer after so many NOPs, and keep TIMA and IF, then and a while later.
LOOK = bytes.fromhex("f0 05 12 13 f0 0f 12 13 00 00 f0 05 12 13 f0 0f 12 13")


@walk("register", [IO.DIV, IO.TIMA, IO.TMA, IO.TAC])
@walk("select", [0x05, 0x06])
@walk("served", [False, True])
def test_writes_around_the_moment_of_an_overflow(console, register, select, served):
    program = bytes.fromhex("11 00 d0") + bytes.fromhex("3e 04 e0 ff fb") * served
    for nops in range(2, 26):
        program += bytes((0xAF, 0xE0, IO.TAC, 0xE0, IO.DIV, 0xE0, IO.IF))
        program += bytes((0x3E, 0xFF, 0xE0, IO.TIMA, 0x3E, 0x77, 0xE0, IO.TMA))
        program += bytes((0x3E, select, 0xE0, IO.TAC))
        program += bytes(nops) + bytes((0x3E, 0x23, 0xE0, register)) + LOOK
    cartridge = build(program + b"\x18\xfe", patches=[(0x50, KEEP_RETURN)])
    machine = Machine(cartridge)
    twin = console(cartridge, pack(machine))
    run_alike(machine, twin)
    seen = pack(machine)["wram"][0, 0x1000 : 0x1000 + 24 * 4]
    assert len(set(seen.tolist())) > 2


@given(
    cartridge=cartridges(),
    frames=st.lists(st.integers(1, 9), min_size=2, max_size=5),
    fixed=st.booleans(),
)
def test_steps_of_any_length_and_idle_loops_cannot_be_told(console, cartridge, frames, fixed):
    """On the core alone: frames one by one or together, drawn or not, skipping loops or not."""
    row = pack(machine_with_memory(cartridge, 1))
    plain, quick = (console(cartridge, row, skip, fixed_frames=fixed) for skip in (False, True))
    for number in frames:
        for _ in range(number):
            plain.run_frame(draw=True)
        quick.run_frames(number, draw=number % 2 == 0)
        assert plain.row.tobytes() == quick.row.tobytes()
        if number % 2 == 0:
            np.testing.assert_array_equal(plain.picture, quick.picture)


# Loops that wait, or seem to; counted in B, DE or memory, so that an iteration too many is seen.
LOOPS = {
    "waits for a handler": "f0 fe a7 28 fb af e0 fe 14 18 f5",
    "waits for a line, which it reads through HL": "26 ff 2e 44 7e 60 69 fe 42 20 f5 14 18 f2",
    "reads a line through BC": "01 44 ff 11 00 c0 60 69 7e 62 6b fe 42 20 f7 1c 18 f4",
    "is entered twice": "21 00 c0 c3 5f 01 7e a7 28 fc 36 00 c3 56 01 36 01 af a7 18 f1",
    "counts": "04 20 fd 14 18 fa",
    "writes": "70 2c 18 fc",
    "changes the stack": "33 18 fd",
    "looks at the timer": "f0 05 fe 42 20 fa 14 18 f7",
    "stays where it is": "18 fe",
    "looks at HL in page $FF": "21 0f ff cb 46 28 fc cb 86 14 18 f8",
}


@walk("name", LOOPS)
@walk("interrupts", [False, True])
def test_loops_that_are_not_idle(console, name, interrupts):
    enable = bytes.fromhex("3e 05 e0 ff e0 07 fb")
    program = bytes.fromhex(LOOPS[name])
    if interrupts:  # handlers of VBlank and timer count in $FFFE
        patches = [(0x40, HANDLER), (0x50, HANDLER), (0x200, enable + b"\xc3\x50\x01")]
    else:
        patches = [(0x200, b"\xc3\x50\x01")]
    cartridge = build(program, patches=[*patches, (0x101, b"\xc3\x00\x02")])
    machine = Machine(cartridge)
    machine.bus.hram[0x7E] = 1
    quick, plain = (console(cartridge, pack(machine), skip) for skip in (True, False))
    for frame in range(6):
        quick.run_frame(draw=False)
        plain.run_frame(draw=False)
        assert quick.row.tobytes() == plain.row.tobytes(), differences(plain.row, quick.row)
        if frame < 1:
            machine.run_frame(draw=False)
            assert_same(machine, quick, drawn=False)


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
