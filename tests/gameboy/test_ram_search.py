"""Where a program keeps a number, and maps from files of stable-retro."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import fastenv
from fastenv.__main__ import main
from fastenv.errors import ConfigError
from fastenv.gameboy.expressions import evaluate, parse
from fastenv.gameboy.position import power_up_row
from fastenv.gameboy.ram_program import load_program
from fastenv.gameboy.ram_search import RamSearch
from fastenv.gameboy.retro_import import import_retro
from fastenv.gameboy.savestate import save_state
from tests.needs import FASTEST, needs_core
from tests.tables import walk
from tools.gameboy.machines import build

ROOT = Path(__file__).resolve().parents[2]

# -- search ----------------------------------------------------------------------------------------


def machine(**bytes_):
    """Return a row with bytes in WRAM ("w0100"), HRAM ("h80") and the cartridge ("c0010")."""
    row = power_up_row(build(b"\x18\xfe", kind=0x03, ram=3))
    rng = np.random.default_rng(1)
    row["wram"], row["cart"] = rng.integers(100, 256, 0x2000), rng.integers(100, 256, 0x8000)
    row["high"][0, 0x80:0xFF] = 255
    fields = {"w": "wram", "h": "high", "c": "cart"}
    for name, value in bytes_.items():
        row[fields[name[0]]][0, int(name[1:], 16)] = value
    return row


def test_a_number_is_found_by_its_values():
    search = RamSearch(["u1", "<u2", ">d2"])
    assert len(search) == search.total == 0
    for number in (0, 1, 5):
        search.keep(machine(w0100=number, h90=number, c6010=number), number)
    found = {(f.get("bank"), f["address"]) for f in search.found() if f["type"] == "u1"}
    assert found == {(None, "$C100"), (None, "$FF90"), (3, "$A010")}
    assert all(each["value"] == 5 for each in search.found())


@walk(
    ("name", "bytes_"),
    [("<u2", (0x34, 0x12)), (">u2", (0x12, 0x34)), ("<d2", (0x60, 0x46)), (">d2", (0x46, 0x60))],
)
def test_types_are_told_apart(name, bytes_):
    search = RamSearch()
    search.keep(machine(w0100=bytes_[0], w0101=bytes_[1]), 0x1234)
    assert name in [f["type"] for f in search.found(99) if f["address"] == "$C100"]


def test_changes_are_told_apart():
    search = RamSearch(["u1"])
    search.keep(machine(w0100=5, w0200=5, w0300=5, w0400=5), 5)
    search.keep(machine(w0100=5, w0200=6, w0300=4, w0400=9), "changed")
    assert {f["address"] for f in search.found()} == {"$C200", "$C300", "$C400"}
    search.keep(machine(w0200=7, w0300=5, w0400=8), "more")
    assert {f["address"] for f in search.found()} == {"$C200", "$C300"}
    search.keep(machine(w0200=7, w0300=3), "less")
    assert [f["address"] for f in search.found()] == ["$C300"]
    assert search.keep(machine(w0300=3), "same") == 1


def test_a_number_ends_with_the_memory_in_which_it_begins():
    search = RamSearch(["<u2"])
    search.keep(machine(w1FFF=7, h80=0, hFE=7, c0000=0, c1FFF=7, c2000=0), 7)
    assert [(f["bank"], f["address"]) for f in search.found()] == [(0, "$BFFF")]


@walk(
    ("value", "says"),
    [
        *(("bigger", "'bigger'"), (1.5, "1.5"), (True, "True"), ("more", "no row")),
        *(
            (2**64, f"{2**64} is not possible: it must be an integer of 64"),
            (-(2**63) - 1, "of 64"),
        ),
    ],
)
def test_wrong_values_are_refused(value, says):
    with pytest.raises(ConfigError, match=says):
        RamSearch(["u1"]).keep(machine(), value)


@pytest.mark.parametrize("types", [[], "u1", ["bit"], ["u2"], ["f4"]])
def test_wrong_types_are_refused(types):
    with pytest.raises(ConfigError, match="types"):
        RamSearch(types)


def test_rows_of_other_machines_are_refused():
    search = RamSearch(["u1"])
    search.keep(machine(), 1)
    with pytest.raises(ConfigError, match="most=-1: must be at least 0"):
        search.found(-1)
    with pytest.raises(ConfigError, match="another cartridge"):
        search.keep(power_up_row(build(b"")), 1)
    with pytest.raises(ConfigError, match="one row of a Game Boy"):
        search.keep(np.zeros(3), 1)


@needs_core
def test_the_column_of_lantern_walk_is_found_by_walking():
    env = fastenv.make("GameBoyPixels-v0", states="lantern_walk", backend=FASTEST)
    env.reset(seed=0)
    search, names = RamSearch(["u1"]), env.game.config.action_names
    search.keep(env.get_state(), int(env.get_state()["wram"][0x101]))
    for way, change in (("right", "more"), ("noop", "same"), ("left", "less"), ("left", "less")):
        env.step(names.index(way))
        search.keep(env.get_state(), change)
    assert "$C101" in {f["address"] for f in search.found()}
    assert len(search) < 8


@needs_core
def test_the_command_searches_save_states(tmp_path, capsys):
    env = fastenv.make("GameBoyPixels-v0", states="lantern_walk", backend=FASTEST)
    env.reset(seed=0)
    common, given = env.game.common, []
    for k, way in enumerate(("noop", "right", "right")):
        env.step(env.game.config.action_names.index(way))
        row = np.zeros(1, common.starts.rows.dtype)
        for name in row.dtype.names:
            row[name] = env.get_state()[name]
        save_state(tmp_path / f"{k}.state", row, common.cartridge)
        given.append(f"{tmp_path / f'{k}.state'}={'more' if k else int(row['wram'][0, 0x101])}")
    assert main(["ram", "search", *given, "--types", "u1"]) == 0
    assert '{"address": "$C101", "type": "u1"' in capsys.readouterr().out
    assert main(["ram", "search", given[0], given[0][:-1] + "99", "--types", "u1"]) == 1
    for wrong, says in (("x.state", "FILE=VALUE"), ("no.state=3", "cannot be read"),
                        (given[0] + "x", "must be an integer"),
                        (f"{tmp_path}/0.state=--5", "value='--5' is not possible"),
                        (f"{tmp_path}/0.state={'9' * 5000}", "must be an integer")):  # fmt: skip
        capsys.readouterr()
        assert main(["ram", "search", wrong]) == 2
        assert says in capsys.readouterr().err
    assert main(["ram", "search", given[0], "--most", "-3"]) == 2
    assert capsys.readouterr() == ("", "error: --most -3: must be at least 0\n")


@needs_core
def test_the_listings_of_the_page_run(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "howto" / "own_game_ram.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "map.json").write_text(re.search("```json\n(.*?)```", page, re.S)[1], "utf-8")
    scope = {}
    listings = re.findall("```python\n(.*?)```", page, re.S)
    for listing in listings[:-1]:  # the film takes what is not always there
        exec(listing, scope)
    assert "[{'address': '$C101', 'type': 'u1', 'value': 3}]" in capsys.readouterr().out
    assert scope["column"] == 3


# -- stable-retro ----------------------------------------------------------------------------------

DATA = {
    "info": {
        "lives": {"address": 0xC100, "type": "|u1"},
        "score": {"address": 0xC101, "type": ">d3"},
        "x-pos": {"address": 0xC104, "type": "=u2"},
        "2nd": {"address": 0xC106, "type": "<i2", "mask": 255},
        "min": {"address": 0xC108, "type": "|n1"},
    }
}
SCENARIO = {
    "reward": {
        "variables": {
            "score": {"reward": 10.0},
            "lives": {"penalty": 5.0, "reward": 1},
            "x-pos": {"reward": 2, "op": "greater-than", "reference": 9, "measurement": "absolute"},
        },
        "time": {"reward": -0.1},
    },
    "done": {
        "condition": "all",
        "variables": {"lives": {"op": "equal", "reference": -1}},
        "nodes": {"or": {"variables": {"min": {"op": "zero"}, "score": {"op": "sign"}}}},
    },
    "crop": [0, 0, 160, 144],
    "actions": [[["A"]]],
}


def written(tmp_path, found):
    path = tmp_path / "map.json"
    path.write_text(json.dumps(found))
    return load_program(path, "pixels")


def test_files_of_stable_retro_become_a_map(tmp_path):
    found, left_out = import_retro(DATA, SCENARIO)
    assert left_out == ["scenario.crop", "scenario.actions"]
    program = written(tmp_path, found)
    assert [f.name for f in program.fields] == ["lives", "score", "x_pos", "_2nd", "min_"]
    assert {name: weight for name, weight, _ in program.rewards} == {
        "score": 10.0, "lives": 1.0, "lives_penalty": 5.0, "x_pos": 2.0, "time": -0.1,
    }  # fmt: skip
    sign = "((score > 0) - (score < 0))"
    assert found["ends"]["terminated"] == f"(lives == (-1)) and ((min_ == 0) or ({sign} > 0))"


def test_every_term_has_a_name_of_its_own(tmp_path):
    names = ("score", "score_penalty", "time", "time_")
    data = {"info": {name: {"address": 0xC000, "type": "u1"} for name in names}}
    variables = {name: {"reward": k} for k, name in enumerate(names, 1)}
    variables["score"] |= {"penalty": 9}
    scenario = {"reward": {"variables": variables, "time": {"reward": 5}}}
    program = written(tmp_path, import_retro(data, scenario)[0])
    assert {name: weight for name, weight, _ in program.rewards} == {
        "score": 1, "score_penalty": 9, "score_penalty_": 2, "time": 3, "time_": 4, "time__": 5,
    }  # fmt: skip


def measured(op, reference, value):
    """What stable-retro's page says of operations."""
    return {
        None: value, "nonzero": value != 0, "zero": value == 0, "positive": value > 0,
        "negative": value < 0, "sign": (value > 0) - (value < 0), "equal": value == reference,
        "negative-equal": value == -reference, "not-equal": value != reference,
        "less-than": value < reference, "greater-than": value > reference,
        "less-or-equal": value <= reference, "greater-or-equal": value >= reference,
    }[op]  # fmt: skip


