"""Trainings spread over processes: rows say what ran, rows become verdicts."""

import json
import os
import sys

import pytest

from benchmarks import scale
from benchmarks.scale import COMMON, WAYS, Turn, Way
from fastenv.errors import ConfigError
from tests.training.bench.described import assert_described
from tools.figures import records, speeds
from training import benchmark_v9
from training.bench.targets import judge
from training.bench.timing import Sample
from training.run.config import RunConfig

# What each way takes: CPU seconds and microseconds of a phase, a decision each.
PHASES = {
    "native": {"env": 1.0, "collect": 4.0, "update": 45.0},
    "native, 2 threads": {"env": 1.0, "collect": 4.0, "update": 35.0},
    "torchrun": {"env": 0.5, "collect": 2.0, "update": 27.5},
    "native, more lanes": {"env": 1.0, "collect": 3.0, "update": 45.0},
    "torchrun, more lanes": {"env": 0.5, "collect": 1.5, "update": 26.0},
    "make train, one core": {"env": 1.0, "collect": 7.0, "update": 90.0},
    "make train": {"env": 1.0, "collect": 7.0, "update": 50.0},
    "make train, torchrun": {"env": 0.5, "collect": 3.5, "update": 54.0},
    "rllib": {"sample": 60.0, "update": 50.0, "sync": 1.0},
    "rllib, 2 runners": {"sample": 35.0, "update": 50.0, "sync": 1.0},
    "rllib, reference": {"sample": 210.0, "update": 50.0, "sync": 1.0},
}
LOG = 2.0


def turn(key, steps=1000):
    """Return what a run of a way would have been, with 2 us a decision in no phase."""
    way, phases = WAYS[key], PHASES[key]
    config = RunConfig.from_mapping(way.all_options(COMMON))
    backend = "reference" if config.backend == "reference" else "fast"
    ray = {"ray": "2.60.0"} if way.rllib else {}
    summary = {"backend": backend, "precision": "fp32", "versions": ray}
    summary |= {} if way.rllib else {"ranks": way.ranks}
    wall = steps * (sum(phases.values()) + LOG) / 1e6
    seconds = {name: steps * us / 1e6 for name, us in phases.items()}
    return Turn(config, summary, Sample(steps, wall, wall, 0.0, 0.0), seconds, 0.0)


def rows():
    return [scale.row(key, WAYS[key], [turn(key)] * 3) for key in WAYS]


def test_a_row_says_what_ran():
    found = {row["way"]: row for row in rows() if "way" in row}
    assert {key: row["name"] for key, row in found.items()} == {
        "native": "native, 1 process, 1 torch thread",
        "native, 2 threads": "native, 1 process, 2 torch threads",
        "torchrun": "native, 2 ranks of torchrun, 1 torch thread each",
        "native, more lanes": "native, 1 process, 1 torch thread",
        "torchrun, more lanes": "native, 2 ranks of torchrun, 1 torch thread each",
        "make train, one core": "expert, 1 process, 1 torch thread, on one core",
        "make train": "expert, 1 process, 1 torch thread",
        "make train, torchrun": "expert, 2 ranks of torchrun, 1 torch thread each",
        "rllib": "RLlib 2.60.0, 1 env runner, learns in its driver",
        "rllib, 2 runners": "RLlib 2.60.0, 2 env runners, learns in its driver",
        "rllib, reference": "RLlib 2.60.0, 1 env runner, learns in its driver",
    }
    assert found["rllib, reference"]["backend"] == "reference"
    assert_described(found.values())
    assert found["torchrun"]["command"].endswith("--nproc-per-node=2 -m training.train")
    assert found["rllib"]["command"] == ".venv-rllib/bin/python -m training.train"
    assert scale.setting_of(found["torchrun"]) == (
        "SkullKingWorker-v0, 64 lanes, 128 steps, minibatches of 4,096, 4 epochs, 256x256 relu, "
        "fp32"
    )
    of = {key: scale.setting_of(row) for key, row in found.items()}
    recipe = {of.pop(key) for key in WAYS if key.startswith("make train")}
    assert recipe == {
        "SkullKingFlat-v0, 512 lanes, 64 steps, minibatches of 512, 2 epochs, 256x256 relu, fp32"
    }
    lanes = {"rllib, 2 runners": "128 lanes, 64 steps"}  # 64 an env runner, as with one
    lanes |= {f"{way}, more lanes": "512 lanes, 16 steps" for way in ("native", "torchrun")}
    for key, setting in of.items():  # what is compared differs in the way alone
        assert setting == of["native"].replace(
            "64 lanes, 128 steps", lanes.get(key, "64 lanes, 128 steps")
        )
    assert found["rllib"]["us_per_step"] == pytest.approx(PHASES["rllib"])
    assert found["rllib"]["sampled_per_s"] == pytest.approx(1e6 / 60)


