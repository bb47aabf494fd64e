"""The benchmark: its lines, and that both emulators do the same work."""

import json

import numpy as np
import pytest

from fastenv.gameboy.cartridge import load_cartridge
from tests.needs import needs_core
from tools.roms import ROMS

pytestmark = needs_core

INSTRUCTION = 24  # T, the longest


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    from tools.gameboy import bench

    monkeypatch.setattr(bench, "WARM_UP", 24)


def test_a_line_for_each_way(capsys):
    from tools.gameboy import bench

    arguments = [str(ROMS / "poll.gb"), "--windows", "1", "--seconds", "0.001"]
    assert bench.main(arguments) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["way"] for line in lines] == ["skip", "draw", "step"]
    for line in lines:
        assert line["rom"] == "poll"
        assert line["frames_per_cpu_s"] > 0
        assert 5000 < line["instructions_per_frame"] < 8000


@pytest.mark.parametrize("way", ["skip", "draw", "step"])
def test_both_do_the_same_work(way):
    pytest.importorskip("pyboy")
    from tools.gameboy import bench
    from tools.gameboy.compare import registers

    cartridge = load_cartridge(ROMS / "busy.gb")
    ours, theirs = bench.Ours(cartridge), bench.Theirs(cartridge)
    for player in (ours, theirs):
        getattr(player, way)(72)
    mine, other = registers(ours.console.row), theirs.twin.registers()
    assert abs(mine["cyc"] - other["cyc"]) <= INSTRUCTION  # PyBoy turns the display on a cycle late
    if way != "skip":
        np.testing.assert_array_equal(ours.console.picture, theirs.twin.picture())
    theirs.twin.close()


def test_a_rom_that_is_not_there_is_named(capsys, tmp_path):
    from tools.gameboy import bench

    assert bench.main([str(tmp_path / "none.gb")]) == 2
    assert "none.gb" in capsys.readouterr().err
