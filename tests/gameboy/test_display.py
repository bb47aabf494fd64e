"""When the display does what: lines, modes and interrupts in T, in the reference."""

import pytest

from fastenv.gameboy.reference import Machine
from fastenv.gameboy.reference.ppu import DRAW, HBLANK, SCAN, VBLANK
from fastenv.gameboy.tables import FRAME, IO
from tools.gameboy.machines import build

LY_42 = 42 * 456


@pytest.fixture
def machine():
    """A machine that is just before its first frame."""
    return Machine(build(b""))


def run_to(machine, dot):
    """Let the display run to a time of its frame."""
    while machine.ppu.dot != dot:
        machine.bus.tick()
    return machine.ppu


@pytest.mark.parametrize(
    ("dot", "ly", "mode"),
    [(0, 0, SCAN), (76, 0, SCAN), (80, 0, DRAW), (248, 0, DRAW), (252, 0, HBLANK),
     (448, 0, HBLANK), (452, 1, HBLANK), (456, 1, SCAN), (536, 1, DRAW),
     (65_656, 143, HBLANK), (65_660, 144, HBLANK), (65_664, 144, VBLANK), (66_112, 144, VBLANK),
     (66_116, 145, VBLANK), (69_764, 153, VBLANK), (69_768, 0, VBLANK), (70_216, 0, VBLANK),
     (70_220, 0, HBLANK)],
)  # fmt: skip
def test_lines_and_modes(machine, dot, ly, mode):
    ppu = run_to(machine, dot)
    assert (ppu.ly, ppu.mode) == (ly, mode)


@pytest.mark.parametrize(
    ("dot", "ly", "mode"),
    [(0, 0, HBLANK), (76, 0, HBLANK), (80, 0, DRAW), (248, 0, DRAW), (252, 0, HBLANK),
     (448, 0, HBLANK), (452, 1, HBLANK), (456, 1, SCAN), (536, 1, DRAW), (65_660, 144, HBLANK),
     (65_664, 144, VBLANK), (70_220, 0, HBLANK)],
)  # fmt: skip
def test_first_frame_has_no_mode_2_in_its_first_line(machine, dot, ly, mode):
    machine.ppu.write_lcdc(0x00)
    machine.bus.tick()
    machine.ppu.write_lcdc(0x91)
    ppu = run_to(machine, dot)
    assert (ppu.ly, ppu.mode) == (ly, mode)
    run_to(machine, FRAME - 4)
    machine.bus.tick()
    assert (ppu.dot, ppu.ly, ppu.mode, ppu.first_frame) == (0, 0, SCAN, False)


@pytest.mark.parametrize(("scx", "cycles"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 0), (255, 1)])
def test_scrolling_delays_the_end_of_mode_3(machine, scx, cycles):
    machine.ppu.scx = scx
    assert run_to(machine, 248 + 4 * cycles).mode == DRAW
    assert run_to(machine, 252 + 4 * cycles).mode == HBLANK


@pytest.mark.parametrize(
    ("columns", "cycles"),
    [([0], 2), ([3], 2), ([4], 1), ([7], 1), ([8], 2), ([164], 1), ([167], 1), ([168], 0),
     ([0] * 2, 4), ([0] * 5, 8), ([0] * 10, 16), ([1] * 10, 16), ([2] * 10, 15), ([168] * 10, 0),
     ([0] * 5 + [160] * 5, 17), ([2] * 5 + [162] * 5, 16), ([4] * 5 + [164] * 5, 15),
     ([0, 8], 5), ([2, 10], 4), ([5, 13], 3), (range(0, 80, 8), 27), (range(72, -1, -8), 27),
     (range(1, 81, 8), 25), (range(3, 83, 8), 20), (range(7, 87, 8), 15)],
)  # fmt: skip
def test_objects_delay_the_end_of_mode_3(machine, columns, cycles):
    ppu = machine.ppu
    ppu.lcdc |= 0x02
    for number, x in enumerate(columns):
        ppu.oam[4 * number : 4 * number + 2] = bytes((0x52, x))
    line = LY_42 + 24 * 456  # line 66, which the objects begin on
    assert run_to(machine, line + 248 + 4 * cycles).mode == DRAW
    assert run_to(machine, line + 252 + 4 * cycles).mode == HBLANK


