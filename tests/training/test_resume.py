"""What a run leaves where nothing is left to do or no room, and what trackers it refuses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.tables import walk
from tests.training.left import lines
from training.run import checkpoint

ROOT = Path(__file__).resolve().parents[2]


def environment():
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}


def test_finished_run_with_nothing_left_to_do_keeps_its_last_window(train, tmp_path):
    flags = ["--set", "env=Prospector-v0", "--set", "window_ticks=500"]
    assert train(tmp_path, "run", *flags) == 0
    before = (tmp_path / "run/windows.jsonl").read_text()
    assert not lines(tmp_path / "run", "windows")[-1]["window_complete"]
    assert train(tmp_path, "run", "--resume", config=None) == 0
    assert (tmp_path / "run/windows.jsonl").read_text() == before


@pytest.mark.slow
def test_bonus_is_part_of_the_reward_that_is_stored(train, tmp_path, monkeypatch):
    """T14, with both trainers: they learn from the sum."""
    from sb3_contrib import MaskablePPO

    from training.ppo.trainer import PPOTrainer

    stored = {}

    def of_native(self, objective):
        stored.setdefault("native", self.rollout.reward.clone())
        return update(self, objective)

    def of_sb3(self):
        stored.setdefault("sb3", torch.from_numpy(self.rollout_buffer.rewards.copy()))
        return train_sb3(self)

    update, train_sb3 = PPOTrainer.update, MaskablePPO.train
    monkeypatch.setattr(PPOTrainer, "update", of_native)
    monkeypatch.setattr(MaskablePPO, "train", of_sb3)
    # Each step is the one stage of a quest, and is worth 1,000; rewards of the game are far less.
    stage = {"quest": "step", "when": {"round": [0, None]}, "reward": 1000}
    quests = {"quests": {"stages": [dict(stage) for _ in range(200)]}}
    for trainer in ("native", "sb3"):
        flags = ("--trainer", trainer, "--set", f"trackers={json.dumps(quests)}")
        assert train(tmp_path, trainer, *flags, "--total-steps", 128) == 0
        assert stored[trainer].shape == (16, 8)
        assert float(stored[trainer].min()) > 900


@walk(
    ("trackers", "says"),
    [
        ({"visit": {"cell": "round"}}, "trackers.visit.kind='visit'"),
        ({"visits": {}}, "trackers.visits.cell=None"),
        ({"visits": {"cell": "moon"}}, "trackers.visits.cell='moon' is no info column"),
        ({"visits": {"cell": "round", "cells": 3}}, "'trackers.visits.cells' is not an option"),
        ({"visits": {"cell": "round", "num_cells": "many"}}, "trackers.visits.num_cells='many'"),
        ({"visits": {"cell": "round", "num_cells": 0}}, "trackers.visits.num_cells=0"),
        ({"visits": {"cell": {"obs": 9999}}}, "trackers.visits.cell.obs=9999"),
        ({"visits": {"cell": {"info": "won", "bin": 0}}}, "trackers.visits.cell.bin=0"),
        ({"archive": {"cell": "round", "visits": "visits"}}, "trackers.archive.visits='visits'"),
        ({"progress": {"events": []}}, "trackers.progress.events=[]"),
        ({"progress": {"events": [{"name": "x"}]}}, "trackers.progress.events[0].source=None"),
        ({"quests": {"stages": [{"quest": "a", "when": {"won": "x"}}]}}, "stages[0].when.won='x'"),
    ],
)
def test_trackers_that_cannot_be_are_refused_with_nothing_written(
    train, tmp_path, capsys, trackers, says
):
    assert train(tmp_path, "bad", "--set", f"trackers={json.dumps(trackers)}") == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


# From its first checkpoint on, no file of this process may grow beyond 8 KB; parameters do.
LITTLE_ROOM = """
import resource, sys
from training.run import checkpoint
from training.train import main

def tight(*args, **options):
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    return save(*args, **options)

save, checkpoint.save = checkpoint.save, tight
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_disk_without_room_is_one_sentence_and_leaves_nothing_half_written(tiny_config, tmp_path):
    flags = ["--config", str(tiny_config), "--runs", str(tmp_path), "--name", "run"]
    done = subprocess.run(
        [sys.executable, "-c", LITTLE_ROOM, *flags, "--set", "checkpoints.every=128"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert (
        "the checkpoint at 128 decisions could not be written ([Errno 27] File too large)" in error
    )
    assert "Traceback" not in done.stderr
    assert checkpoint.newest(tmp_path / "run/checkpoints") is None


# From its second line of metrics on, no file of this process may grow. Its checkpoints are written
# at once: their thread might not be done with the first one by then.
NO_ROOM = """
import resource, sys
from training.run.jsonl import JsonLines
from training.train import main
from training.run.checkpoint import CheckpointWriter

def begin(self, steps, write):
    write()
    start(self, steps, lambda: None)

start, CheckpointWriter.start = CheckpointWriter.start, begin

def full(self, record):
    if record.get("iter") == 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
    return write(self, record)

write, JsonLines.write = JsonLines.write, full
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_log_without_room_is_one_sentence_and_leaves_the_checkpoints_whole(tiny_config, tmp_path):
    flags = ["--config", str(tiny_config), "--runs", str(tmp_path), "--name", "run"]
    flags += ["--set", "checkpoints.every=128"]
    run = [sys.executable, "-c", NO_ROOM, *flags]
    done = subprocess.run(run, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "run cannot be written to ([Errno 27] File too large)" in error
    assert load_steps(tmp_path / "run") == 128


def test_folder_without_room_is_one_sentence(train, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
    assert train(tmp_path, "run") == 2
    assert capsys.readouterr().err == "error: [Errno 28] disk full\n"


def load_steps(run):
    path = checkpoint.newest(run / "checkpoints")
    return 0 if path is None else int(path.name.removeprefix("ckpt_"))
