"""Dr. Mario's bars and the comparison of vector environments: small, and what they say they are."""

import csv
import json
import subprocess
import sys

import pytest

from benchmarks import drmario
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from tests.needs import needs_core
from tests.training.bench.described import assert_described
from training.bench import tables, targets, timing, vectorised
from training.commands import vectorised as command

pytestmark = needs_core
SMALL = {"num_envs": 4, "n_steps": 8, "batch_size": 16, "n_epochs": 1}


@pytest.fixture(scope="module")
def rows():
    rows = [
        *timing.rows(drmario.play_works(lanes=8), 1, 0.001),
        *drmario.training_rows(1, 0.001, SMALL),
    ]
    return [row | {"title": drmario.title(row), "game": "Dr. Mario"} for row in rows]


@pytest.mark.slow
def test_bars_are_all_judged(rows):
    assert_described(rows)
    judged = targets.judge("bars", rows)
    assert [bar["asked"] for bar in judged] == [
        *("at least 1.5e+07", "at least 5e+06"),
        *("at least 2,500", "at least 8,000", "at least 20,000", "at least 1,500"),
        *("at least 1.5e+06", "at least 1.5e+06"),
        *("at most 0.25", "at most 0.08", "at least 100", "at most 0.25", "at most 0.2"),
    ]
    for bar in judged:
        assert bar["measured"] > 0
        assert bar["all"]
    tables.target_table(judged, "bars")
    json.dumps(rows + judged, allow_nan=False)


def test_bars_are_named_after_what_ran(monkeypatch):
    engines = []
    make = BatchEngine.__init__

    def noted(self, *args, **kwargs):
        make(self, *args, **kwargs)
        engines.append(self)

    monkeypatch.setattr(BatchEngine, "__init__", noted)
    for made in (
        lambda: drmario.frame_work("none", 4),
        lambda: drmario.placement_works("x", 20, "reference", 2, 1)["x"],
        lambda: drmario.successors_work(20, 2, 1),
        lambda: drmario.greedy_work(2),
    ):
        engines.clear()
        row = made().row()
        engine = engines[0]
        assert row["num_envs"] == engine.num_envs
        assert row["backend"] == engine.backend
        assert row["env"] == engine.game.env_id
        for name, value in row["options"].items():
            assert getattr(engine.game.config, name) == value
        name = drmario.title(row)
        assert name.startswith(
            f"{engine.game.env_id}, {row['what']}, level {row['options']['level']}"
        )
        assert name.endswith(f"{engine.backend}, n={engine.num_envs}")
        if "no info" in name:
            assert not engine.info_records().dtype.itemsize


def test_ways_play_the_same_games():
    """With the same seed all ways meet the same masks, and so the same frames."""
    plan = vectorised.Plan("DrMarioPlacement-v0", {"level": 3}, steps=12, repeats=1)
    found = vectorised.rows(plan, ["engine", "sync"], [1, 3])
    taus = {(row["vectorisation"], row["num_envs"]): row["avg_tau"] for row in found}
    assert taus["engine", 1] == taus["sync", 1]
    assert taus["engine", 3] == taus["sync", 3]
    for row in found:
        assert row["dps_total"] * row["avg_tau"] == pytest.approx(row["fps_total"])
        assert row["speedup"] == pytest.approx(row["efficiency"] * row["num_envs"])
        assert 0 < row["harness_share"] < 1
        assert row["left_processes"] == 0


def test_cpu_time_counts_the_processes_of_a_way():
    before = timing.children_cpu_s()
    code = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as busy:
        busy.stdout.readline()
        assert timing.children_cpu_s() - before >= 0.25
        busy.kill()


@pytest.mark.slow
def test_the_comparison_is_written_as_json_and_csv(tmp_path):
    out = tmp_path / "ways.json"
    flags = ["--num-envs", "1", "2", "--steps", "4", "--repeats", "1", "--out", str(out)]
    assert command.main([*flags, "--ways", "engine", "async", "--set", "level=2"]) == 0
    record = json.loads(out.read_text("utf-8"))
    assert record["rows"][0]["options"] == {"level": 2}
    assert {row["vectorisation"] for row in record["rows"]} == {"engine", "async"}
    assert all(row["left_processes"] == 0 for row in record["rows"])
    with open(tmp_path / "ways.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["num_envs"] for line in lines] == ["1", "2", "1", "2"]
    assert set(vectorised.REPEATED) <= set(lines[0])


REFUSED = [["--steps", "0"], ["--num-envs", "0"], ["--seed", "-1"], ["--set", "level=99"]]


def test_the_comparison_refuses_what_cannot_be_measured(capsys, subtests):
    for wrong in REFUSED:
        with subtests.test(wrong):
            assert command.main(["--ways", "engine", *wrong]) == 2
            assert "must be" in capsys.readouterr().err
    plan = vectorised.Plan("DrMarioPlacement-v0", {"levels": 3})
    with pytest.raises(ConfigError, match="levels"):
        vectorised.rows(plan, ["engine"], [1])