@pytest.mark.parametrize(
    ("enabled", "dots"),
    [(0x08, [252, 708, 1164]), (0x20, [0, 452, 908]), (0x40, [912]), (0x28, [0, 252, 708])],
)
def test_stat_interrupts(machine, enabled, dots):
    """Requested when the first source sets in: mode 0 goes straight over into mode 2."""
    machine.ppu.write_lyc(2)
    machine.ppu.write_stat(enabled)
    found = []
    while machine.ppu.dot < 1200:
        machine.bus.interrupts.requested = 0
        machine.bus.tick()
        if machine.bus.interrupts.requested & 2:
            found.append(machine.ppu.dot)
    assert found[: len(dots)] == dots


@pytest.mark.parametrize(("scx", "dot"), [(0, 252), (2, 252), (3, 256), (6, 256), (7, 260)])
def test_the_interrupt_at_the_end_of_mode_3_is_a_tick_behind_it(machine, scx, dot):
    machine.ppu.scx = scx
    machine.ppu.write_stat(0x08)
    machine.bus.interrupts.requested = 0
    run_to(machine, dot - 4)
    assert not machine.bus.interrupts.requested
    assert run_to(machine, dot).interrupts.requested == 2


@pytest.mark.parametrize(
    ("dot", "lyc", "match"),
    [(448, 0, 1), (452, 0, 0), (452, 1, 0), (456, 1, 1), (65_660, 143, 0), (65_664, 144, 1),
     (69_764, 153, 0), (69_768, 153, 1), (69_768, 0, 0), (69_772, 153, 0), (69_772, 0, 0),
     (69_776, 0, 1), (70_220, 0, 1)],
)  # fmt: skip
def test_ly_is_compared_a_cycle_after_it_changes(machine, dot, lyc, match):
    machine.ppu.write_lyc(lyc)
    assert run_to(machine, dot).read_stat() >> 2 & 1 == match


@pytest.mark.parametrize(("dot", "sources"), [(100, 0), (300, 2), (65_700, 2), (20, 0)])
def test_while_stat_is_written_all_sources_are_chosen(machine, dot, sources):
    machine.ppu.write_lyc(99)
    run_to(machine, dot)
    machine.bus.interrupts.requested = 0
    machine.ppu.write_stat(0x00)
    assert machine.bus.interrupts.requested == sources


def test_mode_2_counts_at_the_beginning_of_vblank(machine):
    machine.ppu.write_stat(0x20)
    run_to(machine, 65_660)
    machine.bus.interrupts.requested = 0
    machine.bus.tick()
    assert machine.bus.interrupts.requested == 3


def test_comparison_rests_while_the_display_is_off(machine):
    ppu = machine.ppu
    run_to(machine, 65_664)
    ppu.write_lyc(144)
    ppu.write_lcdc(0x00)
    assert ppu.read_stat() & 7 == 4
    ppu.write_lyc(1)
    assert ppu.read_stat() & 7 == 4
    ppu.write_lcdc(0x80)
    assert ppu.read_stat() & 7 == 0


@pytest.mark.parametrize(
    ("dot", "vram", "oam"),
    [(4, "rw", ""), (72, "rw", ""), (76, "w", "w"), (80, "", ""), (248, "", ""), (252, "rw", "rw"),
     (448, "rw", "rw"), (452, "rw", "w"), (456, "rw", "")],
)  # fmt: skip
def test_who_has_video_memory(machine, dot, vram, oam):
    """Which of reading and writing works, for the processor."""
    run_to(machine, dot)
    for address, memory, works in (
        (0x8000, machine.ppu.vram, vram),
        (0xFE00, machine.ppu.oam, oam),
    ):
        memory[0] = 1
        read = machine.bus._read(address) == 1
        machine.bus._write(address, 2)
        assert ("r" * read + "w" * (memory[0] == 2)) == works


def test_registers_that_do_not_exist_read_as_ones(machine):
    for low in (0x03, 0x08, 0x0E, 0x15, 0x1F, 0x27, 0x4C, 0x7F):
        machine.bus.write(0xFF00 | low, 0)
        assert machine.bus.read(0xFF00 | low) == 0xFF
    for register, ones in ((IO.P1, 0xCF), (IO.SC, 0x7E), (IO.TAC, 0xF8), (IO.IF, 0xE0)):
        machine.bus.write(0xFF00 | register, 0)
        assert machine.bus.read(0xFF00 | register) == ones
