"""Reference against core: the whole row and every pixel, after every frame."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastenv.gameboy.position import pack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import IO
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


# An interrupt at every end of mode 3 keeps in DE where in a long run of NOPs it came.
KEEP_RETURN = bytes.fromhex("f5 e5 f8 04 7e 12 1c e1 f1 d9")  # PUSH AF, HL; LD A,(SP+4); LD (DE),A
COUNT_ENDS = bytes.fromhex("31 00 df 11 00 c0 3e 08 e0 41 3e 02 e0 ff fb")


@pytest.mark.parametrize("seed", range(8))
def test_ends_of_mode_3_to_the_machine_cycle(console, seed):
    rng = random.Random(seed)
    program = COUNT_ENDS + bytes(0x3C00) + b"\xc3" + (0x150 + len(COUNT_ENDS)).to_bytes(2, "little")
    cartridge = build(program, patches=[(0x48, KEEP_RETURN)])
    machine = machine_with_memory(cartridge, seed)
    machine.ppu.lcdc = rng.choice([0x93, 0x97])
    machine.ppu.scx, machine.ppu.oam[::4] = rng.randrange(256), bytes([80, 84, 88, 92] * 10)
    twin = console(cartridge, pack(machine))
    for _ in range(2):
        machine.run_frame(draw=False)
        twin.run_frame(draw=False)
        assert_same(machine, twin, drawn=False)
    returns = pack(machine)["wram"][0, :144]
    assert len(set(np.diff(returns.astype(int)))) > 2, "objects delay some lines"


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


@pytest.mark.parametrize("how", ["word", "push", "count"])
@pytest.mark.parametrize("page", [0xC1, 0xA0, 0x80])
def test_writes_around_the_moment_of_a_copy(console, how, page):
    begin = bytes.fromhex("af e0 40 3e 0a ea 00 00 11 00 d0")  # display off, RAM on; LD DE,$D000
    program = begin + b"".join(write_and_copy(nops, page, how) for nops in range(150, 166))
    cartridge = build(program + b"\x18\xfe", kind=0x03, ram=2)
    machine = machine_with_memory(cartridge, page)
    twin = console(cartridge, pack(machine))
    for _ in range(2):
        machine.run_frame(draw=False)
        twin.run_frame(draw=False)
        assert_same(machine, twin, drawn=False)


# Write to a register of the timer after so many NOPs, and keep TIMA and IF, then and a while later.
LOOK = bytes.fromhex("f0 05 12 13 f0 0f 12 13 00 00 f0 05 12 13 f0 0f 12 13")


@pytest.mark.parametrize("register", [IO.DIV, IO.TIMA, IO.TMA, IO.TAC])
@pytest.mark.parametrize("select", [0x05, 0x06])
def test_writes_around_the_moment_of_an_overflow(console, register, select):
    program = bytes.fromhex("11 00 d0")
    for nops in range(2, 26):
        program += bytes((0xAF, 0xE0, IO.TAC, 0xE0, IO.DIV, 0xE0, IO.IF))
        program += bytes((0x3E, 0xFF, 0xE0, IO.TIMA, 0x3E, 0x77, 0xE0, IO.TMA))
        program += bytes((0x3E, select, 0xE0, IO.TAC))
        program += bytes(nops) + bytes((0x3E, 0x23, 0xE0, register)) + LOOK
    cartridge = build(program + b"\x18\xfe")
    machine = Machine(cartridge)
    twin = console(cartridge, pack(machine))
    for _ in range(2):
        machine.run_frame(draw=False)
        twin.run_frame(draw=False)
        assert_same(machine, twin, drawn=False)
    seen = pack(machine)["wram"][0, 0x1000 : 0x1000 + 24 * 4]
    assert len(set(seen.tolist())) > 2


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
