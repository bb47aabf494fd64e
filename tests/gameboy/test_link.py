"""Two machines on a cable (docs/gameboy.md, 22)."""

import random

import pytest

from fastenv.errors import StateError
from fastenv.gameboy.position import pack
from fastenv.gameboy.reference import Link, Machine
from fastenv.gameboy.tables import FRAME, IO
from tests.needs import needs_core
from tests.tables import walk
from tools.gameboy.generators.serial import hammering_cartridge
from tools.gameboy.machines import build, differences

FIXED = {"fixed_frames": True}
IDLE = b"\x18\xfe"


def program(*parts):
    return build(b"".join(parts) + IDLE)


def write(register, value):
    return bytes((0x3E, value, 0xE0, register))


def wait(machine_cycles):
    """Return NOPs: so many machine cycles."""
    return bytes(machine_cycles)


def keep(register, address):
    return bytes((0xF0, register, 0xEA, address & 0xFF, address >> 8))


def linked(one, two):
    return Link((Machine(one, **FIXED), Machine(two, **FIXED)))


def sb_and_sc(link):
    return [(port.sb, port.sc) for port in link.ports]


MASTER = (write(IO.SB, 0xA5), write(IO.SC, 0x81))
SLAVE = (write(IO.SB, 0x3C), write(IO.SC, 0x80))


def test_both_bytes_change_sides():
    link = linked(program(wait(20), *MASTER), program(*SLAVE))
    link.run_frame(draw=False)
    assert sb_and_sc(link) == [(0x3C, 0x01), (0xA5, 0x00)]
    assert [machine.bus.interrupts.requested & 8 for machine in link.machines] == [8, 8]


def test_both_sides_can_have_the_clock_in_turn():
    first = (*SLAVE, wait(2000), write(IO.SB, 0x11), write(IO.SC, 0x81))
    second = (wait(20), *MASTER, wait(1100), write(IO.SB, 0x22), write(IO.SC, 0x80))
    link = linked(program(*first), program(*second))
    link.run_frame(draw=False)
    assert sb_and_sc(link) == [(0x22, 0x01), (0x11, 0x00)]


def test_who_does_not_listen_hears_nothing_and_sends_ones():
    link = linked(program(*MASTER), program(write(IO.SB, 0x3C)))
    link.run_frame(draw=False)
    assert sb_and_sc(link) == [(0xFF, 0x01), (0x3C, 0x00)]


def test_who_begins_to_listen_amid_a_transfer_gets_the_rest():
    """Of the eight bits the last four come; four are still to come from the next transfer."""
    late = (wait(540), *SLAVE)
    link = linked(program(wait(20), *MASTER), program(*late))
    link.run_frame(draw=False)
    assert sb_and_sc(link) == [(0xF3, 0x01), (0xC5, 0x80)]
    assert link.ports[1].bits == 4


def test_two_clocks_do_not_hear_each_other():
    link = linked(program(*MASTER), program(wait(40), *MASTER))
    link.run_frame(draw=False)
    assert sb_and_sc(link) == [(0xFF, 0x01), (0xFF, 0x01)]


def test_two_that_listen_wait_for_ever():
    link = linked(program(*SLAVE), program(*SLAVE))
    for _ in range(2):
        link.run_frame(draw=False)
    assert sb_and_sc(link) == [(0x3C, 0x80), (0x3C, 0x80)]


def test_writes_to_div_hurry_a_transfer():
    """Sixteen falls of bit 7 of the counter send a byte; here each is such a write."""
    falls = b"".join(wait(40) + bytes((0xE0, IO.DIV)) for _ in range(16))
    looks = (*SLAVE, wait(780), keep(IO.SB, 0xC000), keep(IO.SC, 0xC001))
    seen = []
    for hurried in (falls, b""):
        begin = (wait(20), write(IO.DIV, 0), *MASTER, hurried)
        link = linked(program(*begin), program(*looks))
        link.run_frame(draw=False)
        assert sb_and_sc(link) == [(0x3C, 0x01), (0xA5, 0x00)]
        seen.append(bytes(link.machines[1].bus.wram[:2]))
    assert seen[0] == b"\xa5\x7e"
    assert seen[1][1] == 0xFE, "the transfer is not over yet"


@walk("after", range(8, 20))
def test_a_listener_sees_a_bit_in_the_machine_cycle_in_which_it_leaves(after):
    clock = (wait(8), write(IO.DIV, 0), write(IO.SB, 0), write(IO.SC, 0x81))
    div_written = 5 + 8 + 2 + 2  # machine cycles; programs begin after 5
    leaves = div_written + 512 // 4
    read = 5 + 2 * 5 + 114 + after + 2
    link = linked(program(*clock), program(*SLAVE, wait(114 + after), keep(IO.SB, 0xC000)))
    link.run_frame(draw=False)
    assert link.machines[1].bus.wram[0] == (0x78 if read >= leaves else 0x3C)


# -- against the core ------------------------------------------------------------------------------


@needs_core
@pytest.mark.parity
def test_a_machine_whose_other_side_is_idle_is_a_machine_alone():
    from fastenv.gameboy.console import Console, LinkedConsoles

    for seed in range(20):
        rng = random.Random(seed)
        cartridge = hammering_cartridge(rng)
        alone, one = (Console(cartridge, pack(Machine(cartridge)), **FIXED) for _ in range(2))
        idle = build(IDLE)
        pair = [one, Console(idle, pack(Machine(idle)), **FIXED)]
        LinkedConsoles(tuple(pair[:: rng.choice([1, -1])])).run_frames(5)
        alone.run_frames(5)
        assert alone.row.tobytes() == one.row.tobytes(), differences(alone.row, one.row)


@needs_core
def test_clocks_of_different_frames_are_refused():
    from fastenv.gameboy.console import Console, LinkedConsoles

    cartridge = build(IDLE)
    one, two = (Console(cartridge, pack(Machine(cartridge)), **FIXED) for _ in range(2))
    one.run_frame()
    with pytest.raises(StateError, match=f"frame of {FRAME} T"):
        LinkedConsoles((one, two))
