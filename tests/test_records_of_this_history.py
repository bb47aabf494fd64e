"""Records name what they were taken by, at and on, and ``make records`` takes those of speeds."""

import argparse
import json
import re
import shlex

import pytest

from tools import records
from training.bench import runner
from training.run import files, machine, registry

RECORDS = {path.relative_to(records.RECORDS).as_posix(): path for path in records.committed()}


def test_what_a_record_does_not_say_is_seen():
    whole = {"command": "x", "git_rev": "a" * 12, "dirty": False, "host": {"cpu_model": "C"}}
    assert not [*records.lacks(whole)]
    for name in whole:
        assert len([*records.lacks({k: v for k, v in whole.items() if k != name})]) == 1, name
    assert not [*records.lacks({"old": "no machine was noted"})]
    assert [*records.lacks({**whole, "old": " "})] == ["a reason in old"]
    text = '{"git_rev": "abcdef123456"} {"git_rev": "fedcba"}'
    assert records.unknown_commits(text, {"abcdef1234567"}) == {"fedcba"}


# -- make records ----------------------------------------------------------------------------------


def test_the_list_has_every_kind_of_record_of_speeds():
    listed = [speed.name for speed in records.SPEEDS]
    assert len(set(listed)) == len(listed)
    assert set(listed) <= set(RECORDS)
    of_speed = {f"{part}.jsonl" for part in registry.SUITES} | {"bars-gameboy.jsonl", "matrix.json"}
    of_speed |= {name for name in RECORDS if name.startswith(("throughput/", "vectorised-"))}
    heads = {name: records.head_of(path) for name, path in RECORDS.items()}
    of_speed |= {name for name, head in heads.items() if "load" in head and "old" not in head}
    assert of_speed <= set(listed)
    for speed in records.SPEEDS:  # a place that whoever takes it has to fill in is in capitals
        assert bool(re.findall(r"\b[A-Z]{3,}\b", speed.command)) == bool(speed.needs), speed.name


def test_record_is_taken_by_the_command_of_the_list():
    """The parser of the benchmark gives each of its records the name that the list has."""
    for speed in records.SPEEDS:
        if " --only " in speed.command:
            words = shlex.split(speed.command)[2:]
            args = argparse.Namespace(config=None, set=None, game=None)
            args.only = words[words.index("--only") + 1]
            args.game = words[words.index("--game") + 1] if "--game" in words else None
            assert runner.record_path(args) == speed.name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in place of ``benchmarks/``, of a checkout without changes on a quiet machine."""
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    monkeypatch.setattr(machine, "revision", lambda: {"git_rev": "abc", "dirty": False})
    monkeypatch.setattr(machine, "host", lambda: HOST)
    monkeypatch.setattr(machine, "load", lambda: 0.25)
    monkeypatch.setattr(machine, "git", lambda *words: CHANGES.get(words[2]))
    monkeypatch.setattr(records, "SPEEDS", (ONE, TWO, FAR))
    return tmp_path


HOST = {"cpu_model": "C", "cpu_family": "1", "cpu_model_number": "2", "cpu_flags": ["avx2"]}
CHANGES = {"abc": "", "older": "fastenv/engine.py"}
ONE, TWO = records.Speed("one.json", "a --x", 1), records.Speed("two.jsonl", "b", 2)
FAR = records.Speed("far.json", "c FOLDER", 1, "a folder")


def written(path, **changes):
    """Write a record as a command would."""
    head = {"git_rev": "abc", "dirty": False, "host": HOST, **changes}
    rows = '{"kind": "bar"}\n' if path.suffix == ".jsonl" else ""
    files.write_text(path, json.dumps(head) + "\n" + rows)


def test_records_are_taken_one_by_one_and_not_twice(folder, monkeypatch, capsys):
    ran = []

    def run(command, **_):
        ran.append(command[2:])
        written(folder / {"a": "one.json", "b": "two.jsonl"}[command[2]], load_after=9.0)
        return argparse.Namespace(returncode=1)  # a bar was missed

    monkeypatch.setattr(records.subprocess, "run", run)
    written(folder / "one.json")
    assert records.main([]) == 0
    assert ran == [["b"]]
    head = records.head_of(folder / "two.jsonl")
    assert (head["load"], head["load_after"]) == (0.25, 9.0)
    assert (folder / "two.jsonl").read_text().endswith('\n{"kind": "bar"}\n')
    assert "1 of 1 taken" in capsys.readouterr().out
    assert records.main(["--only", "one", "--again"]) == 0
    assert ran == [["b"], ["a", "--x"]]
    assert records.main(["--list"]) == 0
    assert "about 0 minutes are left" in capsys.readouterr().out


def test_record_that_is_there_already_is_none_of_a_command_that_failed(folder, monkeypatch, capsys):
    monkeypatch.setattr(
        records.subprocess, "run", lambda *_, **__: argparse.Namespace(returncode=2)
    )
    written(folder / "one.json")
    assert records.main(["--only", "one", "--again"]) == 1
    assert "one.json: no record was written, exit status 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "changes",
    [
        {"git_rev": "older"},
        {"dirty": True},
        {"old": "why"},
        {"host": {**HOST, "cpu_flags": []}},
        {"host": {**HOST, "cpu_family": "2"}},
    ],
)
def test_record_of_other_code_or_of_another_machine_is_taken_again(folder, changes):
    written(folder / "one.json")
    assert records.is_done(ONE)
    written(folder / "one.json", **changes)
    assert not records.is_done(ONE)


def test_busy_machine_and_uncommitted_changes_are_refused(folder, monkeypatch, capsys):
    monkeypatch.setattr(records.subprocess, "run", lambda *_, **__: pytest.fail("it ran"))
    monkeypatch.setattr(machine, "load", lambda: 2.0)
    assert records.main(["--load", "0.5", "--wait", "0"]) == 1
    assert capsys.readouterr().err.count("the load is 2.0, above --load 0.5") == 2
    monkeypatch.setattr(machine, "revision", lambda: {"git_rev": "abc", "dirty": True})
    assert records.main([]) == 2
    assert "uncommitted changes" in capsys.readouterr().err
    for name, said in (("three", "is no record of speeds"), ("far", "needs a folder")):
        assert records.main(["--only", name]) == 2
        assert said in capsys.readouterr().err
