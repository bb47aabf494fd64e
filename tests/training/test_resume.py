"""T16 with whole runs: saved, ended, and gone on with in a new process, they are as if never ended.

T17: whenever a run is killed, it can be gone on with.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.bits import equal
from tests.tables import walk
from training.players.trained import load
from training.run import checkpoint
from training.run.folder import RunFolder

ROOT = Path(__file__).resolve().parents[2]
CLOCK = ("time", "wall_s", "sps", "sps_cpu", "phases", "mem")
WORKER = {
    "visits": {"cell": {"info": "round", "bin": 2}, "count_bonus": 0.01, "episode_bonus": 0.1},
    "progress": {"events": [{"name": "tricks", "source": "won"}]},
    "quests": {"stages": [{"quest": "goal", "when": {"won": [1, None]}, "reward": 0.5}]},
    "episodes": {"success": {"info": "ended_won", "equals": "ended_bid"}},
    "archive": {"cell": "round", "p_archive": 0.3},
}
NODE = {"obs": 22, "times": 31}
PROSPECTOR = {
    "visits": {"cell": NODE, "num_cells": 32, "place": NODE, "num_places": 32, "count_bonus": 0.1},
    "progress": {"events": [{"name": "credits", "source": "credits"}]},
    "episodes": {"success": "survival"},
    "archive": {"cell": NODE, "score": "credits", "visits": "visits", "max_cells": 32},
}
RUNS = {
    "native-worker": ("native", {"trackers": WORKER}),
    "sb3-worker": ("sb3", {"trackers": WORKER}),
    "native-prospector": (
        "native",
        {
            "env": "Prospector-v0",
            "env_options": {"time_max": 60},
            "window_ticks": 50,
            "trackers": PROSPECTOR,
        },
    ),
}


def command(runs, name, *flags):
    return [sys.executable, "-m", "training.train", "--runs", str(runs), "--name", name, *flags]


def environment():
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}


def saved(run):
    """Everything in the last checkpoint that does not come from the clock."""
    path = run / f"checkpoints/ckpt_{512:012d}"
    record = json.loads((path / "trainer.json").read_text())
    for name in ("config", "config_sha256", "versions", "git_rev", "dirty"):
        record.pop(name)
    record["progress"].pop("wall_s")
    with np.load(path / "engine.npz") as engine:
        arrays = {name: torch.from_numpy(engine[name]) for name in engine.files}
    tensors = [torch.load(path / n, weights_only=True) for n in ("model.pt", "trackers.pt")]
    return {"trainer": record, "engine": arrays, "model": tensors[0], "trackers": tensors[1]}


def metrics(run, name="metrics"):
    lines = [json.loads(line) for line in (run / f"{name}.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if k not in CLOCK} for line in lines]


@pytest.mark.parametrize("kind", ["sb3-worker", "native-prospector"])
@pytest.mark.slow
def test_run_that_goes_on_equals_one_that_was_never_ended(train, tmp_path, kind):
    halves_equal_the_whole(train, tmp_path, kind, go_on_here)


@pytest.mark.parametrize(
    "kind", ["native-worker", *(pytest.param(k, marks=pytest.mark.slow) for k in list(RUNS)[1:])]
)
@pytest.mark.slow
def test_run_that_goes_on_in_a_new_process_equals_one_that_was_never_ended(train, tmp_path, kind):
    halves_equal_the_whole(train, tmp_path, kind, go_on_elsewhere)


def go_on_here(train, runs):
    assert train(runs, "halves", "--resume", "--total-steps", 512, config=None) == 0


def go_on_elsewhere(_train, runs):
    resume = command(runs, "halves", "--resume", "--total-steps", "512", "--no-evaluation")
    subprocess.run(resume, cwd=ROOT, env=environment(), check=True, stderr=subprocess.DEVNULL)


def halves_equal_the_whole(train, tmp_path, kind, go_on):
    trainer, options = RUNS[kind]
    flags = ["--trainer", trainer]
    flags += [f for k, v in options.items() for f in ("--set", f"{k}={json.dumps(v)}")]
    assert train(tmp_path, "straight", *flags) == 0
    assert train(tmp_path, "halves", *flags, "--total-steps", 256) == 0
    go_on(train, tmp_path)
    straight, halves = tmp_path / "straight", tmp_path / "halves"
    ours, theirs = saved(halves), saved(straight)
    for part in theirs:
        if part == "trainer" and theirs[part].get("windows"):
            ours[part]["windows"].pop("run_id", None)
            theirs[part]["windows"].pop("run_id", None)
        assert equal(ours[part], theirs[part]), part
    assert metrics(halves) == metrics(straight)
    assert [r["step"] for r in metrics(straight)] == [128, 256, 384, 512]
    found = metrics(straight)[-1]["trackers"]
    assert found["visits/visits"] == 512
    assert found["archive/restarts"] > 0


def test_finished_run_with_nothing_left_to_do_keeps_its_last_window(train, tmp_path):
    flags = ["--set", "env=Prospector-v0", "--set", "window_ticks=500"]
    assert train(tmp_path, "run", *flags) == 0
    before = (tmp_path / "run/windows.jsonl").read_text()
    assert not metrics(tmp_path / "run", "windows")[-1]["window_complete"]
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
        ({"visits": {"cell": "moon"}}, "trackers.visits.cell: source 'moon'"),
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


@pytest.mark.slow
@pytest.mark.parametrize(("who", "kills"), [("native", 3), ("sb3", 1)])
def test_run_that_is_killed_at_any_time_can_be_gone_on_with(tiny_config, tmp_path, who, kills):
    """T17: it saves after every iteration, so most kills meet it while it is saving."""
    print("seed", seed := 17)
    rng = random.Random(seed)
    flags = ["--config", str(tiny_config), "--trainer", who, "--total-steps", "100000000"]
    flags += ["--set", "checkpoints={every: 128, keep: 2}", "--set", "trackers={episodes: {}}"]
    run, resume = tmp_path / "run", []
    steps = 0
    for _ in range(kills):
        process = subprocess.Popen(
            command(tmp_path, "run", *(resume or flags)),
            cwd=ROOT,
            env=environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            deadline = time.monotonic() + 600
            while load_steps(run) <= steps:
                assert process.poll() is None, process.stderr.read()
                assert time.monotonic() < deadline
                time.sleep(0.02)
            time.sleep(rng.uniform(0, 0.5))
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        found = load(RunFolder.open(run))
        assert found.steps >= steps
        steps = found.steps
        resume = ["--resume", "--total-steps", "100000000"]
    last = command(tmp_path, "run", "--resume", "--total-steps", str(steps + 128))
    done = subprocess.run(
        [*last, "--no-evaluation"], cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert [r["step"] for r in metrics(run)] == list(range(128, steps + 129, 128))


def load_steps(run):
    path = checkpoint.newest(run / "checkpoints")
    return 0 if path is None else int(path.name.removeprefix("ckpt_"))
