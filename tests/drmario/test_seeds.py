"""The seed registry: what is committed is what the tool draws, and environments sample from it."""

import json
import zipfile

import numpy as np
import pytest

from fastenv.drmario import make_game
from fastenv.drmario import tables as t
from fastenv.drmario.seeds import FILE, registry_seeds, seed_id, seed_of, seeds_of
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from tests.needs import needs_core
from tests.tables import walk
from tools import drmario_seeds as tool

JSON = FILE.with_suffix(".json")


@pytest.mark.parametrize("level", [0, 20])
def test_a_level_is_what_the_tool_draws(level):
    lines = JSON.read_text(encoding="utf-8").splitlines()[1:-1]
    begin = level * t.REGISTRY_SEEDS
    found = [line.removesuffix(",") for line in lines[begin : begin + t.REGISTRY_SEEDS]]
    assert found == tool.lines(tool.entries([level])), "run python -m tools.drmario_seeds"


@pytest.mark.slow
def test_both_files_are_what_the_tool_writes(tmp_path):
    entries = tool.entries()
    assert JSON.read_bytes() == tool.json_file(entries)
    np.savez(tmp_path / "again.npz", **tool.arrays(entries))
    # Byte for byte but for the compression, which is the zlib's of a machine.
    with zipfile.ZipFile(FILE) as ours, zipfile.ZipFile(tmp_path / "again.npz") as again:
        assert ours.namelist() == again.namelist()
        for name in ours.namelist():
            assert ours.read(name) == again.read(name), name


def test_both_files_say_the_same():
    entries = json.loads(JSON.read_text(encoding="utf-8"))
    with np.load(FILE) as file:
        for name, column in tool.arrays(entries).items():
            np.testing.assert_array_equal(file[name], column, name)


def test_seeds_of_a_level_differ_and_lie_in_the_cycle():
    for level, seeds in enumerate(registry_seeds().tolist()):
        assert len(set(seeds)) == t.REGISTRY_SEEDS, level
    assert {tuple(divmod(s, 256)) for s in registry_seeds().ravel().tolist()} <= set(
        tool.positions()
    )
    assert len(tool.positions()) == t.ORBIT


def test_entries_are_found_by_name():
    entries = json.loads(JSON.read_text(encoding="utf-8"))
    for each in entries[:: t.REGISTRY_SEEDS + 1]:
        assert seed_of(each["id"]) == (each["level"], each["seed"][0] * 256 + each["seed"][1])


@walk("name", ["L21_S000", "L05_S120", "L5_S017", "L05-S017", "", "L05_S0017"])
def test_names_that_are_not_there_are_refused(name):
    with pytest.raises(ConfigError, match="must be one of the registry, L00_S000 to L20_S119"):
        seed_of(name)


@pytest.mark.parametrize(("level", "of"), [(0, 0), (7, 7), (20, 20), (24, 20), (-2, 0), (-9, 0)])
@pytest.mark.parametrize("backend", ["reference", pytest.param("fast", marks=needs_core)])
def test_episodes_draw_from_the_registry(level, of, backend):
    game = make_game(placement=False, level=level, seed_registry=True)
    engine = BatchEngine(game, 40, backend)
    engine.reset_many(seeds=3)
    drawn = engine.info["game_seed"].tolist()
    assert set(drawn) <= set(seeds_of(of))
    assert len(set(drawn)) > 20


@needs_core
def test_the_whole_list_is_drawn_from_and_a_given_seed_goes_before():
    engine = BatchEngine(make_game(placement=False, level=3, seed_registry=True), 2000, "fast")
    engine.reset_many(seeds=0)
    assert set(engine.info["game_seed"].tolist()) == set(seeds_of(3))
    engine.configure("game_seed", 0x1234)
    engine.reset_many(seeds=0)
    assert set(engine.info["game_seed"].tolist()) == {0x1234}


def test_first_frames_are_those_of_the_entry():
    entry = json.loads(JSON.read_text(encoding="utf-8"))[5 * t.REGISTRY_SEEDS + 17]
    assert entry["id"] == seed_id(5, 17)
    engine = BatchEngine(make_game(placement=False, level=5, game_seed=seed_of("L05_S017")[1]), 1)
    engine.reset_many(seeds=0)
    row = engine.get_states()[0]
    assert "".join(map(str, row["reserve"].tolist())) == entry["pills"]
    assert row["players"][0]["initial_viruses"] == entry["viruses"]
