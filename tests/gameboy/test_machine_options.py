"""Options of the machine: what memory holds at first, who may see video's, where frames end."""

import numpy as np
import pytest

from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.gameboy import make_game
from fastenv.gameboy.cartridge import load_cartridge
from fastenv.gameboy.position import pack, power_up_row
from fastenv.gameboy.reference import Machine
from fastenv.gameboy.tables import FRAME
from tests.gameboy.lanes import BACKENDS, engine_of
from tests.gameboy.machines import run_alike
from tests.needs import needs_core
from tests.slow import diagonal
from tests.tables import walk
from tools.gameboy.machines import build, machine_with_memory, reloaded

ONE_FRAME = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
MEMORY = ("oam", "wram", "cart")


@pytest.fixture
def rom(tmp_path):
    """A program that does nothing, with 8 KiB of RAM in its cartridge."""
    path = tmp_path / "idle.gb"
    path.write_bytes(build(b"\x18\xfe", kind=0x03, ram=2).rom)
    return path


# -- memory at power-up (docs/gameboy.md, 18) ------------------------------------------------------


def memory_of(engine):
    rows = engine.get_states()
    parts = [rows[name] for name in MEMORY] + [rows["high"][:, 0x80:0xFF]]
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_is_filled_from_the_stream_of_the_lane(backend, rom):
    engine = engine_of(3, backend, rom=rom, ram_fill="seeded", **ONE_FRAME)
    first = memory_of(engine)
    assert first.shape == (3, 160 + 0x2000 * 2 + 0x7F)
    for memory in first:  # some 65 of each byte
        assert np.bincount(memory, minlength=256).min() > 30
    assert (first[0] == first[1]).mean() < 0.01  # lanes differ
    engine.reset_many(mask=np.array([True, False, False]))
    second = memory_of(engine)
    assert (first[0] == second[0]).mean() < 0.01  # and episodes
    assert np.array_equal(first[1:], second[1:])
    engine.reset_many(seeds=0)
    assert np.array_equal(memory_of(engine), first)  # which a seed says in full
    twin = engine_of(3, "reference", rom=rom, ram_fill="seeded", **ONE_FRAME)
    assert np.array_equal(engine.get_states(), twin.get_states())
    boot = power_up_row(load_cartridge(rom))["vram"]  # which cleared it, and drew the logo
    assert np.array_equal(engine.get_states()["vram"], np.repeat(boot, 3, axis=0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_half_bytes_of_an_mbc2_are_filled(backend, tmp_path):
    path = tmp_path / "idle.gb"
    path.write_bytes(build(b"\x18\xfe", kind=0x06).rom)
    engine = engine_of(2, backend, rom=path, ram_fill="seeded", **ONE_FRAME)
    rows = engine.get_states()
    assert rows["cart"].shape == (2, 512)
    assert set(rows["cart"].ravel().tolist()) == set(range(16))
    engine.set_states(rows)  # which are not refused
    twin = engine_of(2, "reference", rom=path, ram_fill="seeded", **ONE_FRAME)
    assert np.array_equal(rows, twin.get_states())


def test_memory_is_that_of_power_up_by_default(rom):
    rows = engine_of(2, rom=rom, **ONE_FRAME).get_states()
    machine = Machine(load_cartridge(rom))
    for memory in rows["vram"]:
        assert memory.tobytes() == machine.ppu.vram
    assert not any(rows[name].any() for name in MEMORY)
    assert not rows["high"][:, 0x80:0xFF].any()


def test_start_states_say_what_memory_holds():
    with pytest.raises(ConfigError, match="ram_fill='seeded' is not possible: states='lantern_"):
        make_game(states="lantern_walk", ram_fill="seeded")
    with pytest.raises(ConfigError, match="ram_fill='random' is not possible: ram_fill must be"):
        make_game(ram_fill="random")


def test_numbers_of_the_generator():
    """The first of xorshift with the shifts 13, 7 and 17 from 1: 2^30 + 2^23 + 2^17 + ..."""
    machine = Machine(build(b""))
    machine.fill_memory(1)
    assert int.from_bytes(machine.ppu.oam[:8], "little") == 0x40822041
    machine.fill_memory(0)  # the only state that the generator would never leave
    assert int.from_bytes(machine.ppu.oam[:8], "little") == 0x40822041


# -- video memory (docs/gameboy.md, 5.5) -----------------------------------------------------------

# Write to $8000 and $FE00 in mode 3, and keep what is read: first wait for LY = 1, then a little.
PROBE = bytes.fromhex("f0 44 fe 01 20 fa 06 06 05 20 fd 3e 55 ea 00 80 fa 00 80 ea 00 c0 18 fe")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("strict", "seen"), [(True, 0xFF), (False, 0x55)])
def test_video_memory_while_the_display_reads_it(backend, strict, seen, tmp_path):
    path = tmp_path / "probe.gb"
    path.write_bytes(build(PROBE).rom)
    game = make_game(rom=path, strict_video_access=strict, **ONE_FRAME)
    engine = BatchEngine(game, 1, backend)
    engine.reset_many(seeds=0)
    engine.step_many(np.zeros(1, np.int32))
    row = engine.get_states()[0]
    assert (row["wram"][0], row["vram"][0]) == (seen, 0x55 if not strict else 0)


def test_whether_video_memory_is_strict_is_true_or_false():
    with pytest.raises(ConfigError, match="strict_video_access='no' is not possible"):
        make_game(strict_video_access="no")


# -- frames of fixed length (docs/gameboy.md, 13) --------------------------------------------------

# Turn the display off, wait for D times 10,000 machine cycles or so, and turn it on with a window.
SHIFTED = bytes.fromhex(
    "af e0 40  16 00 06 00 0e 0a 05 20 fd 0d 20 fa 15 20 f5 3e 05 e0 4a 3e 1e e0 4b 3e f1 e0 40"
)
THEN = {
    "idle": bytes.fromhex("18 fe"),
    "moves the window": bytes.fromhex("f0 44 fe 14 38 fa 3e 32 e0 4a 3e 05 e0 4a 18 f0"),
}


def shifted(turns, then="idle"):
    """Return the program with so many turns before the display is on."""
    program = bytearray(SHIFTED + THEN[then])
    program[4] = turns
    return build(program)


@needs_core
@walk(("then", "turns"), diagonal(THEN, [1, 3, 5]))
def test_fixed_frames_end_amid_a_picture(turns, then):
    """One frame of three is drawn; what was not drawn has counted lines all the same."""
    from fastenv.gameboy.console import Console

    cartridge = shifted(turns, then)
    machine = machine_with_memory(cartridge, turns, fixed_frames=True)
    console = Console(cartridge, pack(machine), fixed_frames=True)
    dots, lines = set(), set()
    for number in range(8):
        draw = number % 3 == 1
        run_alike(machine, console, draw)
        assert 0 <= console.row["cyc"][0] - (number + 1) * FRAME < 24
        dots.add(int(console.row["dot"][0]) // 456)
        lines.add(int(console.row["window_line"][0]))
        if number % 3 == 2:
            machine = reloaded(machine)
            console = Console(cartridge, console.row, fixed_frames=True)
    assert max(dots) > 20
    assert max(lines) > 0


@needs_core
@pytest.mark.parametrize(("policy", "length"), [("fixed", FRAME), ("lcd", None)])
def test_frames_of_a_display_that_is_turned_off_and_on(policy, length, tmp_path):
    """With the display's frames, the two that it cuts short leave the next ones where it is."""
    path = tmp_path / "shifted.gb"
    path.write_bytes(shifted(3).rom)
    engine = engine_of(1, rom=path, frame_policy=policy, **ONE_FRAME)
    times = [0]
    for _ in range(6):
        engine.step_many(np.zeros(1, np.int32))
        times.append(int(engine.get_states()["cyc"][0]))
    lengths = np.diff(times)
    if length:
        assert (abs(lengths - length) < 24).all()
    else:
        assert lengths.min() < 100 < FRAME // 2
        assert (abs(lengths[-3:] - FRAME) < 24).all()


def test_where_frames_end_is_one_of_two():
    with pytest.raises(ConfigError, match="frame_policy='never' is not possible: frame_policy"):
        make_game(frame_policy="never")
