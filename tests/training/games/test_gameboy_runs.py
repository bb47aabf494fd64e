"""Runs on Parcel, a game of ours: what they say first, and swarms that go on."""

import io
import json
import re
from contextlib import redirect_stderr
from itertools import chain

import numpy as np
import pytest
import torch

from tests.bits import equal
from tests.needs import needs_core
from tests.training.left import timeless as metrics
from training.games.gameboy.remarks import remarks
from training.logs.run_data import read_runs
from training.logs.sections import make_sections
from training.run.envs import make_engine

SWARM = {
    "env": "GameBoyPixels-v0",
    "num_envs": 8,
    "total_steps": 512,
    "torch_threads": 1,
    "deterministic": True,
    "env_options": {
        **{"rom": "parcel", "ram_map": "parcel", "states": "power_up", "stack_k": 1},
        **{"max_steps": 12, "writes": ["money", "luck_add"]},
        "allowed_buttons": ["a", "b", "up", "down", "left", "right"],
        "observe": ["map_id", "map_x", "map_y", "battle"],
    },
    "ppo": {"n_steps": 16, "batch_size": 64, "n_epochs": 1, "net_arch": [16]},
    "trackers": {
        "visits": {"cell": {"info": ["map_id", "map_x"], "sizes": [64, 16]}, "num_cells": 1024},
        "quests": {
            "stages": [
                *({"quest": f"row {y}", "when": {"map_id": 0, "map_y": y}} for y in (4, 3, 2, 1)),
                *({"quest": f"road {y}", "when": {"map_id": 12, "map_y": y}} for y in (8, 7, 5, 3)),
            ]
        },
        "archive": {
            "cell": {"info": ["map_x", "map_y"], "sizes": [16, 16]},
            **{"max_cells": 64, "p_archive": 0.5, "swarm": "quests", "afresh": True},
        },
    },
    "checkpoints": {"every": 256},
    "evaluation": {"during": "off"},
}


@pytest.fixture(scope="module")
def runs(train, tmp_path_factory):
    """A swarm that was never ended, what it said, and one that was ended and went on."""
    folder, said = tmp_path_factory.mktemp("runs"), io.StringIO()
    with redirect_stderr(said):
        assert train(folder, "straight", config=SWARM) == 0
    assert train(folder, "halves", "--total-steps", 256, config=SWARM) == 0
    assert train(folder, "halves", "--resume", "--total-steps", 512, config=None) == 0
    return folder, said.getvalue()


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


@needs_core
def test_a_swarm_that_goes_on_equals_one_that_was_never_ended(runs):
    straight, halves = runs[0] / "straight", runs[0] / "halves"
    begun = halves / "checkpoints" / "ckpt_000000000256" / "trackers.pt"
    before = torch.load(begun, weights_only=True)["archive"]
    ours, theirs = saved(halves), saved(straight)
    for part in theirs:
        assert equal(ours[part], theirs[part]), part
    lines = [metrics(run) for run in (halves, straight)]
    for line in chain(*lines):
        line.pop("env_step")  # by the clock
    assert lines[0] == lines[1]
    after = theirs["trackers"]["archive"]
    assert after["furthest"] >= before["furthest"] >= 0, "nobody was sent before it was ended"
    assert before["waiting"].any() or after["furthest"] > before["furthest"], "or after it"
    assert after["restarts"] > before["restarts"]


@needs_core
def test_a_run_says_what_it_takes_and_what_it_writes(runs):
    folder, said = runs
    begun = said.split("threads: ")[0]
    assert "observations of 16 bytes: 0.0 MiB in the lanes" in begun
    assert re.search(r"memory of the trackers: visits 0\.0 MiB, archive [1-9]\d*\.\d MiB", begun)
    writes = "the memory of the game is written to: money, luck_add (env_options.writes)"
    assert writes in begun
    (run,) = read_runs([folder / "straight"])
    side_by_side = make_sections([run], [])[0]
    assert f"straight: {writes}" in side_by_side["notes"]
    engine = make_engine(SWARM["env"], 1, {**SWARM["env_options"], "writes": []})
    assert remarks(engine) == []