OPS = (None, "nonzero", "zero", "positive", "negative", "sign", "equal", "negative-equal",
       "not-equal", "less-than", "greater-than", "less-or-equal", "greater-or-equal")  # fmt: skip


@walk("op", OPS)
@walk("measurement", ["absolute", "delta"])
def test_operations_are_those_of_stable_retro(op, measurement, tmp_path):
    spec = {"measurement": measurement, "reference": 2} | ({"op": op} if op else {})
    scenario = {
        "reward": {"variables": {"lives": {**spec, "reward": 3.0, "penalty": 0.5}}},
        "done": {"variables": {"lives": spec}},
    }
    program = written(tmp_path, import_retro(DATA, scenario)[0])
    (load,) = program.loads
    for before in (0, 1, 2, 4, 6):
        for now in (0, 1, 2, 4, 6):
            value = measured(op, 2, now if measurement == "absolute" else now - before)
            *rewards, done = program.values({load: before}, {load: now})
            paid = sum(w * x for w, x in zip(program.weights, rewards, strict=True))
            assert paid == (value * 3.0 if value > 0 else value * 0.5)
            assert bool(done) == (value > 0)


@pytest.mark.parametrize(("done", "ends"), [({}, 0), ({"condition": "all"}, 1)])
def test_ends_without_variables(done, ends):
    text = import_retro(DATA, {"done": done})[0]["ends"]["terminated"]
    assert evaluate(parse(text, "ends", {}), {}, {}) == ends


