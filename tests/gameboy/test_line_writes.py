"""Writes within a line: rules by hand, lines without any, and reference against core."""

import random

import numpy as np
import pytest

from fastenv.errors import ConfigError, StateError
from fastenv.gameboy import make_game
from fastenv.gameboy.position import pack, unpack
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.reference.interrupts import Interrupts
from fastenv.gameboy.reference.pipeline import Write, draw
from fastenv.gameboy.reference.ppu import Ppu
from fastenv.gameboy.reference.render import render_line
from fastenv.gameboy.savestate import load_state, save_state
from fastenv.gameboy.state import fitted, state_dtype
from fastenv.gameboy.tables import (
    DRAW_END,
    FRAME,
    IO,
    LAST_DRAW,
    LINE_BYTES,
    LINE_COUNT,
    LINE_REGISTERS,
    LINE_WRITES,
    MOST_WRITES,
)
from fastenv.gameboy.validate_machine import validate_rows
from tests.gameboy.lanes import BACKENDS, engine_of
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk
from tools.gameboy.generators.display import writing_cartridge
from tools.gameboy.machines import build, machine_with_memory

# Registers in the order of LINE_REGISTERS: SCY, SCX, LCDC, WX, WY, BGP, OBP0, OBP1.
PLAIN = (0, 0, 0x91, 7, 0, 0xE4, 0xE4, 0xE4)


# -- rules (docs/gameboy.md, 8.4) ------------------------------------------------------------------


def display(ly=40):
    """A display whose tile 0 is 0, 1, 2, 3 twice, tile 1 the other way round, and tile 2 black."""
    ppu = Ppu(Interrupts())
    ppu.vram[0:16] = bytes((0b01010101, 0b00110011)) * 8
    ppu.vram[16:32] = bytes((0b10101010, 0b11001100)) * 8
    ppu.vram[32:48] = b"\xff" * 16
    ppu.vram[0x1C00:0x2000] = b"\1" * 0x400
    ppu.ly = ly
    return ppu


def line(ppu, *writes, began=PLAIN, seen=False):
    """Return the shades of a line as digits, and when it ends."""
    drawn = draw(ppu, began, seen, 0, [Write(*write) for write in writes])
    return "".join(map(str, drawn.shades)), drawn.end


def test_a_palette_has_both_values_for_a_pixel():
    """A write at T 100 is there from pixel 10 on, the first of all being mixed at T 90."""
    shades, end = line(display(), (100, IO.BGP, 0x1B))
    assert shades[:20] == "012301230" + "3" + "1032" + "103210"
    assert (shades[20:], end) == (("3210" * 40)[20:], DRAW_END)


def test_a_palette_in_the_machine_cycle_of_the_last_pixel():
    assert line(display(), (252, IO.BGP, 0xFF))[0] == "0123" * 40
    began = (0, 2, *PLAIN[2:])
    assert line(display(), (252, IO.BGP, 0xFF), began=began)[0] == ("0123" * 41)[2:161] + "3"


def test_fetchers_see_the_map_before_their_machine_cycle():
    """The tile of pixels 16 to 23 is looked up at T 98, that of the next ones at T 106."""
    other = "3210" * 2
    assert line(display(), (99, IO.LCDC, 0x99))[0] == "0123" * 4 + other * 18
    assert line(display(), (100, IO.LCDC, 0x99))[0] == "0123" * 6 + other * 17


def test_scy_within_a_tile_mixes_its_rows():
    ppu = display()
    ppu.vram[0:16] = bytes((0xFF, 0x00, 0x00, 0xFF)) + bytes(12)
    ppu.ly = 0
    shades, _ = line(ppu, (102, IO.SCY, 1))  # between low and high byte of the tile at pixel 16
    assert (shades[:16], shades[16:24], shades[24:32]) == ("1" * 16, "3" * 8, "2" * 8)


@pytest.mark.parametrize(("at", "scrolled"), [(80, 3), (84, 0)])
def test_scx_after_the_first_pixel_has_left_its_queue(at, scrolled):
    shades, end = line(display(), (at, IO.SCX, 3))
    assert shades[:8] == ("0123" * 3)[scrolled : scrolled + 8]
    assert end == DRAW_END + scrolled


def test_scx_that_is_passed_is_waited_for_again():
    """Three bits are compared while pixels are thrown away: they run round once."""
    began = (0, 7, *PLAIN[2:])
    assert line(display(), began=began)[1] == DRAW_END + 7
    assert line(display(), (88, IO.SCX, 1), began=began)[1] == DRAW_END + 8 + 1


def test_the_window_begins_a_second_time_with_its_next_row():
    ppu = display(ly=0)
    ppu.vram[0x1800:0x1820] = b"\2" * 32
    ppu.vram[0:16] = bytes((0xFF, 0x00)) + bytes((0x00, 0xFF)) + bytes(12)
    began = (0, 0, 0xB1, 7, 0, *PLAIN[5:])
    ppu.vram[0x1800:0x1820] = b"\0" * 32
    writes = [(120, IO.LCDC, 0x91), (132, IO.WX, 107), (140, IO.LCDC, 0xB1)]
    drawn = draw(ppu, began, True, 0, [Write(*write) for write in writes])
    assert (drawn.windows, drawn.end) == (2, DRAW_END + 12)
    assert set(drawn.shades[:100]) == {1}
    assert set(drawn.shades[100:]) == {2}


