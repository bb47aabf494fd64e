import json
from types import SimpleNamespace

import numpy as np
import pytest

from tests.needs import FASTEST as AUTO
from tests.needs import needs_core, needs_speed
from tests.slow import every, late
from tests.tables import walk
from training.bench import profile, records
from training.bench.choices import WORKLOADS
from training.bench.env_modes import EnvPlan, Playback, env_only, measured, prepare
from training.bench.timing import Sample, Work, interleaved, noisy, sample, spread
from training.commands import profile as command
from training.run import machine

WORKER, PROSPECTOR = "SkullKingWorker-v0", "Prospector-v0"
TINY = ["--repeats", "1", "--seconds", "0.001", "--num-envs", "8"]
TINY_TRAINING = ["--rollout-steps", "8", "--minibatches", "2", "--torch-threads", "1"]
TINY_TRAINING += ["--set", "ppo.net_arch=[8]", "--set", "ppo.n_epochs=1"]
TINY_TRAINING += ["--set", "evaluation.games=4", "--set", "evaluation.episodes=8"]
TINY_TRAINING += ["--set", "evaluation.opponents=[random]", "--set", "evaluation.bootstrap=10"]
HEAD = {"schema", "run_id", "created", "git_rev", "dirty", "host", "versions", "config"}
ENTRY = {"mode", "backend_requested", "backend_selected", "repeats", "stats", "phases_us_per_step"}
REPEAT = {"steps", "wall_s", "cpu_s", "steps_per_s", "steps_per_cpu_s", "rss_mb"}


def run(out, *flags, name="one"):
    """Call the command line; return its exit status and the artefact."""
    status = command.main([*TINY, "--run-id", name, *flags, "--out", str(out)])
    path = out / f"{name}.json"
    return status, json.loads(path.read_text()) if path.exists() else None


# -- artefacts -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def artefact(tmp_path_factory):
    """One artefact of all modes."""
    modes = ["--modes", "env_only,trainer,trainer_eval,breakdown,trainer"]
    status, found = run(tmp_path_factory.mktemp("out"), *modes, *TINY_TRAINING)
    assert status == 0
    return found


def test_artefact_has_the_schema(artefact):
    assert set(artefact) >= HEAD | {"modes", "target", "notes"}
    assert artefact["schema"] == 1
    host = {"cpu_model", "physical_cores", "logical_cores", "cpu_flags", "gpu", "ram_gb", "os"}
    assert host <= set(artefact["host"])
    for entry in artefact["modes"]:
        assert set(entry) >= ENTRY | {"alloc", "warmup_s", "noisy", "method"}
        assert entry["backend_selected"] == AUTO
        for repeat in entry["repeats"]:
            assert set(repeat) == REPEAT | {"load_before", "load_after"}
            assert repeat["steps_per_s"] == pytest.approx(
                repeat["steps"] / repeat["wall_s"], rel=1e-2
            )
        for figure in ("steps_per_s", "steps_per_cpu_s", "iteration_steps_per_s"):
            assert {"min", "median", "max", "p95"} <= set(entry["stats"][figure])


def test_modes_come_in_their_order_and_once(artefact):
    assert [e["mode"] for e in artefact["modes"]] == list(profile.MODES)


def test_phases_add_up_to_the_wall_time(artefact):
    for entry in artefact["modes"][1:]:
        wall = sum(r["wall_s"] for r in entry["repeats"])
        steps = sum(r["steps"] for r in entry["repeats"])
        assert sum(entry["phases_us_per_step"].values()) == pytest.approx(
            wall / steps * 1e6, rel=1e-3
        )
        assert 0 < entry["share_env"]["median"] < 1


def test_breakdown_times_all_phases(artefact):
    phases = artefact["modes"][3]["phases_us_per_step"]
    names = ("env", "forward", "store", "gae", "gather", "loss", "backward", "optimizer", "other")
    assert tuple(phases) == names
    assert all(phases[name] > 0 for name in names[:-1])


def test_evaluation_counts_in_its_mode_only(artefact):
    trainer, with_evaluation = artefact["modes"][1:3]
    more = with_evaluation["phases_us_per_step"]["between"]
    assert more > trainer["phases_us_per_step"]["between"]