WRONG = [
    ([], None, "info"), ({"info": {"a": 3}}, None, r"data\.info\.a=3"),
    ({"info": {"a": {"address": 1, "type": "><u4"}}}, None, "middle endian is not known"),
    ({"info": {"a": {"address": 1, "type": "u0"}}}, None, r"a\.type='u0'"),
    ({"info": {"a-b": DATA["info"]["min"], "a_b": DATA["info"]["min"]}}, None, "rename one"),
    (DATA, [], "scenario=.* must be an object"), (DATA, {"scripts": ["a.lua"]}, "scenario.scripts"),
    (DATA, {"reward": {"script": "lua:f"}}, "script='lua:f': it cannot be taken over"),
    (DATA, {"done": {"script": "lua:f"}}, "done.script"), (DATA, {"rewards": []}, "rewards="),
    (DATA, {"reward": {"variables": {"gold": {}}}}, "no variable 'gold'"),
    (DATA, {"reward": {"variables": {"lives": {"op": "cubed"}}}}, "op='cubed' must be one of"),
    (DATA, {"reward": {"variables": {"lives": {"reward": "x"}}}}, "reward='x' must be a number"),
    (DATA, {"reward": {"time": {"penalty": 1}}}, "never does so"),
    (DATA, {"done": {"condition": "some"}}, "any or all"),
    (DATA, {"done": {"variables": {"lives": {"measurement": "now"}}}}, "absolute or delta"),
    (DATA, {"done": {"variables": {"lives": {"reference": 0.5}}}}, "reference=0.5"),
    (DATA, {"reward": {"variables": {"lives": {"op": []}}}}, r"op=\[\] must be one of nonzero"),
    (DATA, {"done": {"variables": {"lives": {"op": {}}}}}, r"op=\{\} must be one of nonzero"),
    (DATA, {"reward": {"variables": {"lives": {"reward": 10**400}}}}, "must be a number from -1"),
    (DATA, {"rewrad": {}}, "scenario: 'rewrad' is not known: there are reward, rewards, done, scr"),
    (DATA, {"reward": {"variable": {}}}, "reward: 'variable' is not known"),
    (DATA, {"reward": {"variables": {"lives": {"rewards": 1}}}}, "lives: 'rewards' is not known"),
    (DATA, {"reward": {"time": {"rewards": 1}}}, r"reward\.time: 'rewards' is not known"),
    (DATA, {"done": {"variables": {"lives": {"reward": 1}}}}, "lives: 'reward' is not known"),
    (DATA, {"done": {"node": {}}}, "done: 'node' is not known"),
    (DATA | {"inf": {}}, None, "data: 'inf' is not known: there are info"),
    ({"info": {"a": DATA["info"]["min"] | {"msk": 1}}}, None, r"info\.a: 'msk' is not known"),
]  # fmt: skip


