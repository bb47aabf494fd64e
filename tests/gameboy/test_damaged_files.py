"""Files that are cut short, damaged or endless: what they hold, or one error that names them."""

import json
import random
import shutil
from importlib import resources

import numpy as np
import pytest

from fastenv.errors import ConfigError, StateError
from fastenv.gameboy.common import read_rom
from fastenv.gameboy.goals import load_goal
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
    with pytest.raises(ConfigError, match=r"ram_map=.*map\.json.*cannot be read"):
        load_ram_map(tmp_path / "map.json")


@pytest.mark.parametrize(("read", "error"), [(read_rom, ConfigError), (load_starts, StateError)])
def test_no_more_is_read_than_such_a_file_has(tmp_path, read, error):
    with open(tmp_path / "long", "wb") as file:
        file.truncate(2**40)  # of nothing
    with pytest.raises(error, match="long"):
        read(tmp_path / "long", *[ROM] * (read is load_starts))


def test_shades_of_a_goal_are_numbers_of_one_frame(tmp_path):
    shutil.copy(str(GOAL / "goal.json"), tmp_path)
    np.savez(tmp_path / "goal.npz", np.zeros((72, 80), np.uint8))
    (tmp_path / "goal.npz").rename(tmp_path / "goal.npy")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_goal(tmp_path)
