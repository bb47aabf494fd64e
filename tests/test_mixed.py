"""The record of self-play in small games of hidden information."""

import json

import pytest

from tools import mixed

SHORT = "--total-steps 8192 --set num_envs=8 --set checkpoints.every=4096"


@pytest.mark.slow
def test_a_run_is_measured_at_every_checkpoint(tmp_path):
    out = tmp_path / "record.json"
    command = ["--runs", str(tmp_path / "runs"), "--out", str(out), "--games", "kuhn"]
    assert mixed.main([*command, "--seeds", "2", "--flags", SHORT]) == 0
    first = json.loads(out.read_text())["games"]["kuhn"]
    assert round(first["uniform"], 4) == 0.4583
    assert [steps for steps, _ in first["runs"]["2"]["curve"]] == [4096, 8192]
    assert all(0 < value < 1 for _, value in first["runs"]["2"]["curve"])
    assert mixed.main([*command, "--seeds", "1,2", "--flags", SHORT]) == 0
    runs = json.loads(out.read_text())["games"]["kuhn"]["runs"]
    assert list(runs) == ["1", "2"]
    assert runs["2"] == first["runs"]["2"]  # it was not trained again


def test_a_game_that_there_is_not_is_refused(tmp_path, capsys):
    assert mixed.main(["--games", "poker", "--out", str(tmp_path / "x.json")]) == 2
    assert (
        "--games='poker' is not possible: --games must be some of kuhn" in capsys.readouterr().err
    )
