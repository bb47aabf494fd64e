"""Files that are cut short, damaged or endless: what they hold, or one error that names them."""

import json
import os
import random
import shutil
from importlib import resources

import numpy as np
import pytest

from fastenv.drmario.config import read_demo
from fastenv.errors import ConfigError, StateError
from fastenv.gameboy import starts
from fastenv.gameboy.common import read_rom
from fastenv.gameboy.config import GameBoyConfig
from fastenv.gameboy.goal_capture import read_actions
from fastenv.gameboy.goal_template import load_goal
from fastenv.gameboy.ram_map import load_ram_map
from fastenv.gameboy.starts import Starts, load_starts, save_bank

ROM = read_rom("lantern_walk")
GOAL = resources.files("fastenv.gameboy") / "data" / "lantern_walk_goal"


def damaged(content, rng, count):
    """Yield a file cut short somewhere, and with a bit of it turned, in turns."""
    for _ in range(count):
        yield content[: rng.randrange(len(content))]
        at, copy = rng.randrange(len(content)), bytearray(content)
        copy[at] ^= 1 << rng.randrange(8)
        yield bytes(copy)


def test_a_damaged_bank_is_refused_or_what_it_was(tmp_path):
    file, bank = tmp_path / "some.npz", load_starts("lantern_walk", ROM)
    bank = Starts(bank.rows[:1], bank.frames[:1])
    save_bank(file, bank, ROM)
    content, errors = file.read_bytes(), []
    for text in damaged(content, random.Random(3), 150):
        file.write_bytes(text)
        try:
            found = load_starts(file, ROM)
        except (StateError, ConfigError) as error:
            errors.append(str(error))
        else:
            assert found.rows.tobytes() == bank.rows.tobytes()
            assert found.frames.tobytes() == bank.frames.tobytes()
    assert len(errors) > 200
    assert all(str(file) in error and "\n" not in error for error in errors)


@pytest.mark.parametrize("name", ["goal.npy", "goal.json"])
def test_a_damaged_goal_is_refused_or_a_goal(tmp_path, name):
    for file in ("goal.npy", "goal.json"):
        shutil.copy(str(GOAL / file), tmp_path)
    content, errors = (tmp_path / name).read_bytes(), []
    for text in [*damaged(content[:600], random.Random(4), 80), b"[" * 100_000, b"PK\3\4"]:
        (tmp_path / name).write_bytes(text + content[600:] if len(text) == 600 else text)
        try:
            assert load_goal(tmp_path).shades.shape == (72, 80)
        except ConfigError as error:
            errors.append(str(error))
    assert len(errors) > 60
    assert all(str(tmp_path) in error for error in errors)


@pytest.mark.parametrize(("field", "value"), [("k_consecutive", 2**31), ("stack_k", 2)])
def test_a_number_of_a_goal_that_is_not_possible(tmp_path, field, value):
    values = json.loads((GOAL / "goal.json").read_text("utf-8"))
    (tmp_path / "goal.json").write_text(json.dumps(values | {field: value}))
    shutil.copy(str(GOAL / "goal.npy"), tmp_path)
    with pytest.raises(ConfigError, match=field):
        load_goal(tmp_path)


def test_a_map_that_is_nested_too_deep(tmp_path):
    (tmp_path / "map.json").write_text("[" * 100_000)
    with pytest.raises(ConfigError, match=r"ram_map: .*map\.json is nested too deeply"):
        load_ram_map(tmp_path / "map.json")


@pytest.mark.parametrize(("read", "error"), [(read_rom, ConfigError), (load_starts, ConfigError)])
def test_no_more_is_read_than_such_a_file_has(tmp_path, read, error):
    with open(tmp_path / "long", "wb") as file:
        file.truncate(2**40)  # of nothing
    with pytest.raises(error, match="long"):
        read(tmp_path / "long", *[ROM] * (read is load_starts))


def test_shades_of_a_goal_are_numbers_of_one_frame(tmp_path):
    shutil.copy(str(GOAL / "goal.json"), tmp_path)
    np.savez(tmp_path / "goal.npz", np.zeros((72, 80), np.uint8))
    (tmp_path / "goal.npz").rename(tmp_path / "goal.npy")
    with pytest.raises(ConfigError, match=r"goal: .*goal\.npy is no \.npy file, or damaged"):
        load_goal(tmp_path)


