"""Save states of PyBoy become rows that go on as PyBoy does; others are refused by name."""

import hashlib
import json

import numpy as np
import pytest

from fastenv.errors import StateError
from fastenv.gameboy import make_game
from fastenv.gameboy.cartridge import load_cartridge
from fastenv.gameboy.pyboy_state import is_pyboy_state, load_pyboy_state
from fastenv.gameboy.starts import load_starts
from fastenv.gameboy.tables import IO
from tests.gameboy.pyboy import shades, start
from tests.needs import needs_core
from tools.gameboy import published_states
from tools.gameboy.machines import build
from tools.gameboy.pyboy_states import VERSIONS, in_line_144, make_old_state

ROMS = ("lantern_walk", "busy", "heavy", "poll", "halt", "micro/mbc1", "micro/mbc5")


@pytest.fixture
def boy():
    """Return what starts PyBoy with a ROM of ours; it is stopped at the end."""
    started = []

    def run(name):
        from pathlib import Path

        rom = Path("fastenv/gameboy/roms", f"{name}.gb")
        started.append(start(rom))
        return started[-1], load_cartridge(rom)

    yield run
    for each in started:
        each.stop(save=False)


def saved(machine, folder):
    path = folder / "boy.state"
    with open(path, "wb") as file:
        machine.save_state(file)
    return path


def same(machine, console):
    from tools.gameboy.compare import registers

    file = machine.register_file
    theirs = {name.lower(): int(getattr(file, name)) for name in "AFBCDE"}
    theirs |= {"hl": int(file.HL), "sp": int(file.SP), "pc": int(file.PC)}
    theirs |= {"cyc": int(machine._cycles())}
    wram = np.array(machine.memory[0xC000:0xE000], np.uint8)
    return registers(console.row) == theirs and np.array_equal(wram, console.row["wram"][0])


@needs_core
@pytest.mark.parametrize("name", ROMS)
def test_a_state_goes_on_as_in_pyboy(boy, tmp_path, name):
    from fastenv.gameboy.console import Console

    machine, cartridge = boy(name)
    machine.tick(150, False)
    machine.button_press("right")
    machine.tick(3, False)
    console = Console(
        cartridge, load_pyboy_state(saved(machine, tmp_path), cartridge), bus_phase=-4
    )
    for _ in range(20):
        assert same(machine, console)
        machine.tick(1, True)
        console.run_frame()
    assert np.array_equal(shades(machine), console.picture)


def test_environments_start_there(boy, tmp_path):
    machine, cartridge = boy("lantern_walk")
    machine.tick(100, False)
    path = saved(machine, tmp_path)
    row = load_pyboy_state(path, cartridge)
    game = make_game(states=path)
    assert game.common.starts.rows.tobytes() == row.tobytes()


def test_other_states_are_refused_by_name(boy, tmp_path):
    machine, cartridge = boy("lantern_walk")
    machine.tick(100, False)
    path = saved(machine, tmp_path)
    content = path.read_bytes()
    for at, value, says in (
        (0, 13, "of version 13: 7 to 12, of PyBoy 1.4 to 2.4, and 29, of PyBoy 2.8.1, are known; "),
        (1, 1, "amid its boot program"),
        (5, 1, "the colour machine"),
        (21, 1, "that waits in STOP"),
        (33, 1, "with OAM DMA under way"),
        (8402, 80, "amid a frame"),
    ):
        changed = bytearray(content)
        changed[at] = value
        path.write_bytes(changed)
        with pytest.raises(StateError, match=says) as error:
            load_starts(path, cartridge)
        assert "boy.state: " in str(error.value)
    path.write_bytes(content[:-30_000])
    with pytest.raises(StateError, match="cut short, or of another ROM"):
        load_starts(path, cartridge)
    for kind, ram in ((0x06, 0), (0x10, 2)):
        other = build(b"", kind=kind, ram=ram)
        with pytest.raises(StateError, match="none of MBC2 or with a clock"):
            load_pyboy_state(path, other)