def test_training_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    status, _ = run(tmp_path / "out", "--modes", "trainer", *TINY_TRAINING)
    assert status == 0
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["one.json"]


def test_existing_artefact_is_not_written_over(tmp_path, capsys):
    (tmp_path / "one.json").write_text("mine")
    assert command.main([*TINY, "--run-id", "one", "--out", str(tmp_path)]) == 2
    assert "one.json is there already" in capsys.readouterr().err
    assert (tmp_path / "one.json").read_text() == "mine"


def test_run_is_named_after_commit_and_time():
    name = profile.new_run_id("0123456789ab")
    assert name.startswith("0123456-20")
    assert name.endswith("Z")
    assert profile.new_run_id(None).startswith("nocommit"[:7])


REFUSED = [
    (["--modes", "breakdown", "--set", "trainer=sb3"], "native.timers, which sb3 has not"),
    (["--modes", "env_only,sweep"], "--modes 'sweep'"),
    (["--workload", "hold"], "SkullKingWorker-v0 does not have"),
    (["--workload", "cash_out"], "take masked_uniform"),
    (["--workload", "uniform"], "take masked_uniform"),
    (["--env", "Chess-v0"], "Chess-v0"),
    (["--num-envs", "0"], "num_envs"),
    (["--seconds", "0"], "--seconds 0"),
    (["--repeats", "0"], "--repeats 0"),
    (["--minibatches", "7"], "--minibatches 7"),
    (["--enforce-target"], "--target-steps-per-sec"),
    (["--set", "ppo.speed=3"], "ppo.speed"),
    (["--run-id", "../../x"], "--run-id='../../x' is not possible"),
]


def test_bad_flag_is_refused_with_nothing_written(tmp_path, capsys, subtests):
    for flags, says in REFUSED:
        with subtests.test(flags):
            assert run(tmp_path, *flags) == (2, None)
            error = capsys.readouterr().err
            assert says in error
            assert error.count("\n") == 1


# -- verdicts --------------------------------------------------------------------------------------


def test_missed_target_names_the_measured_figure(tmp_path, capsys):
    target = ["--target-steps-per-sec", "1e12"]
    status, found = run(tmp_path, *target, "--enforce-target")
    assert status == 1
    assert found["target"]["pass"] is False
    assert f"the median of {found['target']['measured']:,.0f} steps/s" in capsys.readouterr().err
    status, found = run(tmp_path, *target, name="two")
    assert status == 0
    assert found["target"]["pass"] is False


def test_reached_target_passes(tmp_path):
    status, found = run(tmp_path, "--target-steps-per-sec", "1", "--enforce-target")
    assert status == 0
    assert found["target"] == {
        "steps_per_s": 1.0,
        "mode": "env_only",
        "measured": found["modes"][0]["stats"]["steps_per_s"]["median"],
        "enforced": True,
        "pass": True,
    }


def entry(speed=100.0, **changes):
    """An entry of `modes`."""
    found = env_only({"x": EnvPlan(WORKER, num_envs=2, batches=1, stagger=1)}, 1, 1e-9, False)["x"]
    samples = [Sample(int(speed), 1.0, 1.0, 0.0, 0.0, ((int(speed), 1.0, 1.0),))]
    return {**found, "backend_selected": "fast", **measured(samples, 1.0, True), **changes}


def test_other_implementation_than_asked_for_is_2(tmp_path, monkeypatch, capsys):
    wrong = entry(backend_requested="fast", backend_selected="numba")
    monkeypatch.setattr(profile, "measure", lambda *_: ([wrong], []))
    target = ["--target-steps-per-sec", "1e12", "--enforce-target"]
    status, _ = run(tmp_path, *target)
    assert status == 2
    assert "fast was asked for, numba selected" in capsys.readouterr().err


@walk(("asked", "selected"), [("auto", "numba"), ("fast", "fast")])
def test_right_implementations(asked, selected):
    modes = [{"mode": "m", "backend_requested": asked, "backend_selected": selected}]
    assert profile.not_as_requested(modes) == []