def goal_with(folder, name, place):
    """Copy our goal to a folder, one of its files taken from another place."""
    for file in {"goal.npy", "goal.json"} - {name}:
        shutil.copy(str(GOAL / file), folder)
    (folder / name).symlink_to(place)
    return folder


READERS = {
    "rom": lambda place, _: read_rom(place),
    "states": lambda place, _: load_starts(place, ROM),
    "ram_map": lambda place, _: load_ram_map(place),
    "actions": lambda place, _: read_actions(place, GameBoyConfig()),
    "demo": lambda place, _: read_demo(place),
    "goal.npy": lambda place, folder: load_goal(goal_with(folder, "goal.npy", place)),
    "goal.json": lambda place, folder: load_goal(goal_with(folder, "goal.json", place)),
}


@pytest.mark.parametrize("reader", READERS)
def test_pipes_and_devices_are_refused_without_waiting(tmp_path, reader):
    os.mkfifo(tmp_path / "pipe")
    for place, what in ((tmp_path / "pipe", "a named pipe"), ("/dev/zero", "a device")):
        folder = tmp_path / what
        folder.mkdir()
        with pytest.raises(ConfigError, match=f"{what}, must be a regular file") as caught:
            READERS[reader](place, folder)
        assert str(caught.value).startswith(f"{reader.partition('.')[0]}: ")


def two_states():
    whole = load_starts("lantern_walk", ROM)
    return Starts(whole.rows[:2], whole.frames[:2])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", np.array(5, np.uint8)),
        ("frames", np.array(5, np.uint8)),
        ("rows", np.zeros((0, 5), np.uint8)),
        ("frames", np.zeros((2, 5760), np.int8)),
        ("header", np.frombuffer(b"[" * 5000, np.uint8)),
        ("header", np.frombuffer(b"5", np.uint8)),
        ("header", np.array(5.0)),
        ("header", np.frombuffer(json.dumps({"format": "a" * 10**6}).encode(), np.uint8)),
    ],
)
def test_arrays_that_no_bank_has(tmp_path, name, value):
    save_bank(tmp_path / "bank.npz", two_states(), ROM)
    with np.load(tmp_path / "bank.npz") as arrays:
        np.savez(tmp_path / "bank.npz", **{**arrays, name: value})
    with pytest.raises((ConfigError, StateError), match=f"{name}|format") as caught:
        load_starts(tmp_path / "bank.npz", ROM)
    assert len(str(caught.value)) < 500


def test_a_bank_that_expands_is_refused_before_it_does(tmp_path, monkeypatch):
    save_bank(tmp_path / "bank.npz", two_states(), ROM)
    monkeypatch.setattr(starts, "LARGEST", 10**6)
    assert len(load_starts(tmp_path / "bank.npz", ROM).rows) == 2
    with np.load(tmp_path / "bank.npz") as arrays:
        np.savez_compressed(tmp_path / "bank.npz", more=np.zeros(10**6, np.uint8), **arrays)
    with pytest.raises(ConfigError, match=r"expands to 1,[0-9,]* bytes, at most 1,000,000"):
        load_starts(tmp_path / "bank.npz", ROM)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 4000,
        b'{"format": ' + b"[" * 3000 + b"]" * 3000 + b"}",
        b'{"format": "fastenv-gb-state", "version": 1' + b"0" * 400 + b"}",
    ],
    ids=["a list", "a header", "a number beyond a float"],
)
def test_a_save_state_whose_header_cannot_be_read(tmp_path, text):
    (tmp_path / "deep").write_bytes(text + b"\n")
    with pytest.raises(StateError, match="must be a save state of fastenv or PyBoy"):
        load_starts(tmp_path / "deep", ROM)


@pytest.mark.parametrize("version", [10**300, "a" * 3000, [[[[[[1] * 50] * 9]]]]])
def test_what_a_save_state_says_of_itself_is_shown_short(tmp_path, version):
    header = json.dumps({"format": "fastenv-gb-state", "version": version})
    (tmp_path / "strange").write_text(header + "\n")
    with pytest.raises(StateError, match="strange: version is") as caught:
        load_starts(tmp_path / "strange", ROM)
    assert len(str(caught.value)) < 400