def with_object(x=40):
    ppu = display()
    ppu.oam[0:4] = bytes((ppu.ly + 16, x + 8, 2, 0))
    return ppu


def test_objects_that_are_turned_off_while_one_is_fetched():
    on = (0, 0, 0x93, *PLAIN[3:])
    shades, end = line(with_object(), began=on)
    assert (shades[40:48], end) == ("3" * 8, DRAW_END + 11)
    shades, end = line(with_object(), (132, IO.LCDC, 0x91), began=on)  # fetched from T 130 on
    assert (shades, end) == ("0123" * 40, DRAW_END + 1)
    shades, end = line(with_object(), (144, IO.LCDC, 0x91), began=on)  # it is in the queue
    assert shades[:42] == ("0123" * 11)[:40] + "33"
    assert shades[43:] == ("0123" * 40)[43:]
    assert end == DRAW_END + 11


def test_a_line_does_not_go_on_for_ever():
    """SCX that never is the number of pixels thrown away."""
    writes = [Write(80 + 8 * k, IO.SCX, (5 * k + 1) % 8) for k in range(46)]
    drawn = draw(display(), PLAIN, False, 0, writes)
    assert drawn.end <= LAST_DRAW
    assert len(drawn.shades) == 160


def random_display(rng):
    ppu = Ppu(Interrupts())
    ppu.vram[:], ppu.ly, ppu.window_line = rng.randbytes(0x2000), rng.randrange(144), 30
    ppu.dot = 456 * ppu.ly + 80
    for i in range(0, 160, 4):
        top = ppu.ly + 16 - rng.randrange(8) if rng.random() < 0.25 else 0
        x = rng.choice([0, rng.randrange(170), rng.randrange(20)])
        ppu.oam[i : i + 4] = bytes((top, x, rng.randrange(256), rng.randrange(256)))
    ppu.lcdc, ppu.scx = 0x81 | rng.randrange(128), rng.choice([0, rng.randrange(256)])
    ppu.scy, ppu.wx, ppu.wy = rng.randrange(256), rng.choice([0, rng.randrange(170)]), 255
    ppu.bgp, ppu.obp0, ppu.obp1 = rng.randbytes(3)
    ppu.wy_seen = rng.random() < 0.7
    return ppu


def test_a_line_without_writes_is_that_of_the_plain_renderer():
    """But for two effects of the window that only lines with writes have."""
    rng, compared = random.Random(5), 0
    for _ in range(600):
        ppu = random_display(rng)
        window_on = bool(ppu.lcdc & 0x20)
        if ppu.wy_seen and (not window_on or (ppu.wx == 0 and ppu.scx & 7)):
            continue
        ppu._plan_line()
        window = bool(ppu.window_at)
        began = [getattr(ppu, register.name.lower()) for register in LINE_REGISTERS]
        drawn = draw(ppu, began, ppu.wy_seen, ppu.window_line, [])
        assert (drawn.end, drawn.windows) == (DRAW_END + ppu.delay, window)
        assert drawn.shades == render_line(ppu, window)
        compared += 1
    assert compared > 250


# -- reference and core ----------------------------------------------------------------------------