@needs_core
@pytest.mark.parametrize("name", ["lantern_walk", "micro/mbc1", "mbc3"])
def test_states_of_old_versions_go_on_as_their_machine(tmp_path, name):
    from fastenv.gameboy.console import Console

    if name == "mbc3":  # loop: inc a; ld ($C000),a; jr loop
        cartridge = build(b"\x3c\xea\x00\xc0\x18\xfa", kind=0x13, ram=3, banks=64)
    else:
        cartridge = load_cartridge(f"fastenv/gameboy/roms/{name}.gb")
    row, path = in_line_144(cartridge), tmp_path / "old.state"
    row["cart"] = np.random.default_rng(1).integers(0, 256, row["cart"].shape)
    row["keys"] = 0x21
    for version in VERSIONS:
        content = make_old_state(row, cartridge, version)
        path.write_bytes(content)
        taken = load_starts(path, cartridge).rows
        unknown = {"instr", "serial_count", "serial", "window_line", "wy_seen", "window_at", "high"}
        unknown |= {"sound_step", "lengths", "wave_left", "sweep_period"}
        unknown |= {"cyc"} if version < 12 else set()
        unknown |= {"dot"} if version < 8 else set()
        for field in set(row.dtype.names) - unknown:
            assert (taken[field] == row[field]).all(), (version, field)
        video = [*range(0x40, 0x4C), *range(0x80, 0x100), IO.TIMA, IO.TMA, IO.TAC]
        assert (taken["high"][0, video] == row["high"][0, video]).all()
        assert taken["high"][0, IO.IF] == (1 if version < 8 else row["high"][0, IO.IF])
        assert 144 * 456 <= taken["dot"][0] < 145 * 456
        consoles = [Console(cartridge, each.copy()) for each in (row, taken)]
        for console in consoles:
            console.run_frames(5)
        if version >= 8:
            assert (consoles[0].row["vram"] == consoles[1].row["vram"]).all()
            assert (consoles[0].row["wram"] == consoles[1].row["wram"]).all()
            assert np.array_equal(consoles[0].picture, consoles[1].picture)
        for cut in (content[:-1], content + b"1"):
            path.write_bytes(cut)
            with pytest.raises(StateError, match="of another ROM"):
                load_starts(path, cartridge)


@needs_core
def test_old_states_amid_a_frame_are_refused(tmp_path):
    cartridge = load_cartridge("fastenv/gameboy/roms/lantern_walk.gb")
    content = make_old_state(in_line_144(cartridge), cartridge, 9)
    path = tmp_path / "old.state"
    for at, value, says in ((8380, 80, "amid a frame, in line 80"), (19, 1, "STOP"), (4, 1, "col")):
        changed = content.copy()
        changed[at] = value
        path.write_bytes(changed)
        with pytest.raises(StateError, match=says):
            load_starts(path, cartridge)


@needs_core
def test_published_states_are_read_without_their_rom(tmp_path, capsys):
    cartridge = published_states.stand_in()
    content = make_old_state(in_line_144(cartridge), cartridge, 9)
    whole, cut = tmp_path / "states" / "a" / "whole.state", tmp_path / "states" / "cut.state"
    whole.parent.mkdir(parents=True)
    whole.write_bytes(content)
    out = tmp_path / "record.json"
    arguments = [str(tmp_path / "states"), "--out", str(out)]
    assert published_states.main(arguments) == 0
    cut.write_bytes(content[:-1])
    assert published_states.main(arguments) == 1
    said = ["1 of 1 states are read", "1 of 2 states are read"]
    assert capsys.readouterr().out.splitlines() == said
    record = json.loads(out.read_text())
    assert record["command"].startswith("python -m tools.gameboy.published_states FOLDER --out ")
    states = record["states"]
    digest = hashlib.sha256(content).hexdigest()
    assert states["a/whole.state"] == {"version": 9, "sha256": digest, "refused": None}
    assert states["cut.state"]["refused"].startswith("cut.state: ")  # names no folder


def test_ours_are_not_taken_for_theirs():
    assert not is_pyboy_state(b'{"form')
    assert not is_pyboy_state(b"PK\3\4\0\0")
    assert not is_pyboy_state(b"\x1d")
