"""Trainings over seeds: each is begun, goes on where it stopped, or is left as it is."""

import subprocess
from types import SimpleNamespace

import pytest

from fastenv.errors import FastEnvError
from tools import train_seeds


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
