import csv
import json
import math
import subprocess
from dataclasses import asdict, replace

import pytest
from rich.console import Console

from tests.needs import needs_speed
from tests.tables import walk
from training.bench import matrix
from training.commands import matrix as command
from training.ppo.options import NativeRun
from training.run import machine

FACTORS = {
    "backend": ["auto"],
    "num_envs": [64, 512],
    "env_threads": [1, 2],
    "rollout_steps": [32, 128],
    "minibatches": [4, 16],
    "epochs": [4],
    "precision": ["fp32"],
}
SMALL = ["--num-envs", "4,8", "--rollout-steps", "8", "--minibatches", "2", "--repeats", "2"]
SMALL += ["--check-steps", "0", "--run-id", "m"]


def entry(speed, noisy=False):
    median = {"median": speed}
    stats = {"steps_per_s": median, "steps_per_cpu_s": median}
    return {"stats": stats, "ran": {"timed": "x"}, "backend_selected": "fast", "noisy": noisy}


def cell(name, mode, speeds, repeats=3):
    return {
        **matrix.cell_record(matrix.Cell(mode, name, 1, 1), [entry(s) for s in speeds], repeats)
    }


# -- which cells -----------------------------------------------------------------------------------


def test_environment_alone_knows_three_factors():
    cells = matrix.product(["env_only"], FACTORS)
    assert len(cells) == 4
    assert cells[0].id == "env_only-auto-ne64-et1"
    assert cells[0].minibatches is None


def test_training_is_the_full_product():
    cells = matrix.product(["env_only", "trainer"], FACTORS)
    assert len(cells) == 4 + 16
    assert len({cell.id for cell in cells}) == 20
    assert cells[-1].id == "trainer-auto-ne512-et2-rs128-mb16-ue4-fp32"


def test_same_cell_is_there_once():
    assert len(matrix.product(["env_only", "env_only"], {**FACTORS, "num_envs": [64, 64]})) == 2


def test_default_is_the_usual_value_or_the_first():
    default = matrix.default_of({**FACTORS, "rollout_steps": [8, 16]})
    assert default["num_envs"] == NativeRun().num_envs
    assert default["rollout_steps"] == 8


def test_one_factor_at_a_time_changes_one_factor():
    cells = matrix.one_at_a_time(["trainer"], FACTORS)
    default = matrix.default_of(FACTORS)
    assert len(cells) == 1 + 4
    for cell in cells:
        assert sum(asdict(cell)[name] != value for name, value in default.items()) <= 1


def test_over_budget_means_one_factor_at_a_time():
    flags = ["--budget-seconds", "600", "--seconds", "2", "--repeats", "3"]
    args = command.parser().parse_args(flags)
    assert matrix.design(args, ["trainer"], FACTORS) == (
        "full",
        matrix.product(["trainer"], FACTORS),
    )
    args.budget_seconds = 500.0
    assert matrix.design(args, ["trainer"], FACTORS)[0] == "one factor at a time"
    args.budget_seconds = None
    assert matrix.design(args, ["trainer"], FACTORS)[0] == "full"


def test_repeats_are_interleaved_in_random_order():
    cells = matrix.product(["trainer"], FACTORS)
    runs = matrix.order(cells, 3, seed=1)
    assert [repeat for _, repeat in runs] == [0] * 16 + [1] * 16 + [2] * 16
    rounds = [[cell for cell, _ in runs[k : k + 16]] for k in (0, 16, 32)]
    assert all(set(one) == set(cells) for one in rounds)
    assert rounds[0] != rounds[1] != cells
    assert runs == matrix.order(cells, 3, seed=1)


@walk(
    ("changes", "says"),
    [
        ({"precision": "fp16"}, "float16 needs a CUDA device"),
        ({"minibatches": 3}, "3 minibatches"),
        ({}, None),
    ],
)
def test_gaps_say_why(changes, says):
    knobs = {**matrix.default_of(FACTORS), **changes}
    reason = matrix.gap_of(matrix.Cell("trainer", **knobs), "SkullKingWorker-v0", {})
    assert reason is None if says is None else says in reason


@walk("backend", ["cython", "fast"])
def test_backend_that_is_not_there_is_a_gap(no_core, backend):
    knobs = {**matrix.default_of(FACTORS), "backend": backend}
    assert "never built" in matrix.gap_of(matrix.Cell("trainer", **knobs), "SkullKingWorker-v0", {})
    knobs["backend"] = "numba"
    assert matrix.gap_of(matrix.Cell("trainer", **knobs), "SkullKingWorker-v0", {}) is None


# -- what they say ---------------------------------------------------------------------------------


def test_figures_of_a_cell():
    found = matrix.figures([90.0, 100.0, 110.0], 3)
    assert (found["mean"], found["min"], found["max"], found["sd"]) == (100, 90, 110, 10)
    low, high = found["interval"]
    assert high - 100 == pytest.approx(4.302652729749464 * 10 / 3**0.5)
    assert low + high == pytest.approx(200)
    assert found["stable"]
    assert not matrix.figures([80.0, 100.0, 120.0], 3)["stable"]