def twins(seed, **options):
    from fastenv.gameboy.console import Console

    cartridge = writing_cartridge(random.Random(seed))
    machine = machine_with_memory(cartridge, seed)
    machine.bus.cyc = 4 * random.Random(seed).randrange(FRAME // 4)  # a fixed frame ends anywhere
    row = pack(machine)
    machine = unpack(row, cartridge, by_pixel=True, **options)
    return machine, Console(cartridge, row, accuracy="pixel", **options)


@needs_core
@pytest.mark.parity
@walk("seed", range(20, 26))
def test_drawing_and_steps_change_nothing_else(seed):
    _, plain = twins(seed, fixed_frames=seed % 2 == 0)
    _, quick = twins(seed, fixed_frames=seed % 2 == 0)
    for _ in range(4):
        for _ in range(3):
            plain.run_frame(draw=True)
        quick.run_frames(3, draw=False)
        assert plain.row.tobytes() == quick.row.tobytes()


# BGP is 0 until mode 3 and $FF from somewhere in it on.
BARS = bytes((0xAF, 0xE0, IO.BGP)) + bytes.fromhex("f0 41 e6 03 fe 03 20 f8") + bytes(10)
BARS += bytes((0x3E, 0xFF, 0xE0, IO.BGP)) + bytes.fromhex("f0 41 e6 03 20 fa c3 50 01")


@needs_core
def test_a_write_shows_from_its_pixel_on_if_asked_for():
    """BGP changes once a line, between two columns; a line is all one shade otherwise."""
    from fastenv.gameboy.console import Console

    cartridge, widths = build(BARS), {}
    for accuracy in ("line", "pixel"):
        console = Console(cartridge, pack(Machine(cartridge)), accuracy=accuracy)
        console.run_frames(3)
        widths[accuracy] = set(np.count_nonzero(console.picture == 3, axis=1).tolist())
    assert widths["line"] == {160}
    assert widths["pixel"]
    assert all(0 < width < 160 for width in widths["pixel"])


@pytest.mark.parametrize("backend", every(2, BACKENDS))
def test_environments(backend, tmp_path):
    path = tmp_path / "writes.gb"
    path.write_bytes(build(BARS).rom)
    options = {"rom": path, "frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
    options |= {"accuracy": "pixel", "frame_policy": "fixed", "pixels": "160x144"}
    engine, expected = (engine_of(1, each, **options) for each in (backend, "reference"))
    plain = engine_of(1, backend, **options | {"accuracy": "line"})
    assert engine.get_states().dtype["line"].itemsize == LINE_BYTES
    assert "line" not in plain.get_states().dtype.names
    for _ in range(2):
        for each in (engine, expected, plain):
            each.step_many(np.zeros(1, np.int64))
    assert np.array_equal(engine.get_states(), expected.get_states())
    assert not np.array_equal(engine.get_states()["stack"], plain.get_states()["stack"])
    engine.set_states(engine.get_states())  # which are not refused


# -- rows ------------------------------------------------------------------------------------------


def row_within_a_line():
    """Return a row in a line with writes, and its cartridge."""
    cartridge = build(bytes((0x21, IO.SCX, 0xFF)) + b"\x34" * 200 + b"\x18\xfe")
    machine = Machine(cartridge, fixed_frames=True, by_pixel=True)
    machine.bus.cyc = FRAME - 76 - 12 * 3 - 456 - 80 + 28
    while machine.ppu.dot < 456 + 170:
        machine.cpu.step()
    row = pack(machine)
    assert row["line"][0, LINE_COUNT] > 3
    return row, cartridge


def test_a_row_notes_the_writes_of_its_line():
    row, cartridge = row_within_a_line()
    validate_rows(row, cartridge)
    assert pack(unpack(row, cartridge, by_pixel=True)).tobytes() == row.tobytes()
    size = state_dtype(cartridge.ram_size).itemsize
    assert state_dtype(cartridge.ram_size, by_pixel=True).itemsize == size + LINE_BYTES
    plain = fitted(row, by_pixel=False)
    validate_rows(plain, cartridge)
    assert plain.tobytes() == row.tobytes()[:size]


def change(row, at, value):
    row["line"][0, at] = value


@walk(
    ("at", "value", "message"),
    [
        (LINE_COUNT, MOST_WRITES + 1, "0 to 50 writes"),
        (LINE_COUNT, 1, "must be 0 behind its writes"),
        (8, 2, "byte 8 must be 0 or 1"),
        (LINE_WRITES, 19, "in order, in mode 3 and before now"),
        (LINE_WRITES, 80, "in order, in mode 3 and before now"),
        (LINE_WRITES + 1, IO.STAT, "registers of the display alone"),
        (LINE_WRITES + 1, IO.LCDC, "turned the display off"),
    ],
)
def test_lines_that_no_machine_can_be_in(at, value, message):
    row, cartridge = row_within_a_line()
    row["line"][0, LINE_WRITES + 2] = 1
    change(row, at, value)
    with pytest.raises(StateError, match=f"line is not possible.*{message}"):
        validate_rows(row, cartridge)


def test_writes_out_of_mode_3_are_refused():
    row, cartridge = row_within_a_line()
    row["dot"] = 456 * 150
    row["delay"] = row["lyc_match"] = 0
    with pytest.raises(StateError, match="none but in mode 3"):
        validate_rows(row, cartridge)


def test_save_states_of_both_kinds(tmp_path):
    row, cartridge = row_within_a_line()
    for name, saved in (("exact", row), ("plain", fitted(row, by_pixel=False))):
        save_state(tmp_path / name, saved, cartridge)
        assert load_state(tmp_path / name, cartridge).tobytes() == saved.tobytes()
    path = tmp_path / "rom.gb"
    path.write_bytes(cartridge.rom)
    for name in ("exact", "plain"):
        for accuracy in ("line", "pixel"):
            engine = engine_of(1, rom=path, states=tmp_path / name, accuracy=accuracy)
            got = engine.get_states()[0]
            noted = accuracy == "pixel" and name == "exact"
            if accuracy == "pixel":
                assert (got["line"][LINE_COUNT] > 0) == noted
            assert got["dot"] == row["dot"][0]


def test_options_that_are_refused():
    with pytest.raises(ConfigError, match="accuracy='frame' is not possible"):
        make_game(accuracy="frame")


@needs_core
def test_pyboys_bus_is_for_lines_alone():
    from fastenv.gameboy.console import Console

    cartridge = build(b"\x18\xfe")
    with pytest.raises(ConfigError, match="bus_phase=-4 is not possible"):
        Console(cartridge, pack(Machine(cartridge)), bus_phase=-4, accuracy="pixel")