def test_growing_memory_is_a_failure():
    args = SimpleNamespace(max_mem_delta=1.0)
    found = {"target": {"enforced": False}, "floors": []}
    grown = entry(alloc={"rss_growth_mb": 3.0})
    (said,) = profile.failures(args, {**found, "modes": [grown]})
    assert "grew by 3.0 MB" in said
    assert not profile.failures(args, {**found, "modes": [entry(alloc={"rss_growth_mb": 0.5})]})


# -- floors ----------------------------------------------------------------------------------------


def test_floor_below_the_record_is_1_and_without_one_2(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(profile, "measure", lambda *_: ([entry(100)], []))
    monkeypatch.setattr(records, "find_floor", lambda *_: records.Floor(700.0, 1000.0, "r", True))
    assert run(tmp_path, "--enforce-floor")[0] == 1
    assert "100 steps per CPU second are below the floor of 700 (r)" in capsys.readouterr().err
    monkeypatch.setattr(records, "find_floor", lambda *_: None)
    assert run(tmp_path, "--enforce-floor", name="two") == (2, None)
    assert "has nothing of the same thing (step_many" in capsys.readouterr().err


# -- the trend -------------------------------------------------------------------------------------


def report(created, speed, rev="abc"):
    head = {"schema": 1, "created": created, "git_rev": rev, "dirty": False}
    return {**head, "host": {"cpu_model": "C"}, "modes": [entry(speed)]}


def test_trend_compares_with_the_one_before(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(records, "HISTORY", tmp_path / "history.jsonl")
    for k, speed in enumerate((100, 150)):
        path = tmp_path / f"{1 - k}.json"
        path.write_text(json.dumps(report(f"2026-01-0{k + 1}T00:00:00Z", speed, f"rev{k}")))
    (tmp_path / "broken.json").write_text("{")
    lines, skipped = profile.read_artefacts(tmp_path)
    assert skipped == [str(tmp_path / "broken.json")]
    rows = records.trend(lines)
    assert [r["git_rev"] for r in rows] == ["rev0", "rev1"]
    assert [r["ratio"] for r in rows] == [None, pytest.approx(1.5)]
    assert command.main(["--trend", "--out", str(tmp_path)]) == 0
    assert "1.50" in capsys.readouterr().out


def test_trend_of_a_fresh_clone_shows_the_history(tmp_path, capsys):
    assert command.main(["--trend", "--out", str(tmp_path / "none")]) == 0
    assert (
        f"{len(records.trend(records.history()))} figures in history.jsonl"
        in capsys.readouterr().out
    )


def test_matrix_of_the_repository_is_whole():
    found = json.loads((machine.ROOT / "benchmarks" / "matrix.json").read_text())
    assert found["dirty"] is False
    for mode in ("env_only", "trainer"):
        best = found["mode_summaries"][mode]["best_candidate_id"]
        assert best in {cell["id"] for cell in found["cells"]}


# -- the environment alone -------------------------------------------------------------------------


@walk("workload", every(2, WORKLOADS))
def test_workloads_of_prospector(workload):
    plan = EnvPlan(PROSPECTOR, num_envs=4, workload=workload, batches=8, stagger=3)
    found = env_only({"x": plan}, 1, 1e-9)["x"]
    assert found["workload"] == workload
    ticks = found["stats"]["ticks_per_s"]["median"] / found["stats"]["steps_per_s"]["median"]
    assert ticks == pytest.approx(found["ticks_per_step"])
    if workload in ("hold", "cash_out"):
        assert found["ticks_per_step"] == 1
    assert set(found["alloc"]) == {"rss_growth_mb", "python_growth_bytes", "python_peak_bytes"}


def test_ticks_are_counted_whatever_columns_are_written():
    plan = EnvPlan(PROSPECTOR, num_envs=16, workload="uniform", batches=32, info_columns=())
    assert 1 < prepare(plan).ticks() < 8


def test_cash_out_ends_every_episode():
    playback = Playback(EnvPlan(PROSPECTOR, num_envs=4, batches=4, workload="cash_out", stagger=2))
    playback.work.run()
    assert (playback.engine.terminated | playback.engine.truncated).all()
    assert (playback.engine.ep_length == 1).all()


def test_recording_of_prospector_replays_the_same_play():
    recorded = Playback(EnvPlan(PROSPECTOR, num_envs=8, batches=32, stagger=4))
    work, seen = recorded.work, []
    for _ in range(2):
        work.prepare()
        work.run()
        seen.append(recorded.engine.get_states().tobytes())
    assert seen[0] == seen[1]


def test_slow_backends_play_what_the_fast_one_recorded():
    rows = []
    for backend in ("auto", "reference"):
        plan = EnvPlan(PROSPECTOR, num_envs=4, batches=16, stagger=3, backend=backend)
        recorded = Playback(plan)
        recorded.rewind()
        recorded.work.run()
        rows.append(recorded.engine.get_states())
    np.testing.assert_array_equal(rows[0], rows[1])


@needs_core
@pytest.mark.parametrize("flags", [[], *late(["--force-resets"]), ["--single"]], ids=str)
@pytest.mark.slow
def test_frames_of_the_game_boy(tmp_path, capsys, flags):
    steps = ["env_options.frames_per_step=2", "env_options.release_after_frames=1"]
    given = [word for step in steps for word in ("--set", step)]
    status, found = run(tmp_path, "--env", "GameBoyPixels-v0", *given, *flags)
    assert status == 0
    (entry,) = found["modes"]
    frames, stats = entry["frames"], entry["stats"]
    assert frames["frames_per_step"] == 2
    for name in ("s", "cpu_s"):
        steps_a_second = stats[f"steps_per_{name}"]["median"]
        assert frames[f"frames_per_{name}"]["median"] == pytest.approx(2 * steps_a_second)
    assert frames["instructions_per_frame"] > 200
    assert frames["resets_per_step"] == ("--force-resets" in flags)
    assert "instructions a frame" in capsys.readouterr().out


def test_resets_are_forced_in_the_game_boy_alone(tmp_path, capsys):
    assert run(tmp_path, "--force-resets") == (2, None)
    assert f"--force-resets: is for the Game Boy, not for {WORKER}" in capsys.readouterr().err


def test_single_environment_can_have_any_workload():
    found = env_only({"x": EnvPlan(PROSPECTOR, single=True, workload="hold", batches=5)}, 1, 1e-9)
    assert found["x"]["num_envs"] == 1
    assert found["x"]["single"]


@pytest.mark.slow
@needs_speed
def test_ratios_are_of_things_timed_in_turns(tmp_path):
    status, found = run(tmp_path, "--against", "reference")
    assert status == 0
    (ratio,) = found["ratios"]
    assert ratio["what"] == f"{AUTO} over reference"
    fast, slow = (entry["stats"]["steps_per_cpu_s"]["median"] for entry in found["modes"])
    assert ratio["value"] == pytest.approx(fast / slow)


# -- statistics ------------------------------------------------------------------------------------


def test_spread_of_values():
    found = spread([4.0, 1.0, 2.0, 3.0])
    assert found == {"min": 1, "median": 2.5, "mean": 2.5, "max": 4, "p95": pytest.approx(3.85)}


def test_repeat_is_the_sum_of_its_pieces():
    found = sample([(10, 1.0, 0.5), (30, 1.0, 1.5)], 0.0)
    assert (found.steps, found.per_s, found.per_cpu_s) == (40, 20, 20)
    assert measured([found], 2.0, True)["stats"]["iteration_steps_per_s"]["max"] == 30
    assert measured([found], 2.0, True)["stats"]["ticks_per_s"]["median"] == 40


def test_noise_is_load_or_waiting(monkeypatch):
    monkeypatch.setattr(machine, "physical_cores", lambda: 2)
    assert not noisy([Sample(1, 1.0, 1.0, 0.0, 2.0)])
    assert noisy([Sample(1, 1.0, 1.0, 0.0, 2.1)])
    waited = [Sample(1, 1.2, 1.0, 0.0, 0.0)]
    assert noisy(waited)
    assert not noisy(waited, single_thread=False)


def test_warm_up_is_reported_and_not_counted():
    calls, first = [], {}
    works = {"a": Work(lambda: calls.append(1), 1)}
    found = interleaved(works, 2, 1e-9, first)
    assert len(calls) == 3
    assert sum(s.steps for s in found["a"]) == 2
    assert first["a"] >= 0
