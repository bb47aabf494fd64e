"""Run folders of an older version: they load, play, continue and are drawn by this one.

``tests/data/runs`` was written by ``python -m tools.old_runs`` at the commit that its README names.
"""

import shutil
from pathlib import Path

import pytest

import training
from training import report, train
from training.run import checkpoint
from training.run.folder import RunFolder

RUNS = sorted(path.parent for path in Path("tests/data/runs").glob("*/config.json"))
of_every_run = pytest.mark.parametrize("folder", RUNS, ids=lambda path: path.name)


def test_there_is_a_run_of_every_trainer():
    kinds = {RunFolder.open(folder).config.trainer for folder in RUNS}
    assert kinds == {"native", "sb3", "hier", "ensemble", "dqn", "expert"}


@of_every_run
def test_its_agent_plays(folder):
    policy = training.load_policy(folder)
    env, state = policy.make(), None
    obs, info = env.reset(seed=0)
    for _ in range(20):
        action, state = policy.act(obs, info["action_mask"], state)
        assert info["action_mask"][action]
        obs, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break


@of_every_run
def test_it_continues(folder, tmp_path):
    shutil.copytree(folder, tmp_path / folder.name)
    run = RunFolder.open(tmp_path / folder.name)
    before = checkpoint.steps_of(checkpoint.newest(run.checkpoints))
    more = ["--resume", "--total-steps", str(2 * before), "--no-evaluation"]
    assert train.main(["--name", folder.name, "--runs", str(tmp_path), *more]) == 0
    assert checkpoint.steps_of(checkpoint.newest(run.checkpoints)) >= 2 * before


def test_they_are_drawn(tmp_path):
    shutil.copytree("tests/data/runs", tmp_path / "runs")
    out = tmp_path / "report.html"
    folders = [str(tmp_path / "runs" / folder.name) for folder in RUNS]
    assert report.main([*folders, "--out", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    assert all(folder.name in page for folder in RUNS)
