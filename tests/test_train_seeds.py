"""Trainings over seeds: each is begun, goes on where it stopped, or is left as it is."""

import json
import subprocess
from types import SimpleNamespace

import pytest

from fastenv.errors import FastEnvError
from tools import train_seeds

# What a row of episodes has besides.
ENDED = {"episodes": {"trained": {"return": [1.0, 0.5, 1.5]}}}


@pytest.fixture
def asked(monkeypatch):
    """Return the words of the trainings that were started."""
    commands = []

    def run(command, check):
        commands.append(command[1:])
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(train_seeds.RunFolder, "open", lambda path: path)
    return commands


def test_a_training_goes_on_where_it_stopped(asked, tmp_path):
    run = tmp_path / "s3"
    begun = ["-m", "training", "train", "--config", "a.yaml", "--seed", "3", "--name", "s3"]
    where = ["--runs", str(tmp_path)]
    flags = ["--set", "num_envs=8"]
    assert train_seeds.train("a.yaml", 3, tmp_path, "--set num_envs=8") == run
    assert asked.pop() == [*begun, *flags, *where]
    run.mkdir()
    (run / "config.json").touch()
    train_seeds.train("a.yaml", 3, tmp_path, "--set num_envs=8")
    assert asked.pop() == ["-m", "training", "train", "--name", "s3", "--resume", *where]
    (run / "evaluation.json").touch()
    train_seeds.train("a.yaml", 3, tmp_path)
    assert asked == []


def test_a_training_that_fails_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(subprocess, "run", lambda command, check: SimpleNamespace(returncode=2))
    with pytest.raises(FastEnvError, match=r"--seed 1 --name s1 --runs .* failed"):
        train_seeds.train("a.yaml", 1, tmp_path)


@pytest.fixture
def evaluated(monkeypatch, tmp_path):
    """Return a function that makes the folder of a run that was evaluated at a commit."""
    monkeypatch.setattr(train_seeds, "row", lambda run: {"run": run.path.name})

    def make(seed, git_rev="a" * 40):
        head = {"git_rev": git_rev, "dirty": False, "host": {}, "versions": {}}
        played = {"protocol": {}, "players": [], "games": 8, "first_seed": 0}
        folder = tmp_path / f"s{seed}"
        folder.mkdir()
        for name in ("config.json", "evaluation.json"):
            (folder / name).write_text(json.dumps({**head, "matches": played}))
        return {seed: SimpleNamespace(path=folder)}

    return make


def test_a_record_grows_by_seeds(evaluated):
    first = train_seeds.record("a.yaml", evaluated(10))
    grown = train_seeds.record("a.yaml", evaluated(2), kept=first)
    assert list(grown["runs"].items()) == [("2", {"run": "s2"}), ("10", {"run": "s10"})]


@pytest.mark.parametrize(
    ("config", "git_rev", "said"),
    [("b.yaml", "a" * 40, "not of 'python -m training"), ("a.yaml", "b" * 40, "several commits")],
)
def test_a_record_is_of_one_command_and_commit(evaluated, config, git_rev, said):
    first = train_seeds.record("a.yaml", evaluated(1))
    with pytest.raises(FastEnvError, match=said):
        train_seeds.record(config, evaluated(2, git_rev), kept=first)
    second = train_seeds.record("a.yaml", evaluated(3), kept=first)
    assert list(second["runs"]) == ["1", "3"]


def test_a_seed_of_the_record_is_not_trained_again(evaluated, asked, monkeypatch, tmp_path):
    folders = {**evaluated(1), **evaluated(2)}
    monkeypatch.setattr(train_seeds, "train", lambda config, seed, *_: folders.pop(seed))
    monkeypatch.setattr(train_seeds, "row", lambda run: {"cpu_s": 1.0, "win_rate": {}, **ENDED})
    out = tmp_path / "record.json"
    command = ["a.yaml", "--out", str(out), "--runs", str(tmp_path), "--seeds"]
    for seeds in ("1", "1,2", "1,2"):
        assert train_seeds.main([*command, seeds]) == 0
    assert list(json.loads(out.read_text())["runs"]) == ["1", "2"]
    assert folders == {}
