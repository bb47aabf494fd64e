"""Where decisions last (``tau``), what a run logs counts frames beside decisions."""

import json

import numpy as np
import pytest

import fastenv
from tests.training.left import lines as records
from training.run.stats import IterationSums

TINY = {
    "env": "DrMarioPlacement-v0",
    "num_envs": 4,
    "total_steps": 512,
    "torch_threads": 1,
    "deterministic": True,
    "episode_events": True,
    "ppo": {"n_steps": 64, "batch_size": 256, "n_epochs": 1, "net_arch": [8]},
    "checkpoints": {"every": 256},
    "evaluation": {"during": "off"},
}


@pytest.mark.parametrize("env", ["DrMarioPlacement-v0", "DrMarioFrame-v0"])
def test_frames_are_the_sums_of_tau(env):
    engine = fastenv.make_engine(env, 4, level=20)
    assert engine.spec.has_tau
    window, rng = IterationSums(engine, frames=1000), np.random.default_rng(0)
    engine.reset_many(seeds=0)
    window.clear()
    total, lasted, whole = 1000, np.zeros(4, np.int64), []
    for _ in range(60 if "Placement" in env else 6000):
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
        window.add(engine)
        total, lasted = total + int(engine.tau.sum()), lasted + engine.tau
        done = (engine.terminated | engine.truncated) != 0
        whole.extend(lasted[done].tolist())
        lasted[done] = 0
    record = window.record()
    assert record["frames"] == total
    assert record["episode"]["n"] == len(whole) > 0
    assert record["episode"]["frames_mean"] == pytest.approx(np.mean(whole))


def test_a_run_counts_frames(train, tmp_path):
    assert train(tmp_path, "whole", config=TINY) == 0
    whole = records(tmp_path / "whole")
    frames = [record["frames"] for record in whole]
    assert frames == sorted(frames)
    assert frames[-1] > whole[-1]["step"]
    ended = [e for e in records(tmp_path / "whole", "events") if e["event"] == "episode_end"]
    assert all(e["frames"] >= e["decisions"] for e in ended)
    told = [r["episode"] for r in whole if "episode" in r]
    total = sum(e["n"] * e["frames_mean"] for e in told)
    assert sum(e["frames"] for e in ended) == pytest.approx(total)
    assert ended


def test_what_was_not_counted_once_is_not_guessed_later(train, tmp_path):
    assert train(tmp_path, "old", "--total-steps", 256, config=TINY) == 0
    path = tmp_path / "old/metrics.jsonl"
    (record,) = records(tmp_path / "old")
    del record["frames"]
    path.write_text(json.dumps(record) + "\n")
    assert train(tmp_path, "old", "--resume", config=TINY) == 0
    assert ["frames" in record for record in records(tmp_path / "old")] == [False, False]


def test_games_without_tau_have_no_frames(finished):
    for record in records(finished):
        assert "frames" not in record
        assert "frames_mean" not in record.get("episode", {})
