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

from training import checkpoint

ROOT = Path(__file__).resolve().parents[2]
STATES = np.zeros(3, np.dtype([("a", "i4"), ("b", "u1")], align=True))
IDENTITY = {"env": "toy", "observation length": 4}


def save(folder, steps, keep=3, value=1.0):
    STATES["a"] = [1, 2, 3]
    return checkpoint.save(
        folder,
        steps,
        identity=IDENTITY,
        model={"weight": torch.full((2,), value), "step": 3},
        trainer={"note": "x", "number": 0.1},
        states=STATES,
        arrays={"starts": np.array([True, False, True])},
        keep=keep,
    )


def test_what_was_saved_is_loaded(tmp_path):
    found = checkpoint.load(save(tmp_path, 12), IDENTITY)
    assert found.steps == 12
    assert torch.equal(found.model["weight"], torch.ones(2))
    assert found.trainer == {"note": "x", "number": 0.1}
    assert found.arrays["starts"].tolist() == [True, False, True]
    rows = found.rows.view(STATES.dtype).reshape(-1)
    np.testing.assert_array_equal(rows, STATES)


def test_newest_is_the_one_pointed_at_or_the_last_whole_one(tmp_path):
    assert checkpoint.newest(tmp_path) is None
    save(tmp_path, 5)
    last = save(tmp_path, 10)
    assert checkpoint.newest(tmp_path) == last
    (tmp_path / "latest").unlink()
    (tmp_path / "ckpt_000000000099").mkdir()  # not whole
    assert checkpoint.newest(tmp_path) == last


def test_failure_while_saving_leaves_the_old_one(tmp_path, monkeypatch):
    old = save(tmp_path, 5)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save(tmp_path, 10)
    monkeypatch.undo()
    assert checkpoint.newest(tmp_path) == old
    checkpoint.load(old, IDENTITY)


def test_other_identity_is_refused(tmp_path):
    path = save(tmp_path, 5)
    with pytest.raises(checkpoint.CheckpointError, match="foreign: its env is 'toy'"):
        checkpoint.load(path, {"env": "chess"})


def test_other_format_is_refused(tmp_path):
    path = save(tmp_path, 5)
    manifest = path / "MANIFEST.json"
    manifest.write_text(manifest.read_text().replace(checkpoint.FORMAT, "their-checkpoint"))
    with pytest.raises(checkpoint.CheckpointError, match="foreign"):
        checkpoint.load(path, IDENTITY)


def test_global_generators_go_through_json():
    import json

    random.seed(3)
    np.random.seed(4)  # noqa: NPY002
    saved = json.loads(json.dumps(checkpoint.global_generators()))
    drawn = random.random(), np.random.random()  # noqa: NPY002
    checkpoint.set_global_generators(saved)
    assert (random.random(), np.random.random()) == drawn  # noqa: NPY002


@pytest.mark.slow
def test_kill_while_saving_always_leaves_a_whole_one(tmp_path):
    script = f"""
import sys; sys.path[:0] = {[str(ROOT), str(Path(__file__).parent), *sys.path]!r}
from pathlib import Path
import test_checkpoint
for steps in range(1, 1_000_000):
    test_checkpoint.save(Path({str(tmp_path)!r}), steps, value=float(steps))
    print(steps, flush=True)
"""
    rng = random.Random(0)
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        path = checkpoint.newest(tmp_path)
        found = checkpoint.load(path, IDENTITY)
        assert found.model["weight"][0] == found.steps
