"""Save states: what was saved is what is loaded, and anything else is refused by name."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

import fastenv
from fastenv.__main__ import main
from fastenv.errors import StateError
from fastenv.gameboy import make_game
from fastenv.gameboy.position import pack, power_up_row
from fastenv.gameboy.savestate import load_state, save_state
from fastenv.gameboy.starts import load_starts
from tools.gameboy.machines import build, machine_with_memory

CARTRIDGE = build(b"\x3c\x18\xfd", kind=0x1B, ram=3)


@pytest.fixture
def saved(tmp_path):
    row = pack(machine_with_memory(CARTRIDGE, 5))
    save_state(tmp_path / "machine.state", row, CARTRIDGE)
    return tmp_path / "machine.state", row


def test_what_was_saved_is_loaded(saved):
    path, row = saved
    loaded = load_state(path, CARTRIDGE)
    assert loaded.dtype == row.dtype
    assert loaded.tobytes() == row.tobytes()
    assert loaded.flags.writeable


def test_a_state_from_before_there_was_sound_is_loaded(tmp_path):
    """Its registers were kept as they read, written without power too; its new fields are 0."""
    row = power_up_row(CARTRIDGE)
    row["high"][0, 0x10:0x27] = 0xFF
    row["high"][0, 0x26] = 0x80
    for name in ("sound_step", "lengths", "wave_left", "wave_at"):
        row[name] = 0
    save_state(tmp_path / "old.state", row, CARTRIDGE)
    assert load_state(tmp_path / "old.state", CARTRIDGE).tobytes() == row.tobytes()


def test_the_header_is_a_line_for_people(saved):
    header = json.loads(saved[0].read_bytes().split(b"\n")[0])
    assert header["rom_sha256"] == CARTRIDGE.sha256
    assert header["format"] == "fastenv-gb-state"


def changed(path, **fields):
    head, _, body = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps(json.loads(head) | fields).encode() + b"\n" + body)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"format": "other"}, "format is 'other', must be 'fastenv-gb-state'"),
        ({"version": 2}, "version is 2, must be 1"),
        ({"rom_sha256": "0"}, "rom_sha256 is '0': of another ROM"),
        ({"row": 7}, "row has"),
    ],
)
def test_other_headers_are_refused(saved, fields, message):
    changed(saved[0], **fields)
    with pytest.raises(StateError, match=message):
        load_state(saved[0], CARTRIDGE)


@pytest.mark.parametrize("content", [b"", b"\n", b"[1]\n", b"\xff" * 9000, b'{"format": '])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(StateError, match="other: it must be a save state of fastenv or PyBoy"):
        load_state(path, CARTRIDGE)


@pytest.mark.parametrize("length", [-1, 1])
def test_a_file_cut_short_or_grown_is_refused(saved, length):
    content = saved[0].read_bytes()
    saved[0].write_bytes(content[:-1] if length < 0 else content + b"\0")
    with pytest.raises(StateError, match="cut short or damaged"):
        load_state(saved[0], CARTRIDGE)


def test_a_row_that_no_machine_can_be_in_is_refused(saved, tmp_path):
    path, row = saved
    row["ime"] = 2
    content = path.read_bytes()
    path.write_bytes(content[: -row.nbytes] + row.tobytes())
    with pytest.raises(StateError, match=re.escape(f"{path}: lane 0: ime is not possible")):
        load_state(path, CARTRIDGE)
    with pytest.raises(StateError, match="ime"):
        save_state(tmp_path / "new", row, CARTRIDGE)
    assert not (tmp_path / "new").exists()


def test_a_machine_of_another_cartridge_is_not_saved(tmp_path):
    with pytest.raises(StateError, match="state_dtype"):
        save_state(tmp_path / "new", power_up_row(build(b"")), CARTRIDGE)


@pytest.mark.parametrize("as_record", [True, False])
def test_a_row_of_an_environment_is_saved_as_its_machine(tmp_path, as_record):
    env = fastenv.make("GameBoyPixels-v0", states="lantern_walk", backend="numba")
    env.reset(seed=0)
    row, cartridge = env.get_state(), env.game.common.cartridge
    save_state(tmp_path / "a.state", row if as_record else np.array([row]), cartridge)
    loaded = load_state(tmp_path / "a.state", cartridge)
    assert loaded["wram"][0].tobytes() == row["wram"].tobytes()
    again = fastenv.make("GameBoyPixels-v0", states=tmp_path / "a.state", backend="numba")
    again.reset(seed=0)
    assert again.get_state()["vram"].tobytes() == row["vram"].tobytes()


@pytest.mark.parametrize(
    "row", [np.zeros(1), np.zeros((), "i4,i4"), None, power_up_row(build(b""))]
)
def test_other_rows_are_not_saved(tmp_path, row):
    with pytest.raises(StateError, match=r"must be one row of state_dtype\(32768\)"):
        save_state(tmp_path / "a.state", row, CARTRIDGE)
    assert not (tmp_path / "a.state").exists()


# -- several states as a bank ----------------------------------------------------------------------


def test_states_are_joined_to_a_bank(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cartridge = build(b"\x18\xfe", kind=0x03, ram=2)
    Path("game.gb").write_bytes(cartridge.rom)
    for k, audio in enumerate((False, True, False)):
        row = power_up_row(cartridge, audio)
        row["wram"][0, 0] = k
        save_state(f"{k}.state", row, cartridge)
    Path("kept.srm").write_bytes(bytes([7] * 0x2000))
    one = ["bank", "one.npz", "--rom", "game.gb", "--join"]
    assert main([*one, "2.state", "kept.srm", "0.state"]) == 0
    assert main(["bank", "two.npz", "--rom", "game.gb", "--join", "one.npz", "1.state"]) == 0
    assert "two.npz: 4 states" in capsys.readouterr().out
    starts = load_starts("two.npz", cartridge)
    assert starts.rows["wram"][:, 0].tolist() == [2, 0, 0, 1]
    assert starts.rows["cart"][:, 0].tolist() == [0, 7, 0, 0]
    game = make_game(rom="game.gb", states="two.npz", start_state=3)
    assert game.common.starts.rows["wram"][3, 0] == 1
    assert (starts.frames[3] == load_starts("1.state", cartridge).frames[0]).all()
    for more, says in (
        (["--seed", "1"], "--seed: nothing is played with --join"),
        (["--wander"], "--wander: nothing is played with --join"),
        (["--but-not", "one.npz"], "--but-not: nothing is played with --join"),
    ):
        assert main([*one, "0.state", *more]) == 2
        assert says in capsys.readouterr().err
    assert main([*one, "none.state"]) == 2
    assert "states: none.state cannot be read" in capsys.readouterr().err


def test_a_gzipped_state_is_named(tmp_path):
    path = tmp_path / "Level1.state"
    path.write_bytes(gzip.compress(bytes(100)))
    with pytest.raises(StateError, match=r"a gzipped state, .* core Gambatte"):
        load_starts(path, build(b""))