@walk(("data", "scenario", "says"), WRONG, ids=lambda x: str(x)[:30])
def test_what_no_map_can_say_is_refused_by_name(data, scenario, says):
    with pytest.raises(ConfigError, match=says):
        import_retro(data, scenario)


def test_of_several_players_the_first_is_taken():
    scenario = {"rewards": [SCENARIO["reward"], {"script": "lua:f"}]}
    found, left_out = import_retro(DATA, scenario)
    assert "score" in found["rewards"]
    assert left_out == ["scenario.rewards of the other players"]


def test_the_command_writes_a_map(tmp_path, capsys):
    for name, value in (("data", DATA), ("scenario", SCENARIO)):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    given = ["ram", "import", str(tmp_path / "data.json"), "--out", str(tmp_path / "map.json")]
    assert main([*given, "--scenario", str(tmp_path / "scenario.json")]) == 0
    assert "left out: scenario.crop" in capsys.readouterr().out
    assert load_program(tmp_path / "map.json", "pixels").end("terminated") == 5
    assert main(["ram", "import", str(tmp_path / "none.json"), "--out", str(tmp_path / "x")]) == 2
    assert "cannot be read" in capsys.readouterr().err
    for command, name in (
        (["ram", "import", str(tmp_path / "data.json"), "--out"], "--out"),
        (["bank"], "file"),
    ):
        assert main([*command, str(tmp_path)]) == 2
        said = f"error: {name} {tmp_path}: cannot be written: it is a folder, must be a file.\n"
        assert capsys.readouterr().err == said