def test_missing_repeats_are_not_stable():
    assert not matrix.figures([100.0, 100.0], 3)["stable"]
    assert matrix.figures([100.0], 1)["interval"] is None


def test_best_is_the_highest_stable_mean():
    cells = [
        cell("slow", "trainer", [100, 100, 100]),
        cell("wild", "trainer", [100, 500, 900]),
        cell("fast", "trainer", [200, 210, 190]),
        cell("other", "env_only", [999, 999, 999]),
    ]
    assert [r["backend"] for r in matrix.ranked(cells, "trainer")] == ["fast", "slow", "wild"]
    found = matrix.mode_summary(cells, "trainer", target=1000)
    assert found["best_candidate_id"] == cells[2]["id"]
    assert found["best_mean_steps_per_sec"] == 200
    assert found["recommended_floor_steps_per_sec"] == pytest.approx(0.9 * 190)
    assert found["delta_to_target_steps_per_sec"] == 800
    assert not found["target_attained"]
    assert len(found["top_candidates"]) == 3


def test_mode_without_figures_has_no_best():
    found = matrix.mode_summary([], "trainer", 1000)
    assert found["best_candidate_id"] is None
    assert not found["target_attained"]


def test_learning_within_two_standard_errors_passes():
    assert matrix.learns_as_well([9.0, 10.0, 11.0], [10.0, 11.0, 12.0])["pass"]
    assert not matrix.learns_as_well([1.0, 1.1, 1.2], [10.0, 11.0, 12.0])["pass"]
    assert matrix.learns_as_well([20.0, 20.0, 20.0], [10.0, 11.0, 12.0])["pass"]
    found = matrix.learns_as_well([math.nan, 1.0], [10.0, 10.2])
    assert not found["pass"]
    assert "episode" in found["why"]


def test_late_return_weighs_episodes(tmp_path):
    records = [
        {"step": 25, "episode": {"n": 100, "return_mean": -5.0}},
        {"step": 80, "episode": {"n": 1, "return_mean": 4.0}},
        {"step": 90},
        {"step": 100, "episode": {"n": 3, "return_mean": 8.0}},
    ]
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    assert matrix.late_return(path) == 7
    path.write_text('{"step": 1}\n')
    assert math.isnan(matrix.late_return(path))


def test_fastest_that_learns_is_recommended(tmp_path, monkeypatch):
    usual = matrix.Cell("trainer", **{**matrix.default_of(FACTORS), "rollout_steps": 8})
    cells = [
        matrix.cell_record(replace(usual, epochs=epochs), [entry(speed)] * 3, 3)
        for epochs, speed in ((1, 300.0), (2, 200.0), (4, 100.0))
    ]
    returns = {1: [0.0, 0.1], 2: [10.0, 10.1], 4: [10.0, 10.2]}
    monkeypatch.setattr(matrix, "train_late", lambda args, cell, folder: returns[cell.epochs])
    args, console = command.parser().parse_args([]), Console(quiet=True)
    found = matrix.learned(args, cells, usual, tmp_path, console)
    assert found["recommended"] == cells[1]["id"]
    assert [each["pass"] for each in found["cells"].values()] == [False, True, True]
    returns[2] = [math.nan, 1.0]
    assert matrix.learned(args, cells, usual, tmp_path, console)["recommended"] == usual.id


