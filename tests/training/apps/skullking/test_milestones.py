import json
import math
import shutil

import pytest

from fastenv.errors import ConfigError
from tests.tables import walk
from training.apps.skullking import milestones
from training.apps.skullking.evaluation import play_matches
from training.apps.skullking.milestones import MILESTONES, first_reached, measure, summarise
from training.commands.milestones import main
from training.evaluation import tables
from training.players.trained import load
from training.run.folder import RunFolder
from training.run.seating import AGENT

ALL_MISSED = {m.name: [m.bar + 0.1, m.bar - 0.1, m.bar + 0.2] for m in MILESTONES}


def entry(steps, **results):
    return {
        "checkpoint": f"ckpt_{steps:012d}",
        "steps": steps,
        "wall_s": steps / 100,
        "cpu_s": steps / 200,
        "results": ALL_MISSED | results,
    }


def test_a_milestone_is_reached_where_the_whole_interval_lies_above():
    course = [
        entry(100, M1=[0.5, 0.40, 0.6], M4=[9.0, -1.0, 20.0]),  # a low end on the bar is not above
        entry(200, M1=[0.5, 0.41, 0.6]),
        entry(300, M1=[0.5, 0.30, 0.7], M4=[9.0, 0.5, 20.0], M3=[None, None, None]),
        entry(400, M1=[0.9, 0.80, 1.0], M4=[9.0, 0.5, 20.0]),
    ]
    found = first_reached(course)
    assert list(found) == ["M1", "M2", "M3", "M4"]
    assert found["M1"] == {
        **{"checkpoint": "ckpt_000000000200", "steps": 200, "wall_s": 2.0, "cpu_s": 1.0},
        "result": [0.5, 0.41, 0.6],
    }
    assert found["M4"]["steps"] == 300
    assert found["M2"] is None
    assert found["M3"] is None


def test_bars_are_those_of_the_spec():
    asked = {m.name: (m.opponents, m.measure, m.bar) for m in MILESTONES}
    assert asked == {
        "M1": ("rule_medium", "win_rate", 0.40),
        "M2": ("rule_hard", "win_rate", 0.50),
        "M3": ("rule_hard", "bid_hit", 0.60),
        "M4": ("heuristic", "margin", 0.0),
    }


@pytest.fixture
def run(finished, tmp_path):
    """A copy of a finished run with two checkpoints, 256 and 512."""
    shutil.copytree(finished, tmp_path / "done")
    return RunFolder.open(tmp_path / "done")


def test_every_checkpoint_plays_and_tells_its_time(run, capsys):
    assert main([str(run.path), "--games", "8", "--seed", "5"]) == 0
    printed = capsys.readouterr().out
    record = json.loads((run.path / "milestones.json").read_text())
    assert [c["steps"] for c in record["checkpoints"]] == [256, 512]
    metrics = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    wall = {m["step"]: m["wall_s"] for m in metrics}
    assert [c["wall_s"] for c in record["checkpoints"]] == [wall[256], wall[512]]
    assert set(record["milestones"]) == {"M1", "M2", "M3", "M4"}
    assert all(m.says in printed for m in MILESTONES)
    # The figures are those of an evaluation with the same options.
    options = run.config.evaluation.replace(games=8, seed=5)
    found = play_matches(load(run), options.replace(opponents=("rule_hard", "heuristic")))
    last = record["checkpoints"][-1]["results"]
    assert last["M2"] == found["rule_hard"][AGENT]["win_rate"].to_list()
    assert last["M3"] == found["rule_hard"][AGENT]["bid_hit"].to_list()
    assert last["M4"] == found["heuristic"][AGENT]["margin"].to_list()


@pytest.fixture
def played(monkeypatch):
    """Decisions of the checkpoints that play, all with results beyond every bar."""
    steps = []
    results = {name: [1000.0, 999.0, 1001.0] for name in ALL_MISSED}

    def play(trained, options):
        steps.append(trained.steps)
        return results

    monkeypatch.setattr(milestones, "play", play)
    return steps


def test_what_was_played_is_kept_and_not_played_again(run, played):
    options, console = run.config.evaluation, tables.console()
    first = measure(run, options, console)
    assert played == [256, 512]
    assert first["milestones"]["M1"]["steps"] == 256
    shutil.rmtree(run.checkpoints / "ckpt_000000000256")
    again = measure(run, options, console)
    assert played == [256, 512]
    assert again["checkpoints"] == first["checkpoints"]
    measure(run, options.replace(seed=1), console)  # other games: nothing is known of them
    assert played == [256, 512, 512]


