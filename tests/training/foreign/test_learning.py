"""The record of what is learnt in environments of other packages."""

import json

import pytest

from tools import foreign_learning
from tools.foreign_learning import TASKS, Task, list_trainings
from training.train import main

POLES = "--env CartPole-v1 --total-steps 128 --num-envs 4"
SMALL = "--set ppo.n_steps=16 --set ppo.batch_size=32 --set evaluation.episodes=4"


def test_a_task_is_compared_with_the_other_trainer_behind_it():
    assert list_trainings(["cartpole", "acrobot"]) == [
        *(("cartpole", "native"), ("acrobot", "native"), ("acrobot", "sb3"))
    ]


@pytest.mark.parametrize("name", TASKS)
def test_the_options_of_every_task_are_possible(name, capsys):
    if name == "minigrid":
        pytest.importorskip("minigrid")
    for _, trainer in list_trainings([name]):
        flags = ["--config", foreign_learning.CONFIG, *TASKS[name].flags_of(trainer).split()]
        assert main([*flags, "--print-config"]) == 0
        assert f"trainer: {trainer}\n" in capsys.readouterr().out


@pytest.mark.slow
def test_both_trainers_have_a_row_for_each_seed(tmp_path, monkeypatch):
    monkeypatch.setitem(TASKS, "poles", Task(f"{POLES} {SMALL}", "nothing", compared=True))
    out = tmp_path / "record.json"
    command = ["--tasks", "poles", "--runs", str(tmp_path / "runs"), "--out", str(out)]
    assert foreign_learning.main([*command, "--seeds", "2"]) == 0
    first = json.loads(out.read_text())["tasks"]
    assert [*first] == ["poles, native", "poles, sb3"]
    assert {one["runs"]["2"]["steps"] for one in first.values()} == {128}
    assert foreign_learning.main([*command, "--seeds", "1,2"]) == 0
    both = json.loads(out.read_text())["tasks"]
    for label, one in both.items():
        assert [*one["runs"]] == ["1", "2"]
        assert one["runs"]["2"] == first[label]["runs"]["2"]  # it was not trained again


@pytest.mark.slow
def test_wins_against_opponents_stand_in_the_row(tmp_path, monkeypatch, capfd):
    pytest.importorskip("pettingzoo.classic.connect_four")
    flags = f"{TASKS['connect_four'].flags} --total-steps 128 --num-envs 4 {SMALL}"
    monkeypatch.setitem(TASKS, "four", Task(flags, "nothing"))
    out = tmp_path / "record.json"
    command = ["--tasks", "four", "--seeds", "1", "--runs", str(tmp_path), "--out", str(out)]
    assert foreign_learning.main(command) == 0
    row = json.loads(out.read_text())["tasks"]["four, native"]["runs"]["1"]
    win = row["win"]["random"]["trained"]
    assert 0 <= win[1] <= win[0] <= win[2] <= 1
    assert f"; win {win[0]:.1%} against random\n" in capfd.readouterr().out


def test_a_task_that_there_is_not_is_refused(tmp_path, capsys):
    assert foreign_learning.main(["--tasks", "chess", "--out", str(tmp_path / "x.json")]) == 2
    assert "--tasks='chess' is not possible: --tasks must be some of cartpole" in (
        capsys.readouterr().err
    )