# -- the command line ------------------------------------------------------------------------------


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Cells that were measured by an earlier process; starting another one is an error."""

    def refuse(*_args, **_kwargs):
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", refuse)
    monkeypatch.setattr(machine, "revision", lambda: {"git_rev": "abc", "dirty": False})
    monkeypatch.setattr(machine, "host", lambda: {"cpu_model": "C"})
    folder = tmp_path / "m" / "cells"
    folder.mkdir(parents=True)
    for n in (4, 8):
        for mode, rest in (("env_only", ""), ("trainer", "-rs8-mb2-ue4-fp32")):
            for k in range(2):
                path = folder / f"{mode}-auto-ne{n}-et1{rest}-r{k}.json"
                path.write_text(json.dumps({"modes": [entry(100.0 * n + k)]}))
    return tmp_path


def read(folder):
    return json.loads((folder / "m" / "matrix.json").read_text())


def test_resume_keeps_what_was_measured(measured, capsys):
    assert command.main([*SMALL, "--resume", "--out", str(measured)]) == 0
    found = read(measured)
    assert found["schema"] == 1
    assert found["design"] == "full"
    assert found["mode_summaries"]["env_only"]["best_candidate_id"] == "env_only-auto-ne8-et1"
    assert found["mode_summaries"]["env_only"]["best_min_steps_per_sec"] == 800
    assert found["summary"]["successful_candidates"] == 4
    rows = list(csv.DictReader((measured / "m" / "matrix.csv").read_text().splitlines()))
    assert [row["id"] for row in rows] == [cell["id"] for cell in found["cells"]]
    assert rows[0]["mean"] == "400.5"
    assert "recommended floor 720" in capsys.readouterr().out


def test_existing_matrix_is_not_written_over(measured, capsys):
    assert command.main([*SMALL, "--out", str(measured)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert not (measured / "m" / "matrix.json").exists()
    assert command.main([*SMALL, "--resume", "--out", str(measured)]) == 0
    assert command.main([*SMALL, "--resume", "--out", str(measured)]) == 2


def test_gaps_are_listed_and_no_failure(measured, capsys):
    flags = [*SMALL, "--precision", "fp32,fp16", "--resume", "--out", str(measured)]
    assert command.main(flags) == 0
    found = read(measured)
    assert len(found["gaps"]) == 2
    assert not found["summary"]["coverage_pass"]
    assert "float16 needs a CUDA device" in capsys.readouterr().out


def test_missed_target_fails_if_enforced(measured):
    target = ["--target-steps-per-sec", "1e9", "--enforce-target"]
    assert command.main([*SMALL, *target, "--resume", "--out", str(measured)]) == 1
    assert read(measured)["summary"]["mode_target_failures"] == ["env_only", "trainer"]


def test_failed_cell_is_an_error(measured, monkeypatch):
    (measured / "m" / "cells" / "env_only-auto-ne4-et1-r0.json").unlink()
    failed = subprocess.CompletedProcess([], 2, "", "noise\nerror: no such thing\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    assert command.main([*SMALL, "--resume", "--out", str(measured)]) == 1
    found = read(measured)
    assert found["summary"]["error_candidates"] == 1
    assert found["cells"][0]["reason"] == "no such thing"


def test_used_up_budget_is_a_gap(measured):
    budget = ["--budget-seconds", "0"]
    assert command.main([*SMALL, *budget, "--resume", "--out", str(measured)]) == 0
    found = read(measured)
    assert found["design"] == "one factor at a time"
    assert {cell["status"] for cell in found["cells"]} == {"skipped"}


REFUSED = [
    (["--modes", "sweep"], "--modes 'sweep'"),
    (["--num-envs", "64,x"], "--num-envs"),
    (["--precision", "fp8"], "--precision 'fp8'"),
    (["--backend", "rust"], "--backend 'rust'"),
    (["--repeats", "0"], "--repeats 0"),
    (["--seconds", "0"], "--seconds 0"),
    (["--check-steps", "-1"], "--check-steps -1"),
    (["--budget-seconds", "nan"], "--budget-seconds nan"),
    (["--env", "Chess-v0"], "Chess-v0"),
    (["--workload", "hold"], "SkullKingWorker-v0 does not have"),
    (["--resume"], "--run-id"),
    (["--gate", "nowhere.json"], "nowhere.json"),
    (["--run-id", "../x"], "--run-id='../x' is not possible"),
]


def test_bad_flag_is_refused_with_nothing_written(tmp_path, capsys, subtests):
    for flags, says in REFUSED:
        with subtests.test(flags):
            assert command.main([*flags, "--out", str(tmp_path / "none")]) == 2
            error = capsys.readouterr().err
            assert says in error
            assert error.count("\n") == 1
            assert not (tmp_path / "none").exists()


def test_command_of_a_training_cell():
    args = command.parser().parse_args(["--set", "ppo.net_arch=[8]", "--torch-threads", "2"])
    knobs = matrix.default_of(FACTORS)
    words = matrix.command(args, matrix.Cell("trainer", **knobs), 7)
    said = " ".join(words)
    assert words[1:5] == ["-m", "training", "benchmark", "profile"]
    assert "--repeats 1" in said
    assert "--rollout-steps 128 --minibatches 16" in said
    assert "--seed 7" in said
    assert words[-6::2] == ["--set"] * 3
    assert words[-5::2] == ["ppo.net_arch=[8]", "ppo.n_epochs=4", "ppo.precision=fp32"]


@needs_speed
@pytest.mark.slow
def test_whole_matrix_and_its_gate(tmp_path):
    flags = ["--num-envs", "4", "--rollout-steps", "32", "--minibatches", "2", "--repeats", "1"]
    flags += ["--seconds", "0.01", "--torch-threads", "1", "--set", "ppo.net_arch=[8]"]
    flags += ["--check-steps", "1024", "--modes", "trainer,env_only"]
    out = ["--out", str(tmp_path)]
    assert command.main([*flags, *out, "--run-id", "m"]) == 0
    found = read(tmp_path)
    (best,) = found["mode_summaries"]["trainer"]["top_candidates"]
    assert found["learning"]["recommended"] == found["learning"]["default"] == best
    found["mode_summaries"]["env_only"]["recommended_floor_steps_per_sec"] = 1.0
    path = tmp_path / "low.json"
    path.write_text(json.dumps(found))
    gate = [*flags, *out, "--modes", "env_only", "--gate", str(path)]
    assert command.main(gate) == 0
    found["mode_summaries"]["env_only"]["recommended_floor_steps_per_sec"] = 1e12
    path.write_text(json.dumps(found))
    assert command.main(gate) == 1
