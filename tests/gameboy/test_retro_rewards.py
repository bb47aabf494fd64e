"""Imported maps of stable-retro against an evaluation of its files that is written apart."""

import json

import pytest

from tests.needs import needs_core
from tools.gameboy import retro_rewards
from tools.gameboy.retro_rewards import decode

DATA = {
    "info": {
        "score": {"address": 0xC123, "type": ">d3"},
        "tiles": {"address": 0x9A00, "type": "|n1"},
        "lives": {"address": 0xFF90, "type": "|i1", "mask": 127},
    }
}
SCENARIO = {
    "reward": {"variables": {"score": {"reward": 0.1, "penalty": 2}, "tiles": {"reward": 3}}},
    "done": {"condition": "all", "variables": {"lives": {"op": "less-than", "reference": 64}}},
}


@pytest.fixture
def folder(tmp_path):
    for name, scenario in (("Ours", SCENARIO), ("Lua", {"scripts": ["script.lua"]})):
        place = tmp_path / "data" / f"{name}-GameBoy"
        place.mkdir(parents=True)
        (place / "data.json").write_text(json.dumps(DATA))
        (place / "scenario.json").write_text(json.dumps(scenario))
    return tmp_path


@needs_core
def test_rewards_of_all_types_are_equal(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(retro_rewards, "LANES", 8)
    monkeypatch.setattr(retro_rewards, "STEPS", 2)
    out = tmp_path / "record.json"
    assert retro_rewards.main([str(folder), "--out", str(out)]) == 0
    record = json.loads(out.read_text())
    assert record["refused"] == [{"name": "Lua-GameBoy", "script": True}]
    assert record["imported"] == 1
    assert record["command"].split()[3] == "FOLDER"
    everything, ours = record["rows"]
    assert everything["name"] == "all types"
    assert everything["rewarded"] == ours["steps"] == 16
    assert 0 < ours["ends"] < 16
    assert "scripts cannot be taken over" in capsys.readouterr().out
    monkeypatch.setattr(retro_rewards, "decode", lambda part, kind: decode(part, kind) + 1)
    assert retro_rewards.main([str(folder)]) == 1


def test_a_folder_without_integrations_is_refused(tmp_path, capsys):
    assert retro_rewards.main([str(tmp_path)]) == 2
    assert "no folder *-GameBoy with data is there" in capsys.readouterr().err