def test_rows_become_verdicts():
    found = judge("scale", rows())
    assert [b["measured"] for b in found] == pytest.approx(
        [60 / 35, 263 / 113, 52 / 32, 51 / 30, 100 / 60, 100 / 60]
    )
    assert [b["pass"] for b in found] == [True, False, True, True, True, True]
    assert [b["noisy"] for b in found] == [False] * 6
    assert found[1]["what"].startswith(
        "RLlib 2.60.0, 1 env runner, learns in its driver, fast over "
        "RLlib 2.60.0, 1 env runner, learns in its driver, reference; end to end"
    )
    for bar, lanes in zip(found, (128, 64, 64, 512, 512, 512), strict=True):
        assert f" {lanes} lanes" in bar["what"]
    assert found[2]["all"] == pytest.approx([52 / 32] * 3)


def test_without_ray_the_runs_of_rllib_are_left_out(tmp_path, monkeypatch, capsys):
    ran = []

    def take_turn(way, common, iterations):
        key = next(k for k, each in WAYS.items() if each is way)
        ran.append((key, iterations))
        return turn(key)

    monkeypatch.setattr(scale, "RLLIB_PYTHON", tmp_path / "python")
    monkeypatch.setattr(scale, "take_turn", take_turn)
    out = tmp_path / "rows.jsonl"
    flags = ["--only", "scale", "--repeats", "2", "--steps", "8192", "--out", str(out)]
    assert benchmark_v9.main(flags) == 0
    assert ran == [(key, 1) for key, way in WAYS.items() if not way.rllib] * 2
    _, *found = [json.loads(line) for line in out.read_text().splitlines()]
    judged = [row for row in found if row["kind"] == "bar"]
    assert [bar["pass"] for bar in judged] == [None, None, True, True, True, True]
    assert "make rllib" in judged[0]["reason"]
    assert "make rllib" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_that_fails_is_said_in_a_sentence():
    with pytest.raises(ConfigError, match=r"training.train failed: error: id 'Nowhere-v0': must"):
        scale.take_turn(Way(1, {"env": "Nowhere-v0"}), COMMON, 1)


def test_a_run_on_one_core_sees_one_core(tmp_path):
    said, code = tmp_path / "said", "import os; print(len(os.sched_getaffinity(0)))"
    with said.open("wb") as out:
        for one_core in (True, False):
            meter = scale.Meter(
                [sys.executable, "-c", f"import time; time.sleep(0.5); {code}"], out, one_core
            )
            assert meter.follow(60) == 0
    assert said.read_text().split() == ["1", str(len(os.sched_getaffinity(0)))]


@pytest.mark.slow
def test_whole_runs_are_what_their_rows_say():
    ppo = {"n_steps": 16, "batch_size": 64, "n_epochs": 2, "net_arch": [32], "precision": "fp32"}
    common = COMMON | {"num_envs": 8, "ppo": ppo}
    ways = {key: WAYS[key] for key in ("native", "torchrun")}
    one, two = scale.all_rows(1, 3, common, ways)
    assert (one["ranks"], two["ranks"]) == (1, 2)
    assert "1 process" in one["name"]
    assert "2 ranks" in two["name"]
    for row in (one, two):
        assert (row["num_envs"], row["minibatch"], row["net_arch"]) == (8, 64, [32])
        assert row["seconds"][0] == pytest.approx(3 * 128 / row["steps_per_s"], abs=1e-3)
        assert sum(row["us_per_step"].values()) <= 1e6 / row["steps_per_s"]


def test_the_page_has_the_table_of_the_newest_record(tmp_path, monkeypatch):
    measured = speeds.scale
    monkeypatch.setattr(records, "RECORDS", tmp_path)
    head = {"git_rev": "a" * 12, "created": "2026-01-01", "dirty": False, "load": 0.1}
    head |= {"load_after": 0.2, "host": {"cpu_model": "a core", "physical_cores": 2}}
    every = [head, *rows(), *judge("scale", rows())]
    (tmp_path / "scale.jsonl").write_text("\n".join(map(json.dumps, every)))
    text = measured()
    assert "| native, 2 ranks of torchrun, 1 torch thread each | 64 | `fast` | 31,250" in text
    assert "`benchmarks/scale.jsonl` at aaaaaaa" in text
