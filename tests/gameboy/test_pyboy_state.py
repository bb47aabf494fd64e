"""Save states of PyBoy become rows that go on as PyBoy does; others are refused by name."""

import numpy as np
import pytest

from fastenv.errors import ConfigError, StateError
from fastenv.gameboy import make_game
from fastenv.gameboy.cartridge import load_cartridge
from fastenv.gameboy.pyboy_state import is_pyboy_state, load_pyboy_state
from fastenv.gameboy.starts import load_starts
from tests.gameboy.pyboy import shades, start
from tests.needs import needs_core
from tests.slow import late
from tools.gameboy.machines import build

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
        (0, 9, "a state of PyBoy of version 9: only 29, of PyBoy 2.8.1, is known"),
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


@pytest.mark.parametrize("count", [90, *late(300)])
def test_damaged_states_are_refused_or_possible(boy, tmp_path, count):
    machine, cartridge = boy("micro/mbc5")
    machine.tick(100, False)
    path = saved(machine, tmp_path)
    content, rng, refused = path.read_bytes(), np.random.default_rng(3), []
    for _ in range(count):
        changed = bytearray(content)
        for at in rng.integers(0, rng.choice([60, len(content)]), 4):
            changed[at] = rng.integers(256)
        path.write_bytes(changed[: rng.choice([len(changed), rng.integers(len(changed))])])
        try:
            load_starts(path, cartridge)
        except (StateError, ConfigError) as error:
            refused.append(str(error))
    assert len(refused) > count / 3
    assert not any("\n" in each for each in refused)


def test_ours_are_not_taken_for_theirs():
    assert not is_pyboy_state(b'{"form')
    assert not is_pyboy_state(b"PK\3\4\0\0")
    assert not is_pyboy_state(b"\x1d")