def test_a_checkpoint_that_changed_plays_again_and_later_ones_are_dropped(run, played):
    options, console = run.config.evaluation, tables.console()
    measure(run, options, console)
    shutil.rmtree(run.checkpoints / "ckpt_000000000512")
    manifest = run.checkpoints / "ckpt_000000000256" / "MANIFEST.json"
    manifest.write_text(manifest.read_text() + "\n")
    record = measure(run, options, console)
    assert played == [256, 512, 256]
    assert [c["steps"] for c in record["checkpoints"]] == [256]


def record(seed, steps, last):
    """What ``measure`` says of a run that has reached M1 and M4 after so many decisions."""
    there = {"steps": steps, "wall_s": steps / 100, "cpu_s": steps / 200}
    return {
        **{"env": "E", "games": 8, "first_seed": 1, "bids": "rule_hard", "bootstrap": 50},
        "trained": {"seed": seed},
        "milestones": {"M1": there, "M2": None, "M3": there if seed == 1 else None, "M4": there},
        "checkpoints": [{"steps": 900, "results": {m.name: [last, 0.2, 0.8] for m in MILESTONES}}],
    }


def test_runs_are_put_together_over_seeds():
    found = summarise([record(1, 300, 0.4), record(2, 100, 0.5), record(3, 200, 0.6)])
    assert found["seeds"] == [1, 2, 3]
    m1 = found["milestones"]["M1"]
    assert m1["reached"] == 3
    assert m1["steps"] == {"median": 200, "range": [100, 300]}
    assert m1["cpu_s"] == {"median": 1.0, "range": [0.5, 1.5]}
    # Student's t of two degrees of freedom, and the deals that all have played.
    half = math.hypot(4.302653 * 0.1 / 3**0.5, 0.3)
    assert m1["last"] == pytest.approx([0.5, 0.5 - half, 0.5 + half], abs=1e-6)
    assert (found["milestones"]["M2"]["reached"], found["milestones"]["M2"]["steps"]) == (0, None)
    assert (found["milestones"]["M3"]["reached"], found["milestones"]["M3"]["steps"]) == (1, None)
    with pytest.raises(ConfigError, match="each may be there once"):
        summarise([record(1, 300, 0.4), record(1, 300, 0.4)])
    with pytest.raises(ConfigError, match="differ in games"):
        summarise([record(1, 300, 0.4), record(2, 300, 0.4) | {"games": 16}])


def test_several_runs_of_one_config_are_one_record(run, played, train, tmp_path, capsys):
    assert train(tmp_path, "other", "--seed", 2) == 0
    assert train(tmp_path, "longer", "--seed", 3, "--total-steps", 640) == 0
    out = tmp_path / "out.json"
    assert main([str(run.path), str(tmp_path / "longer"), "--out", str(out)]) == 2
    assert "differ in more than their seed" in capsys.readouterr().err
    assert main([str(run.path), "--out", str(out)]) == 2
    assert not played
    assert not out.exists()
    assert main([str(run.path), str(tmp_path / "other"), "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["seeds"] == [1, 2]
    assert found["milestones"]["M1"]["steps"] == {"median": 256, "range": [256, 256]}
    for name in ("done", "other"):
        text = (tmp_path / name / "metrics.jsonl").read_text()
        metrics = [json.loads(line) for line in text.splitlines()]
        cpu = sum(128 / m["sps_cpu"] for m in metrics if m["step"] <= 256)
        (of,) = (each for each in found["runs"] if each["run"] == name)
        assert of["milestones"]["M1"]["cpu_s"] == pytest.approx(cpu)
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        assert of["trained"]["git_rev"] == summary["git_rev"]
    assert "2 of 2" in capsys.readouterr().out


def test_time_is_shown_as_hours_minutes_seconds():
    assert milestones.show_time(3725.4) == "1:02:05"
    assert milestones.show_time(None) == "-"


def test_runs_that_have_no_milestones_are_refused(train, tmp_path, capsys):
    assert train(tmp_path, "three", "--set", "env_options.num_players=3", "--total-steps=128") == 0
    capsys.readouterr()
    assert main([str(tmp_path / "three")]) == 2
    assert "num_players=3" in capsys.readouterr().err
    flags = ("--env", "Prospector-v0", "--total-steps", 128)
    assert train(tmp_path, "ore", *flags) == 0
    capsys.readouterr()
    assert main([str(tmp_path / "ore")]) == 2
    assert "has no milestones" in capsys.readouterr().err


@walk(("flags", "says"), [(["nowhere"], "there is no run"), (["{run}", "--games", "0"], "games=0")])
def test_bad_request_is_refused(run, capsys, flags, says):
    assert main([flag.format(run=run.path) for flag in flags]) == 2
    assert says in capsys.readouterr().err
    assert not (run.path / "milestones.json").exists()
