"""Where commands write: refused before any work if nothing can be written there."""

import os
from pathlib import Path

import pytest

from fastenv.errors import ConfigError
from tests.tables import walk
from training import benchmark_v9, evaluate, report
from training.apps.drmario.best_times import BestTimes, RecordError
from training.callbacks.best_times import make_best_times
from training.commands import matrix, profile
from training.games.prospector import protocol
from training.ppo.options import NativeRun
from training.run import files


def test_folder_of_a_file_to_be_written_is_made(tmp_path):
    files.prepare("--out", tmp_path / "a/b/c.json")
    assert (tmp_path / "a/b").is_dir()
    assert list((tmp_path / "a/b").iterdir()) == []


def test_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"^--out .*/file/x: cannot be written: .*/file is no"):
        files.prepare("--out", tmp_path / "file/x")
    with pytest.raises(
        ConfigError, match=r"^--out .*: cannot be written: it is a folder, must be a file\."
    ):
        files.prepare("--out", tmp_path)


def test_a_folder_is_tried_and_not_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: True)  # as root has it
    with pytest.raises(ConfigError, match=r"^--out /proc/x\.json: cannot be written: /proc "):
        files.prepare("--out", Path("/proc/x.json"))
    (tmp_path / "kept").write_text("mine")
    files.prepare("--out", tmp_path / "kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_text() == "mine"


@walk("name", ["a" * 250, "a" * 300, "a" * 20_000, "a/" * 3000 + "x", "a\0b", "a\0b/c"])
def test_a_name_that_no_file_can_have_is_refused_in_one_sentence(tmp_path, name):
    with pytest.raises(ConfigError, match="cannot be written: ") as refused:
        files.prepare("--out", tmp_path / name)
    assert len(str(refused.value)) < 600
    with pytest.raises(RecordError, match="cannot be used as a store of times: ") as refused:
        BestTimes(tmp_path / name)
    assert len(str(refused.value)) < 600


def test_a_game_without_best_times_says_so_briefly():
    with pytest.raises(ConfigError, match="keeps no best times") as refused:
        make_best_times(NativeRun(env="Prospector-v0", best_times="a" * 20_000), ())
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        (benchmark_v9, ["--only", "configs", "--out", "{file}/x"]),
        (profile, ["--modes", "env_only", "--out", "{file}/x"]),
        (matrix, ["--modes", "env_only", "--out", "{file}"]),
        (evaluate, ["--bots", "--output-path", "{file}/x"]),
        (protocol, ["--seeds", "1", "--output-path", "{file}/x"]),
    ],
    ids=lambda value: value.__name__.rpartition(".")[2] if hasattr(value, "main") else value[-2],
)
def test_commands_refuse_before_they_work(command, flags, tmp_path, capsys):
    file = tmp_path / "file"
    file.touch()
    assert command.main([flag.format(file=file) for flag in flags]) == 2
    said = capsys.readouterr()
    assert "cannot be written" in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_report_says_where_it_cannot_be_written(finished, tmp_path, capsys):
    assert report.main([str(finished), "--out", str(tmp_path)]) == 2
    assert (
        capsys.readouterr().err
        == f"error: --out {tmp_path}: cannot be written: it is a folder, must be a file.\n"
    )


def test_a_text_is_written_beside_the_old_one_and_takes_its_place(tmp_path):
    path, kept = tmp_path / "a.json", tmp_path / "kept"
    files.write_text(path, "old")
    os.link(path, kept)
    for write, value, text in (
        (files.write_text, "new", "new"),
        (files.write_json, [1], "[\n  1\n]\n"),
    ):
        write(path, value)
        assert (path.read_text(), kept.read_text()) == (text, "old")
    assert {each.name for each in tmp_path.iterdir()} == {"a.json", "kept"}
